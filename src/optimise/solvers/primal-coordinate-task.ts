// Sweeps over columns on one thread, until a budget of entries is spent or a sweep that met every column finds the gap small
// enough. All state is in shared memory, so that any thread can go on.
import type { Arena } from '../../numeric/arena.ts'
import { L1Fields } from '../../numeric/fields/l1.ts'
import {
  L1_PHASE_DIRECTION,
  L1_PHASE_MODEL,
  L1_PHASE_STEP,
  L1_PHASE_SWEEP,
  L1_RANDOM,
} from '../../numeric/l1-layout.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'

export interface PrimalCoordinateOptions {
  /** Address of the L1_ structure. */
  l1: number
  logistic: boolean
  /** Whether the regulariser is ‖w‖₁, else ½‖w‖². */
  sparse: boolean
  shrink: boolean
  budget: number
  /** Entries that a Newton step may take, beyond the budget if need be. */
  spare: number
  targetGap: number
  /** Makes the step that is under way as far as it got, and ends. */
  finish: boolean
}

/** More sweeps over one quadratic model bring little. */
const MOST_SWEEPS = 100
/** A Newton step is found to this share of the derivatives, in at most so many rounds. */
const NEWTON_SHARE = 0.03
const NEWTON_ROUNDS = 200
/** Most sweeps between two Newton steps, when those lead nowhere. */
const LONGEST_WAIT = 64

export const primalCoordinateTask = declareTask(import.meta.url, 'primal-coordinate', primalCoordinate)

/** It is ready when a sweep over all columns found the gap no larger than the target. Primal and gap are estimates. */
function primalCoordinate({ arena }: TaskContext, options: PrimalCoordinateOptions) {
  const columns = new Columns(arena, options)
  const ready = !options.sparse
    ? columns.advanceSmooth()
    : options.logistic
      ? columns.advanceLogistic()
      : columns.advanceSquared()
  return { work: columns.work, ready, ...columns.estimate }
}

/** The next sweep, or the next model's first one, meets every column. */
export function wakeColumns(arena: Arena, l1: number): void {
  const fields = new L1Fields(arena, l1)
  fields.phase = L1_PHASE_MODEL
  fields.began = 0
  fields.wake = 1
}

class Columns {
  readonly #arena: Arena
  readonly #options: PrimalCoordinateOptions
  readonly #fields: L1Fields

  constructor(arena: Arena, options: PrimalCoordinateOptions) {
    this.#arena = arena
    this.#options = options
    this.#fields = new L1Fields(arena, options.l1)
    this.#fields.visited = 0
  }

