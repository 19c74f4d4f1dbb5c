// Feature scaling, `--scale minmax|standard|numbers`: every feature is multiplied by a factor learnt from the training data.
// Nothing is shifted, so that zeros stay zeros and sparse data stays sparse.
//
//   minmax    1 / max|x|: values end in [−1, 1], or in [0, 1] where none is negative
//   standard  1 / σ, σ² the mean squared distance from the mean over all rows, absent entries counted as zeros
//   numbers   the same, but a feature that is 1 wherever it is not 0 stays so: values of tables that stand for names
//
// Values of f32 are kept as they were read, and multiplied by their factors in f64 wherever a row is used, in training, in
// certificates and in predicting. All of them compute the same scores, and so does a program that multiplies the weights by
// the factors.
import type { Arena } from '../numeric/arena.ts'
import { MomentsFields } from '../numeric/fields/moments.ts'
import { MOMENTS_BYTES, SPACE_FACTORS } from '../numeric/layouts.ts'
import { alone, type Communicator } from '../ranks/communicator.ts'
import type { Address } from '../sizes.ts'
import { agreeOnExtremes, agreeOnMoments } from './agree-on-moments.ts'
import type { RowSet } from './row-set.ts'

export const scaleKinds = ['minmax', 'standard', 'numbers'] as const
export type ScaleKind = (typeof scaleKinds)[number]

/** Those that learn together, and how many rows they have in all. */
export interface RowsOfRanks {
  ranks: Communicator
  rows: number
}

/** Learns the factors of rows in memory, one a weight, and applies them; rows end unit length if asked. Rows must be
 *  packed plain. */
export async function scaleInMemory(
  arena: Arena,
  rows: RowSet,
  kind: ScaleKind,
  unit: boolean,
  { ranks, rows: allRows }: RowsOfRanks,
): Promise<Float64Array> {
  const factors = arena.allocateZeroed(factorBytes(rows.weights), 'scale factors')
  const mark = arena.mark()
  const at = arena.allocateZeroed(statisticsBytes(kind, rows.weights), 'feature statistics')
  // One thread, in the order of the rows: sums come out the same bits however the text was parsed.
  gather(arena, kind, rows.table, rows.rows, at)
  await agreeOnStatistics(arena, ranks, kind, at, rows.weights)
  const result = arena.f64(factors, rows.weights)
  toFactors(arena, kind, at, result, allRows)
  arena.release(mark)
  arena.setU32(SPACE_FACTORS, factors)
  arena.numeric.scaleRows(rows.table, 0, rows.rows, factors, unit)
  return result.slice()
}

/** Rows that come in blocks, packed plain, by reading passes. */
export interface PlainRows {
  readonly arena: Arena
  /** Rows of all ranks. */
  readonly all: { rows: number }
  /** Block after block, in the order of the store: the same bits for any number of threads. `map`: from features to weights. */
  plainRows(map: number): AsyncIterable<{ table: Address; rows: number }>
}

/** Learns the factors of rows that come in blocks, by a reading pass of its own; the address of f64[weights]. */
export async function learnFactors(
  source: PlainRows,
  kind: ScaleKind,
  weights: number,
  map: number,
  ranks: Communicator = alone,
): Promise<number> {
  const { arena } = source
  const at = arena.allocateZeroed(statisticsBytes(kind, weights), 'feature statistics')
  for await (const { table, rows } of source.plainRows(map)) gather(arena, kind, table, rows, at)
  await agreeOnStatistics(arena, ranks, kind, at, weights)
  // Factors take the place of what they are made of, which is never shorter.
  const factors = arena.f64(at, weights)
  toFactors(arena, kind, at, factors, source.all.rows)
  arena.setU32(SPACE_FACTORS, at)
  return at
}

/** Bytes for each weight that scaling takes in a run over blocks: statistics, which become factors, and copies of those. */
export function scalingBytes(kind: ScaleKind): number {
  return kind === 'minmax' ? 24 : MOMENTS_BYTES + 8
}

/** Room for the bias as well, for in the order of trainers it is one of the weights. */
function factorBytes(weights: number): number {
  return (weights + 1) * 8
}

function statisticsBytes(kind: ScaleKind, weights: number): number {
  return (weights + 1) * (kind === 'minmax' ? 8 : MOMENTS_BYTES)
}

function gather(arena: Arena, kind: ScaleKind, table: Address, rows: number, at: Address): void {
  if (kind === 'minmax') arena.numeric.gatherExtremes(table, 0, rows, at)
  else arena.numeric.gatherMoments(table, 0, rows, at)
}

async function agreeOnStatistics(
  arena: Arena,
  ranks: Communicator,
  kind: ScaleKind,
  at: Address,
  weights: number,
): Promise<void> {
  if (kind === 'minmax') await agreeOnExtremes(arena, ranks, at, weights)
  else await agreeOnMoments(arena, ranks, at, weights)
}

/** Largest values, or moments, at an address become factors; those may be written over them, from the first on. */
function toFactors(arena: Arena, kind: ScaleKind, at: Address, factors: Float64Array, rows: number): void {
  for (let j = 0; j < factors.length; j++) {
    factors[j] =
      kind === 'minmax' ? minmaxFactor(arena.getF64(at + j * 8)) : standardFactor(arena, at, { feature: j, rows, kind })
  }
}

/** A feature that never occurs keeps its values. One over the smallest numbers is beyond the largest. */
export function minmaxFactor(largest: number): number {
  return largest > 0 ? Math.min(1 / largest, Number.MAX_VALUE) : 1
}

function standardFactor(
  arena: Arena,
  moments: number,
  { feature, rows, kind }: { feature: number; rows: number; kind: ScaleKind },
): number {
  const record = new MomentsFields(arena, moments + feature * MOMENTS_BYTES)
  const { count, mean } = record
  if (count === 0) return 1
  const unit = 2 ** (1023 - record.exponent)
  if (kind === 'numbers' && record.squares === 0 && mean === unit) return 1
  // Absent entries are so many zeros: their distance from the mean, and that of the mean of the others, come on top.
  const squares = record.squares + mean * mean * count * ((rows - count) / rows)
  // A constant feature has no spread to divide by: it is brought to 1 instead.
  const spread = squares > 0 ? Math.sqrt(squares / rows) : Math.abs(mean)
  return Math.min(unit / spread, Number.MAX_VALUE)
}
