// A group of rows, for many models: the sums of their certificates, what their dual variables add to the weights, or scores
// of the rows that some of them did not see.
import { ALONG_BYTES } from '../../numeric/along-layout.ts'
import type { Arena } from '../../numeric/arena.ts'
import {
  BUNDLE_ALPHA,
  BUNDLE_COUNT,
  BUNDLE_FOLDS,
  BUNDLE_LANES,
  BUNDLE_MODELS,
  BUNDLE_ROW_WEIGHTS,
  BUNDLE_ROWS,
} from '../../numeric/bundle-layout.ts'
import { SUMS_COUNT } from '../../numeric/layouts.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import type { Lanes } from './bundle.ts'

/** Where a bundle is, and where its dual variables stand among those of a row. */
export interface BundlePlace {
  at: number
  lanes: Lanes
  alphaOffset: number
  alphaStride: number
}

/** A group of rows as bundles see it, one after the other. */
export interface BundleGroup {
  table: number
  /** Address of the weights of the rows, where they have any. */
  rowWeights?: number | undefined
  rows: number
  parts: { rows: number; firstRow: number }[]
  /** Room for the dual variables of one bundle beside the rows. */
  groupAlpha: number
  /** Dual variables of all models, all of a row's side by side. */
  alpha: number
  alphaStride: number
  /** Folds of all rows in the order of the source, and room for those of the group. */
  folds?: { all: number; group: number } | undefined
}

/** Rows behind those of the group: their numbers in the order of the source, u32 each, and how many. */
export interface OtherRows {
  numbers: number
  count: number
}

export interface BundleRowsOptions {
  bundles: BundlePlace[]
  /** Undefined when the bundle has all rows where they are. */
  group: BundleGroup | undefined
  work: 'evaluate' | 'add-dual' | { scores: number; allRows: number } | { along: number }
  from: number
  to: number
  /** Eight of each sum, with room for eight numbers behind them. */
  sums: number
}

export const bundleRowsTask = declareTask(import.meta.url, 'bundle-rows', bundleRows)

/** Of each model the sums of its certificate, where these were asked for. */
function bundleRows({ arena }: TaskContext, options: BundleRowsOptions): number[][] {
  const { bundles, group, work, from, to, sums } = options
  const result: number[][] = []
  if (group?.folds) gatherFolds(arena, group, group.folds)
  for (const [b, bundle] of bundles.entries()) {
    if (group) {
      copyBundleAlpha(arena, group, bundle, true)
      placeGroup(arena, group, bundle, group.rows)
    }
    if (work === 'evaluate') result.push(...evaluated(arena, bundle, from, to, sums))
    else if (work === 'add-dual') arena.numeric[`addDualBundle${bundle.lanes}`](bundle.at, to)
    else if ('scores' in work) scoreRows(arena, options, bundle, work)
    else arena.numeric[`alongBundle${bundle.lanes}`](bundle.at, from, to, work.along + b * ALONG_BYTES)
  }
  return result
}

function evaluated(arena: Arena, bundle: BundlePlace, from: number, to: number, sums: number): number[][] {
  arena.numeric[`evaluateBundle${bundle.lanes}`](bundle.at, from, to, sums)
  const all = arena.f64(sums, SUMS_COUNT * BUNDLE_LANES)
  return Array.from({ length: arena.getU32(bundle.at + BUNDLE_MODELS) }, (_, k) =>
    Array.from({ length: SUMS_COUNT }, (_, s) => all[s * BUNDLE_LANES + k]),
  )
}

/** Block by block: the rows of each are together in a column. */
function scoreRows(
  arena: Arena,
  { group, from, to, sums }: BundleRowsOptions,
  bundle: BundlePlace,
  { scores, allRows }: { scores: number; allRows: number },
): void {
  const score = arena.numeric[`scoreHeldOut${bundle.lanes}`]
  if (!group) {
    score(bundle.at, from, to, scores, allRows, sums)
    return
  }
  let before = 0
  for (const { rows, firstRow } of group.parts) {
    arena.setU32(bundle.at + BUNDLE_ROWS, group.table + before * 4)
    arena.setU32(bundle.at + BUNDLE_FOLDS, group.folds!.group + before)
    score(bundle.at, 0, rows, scores + firstRow * 4, allRows, sums)
    before += rows
  }
}

/** Makes the rows of a group, and others behind them, those that a bundle works on. */
export function placeGroup(arena: Arena, group: BundleGroup, bundle: BundlePlace, rows: number): void {
  arena.setU32(bundle.at + BUNDLE_ROWS, group.table)
  arena.setU32(bundle.at + BUNDLE_COUNT, rows)
  arena.setU32(bundle.at + BUNDLE_ROW_WEIGHTS, group.rowWeights ?? 0)
  arena.setU32(bundle.at + BUNDLE_ALPHA, group.groupAlpha)
  arena.setU32(bundle.at + BUNDLE_FOLDS, group.folds?.group ?? 0)
}

export function gatherFolds(
  arena: Arena,
  { parts }: BundleGroup,
  { all, group }: { all: number; group: number },
  others?: OtherRows,
): void {
  let to = group
  for (const { rows, firstRow } of parts) {
    arena.bytes(to, rows).set(arena.bytes(all + firstRow, rows))
    to += rows
  }
  if (!others) return
  const numbers = arena.u32(others.numbers, others.count)
  const folds = arena.bytes(to, others.count)
  for (let k = 0; k < numbers.length; k++) folds[k] = arena.bytes(all + numbers[k], 1)[0]
}

/** Dual variables of a group's rows, and of others behind them, from their places or back to them. */
export function copyBundleAlpha(
  arena: Arena,
  { parts, groupAlpha, alpha, alphaStride }: BundleGroup,
  bundle: BundlePlace,
  into: boolean,
  others?: OtherRows,
): void {
  const { copyStrided, gatherListed, scatterListed } = arena.numeric
  const bytes = bundle.alphaStride
  let at = groupAlpha
  for (const { rows, firstRow } of parts) {
    const place = alpha + firstRow * alphaStride + bundle.alphaOffset
    if (into) copyStrided(place, alphaStride, at, bytes, bytes, rows)
    else copyStrided(at, bytes, place, alphaStride, bytes, rows)
    at += rows * bytes
  }
  if (!others) return
  const places = alpha + bundle.alphaOffset
  if (into) gatherListed(places, alphaStride, others.numbers, at, bytes, others.count)
  else scatterListed(at, bytes, others.numbers, places, alphaStride, others.count)
}
