// The store that a run over blocks works on: the one named, one made from this text before, or a new one, which the first pass
// of training may follow while it is written.

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST_FILE, UNSAVED_MARKER } from '../block-store/file-layout.ts'
import { type IngestOptions, ingest } from '../block-store/ingest.ts'
import { binsOf, inputFormatOf, nextPosition } from '../block-store/manifest.ts'
import { blocksOf, bufferSizes, expectedText } from '../block-store/read-into-blocks.ts'
import { openStore, type Store } from '../block-store/reader.ts'
import { removeFile } from '../block-store/store-folder.ts'
import { SpillwayError, UsageError } from '../errors.ts'
import { askedInputFormat } from '../input-formats/all-input-formats.ts'
import { statInput } from '../input-formats/file-part.ts'
import { isGivenRows, keptName } from '../input-formats/given-rows.ts'
import { baseName } from '../input-formats/stand-ins.ts'
import type { Arena } from '../numeric/arena.ts'
import { FirstPass, type FirstPassSettings } from '../optimise/solvers/first-pass.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import { TooLittleMemory } from '../optimise/sources/memory-plan.ts'
import { sampleText, type TextSample } from '../rows/sample-text.ts'
import { type ByteCount, NODE_BYTES, PROGRAM_PAGES } from '../sizes.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import { CALIBRATION, solverOfCalibration } from './calibration-folds.ts'
import { allowedMemory, recordBytes } from './choose-solver.ts'
import { classProblems } from './class-problems.ts'
import { firstPassSizes } from './memory-while-reading.ts'
import { type ResolvedOptions, refuseTextOptions } from './options.ts'
import { ingestMemory, ingestRemains, leastForText, mayTrainWhileReading, tooLittleForText } from './plan-for-blocks.ts'
import { blocksForText } from './plan-for-text.ts'
import type { FoldsToPlan } from './plan-run.ts'
import type { ProgressListener } from './progress.ts'

/** Expanded rows of a stream of unknown length, and of files that show no row at their beginning. */
const BLOCKS_OF_A_STREAM = 64
/** Without a limit, blocks of letters or of expanded rows are about so large in memory. */
const LARGEST_SAMPLED_BLOCK = 128 << 20

/** A store, and what is known of it from its making. */
export interface StoreForTraining {
  store: Store
  read: Read
  /** What was learnt while text was read. */
  first?: FirstPass | undefined
  /** Where that lies. */
  arena: Arena
}

interface Read {
  bytesRead: number
  badRows: number
  badRowMessages: string[]
}

/** Where the store of some text is: as asked, or in this folder, named after the first file. */
export function storeFolder(paths: string[], asked: string | undefined): string {
  if (asked === undefined && isGivenRows(paths[0])) {
    throw new UsageError(
      'rows of the program that go into blocks need a folder',
      "name one: store: 'some.spill'. It stays, and can be trained on again",
    )
  }
  return asked ?? `${baseName(paths[0])}.spill`
}

/** Whether a folder holds a store that the next run takes as it is. */
export async function isReadyStore(folder: string): Promise<boolean> {
  const isThere = async (file: string) => (await stat(join(folder, file)).catch(() => undefined)) !== undefined
  return (await isThere(MANIFEST_FILE)) && !(await isThere(UNSAVED_MARKER))
}

/** The store that is trained on: the one named, one made from this text before, or a new one. */
export async function theStore(
  arena: Arena,
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  { tell, seconds, folded }: { tell: ProgressListener; seconds: () => number; folded?: FoldsToPlan | undefined },
): Promise<StoreForTraining> {
  const nothing: Read = { bytesRead: 0, badRows: 0, badRowMessages: [] }
  const named = await namedStore(paths, options)
  if (named) return { store: named, read: nothing, arena }
  const folder = storeFolder(paths, options.store)
  const earlier = await madeFrom(folder, paths, options)
  if (earlier === 'fresh') {
    tell({ stage: 'plan', solver: '', reason: `the text is in ${folder} already` })
    return { store: await openStore(folder), read: nothing, arena }
  }
  // What is scaled before it is binned has to be there as it came.
  const bins = binsAtIngest(options)
  const { sizes, forIngest, blocks } = await planIngest(paths, solver, options, folded)
  const mark = arena.mark()
  const first = sizes && new FirstPass(arena, firstPassSettings(options), sizes.pass)
  const meanwhile = first ? ', and training on it meanwhile' : ''
  tell({ stage: 'plan', solver: '', reason: `reading the text into ${folder}${meanwhile}` })
  try {
    const result = await ingest(paths, folder, {
      blocks,
      ...howToRead(options),
      isPlanned: true,
      ...(bins > 0 && { bins }),
      ...(forIngest !== undefined && { memory: forIngest }),
      ...(sizes && options.memory !== undefined && { memory: sizes.ingest, buffers: sizes.buffers }),
      ...(first && { follower: first }),
      overwrite: earlier === 'stale',
      // Rows that are trained on meanwhile have to be where training goes on. Else reading has a memory of its own, which goes back
      // to the system afterwards: buffers may have been larger than what there will be for blocks.
      ...(first && { arena }),
      progress: ({ bytesRead, bytesTotal, rows, badRows }) =>
        tell({ stage: 'read', seconds: seconds(), bytesRead, bytesTotal, rows, badRows }),
    })
    await first?.end()
    if (first && first.trained === 0) await removeFile(join(folder, UNSAVED_MARKER))
    // What was learnt stays until it has moved; nothing learnt, nothing stays.
    arena.release(first?.trained ? first.mark : mark)
    if (!first && options.memory !== undefined) collectGarbage()
    const { bytesRead, badRows, badRowMessages } = result
    const read = { bytesRead, badRows, badRowMessages }
    return { store: await openStore(folder), read, first: first?.trained ? first : undefined, arena }
  } catch (error) {
    await first?.abandon()
    throw error
  }
}

