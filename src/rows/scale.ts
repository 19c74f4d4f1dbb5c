// Feature scaling, `--scale KIND`: every feature is multiplied by a factor learnt from the training data. Nothing is shifted, so
// that zeros stay zeros and sparse data stays sparse.
//
//   minmax    1 / max|x|: values end in [−1, 1], or in [0, 1] where none is negative
//   standard  1 / σ, σ² the mean squared distance from the mean over all rows, absent entries counted as zeros
//   numbers   the same, but a feature that is 1 wherever it is not 0 stays so: values of tables that stand for names
//   idf       ln((1 + n) / (1 + n_j)) + 1: of n rows, n_j have feature j. Rare features count more.
//   log-odds  |ln((p + 1) / (n₊ + 2) · (n₋ + 2) / (q + 1))|: of n₊ rows of a class p have the feature, of n₋ others q. Features
//             that tell classes apart count more (Wang, Manning, ACL 2012). Of several classes, the largest over the classes.
//
// A table's columns of numbers stand in nearly every row: `idf` and `log-odds` divide those by their deviations.
//
// Values of f32 are kept as they were read, and multiplied by their factors in f64 wherever a row is used, in training, in
// certificates and in predicting. All of them compute the same scores, and so does a program that multiplies the weights by
// the factors.
import { countsRows, type ScaleKind } from '../features/scale-kinds.ts'
import type { Arena } from '../numeric/arena.ts'
import { MomentsFields } from '../numeric/fields/moments.ts'
import { MOMENTS_BYTES, SPACE_FACTORS } from '../numeric/layouts.ts'
import type { Communicator } from '../ranks/communicator.ts'
import type { Address } from '../sizes.ts'
import { runLoop } from '../threads/loop-task.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { agreeOnCounts, agreeOnExtremes, agreeOnMoments } from './agree-on-moments.ts'
import type { RowSet } from './row-set.ts'

/** Those that learn together, and how many rows they have in all. */
export interface RowsOfRanks {
  ranks: Communicator
  rows: number
  /** Weights of a table's columns of numbers. */
  numbers?: ReadonlySet<number>
  /** Whether all other features are 1 wherever they are not 0. */
  othersAreOnes?: boolean
}

/** What factors are learnt for. */
interface Learning {
  kind: ScaleKind
  weights: number
  /** Rows of each class, and of all. */
  classes: readonly number[]
  rows: number
  numbers: ReadonlySet<number>
  /** Features from this one on are known to keep their values: nothing is gathered of them. */
  below: number
}

const NO_NUMBERS: ReadonlySet<number> = new Set()
/** Rows in memory are scaled in so many pieces. */
const PIECES = 16

/** Learns the factors of rows in memory, one a weight, and applies them; rows end unit length if asked. Rows must be
 *  packed plain. */
export async function scaleInMemory(
  { arena, threads }: { arena: Arena; threads: ThreadPool },
  rows: RowSet,
  kind: ScaleKind,
  unit: boolean,
  { ranks, rows: allRows, numbers = NO_NUMBERS, othersAreOnes = false }: RowsOfRanks,
): Promise<Float64Array> {
  const factors = arena.allocateZeroed(factorBytes(rows.weights), 'scale factors')
  const mark = arena.mark()
  const classes = rows.labels.map(label => label.rows)
  const below = kind === 'numbers' && othersAreOnes ? 1 + largestOf(numbers) : rows.weights
  const statistics = newStatistics(arena, { kind, weights: rows.weights, classes, rows: allRows, numbers, below })
  // One thread, in the order of the rows: sums come out the same bits however the text was parsed.
  gather(arena, statistics, rows.table, rows.rows)
  await agree(arena, ranks, statistics)
  const result = arena.f64(factors, rows.weights)
  toFactors(arena, statistics, result)
  arena.release(mark)
  arena.setU32(SPACE_FACTORS, factors)
  const bound = (k: number): number => Math.floor((rows.rows * k) / PIECES)
  await Promise.all(
    Array.from({ length: PIECES }, (_, k) =>
      runLoop(threads, 'scaleRows', rows.table, bound(k), bound(k + 1), factors, Number(unit)),
    ),
  )
  return result.slice()
}

/** −1 where there is none. */
function largestOf(numbers: Iterable<number>): number {
  let largest = -1
  for (const number of numbers) largest = Math.max(largest, number)
  return largest
}

/** Rows that come in blocks, packed plain, by reading passes. */
export interface PlainRows {
  readonly arena: Arena
  /** Rows of all ranks, and of each class by its number. */
  readonly all: { rows: number }
  readonly labels: readonly { rows: number }[]
  /** Block after block, in the order of the store: the same bits for any number of threads. `map`: from features to weights. */
  plainRows(map: number): AsyncIterable<{ table: Address; rows: number }>
}

