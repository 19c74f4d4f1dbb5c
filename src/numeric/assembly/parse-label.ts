// Labels: numbers, or texts, which are any words that are no numbers. Only where no number stands is a text looked for, so numbers
// pay nothing for it.
import {
  LABEL_TEXT_UPPER, LONGEST_LABEL, PARSE_ERROR_AFTER_LABEL, PARSE_ERROR_LABEL, PARSE_ERROR_LABEL_BYTE,
  PARSE_ERROR_LABEL_LENGTH, PARSE_ERROR_NOT_FINITE, PARSE_ERROR_TOO_LARGE,
} from '../layouts'
import { xxh64 } from './hash'
import { CR, isBreak, LF, MINUS, numberEnd, PLUS, slowNumber, SPACE, spellsNotFinite, TAB } from './parse-number'

const COLON: u32 = 58
const INFINITY_WORD: u64 = 0x7974696e69666e69 // "infinity"

// What readLabel and textLabel leave behind: 0 or why it refuses, and where the label ends or what offends stands.
export let labelError: u32 = 0
export let labelEnd: usize = 0

/** Whether a label of text ends here. A # within it belongs to it: c and c# are two languages. */
@inline
function isBlank(c: u32): bool {
  return c == SPACE || c == LF || c == TAB || c == CR
}

/** The label at p: a number, or the bits of a text. */
@inline
export function readLabel(p: usize): f64 {
  // Most are a digit, with a sign or without.
  const first = <u32>load<u8>(p)
  const at = first == PLUS || first == MINUS ? p + 1 : p
  const digit = <u32>load<u8>(at) - 48
  if (digit <= 9 && <u32>load<u8>(at, 1) == SPACE) {
    labelError = 0
    labelEnd = at + 1
    return first == MINUS ? -f64(digit) : f64(digit)
  }
  const number = slowNumber(p)
  if (numberEnd == p || !isBreak(<u32>load<u8>(numberEnd))) return textLabel(p, numberEnd)
  const fits = abs(number) < Infinity
  labelError = fits ? 0 : PARSE_ERROR_TOO_LARGE
  labelEnd = fits ? numberEnd : p
  return number
}

/** The bits of the label of text at p; `afterNumber` is where a number at p ends, p itself when there is none. */
export function textLabel(p: usize, afterNumber: usize): f64 {
  let end = p
  let colon = false
  for (let c = <u32>load<u8>(end); !isBlank(c); c = <u32>load<u8>(++end)) colon = colon || c == COLON
  labelEnd = p
  // A word with a colon is the first entry of a line that has no label.
  if (colon ? spellsNotFinite(p) : isNotFinite(p)) labelError = PARSE_ERROR_NOT_FINITE
  else if (colon) {
    labelError = afterNumber == p ? PARSE_ERROR_LABEL : PARSE_ERROR_AFTER_LABEL
    labelEnd = afterNumber
  } else if (end - p > usize(LONGEST_LABEL)) labelError = PARSE_ERROR_LABEL_LENGTH
  else {
    labelEnd = validEnd(p, end)
    labelError = labelEnd == end ? 0 : PARSE_ERROR_LABEL_BYTE
    if (labelError == 0) return reinterpret<f64>(xxh64(p, u32(end - p)) | (u64(LABEL_TEXT_UPPER) << 32))
  }
  return 0
}

/** Whether two labels of text are the same, given where they start in the text. */
export function sameText(a: usize, b: usize): bool {
  while (true) {
    const c = <u32>load<u8>(a++)
    const d = <u32>load<u8>(b++)
    if (isBlank(c)) return isBlank(d)
    if (c != d) return false
  }
}

/** Whether the word at p is nan, inf or infinity, in any case, after a sign; words that only begin so are labels. */
function isNotFinite(p: usize): bool {
  if (!spellsNotFinite(p)) return false
  const c = <u32>load<u8>(p)
  if (c == MINUS || c == PLUS) p++
  if (isBreak(<u32>load<u8>(p, 3))) return true
  return (load<u64>(p) | 0x2020202020202020) == INFINITY_WORD && isBreak(<u32>load<u8>(p, 8))
}

/** Where UTF-8 without control characters stops: at the end, or at a byte that cannot be. */
function validEnd(p: usize, end: usize): usize {
  while (p < end) {
    const c = <u32>load<u8>(p)
    if (c < 0x80) {
      if (c < SPACE || c == 0x7f) return p
      p++
      continue
    }
    // A label ends with a blank, which no byte of a sequence is: nothing behind it is taken for a part of it.
    const next = sequenceEnd(p)
    if (next == p) return p
    p = next
  }
  return end
}

/** Where the bytes of a character beyond ASCII end that begins at p; p where they are no UTF-8. */
export function sequenceEnd(p: usize): usize {
  const c = <u32>load<u8>(p)
  // The second byte is bound so that nothing is spelled longer than need be, no surrogate, nothing beyond U+10FFFF.
  let least: u32 = 0x80
  let most: u32 = 0xbf
  let more: usize = 1
  if (c < 0xc2 || c > 0xf4) return p
  if (c >= 0xf0) {
    more = 3
    if (c == 0xf0) least = 0x90
    if (c == 0xf4) most = 0x8f
  } else if (c >= 0xe0) {
    more = 2
    if (c == 0xe0) least = 0xa0
    if (c == 0xed) most = 0x9f
  }
  const second = <u32>load<u8>(p, 1)
  if (second < least || second > most) return p
  for (let k: usize = 2; k <= more; k++) if ((<u32>load<u8>(p + k) & 0xc0) != 0x80) return p
  return p + more + 1
}
