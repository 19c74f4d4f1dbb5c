// Which solver runs: the one that was asked for, or the one that suits the data and the memory.
import { widthOf } from '../additive-kernels/row-space.ts'
import { inputFormatOf, type Manifest } from '../block-store/manifest.ts'
import { openStore } from '../block-store/reader.ts'
import { UsageError } from '../errors.ts'
import { parseExpansion } from '../features/expansion-steps.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { statInput } from '../input-formats/file-part.ts'
import { textSize } from '../input-formats/text-size.ts'
import { findLoss } from '../losses/all-losses.ts'
import { isSparse, trainsByGradient, trainsTogether } from '../losses/formulations.ts'
import { convexLoss } from '../losses/loss.ts'
import { usableMemory } from '../machine-memory.ts'
import { type Arena, formatBytes } from '../numeric/arena.ts'
import { ROW_BOUND } from '../numeric/layouts.ts'
import { weightsTogether } from '../optimise/objectives/all-classes.ts'
import { crammerSingerBytes } from '../optimise/objectives/crammer-singer.ts'
import { allSolvers, askedSolver } from '../optimise/solvers/all-solvers.ts'
import { block } from '../optimise/solvers/block.ts'
import { dual } from '../optimise/solvers/dual.ts'
import { newton } from '../optimise/solvers/newton.ts'
import { bytesForTrainers } from '../optimise/solvers/parallel-sweeps.ts'
import {
  type BlockSolver,
  extraPerWeight,
  type MemorySolver,
  regularizersOf,
  type Solver,
} from '../optimise/solvers/solver.ts'
import { stream } from '../optimise/solvers/stream.ts'
import { decodedBound, entryBytes } from '../optimise/sources/memory-plan.ts'
import { onAnyRank } from '../ranks/records.ts'
import { estimateText, sampleText, type TextSample } from '../rows/sample-text.ts'
import { type ByteCount, NODE_BYTES, PROGRAM_PAGES } from '../sizes.ts'
import { startsSecondOrder } from './hand-over.ts'
import type { ResolvedOptions } from './options.ts'

/** What a WebAssembly memory can hold, less what solvers add to the rows. */
export const WINDOW_BYTES = 3.5 * 2 ** 30
/** Row records take at most about as much as the text they come from, and dual variables and order a little more. */
const BYTES_PER_TEXT_BYTE = 1.1
/** Buffers for reading and parsing; of few rows, at most so many times what those take. */
const PARSER_BYTES = 56 << 20
const PARSER_TIMES = 2
/** Weights in memory, with what renumbering the features and making the model take besides. */
const BYTES_PER_WEIGHT = 40
/** Of a row: dual variables, its place in the order, and its place in a table. */
const DUAL_BYTES = 24
/** Samples from all over a text may miss its long rows. */
const SAMPLE_MARGIN = 1.1
/** Of an entry: its index, where its value is that of others. */
const LEAST_ENTRY_BYTES = 4
/** Text has an entry of a new feature every so many bytes, at most. */
const TEXT_PER_WEIGHT = 16
/** Entries of columns, which primal coordinate descent needs beside the rows; by the byte of text, where an entry is five or more. */
const BYTES_PER_COLUMN_ENTRY = 12
const COLUMN_BYTES_PER_TEXT_BYTE = 2.4
/** What is kept for each column besides. */
const BYTES_PER_COLUMN = 64

export interface Choice {
  solver: Solver
  /** In a few words, for the user. */
  reason: string
  /** Where a store was asked for alone, and rows and all would fit in memory: the bytes that they would take. */
  fitsInMemory?: number
}

/** Memory that the run may take: what was said, or most of what the machine has. */
export function allowedMemory(options: Pick<ResolvedOptions, 'memory'>): number {
  return options.memory ?? usableMemory()
}

