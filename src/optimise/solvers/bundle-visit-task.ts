// A group of rows that has been read, for many models: each bundle sweeps over its rows, and over those of a cache.
import type { Arena } from '../../numeric/arena.ts'
import {
  BUNDLE_ACTIVE,
  BUNDLE_GAP,
  BUNDLE_LANES,
  BUNDLE_LOGISTIC,
  BUNDLE_LOSS,
  BUNDLE_LOWER,
  BUNDLE_MODELS,
  BUNDLE_UPPER,
  BUNDLE_WORTH,
} from '../../numeric/bundle-layout.ts'
import { drawFrom } from '../../numeric/draw.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import {
  type BundleGroup,
  type BundlePlace,
  copyBundleAlpha,
  gatherFolds,
  type OtherRows,
  placeGroup,
} from '../objectives/bundle-rows-task.ts'
import { beginSweep, endSweep } from './bundle-sweeps-task.ts'
import { type CacheFill, type CacheMemory, refill, unite } from './row-cache.ts'
import { startListed } from './sweeps.ts'

export interface BundleVisitOptions {
  bundles: BundlePlace[]
  group: BundleGroup
  sweep: number
  order: number
  count: number
  shrink: boolean
  random: [number, number, number]
  inner: number
  /** Of each model: what its rows may owe, below which there is nothing more to do. */
  enough?: number[]
  /** Rows that stay in memory: sweeps go over them too, among the group's or in turns with them. */
  cache?: { memory: CacheMemory; cached: number; inTurns: boolean; ownWorth: number }
}

export interface BundleVisitResult {
  /** Of each model: losses and debts to the gap of the group's rows as they were first met. */
  losses: number[]
  gaps: number[]
  /** Sweeps that the bundles made, the most of them. */
  sweeps: number
  /** What is in the cache now. */
  fill?: CacheFill
}

export const bundleVisitTask = declareTask(import.meta.url, 'bundle-visit', bundleVisit)

function bundleVisit({ arena }: TaskContext, given: BundleVisitOptions): BundleVisitResult {
  const result: BundleVisitResult = { losses: [], gaps: [], sweeps: 0 }
  const { cache, bundles } = given
  const { rows } = given.group
  const count = cache ? unite(arena, cache.memory, cache.cached, given.group) : rows
  const options = cache ? amongCache(given, cache.memory) : given
  const others: OtherRows | undefined = cache && { numbers: cache.memory.unionNumbers + rows * 4, count: count - rows }
  const { group } = options
  if (group.folds) gatherFolds(arena, group, group.folds, others)
  if (cache) arena.f64(cache.memory.worth, count).fill(0)
  for (const bundle of bundles) {
    const models = arena.getU32(bundle.at + BUNDLE_MODELS)
    // Models that rest take no part in sweeps.
    if (arena.getU32(bundle.at + BUNDLE_ACTIVE) === 0) {
      result.losses.push(...new Array(models).fill(0))
      result.gaps.push(...new Array(models).fill(0))
      continue
    }
    copyBundleAlpha(arena, group, bundle, true, others)
    placeGroup(arena, group, bundle, count)
    sweepGroup(arena, options, bundle, count, result)
    copyBundleAlpha(arena, group, bundle, false, others)
  }
  // Without a group there is nobody to let in.
  if (cache && rows > 0) result.fill = refill(arena, cache.memory, rows, count)
  return result
}

/** The same with the rows of the group and of the cache in one table. */
function amongCache(options: BundleVisitOptions, memory: CacheMemory): BundleVisitOptions {
  const { unionTable: table, unionAlpha: groupAlpha, unionWeights: rowWeights } = memory
  const group = { ...options.group, table, groupAlpha, rowWeights }
  return { ...options, group, order: memory.unionOrder }
}

function sweepGroup(
  arena: Arena,
  options: BundleVisitOptions,
  bundle: BundlePlace,
  union: number,
  result: BundleVisitResult,
): void {
  const { sweep, order, cache, count, shrink, random, inner, enough } = options
  const { rows } = options.group
  const models = arena.getU32(bundle.at + BUNDLE_MODELS)
  const first = result.gaps.length
  const logistic = arena.getU32(bundle.at + BUNDLE_LOGISTIC) === 1
  if (cache) arena.f64(cache.ownWorth, union).fill(0)
  arena.setU32(bundle.at + BUNDLE_WORTH, cache?.ownWorth ?? 0)
  const start = (from: number, to: number, turn: number): void => {
    const listed = arena.u32(order, to - from)
    for (let k = 0; k < listed.length; k++) listed[k] = from + k
    const drawn = drawFrom(turn === 0 ? random : [...random, turn])
    startListed(arena, { sweep, order, rows: to - from, random: drawn, inner })
    arena.f64(bundle.at + BUNDLE_UPPER, BUNDLE_LANES).fill(Number.POSITIVE_INFINITY)
    arena.f64(bundle.at + BUNDLE_LOWER, BUNDLE_LANES).fill(Number.NEGATIVE_INFINITY)
  }
  const sweepOnce = (among: number): void => {
    beginSweep(arena, bundle.at, sweep, shrink)
    arena.numeric[`sweepBundle${bundle.lanes}`](bundle.at, sweep, Number.POSITIVE_INFINITY)
    endSweep(arena, bundle.at, sweep, among, shrink)
  }
  start(0, rows, 0)
  if (logistic) arena.numeric[`startEntropicBundle${bundle.lanes}`](bundle.at, rows)
  // The group's own rows alone, so that it is known what they owed when they were met.
  if (rows > 0) sweepOnce(rows)
  result.losses.push(...(rows > 0 ? arena.f64(bundle.at + BUNDLE_LOSS, models) : new Array(models).fill(0)))
  result.gaps.push(...(rows > 0 ? arena.f64(bundle.at + BUNDLE_GAP, models) : new Array(models).fill(0)))
  if (!cache) {
    for (let k = 1; k < count; k++) sweepOnce(rows)
    return
  }
  const from = cache.inTurns ? rows : 0
  if (union > from) {
    start(from, union, 1)
    const active = arena.getU32(bundle.at + BUNDLE_ACTIVE)
    for (let k = 1; k <= count; k++) {
      sweepOnce(union - from)
      result.sweeps = Math.max(result.sweeps, k)
      const owed = arena.f64(bundle.at + BUNDLE_GAP, models)
      if (enough && owed.every((gap, m) => !(active & (1 << m)) || gap <= enough[first + m])) break
    }
  }
  const own = arena.f64(cache.ownWorth, union)
  const worth = arena.f64(cache.memory.worth, union)
  for (let k = 0; k < union; k++) worth[k] += own[k]
}
