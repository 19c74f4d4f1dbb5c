// The memory of a run over blocks: the plan of a store under a solver's needs, and what reading text takes before it and
// leaves behind.

import { inputFormatOf, type Manifest } from '../block-store/manifest.ts'
import { LEAST_BUFFERS } from '../block-store/read-into-blocks.ts'
import type { Store } from '../block-store/reader.ts'
import { SpillwayError } from '../errors.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { findLoss } from '../losses/all-losses.ts'
import { trainsTogether } from '../losses/formulations.ts'
import { convexLoss } from '../losses/loss.ts'
import { formatBytes } from '../numeric/arena.ts'
import { even } from '../optimise/objectives/all-classes.ts'
import { OUTLIER_BYTES } from '../optimise/objectives/outliers.ts'
import { newton } from '../optimise/solvers/newton.ts'
import { bytesForTrainers } from '../optimise/solvers/parallel-sweeps.ts'
import { type BlockSolver, extraPerWeight } from '../optimise/solvers/solver.ts'
import { type MemoryPlan, type PlanNeeds, planMemory } from '../optimise/sources/memory-plan.ts'
import { outgrowsText } from '../rows/sample-text.ts'
import { scalingBytes } from '../rows/scale.ts'
import { cannotWork } from '../rows/too-little-memory.ts'
import { type ByteCount, NODE_BYTES, PROGRAM_PAGES } from '../sizes.ts'
import { hasNumbers, hasWeights } from '../tables/schema.ts'
import { allowedMemory } from './choose-solver.ts'
import { mayHandOver } from './hand-over.ts'
import { afterIngest, LITTLE, plannedFirstPass } from './memory-while-reading.ts'
import type { ResolvedOptions } from './options.ts'
import { type RowsOfStore, rowsOfStore } from './rows-of-store.ts'

/** What is known of a run besides its solver and options. */
export interface ToPlan {
  /** Whether the store was made of text in the same process. */
  fromText?: boolean
  rows?: RowsOfStore
  /** Of many models that are trained together: so many times weights and dual variables. */
  lanes?: number
  /** What else there is for each row. */
  bytesPerRow?: number
  /** Whether models are of folds: a method that stalls hands none of those over. */
  folds?: boolean
}

/** A memory plan, and whether it has room for second-order steps, should coordinate descent stall. */
export type StorePlan = MemoryPlan & { handsOver: boolean }

/** The plan of a store under a solver's needs. */
export async function planFor(
  store: Store,
  solver: BlockSolver,
  options: ResolvedOptions,
  run: ToPlan = {},
): Promise<StorePlan> {
  const rows = run.rows ?? (await rowsOfStore(store, options))
  const may =
    solver.dual &&
    !run.folds &&
    !isTruncatedLoss(options) &&
    mayHandOver(options, { rows: store.manifest.rows, weights: rows.weights })
  // No run is refused for what it may never need.
  const steps = may ? planIfItFits(store, solver, options, { ...run, rows, handsOver: true }) : undefined
  const handsOver = steps !== undefined && (steps.weightBytes === 8 || (run.lanes ?? 1) > 1)
  const plan = handsOver ? steps : planWith(store, solver, options, { ...run, rows, handsOver })
  const points = pointsBytes(store.manifest, solver, options, { ...run, rows })
  const withPoints = { ...run, rows, handsOver, spare: points, spareFor: 'interior points of rows' }
  const inside = points > 0 ? planIfItFits(store, solver, options, withPoints) : undefined
  if (inside) return { ...inside, handsOver }
  const spare = plan.weightBytes === 8 ? momentumBytes(store.manifest, solver, options, { ...run, rows }) : 0
  const roomier = spare > 0 ? planIfItFits(store, solver, options, { ...run, rows, handsOver, spare }) : undefined
  const isAsGood = roomier?.slots === plan.slots && roomier.slotBytes >= MOST_OF_SLOT * plan.slotBytes
  return { ...(isAsGood ? roomier : plan), handsOver }
}

/** Bytes that a solver keeps for rows, and can do without. */
function pointsBytes(
  manifest: Manifest,
  { spareRowBytes, startEach }: BlockSolver,
  options: ResolvedOptions,
  { rows, lanes = 1 }: ToPlan & { rows: RowsOfStore },
): number {
  if (options.ranks.size > 1 || trainsTogether(options.multiclass)) return 0
  const each = spareRowBytes?.(convexLoss(findLoss(options.loss)), Math.ceil(rows.weights) + 1) ?? 0
  return manifest.rows * each * (startEach ? lanes : 1)
}

/** Runs that have no use for momentum are not to suffer from it: of the room for blocks, this share is left at least. */
const MOST_OF_SLOT = 0.9

