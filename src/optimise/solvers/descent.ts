// What methods share that look at all rows, find a step and go down along it: a step that does not lower the objective enough
// is shortened, and what a checkpoint holds. They differ in how they find the step.
import type { Stretch } from '../../block-store/checkpoint.ts'
import { isSmooth } from '../../losses/loss.ts'
import type { Vector } from '../../ranks/records.ts'
import type { LoopCall, RowCall } from '../../threads/loop-task.ts'
import type { Certificate } from '../objectives/certificate.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import { type Ground, type PrimalPass, PrimalView, type Slope } from '../objectives/primal-view.ts'
import type { RowGroup } from '../sources/row-source.ts'
import type { Saved, Solver, Steps } from './solver.ts'

/** A step is taken that lowers the objective by at least so much of what its slope promises. */
const ARMIJO = 1e-4
/** The objective is known to so many digits: a difference below them says nothing. */
const DIGITS = 1e-13

/** Bytes that a descent takes for each weight besides its view: gradient and step. */
export const DESCENT_BYTES = 2 * 8

/** What a method needs of a loss that goes by second derivatives, or by how gradients change. */
export const secondDerivative: Solver['lossNeeds'] = {
  what: 'a second derivative (squared-hinge and logistic have one)',
  has: isSmooth,
}

/** Where a run stands between two passes. */
interface Course {
  /** At the weights: the objective, known since the first pass; and what a full step promises. */
  known: Slope | null
  promise: number
  /** The share of the step that is tried. */
  share: number
  /** Steps so far, and passes for the next one that did not move the weights. */
  steps: number
  still: number
}

/** One model that looks at all rows before it moves, as those that go side by side see it. */
export interface WholePasses extends Saved {
  /** What is to be called over the rows of a group. */
  calls(group: RowGroup): RowCall[]
  /** The calls have been made: losses of the rows. */
  met(): number
  /** What is to be called when all rows have been visited, before the end of the pass. */
  closing(): LoopCall[]
  /** What is summed over ranks then, and what is to be called behind that. */
  shared(): { vectors: Vector[]; numbers: Float64Array[] }
  settling(): LoopCall[]
  /** The pass is over; the relative gap to reach is told. */
  endPass(target: number): void
  steps(): Steps
  /** Of the weights as they are. */
  readonly certificate: Certificate | undefined
}

/** One model on its way down. `Own` is what a method has to remember besides: plain data. */
export abstract class Descent<Own extends object = object> implements WholePasses {
  protected readonly objective: OneProblem
  protected readonly view: PrimalView
  /** Addresses: gradient at the weights, step. */
  protected readonly gradient: number
  protected readonly step: number
  protected course: Course & Own
  /** The relative gap to reach. */
  protected target = 0
  #begun = false

  constructor(objective: OneProblem, source: Ground, own: Own, withMatrix = false, leastPieces = 0) {
    this.objective = objective
    this.course = { known: null, promise: 0, share: 1, steps: 0, still: 0, ...own }
    this.view = new PrimalView(objective, source, withMatrix, leastPieces)
    this.gradient = source.room('the gradient', this.view.count * 8)
    this.step = source.room('the step', this.view.count * 8)
  }

  /** What the pass sums that comes next, or is under way. */
  protected abstract get pass(): PrimalPass
  /** Weights and gradient are new: finds the step, or what to sum for it. */
  protected abstract findStep(): void
  /** A product has been summed; derivatives along a line have been. */
  protected followProduct(): void {}
  protected followLine(): void {}
  /** Whether a point that was tried is to be taken. */
  protected isGood({ primal }: Slope): boolean {
    const { known, share, promise } = this.course
    return known === null || primal <= known.primal + ARMIJO * share * promise + this.rounding
  }
  /** The weights are about to move to the point, whose gradient is at this address. */
  protected leave(_gradient: number): void {}
  /** The step led to a point that is no good. */
  protected refuse(seen: Slope): void {
    this.#shorten(seen)
  }

  calls(group: RowGroup): RowCall[] {
    if (!this.#begun) {
      if (this.course.known === null) this.copy(this.view.point, this.objective.weights)
      this.view.begin()
      this.#begun = true
    }
    return this.view.calls(group, this.pass)
  }

  met(): number {
    const loss = this.view.met(this.pass)
    // Where the point is new, the losses are not those of the weights.
    return this.course.known === null ? loss : 0
  }

  closing(): LoopCall[] {
    return this.view.closing(this.pass)
  }

  shared(): { vectors: Vector[]; numbers: Float64Array[] } {
    return this.view.shared(this.pass)
  }

  settling(): LoopCall[] {
    return []
  }

  endPass(target: number): void {
    const { pass } = this
    this.#begun = false
    this.target = target
    this.course.still++
    if (pass === 'product') this.followProduct()
    else if (pass === 'line') this.followLine()
    else this.#look()
  }

  steps(): Steps {
    return { outer: this.course.steps, inner: this.course.still }
  }

  get certificate(): Certificate | undefined {
    return this.course.known?.certificate
  }

  /** The gradient at the point is known. */
  #look(): void {
    const { course } = this
    const { point, direction } = this.view
    // The gradient goes where no direction is any more.
    const seen = this.view.slope(direction)
    if (!this.isGood(seen)) {
      this.refuse(seen)
      return
    }
    if (course.known) this.leave(direction)
    course.known = seen
    course.still = 0
    this.copy(this.objective.weights, point)
    this.copy(this.gradient, direction)
    this.findStep()
  }

  /** The whole step is tried. */
  protected take(): void {
    this.course.steps++
    this.course.promise = this.objective.arena.numeric.innerProduct(this.gradient, this.step, this.view.count)
    this.try(1)
  }

  protected try(share: number): void {
    const { arena, weights } = this.objective
    this.course.share = share
    arena.numeric.combine(this.view.point, 1, weights, share, this.step, this.view.count)
  }

  /** Takes the step to where the parabola through what is known is lowest. */
  #shorten({ primal }: Slope): void {
    const { share, promise, known } = this.course
    const rise = primal - known!.primal - promise * share
    const lowest = (-promise * share * share) / (2 * rise)
    this.try(Math.min(Math.max(lowest, 0.1 * share), 0.5 * share))
  }

  protected get rounding(): number {
    return DIGITS * this.course.known!.primal
  }

  protected copy(to: number, from: number): void {
    const { arena } = this.objective
    arena.bytes(to, this.view.count * 8).set(arena.bytes(from, this.view.count * 8))
  }

  state(): unknown {
    return { course: this.course, sums: this.view.totals, begun: this.#begun }
  }

  restore(state: unknown): void {
    const { course, sums, begun } = structuredClone(state) as { course: Course & Own; sums: number[]; begun: boolean }
    this.course = course
    this.#begun = begun
    this.view.totals = sums
  }

  stretches(): Stretch[] {
    const { count, point, direction, diagonal, rooms } = this.view
    const vectors = [point, direction, diagonal, this.gradient, this.step]
    return [...vectors.map(at => ({ at, bytes: count * 8 })), rooms]
  }
}
