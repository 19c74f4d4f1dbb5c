// A block that has been read, for many models: each bundle sweeps over its rows, or they are evaluated for the certificates.
import { ALONG_BYTES } from '../../numeric/along-layout.ts'
import type { Arena } from '../../numeric/arena.ts'
import {
  BUNDLE_ACTIVE,
  BUNDLE_ALPHA,
  BUNDLE_COUNT,
  BUNDLE_FOLDS,
  BUNDLE_GAP,
  BUNDLE_LANES,
  BUNDLE_LOGISTIC,
  BUNDLE_LOSS,
  BUNDLE_LOWER,
  BUNDLE_MODELS,
  BUNDLE_ROWS,
  BUNDLE_UPPER,
  BUNDLE_WORTH,
} from '../../numeric/bundle-layout.ts'
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import type { Lanes } from '../objectives/bundle.ts'
import { lookAlong } from '../objectives/look-along-task.ts'
import { drawFrom } from './block-sweeps-task.ts'
import { beginSweep, endSweep } from './bundle-sweeps-task.ts'
import { type CacheFill, type CacheMemory, refill, unite } from './row-cache.ts'
import { startListed } from './sweeps.ts'

export interface BlockBundlesOptions {
  bundles: { at: number; lanes: Lanes; alphaOffset: number; alphaStride: number }[]
  table: number
  rows: number
  parts: { rows: number; firstRow: number }[]
  /** Room for the dual variables of one bundle beside the block's rows. */
  slotAlpha: number
  /** Dual variables of all models, all of a row's side by side. */
  alpha: number
  alphaStride: number
  sweep: number
  order: number
  /** Folds of all rows in the order of the store, and room for those of the block. */
  folds?: { all: number; slot: number }
  /** Held-out rows are scored, into columns of all rows. */
  scores?: { at: number; rows: number }
  /** What the rows' dual variables give is added to the weights, and nothing else is done. */
  add?: boolean
  /** Losses along the weights are summed, ALONG_BYTES for each bundle, and nothing else is done. */
  along?: number
  /** Without sweeps, the sums of the certificate are made. */
  sweeps?: {
    count: number
    shrink: boolean
    random: [number, number, number]
    inner: number
    /** Of each model: what its rows may owe, below which there is nothing more to do. */
    enough?: number[]
  }
  /** Rows that stay in memory: sweeps go over them too, among the block's or in turns with them. */
  cache?: { memory: CacheMemory; cached: number; inTurns: boolean; ownWorth: number }
  sums: number
}

export interface BlockBundlesResult {
  /** Of each model: losses and debts to the gap of the block's rows as they were first met. */
  losses: number[]
  gaps: number[]
  /** Of each model: the sums of the certificate. */
  sums: number[][]
  /** Sweeps that the bundles made, the most of them. */
  sweeps: number
  /** What is in the cache now. */
  fill?: CacheFill
}

export const blockBundlesTask = declareTask(import.meta.url, 'block-bundles', blockBundles)

function blockBundles({ arena }: TaskContext, given: BlockBundlesOptions): BlockBundlesResult {
  const result: BlockBundlesResult = { losses: [], gaps: [], sums: [], sweeps: 0 }
  const { cache } = given
  const count = cache ? unite(arena, cache.memory, cache.cached, given) : given.rows
  const options = cache
    ? { ...given, table: cache.memory.unionTable, slotAlpha: cache.memory.unionAlpha, order: cache.memory.unionOrder }
    : given
  if (options.folds) gatherFolds(arena, options, options.folds, count)
  if (cache) arena.f64(cache.memory.worth, count).fill(0)
  for (const [b, bundle] of options.bundles.entries()) {
    const models = arena.getU32(bundle.at + BUNDLE_MODELS)
    // Models that rest take no part in sweeps.
    if (options.sweeps !== undefined && arena.getU32(bundle.at + BUNDLE_ACTIVE) === 0) {
      result.losses.push(...new Array(models).fill(0))
      result.gaps.push(...new Array(models).fill(0))
      continue
    }
    copyAlpha(arena, options, bundle, count, true)
    arena.setU32(bundle.at + BUNDLE_ROWS, options.table)
    arena.setU32(bundle.at + BUNDLE_COUNT, count)
    arena.setU32(bundle.at + BUNDLE_ALPHA, options.slotAlpha)
    arena.setU32(bundle.at + BUNDLE_FOLDS, options.folds?.slot ?? 0)
    if (options.add) arena.numeric[`addDualBundle${bundle.lanes}`](bundle.at, options.rows)
    else if (options.along) {
      const along = options.along + b * ALONG_BYTES
      lookAlong(arena, { problem: bundle.at, kind: bundle.lanes, from: 0, to: options.rows, along })
    } else if (options.scores) scoreBlock(arena, options, options.scores, bundle)
    else if (options.sweeps) {
      sweepBlock(arena, options, options.sweeps, bundle, count, result)
      copyAlpha(arena, options, bundle, count, false)
    } else evaluateBlock(arena, options, bundle, models, result)
  }
  // Without a block there is nobody to let in.
  if (cache && given.rows > 0) result.fill = refill(arena, cache.memory, given.rows, count)
  return result
}

