// Whole numbers as text.

export const ZEROS: u64 = 0x3030303030303030

/** Eight decimal digits, a byte each, the first digit in the lowest byte. */
@inline
export function eightDigits(value: u32): u64 {
  const high = value / 10000
  let word = u64(high) | (u64(value - high * 10000) << 32)
  const hundreds = ((word * 10486) >> 20) & 0x0000007f0000007f
  word = hundreds + ((word - hundreds * 100) << 16)
  const tens = ((word * 103) >> 10) & 0x000f000f000f000f
  return tens + ((word - tens * 10) << 8)
}

/** Writes a number above 0 without leading zeros; up to eight bytes beyond it are overwritten. */
@inline
export function writeNumber(p: usize, value: u32): usize {
  if (value >= 100000000) {
    const high = value / 100000000
    p = writeUpTo8(p, high)
    store<u64>(p, eightDigits(value - high * 100000000) | ZEROS)
    return p + 8
  }
  return writeUpTo8(p, value)
}

@inline
function writeUpTo8(p: usize, value: u32): usize {
  const word = eightDigits(value)
  const skipped = ctz(word) & 56
  store<u64>(p, (word | ZEROS) >> skipped)
  return p + 8 - usize(skipped >> 3)
}