  get work(): number {
    return this.#fields.visited
  }
  get estimate(): { primal: number; gap: number } {
    return { primal: this.#fields.primal, gap: this.#fields.gap }
  }
  get #left(): number {
    return this.#options.budget - this.work
  }
  get #rows(): number {
    return this.#fields.rows
  }

  /** True when ready. */
  advanceSquared(): boolean {
    const fields = this.#fields
    const { l1, finish, targetGap } = this.#options
    if (finish) return false
    for (;;) {
      if (fields.began === 0) {
        const limit = this.#wake() ? Number.NEGATIVE_INFINITY : this.#limit()
        this.#begin(fields.active, limit)
      }
      if (!this.#arena.numeric.sweepL1Squared(l1, this.#left)) return false
      const all = fields.began === fields.features + 1
      fields.began = 0
      const enough = this.#estimateSquared() <= targetGap
      if (enough && all) return true
      if (this.#newtonIsDue()) this.#newton()
      // What was shrunk has not been seen: only a sweep over all columns tells.
      if (enough || fields.active === 0) fields.wake = 1
      if (this.#left <= 0) return false
    }
  }

  /** The same. A model, sweeps over it, and a step. */
  advanceLogistic(): boolean {
    const fields = this.#fields
    const { numeric } = this.#arena
    const { l1, finish, targetGap } = this.#options
    if (finish && fields.phase === L1_PHASE_MODEL) return false
    if (finish && fields.phase === L1_PHASE_SWEEP) this.#leaveModel()
    for (;;) {
      const { phase } = fields
      if (phase === L1_PHASE_MODEL) {
        const limit = this.#wake() ? Number.NEGATIVE_INFINITY : fields.outerLimit
        numeric.startModel(l1)
        this.#count(2)
        if (!finish && this.#newtonIsDue()) {
          this.#newton()
          numeric.startModel(l1)
          this.#count(2)
        }
        fields.first = 1
        fields.sweeps = 0
        this.#begin(fields.active, limit)
        fields.phase = L1_PHASE_SWEEP
      } else if (phase === L1_PHASE_SWEEP) {
        if (!numeric.sweepL1Logistic(l1, this.#left)) return false
        if (this.#endModelSweep(targetGap)) return true
      } else if (phase === L1_PHASE_DIRECTION) {
        const budget = finish ? Number.POSITIVE_INFINITY : this.#left
        if (numeric.directionL1(l1, budget)) fields.phase = L1_PHASE_STEP
      } else {
        // A model that led nowhere was not solved well enough.
        if (numeric.stepL1(l1, true, 1e-9) === 0) fields.share *= 0.25
        this.#count(4)
        fields.phase = L1_PHASE_MODEL
        if (finish) return false
      }
      if (!finish && this.#left <= 0) return false
    }
  }

  /** The same under ½‖w‖²: sweeps over all columns, and Newton steps between them. The gap is ½‖∇P‖². */
  advanceSmooth(): boolean {
    const fields = this.#fields
    const { numeric } = this.#arena
    const { l1, logistic, finish, targetGap } = this.#options
    if (finish) return false
    for (;;) {
      if (fields.began === 0) this.#begin(fields.features, Number.NEGATIVE_INFINITY)
      if (!numeric.sweepL2(l1, logistic, this.#left)) return false
      fields.began = 0
      if (logistic) numeric.lossL2Logistic(l1)
      else numeric.sumsOfSquared(l1)
      this.#count(1)
      fields.primal = 0.5 * numeric.squaredLengthF64(fields.weights, fields.features) + fields.loss
      fields.gap = 0.5 * fields.sum
      if (fields.gap <= targetGap) return true
      if (this.#newtonIsDue()) this.#newtonSmooth()
      if (this.#left <= 0) return false
    }
  }

  #newtonSmooth(): void {
    const { numeric } = this.#arena
    const { l1, logistic } = this.#options
    if (!logistic) {
      this.#newton()
      return
    }
    // The step is that of a model of the losses, as under ‖w‖₁.
    numeric.keepMarginsL2(l1)
    numeric.startModel(l1)
    this.#newton()
    numeric.startL2Logistic(l1)
    this.#count(4)
  }

  /** Decides what follows a sweep over the model; true when ready. */
  #endModelSweep(targetGap: number): boolean {
    const fields = this.#fields
    const { sum } = fields
    const sweeps = ++fields.sweeps
    const opening = fields.first === 1
    const all = fields.began === fields.features + 1
    fields.first = 0
    let ready = false
    if (opening) {
      fields.outerLimit = this.#limit()
      if (fields.startSum === 0) fields.startSum = sum
      const enough = this.#estimateLogistic() <= targetGap
      ready = enough && all
      if ((enough && !all) || fields.active === 0) fields.wake = 1
    }
    const solved = sum <= fields.share * fields.startSum
    // All columns of the model, not only those that sweeps over it left, have to agree that it is solved.
    const whole = fields.began === fields.active + 1 || opening
    if (sweeps >= MOST_SWEEPS || (solved && whole)) {
      // The violations are down to this share after one sweep: the next model is worth more.
      if (sweeps === 1) fields.share *= 0.25
      this.#leaveModel()
    } else if (solved) this.#begin(fields.active, Number.NEGATIVE_INFINITY)
    else this.#begin(fields.inner, this.#limit())
    return ready
  }

  #newtonIsDue(): boolean {
    return ++this.#fields.since >= this.#fields.wait
  }

  /** Newton's step for the weights that are not zero, under ½‖w‖² for all. It comes more often while it is taken whole. */
  #newton(): void {
    const fields = this.#fields
    const { numeric } = this.#arena
    const { l1, logistic, sparse } = this.#options
    fields.since = 0
    const { damping } = fields
    numeric.newtonL1(l1, logistic, sparse, damping, NEWTON_SHARE, NEWTON_ROUNDS, this.#options.spare - this.work)
    let taken = 0
    let share = 1
    for (; share > 1e-3; share /= 4) {
      numeric.clipNewton(l1, sparse, share)
      this.#fields.cursor = 0
      numeric.directionL1(l1, Number.POSITIVE_INFINITY)
      taken = logistic ? numeric.stepL1(l1, sparse, 1) : numeric.stepL1Squared(l1, sparse, 1)
      this.#count(4)
      if (taken > 0) break
    }
    const { wait } = fields
    const whole = taken > 0 && share === 1
    fields.wait = taken === 0 ? Math.min(2 * wait, LONGEST_WAIT) : whole ? Math.max(wait / 2, 1) : wait
    fields.damping = whole ? Math.max(damping / 4, 1e-9) : Math.min(damping * 4, 1)
  }

  #leaveModel(): void {
    this.#fields.began = 0
    this.#fields.cursor = 0
    this.#fields.phase = L1_PHASE_DIRECTION
  }

  /** Begins a sweep over the first columns of the order. */
  #begin(count: number, limit: number): void {
    const fields = this.#fields
    this.#arena.numeric.shuffle(fields.order, count, this.#options.l1 + L1_RANDOM)
    fields.inner = count
    fields.cursor = 0
    fields.began = count + 1
    fields.limit = limit
    fields.worst = 0
    fields.sum = 0
    fields.steepest = 0
  }

  /** Wakes all columns if that was wished for. */
  #wake(): boolean {
    const fields = this.#fields
    if (fields.wake === 0) return false
    fields.wake = 0
    fields.active = fields.features
    return true
  }

  /** Below what derivative a weight of zero is shrunk after the sweep that just ended. */
  #limit(): number {
    return this.#options.shrink ? 1 - this.#fields.worst / this.#rows : Number.NEGATIVE_INFINITY
  }

  /** Looks at rows are work, too, and a sweep over no columns must not look like none. */
  #count(perRow: number): void {
    this.#fields.visited += perRow * this.#rows + 1
  }

  // Both take the derivatives of a sweep, met while weights still moved, for those of the weights at its end.

  #estimateSquared(): number {
    const fields = this.#fields
    const alpha = this.#arena.numeric.sumsOfSquared(this.#options.l1)
    this.#count(1)
    const { loss } = fields
    const factor = loss > 0 ? Math.min(1 / fields.steepest, alpha / (2 * loss)) : 0
    return this.#keep(loss, factor * alpha - factor * factor * loss)
  }

  #estimateLogistic(): number {
    const fields = this.#fields
    this.#count(2)
    const factor = Math.min(1, 1 / fields.steepest)
    return this.#keep(fields.loss, this.#arena.numeric.dualOfLogistic(this.#options.l1, factor))
  }

  #keep(loss: number, dual: number): number {
    const fields = this.#fields
    const primal = this.#arena.numeric.lengthL1(fields.weights, fields.features) + loss
    fields.primal = primal
    fields.gap = Math.max(primal - dual, 0)
    return fields.gap
  }
}