export async function chooseSolver(paths: string[], options: ResolvedOptions): Promise<Choice> {
  const allowed = allowedMemory(options)
  if (isSparse(options.regularizer)) return chooseForL1(paths, options, Math.min(allowed, WINDOW_BYTES))
  const together = trainsTogether(options.multiclass)
  const solver = askedSolver(options.solver)
  if (solver) {
    const fitting = solver.data === 'memory' && solver.inBlocks ? await whereItFits(paths, options, solver) : undefined
    if (fitting) return fitting
    if (solver.data === 'memory' && options.memory !== undefined) await refuseTooLarge(paths, options, solver)
    return { solver, reason: 'as asked for' }
  }
  if (trainsByGradient(options.multiclass)) {
    const { solver } = await whereItFits(paths, options, newton)
    const where = solver.data === 'memory' ? 'in memory' : 'block by block'
    return { solver, reason: `the ${options.multiclass} of all classes, ${where}` }
  }
  const needed = await inMemoryBytes(paths, options)
  const fits = await everywhere(options, needed <= Math.min(allowed, WINDOW_BYTES))
  const need = Number.isFinite(needed)
    ? `the data takes about ${formatBytes(needed)} in memory`
    : 'how much the data takes cannot be known'
  // How a store would be made and kept is said for the case that there is one; these two are about one that there was.
  const wish = options.resume ? 'resume' : options.cold ? 'cold' : undefined
  const isAlone = options.ranks.size === 1
  if (fits && wish) {
    return {
      solver: together ? block : stream,
      reason: `${need}, which fits, but ${wish} asks for a store`,
    }
  }
  const limit = allowed < WINDOW_BYTES ? formatBytes(allowed) : `the ${formatBytes(WINDOW_BYTES)} that a run can hold`
  if (fits) return { solver: dual, reason: `${need}, which fits in ${limit}` }
  const few = (await everywhere(options, await hasFewFeatures(paths, options))) ? newton.inBlocks : undefined
  if (few) {
    const hint =
      isAlone && (await mayIndex(paths, options)) ? '; where classes lie apart, --solver indexed reads less' : ''
    return { solver: few, reason: `${need}, more than ${limit}, and there are few features${hint}` }
  }
  // A cache holds few expanded rows, and every visit sweeps over it: 20,000 strings with degree 8 in 256M took 69 s with it
  // and 16 s without.
  const best = options.expand === undefined && !together ? stream : block
  // Over ranks every product of a step together is a reading of all blocks with `block`, and none with `stream`, which takes it
  // among the rows that it keeps: docs/ranks.md has the bytes.
  const why = best === stream && !isAlone ? '; stream keeps rows between passes, so ranks read less' : ''
  return { solver: best, reason: `${Number.isFinite(needed) ? `${need}, more than ${limit}` : need}${why}` }
}

/** Features of a store up to which an index is proposed. Measured on 600,000 rows of 5 features, a tenth of them in memory, half a
 *  percent of them near the plane: 2 to 3 s of CPU by the index, 4 to 6 by second-order steps, 3 to 3.5 by `stream`. With the 54
 *  features of covtype and the 784 of digits it did not pay. */
const MOST_FOR_INDEX = 16

/** Whether an index of the store may pay where rows do not fit in memory. Nobody knows yet how many rows lie near the plane. */
async function mayIndex(paths: string[], { loss, scale }: ResolvedOptions): Promise<boolean> {
  const { manifest } = await sizeOf(paths)
  if (!manifest || scale !== undefined || convexLoss(findLoss(loss)).box === undefined) return false
  return (manifest.usedFeatures || manifest.features) <= MOST_FOR_INDEX
}

/** Whether something is so on every rank: all of them take the same solver. */
async function everywhere({ ranks }: ResolvedOptions, here: boolean): Promise<boolean> {
  return !(await onAnyRank(ranks, !here))
}

/** Whether data that does not fit has so few features that second-order steps are the better ones. */
async function hasFewFeatures(paths: string[], options: ResolvedOptions): Promise<boolean> {
  const plain =
    options.expand === undefined && !options.space && !options.calibrate && !trainsTogether(options.multiclass)
  if (!plain || options.weights !== 'f64') return false
  const { manifest, text, pipes } = await sizeOf(paths)
  if (pipes) return false
  const loss = convexLoss(findLoss(options.loss))
  const what = options.ranks.size > 1 ? 'overRanks' : 'otherwise'
  if (manifest) {
    const { rows, nonzeros, usedFeatures, features } = manifest
    return startsSecondOrder(loss, { rows, nonzeros, weights: usedFeatures || features }, what)
  }
  const estimate = await estimateText(paths, text, options)
  if (!estimate || estimate.letters) return false
  return startsSecondOrder(loss, { ...estimate, weights: estimate.usedMost }, what)
}