/** Bytes for weights and dual variables of before, where they are of use. */
function momentumBytes(
  manifest: Manifest,
  solver: BlockSolver,
  options: ResolvedOptions,
  { rows, lanes = 1, folds }: ToPlan & { rows: RowsOfStore },
): number {
  const isOneModel = lanes === 1 && !folds && !trainsTogether(options.multiclass) && options.ranks.size === 1
  if (!solver.momentum || !isOneModel || isTruncatedLoss(options)) return 0
  return (Math.ceil(rows.weights) + 1) * 8 + manifest.rows * alphaStride(options)
}

type PlannedRun = ToPlan & { rows: RowsOfStore; handsOver: boolean; spare?: number; spareFor?: string }

function planIfItFits(...planned: Parameters<typeof planWith>): MemoryPlan | undefined {
  try {
    return planWith(...planned)
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    return undefined
  }
}

function planWith(store: Store, solver: BlockSolver, options: ResolvedOptions, run: PlannedRun): MemoryPlan {
  const { manifest } = store
  const { rows } = run
  const needs = needsOf(manifest, solver, options, run)
  const together = trainsTogether(options.multiclass)
  // Sums over ranks are f64.
  const isAlone = options.ranks.size === 1
  const canNarrow = !together && (run.lanes ?? 1) === 1 && !solver.wideWeights && isAlone
  const planned = (weights: ResolvedOptions['weights']): MemoryPlan => {
    const narrow = weights === 'f64' && canNarrow ? needs('f32') : undefined
    // Without a limit to fill, blocks are what the user made them.
    return planMemory(manifest, allowedMemory(options), { ...needs(weights), narrow }, options.memory !== undefined)
  }
  if (!rows.expanded || together || !isAlone || options.given.has('weights')) return planned(options.weights)
  // Expanded features are so many that f32 may be all there is room for.
  try {
    return planned('f64')
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    return planned('f32')
  }
}

/** What a run needs, by the precision of its weights. */
function needsOf(
  manifest: Manifest,
  solver: BlockSolver,
  options: ResolvedOptions,
  { fromText = false, rows, lanes = 1, bytesPerRow = 0, handsOver, spare = 0, spareFor }: PlannedRun,
): (weights: ResolvedOptions['weights']) => PlanNeeds {
  const { weights, entryBytes, mapBytes, expanded } = rows
  const classes = manifest.labels.filter(label => label.rows > 0).length
  const together = trainsTogether(options.multiclass)
  const overRanks = options.ranks.size > 1 ? extraOverRanks(solver, together ? classes : 0) : undefined
  const truncated = isTruncatedLoss(options)
  const vectors = classes === 2 && !together ? 1 : classes
  const numbers = manifest.schema !== undefined && hasNumbers(manifest.schema)
  const scaled = options.scale ? scalingBytes(options.scale, manifest.labels.length, numbers) : 0
  // The model at the end is a copy of the weights, in a list of its own when few features are in use. Weights of expanded
  // features are lent to the model, unless there are several vectors to put together.
  const forModel = expanded && vectors === 1 ? 0 : (mapBytes > 0 ? 12 : 8) * vectors + scaled
  const reserveOf = (bytes: number, ingested: boolean): number =>
    PROGRAM_PAGES +
    (ingested ? ingestRemains(bytes, growing(options, inputFormatOf(manifest))) : 0) +
    (classes > 2 ? forManyModels(bytes) : 0)
  const loss = convexLoss(findLoss(options.loss))
  const stateOf = (bytes: BlockSolver['rowBytes']): number =>
    overRanks || options.ranks.size > 1 ? 0 : (bytes?.(loss, Math.ceil(weights) + 1) ?? 0)
  const stateBytes =
    stateOf(solver.rowBytes) * (solver.startEach ? lanes : 1) +
    (handsOver ? stateOf(newton.rowBytes) + stateOf(newton.spareRowBytes) : 0)
  const needs = {
    ...{
      alphaBytes: !hasDual(solver, options) ? 0 : together ? classes * 8 : alphaStride(options) * lanes,
      mapBytes,
      weights,
      spare,
      spareFor,
    },
    ...{ entryBytes, expanded, slots: 2, cacheShare: solver.cacheShare },
    leastCache: solver.leastCache && ((bytes: number): number => solver.leastCache!(manifest.rows, bytes)),
    ...(options.fitsInMemory !== undefined && {
      otherHelp: `no --store: in memory the run takes about ${formatBytes(options.fitsInMemory)}`,
    }),
    // Bits of the classes in play, of a loaded block's rows; all rows at most.
    perRow:
      (solver.extra?.perRow ?? 0) +
      (overRanks?.perRow ?? 0) +
      bytesPerRow +
      stateBytes +
      (truncated ? OUTLIER_BYTES : 0) +
      // An index does not know weights of rows: they are all in memory.
      (manifest.rowWeights && solver.needsIndex ? 8 : 0) +
      (together && solver.dual ? Math.ceil(classes / 64) * 8 : 0),
    // A run that goes on with the store is planned for alike.
    ...(mayTrainWhileReading(solver, options) && { firstPass: (bytes: number) => plannedFirstPass(options, bytes) }),
    reserve: (bytes: number): number => (options.memory === undefined ? 0 : reserveOf(bytes, fromText)),
    namedReserve: (bytes: number): number => reserveOf(bytes, fromText),
  }
  return bits => {
    const weightBytes = together ? even(classes) * 8 : (bits === 'f32' ? 4 : 8) * lanes
    const vectors = together ? even(classes) : solver.startEach ? lanes : 1
    const each = extraPerWeight(solver, weights + 1, { ...options, together }) * vectors
    // One of many models that goes on alone has weights of its own.
    const steps = handsOver
      ? extraPerWeight(newton.inBlocks!, weights + 1, { together: false }) + (lanes > 1 ? 8 : 0)
      : 0
    const extra = bits === 'f32' ? 0 : each + steps
    const { trainers } = options
    const shared = solver.severalTrainers ? bytesForTrainers(trainers, weightBytes, options.scale !== undefined) : 0
    // What outliers have in w, and, for searches, the weights that said who they are.
    const outliers = truncated && solver.dual ? weightBytes * (solver.needsIndex ? 2 : 1) : 0
    const meeting = overRanks?.perWeight ?? 0
    return { ...needs, perWeight: forModel + extra + shared + outliers + meeting, weightBytes }
  }
}

