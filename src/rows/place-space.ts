// Rows in the space of an additive kernel: the table that their bins stand for in the arena, and ranges learnt and applied
// where values have to be scaled first.
import { type RowSpace, signedTableOf, tableOf, widthOf } from '../additive-kernels/row-space.ts'
import { rangeMark } from '../features/additive-kernel.ts'
import type { Arena } from '../numeric/arena.ts'
import { SPACE_TABLE, SPACE_WIDTH } from '../numeric/layouts.ts'
import type { Communicator } from '../ranks/communicator.ts'
import type { Address } from '../sizes.ts'
import { agreeOnRanges } from './agree-on-moments.ts'
import type { RowSet } from './row-set.ts'
import { minmaxFactor, type PlainRows } from './scale.ts'

/** What a reader makes of values: bins of values in [0, 1], or of scaled ones, perhaps with signs. */
export interface Binning {
  bins: number
  signs: boolean
}

/** Puts the table into the arena, where loops of all threads find it. */
export function placeSpace(arena: Arena, space: RowSpace, signs: boolean): void {
  const table = signs ? signedTableOf(space) : tableOf(space)
  const at = arena.allocate(table.byteLength, 'the table of the kernel')
  arena.f64(at, table.length).set(table)
  arena.setU32(SPACE_TABLE, at)
  arena.setU32(SPACE_WIDTH, widthOf(space))
}

/** Of rows in memory, packed plain: learns the ranges of features, and makes bins of the scaled values. Ranges are pairs: a
 *  factor, and the mark of where scaled values end. */
export async function binInMemory(
  arena: Arena,
  rows: RowSet,
  space: RowSpace,
  unit: boolean,
  ranks: Communicator,
): Promise<Float64Array> {
  const mark = arena.mark()
  const at = arena.allocateZeroed(Math.max(rows.weights, 1) * 16, 'ranges of the features')
  // One thread, in the order of the rows, which is the order of the scaling loop, too.
  arena.numeric.gatherRanges(rows.table, 0, rows.rows, at)
  await agreeOnRanges(arena, ranks, at, rows.weights)
  const { factors, signs, ranges } = toRanges(arena, at, rows.weights)
  arena.release(mark)
  placeSpace(arena, space, signs)
  const factorsAt = arena.allocate(Math.max(rows.weights, 1) * 8, 'scale factors')
  arena.f64(factorsAt, rows.weights).set(factors)
  arena.numeric.binRows(rows.table, 0, rows.rows, factorsAt, space.bins, signs, unit)
  return ranges
}

/** The same over blocks, by a reading pass of its own: the address of the factors, and the ranges. */
export async function learnRanges(
  source: PlainRows,
  features: number,
  map: number,
  ranks: Communicator,
): Promise<{ factors: number; signs: boolean; ranges: Float64Array }> {
  const { arena } = source
  const at = arena.allocateZeroed(Math.max(features, 1) * 16, 'ranges of the features')
  for await (const { table, rows } of source.plainRows(map)) {
    arena.numeric.gatherRanges(table, 0, rows, at)
  }
  await agreeOnRanges(arena, ranks, at, features)
  const { factors, signs, ranges } = toRanges(arena, at, features)
  arena.f64(at, features).set(factors)
  return { factors: at, signs, ranges }
}

/** Pairs of the largest and the smallest value become pairs of a factor, by the larger of them, and of a mark. */
function toRanges(
  arena: Arena,
  at: Address,
  features: number,
): { factors: Float64Array; signs: boolean; ranges: Float64Array } {
  const ranges = arena.f64(at, features * 2).slice()
  const factors = new Float64Array(features)
  let signs = false
  for (let j = 0; j < features; j++) {
    const [highest, lowest] = [ranges[2 * j], ranges[2 * j + 1]]
    factors[j] = minmaxFactor(Math.max(highest, -lowest))
    ranges[2 * j] = factors[j]
    ranges[2 * j + 1] = rangeMark(lowest * factors[j], highest * factors[j])
    if (lowest < 0) signs = true
  }
  return { factors, signs, ranges }
}