/** Of a solver that was asked for, and works in memory and in blocks alike. */
async function whereItFits(paths: string[], options: ResolvedOptions, solver: MemorySolver): Promise<Choice> {
  const needed = (await inMemoryBytes(paths, options)) + (await vectorBytes(paths, options, solver.inBlocks!))
  const fits = await everywhere(options, needed <= Math.min(allowedMemory(options), WINDOW_BYTES))
  const inBlocks = { solver: solver.inBlocks!, reason: 'as asked for, block by block' }
  if (!fits || ['resume', 'cold'].some(name => options.given.has(name))) return inBlocks
  return options.given.has('store') ? { ...inBlocks, fitsInMemory: needed } : { solver, reason: 'as asked for' }
}

/** What a solver has for each weight besides. Of text nobody knows how many there will be. */
async function vectorBytes(paths: string[], options: ResolvedOptions, solver: BlockSolver): Promise<number> {
  const { manifest } = await sizeOf(paths)
  if (!manifest) return 0
  const weights = (manifest.usedFeatures || manifest.features) + 1
  const together = trainsTogether(options.multiclass)
  return weights * extraPerWeight(solver, weights, { ...options, together })
}

/** Of a solver that was asked for, and keeps all rows in memory. */
async function refuseTooLarge(paths: string[], options: ResolvedOptions, solver: MemorySolver): Promise<void> {
  const { name, columns } = solver
  const allowed = allowedMemory(options)
  const needed = (await inMemoryBytes(paths, options)) + (columns ? await columnBytes(paths, options) : 0)
  const named = options.given.has('memory')
  // Where the size cannot be known, the user who named the solver decides, unless a memory was named too.
  if (needed <= allowed || !(named || Number.isFinite(needed))) return
  const limit = named ? `--memory allows ${formatBytes(allowed)}` : `there is ${formatBytes(allowed)} for it`
  const others = trainsTogether(options.multiclass) ? 'block' : 'stream, selective or block'
  throw new UsageError(
    `solver ${name} keeps all rows in memory${columns ? ', by rows and by columns' : ''}: about ${formatBytes(needed)}, and ${limit}`,
    `leave the choice to --solver auto, or take --solver ${others}`,
  )
}

/** Under l1 there is one method, and it needs the data in memory. A solver that does not know l1 is left to checkCompatible. */
async function chooseForL1(paths: string[], options: ResolvedOptions, allowed: number): Promise<Choice> {
  const asked = askedSolver(options.solver)
  if (asked && !regularizersOf(asked).includes(options.regularizer)) return { solver: asked, reason: 'as asked for' }
  const needed = (await inMemoryBytes(paths, options)) + (await columnBytes(paths, options))
  if (needed > allowed) {
    const need = Number.isFinite(needed) ? `about ${formatBytes(needed)}` : 'how much cannot be known before it is read'
    throw new UsageError(
      `the ${options.regularizer} regularizer needs the data in memory twice, by rows and by columns: ${need}, and there may be ${formatBytes(allowed)}`,
      'give it more --memory, or train on data larger than memory with --regularizer l2',
    )
  }
  return {
    solver: allSolvers.find(solver => regularizersOf(solver).includes(options.regularizer))!,
    reason: `the regularizer is ${options.regularizer}`,
  }
}

/** What there is to read, as far as can be told before: a store in a folder, or so many bytes of text. */
export async function sizeOf(
  paths: string[],
): Promise<{ manifest?: Manifest; folder?: string; text: number; pipes: boolean }> {
  let [text, pipes] = [0, false]
  for (const path of paths) {
    const found = await statInput(path)
    if (found?.isDirectory()) return { manifest: (await openStore(path)).manifest, folder: path, text, pipes }
    if (found?.isFile()) text += (await textSize(path)) ?? found.size
    else pipes = true
  }
  return { text, pipes }
}

