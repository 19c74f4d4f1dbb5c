// Many models over the same rows in memory: classes, folds and costs, in bundles of up to eight. Bundles are independent of
// each other, so threads take one each.

import { type Arena, formatBytes } from '../numeric/arena.ts'
import { BUNDLE_LANES } from '../numeric/bundle-layout.ts'
import { SUMS_BYTES, SWEEP_BYTES } from '../numeric/layouts.ts'
import type { DriverSettings, Solution } from '../optimise/driver/driver.ts'
import { Bundle, type BundledProblem, bundleBytes, bundleSizes } from '../optimise/objectives/bundle.ts'
import { type Certificate, certificateOf } from '../optimise/objectives/certificate.ts'
import {
  certificateAt,
  type LossesAlong,
  lookAlongInPieces,
  penaltyOf,
  roomForLook,
  shortenScores,
} from '../optimise/objectives/line-search.ts'
import { lookAlongTask } from '../optimise/objectives/look-along-task.ts'
import { bundleRowsTask, bundleSweepsTask } from '../optimise/solvers/bundle-sweeps-task.ts'
import { startSweeps } from '../optimise/solvers/sweeps.ts'
import type { RowSet } from '../rows/row-set.ts'
import type { ThreadPool } from '../threads/pool.ts'

/** Nonzeros between two looks at the abort signal. */
const SLICE = 4e6
/** Rows summed apart: the same pieces for any number of threads. */
const PIECES = 16

export interface TogetherSettings extends DriverSettings {
  /** Bytes that bundles may take at a time. */
  room: number
  say?: (reason: string) => void
}

export interface TogetherProgress {
  /** Models that are certified, and models in all. */
  done: number
  models: number
  /** Passes of the bundle that told this, and the largest gap among its models that are still trained. */
  pass: number
  gap: number
}

/** One model after it was trained. */
export interface Trained {
  solution: Solution
  /** The bias last. */
  weights: Float64Array
}

export class ManyModels {
  readonly #arena: Arena
  readonly #pool: ThreadPool
  readonly #rows: RowSet
  readonly #settings: TogetherSettings
  readonly #folds: number
  readonly #passWork: number
  readonly #rooms = new WeakMap<Bundle, number>()
  #done = 0

  constructor(arena: Arena, pool: ThreadPool, rows: RowSet, settings: TogetherSettings, folds = 0) {
    this.#arena = arena
    this.#pool = pool
    this.#rows = rows
    this.#settings = settings
    this.#folds = folds
    this.#passWork = Math.max(1, arena.numeric.workOf(rows.table, rows.rows))
  }

