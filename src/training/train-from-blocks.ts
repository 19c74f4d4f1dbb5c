// Training on data larger than memory: text goes into a block store first, then blocks are read again and again, inside
// the memory that was named.
import { stat, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { bitsOfMap, featuresOf } from '../block-store/feature-set.ts'
import { UNSAVED_MARKER } from '../block-store/file-layout.ts'
import { ingest } from '../block-store/ingest.ts'
import { inputFormatOf, nextPosition } from '../block-store/manifest.ts'
import { bufferSizes, expectedText, LEAST_BUFFERS } from '../block-store/read-into-blocks.ts'
import { openStore, type Store } from '../block-store/reader.ts'
import { SpillwayError, UsageError } from '../errors.ts'
import { learnFactors } from '../features/scale.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { findLoss } from '../losses/all-losses.ts'
import { lendWeights } from '../model/lent-weights.ts'
import type { WeightVectors } from '../model/weights.ts'
import { Arena } from '../numeric/arena.ts'
import { bytesForTrainers } from '../solvers/parallel-sweeps.ts'
import type { BlockSolver } from '../solvers/solver.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'
import { BlockEngine, READERS } from './block-engine.ts'
import { BlockProblem } from './block-problem.ts'
import { Checkpoints, type RunState, stateFolder } from './checkpoint.ts'
import { allowedMemory } from './choose-solver.ts'
import { classProblems } from './class-problems.ts'
import type { Solution } from './driver.ts'
import { FirstPass, type FirstPassSizes, pieceBytes } from './first-pass.ts'
import { groupsOf, type MemoryPlan, NODE_BYTES, planLines, planMemory } from './memory-plan.ts'
import { type ResolvedOptions, refuseTextOptions } from './options.ts'
import { OutOfCoreDriver } from './out-of-core.ts'
import type { TrainingOutcome } from './outcome.ts'
import type { ProblemSettings } from './problem.ts'
import type { ProgressListener } from './progress.ts'
import { type RowsOfStore, rowsOfStore } from './rows-of-store.ts'
import { sampleText, type TextSample } from './sample-text.ts'

export async function trainFromBlocks(
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<TrainingOutcome> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const arena = new Arena()
  const { store, read, first } = await theStore(arena, paths, solver, options, tell, seconds)
  const readSeconds = seconds()
  const { manifest } = store
  const classes = manifest.labels.filter(label => label.rows > 0)
  if (classes.length < 2) {
    throw new SpillwayError(
      `all ${manifest.rows} rows of ${store.folder} have the label ${classes[0]?.text}: there is nothing to tell apart`,
      'training needs rows of at least two classes',
    )
  }
  await using readers = new ThreadPool(arena.share, READERS)
  if (options.expand)
    tell({ stage: 'plan', solver: '', reason: `a first look at what ${options.expand} makes of the rows` })
  const rows = await rowsOfStore(store, options, arena, readers)
  const plan = await planFor(store, solver, options, store.folder !== paths[0], rows)
  options = { ...options, weights: plan.weightBytes === 4 ? 'f32' : 'f64' }
  const { length: count } = groupsOf(
    plan,
    manifest.blocks.map((_, k) => k),
  )
  const reason = `${manifest.blocks.length} blocks, read in ${count} ${count === 1 ? 'piece' : 'pieces'} a pass`
  tell({ stage: 'plan', solver: solver.name, reason, lines: planLines(plan.parts, plan.memory) })
  const weightCount = rows.weights
  const map = await rows.placeMap(arena)
  const { labels, problems } = classProblems(manifest.labels, findLoss(options.loss), options)
  const K = problems.length
  // One problem's memory serves all of them in turn.
  const problem = new BlockProblem({ arena, store }, problems[0], weightCount, solver.dual)
  const besidesWeights = arena.mark()
  const engine = new BlockEngine(
    arena,
    store,
    plan,
    solver.dual ? alphaStride(options) : 0,
    solver.severalTrainers ? options.trainers : 1,
    readers,
  )
  try {
    const unit = options.normalize === 'unit'
    const factors = options.scale ? await learnFactors(engine, options.scale, weightCount, map) : 0
    engine.transformBy({ expand: options.expand, map, factors, unit, plain: false })
    const lent = rows.expanded !== undefined && K === 1
    const weights = new Float64Array(lent ? 0 : weightCount * K)
    const biasWeights = new Float64Array(K)
    const solutions: Solution[] = []
    if (!options.resume) {
      // Of all classes at once: whoever resumes this run later must not meet what an earlier one has left.
      for (const settings of problems) await checkpointsOf(problem, settings, store, options).clearFinished()
    }
    for (const [k, settings] of problems.entries()) {
      problem.startOver(settings)
      const solution = await solveOne(
        engine,
        solver,
        problem,
        settings,
        store,
        options,
        progress => tell({ stage: 'train', seconds: seconds(), ...progress, problem: k + 1, problems: K }),
        // Of several classes each says the same, or nearly.
        reason => k === 0 && tell({ stage: 'plan', solver: solver.name, reason }),
        first && K === 1 ? { pass: first, map } : undefined,
      )
      solutions.push(solution)
      if (lent) {
        biasWeights[k] = problem.biasWeight()
        continue
      }
      const w = problem.copyWeights()
      for (let j = 0; j < weightCount; j++) weights[j * K + k] = w[j]
      biasWeights[k] = w[weightCount]
    }
    const features = map && !lent ? featuresOf(arena, map, weightCount) : undefined
    const byFeature = (values: Float64Array): Float64Array | WeightVectors =>
      features ? { layout: 'sparse', indices: features, values } : values
    const { blocksRead, bytesRead, bytesSkipped, readSeconds: diskSeconds, decodeSeconds, waitSeconds } = engine.counts
    return {
      data: {
        ...manifest,
        features: rows.features,
        nonzeros: rows.nonzeros,
        format: inputFormatOf(manifest),
        fingerprint: `xxh64:${manifest.fingerprint}`,
        ...(rows.names && { names: rows.names }),
      },
      labels,
      weights: lent
        ? lendWeights(
            { arena, weights: problem.weights, narrow: problem.narrow, map },
            weightCount,
            map ? bitsOfMap(arena, map) : undefined,
          )
        : byFeature(weights),
      biasWeights,
      factors: factors ? byFeature(arena.f64(factors, weightCount).slice()) : undefined,
      solver: solver.name,
      solutions,
      readSeconds,
      bytesRead: read.bytesRead + bytesRead,
      badRows: read.badRows,
      badRowMessages: read.badRowMessages,
      blocks: {
        count: manifest.blocks.length,
        read: blocksRead,
        bytesSkipped,
        readSeconds: diskSeconds,
        decodeSeconds,
        waitSeconds,
        store: store.folder,
      },
    }
  } finally {
    await engine.close()
    // What was needed besides weights and map is free for whoever works with the model next.
    arena.release(besidesWeights)
  }
}

/** Where the states of a binary problem are kept. */
function checkpointsOf(
  problem: BlockProblem,
  settings: ClassProblem,
  { folder, manifest }: Store,
  options: ResolvedOptions,
): Checkpoints {
  const identity = {
    loss: options.loss,
    costPositive: settings.costPositive,
    costNegative: settings.costNegative,
    bias: settings.bias,
    positive: settings.label.text,
    normalize: options.normalize ?? null,
    scale: options.scale ?? null,
    weights: options.weights,
    ...(options.expand !== undefined && { expand: options.expand }),
  }
  return new Checkpoints(problem.arena, problem, manifest, stateFolder(folder, identity))
}

type ClassProblem = ProblemSettings & { label: { text: string } }

/** Solves one binary problem, from a checkpoint if one is wanted and there. */
async function solveOne(
  engine: BlockEngine,
  solver: BlockSolver,
  problem: BlockProblem,
  settings: ClassProblem,
  store: Store,
  options: ResolvedOptions,
  tell: ConstructorParameters<typeof OutOfCoreDriver>[6],
  say: (reason: string) => void,
  first: { pass: FirstPass; map: number } | undefined,
): Promise<Solution> {
  const { manifest } = store
  const course = {
    solver: solver.name,
    seed: options.seed,
    shrinking: options.shrinking,
    innerPasses: options.innerPasses,
    innerTolerance: options.innerTolerance ?? null,
    blockOrder: options.blockOrder,
    batch: options.batch,
    slotBytes: engine.plan.slotBytes,
    cacheBytes: engine.plan.cacheBytes,
  }
  const fresh: RunState = {
    settings: course,
    fingerprint: manifest.fingerprint,
    pass: 0,
    position: 0,
    stockTaken: false,
    wanted: null,
    work: 0,
    loss: 0,
    gap: 0,
    primal: 0,
    optimism: 1,
    spread: Number.MAX_VALUE,
    seconds: 0,
    bytesRead: 0,
    solver: undefined,
  }
  const checkpoints = checkpointsOf(problem, settings, store, options)
  const driver = new OutOfCoreDriver(engine, solver, problem, options, checkpoints, fresh, tell)
  if (solver.dual && !options.cold && (await startWarm(driver, checkpoints, problem, say))) {
    const solution = await driver.solve()
    await driver.close(solution)
    return solution
  }
  const found = options.resume ? await checkpoints.load() : undefined
  if (found) {
    refuseOtherCourse(found, fresh)
    // A run that was stopped by its own limits may go on under wider ones.
    delete found.done
    await driver.restore(found)
  } else await checkpoints.clear()
  if (first && !found) {
    await driver.startFrom(first.pass, first.map)
    // From here on a run that is killed resumes; before, it makes the store anew, and so ends in the same model.
    await unlink(join(store.folder, UNSAVED_MARKER))
  }
  const solution = await driver.solve()
  await driver.close(solution)
  return solution
}

/** After rows were added to the store or removed: starts from the dual variables of those that stayed. */
async function startWarm(
  driver: OutOfCoreDriver,
  checkpoints: Checkpoints,
  problem: BlockProblem,
  say: (reason: string) => void,
): Promise<boolean> {
  try {
    const carried = await checkpoints.loadCarried()
    if (!carried) return false
    say(
      `starting from the dual variables of the last run (${carried.passes} ${carried.passes === 1 ? 'pass' : 'passes'}), for the rows that stayed`,
    )
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    say(`starting from zero: ${error.message}`)
    problem.startOver(problem.settings)
    return false
  }
  await driver.rebuildWeights()
  return true
}

/** A run resumes as it was begun, or not at all. */
function refuseOtherCourse(found: RunState, fresh: RunState): void {
  if (found.fingerprint !== fresh.fingerprint) {
    throw new SpillwayError(
      'the store has changed since the checkpoint was written; the run cannot be resumed',
      'train again without --resume',
    )
  }
  for (const [name, value] of Object.entries(fresh.settings)) {
    const before = found.settings[name]
    if (before !== value) {
      throw new SpillwayError(
        `the checkpoint was written with ${name} ${JSON.stringify(before)}, this run has ${JSON.stringify(value)}`,
        'give the same options (and the same --memory) as before, or train again without --resume',
      )
    }
  }
}

/** The plan of a store under a solver's needs. */
export async function planFor(
  store: Store,
  solver: BlockSolver,
  options: ResolvedOptions,
  fromText = false,
  rows?: RowsOfStore,
): Promise<MemoryPlan> {
  const { manifest } = store
  const { weights, entryBytes, mapBytes, expanded } = rows ?? (await rowsOfStore(store, options))
  const classes = manifest.labels.filter(label => label.rows > 0).length
  const needs = {
    alphaBytes: solver.dual ? alphaStride(options) : 0,
    mapBytes,
    weights,
    entryBytes,
    expanded,
    // The model at the end is a copy of the weights, in a list of its own when few features are in use. Weights of expanded
    // features are lent to the model, unless there are several vectors to put together.
    perWeight:
      expanded && classes === 2
        ? 0
        : (mapBytes > 0 ? 12 : 8) * (classes === 2 ? 1 : classes) + (options.scale ? 24 : 0),
    perRow: solver.extra?.perRow ?? 0,
    slots: 2,
    cacheShare: solver.cacheShare,
  }
  // Without a limit to fill, blocks are what the user made them.
  const memory = allowedMemory(options)
  const limited = options.memory !== undefined
  const reserve = (bytes: number): number =>
    limited ? forFilePages(bytes) + (fromText ? ingestRemains(bytes, growing(options, inputFormatOf(manifest))) : 0) : 0
  const planned = (weights: ResolvedOptions['weights']): MemoryPlan => {
    const weightBytes = weights === 'f32' ? 4 : 8
    const perWeight =
      needs.perWeight +
      (weights === 'f32' ? 0 : (solver.extra?.perWeight ?? 0)) +
      (solver.severalTrainers ? bytesForTrainers(options.trainers, weightBytes) : 0)
    return planMemory(manifest, memory, { ...needs, perWeight, weightBytes, reserve }, limited)
  }
  if (!expanded || options.given.has('weights')) return planned(options.weights)
  // Expanded features are so many that f32 may be all there is room for.
  try {
    return planned('f64')
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    return planned('f32')
  }
}

/** Started from a cold disk, some 65 MB of Node's own file count against a cap, of which NODE_BYTES holds the smallest part
 *  that works: where there is memory for it, more of them stay, for reading them again and again is what makes a run crawl. */
function forFilePages(memory: number): number {
  return Math.min(32 << 20, Math.max(0, Math.floor((memory - (104 << 20)) / 5)))
}

/** What an ingest leaves behind in the same process: heap and allocator keep what its buffers took, the more the larger
 *  they were. Measured: 26 MB under 256M. A store that was made before is planned for alike, so that a run can be resumed. */
function afterIngest(memory: number): number {
  return Math.min(32 << 20, Math.max(0, Math.floor((memory - (128 << 20)) / 4)))
}

/** What an ingest is given. Where rows become larger than their text, small buffers read it as well, and leave less behind;
 *  and they must not take more than training takes afterwards, for that is not given back. */
function ingestMemory(memory: number, grows: boolean): number {
  return grows ? Math.min(memory, NODE_BYTES + Math.max(LEAST_BUFFERS, Math.floor((memory - NODE_BYTES) / 4))) : memory
}

/** What it leaves behind. Where rows become larger than their text: 17 MB were measured under 256M, 12 MB under 128M. */
function ingestRemains(memory: number, grows: boolean): number {
  return grows ? Math.max(12 << 20, Math.min(20 << 20, afterIngest(memory))) : afterIngest(memory)
}

/** Whether rows become larger than their text: letters, and what is expanded. */
function growing(options: ResolvedOptions, format: string): boolean {
  return options.expand !== undefined || findInputFormat(format).letters
}

/** Bytes of dual variable for each row. */
function alphaStride(options: ResolvedOptions): number {
  return findLoss(options.loss).entropicDual ? 16 : 8
}

/** Expanded rows of a stream of unknown length, and of files that show no row at their beginning. */
const BLOCKS_OF_A_STREAM = 64
/** Without a limit, blocks of letters or of expanded rows are about so large in memory. */
const LARGEST_SAMPLED_BLOCK = 128 << 20

interface Read {
  bytesRead: number
  badRows: number
  badRowMessages: string[]
}

/** The store that is trained on: the one named, one made from this text before, or a new one. */
async function theStore(
  arena: Arena,
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  tell: ProgressListener,
  seconds: () => number,
): Promise<{ store: Store; read: Read; first?: FirstPass | undefined }> {
  const nothing: Read = { bytesRead: 0, badRows: 0, badRowMessages: [] }
  const folders = []
  for (const path of paths) if ((await stat(path).catch(() => undefined))?.isDirectory()) folders.push(path)
  if (folders.length > 0) {
    if (paths.length > 1) throw new UsageError(`${folders[0]} is a folder; a store is trained on alone`)
    refuseTextOptions(options)
    return { store: await openStore(paths[0]), read: nothing }
  }
  const name = paths[0] === '-' ? 'stdin' : basename(paths[0]).replace(/\.(gz|zst)$/, '')
  const folder = options.store ?? `${name}.spill`
  const sample = await sampleText(paths[0], options)
  const blocks = options.blocks ?? (await sampledBlocks(paths, options, sample))
  const earlier = await madeFrom(folder, paths, options, blocks)
  if (earlier === 'fresh') {
    tell({ stage: 'plan', solver: '', reason: `the text is in ${folder} already` })
    return { store: await openStore(folder), read: nothing }
  }
  const memory = allowedMemory(options)
  // Rows that outgrow their text are trained on from the store.
  const sizes = sample ? undefined : firstPassSizes(solver, options, memory, await expectedText(paths))
  const first = sizes && new FirstPass(arena, options, sizes.pass)
  const meanwhile = first ? ', and training on it meanwhile' : ''
  tell({ stage: 'plan', solver: '', reason: `reading the text into ${folder}${meanwhile}` })
  const mark = arena.mark()
  try {
    const result = await ingest(paths, folder, {
      ...(blocks !== undefined && { blocks }),
      values: options.values,
      seed: options.seed,
      onBadRow: options.onBadRow,
      format: options.format,
      ...(options.indexBase !== undefined && { indexBase: options.indexBase }),
      ...(options.threads !== undefined && { threads: options.threads }),
      ...(options.signal && { signal: options.signal }),
      ...(options.memory !== undefined && { memory: ingestMemory(memory, sample !== undefined) }),
      ...(sizes && options.memory !== undefined && { memory: sizes.ingest, buffers: sizes.buffers }),
      ...(first && { follower: first }),
      overwrite: earlier === 'stale',
      arena,
      progress: ({ bytesRead, bytesTotal, rows, badRows }) =>
        tell({ stage: 'read', seconds: seconds(), bytesRead, bytesTotal, rows, badRows }),
    })
    await first?.end()
    if (first && first.trained === 0) await unlink(join(folder, UNSAVED_MARKER))
    arena.release(mark)
    const { bytesRead, badRows, badRowMessages } = result
    const read = { bytesRead, badRows, badRowMessages }
    return { store: await openStore(folder), read, first: first?.trained ? first : undefined }
  } catch (error) {
    await first?.abandon()
    throw error
  }
}

/** How memory is shared out while text is read and trained on at the same time; undefined where that cannot be: values that
 *  will be scaled are not known before all have been read. */
function firstPassSizes(
  solver: BlockSolver,
  options: ResolvedOptions,
  memory: number,
  text: number | undefined,
): { pass: FirstPassSizes; ingest: number; buffers: { blockText: number; mapPages: number } } | undefined {
  if (!solver.firstPass || options.scale || options.expand) return undefined
  const rooms = (options.threads ?? defaultThreads()) + 2
  if (options.memory === undefined) {
    const { chunk, blockText, mapPages } = bufferSizes(undefined)
    const bytes = Math.min(MOST_FIRST_PASS, Math.floor((memory - NODE_BYTES) / 2))
    return { pass: { chunk, rooms, bytes, text }, ingest: memory, buffers: { blockText, mapPages } }
  }
  const reading = NODE_BYTES + Math.floor(FIRST_PASS_READING * (memory - NODE_BYTES))
  if (reading - NODE_BYTES < LEAST_FIRST_PASS) return undefined
  const { chunk } = bufferSizes(reading)
  // The blocks and the map of the features are for the time afterwards, and as large as without a first pass.
  const { blockText, mapPages } = bufferSizes(memory)
  const more = (mapPages - bufferSizes(reading).mapPages) * MAP_PAGE_BYTES
  const others = reading + more + pieceBytes({ chunk, rooms }) + forFilePages(memory) + afterIngest(memory) / 2
  const bytes = Math.min(MOST_FIRST_PASS, Math.floor(memory - others))
  if (bytes < LEAST_FIRST_PASS) return undefined
  return { pass: { chunk, rooms, bytes, text }, ingest: reading, buffers: { blockText, mapPages } }
}

/** A page of a map of features, for each of two threads that read. */
const MAP_PAGE_BYTES = 2 * 12288
/** Share of the memory besides Node that reading and writing get while there is training too. */
const FIRST_PASS_READING = 0.3
const LEAST_FIRST_PASS = 16 << 20
const MOST_FIRST_PASS = 1 << 30

/** Blocks that text is to be drawn into when its rows become larger than it: by their size in memory, so that several have
 *  room beside the weights. Undefined where the size of the text decides. */
async function sampledBlocks(
  paths: string[],
  options: ResolvedOptions,
  sample: TextSample | undefined,
): Promise<number | undefined> {
  const text = await expectedText(paths)
  if (text === undefined || !sample) return options.expand === undefined ? undefined : BLOCKS_OF_A_STREAM
  const memory = allowedMemory(options)
  const weights = Math.min(sample.features, sample.entries * text) * 4
  const reserve = forFilePages(memory) + ingestRemains(memory, true)
  const room = Math.max(memory / 16, memory - NODE_BYTES - reserve - weights)
  const blockBytes = Math.min(room / 8, LARGEST_SAMPLED_BLOCK)
  return Math.min(100_000, Math.max(1, Math.ceil((text * sample.recordBytes) / blockBytes)))
}

/** Whether a folder holds a finished store of just these files as they are, read in the same way (`fresh`), or of an
 *  earlier state of them (`stale`), which may be made anew. A store of anything else is not touched. */
async function madeFrom(
  folder: string,
  paths: string[],
  options: ResolvedOptions,
  blocks: number | undefined,
): Promise<'fresh' | 'stale' | undefined> {
  const finished = await stat(join(folder, 'manifest.json')).catch(() => undefined)
  if (!finished) return undefined
  const { manifest } = await openStore(folder)
  const whole = manifest.rows === nextPosition(manifest)
  const same = manifest.sources.length === paths.length && manifest.sources.every(({ name }, k) => name === paths[k])
  if (!same || !whole) {
    throw new SpillwayError(
      `${folder} is in the way: it is a store of ${same ? 'these files with rows removed' : 'other data'}`,
      `name another folder with --store, train on it with \`spillway train ${folder}\`, or remove it`,
    )
  }
  const changes = await Promise.all(paths.map(path => (path === '-' ? undefined : stat(path).catch(() => undefined))))
  const unsaved = await stat(join(folder, UNSAVED_MARKER)).catch(() => undefined)
  const alike =
    !unsaved &&
    manifest.seed === options.seed &&
    manifest.valueBits === (options.values === 'f64' ? 64 : 32) &&
    (blocks === undefined || blocks === manifest.blocks.length) &&
    (options.format === 'auto' || options.format === inputFormatOf(manifest)) &&
    (options.indexBase === undefined || options.indexBase === manifest.indexBase)
  return alike && changes.every(file => file !== undefined && file.mtimeMs <= finished.mtimeMs) ? 'fresh' : 'stale'
}