/** What columns take beside the rows. */
async function columnBytes(paths: string[], { expand, ...options }: ResolvedOptions): Promise<number> {
  const { manifest, text } = await sizeOf(paths)
  if (manifest) {
    const rows = Math.max(manifest.rows, 1)
    const perRow = manifest.nonzeros / rows
    const entries = expand === undefined ? perRow : parseExpansion(expand).entries(perRow)
    const columns = Math.min(manifest.usedFeatures || manifest.features, rows * entries)
    return rows * entries * BYTES_PER_COLUMN_ENTRY + columns * BYTES_PER_COLUMN
  }
  const sample = await sampleText(paths[0], { ...options, expand })
  return text * (sample ? sample.entries * BYTES_PER_COLUMN_ENTRY : COLUMN_BYTES_PER_TEXT_BYTE)
}

/** What training in memory would take, as far as sizes tell before anything is read. */
export async function inMemoryBytes(paths: string[], options: ResolvedOptions): Promise<number> {
  const rowWeights = (options.rowWeights?.length ?? 0) * 8
  return (await bytesOfRows(paths, options)) + rowWeights + (await bytesOfTrainers(paths, options))
}

/** Weights that several trainers have besides. */
async function bytesOfTrainers(paths: string[], options: ResolvedOptions): Promise<number> {
  if (!options.given.has('trainers') || options.trainers === 1) return 0
  const { manifest, text } = await sizeOf(paths)
  const weights = manifest ? manifest.usedFeatures || manifest.features : text / TEXT_PER_WEIGHT
  const weightBytes = options.weights === 'f64' ? 8 : 4
  return weights * bytesForTrainers(options.trainers, weightBytes, options.scale !== undefined)
}

async function bytesOfRows(paths: string[], options: ResolvedOptions): Promise<number> {
  const { manifest, text, pipes } = await sizeOf(paths)
  // A pipe may bring anything: under a limit it is taken for too much.
  if (pipes && options.memory !== undefined) return Number.POSITIVE_INFINITY
  if (manifest)
    return options.expand === undefined ? storeBytes(manifest, options) : expandedStoreBytes(manifest, options)
  const sample = await sampleText(paths[0], options)
  if (sample || options.expand !== undefined) return sampledBytes(sample, text, options)
  const usual = text * BYTES_PER_TEXT_BYTE * (options.values === 'f64' ? 1.5 : 1)
  const most = withProgram(Math.max(usual, await bytesWithWeights(paths, text, options)), options)
  if (options.memory !== undefined || most <= Math.min(allowedMemory(options), WINDOW_BYTES)) return most
  // Numbers of many digits take less than their text. It is worth a look where they would fit by that.
  const sampled = await bytesBySamples(paths, text, options)
  return sampled === undefined ? most : Math.min(most, withProgram(sampled, options))
}

/** Rows, dual variables and weights by samples from all over the text; undefined where these are not to be had. */
export async function bytesBySamples(
  paths: string[],
  text: number,
  options: Pick<ResolvedOptions, 'values' | 'format' | 'indexBase' | 'schema'>,
): Promise<ByteCount | undefined> {
  const sizes = await Promise.all(paths.map(statInput))
  // Of what is compressed, only the beginning is looked at: that promises nothing.
  const isPlain = text === sizes.reduce((sum, found) => sum + (found?.size ?? 0), 0)
  const estimate = isPlain ? await estimateText(paths, text, options) : undefined
  if (!estimate) return undefined
  const { rows, nonzeros, usedMost } = estimate
  const records = rows * (ROW_BOUND + DUAL_BYTES) + nonzeros * (options.values === 'f64' ? 12 : 8)
  return SAMPLE_MARGIN * records + usedMost * BYTES_PER_WEIGHT
}

/** Rows and weights by samples of the text. Where hardly a feature comes twice, weights take more than rows leave of the text's size:
 *  under a limit that has to be known. */