/** What a solver has besides where there are several ranks. All classes at once have no steps together: what ranks keep is what a pass
 *  began with. */
function extraOverRanks({ extraOverRanks: extra }: BlockSolver, together: number): BlockSolver['extraOverRanks'] {
  return extra && together > 0 ? { perWeight: even(together) * 8, perRow: together * 8 } : extra
}

/** Bytes for each row of models of folds: their columns of scores, and two that say which fold it is in. */
export function bytesOfScores(columns: number): ByteCount {
  return 4 * columns + 2
}

/** Heaps of threads grow further while many models are trained: with 100 classes under 256M the run had 236 MB of its own
 *  without this, 207 MB with twice as much. Where there is little memory, heaps stay small. */
export function forManyModels(memory: number): number {
  return Math.min(12 << 20, Math.max(0, Math.floor((memory - LITTLE) / 12)))
}

/** Reading and decoding blocks, and two that are hardly worth the name. */
const LEAST_FOR_BLOCKS = 7 << 20

/** The least memory in which text can be read and trained on, however few its rows are, where so much is allowed. */
export function leastForText(memory: ByteCount): ByteCount {
  return NODE_BYTES + PROGRAM_PAGES + afterIngest(memory) + LEAST_FOR_BLOCKS
}

/** The refusal of less, before anything is read. */
export function tooLittleForText(memory: ByteCount): SpillwayError {
  return cannotWork(memory, [
    ['its pages', PROGRAM_PAGES],
    ['what reading the text leaves behind', afterIngest(memory)],
    ['blocks at least', LEAST_FOR_BLOCKS],
  ])
}

/** What an ingest is given. Where rows become larger than their text, small buffers read it as well, and leave less behind;
 *  and they must not take more than training takes afterwards, for that is not given back. */
export function ingestMemory(memory: number, grows: boolean): number {
  return grows ? Math.min(memory, NODE_BYTES + Math.max(LEAST_BUFFERS, Math.floor((memory - NODE_BYTES) / 4))) : memory
}

/** What it leaves behind. Where rows become larger than their text: 17 MB were measured under 256M, 12 MB under 128M. */
export function ingestRemains(memory: number, grows: boolean): number {
  return grows ? Math.max(12 << 20, Math.min(20 << 20, afterIngest(memory))) : afterIngest(memory)
}

/** Whether rows become larger than their text: letters, and what is expanded. */
function growing(options: ResolvedOptions, format: string): boolean {
  return options.expand !== undefined || outgrowsText(findInputFormat(format))
}

/** Whether training can begin while the text is read: values that will be scaled are not known before all have been read, the
 *  trainer knows no weights of rows, and ranks have not agreed on classes and features yet. */
export function mayTrainWhileReading(solver: BlockSolver, options: ResolvedOptions): boolean {
  const { scale, expand, space, schema, ranks } = options
  if ((schema && hasWeights(schema)) || ranks.size > 1) return false
  return solver.firstPass === true && !scale && !expand && !space && !isTruncatedLoss(options)
}

/** Whether the loss gives outliers up. */
export function isTruncatedLoss({ loss }: ResolvedOptions): boolean {
  return findLoss(loss).truncates !== undefined
}

/** Whether there are dual variables: a method that follows a gradient needs them to leave outliers out. */
export function hasDual(solver: Pick<BlockSolver, 'dual'>, options: ResolvedOptions): boolean {
  return solver.dual || isTruncatedLoss(options)
}

/** Bytes of dual variable for each row. */
export function alphaStride(options: ResolvedOptions): number {
  return findLoss(options.loss).entropicDual ? 16 : 8
}
