// Solver `dual` with two trainers, each of which has half of the weights: long rows in memory, one model of a box dual.
//
// Both go over the same rows in the same order and hand each other their parts of dot products (numeric/assembly/halves.ts). The
// outcome does not depend on timing, nor on the number of threads: where a second thread is not to be had, one does the work of
// both, with the same bits. So it is the default where it pays.
//
//   a sweep:   begin (one thread) ──► slices: both trainers, or one for both ──► its end, when the first one is through
import { HalvesFields } from '../../numeric/fields/halves.ts'
import { SweepFields } from '../../numeric/fields/sweep.ts'
import { HALVES_BYTES, HALVES_RING, HALVES_SLOT } from '../../numeric/layouts.ts'
import { CACHE_LINE, roundUp } from '../../numeric/rounding.ts'
import type { Address } from '../../sizes.ts'
import { runLoop } from '../../threads/loop-task.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { beginSweepTask, type DualSweepsOptions, dualSweepsTask, type SweptSlice } from './dual-sweeps-task.ts'
import type { SolverSettings } from './solver.ts'

/** Entries of a row, on average, and of all rows, from which on rows are long: two trainers pay then. */
export interface LeastToHalve {
  row: number
  nonzeros: number
}
export const areLong = ({ rows, nonzeros }: RowSource, least: LeastToHalve): boolean =>
  nonzeros >= least.nonzeros && nonzeros >= rows * least.row
export const LEAST_TO_HALVE: LeastToHalve = { row: 96, nonzeros: 4e6 }
/** Slices that one thread sweeps for both when the second one did not answer in time, and the most: twice as many each time. */
const ALONE_FOR = 4
const LONGEST_ALONE = 256

/** Whether halves are worth their while. It goes by the data alone, so that no bit depends on the machine. */
export function pays({ sweepKind }: OneProblem, source: RowSource, { halves }: SolverSettings): boolean {
  const { logistic, narrow, together = false } = sweepKind
  return halves !== undefined && !logistic && !narrow && !together && areLong(source, halves)
}

/** What sweeps over halves work with; undefined where there is no room for it, or rows have other kinds. */
export async function halveRows(
  { weightCount }: OneProblem,
  source: RowSource,
  { table, rows }: RowGroup,
): Promise<Halves | undefined> {
  const { arena, threads } = source
  const kind = arena.numeric.halvesKind(table, rows)
  if (kind === 0) return undefined
  const splits = source.spare?.('halves of the rows', rows * 4)
  if (splits === undefined) return undefined
  // Weights of dense rows are halved where a cache line ends.
  const half = kind === 2 ? roundUp(Math.ceil((weightCount - 1) / 2), CACHE_LINE / 4) : 0
  const cut = (k: number): number => Math.floor((rows * k) / threads.size)
  await Promise.all(
    Array.from({ length: threads.size }, (_, k) =>
      runLoop(threads, 'splitRows', table, cut(k), cut(k + 1), splits, half),
    ),
  )
  return new Halves(source, splits)
}

/** What a slice of sweeps is told, and answers. */
type Slice = Omit<DualSweepsOptions, 'halves'>

export class Halves {
  readonly #source: RowSource
  readonly #fields: HalvesFields
  /** Slices left for one thread, and how many it is given the next time. */
  #alone = 0
  #aloneFor = ALONE_FOR

  constructor(source: RowSource, splits: Address) {
    this.#source = source
    const at = source.room('what two trainers hand over', HALVES_BYTES + (HALVES_RING + 1) * HALVES_SLOT)
    this.#fields = new HalvesFields(source.arena, at)
    this.#fields.splits = splits
    this.#fields.slots = roundUp(at + HALVES_BYTES, HALVES_SLOT)
  }

  /** Address of its structure. */
  get at(): Address {
    return this.#fields.at
  }

  /** Sweeps on; by one thread where that is asked for. */
  async run(slice: Slice, byOne = false): Promise<SweptSlice> {
    const { arena, threads } = this.#source
    const { at } = this
    if (byOne || threads.size === 1 || this.#alone > 0) {
      this.#alone--
      return threads.run(dualSweepsTask, { ...slice, halves: { at, by: 'alone' } })
    }
    const first: DualSweepsOptions = { ...slice, halves: { at, by: 'both' } }
    const fields = new SweepFields(arena, slice.sweep)
    if (fields.began === 0) await threads.run(beginSweepTask, first)
    this.#fields.stop = 0
    const { active } = fields
    const [swept] = await Promise.all([
      threads.run(dualSweepsTask, first),
      runLoop(threads, 'sweepHalvesSecond', slice.problem, slice.sweep, at, active),
    ])
    if (this.#fields.gaveUp !== 0) {
      this.#alone = this.#aloneFor
      this.#aloneFor = Math.min(LONGEST_ALONE, this.#aloneFor * 2)
    }
    return swept
  }
}
