// Training on data larger than memory: text goes into a block store first, then blocks are read again and again, inside
// the memory that was named.
import { join } from 'node:path'
import { spaceText } from '../additive-kernels/row-space.ts'
import { Checkpoints, type RunState, requireRoomForState, stateFolder } from '../block-store/checkpoint.ts'
import { bitsOfMap, featuresOf } from '../block-store/feature-set.ts'
import { UNSAVED_MARKER } from '../block-store/file-layout.ts'
import { inputFormatOf } from '../block-store/manifest.ts'
import type { Store } from '../block-store/reader.ts'
import { lockStates } from '../block-store/state-locks.ts'
import { removeFile } from '../block-store/writer.ts'
import { SpillwayError } from '../errors.ts'
import { findLoss } from '../losses/all-losses.ts'
import { lendWeights } from '../model/lent-weights.ts'
import { Arena } from '../numeric/arena.ts'
import { BUNDLE_LANES } from '../numeric/bundle-layout.ts'
import type { Solution } from '../optimise/driver/driver.ts'
import { OutOfCoreDriver } from '../optimise/driver/out-of-core.ts'
import { BlockProblem } from '../optimise/objectives/block-problem.ts'
import { CrammerSingerBlocks } from '../optimise/objectives/crammer-singer-blocks.ts'
import { shorten } from '../optimise/objectives/line-search.ts'
import type { ProblemSettings } from '../optimise/objectives/problem.ts'
import { forManyModels, lanesOf } from '../optimise/solvers/block-bundles.ts'
import type { FirstPass } from '../optimise/solvers/first-pass.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import { BlockEngine } from '../optimise/sources/block-engine.ts'
import { groupsOf, type MemoryPlan, planLines } from '../optimise/sources/memory-plan.ts'
import { inSpace } from '../rows/renumber-features.ts'
import { blocksText } from '../sizes.ts'
import { classProblems, refuseUnlearnable } from './class-problems.ts'
import { surveyed, withFittingBlocks } from './fit-blocks.ts'
import type { ResolvedOptions } from './options.ts'
import type { TrainingOutcome } from './outcome.ts'
import { alphaStride, modelsText, planRun } from './plan-for-blocks.ts'
import { prepareRows } from './prepare-rows.ts'
import type { ProgressListener } from './progress.ts'
import { theStore } from './store-for-training.ts'
import { crammerSingerSettings } from './train-crammer-singer.ts'

