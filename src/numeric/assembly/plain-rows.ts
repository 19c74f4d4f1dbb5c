// Rows of plain numbers, passed by 64 bytes at a time: a bit a byte says what kind of character it is, and a few operations on
// words of such bits tell whether all cells are numbers. Nothing is converted.
import { DOT, LF, MINUS } from './parse-number'

/** Rows that plainRows has passed by. */
export let plainRowsPassed: u32 = 0

@inline
function bitsOf(a: v128, b: v128, c: v128, d: v128): u64 {
  return u64(u32(i8x16.bitmask(a))) | (u64(u32(i8x16.bitmask(b))) << 16)
    | (u64(u32(i8x16.bitmask(c))) << 32) | (u64(u32(i8x16.bitmask(d))) << 48)
}

/** Passes by rows of so many columns whose cells are all `-?\d+(\.\d+)?`, from the row at p on: where the first other row begins,
 *  or one that is too close to the end to tell. */
export function plainRows(p: usize, end: usize, delimiter: u32, columns: u32): usize {
  const delimiters = i8x16.splat(i8(delimiter))
  const lineFeeds = i8x16.splat(i8(LF))
  const minuses = i8x16.splat(i8(MINUS))
  const points = i8x16.splat(i8(DOT))
  const zeros = i8x16.splat(48)
  const nines = i8x16.splat(9)
  let row = p
  let rows: u32 = 0
  let cells: u32 = 0
  // What the byte before the present 64 was, as bit 0; a row begins as if behind a separator.
  let afterSeparator: u64 = 1
  let afterMinus: u64 = 0
  let afterPoint: u64 = 0
  let afterDigit: u64 = 0
  /** Whether that byte was a digit behind a point. */
  let inFraction: u64 = 0
  for (; p + 64 <= end; p += 64) {
    const a = v128.load(p)
    const b = v128.load(p, 16)
    const c = v128.load(p, 32)
    const d = v128.load(p, 48)
    const digit = bitsOf(
      i8x16.le_u(i8x16.sub(a, zeros), nines), i8x16.le_u(i8x16.sub(b, zeros), nines),
      i8x16.le_u(i8x16.sub(c, zeros), nines), i8x16.le_u(i8x16.sub(d, zeros), nines),
    )
    const minus = bitsOf(i8x16.eq(a, minuses), i8x16.eq(b, minuses), i8x16.eq(c, minuses), i8x16.eq(d, minuses))
    const point = bitsOf(i8x16.eq(a, points), i8x16.eq(b, points), i8x16.eq(c, points), i8x16.eq(d, points))
    let lines = bitsOf(i8x16.eq(a, lineFeeds), i8x16.eq(b, lineFeeds), i8x16.eq(c, lineFeeds), i8x16.eq(d, lineFeeds))
    const separator = lines | bitsOf(
      i8x16.eq(a, delimiters), i8x16.eq(b, delimiters), i8x16.eq(c, delimiters), i8x16.eq(d, delimiters),
    )
    const first = (separator << 1) | afterSeparator
    const behindPoint = (point << 1) | afterPoint
    // A sum carries from the first digit behind a point to what follows the last.
    const fraction = (behindPoint | inFraction) & digit
    const sum = digit + fraction
    const wrong = ~(digit | minus | point | separator)
      | (first & ~(digit | minus))
      | (minus & ~first)
      | (((minus << 1) | afterMinus | behindPoint) & ~digit)
      | (point & ~((digit << 1) | afterDigit))
      | (((sum & ~digit) | inFraction) & point)
    // Rows that end before the first fault are sound.
    const sound = wrong == 0 ? ~u64(0) : (wrong & (0 - wrong)) - 1
    lines &= sound
    let counted = separator
    while (lines != 0) {
      const through = lines ^ (lines - 1)
      if (cells + u32(popcnt(counted & through)) != columns) {
        plainRowsPassed = rows
        return row
      }
      counted &= ~through
      cells = 0
      rows++
      row = p + usize(ctz(lines)) + 1
      lines &= lines - 1
    }
    if (wrong != 0) break
    cells += u32(popcnt(counted))
    afterSeparator = separator >> 63
    afterMinus = minus >> 63
    afterPoint = point >> 63
    afterDigit = digit >> 63
    inFraction = u64(sum < digit)
  }
  plainRowsPassed = rows
  return row
}