/** Learns the factors of rows that come in blocks, by a reading pass of its own; the address of f64[weights]. */
export async function learnFactors(
  source: PlainRows,
  kind: ScaleKind,
  weights: number,
  map: number,
  { ranks, numbers = NO_NUMBERS }: { ranks: Communicator; numbers?: ReadonlySet<number> | undefined },
): Promise<number> {
  const { arena } = source
  const classes = source.labels.map(label => label.rows)
  const { rows } = source.all
  const statistics = newStatistics(arena, { kind, weights, classes, rows, numbers, below: weights })
  for await (const { table, rows } of source.plainRows(map)) gather(arena, statistics, table, rows)
  await agree(arena, ranks, statistics)
  // Factors take the place of what they are made of, which is never shorter.
  const { at } = statistics
  toFactors(arena, statistics, arena.f64(at, weights))
  arena.setU32(SPACE_FACTORS, at)
  return at
}

/** Bytes for each weight that scaling takes in a run over blocks: statistics, which become factors, and copies of those. */
export function scalingBytes(kind: ScaleKind, classes: number, hasNumbers: boolean): number {
  if (countsRows(kind)) return countBytes(kind, classes) + 16 + (hasNumbers ? MOMENTS_BYTES : 0)
  return kind === 'minmax' ? 24 : MOMENTS_BYTES + 8
}

/** Room for the bias as well, for in the order of trainers it is one of the weights. */
function factorBytes(weights: number): number {
  return (weights + 1) * 8
}

/** What is gathered of the features' values. */
interface Statistics extends Learning {
  /** Address of what there is for each weight: counts, largest values, or moments. */
  at: Address
  /** Address of moments besides counts, or 0. */
  moments: Address
}

/** Of each feature, how many rows of each class have it; `idf` does not ask for classes. */
function countBytes(kind: 'idf' | 'log-odds', classes: number): number {
  return kind === 'idf' ? 8 : 8 * Math.max(classes, 1)
}

function newStatistics(arena: Arena, learning: Learning): Statistics {
  const { kind, classes, numbers, below } = learning
  const each = countsRows(kind) ? countBytes(kind, classes.length) : kind === 'minmax' ? 8 : MOMENTS_BYTES
  const room = (bytes: number): Address => arena.allocateZeroed((below + 1) * bytes, 'feature statistics')
  const at = room(each)
  return { ...learning, at, moments: countsRows(kind) && numbers.size > 0 ? room(MOMENTS_BYTES) : 0 }
}

function gather(arena: Arena, statistics: Statistics, table: Address, rows: number): void {
  const { kind, classes, at, moments, below } = statistics
  if (kind === 'minmax') arena.numeric.gatherExtremes(table, 0, rows, at)
  else if (countsRows(kind)) arena.numeric.gatherCounts(table, 0, rows, kind === 'idf' ? 1 : classes.length, at)
  else arena.numeric.gatherMoments(table, 0, rows, below, at)
  if (moments) arena.numeric.gatherMoments(table, 0, rows, below, moments)
}

async function agree(arena: Arena, ranks: Communicator, statistics: Statistics): Promise<void> {
  const { kind, below, classes, at, moments } = statistics
  if (kind === 'minmax') await agreeOnExtremes(arena, ranks, at, below)
  else if (countsRows(kind)) await agreeOnCounts(arena, ranks, at, below * (kind === 'idf' ? 1 : classes.length))
  else await agreeOnMoments(arena, ranks, at, below)
  if (moments) await agreeOnMoments(arena, ranks, moments, below)
}

/** Statistics become factors; those may be written over them, from the first on. */
function toFactors(arena: Arena, statistics: Statistics, factors: Float64Array): void {
  const { kind, at, moments, classes, rows, numbers, below } = statistics
  for (let j = 0; j < factors.length; j++) {
    if (j >= below) {
      factors.fill(1, j)
      break
    }
    if (kind === 'minmax') factors[j] = minmaxFactor(arena.getF64(at + j * 8))
    else if (!countsRows(kind)) factors[j] = standardFactor(arena, at, { feature: j, rows, kind })
    else if (numbers.has(j)) factors[j] = standardFactor(arena, moments, { feature: j, rows, kind: 'standard' })
    else if (kind === 'idf') factors[j] = idfFactor(arena.getF64(at + j * 8), rows)
    else factors[j] = logOddsFactor(arena.f64(at + j * 8 * classes.length, classes.length), classes)
  }
}

/** A feature that never occurs keeps its values. One over the smallest numbers is beyond the largest. */
export function minmaxFactor(largest: number): number {
  return largest > 0 ? Math.min(1 / largest, Number.MAX_VALUE) : 1
}

/** As if there were one row more, and it had every feature. */
export function idfFactor(having: number, rows: number): number {
  return having > 0 ? Math.log((1 + rows) / (1 + having)) + 1 : 1
}

/** `having`: rows of each class that have the feature, of so many. Every rate counts one row more that has it and one that has
 *  it not. One factor serves the models of all classes, so that each row is read once: that of the class which the feature
 *  tells best from the others. */
export function logOddsFactor(having: ArrayLike<number>, classes: readonly number[]): number {
  let [withFeature, rows, most] = [0, 0, 0]
  for (let k = 0; k < classes.length; k++) {
    withFeature += having[k]
    rows += classes[k]
  }
  if (withFeature === 0) return 1
  for (let k = 0; k < classes.length; k++) {
    const rate = (having[k] + 1) / (classes[k] + 2)
    const elsewhere = (withFeature - having[k] + 1) / (rows - classes[k] + 2)
    if (classes[k] > 0) most = Math.max(most, Math.abs(Math.log(rate / elsewhere)))
  }
  return most
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
