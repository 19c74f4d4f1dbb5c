// What ranks know together of how values of features are spread: each has gathered its own rows.
import type { Arena } from '../numeric/arena.ts'
import { MomentsFields } from '../numeric/fields/moments.ts'
import { MOMENTS_BYTES } from '../numeric/layouts.ts'
import type { Communicator } from '../ranks/communicator.ts'
import type { Address } from '../sizes.ts'

/** Moments of the MOMENTS_ layout become those of all ranks' rows. */
export async function agreeOnMoments(arena: Arena, ranks: Communicator, at: Address, features: number): Promise<void> {
  if (ranks.size === 1) return
  const records = Array.from({ length: features }, (_, j) => new MomentsFields(arena, at + j * MOMENTS_BYTES))
  // Numbers are kept by a power of two: the largest one that a rank has serves all.
  const exponents = Float64Array.from(records, ({ count, exponent }) => (count > 0 ? exponent : 0))
  await ranks.max(exponents)
  const sums = new Float64Array(2 * features)
  for (const [j, record] of records.entries()) {
    if (record.count === 0) continue
    const shift = 2 ** (record.exponent - exponents[j])
    record.mean *= shift
    record.squares *= shift * shift
    sums[2 * j] = record.count
    sums[2 * j + 1] = record.count * record.mean
  }
  await ranks.sum(sums)
  const squares = new Float64Array(features)
  for (const [j, { count, mean, squares: own }] of records.entries()) {
    const away = mean - sums[2 * j + 1] / sums[2 * j]
    if (count > 0) squares[j] = own + count * away * away
  }
  await ranks.sum(squares)
  for (const [j, record] of records.entries()) {
    const count = sums[2 * j]
    if (count === 0) continue
    record.exponent = exponents[j]
    record.count = Math.min(count, 0xffffffff)
    record.mean = sums[2 * j + 1] / count
    record.squares = squares[j]
  }
}

/** Pairs of the largest and the smallest value become those of all ranks' rows. */
export async function agreeOnRanges(arena: Arena, ranks: Communicator, at: Address, features: number): Promise<void> {
  if (ranks.size === 1) return
  const ranges = arena.f64(at, 2 * features)
  const ends = ranges.map((value, k) => (k % 2 === 0 ? value : -value))
  await ranks.max(ends)
  for (let k = 0; k < ends.length; k++) ranges[k] = k % 2 === 0 ? ends[k] : -ends[k]
}

/** Largest values, f64 each, become those of all ranks' rows. */
export async function agreeOnExtremes(arena: Arena, ranks: Communicator, at: Address, features: number): Promise<void> {
  if (ranks.size === 1) return
  const largest = arena.f64(at, features).slice()
  await ranks.max(largest)
  arena.f64(at, features).set(largest)
}

/** Counts, f64 each, become those of all ranks' rows. */
export async function agreeOnCounts(arena: Arena, ranks: Communicator, at: Address, counts: number): Promise<void> {
  if (ranks.size === 1) return
  const sums = arena.f64(at, counts).slice()
  await ranks.sum(sums)
  arena.f64(at, counts).set(sums)
}