/** How often advice is tried, before it is given. */
const MOST_ADVICE = 8

/** How text is read into a store: in what memory, with what training meanwhile, and into how many blocks. What cannot work is
 *  refused. With more memory blocks are larger, and so a plan that is refused does not know what would do: advice is planned for,
 *  until it holds. */
export async function planIngest(paths: string[], solver: BlockSolver, options: ResolvedOptions, folded?: FoldsToPlan) {
  const memory = allowedMemory(options)
  let refusal: SpillwayError
  let next: ByteCount | undefined
  if (options.memory !== undefined && memory < leastForText(memory)) {
    refusal = tooLittleForText(memory)
    next = Math.ceil(leastForText(memory) / 2 ** 20) * 2 ** 20
  } else {
    try {
      return await planReading(paths, solver, options, folded)
    } catch (error) {
      if (!(error instanceof TooLittleMemory)) throw error
      refusal = error
      next = error.enough
    }
  }
  for (let tries = 0; next !== undefined && tries < MOST_ADVICE; tries++) {
    const more = await planReading(paths, solver, { ...options, memory: next }, folded).catch((error: unknown) => error)
    if (!(more instanceof TooLittleMemory)) break
    next = more.enough
    refusal = more.reworded(refusal.message)
  }
  throw refusal
}

/** The plan itself, in a memory in which some text can be read. */
async function planReading(
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  folded: FoldsToPlan | undefined,
) {
  const memory = allowedMemory(options)
  const sample = await sampleText(paths[0], options)
  const text = await expectedText(paths)
  // Rows that outgrow their text are trained on from the store.
  const may = !sample && mayTrainWhileReading(solver, options)
  const sizes = may ? firstPassSizes(options, memory, text) : undefined
  const forIngest = options.memory === undefined ? undefined : ingestMemory(memory, sample !== undefined)
  const buffers = {
    ...bufferSizes(sizes && options.memory !== undefined ? sizes.ingest : forIngest),
    ...sizes?.buffers,
  }
  const usual = options.blocks ?? sampledBlocks(options, text, sample) ?? blocksOf(text, buffers)
  const { chunk } = buffers
  const blocks = await blocksForText(paths, text, solver, options, { blocks: usual, chunk, folded })
  // Models that are trained afterwards over the same blocks must have room as well.
  if (options.calibrate !== undefined && !folded)
    await blocksForText(paths, text, solverOfCalibration(solver), options, { blocks, chunk, folded: CALIBRATION })
  return { sizes, forIngest, blocks, text, chunk }
}

function howToRead(options: ResolvedOptions): IngestOptions {
  const { values, seed, onBadRow, format, indexBase, threads, signal, schema } = options
  return {
    ...(schema && { schema }),
    ...{ values, seed, onBadRow, format },
    ...(indexBase !== undefined && { indexBase }),
    ...(threads !== undefined && { threads }),
    ...(signal && { signal }),
    // Rows in memory are not compared either: the memory does not decide what is trained on.
    again: true,
  }
}

/** The store that was named in place of text. */
async function namedStore(paths: string[], options: ResolvedOptions): Promise<Store | undefined> {
  const folders = []
  for (const path of paths) if ((await stat(path).catch(() => undefined))?.isDirectory()) folders.push(path)
  if (folders.length === 0) return undefined
  if (paths.length > 1) throw new UsageError(`${folders[0]} is a folder; a store is trained on alone`)
  refuseTextOptions(options)
  return openStore(paths[0])
}