async function bytesWithWeights(paths: string[], text: number, options: ResolvedOptions): Promise<ByteCount> {
  const estimate = options.memory === undefined ? undefined : await estimateText(paths, text, options)
  if (!estimate) return 0
  const { rows, nonzeros, usedLeast } = estimate
  return rows * ROW_BOUND + nonzeros * LEAST_ENTRY_BYTES + usedLeast * BYTES_PER_WEIGHT
}

/** What rows take with all that is there besides. */
function withProgram(rows: number, options: ResolvedOptions): number {
  return NODE_BYTES + pagesBeside(rows, options) + PARSER_BYTES + rows
}

/** Pages of Node's file beside so many bytes of rows: a limit counts them. Where rows are few, the buffers that are not needed have
 *  room for those: 2 MiB of text took 109 MiB in all, pages included, 20 MiB took 159. */
export function pagesBeside(rows: ByteCount, { memory }: Pick<ResolvedOptions, 'memory'>): ByteCount {
  if (memory === undefined) return 0
  return Math.max(0, PROGRAM_PAGES + Math.min(PARSER_BYTES, PARSER_TIMES * rows) - PARSER_BYTES)
}

/** Bytes that models may take besides what is in memory: what is allowed, inside the window that WebAssembly can address. */
export function roomForModels(arena: Arena, rows: ByteCount, options: Pick<ResolvedOptions, 'memory'>): ByteCount {
  const allowed = allowedMemory(options) - NODE_BYTES - pagesBeside(rows, options)
  return Math.max(0, Math.min(WINDOW_BYTES, allowed) - arena.mark())
}

function storeBytes(manifest: Manifest, options: ResolvedOptions): number {
  const { loss, multiclass, space } = options
  const perEntry = entryBytes(manifest.valueBits, findInputFormat(inputFormatOf(manifest)))
  const rows = manifest.blocks.reduce((sum, block) => sum + decodedBound(block, manifest.valueBits, perEntry), 0)
  const perRow = manifest.rows * ((findLoss(loss).entropicDual ? 24 : 16) + (manifest.rowWeights ? 8 : 0))
  const used = manifest.usedFeatures || manifest.features
  const classes = manifest.labels.length
  const weights = weightsTogether(used, classes)
  const moved = trainsByGradient(multiclass) ? newton.extraBytes!(weights) : crammerSingerBytes(manifest.rows, classes)
  const together = trainsTogether(multiclass) ? moved + weights * 16 : 0
  return withProgram(rows, options) + perRow + used * 16 * (space ? widthOf(space) : 1) + together
}

/** The same for letters and for rows that are expanded: by the beginning of the text. Where rows of many entries grow more
 *  than others, a beginning promises nothing, and under a limit they are taken for too much. */
function sampledBytes(sample: TextSample | undefined, text: number, options: ResolvedOptions): number {
  const known = sample && (options.expand === undefined || parseExpansion(options.expand).proportional)
  if (options.memory !== undefined && !known) return Number.POSITIVE_INFINITY
  if (!sample) return 0
  const weights = Math.min(sample.features, sample.entries * text)
  return withProgram(text * recordBytes(sample, options) * BYTES_PER_TEXT_BYTE, options) + weights * BYTES_PER_WEIGHT
}

/** Bytes of row records for every byte of text, by a sample. */
export function recordBytes(
  { rows, entries, format }: TextSample,
  { values, expand }: Pick<ResolvedOptions, 'values' | 'expand'>,
): number {
  return rows * ROW_BOUND + entries * entryBytes(values === 'f64' ? 64 : 32, format, expand)
}

function expandedStoreBytes(manifest: Manifest, options: ResolvedOptions): number {
  const steps = parseExpansion(options.expand!)
  if (options.memory !== undefined && !steps.proportional) return Number.POSITIVE_INFINITY
  const rows = Math.max(manifest.rows, 1)
  const entries = rows * steps.entries(manifest.nonzeros / rows)
  const records = rows * (ROW_BOUND + 24) + entries * steps.entryBytes(manifest.valueBits)
  const weights = Math.min(steps.features(manifest.features), entries)
  return withProgram(records, options) + weights * BYTES_PER_WEIGHT
}
