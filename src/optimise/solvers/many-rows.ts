// Sweeps over many rows in memory, one model of a box dual or an entropic one. Where rows are many, a sweep takes long, and most of
// it is waiting for memory or looking at rows that do not move. Three things are done about it; none changes the optimum.
//
// Order. Rows that lie near each other are met near in time: pieces of 64 rows in random order, and the rows of each 32 pieces
// shuffled (shuffleNear in numeric/assembly/random.ts). A group of pieces is drawn from everywhere, so that a file that is sorted by
// label is no worse off. Pages and cache lines are met once, not 64 times.
//
// Over-relaxation. Steps go 1.6 times as far as to the optimum of their row in the first twenty sweeps, and less and less far until
// the thirtieth. Each step still raises the dual, for a factor below 2 does. A row that has to go to its bound, beside many others
// like it, gets there in fewer visits. Later on plain steps are better: they come to rest.
//
// Rows set aside. Shrinking by the steepest row of the last sweep keeps nearly all rows for long: one of 800,000 is always steep. So a
// row at a bound is set aside when its gradient is beyond the mean of those that are not zero. All rows come back every sixteenth
// sweep, and always before a certificate that was not reached is asked for again.
import type { Arena } from '../../numeric/arena.ts'
import { SweepFields } from '../../numeric/fields/sweep.ts'
import { SWEEP_RANDOM } from '../../numeric/layouts.ts'
import type { Address } from '../../sizes.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import type { SolverSettings } from './solver.ts'

/** So many rows are many. It goes by the data alone, so that no bit depends on the machine; beyond eight million rows, where marks
 *  take more than any plan has room for, also by the memory, as momentum does. */
export const MANY_ROWS = 1 << 16

const EXTRA = 0.6
/** Sweeps with the whole of it, and with some of it. */
const WHOLE_EXTRA = 20
const SOME_EXTRA = 30
/** All rows come back after so many sweeps. */
const ALL_EVERY = 16

/** Bytes for a bit of each row. */
export const bytesOfMarks = (rows: number): number => Math.ceil(rows / 64) * 8

/** Room for the marks of each trainer, where the rows of a group are many and sweeps can go by these rules. */
export function roomForMarks(
  { sweepKind }: OneProblem,
  source: RowSource,
  { rows }: RowGroup,
  { trainers, many = MANY_ROWS }: Pick<SolverSettings, 'trainers' | 'many'>,
): Address | undefined {
  if (rows < many || sweepKind.together) return undefined
  return source.spare?.('marks of the rows', trainers * bytesOfMarks(rows))
}

/** Has sweeps of a structure go by these rules: `marks` has a bit for each of so many row numbers. */
export function markMany(arena: Arena, sweep: Address, marks: Address, rows: number, swept = 0): void {
  const fields = new SweepFields(arena, sweep)
  fields.marks = marks
  fields.marked = rows
  fields.swept = swept
}

/** Whether the sweeps of a structure go by these rules. */
export const areMany = ({ marks }: SweepFields): boolean => marks !== 0

/** Orders the active rows for a sweep, and says how far its steps go. */
export function beginOverMany({ numeric }: Arena, fields: SweepFields): void {
  numeric.shuffleNear(fields.order, fields.active, fields.marked, fields.marks, fields.at + SWEEP_RANDOM)
  const left = (SOME_EXTRA - fields.swept) / (SOME_EXTRA - WHOLE_EXTRA)
  fields.extra = EXTRA * Math.min(Math.max(left, 0), 1)
}

/** Ends a sweep over active ones of so many rows: which gradients set rows aside from now on. */
export function endOverMany(fields: SweepFields, rows: number): void {
  const mean = fields.steepness / Math.max(fields.steep, 1)
  fields.upper = Math.min(fields.upper, mean)
  fields.lower = Math.max(fields.lower, -mean)
  fields.swept++
  if (fields.swept % ALL_EVERY !== 0) return
  fields.active = rows
  fields.upper = Number.POSITIVE_INFINITY
  fields.lower = Number.NEGATIVE_INFINITY
}
