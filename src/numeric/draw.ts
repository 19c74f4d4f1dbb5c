// Random numbers that are drawn from what they are for, so that a resumed run draws the same.

/** Some of the numbers below `all`, drawn without putting any back. */
export function* drawSome(all: number, count: number, seed: number): Generator<number> {
  const moved = new Map<number, number>()
  for (let k = 0; k < Math.min(count, all); k++) {
    const other = k + Number(drawFrom([seed, k]) % BigInt(all - k))
    yield moved.get(other) ?? other
    moved.set(other, moved.get(k) ?? k)
  }
}

/** One 64-bit number of several, well mixed. */
export function drawFrom(parts: readonly number[]): bigint {
  let state = 0n
  for (const part of parts) {
    state = BigInt.asUintN(64, (state ^ BigInt(part)) * 0x9e3779b97f4a7c15n + 0x632be59bd9b4e019n)
    state ^= state >> 29n
  }
  return state
}
