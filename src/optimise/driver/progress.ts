// What a driver tells while it goes on: where the objective and the gap are, as far as is known between two certificates.
import type { RunState } from '../../block-store/checkpoint.ts'
import type { Certificate } from '../objectives/certificate.ts'
import type { Run, Steps } from '../solvers/solver.ts'
import type { RowSource } from '../sources/row-source.ts'
import type { Driving } from './driving.ts'

export interface PassProgress {
  /** Passes over all rows so far. */
  pass: number
  /** Of many models: their sum. */
  primal: number
  /** Relative duality gap; null for methods without one, and while none is known; of many models the largest of those that are still trained. */
  gap: number | null
  /** True when both come from a certificate, false when they are an estimate. */
  certified: boolean
  /** True while rows that hardly move are left out: the gap is of the others, the primal of the last sweep over all rows. */
  partial?: boolean
  /** While the certificate is made: the share of its pass that is done. */
  certificate?: number
  /** Models that are done. */
  done: number
  /** Blocks and bytes that were read so far, and bytes that were left out. */
  counts: RowSource['counts']
  /** Of a method that keeps rows in memory: how many are there. */
  rowsKept?: number
  /** Of one that lets them go again: how many have left so far. */
  rowsEvicted?: number
  /** Of a method whose steps take several passes. */
  steps?: Steps
}

/** The length of more weights than these is not worked out after every group: with small groups it would take longer. */
const MANY_WEIGHTS = 1 << 20

/** A relative gap beyond it stands for none: nothing is known of some rows. */
const UNKNOWN = 1e100

export class Progress {
  readonly #of: Pick<Driving, 'objective' | 'source' | 'solver' | 'tell'>
  readonly #run: Run
  /** When stock was last taken, by a method that keeps rows in memory or of many models. */
  #known: { primal: number; gap: number } | undefined
  #quietUntil = 0
  /** What rows showed when all of them were last met. */
  #whole: number | undefined
  #last: { primal: number; gap: number | null } | undefined
  partial = false

  constructor(of: Pick<Driving, 'objective' | 'source' | 'solver' | 'tell'>, run: Run) {
    this.#of = of
    this.#run = run
  }

  /** Rows in memory are not met again, so what a round met says little before its end: until then this stands. */
  know(primal: number, gap: number): void {
    this.#known = { primal, gap: primal > 0 ? gap / primal : 0 }
  }

  /** Of many models: what they have come to at the end of a pass. */
  stock(state: RunState): void {
    if (state.primals.length === 1 || state.known) return
    const gaps = state.gaps.map((gap, k) => (state.resting[k] || state.primals[k] <= 0 ? 0 : gap / state.primals[k]))
    this.#known = { primal: sum(state.primals), gap: Math.max(...gaps) }
  }

  /** After a group: `share` of the pass is done. */
  tell(state: RunState, share: number): void {
    if (this.#known) {
      this.#say(state, state.work, this.#known.primal, this.#known.gap)
      return
    }
    const { objective, solver } = this.#of
    const began = performance.now()
    if (objective.weightCount > MANY_WEIGHTS && began < this.#quietUntil && share < 1) return
    const lengths = state.known ? [] : objective.squaredLengths()
    const primals = state.losses.map((loss, k) => state.known?.[k] ?? 0.5 * lengths[k] + loss / share)
    const gaps = state.gaps.map((gap, k) => (primals[k] > 0 ? gap / share / primals[k] : 0))
    if (!this.partial) this.#whole = sum(primals)
    this.#say(state, state.work, this.#whole ?? sum(primals), solver.dual ? Math.max(...gaps) : null)
    const now = performance.now()
    this.#quietUntil = now + 20 * (now - began)
  }

  /** Within a visit that takes long. */
  tick(state: RunState, work: number, gap: number): void {
    this.#say(state, work, sum(state.primals), gap)
  }

  /** In the certificate's pass, which for methods without a dual certifies nothing. */
  certifying(state: RunState, share: number): void {
    if (!this.#last || !this.#of.solver.dual) return
    this.#say(state, state.work, this.#last.primal, this.#last.gap, share)
  }

  certified(ends: { certificate: Certificate | undefined; done?: boolean }[], passes: number): void {
    const certificates = ends.map(({ certificate }) => certificate)
    // What one model does not know, all of them together do not know.
    if (!certificates.every(certificate => certificate !== undefined)) return
    const primal = sum(certificates.map(certificate => certificate.primal))
    const gaps = certificates.map(certificate => certificate.gap)
    const gap = gaps.every(one => one !== null) ? Math.max(...gaps) : null
    const done = ends.filter(end => end.done !== false).length
    this.partial = false
    if (this.#known) this.#known = { primal, gap: gap ?? 0 }
    this.#tell({ pass: passes, primal, gap, certified: true, done })
  }

  #say({ solutions }: RunState, pass: number, primal: number, found: number | null, certificate?: number): void {
    const done = solutions.filter(solution => solution !== null).length
    const gap = found !== null && found < UNKNOWN ? found : null
    this.#last = { primal, gap }
    const partial = this.partial && { partial: true }
    this.#tell({
      ...{ pass, primal, gap, certified: false, done, ...partial },
      ...(certificate !== undefined && { certificate }),
    })
  }

  #tell(progress: Omit<PassProgress, 'counts' | 'rowsKept' | 'rowsEvicted' | 'steps'>): void {
    const { source, tell } = this.#of
    const rowsKept = this.#run.rowsKept?.()
    const rowsEvicted = this.#run.rowsEvicted?.()
    const steps = this.#run.steps?.()
    const counts = { ...source.counts }
    const rows = { ...(rowsKept !== undefined && { rowsKept }), ...(rowsEvicted !== undefined && { rowsEvicted }) }
    tell({ ...progress, counts, ...rows, ...(steps && { steps }) })
  }
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
