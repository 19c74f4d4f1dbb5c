// `train`: data in, model out. Chooses the solver, has it run, and puts the model together; it never prints.

import { spaceText, widthOf } from '../additive-kernels/row-space.ts'
import { usualInputFormat } from '../input-formats/all-input-formats.ts'
import type { DataFor, LabelledRow } from '../input-formats/given-rows.ts'
import { findLoss } from '../losses/all-losses.ts'
import { trainsTogether } from '../losses/formulations.ts'
import { type Model, type Certificate as ModelCertificate, makeModel } from '../model/model.ts'
import type { Shortfall } from '../model/shortfall.ts'
import type { AllClassesObjective } from '../optimise/objectives/all-classes.ts'
import { shorten } from '../optimise/objectives/line-search.ts'
import type { ExitReason, Solution } from '../optimise/objectives/solution.ts'
import { askedSolver, findSolver } from '../optimise/solvers/all-solvers.ts'
import { checkCompatible, underLimits } from '../optimise/solvers/compatibility.ts'
import { dual } from '../optimise/solvers/dual.ts'
import { type BlockSolver, type MemorySolver, trainsMany } from '../optimise/solvers/solver.ts'
import { labelledRows } from '../rows/folds.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import { version } from '../version.ts'
import {
  calibrateOverBlocks,
  calibrationsOf,
  checkCalibration,
  modelsToCalibrate,
  refuseTooLittleToCalibrate,
} from './calibrate.ts'
import { ChangeOver } from './change-over.ts'
import { chooseSolver } from './choose-solver.ts'
import { allClassesSettings, asModelCertificate, type ClassProblems, classProblems, sumOf } from './class-problems.ts'
import { dataOfRun, withPaths } from './data-of-run.ts'
import { heedTable } from './heed-table.ts'
import { HeldOut } from './held-out.ts'
import { InBlocks, type OpenedStore, openBlocks } from './in-blocks.ts'
import { InMemory } from './in-memory.ts'
import { checkNames, giveNames } from './keep-names.ts'
import { type LoadedRows, withRowsInMemory } from './load-in-memory.ts'
import { DEFAULTS, type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import type { TrainingOutcome } from './outcome.ts'
import { type Place, type Taker, trainModels, type Wanted } from './place.ts'
import type { ProgressListener } from './progress.ts'
import { refuseManyFeatures } from './refuse-many-features.ts'
import { forgetFirstPass, heedBinsOfStore } from './store-for-training.ts'
import { TestsOnTheWay } from './tests-on-the-way.ts'
import { TrainingRun, type TrainResult } from './training-run.ts'

/** Trains on one or more files, on a store, or on rows. Starts at once; options are checked before anything is read. */
export function train(data: DataFor<LabelledRow>, options: TrainOptions = {}): TrainingRun {
  const resolved = resolveOptions(options)
  const from = dataOfRun(data, resolved)
  findLoss(resolved.loss)
  askedSolver(resolved.solver)
  return new TrainingRun(told => {
    const started = performance.now()
    const tell = withTests(resolved, told)
    return withPaths(from, resolved, tell, paths => trainPaths(paths, resolved, tell, started))
  })
}

/** Has the model tested on the way, where there is a tester. */
function withTests(options: ResolvedOptions, tell: ProgressListener): ProgressListener {
  if (!options.tester) return tell
  const watcher = new TestsOnTheWay(options.tester, options)
  options.watcher = watcher
  return progress => {
    watcher.hear(progress)
    tell(progress)
  }
}

async function trainPaths(
  paths: string[],
  resolved: ResolvedOptions,
  tell: ProgressListener,
  started: number,
): Promise<TrainResult> {
  await heedTable(paths, resolved, tell)
  await checkNames(paths, resolved)
  const roundedToBins = await heedBinsOfStore(paths, resolved, tell)
  const { solver, reason, fitsInMemory } = await chooseSolver(paths, resolved)
  checkCompatible(solver, findLoss(resolved.loss), { ...resolved })
  await refuseManyFeatures(paths, solver, resolved)
  const limited = { ...underLimits(solver, resolved), fitsInMemory }
  tell({ stage: 'plan', solver: solver.name, reason })
  checkCalibration(limited)
  const outcome =
    solver.data === 'memory'
      ? await withRowsInMemory(paths, limited, tell, rows => trainInMemory(rows, solver, limited))
      : await trainFromBlocks(paths, solver, limited, tell)
  const result = {
    ...asResult(outcome, limited, (performance.now() - started) / 1000),
    solverReason: outcome.solverReason ?? reason,
  }
  if (result.exitReason !== 'interrupted') await giveNames(paths, result.model, limited)
  return roundedToBins > 0 ? { ...result, roundedToBins } : result
}

/** The models of a data set. `numbers`: of its classes, those without rows among them. */
function wantedModels(classes: ClassProblems, numbers: number, options: ResolvedOptions): Wanted {
  const { multiclass } = options
  if (!trainsTogether(multiclass)) return { problems: classes.problems }
  return { problems: classes.problems, allClasses: allClassesSettings(multiclass, classes, numbers) }
}

/** Models as they are ready, put together for one model file: weights of a feature side by side, w[j·K + k]. */
class CollectedModels implements Taker {
  readonly solutions: Solution[] = []
  weights: Float64Array
  biasWeights: Float64Array
  readonly #place: Place

  /** `vectors`: models that are kept; those of folds, which come behind them, are scored only. */
  constructor(place: Place, vectors: number) {
    this.#place = place
    // One vector is taken as it is: with many weights, a second copy is more than the plan has room for.
    this.weights = new Float64Array(vectors === 1 ? 0 : vectors * place.facts.weights)
    this.biasWeights = new Float64Array(vectors)
  }

  take(model: number, solution: Solution, copy: () => Float64Array): void {
    const K = this.biasWeights.length
    if (model >= K) return
    this.solutions[model] = solution
    const { facts, lend } = this.#place
    const { weights: count } = facts
    if (lend) {
      this.biasWeights[model] = lend(solution)
      return
    }
    const own = copy()
    shorten(own, solution)
    if (K === 1) this.weights = own.subarray(0, count)
    else for (let j = 0; j < count; j++) this.weights[j * K + model] = own[j]
    this.biasWeights[model] = own[count]
  }

  takeAll(solution: Solution, objective: AllClassesObjective): void {
    this.solutions.push(solution)
    Object.assign(this, objective.copyAll())
    shorten(this.weights, solution)
    shorten(this.biasWeights, solution)
  }
}

/** Trains the models of a place, those of its classes first. */
async function trainPlace(place: Place, { labels, problems }: ClassProblems, held?: HeldOut): Promise<TrainingOutcome> {
  const { wanted, options } = place.facts
  const vectors = wanted.allClasses?.classes.length ?? problems.length
  const outcomeOf = ({ weights, biasWeights, solutions }: CollectedModels): TrainingOutcome => {
    const { method: solver, methodReason: solverReason } = place
    const outcome = { ...place.outcome(vectors, weights), labels, biasWeights, solver, solutions }
    return solverReason === undefined ? outcome : { ...outcome, solverReason }
  }
  const makeModel = (give: (taker: Taker) => void): Model => {
    const models = new CollectedModels(place, vectors)
    give(models)
    return modelOf(outcomeOf(models), options, sumOf(models.solutions))
  }
  options.watcher?.begin({ place, vectors, makeModel })
  const models = new CollectedModels(place, vectors)
  await trainModels(place, models, held)
  options.watcher?.end()
  return outcomeOf(models)
}

/** Trains the models of rows in memory. */
export async function trainInMemory(
  loaded: LoadedRows,
  solver: MemorySolver,
  options: ResolvedOptions,
): Promise<TrainingOutcome> {
  const { arena, rows } = loaded
  const classes = classProblems(rows.labels, options)
  const wanted = wantedModels(classes, rows.labels.length, options)
  if (!options.calibrate) return trainPlace(new InMemory(loaded, solver, options, wanted), classes)
  const { problems, folds } = modelsToCalibrate(classes.problems)
  const held = new HeldOut(arena, labelledRows(arena, rows), { problems, folds, seed: options.seed })
  if (!trainsMany(solver)) {
    // Models of folds are trained together, by a solver that can.
    const outcome = await trainPlace(new InMemory(loaded, solver, options, wanted), classes)
    const maxPasses = options.given.has('maxPasses') ? options.maxPasses : DEFAULTS.maxPasses
    await held.train(new InMemory(loaded, dual, { ...options, maxPasses }, { ...wanted, problems, together: true }))
    return { ...outcome, calibrations: await calibrationsOf(held, classes.problems, options) }
  }
  const all = { ...wanted, problems: [...wanted.problems, ...problems], together: true }
  const outcome = await trainPlace(new InMemory(loaded, solver, options, all), classes, held)
  return { ...outcome, calibrations: await calibrationsOf(held, classes.problems, options) }
}

/** The same from the blocks of a store, which is made of text if need be. */
async function trainFromBlocks(
  paths: string[],
  asked: BlockSolver,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<TrainingOutcome> {
  const open = async (): Promise<OpenedStore> => {
    const opened = await openBlocks(paths, asked, options, tell)
    if (!options.calibrate) return opened
    await refuseTooLittleToCalibrate(opened.found.store, asked, options).catch(async (error: unknown) => {
      await forgetFirstPass(opened.found)
      throw error
    })
    return opened
  }
  const outcome = await trainOpened(await open())
  if (!options.calibrate) return outcome
  // Models of folds have a memory of their own, of the same size: that of the run must not be there as well.
  if (options.memory !== undefined) collectGarbage()
  try {
    return { ...outcome, calibrations: await calibrateOverBlocks(outcome.blocks!.store, asked, options, tell) }
  } catch (error) {
    if (!options.signal?.aborted) throw error
    // Without calibrations a model is not what was asked for: the run is an interrupted one then.
    return { ...outcome, solutions: outcome.solutions.map(solution => ({ ...solution, exitReason: 'interrupted' })) }
  }
}

async function trainOpened(opened: OpenedStore): Promise<TrainingOutcome> {
  const { found, options } = opened
  const { labels } = found.store.manifest
  const classes = classProblems(labels, options)
  return await trainInBlocks(opened, wantedModels(classes, labels.length, options), classes)
}

/** Trains over blocks. A solver that stalls may give its room up for another one. */
async function trainInBlocks(opened: OpenedStore, wanted: Wanted, classes: ClassProblems): Promise<TrainingOutcome> {
  let next: OpenedStore
  {
    await using place = await InBlocks.open(opened, wanted)
    try {
      return await trainPlace(place, classes)
    } catch (error) {
      if (!(error instanceof ChangeOver)) throw error
      next = place.reopened(error)
    }
  }
  next.arena.release(next.empty)
  return await trainInBlocks(next, wanted, classes)
}

/** What the model of a run that ended short says about that. */
function shortfallOf(
  { solver, solutions, blocks }: TrainingOutcome,
  { exitReason, primal }: ModelCertificate,
  { tolerance }: ResolvedOptions,
): Shortfall | undefined {
  const ends = solutions.flatMap(({ short, certificate }) => {
    const close = typeof certificate?.gap === 'number' && certificate.gap <= tolerance
    return short && !close ? [short] : []
  })
  if (ends.length === 0 && exitReason !== 'interrupted') return undefined
  const knowsTolerance = findSolver(solver).options.includes('tolerance')
  const range = (pairs: ([number, number] | null)[]): [number, number] | null => {
    const known = pairs.filter(pair => pair?.every(Number.isFinite)) as [number, number][]
    if (known.length === 0) return null
    return [Math.min(...known.map(([least]) => least)), Math.max(...known.map(([, most]) => most))]
  }
  // Of problems that reached their aim it is not known what weights of 0 would cost.
  const known = primal !== null && ends.length === solutions.length
  return {
    tolerance: knowsTolerance ? tolerance : null,
    atZero: known ? ends.reduce((sum, { atZero }) => sum + atZero, 0) : null,
    factors: solutions.map(({ short }) => short?.factor ?? 1),
    values: range(ends.map(({ values }) => values)),
    lengths: range(ends.map(({ lengths }) => lengths)),
    resumable: blocks !== undefined,
  }
}

/** What a run gives, with its model put together. */
export function asResult(outcome: TrainingOutcome, options: ResolvedOptions, total: number): TrainResult {
  const { data, labels, solutions, solver, readSeconds: read, bytesRead, badRows, badRowMessages, blocks } = outcome
  const { start = { start: 'cold' } } = outcome
  const { rows, features, nonzeros } = data
  const { loss, cost } = options
  const tests = options.watcher?.seconds ?? 0
  const certificate = sumOf(solutions)
  const { passes, primal, dual, gap, supportVectors, outliers, relaxations } = certificate
  return {
    model: modelOf(outcome, options, certificate),
    ...{ solver, loss, cost, rows, features, nonzeros, classes: labels.length },
    ...{ passes, primal, dual, gap, supportVectors },
    ...outlierMarginOf(options),
    ...(outliers !== undefined && relaxations !== undefined && { outliers, relaxations }),
    seconds: { total, read, compute: total - read - tests, write: 0, ...(tests > 0 && { tests }) },
    bytesRead,
    peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
    exitReason: certificate.exitReason as ExitReason,
    ...start,
    trainingAccuracy: solutions.length === 1 ? (solutions[0].certificate?.trainingAccuracy ?? null) : null,
    ...{ badRows, badRowMessages, ...(blocks && { blocks }) },
  }
}

/** Of a truncated loss: s. */
function outlierMarginOf({ loss, outlierMargin }: ResolvedOptions): { outlierMargin?: number } {
  return findLoss(loss).truncates ? { outlierMargin } : {}
}

function modelOf(outcome: TrainingOutcome, options: ResolvedOptions, certificate: ModelCertificate): Model {
  const { data, labels, solutions, solver, weights, calibrations, biasWeights } = outcome
  const { fingerprint, rows, nonzeros } = data
  const { multiclass, loss, regularizer, cost, seed, bias, space } = options
  const shortfall = shortfallOf(outcome, certificate, options)
  return makeModel({
    labels: labels.map(({ value, text }) => ({ value, text })),
    multiclass,
    features: data.features * (space ? widthOf(space) : 1),
    ...{ weights, ownsWeights: true, bias, biasWeights: bias === 0 ? new Float64Array(0) : biasWeights },
    ...(data.format !== usualInputFormat.name && { inputFormat: data.format }),
    ...(data.valueBits === 64 && { values: 'f64' }),
    ...(options.schema && { schema: options.schema }),
    indexBase: data.indexBase === 0 ? 0 : 1,
    ...{ loss, ...outlierMarginOf(options), regularizer, cost, solver, seed },
    classWeights: Object.entries(options.classWeights).map(([label, weight]) => ({ label, weight })),
    transforms: transformsOf(outcome, options),
    ...(calibrations && { calibrations }),
    certificate,
    classCertificates: solutions.length > 1 ? solutions.map(asModelCertificate) : [],
    data: {
      ...{ fingerprint, rows, nonzeros, sources: data.sources.map(({ name }) => name) },
      ...(outcome.blocks?.index && { rowsTouched: outcome.blocks.index.rowsTouched }),
    },
    ...(shortfall && { shortfall }),
    createdBy: `spillway ${version}`,
  })
}

/** What was made of rows before they were trained on. */
function transformsOf(
  { data: { names }, factors }: TrainingOutcome,
  { expand, space, normalize, scale }: ResolvedOptions,
): Parameters<typeof makeModel>[0]['transforms'] {
  return {
    ...(expand !== undefined && { expand: { steps: expand, ...(names && { names }) } }),
    ...(space && { expand: { steps: spaceText(space) } }),
    ...(normalize && { normalize }),
    ...(scale && factors && (space ? { ranges: factors } : { scale: { kind: scale, factors } })),
  }
}
