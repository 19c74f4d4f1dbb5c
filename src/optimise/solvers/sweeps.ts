// The bookkeeping around the sweeps of numeric/assembly/dual.ts, over one problem's rows. The solver decides how many
// sweeps there are. All state is in the SWEEP_ structure.
import type { Arena } from '../../numeric/arena.ts'
import { HalvesFields } from '../../numeric/fields/halves.ts'
import { SweepFields } from '../../numeric/fields/sweep.ts'
import { SWEEP_BYTES, SWEEP_RANDOM } from '../../numeric/layouts.ts'
import type { Address } from '../../sizes.ts'
import type { SweepKind } from '../objectives/one-problem.ts'
import { areMany, beginOverMany, endOverMany } from './many-rows.ts'
import { carryOn, type Momentum } from './momentum.ts'

export interface SweepStart {
  sweep: number
  order: number
  rows: number
  random: bigint
  /** How finely Newton steps go at first. */
  inner?: number
}

/** Makes a structure ready: rows in the order 0, 1, 2, …, all active, random numbers from a seed. */
export function startSweeps(arena: Arena, start: SweepStart): void {
  arena.numeric.iota(start.order, start.rows)
  startListed(arena, start)
}

/** The same over the rows that the order lists already. */
export function startListed(arena: Arena, { sweep, order, rows, random, inner = 1e-2 }: SweepStart): void {
  arena.bytes(sweep, SWEEP_BYTES).fill(0)
  const fields = new SweepFields(arena, sweep)
  fields.order = order
  fields.active = rows
  fields.inner = inner
  fields.random = random
  activateAll(arena, sweep, rows)
}

/** How finely Newton steps go in a pass over rows that are met afresh in each. */
export function innerOf(pass: number): number {
  return Math.max(1e-9, 10 ** (-2 - pass))
}

/** Brings shrunk rows back and forgets the thresholds: the next sweep shrinks nothing, the one after it by what it saw. */
export function activateAll(arena: Arena, sweep: number, rows: number): void {
  const fields = new SweepFields(arena, sweep)
  fields.active = rows
  fields.upper = Number.POSITIVE_INFINITY
  fields.lower = Number.NEGATIVE_INFINITY
}

export interface SweepSettings extends SweepKind {
  rows: number
  shrink: boolean
  /** Whether the problem's most frequent weights are a trainer's own (PROBLEM_OWN). */
  parted?: boolean
  /** What carries dual variables on before each sweep, if anything does. */
  momentum?: Momentum | undefined
  /** Of a sweep by two trainers, each with half of the weights: its structure, and who sweeps. See dual-halves.ts. */
  halves?: { at: Address; by: 'both' | 'alone' } | undefined
}

/** What a finished sweep saw. */
export interface SweepOutcome {
  /** What its rows owed to the duality gap, and their losses, as they were met. */
  gap: number
  loss: number
  /** Whether it met every row. */
  all: boolean
  /** The largest and the smallest projected gradient, and the distance between them (LIBLINEAR's stopping rule). */
  highest: number
  lowest: number
  spread: number
}

export class Sweeps {
  readonly #arena: Arena
  readonly #problem: number
  readonly #settings: SweepSettings
  readonly #run: (problem: number, sweep: number, budget: number) => number
  readonly #fields: SweepFields

  constructor(arena: Arena, problem: number, sweep: number, settings: SweepSettings) {
    const { numeric } = arena
    const { logistic, narrow, parted = false, together = false, halves } = settings
    this.#arena = arena
    this.#problem = problem
    this.#settings = settings
    const bits = narrow ? 'F32' : 'F64'
    this.#run = halves
      ? this.#overHalves(halves)
      : together
        ? numeric.sweepTogether
        : numeric[`sweep${logistic ? 'Logistic' : 'Box'}${parted ? 'Parted' : ''}${bits}`]
    this.#fields = new SweepFields(arena, sweep)
    this.#fields.shrink = settings.shrink ? 1 : 0
    this.#fields.visited = 0
  }

  /** Nonzeros visited since this object was made. */
  get work(): number {
    return this.#fields.visited
  }

  /** Of the last finished sweep; the loss of the last one that met every row. */
  get last(): { gap: number; loss: number } {
    return { gap: this.#fields.lastGap, loss: this.#fields.lastLoss }
  }

  /** The largest and the smallest projected gradient of the present sweep so far. */
  get extremes(): { highest: number; lowest: number } {
    const highest = this.#fields.gradientMax
    const lowest = this.#fields.gradientMin
    return highest >= lowest ? { highest, lowest } : { highest: 0, lowest: 0 }
  }

  /** Goes on with the present sweep, or begins one, until about `budget` nonzeros were visited; its outcome if it ended. */
  advance(budget: number): SweepOutcome | undefined {
    this.begin()
    // The loop needs the sweep to have begun even when no row is active.
    if (!this.#run(this.#problem, this.#fields.at, budget)) return undefined
    return this.#end()
  }

  #overHalves({ at, by }: NonNullable<SweepSettings['halves']>): (...args: [number, number, number]) => number {
    const { numeric } = this.#arena
    const run = by === 'alone' ? numeric.sweepHalvesAlone : numeric.sweepHalvesFirst
    return (problem, sweep, budget) => run(problem, sweep, at, budget)
  }

  /** Begins a sweep, unless one is under way. */
  begin(): void {
    if (this.#fields.began === 0) this.#begin()
  }

  #begin(): void {
    const fields = this.#fields
    const { active } = fields
    const { momentum } = this.#settings
    if (momentum) carryOn(this.#arena, this.#problem, fields, momentum)
    if (areMany(fields)) beginOverMany(this.#arena, fields)
    else this.#arena.numeric.shuffle(fields.order, active, fields.at + SWEEP_RANDOM)
    // One more than the active rows, so that 0 can say that no sweep is under way.
    fields.began = active + 1
    fields.cursor = 0
    fields.gradientMax = this.#settings.logistic ? 0 : Number.NEGATIVE_INFINITY
    fields.gradientMin = this.#settings.logistic ? 0 : Number.POSITIVE_INFINITY
    fields.loss = 0
    fields.gap = 0
    fields.newton = 0
    fields.steepness = 0
    fields.steep = 0
    if (this.#settings.halves) this.#arena.numeric.startHalves(this.#settings.halves.at)
  }

  #end(): SweepOutcome {
    const fields = this.#fields
    const { rows, logistic, halves } = this.#settings
    const all = fields.began === rows + 1
    if (halves) fields.active = new HalvesFields(this.#arena, halves.at).kept
    fields.began = 0
    const { gap, loss } = fields
    fields.lastGap = gap
    // Rows that were shrunk are not met: the loss of a full sweep stands until the next one.
    if (all) fields.lastLoss = loss
    // Once most rows need no Newton step at this accuracy, a finer one.
    if (logistic && fields.newton <= rows / 10) fields.inner = Math.max(1e-9, fields.inner * 0.1)
    const upper = fields.gradientMax
    const lower = fields.gradientMin
    fields.upper = upper > 0 ? upper : Number.POSITIVE_INFINITY
    fields.lower = lower < 0 ? lower : Number.NEGATIVE_INFINITY
    if (areMany(fields)) endOverMany(fields, rows)
    const [highest, lowest] = upper >= lower ? [upper, lower] : [0, 0]
    return { gap, loss, all, highest, lowest, spread: highest - lowest }
  }
}