type BundlePlace = BlockBundlesOptions['bundles'][number]

function sweepBlock(
  arena: Arena,
  options: BlockBundlesOptions,
  { count, shrink, random, inner, enough }: NonNullable<BlockBundlesOptions['sweeps']>,
  bundle: BundlePlace,
  union: number,
  result: BlockBundlesResult,
): void {
  const { sweep, order, rows, cache } = options
  const models = arena.getU32(bundle.at + BUNDLE_MODELS)
  const first = result.gaps.length
  const logistic = arena.getU32(bundle.at + BUNDLE_LOGISTIC) === 1
  if (cache) arena.f64(cache.ownWorth, union).fill(0)
  arena.setU32(bundle.at + BUNDLE_WORTH, cache?.ownWorth ?? 0)
  const start = (from: number, to: number, turn: number): void => {
    const listed = arena.u32(order, to - from)
    for (let k = 0; k < listed.length; k++) listed[k] = from + k
    startListed(arena, sweep, order, to - from, drawFrom(turn === 0 ? random : [...random, turn]), inner)
    arena.f64(bundle.at + BUNDLE_UPPER, BUNDLE_LANES).fill(Number.POSITIVE_INFINITY)
    arena.f64(bundle.at + BUNDLE_LOWER, BUNDLE_LANES).fill(Number.NEGATIVE_INFINITY)
  }
  const sweepOnce = (among: number): void => {
    beginSweep(arena, bundle.at, sweep, shrink)
    arena.numeric[`sweepBundle${bundle.lanes}`](bundle.at, sweep, Number.POSITIVE_INFINITY)
    endSweep(arena, bundle.at, sweep, among, models, shrink)
  }
  start(0, rows, 0)
  if (logistic) arena.numeric[`startEntropicBundle${bundle.lanes}`](bundle.at, rows)
  // The block's own rows alone, so that it is known what they owed when they were met.
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

function evaluateBlock(
  arena: Arena,
  { rows, sums }: BlockBundlesOptions,
  bundle: BundlePlace,
  models: number,
  result: BlockBundlesResult,
): void {
  arena.numeric[`evaluateBundle${bundle.lanes}`](bundle.at, 0, rows, sums)
  const all = arena.f64(sums, (SUMS_BYTES / 8) * BUNDLE_LANES)
  for (let k = 0; k < models; k++) {
    result.sums.push(Array.from({ length: SUMS_BYTES / 8 }, (_, s) => all[s * BUNDLE_LANES + k]))
  }
}

/** Block by block of the store: its rows are together in a column. */
function scoreBlock(
  arena: Arena,
  { table, parts, folds, sums }: BlockBundlesOptions,
  scores: { at: number; rows: number },
  bundle: BundlePlace,
): void {
  let before = 0
  for (const { rows, firstRow } of parts) {
    arena.setU32(bundle.at + BUNDLE_ROWS, table + before * 4)
    arena.setU32(bundle.at + BUNDLE_FOLDS, folds!.slot + before)
    const at = scores.at + firstRow * 4
    arena.numeric[`scoreHeldOut${bundle.lanes}`](bundle.at, 0, rows, at, scores.rows, sums)
    before += rows
  }
}

function gatherFolds(
  arena: Arena,
  { parts, rows, cache }: BlockBundlesOptions,
  { all, slot }: { all: number; slot: number },
  count: number,
): void {
  let to = slot
  for (const { rows, firstRow } of parts) {
    arena.bytes(to, rows).set(arena.bytes(all + firstRow, rows))
    to += rows
  }
  if (!cache) return
  const numbers = arena.u32(cache.memory.unionNumbers + rows * 4, count - rows)
  const cached = arena.bytes(to, numbers.length)
  for (let k = 0; k < numbers.length; k++) cached[k] = arena.bytes(all + numbers[k], 1)[0]
}

/** Dual variables of the block's rows, and of those of the cache behind them, from their places or back to them. */
function copyAlpha(
  arena: Arena,
  options: BlockBundlesOptions,
  bundle: BundlePlace,
  count: number,
  into: boolean,
): void {
  const { parts, slotAlpha, alpha, alphaStride, cache, rows } = options
  const { copyStrided, gatherListed, scatterListed } = arena.numeric
  const bytes = bundle.alphaStride
  let at = slotAlpha
  for (const { rows, firstRow } of parts) {
    const place = alpha + firstRow * alphaStride + bundle.alphaOffset
    if (into) copyStrided(place, alphaStride, at, bytes, bytes, rows)
    else copyStrided(at, bytes, place, alphaStride, bytes, rows)
    at += rows * bytes
  }
  if (!cache) return
  const numbers = cache.memory.unionNumbers + rows * 4
  const places = alpha + bundle.alphaOffset
  if (into) gatherListed(places, alphaStride, numbers, at, bytes, count - rows)
  else scatterListed(at, bytes, numbers, places, alphaStride, count - rows)
}