  /** Trains all of them, as many at a time as there is room for; `each` gets every model with its number as it is ready.
   *  `scores`: where columns of f32 for all rows are, into which models score the rows that they did not see, or 0. */
  async train(
    problems: BundledProblem[],
    each: (model: number, trained: Trained) => void,
    tell: (progress: TogetherProgress) => void,
    scores = 0,
  ): Promise<void> {
    const groups = this.#groups(problems)
    this.#done = 0
    let first = 0
    for (const sizes of groups) {
      const mark = this.#arena.mark()
      const bundles = sizes.map(size => {
        const bundle = this.#start(problems.slice(first, first + size))
        const begin = first
        first += size
        return { ...bundle, begin }
      })
      await Promise.all(
        bundles.map(async ({ bundle, sweep, order, begin }) => {
          const solutions = await this.#solve(bundle, sweep, order, progress =>
            tell({ ...progress, done: this.#done, models: problems.length }),
          )
          this.#done += solutions.length
          if (scores) await this.#score(bundle, scores, solutions)
          for (const [k, solution] of solutions.entries()) {
            each(begin + k, { solution, weights: bundle.copyWeights(k) })
          }
          tell({ done: this.#done, models: problems.length, pass: solutions[0].passes, gap: 0 })
        }),
      )
      this.#arena.release(mark)
    }
  }

  /** The same problems at one cost after the other, in rising order, each starting from the last one's dual variables, times
   *  the factor between the costs; `each` says whether there is to be another. All of a cost must fit at a time. */
  async climb(
    costs: number[],
    problemsAt: (cost: number) => BundledProblem[],
    each: (solutions: Solution[]) => boolean,
    tell: (progress: TogetherProgress) => void,
    scores: number,
  ): Promise<void> {
    const mark = this.#arena.mark()
    let bundles: { bundle: Bundle; sweep: number; order: number; begin: number }[] | undefined
    for (const [k, cost] of costs.entries()) {
      const problems = problemsAt(cost)
      this.#done = 0
      let first = 0
      bundles = bundleSizes(problems.length).map((size, b) => {
        const part = problems.slice(first, first + size)
        const begin = first
        first += size
        const known = bundles?.[b]
        if (!known) return { ...this.#start(part), begin }
        known.bundle.rescale(part, cost / costs[k - 1])
        startSweeps(this.#arena, known.sweep, known.order, this.#rows.rows, BigInt(this.#settings.seed))
        return known
      })
      const solutions = await Promise.all(
        bundles.map(async ({ bundle, sweep, order }) => {
          const found = await this.#solve(bundle, sweep, order, progress =>
            tell({ ...progress, done: this.#done, models: problems.length }),
          )
          this.#done += found.length
          await this.#score(bundle, scores, found)
          return found
        }),
      )
      if (!each(solutions.flat())) break
    }
    this.#arena.release(mark)
  }

  /** Bundle sizes, in groups that fit. */
  #groups(problems: BundledProblem[]): number[][] {
    const entropic = problems[0].loss.entropicDual === true
    const groups: number[][] = [[]]
    let left = this.#settings.room
    for (const size of bundleSizes(problems.length)) {
      const bytes = bundleBytes(size, this.#rows.rows, this.#rows.weights, entropic)
      if (bytes > left && groups[groups.length - 1].length > 0) {
        groups.push([])
        left = this.#settings.room
      }
      groups[groups.length - 1].push(size)
      left -= bytes
    }
    if (groups.length > 1) {
      const models = groups.map(sizes => sizes.reduce((sum, size) => sum + size, 0))
      this.#settings.say?.(
        `${problems.length} models in ${groups.length} groups of at most ${Math.max(...models)}: ${formatBytes(this.#settings.room)} are left for weights and dual variables`,
      )
    }
    return groups
  }

  #start(problems: BundledProblem[]): { bundle: Bundle; sweep: number; order: number } {
    const arena = this.#arena
    const bundle = new Bundle(arena, this.#rows, problems, this.#folds)
    if (problems[0].loss.entropicDual) {
      arena.numeric[`startEntropicBundle${bundle.lanes}`](bundle.at, this.#rows.rows)
    }
    const sweep = arena.allocate(SWEEP_BYTES, 'the sweep')
    const order = arena.allocate(Math.max(this.#rows.rows, 1) * 4, 'the order of the rows')
    startSweeps(arena, sweep, order, this.#rows.rows, BigInt(this.#settings.seed))
    return { bundle, sweep, order }
  }

  async #solve(
    bundle: Bundle,
    sweep: number,
    order: number,
    tell: (progress: { pass: number; gap: number }) => void,
  ): Promise<Solution[]> {
    const { tolerance, maxPasses, shrinking, seed, signal } = this.#settings
    const models = bundle.problems.length
    const optimism = new Array<number>(models).fill(1)
    const solutions = new Array<Solution | undefined>(models).fill(undefined)
    let primals = new Array<number>(models).fill(0)
    let work = 0
    let tries = 0n
    for (;;) {
      const limit = maxPasses * this.#passWork - work
      const step = await this.#pool.run(bundleSweepsTask, {
        ...{ bundle: bundle.at, sweep, lanes: bundle.lanes, models, rows: this.#rows.rows },
        ...{ weightCount: bundle.weightCount, shrink: shrinking, primals },
        budget: Math.min(SLICE, Math.max(limit, 1)),
        targets: optimism.map(share => share * tolerance),
      })
      work += step.work
      primals = step.primals
      const passes = Math.min(maxPasses, Math.max(1, Math.ceil(work / this.#passWork - 1e-3)))
      const worst = Math.max(...step.gaps.map((gap, k) => (Number.isFinite(gap) ? gap / (primals[k] || 1) : 0)))
      tell({ pass: work / this.#passWork, gap: worst })
      const stopped = signal?.aborted === true
      const last = stopped || work >= maxPasses * this.#passWork * (1 - 1e-6)
      if (!step.ready && !last) continue
      const certificates = await this.#certify(bundle)
      for (const [k, certificate] of certificates.entries()) {
        primals[k] = certificate.primal
        if (certificate.gap! <= tolerance) solutions[k] ??= { certificate, passes, exitReason: 'converged' }
        else optimism[k] *= 0.7
      }
      if (last && solutions.includes(undefined)) {
        const along = await this.#lookAlong(bundle)
        const lengths = bundle.squaredLengths()
        for (const [k, solution] of solutions.entries()) {
          if (solution) continue
          const { primal, ...short } = along.best(k, penaltyOf(lengths[k]))
          const certificate = certificateAt(certificates[k], { ...short, primal })
          const converged = certificate.gap! <= tolerance
          const exitReason = converged ? 'converged' : stopped ? 'interrupted' : 'max-passes'
          solutions[k] = { certificate, passes, exitReason, short }
        }
      }
      if (solutions.every(solution => solution !== undefined)) return solutions as Solution[]
      // Those that are not there yet go on, over all rows again; certified ones rest.
      bundle.activate(solutions.map(solution => solution === undefined))
      tries++
      startSweeps(this.#arena, sweep, order, this.#rows.rows, BigInt(seed) + (tries << 32n), 1e-6)
    }
  }

  async #certify(bundle: Bundle): Promise<Certificate[]> {
    const arena = this.#arena
    const { rows } = this.#rows
    const each = (SUMS_BYTES / 8) * BUNDLE_LANES * 8 + BUNDLE_LANES * 8
    const sums = arena.allocate(PIECES * each, 'the certificate')
    const cut = (k: number): number => Math.floor((rows * k) / PIECES)
    await Promise.all(
      Array.from({ length: PIECES }, (_, k) =>
        this.#pool.run(bundleRowsTask, {
          ...{ bundle: bundle.at, lanes: bundle.lanes, from: cut(k), to: cut(k + 1) },
          sums: sums + k * each,
        }),
      ),
    )
    const lengths = bundle.squaredLengths()
    return bundle.problems.map((_, model) => {
      const total = new Float64Array(SUMS_BYTES / 8)
      for (let piece = 0; piece < PIECES; piece++) {
        const part = arena.f64(sums + piece * each, total.length * BUNDLE_LANES)
        for (let s = 0; s < total.length; s++) total[s] += part[s * BUNDLE_LANES + model]
      }
      return certificateOf(total, lengths[model], rows, true)
    })
  }

  /** Other bundles allocate meanwhile, so nothing is given back: a bundle keeps its room for the next cost. */
  #lookAlong(bundle: Bundle): Promise<LossesAlong> {
    const { at, lanes } = bundle
    const room = this.#rooms.get(bundle) ?? roomForLook(this.#arena)
    this.#rooms.set(bundle, room)
    return lookAlongInPieces(this.#arena, room, this.#rows.rows, ({ from, to, along }) =>
      this.#pool.run(lookAlongTask, { problem: at, kind: lanes, from, to, along }),
    )
  }

  async #score(bundle: Bundle, scores: number, solutions: Solution[]): Promise<void> {
    const { rows } = this.#rows
    const dots = this.#arena.allocate(PIECES * 64, 'scores')
    const cut = (k: number): number => Math.floor((rows * k) / PIECES)
    await Promise.all(
      Array.from({ length: PIECES }, (_, k) =>
        this.#pool.run(bundleRowsTask, {
          ...{ bundle: bundle.at, lanes: bundle.lanes, from: cut(k), to: cut(k + 1) },
          scores: { at: scores, rows, dots: dots + k * 64 },
        }),
      ),
    )
    shortenScores(this.#arena, bundle.problems, solutions, { at: scores, rows, folds: this.#folds })
  }
}
