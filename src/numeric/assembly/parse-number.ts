// What text parsers share: the characters that count, and decimal numbers read with care rather than speed.

export const LF: u32 = 10, CR: u32 = 13, TAB: u32 = 9, SPACE: u32 = 32, HASH: u32 = 35, DOT: u32 = 46, MINUS: u32 = 45
export const PLUS: u32 = 43
const LOWER_E: u32 = 101, UPPER_E: u32 = 69
/** Powers of ten that a double holds exactly. */
export const POWERS: StaticArray<f64> = [
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
]

/** Eight characters 0. */
export const ZEROS: u64 = 0x3030303030303030
/** Powers of ten as whole numbers. */
export const WHOLE_POWERS: StaticArray<u64> = [
  1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
  10000000000000, 100000000000000, 1000000000000000,
]

/** High bit of every byte that is not a digit, given the word with '0' taken off each byte. */
@inline
export function notDigits(word: u64): u64 {
  return ((word + 0x7676767676767676) | word) & 0x8080808080808080
}

/** The number written by eight digits, first digit in the lowest byte; '0' already taken off. */
@inline
export function eightDigits(word: u64): u64 {
  word = (word * 2561) >> 8
  word = ((word & 0x00ff00ff00ff00ff) * 6553601) >> 16
  return ((word & 0x0000ffff0000ffff) * 42949672960001) >> 32
}

/** Whether a character ends a token. */
@inline
export function isBreak(c: u32): bool {
  return c == SPACE || c == LF || c == TAB || c == CR || c == HASH
}

// What a number parser leaves behind besides its value. Globals belong to an instance, so to one thread.
export let numberEnd: usize = 0
export let numberExact: bool = false

/** A decimal number at p, sign allowed: sets numberEnd, which stays at p when there is none. */
export function slowNumber(p: usize): f64 {
  const start = p
  let c = <u32>load<u8>(p)
  const negative = c == MINUS
  if (negative || c == PLUS) p++
  let mantissa: u64 = 0
  let exponent: i32 = 0
  let digits = 0
  let kept = 0
  let fraction = false
  for (; ; p++) {
    c = <u32>load<u8>(p)
    if (c == DOT && !fraction) {
      fraction = true
      continue
    }
    const digit = c - 48
    if (digit > 9) break
    digits++
    // Digits beyond the nineteenth do not fit in the word; they only move the exponent.
    if (kept < 19) {
      mantissa = mantissa * 10 + u64(digit)
      if (mantissa != 0) kept++
      if (fraction) exponent--
    } else if (!fraction) exponent++
  }
  if (digits == 0) {
    numberEnd = start
    return 0
  }
  if (c == LOWER_E || c == UPPER_E) {
    let q = p + 1
    let e: i32 = 0
    c = <u32>load<u8>(q)
    const down = c == MINUS
    if (down || c == PLUS) q++
    const first = q
    for (; ; q++) {
      const digit = <u32>load<u8>(q) - 48
      if (digit > 9) break
      if (e < 100000) e = e * 10 + i32(digit)
    }
    // A bare `e` belongs to no number: it stays in front of numberEnd and is found there.
    if (q > first) {
      exponent += down ? -e : e
      p = q
    }
  }
  numberEnd = p
  numberExact = mantissa < (u64(1) << 53) && exponent >= -22 && exponent <= 22
  let value = f64(mantissa)
  if (mantissa != 0) {
    if (exponent < -400) value = 0
    else if (exponent > 400) value = Infinity
    else {
      for (; exponent > 22; exponent -= 22) value *= 1e22
      for (; exponent < -22; exponent += 22) value /= 1e22
      value = exponent < 0 ? value / unchecked(POWERS[-exponent]) : value * unchecked(POWERS[exponent])
    }
  }
  return negative ? -value : value
}

/** Whether the text at p, after a sign, spells nan or inf in any case. */
export function spellsNotFinite(p: usize): bool {
  let c = <u32>load<u8>(p)
  if (c == MINUS || c == PLUS) p++
  const word = (<u32>load<u8>(p) | 32) | ((<u32>load<u8>(p + 1) | 32) << 8) | ((<u32>load<u8>(p + 2) | 32) << 16)
  return word == 0x6e616e || word == 0x666e69
}
