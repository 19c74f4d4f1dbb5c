// Sizes and addresses rounded to a multiple. They reach 2^32, and the language's operators on bits are signed 32-bit ones:
// (3e9 + 7) & ~7 is negative. So they are divided, which is exact for powers of two, and no size meets an operator on bits.

export const CACHE_LINE = 64

/** The smallest multiple that is no less. */
export function roundUp(size: number, multiple: number): number {
  return Math.ceil(size / multiple) * multiple
}

/** The largest multiple that is no more. */
export function roundDown(size: number, multiple: number): number {
  return Math.floor(size / multiple) * multiple
}
