// A block that has been read, for many models: each bundle sweeps over its rows, or they are evaluated for the certificates.
import type { Arena } from '../numeric/arena.ts'
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
} from '../numeric/bundle-layout.ts'
import { SUMS_BYTES } from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'
import type { Lanes } from '../training/bundle.ts'
import { drawFrom } from './block-sweeps-task.ts'
import { beginSweep, endSweep } from './bundle-sweeps-task.ts'
import { startSweeps } from './sweeps.ts'

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
  /** Without sweeps, the sums of the certificate are made. */
  sweeps?: { count: number; shrink: boolean; random: [number, number, number]; inner: number }
  sums: number
}

export interface BlockBundlesResult {
  /** Of each model: losses and debts to the gap of the block's rows as they were first met. */
  losses: number[]
  gaps: number[]
  /** Of each model: the sums of the certificate. */
  sums: number[][]
}

export function blockBundlesTask({ arena }: TaskContext, options: BlockBundlesOptions): BlockBundlesResult {
  const result: BlockBundlesResult = { losses: [], gaps: [], sums: [] }
  if (options.folds) gatherFolds(arena, options, options.folds)
  for (const bundle of options.bundles) {
    const models = arena.getU32(bundle.at + BUNDLE_MODELS)
    // Models that rest take no part in sweeps.
    const resting = options.sweeps !== undefined && arena.getU32(bundle.at + BUNDLE_ACTIVE) === 0
    if (!resting) {
      copyAlpha(arena, options, bundle, true)
      arena.setU32(bundle.at + BUNDLE_ROWS, options.table)
      arena.setU32(bundle.at + BUNDLE_COUNT, options.rows)
      arena.setU32(bundle.at + BUNDLE_ALPHA, options.slotAlpha)
      arena.setU32(bundle.at + BUNDLE_FOLDS, options.folds?.slot ?? 0)
      if (options.add) arena.numeric[`addDualBundle${bundle.lanes}`](bundle.at, options.rows)
      else if (options.scores) scoreBlock(arena, options, options.scores, bundle)
      else if (options.sweeps) sweepBlock(arena, options, options.sweeps, bundle, result)
      else evaluateBlock(arena, options, bundle, models, result)
    } else {
      for (let k = 0; k < models; k++) {
        result.losses.push(0)
        result.gaps.push(0)
      }
    }
  }
  return result
}

type BundlePlace = BlockBundlesOptions['bundles'][number]

function sweepBlock(
  arena: Arena,
  options: BlockBundlesOptions,
  { count, shrink, random, inner }: NonNullable<BlockBundlesOptions['sweeps']>,
  bundle: BundlePlace,
  result: BlockBundlesResult,
): void {
  const { sweep, order, rows } = options
  const models = arena.getU32(bundle.at + BUNDLE_MODELS)
  const logistic = arena.getU32(bundle.at + BUNDLE_LOGISTIC) === 1
  startSweeps(arena, sweep, order, rows, drawFrom(random), inner)
  if (logistic) arena.numeric[`startEntropicBundle${bundle.lanes}`](bundle.at, rows)
  arena.f64(bundle.at + BUNDLE_UPPER, BUNDLE_LANES).fill(Number.POSITIVE_INFINITY)
  arena.f64(bundle.at + BUNDLE_LOWER, BUNDLE_LANES).fill(Number.NEGATIVE_INFINITY)
  for (let k = 0; k < count; k++) {
    beginSweep(arena, bundle.at, sweep, shrink)
    arena.numeric[`sweepBundle${bundle.lanes}`](bundle.at, sweep, Number.POSITIVE_INFINITY)
    endSweep(arena, bundle.at, sweep, rows, models, shrink)
    if (k > 0) continue
    result.losses.push(...arena.f64(bundle.at + BUNDLE_LOSS, models))
    result.gaps.push(...arena.f64(bundle.at + BUNDLE_GAP, models))
  }
  copyAlpha(arena, options, bundle, false)
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

function gatherFolds(arena: Arena, { parts }: BlockBundlesOptions, { all, slot }: { all: number; slot: number }): void {
  let to = slot
  for (const { rows, firstRow } of parts) {
    arena.bytes(to, rows).set(arena.bytes(all + firstRow, rows))
    to += rows
  }
}

function copyAlpha(arena: Arena, options: BlockBundlesOptions, bundle: BundlePlace, into: boolean): void {
  const { parts, slotAlpha, alpha, alphaStride } = options
  let at = slotAlpha
  for (const { rows, firstRow } of parts) {
    const place = alpha + firstRow * alphaStride + bundle.alphaOffset
    const bytes = bundle.alphaStride
    if (into) arena.numeric.copyStrided(place, alphaStride, at, bytes, bytes, rows)
    else arena.numeric.copyStrided(at, bytes, place, alphaStride, bytes, rows)
    at += rows * bytes
  }
}
