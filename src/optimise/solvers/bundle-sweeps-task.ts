// Sweeps of dual coordinate descent over a bundle of models.
import type { Arena } from '../../numeric/arena.ts'
import { BundleFields } from '../../numeric/fields/bundle.ts'
import { SweepFields } from '../../numeric/fields/sweep.ts'
import { SWEEP_RANDOM } from '../../numeric/layouts.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { type Lanes, squaredLengths } from '../objectives/bundle.ts'
import { carryBundleOn, type Momentum } from './momentum.ts'

export interface BundleSweepsOptions {
  bundle: number
  sweep: number
  lanes: Lanes
  rows: number
  weightCount: number
  shrink: boolean
  momentum?: Momentum | undefined
  /** Nonzeros to visit, about. */
  budget: number
  /** Of each model: the relative gap at which it rests, and its primal as far as it is known, 0 when it is not. */
  targets: number[]
  primals: number[]
}

export interface BundleSweepsResult {
  work: number
  /** Whether all models have come to rest. */
  ready: boolean
  /** Whether the last sweep that finished here met every row; undefined when none did. */
  all: boolean | undefined
  /** Sweeps that finished here. */
  ended: number
  /** Of each model, by the last sweep it took part in. */
  gaps: number[]
  primals: number[]
}

export const bundleSweepsTask = declareTask(import.meta.url, 'bundle-sweeps', bundleSweeps)

function bundleSweeps({ arena }: TaskContext, options: BundleSweepsOptions): BundleSweepsResult {
  const { bundle, sweep, lanes, rows, budget, targets, shrink } = options
  const run = arena.numeric[`sweepBundle${lanes}`]
  const primals = [...options.primals]
  const [bundleFields, sweepFields] = [new BundleFields(arena, bundle), new SweepFields(arena, sweep)]
  const { models } = bundleFields
  const gaps: number[] = new Array(models).fill(Number.POSITIVE_INFINITY)
  sweepFields.visited = 0
  const work = (): number => sweepFields.visited
  let all: boolean | undefined
  let ended = 0
  for (;;) {
    if (sweepFields.began === 0) {
      if (options.momentum) carryBundleOn(arena, bundleFields, lanes, options.momentum)
      beginSweep(arena, bundle, sweep, shrink)
    }
    if (run(bundle, sweep, Math.max(budget - work(), 1))) {
      all = endSweep(arena, bundle, sweep, rows, shrink)
      ended++
      const lengths = all ? squaredLengths(arena, bundle, lanes, options.weightCount) : undefined
      const { gap: found, loss: losses } = bundleFields
      let { active } = bundleFields
      for (let k = 0; k < models; k++) {
        if (!(active & (1 << k))) continue
        gaps[k] = found[k]
        if (lengths) primals[k] = 0.5 * lengths[k] + losses[k]
        if (gaps[k] <= targets[k] * primals[k]) active &= ~(1 << k)
      }
      bundleFields.active = active
      if (active === 0) return { work: work(), ready: true, all, ended, gaps, primals }
    }
    if (work() >= budget) return { work: work(), ready: false, all, ended, gaps, primals }
  }
}

/** Shuffles the active rows, and forgets what the last sweep saw. */
export function beginSweep(arena: Arena, bundle: number, sweep: number, shrink: boolean): void {
  const { logistic, loss, gap, gradientMax, gradientMin } = new BundleFields(arena, bundle)
  const fields = new SweepFields(arena, sweep)
  const { active, order } = fields
  arena.numeric.shuffle(order, active, sweep + SWEEP_RANDOM)
  // One more than the active rows, so that 0 can say that no sweep is under way.
  fields.began = active + 1
  fields.cursor = 0
  fields.shrink = shrink ? 1 : 0
  fields.newton = 0
  loss.fill(0)
  gap.fill(0)
  gradientMax.fill(logistic ? 0 : Number.NEGATIVE_INFINITY)
  gradientMin.fill(logistic ? 0 : Number.POSITIVE_INFINITY)
}

/** Sets each model's thresholds by what the sweep saw; whether it met every row. */
export function endSweep(arena: Arena, bundle: number, sweep: number, rows: number, shrink: boolean): boolean {
  const fields = new SweepFields(arena, sweep)
  const all = fields.began === rows + 1
  fields.began = 0
  const { models, logistic, gradientMax: highest, gradientMin: lowest, upper, lower } = new BundleFields(arena, bundle)
  // Once most visits need no Newton step at this accuracy, a finer one.
  if (logistic && fields.newton <= (rows * models) / 10) fields.inner = Math.max(1e-9, fields.inner * 0.1)
  for (let k = 0; k < models; k++) {
    upper[k] = shrink && highest[k] > 0 ? highest[k] : Number.POSITIVE_INFINITY
    lower[k] = shrink && lowest[k] < 0 ? lowest[k] : Number.NEGATIVE_INFINITY
  }
  return all
}