/** The store has its rows, but the run does not go on: the next run takes the store as it is, without what was learnt. */
export async function forgetFirstPass({ store, first }: StoreForTraining): Promise<void> {
  if (first) await removeFile(join(store.folder, UNSAVED_MARKER))
}

function firstPassSettings(options: ResolvedOptions): FirstPassSettings {
  return {
    seed: options.seed,
    unit: options.normalize === 'unit',
    visits: options.given.has('innerPasses') ? options.innerPasses : undefined,
    problemOf: labels => classProblems(labels, options).problems[0],
  }
}

/** Blocks that text is to be drawn into when its rows become larger than it: by their size in memory, so that several have
 *  room beside the weights. Undefined where the size of the text decides. */
function sampledBlocks(
  options: ResolvedOptions,
  text: number | undefined,
  sample: TextSample | undefined,
): number | undefined {
  if (text === undefined || !sample) return options.expand === undefined ? undefined : BLOCKS_OF_A_STREAM
  const memory = allowedMemory(options)
  const weights = Math.min(sample.features, sample.entries * text) * 4
  const reserve = PROGRAM_PAGES + ingestRemains(memory, true)
  const room = Math.max(memory / 16, memory - NODE_BYTES - reserve - weights)
  const blockBytes = Math.min(room / 8, LARGEST_SAMPLED_BLOCK)
  return Math.min(100_000, Math.max(1, Math.ceil((text * recordBytes(sample, options)) / blockBytes)))
}

/** A store may have its values rounded to bins. A kernel takes those bins, unless fewer are asked for. Where values themselves
 *  are trained on, it is told that they are rounded; returns to how many bins, or 0. */
export async function heedBinsOfStore(
  paths: string[],
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<number> {
  const { space, scale, given } = options
  if (paths.length > 1 || !(await stat(paths[0]).catch(() => undefined))?.isDirectory()) return 0
  const bins = binsOf((await openStore(paths[0])).manifest)
  if (bins === 0) return 0
  if (space && !given.has('bins')) options.space = { ...space, bins }
  // Scaled values fall between the bins that the values had before.
  if (!space || scale) {
    tell({ stage: 'plan', solver: '', reason: `the values of ${paths[0]} are rounded to ${bins} bins, and used so` })
    return bins
  }
  if (given.has('bins') && space.bins > bins) {
    throw new UsageError(
      `bins is ${space.bins}, and the values of ${paths[0]} were rounded to ${bins} bins when it was made: finer ones are lost`,
      `leave out --bins, or make a store of the text with ingest --bins ${space.bins}`,
    )
  }
  return 0
}

/** Bins that a store's values are rounded to. */
function binsAtIngest({ space, scale }: ResolvedOptions): number {
  return space && !scale ? space.bins : 0
}

/** Whether a folder holds a finished store of just these files as they are, read in the same way (`fresh`), or of an
 *  earlier state of them (`stale`), which may be made anew. A store of anything else is not touched. */
async function madeFrom(
  folder: string,
  paths: string[],
  options: ResolvedOptions,
): Promise<'fresh' | 'stale' | undefined> {
  const finished = await stat(join(folder, 'manifest.json')).catch(() => undefined)
  if (!finished) return undefined
  const { manifest } = await openStore(folder)
  const whole = manifest.rows === nextPosition(manifest)
  const same =
    manifest.sources.length === paths.length && manifest.sources.every(({ name }, k) => name === keptName(paths[k]))
  if (!same || !whole) {
    throw new SpillwayError(
      `${folder} is in the way: it is a store of ${same ? 'these files with rows removed' : 'other data'}`,
      `name another folder with --store, train on it with \`spillway train ${folder}\`, or remove it`,
    )
  }
  const changes = await Promise.all(paths.map(statInput))
  const unsaved = await stat(join(folder, UNSAVED_MARKER)).catch(() => undefined)
  const alike =
    !unsaved &&
    manifest.seed === options.seed &&
    manifest.valueBits === (options.values === 'f64' ? 64 : 32) &&
    // Values as they came serve any bins.
    [0, binsAtIngest(options)].includes(binsOf(manifest)) &&
    (options.blocks === undefined || options.blocks === manifest.blocks.length) &&
    JSON.stringify(manifest.schema) === JSON.stringify(options.schema) &&
    (askedInputFormat(options.format)?.name ?? inputFormatOf(manifest)) === inputFormatOf(manifest) &&
    (options.indexBase === undefined || options.indexBase === manifest.indexBase)
  return alike && changes.every(file => file !== undefined && file.mtimeMs <= finished.mtimeMs) ? 'fresh' : 'stale'
}
