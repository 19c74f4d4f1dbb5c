// Solver `lbfgs`: steps on the primal by what gradients at earlier points tell of second derivatives.
//
//   w ← w − t H ∇P(w)
//
// H is made of the last changes of weights and gradients, s and y, around the diagonal of second derivatives: Liu, Nocedal:
// On the limited memory BFGS method for large scale optimization (Mathematical Programming 45, 1989). A step is a pass over the
// rows, unless it has to be shortened (descent.ts). The pass that finds the gradient at w = 0 makes stochastic gradient steps
// besides, and the point where they lead is tried first: Agarwal, Chapelle, Dudík, Langford: A reliable effective terascale
// linear learning system (JMLR 15, 2014).

import type { RowCall } from '../../threads/loop-task.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import { type Ground, type Slope, VIEW_BYTES, viewBytes } from '../objectives/primal-view.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { DESCENT_BYTES, Descent, secondDerivative } from './descent.ts'
import { startDescents } from './descents-run.ts'
import type { BlockSolver, MemorySolver, SolverSettings } from './solver.ts'

/** Pairs of changes that are remembered. Where weights are few, more pairs cost nothing beside a pass over the rows, and save
 *  many: a twentieth of covtype took 554 passes to a gap of 1e-6 with 10 pairs, and 152 with 40. */
const PAIRS = 10
const FEW_WEIGHTS = 1024
const PAIRS_OF_FEW = 40
/** A pair whose curvature sᵀy is no larger a share of ‖s‖‖y‖ is left out: it is made of rounding errors. */
const LEAST_CURVATURE = 1e-10
/** Bytes of what stochastic gradients count. */
const COUNTS_BYTES = 16

const pairsFor = (weights: number): number => (weights <= FEW_WEIGHTS ? PAIRS_OF_FEW : PAIRS)
/** Bytes of the pairs for each weight. */
const historyBytes = (weights: number): number => pairsFor(weights) * 2 * 8

interface History {
  /** Stochastic gradients are under way, the point where they led is being tried, or both are over. */
  opening: 'sgd' | 'trial' | 'over'
  /** Pairs there are, and the place of the next one. */
  pairs: number
  next: number
}

class LbfgsDescent extends Descent<History> {
  /** Address of the pairs, s and y of each. Before there is one, the room is that of stochastic gradients; then the step that is
   *  taken if their point is no good stands here. */
  readonly #history: number
  readonly #mostPairs: number
  /** Whether the step holds sums over ranks. */
  #mean = false

  constructor(objective: OneProblem, source: Ground, { space }: SolverSettings) {
    // Rows that an additive kernel binned have no entries to make steps with, and classes together have no such steps.
    const steps = !space && objective.primalLoops!.matrix
    super(objective, source, { opening: steps ? 'sgd' : 'over', pairs: 0, next: 0 })
    const { weightCount } = objective
    this.#mostPairs = pairsFor(weightCount)
    this.#history = source.room('earlier gradients', COUNTS_BYTES + weightCount * historyBytes(weightCount))
  }

  protected override get pass() {
    return 'slope' as const
  }