export async function trainFromBlocks(
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<TrainingOutcome> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const arena = new Arena()
  const found = await theStore(arena, paths, solver, options, tell, seconds)
  const { read, first: begun } = found
  const readSeconds = seconds()
  const { folder, manifest: made } = found.store
  refuseUnlearnable({ ...made, format: inputFormatOf(made) }, folder)
  await requireRoomForState(folder)
  const perClass = classProblems(made.labels, findLoss(options.loss), options)
  const { labels } = perClass
  // Under Crammer and Singer's formulation all classes at once are one problem.
  const isJoint = options.multiclass === 'crammer-singer'
  let problems = isJoint ? perClass.problems.slice(0, 1) : perClass.problems
  const K = isJoint ? labels.length : problems.length
  const fromText = folder !== paths[0]
  const fitted = await withFittingBlocks(found, options, tell, async store => {
    if (options.expand)
      tell({ stage: 'plan', solver: '', reason: `a first look at what ${options.expand} makes of the rows` })
    return surveyed(arena, store, options, rows =>
      planRun(store, solver, options, { fromText, rows, models: problems.length }),
    )
  })
  await using readers = fitted.readers
  const { store, rows, together, plan } = fitted
  const { manifest } = store
  ;({ solver, options } = fitted)
  const first = plan.firstPass ? begun : undefined
  if (begun && !first) await forget(begun, arena, store)
  if (!together && plan.weightBytes === 4) {
    options = { ...options, weights: 'f32' }
    problems = problems.map(problem => ({ ...problem, weightBits: 32 }))
  }
  const count = piecesOf(plan)
  const pieces = `${count} ${count === 1 ? 'piece' : 'pieces'} a pass`
  const models = together ? `, ${modelsText(K, together.models)}` : ''
  const reason = `${blocksText(manifest.blocks.length)}, read in ${pieces}${models}`
  tell({ stage: 'plan', solver: solver.name, reason, lines: planLines(plan.parts, plan.memory) })
  const weightCount = rows.weights
  const map = await rows.placeMap(arena)
  const joint =
    options.multiclass === 'crammer-singer'
      ? new CrammerSingerBlocks(
          { arena, store },
          perClass.problems[0],
          weightCount,
          crammerSingerSettings(perClass, options.bias),
          plan.slotRows,
        )
      : undefined
  // One problem's memory serves all of them in turn.
  const lanes = together ? lanesOf(together.models) : 1
  const each = { perFeature: lanes, perRow: (alphaStride(options) / 8) * lanes }
  const problem = joint ?? new BlockProblem({ arena, store }, problems[0], weightCount, solver.dual, each)
  const groups: ClassProblem[] = together ? inGroups(problems, together.models).map(asOne) : problems
  const states = groups.map(settings => checkpointsOf(problem, settings, store, options).folder)
  await using _locks = await lockStates(store.folder, states)
  const besidesWeights = arena.mark()
  const engine = new BlockEngine(
    arena,
    store,
    plan,
    !solver.dual ? 0 : joint ? problem.alphaStride : alphaStride(options) * Math.min(lanes, BUNDLE_LANES),
    solver.severalTrainers ? options.trainers : 1,
    readers,
  )
  try {
    const factors = await prepareRows(engine, options, rows, map)
    const lent = rows.expanded !== undefined && K === 1
    // One vector is taken as it is: with many weights, a second copy is more than the plan has room for.
    let weights: Float64Array = new Float64Array(K === 1 || joint ? 0 : weightCount * K)
    let biasWeights: Float64Array = new Float64Array(K)
    const solutions: Solution[] = []
    const put = (k: number, w: Float64Array): void => {
      if (K === 1) weights = w.subarray(0, weightCount)
      else for (let j = 0; j < weightCount; j++) weights[j * K + k] = w[j]
      biasWeights[k] = w[weightCount]
    }
    if (together) {
      for (let from = 0; from < K; from += together.models) {
        const some = problems.slice(from, from + together.models)
        const many = forManyModels(solver, { problems: some, features: weightCount, tolerance: options.tolerance })
        problem.startOver(some[0])
        const solution = await solveOne(
          engine,
          many.solver,
          problem,
          asOne(some),
          store,
          options,
          ({ pass, gap }) => {
            const models = { done: from + many.run().modelsDone(), all: K }
            tell({ stage: 'train', seconds: seconds(), pass, gap, certified: false, models })
          },
          reason => from === 0 && tell({ stage: 'plan', solver: solver.name, reason }),
          undefined,
        )
        solutions.push(...(solution.models ?? some.map(() => solution)))
        for (const k of some.keys()) {
          const w = many.run().copyWeights(k)
          shorten(w, solutions[from + k])
          put(from + k, w)
        }
      }
    } else if (!options.resume) {
      // Of all classes at once: whoever resumes this run later must not meet what an earlier one has left.
      for (const settings of problems) await checkpointsOf(problem, settings, store, options).clearFinished()
    }
    for (const [k, settings] of together ? [] : problems.entries()) {
      problem.startOver(settings)
      const solution = await solveOne(
        engine,
        solver,
        problem,
        settings,
        store,
        options,
        progress =>
          tell({ stage: 'train', seconds: seconds(), ...progress, problem: k + 1, problems: problems.length }),
        // Of several classes each says the same, or nearly.
        reason => k === 0 && tell({ stage: 'plan', solver: solver.name, reason }),
        first && K === 1 ? { pass: first, map } : undefined,
      )
      solutions.push(solution)
      if (joint) {
        ;({ weights, biasWeights } = joint.copyAll())
        shorten(weights, solution)
        shorten(biasWeights, solution)
        continue
      }
      if (lent) {
        // The state of the run is on the disk by now.
        shorten(problem.weightsInPlace(), solution)
        biasWeights[k] = problem.biasWeight()
        continue
      }
      const w = problem.copyWeights()
      shorten(w, solution)
      put(k, w)
    }
    const features = map && !lent ? featuresOf(arena, map, weightCount / rows.width) : undefined
    const byFeature = (values: Float64Array) =>
      features ? { layout: 'sparse' as const, indices: features, values } : values
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
        : inSpace(byFeature(weights), rows.width),
      biasWeights,
      factors: factors && byFeature(factors),
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

/** Gives up what was learnt while the text was read: a few huge blocks need its room. */
async function forget(first: FirstPass, arena: Arena, store: Store): Promise<void> {
  arena.release(first.region.at)
  await removeFile(join(store.folder, UNSAVED_MARKER))
}

/** Pieces that a pass reads. */
function piecesOf(plan: MemoryPlan): number {
  return groupsOf(
    plan,
    plan.costs.map((_, k) => k),
  ).length
}

/** So many problems at a time. */
function inGroups<T>(problems: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(problems.length / size) }, (_, k) => problems.slice(k * size, (k + 1) * size))
}

/** Many problems under one name, for their states. */
function asOne(problems: ClassProblem[]): ClassProblem {
  const text = problems.map(({ label, costPositive }) => `${label.text}:${costPositive}`).join(' ')
  return { ...problems[0], label: { text } }
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
    // States of version 0.1.0, whose scaled values were rounded to f32, are those of another problem.
    ...(options.scale && { scaled: 'f64' }),
    weights: options.weights,
    ...(problem.together && {
      multiclass: options.multiclass,
      labels: manifest.labels.filter(label => label.rows > 0).map(label => label.text),
      cost: options.cost,
      classWeights: options.classWeights,
    }),
    ...(options.expand !== undefined && { expand: options.expand }),
    ...(options.space && { space: spaceText(options.space) }),
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
  const fresh = freshState(course, manifest.fingerprint)
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
    const done = found.done as Solution | undefined
    if (done?.exitReason === 'converged' && reaches(done, found, options)) return done
    // A run that was stopped by its own limits may go on under wider ones.
    delete found.done
    await driver.restore(found)
  } else await checkpoints.clear()
  if (first && !found) {
    await driver.startFrom(first.pass, first.map)
    // From here on a run that is killed resumes; before, it makes the store anew, and so ends in the same model.
    await removeFile(join(store.folder, UNSAVED_MARKER))
  }
  const solution = await driver.solve()
  await driver.close(solution)
  return solution
}

/** The state of a run that has not begun. */
export function freshState(settings: RunState['settings'], fingerprint: string): RunState {
  return {
    settings,
    fingerprint,
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
}

/** Whether a finished run is as close to the optimum as is asked for now. */
function reaches(done: Solution, state: RunState, { tolerance, gradientTolerance }: ResolvedOptions): boolean {
  if (gradientTolerance !== undefined) return state.spread <= gradientTolerance
  const gap = done.certificate?.gap
  return typeof gap === 'number' && gap <= tolerance
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
