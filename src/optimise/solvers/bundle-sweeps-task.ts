// Sweeps of dual coordinate descent over a bundle of models.
import type { Arena } from '../../numeric/arena.ts'
import {
  BUNDLE_ACTIVE,
  BUNDLE_GAP,
  BUNDLE_GRADIENT_MAX,
  BUNDLE_GRADIENT_MIN,
  BUNDLE_LANES,
  BUNDLE_LOGISTIC,
  BUNDLE_LOSS,
  BUNDLE_LOWER,
  BUNDLE_MODELS,
  BUNDLE_UPPER,
} from '../../numeric/bundle-layout.ts'
import {
  SWEEP_ACTIVE,
  SWEEP_BEGAN,
  SWEEP_CURSOR,
  SWEEP_INNER,
  SWEEP_NEWTON,
  SWEEP_ORDER,
  SWEEP_RANDOM,
  SWEEP_SHRINK,
  SWEEP_VISITED,
} from '../../numeric/layouts.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { type Lanes, squaredLengths } from '../objectives/bundle.ts'

export interface BundleSweepsOptions {
  bundle: number
  sweep: number
  lanes: Lanes
  rows: number
  weightCount: number
  shrink: boolean
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
  /** Of each model, by the last sweep it took part in. */
  gaps: number[]
  primals: number[]
}

export const bundleSweepsTask = declareTask(import.meta.url, 'bundle-sweeps', bundleSweeps)

function bundleSweeps({ arena }: TaskContext, options: BundleSweepsOptions): BundleSweepsResult {
  const { bundle, sweep, lanes, rows, budget, targets, shrink } = options
  const models = arena.getU32(bundle + BUNDLE_MODELS)
  const run = arena.numeric[`sweepBundle${lanes}`]
  const primals = [...options.primals]
  const gaps: number[] = new Array(models).fill(Number.POSITIVE_INFINITY)
  arena.setF64(sweep + SWEEP_VISITED, 0)
  const work = (): number => arena.getF64(sweep + SWEEP_VISITED)
  for (;;) {
    if (arena.getU32(sweep + SWEEP_BEGAN) === 0) beginSweep(arena, bundle, sweep, shrink)
    if (run(bundle, sweep, Math.max(budget - work(), 1))) {
      const all = endSweep(arena, bundle, sweep, rows, shrink)
      const lengths = all ? squaredLengths(arena, bundle, lanes, options.weightCount) : undefined
      const found = arena.f64(bundle + BUNDLE_GAP, models)
      const losses = arena.f64(bundle + BUNDLE_LOSS, models)
      let active = arena.getU32(bundle + BUNDLE_ACTIVE)
      for (let k = 0; k < models; k++) {
        if (!(active & (1 << k))) continue
        gaps[k] = found[k]
        if (lengths) primals[k] = 0.5 * lengths[k] + losses[k]
        if (gaps[k] <= targets[k] * primals[k]) active &= ~(1 << k)
      }
      arena.setU32(bundle + BUNDLE_ACTIVE, active)
      if (active === 0) return { work: work(), ready: true, gaps, primals }
    }
    if (work() >= budget) return { work: work(), ready: false, gaps, primals }
  }
}

/** Shuffles the active rows, and forgets what the last sweep saw. */
export function beginSweep(arena: Arena, bundle: number, sweep: number, shrink: boolean): void {
  const logistic = arena.getU32(bundle + BUNDLE_LOGISTIC) === 1
  const active = arena.getU32(sweep + SWEEP_ACTIVE)
  arena.numeric.shuffle(arena.getU32(sweep + SWEEP_ORDER), active, sweep + SWEEP_RANDOM)
  // One more than the active rows, so that 0 can say that no sweep is under way.
  arena.setU32(sweep + SWEEP_BEGAN, active + 1)
  arena.setU32(sweep + SWEEP_CURSOR, 0)
  arena.setU32(sweep + SWEEP_SHRINK, shrink ? 1 : 0)
  arena.setF64(sweep + SWEEP_NEWTON, 0)
  arena.f64(bundle + BUNDLE_LOSS, BUNDLE_LANES).fill(0)
  arena.f64(bundle + BUNDLE_GAP, BUNDLE_LANES).fill(0)
  arena.f64(bundle + BUNDLE_GRADIENT_MAX, BUNDLE_LANES).fill(logistic ? 0 : Number.NEGATIVE_INFINITY)
  arena.f64(bundle + BUNDLE_GRADIENT_MIN, BUNDLE_LANES).fill(logistic ? 0 : Number.POSITIVE_INFINITY)
}

/** Sets each model's thresholds by what the sweep saw; whether it met every row. */
export function endSweep(arena: Arena, bundle: number, sweep: number, rows: number, shrink: boolean): boolean {
  const models = arena.getU32(bundle + BUNDLE_MODELS)
  const all = arena.getU32(sweep + SWEEP_BEGAN) === rows + 1
  arena.setU32(sweep + SWEEP_BEGAN, 0)
  const logistic = arena.getU32(bundle + BUNDLE_LOGISTIC) === 1
  // Once most visits need no Newton step at this accuracy, a finer one.
  if (logistic && arena.getF64(sweep + SWEEP_NEWTON) <= (rows * models) / 10)
    arena.setF64(sweep + SWEEP_INNER, Math.max(1e-9, arena.getF64(sweep + SWEEP_INNER) * 0.1))
  const f64 = (offset: number): Float64Array => arena.f64(bundle + offset, models)
  const [highest, lowest] = [f64(BUNDLE_GRADIENT_MAX), f64(BUNDLE_GRADIENT_MIN)]
  const [upper, lower] = [f64(BUNDLE_UPPER), f64(BUNDLE_LOWER)]
  for (let k = 0; k < models; k++) {
    upper[k] = shrink && highest[k] > 0 ? highest[k] : Number.POSITIVE_INFINITY
    lower[k] = shrink && lowest[k] < 0 ? lowest[k] : Number.NEGATIVE_INFINITY
  }
  return all
}