  override calls(group: RowGroup): RowCall[] {
    const { course, objective, view, step } = this
    // Weights that were handed over are better than where stochastic gradients lead.
    if (course.opening === 'sgd' && objective.squaredLengths()[0] > 0) course.opening = 'over'
    const calls = super.calls(group)
    if (course.opening !== 'sgd') return calls
    const over = { problem: view.problem, from: 0, to: group.rows }
    return [...calls, { ...over, loop: 'adagradRows', numbers: [step, view.count, this.#history] }]
  }

  /** Each rank has made stochastic gradient steps over its own rows. Of each weight the mean is taken that counts ranks by G, which
   *  tells how often and how far its rows have moved it. */
  override shared() {
    const { course, step, view, objective } = this
    const shared = super.shared()
    if (course.opening !== 'sgd') return shared
    const { arena } = objective
    const squares = this.#history + COUNTS_BYTES
    const [weights, counts] = [arena.f64(step, view.count), arena.f64(squares, view.count)]
    for (let j = 0; j < weights.length; j++) weights[j] *= counts[j]
    this.#mean = true
    return { ...shared, vectors: [...shared.vectors, ...[step, squares].map(at => ({ at, count: view.count }))] }
  }

  protected override findStep(): void {
    const { course } = this
    if (course.opening === 'sgd') {
      if (this.#mean) this.#takeMean()
      // From w = 0 the step is the point where stochastic gradients led. All it has to be is better.
      this.#goDown(this.#history)
      course.opening = 'trial'
      course.promise = 0
      this.try(1)
      return
    }
    course.opening = 'over'
    this.#goDown(this.step)
    this.take()
    if (course.promise < 0) return
    // Rounding errors have spoilt the pairs.
    course.pairs = 0
    course.next = 0
    this.#goDown(this.step)
    this.take()
  }

  protected override refuse(seen: Slope): void {
    if (this.course.opening !== 'trial') {
      super.refuse(seen)
      return
    }
    this.course.opening = 'over'
    this.copy(this.step, this.#history)
    this.take()
  }

  /** Sums of weights over ranks become means. */
  #takeMean(): void {
    const { step, view, objective } = this
    const weights = objective.arena.f64(step, view.count)
    const counts = objective.arena.f64(this.#history + COUNTS_BYTES, view.count)
    for (let j = 0; j < weights.length; j++) weights[j] = counts[j] > 0 ? weights[j] / counts[j] : 0
    this.#mean = false
  }

  /** Puts −H ∇P at an address. */
  #goDown(to: number): void {
    const { numeric } = this.objective.arena
    const { gradient } = this
    const { count, diagonal } = this.view
    const pairs = this.#pairs()
    const shares: number[] = []
    numeric.combine(to, -1, gradient, 0, gradient, count)
    for (const { s, y, curvature } of pairs) {
      const share = numeric.innerProduct(s, to, count) / curvature
      numeric.combine(to, 1, to, -share, y, count)
      shares.push(share)
    }
    numeric.precondition(to, to, diagonal, count)
    const [latest] = pairs
    if (latest) {
      // Features hang together, so the diagonal alone is too small or too large by a factor, which the last pair knows.
      const { sum } = this.view
      numeric.precondition(sum, latest.y, diagonal, count)
      const factor = latest.curvature / numeric.innerProduct(latest.y, sum, count)
      numeric.combine(to, factor, to, 0, to, count)
    }
    for (const [k, { s, y, curvature }] of [...pairs.entries()].reverse()) {
      const share = numeric.innerProduct(y, to, count) / curvature
      numeric.combine(to, 1, to, shares[k] - share, s, count)
    }
  }

  /** The pairs, the latest first. */
  #pairs(): { s: number; y: number; curvature: number }[] {
    const { pairs, next } = this.course
    const { count } = this.view
    const { numeric } = this.objective.arena
    return Array.from({ length: pairs }, (_, k) => {
      const { s, y } = this.#pairAt((next - 1 - k + this.#mostPairs) % this.#mostPairs)
      return { s, y, curvature: numeric.innerProduct(s, y, count) }
    })
  }

  #pairAt(place: number): { s: number; y: number } {
    const bytes = this.view.count * 8
    const s = this.#history + 2 * place * bytes
    return { s, y: s + bytes }
  }

  /** The weights move: how they and their gradient change is the next pair. */
  protected override leave(gradient: number): void {
    const { numeric } = this.objective.arena
    const { course } = this
    const { count, point } = this.view
    const { s, y } = this.#pairAt(course.next)
    numeric.combine(s, 1, point, -1, this.objective.weights, count)
    numeric.combine(y, 1, gradient, -1, this.gradient, count)
    const size = Math.sqrt(numeric.innerProduct(s, s, count) * numeric.innerProduct(y, y, count))
    if (!(numeric.innerProduct(s, y, count) > LEAST_CURVATURE * size)) {
      // Its place was that of the oldest.
      course.pairs = Math.min(course.pairs, this.#mostPairs - 1)
      return
    }
    course.next = (course.next + 1) % this.#mostPairs
    course.pairs = Math.min(course.pairs + 1, this.#mostPairs)
  }

  override stretches() {
    const { opening, pairs } = this.course
    const vector = this.view.count * 8
    // Places fill from the first on. When a pair is left out later, any place may be the empty one.
    const ofPairs = (pairs < this.#mostPairs - 1 ? pairs : this.#mostPairs) * 2 * vector
    const bytes = { sgd: COUNTS_BYTES + 2 * vector, trial: vector, over: ofPairs }[opening]
    return [...super.stretches(), { at: this.#history, bytes }]
  }
}

const start = startDescents((...settings) => new LbfgsDescent(...settings))

const traits = {
  name: 'lbfgs',
  summary: 'quasi-Newton steps on the primal after stochastic gradients: a pass over the rows for each step',
  dual: false,
  wideWeights: true,
  rowWeights: true,
  options: ['blockOrder', 'tolerance'],
  lossNeeds: secondDerivative,
  ...start,
} satisfies Partial<MemorySolver>

/** The same where rows come in blocks. */
const lbfgsInBlocks: BlockSolver = {
  ...traits,
  data: 'blocks',
  overRanks: true,
  cacheShare: 0,
  extra: { perWeight: weights => VIEW_BYTES + DESCENT_BYTES + historyBytes(weights), perRow: 0 },
}

export const lbfgs: MemorySolver = {
  ...traits,
  ...{ data: 'memory', overRanks: true, inBlocks: lbfgsInBlocks },
  extraBytes: (weights, models = 1) =>
    viewBytes(weights, false, models) + models * weights * (DESCENT_BYTES + historyBytes(weights)),
}
