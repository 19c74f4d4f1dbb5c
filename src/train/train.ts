// `train`: data in, model out. Chooses the solver, has it run, and puts the model together; it never prints.

import { spaceText, widthOf } from '../additive-kernels/row-space.ts'
import { UsageError } from '../errors.ts'
import type { LabelCount } from '../input-formats/label-numbers.ts'
import { findLoss } from '../losses/all-losses.ts'
import type { Calibration } from '../model/calibration.ts'
import { type Certificate as ModelCertificate, makeModel } from '../model/model.ts'
import type { Shortfall } from '../model/shortfall.ts'
import type { ExitReason } from '../optimise/driver/driver.ts'
import type { BundledProblem } from '../optimise/objectives/bundle.ts'
import { findSolver } from '../optimise/solvers/all-solvers.ts'
import { block } from '../optimise/solvers/block.ts'
import { checkCompatible, underLimits } from '../optimise/solvers/solver.ts'
import { version } from '../version.ts'
import { chooseSolver } from './choose-solver.ts'
import { asModelCertificate, classProblems, sumOf } from './class-problems.ts'
import { trainFoldsOverBlocks } from './folds-over-blocks.ts'
import { DEFAULTS, type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import type { TrainingOutcome } from './outcome.ts'
import type { ProgressListener } from './progress.ts'
import { heedBinsOfStore } from './store-for-training.ts'
import { trainFromBlocks } from './train-from-blocks.ts'
import { CALIBRATION_FOLDS, calibrationOf, trainInMemory } from './train-in-memory.ts'
import { TrainingRun, type TrainResult } from './training-run.ts'

/** Trains on one or more files, or on a store. Starts at once; options are checked before anything is read. */
export function train(data: string | string[], options: TrainOptions = {}): TrainingRun {
  const resolved = resolveOptions(options)
  const paths = typeof data === 'string' ? [data] : data
  if (paths.length === 0) throw new UsageError('no data was named')
  const loss = findLoss(resolved.loss)
  if (resolved.solver !== 'auto') findSolver(resolved.solver)
  return new TrainingRun(async tell => {
    const started = performance.now()
    const roundedToBins = await heedBinsOfStore(paths, resolved, tell)
    const { solver, reason } = await chooseSolver(paths, resolved)
    checkCompatible(solver, loss, { ...resolved })
    const limited = underLimits(solver, resolved)
    tell({ stage: 'plan', solver: solver.name, reason })
    checkCalibration(limited)
    const outcome =
      solver.data === 'memory'
        ? await trainInMemory(paths, solver, limited, tell)
        : await trainFromBlocks(paths, solver, limited, tell)
    if (limited.calibrate && outcome.blocks) await addCalibrations(outcome, outcome.blocks.store, limited, tell)
    const result = asResult(outcome, limited, (performance.now() - started) / 1000)
    return roundedToBins > 0 ? { ...result, roundedToBins } : result
  })
}

function checkCalibration({ calibrate, loss, weights, multiclass, regularizer }: ResolvedOptions): void {
  if (calibrate === undefined) return
  if (multiclass === 'crammer-singer')
    throw new UsageError('calibrate is for models of one class against the rest, not for multiclass crammer-singer')
  if (regularizer === 'l1') throw new UsageError('calibrate is not compatible with the l1 regularizer')
  if (findLoss(loss).entropicDual)
    throw new UsageError(`calibrate would be ignored: scores of the ${loss} loss are probabilities as they are`)
  if (weights === 'f32') throw new UsageError('calibrate needs weights in f64')
}

/** Without calibrations a model is not what was asked for: the run is an interrupted one then. */
async function addCalibrations(
  outcome: TrainingOutcome,
  store: string,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<void> {
  try {
    outcome.calibrations = await calibrateOverBlocks(store, options, tell)
  } catch (error) {
    if (!options.signal?.aborted) throw error
    outcome.solutions = outcome.solutions.map(solution => ({ ...solution, exitReason: 'interrupted' }))
  }
}

/** Calibrations of a store: models of folds are trained together, over its blocks. */
async function calibrateOverBlocks(
  store: string,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<Calibration[]> {
  const problemsOf = (labels: LabelCount[]): BundledProblem[] =>
    classProblems(labels, findLoss(options.loss), options).problems
  const { labels, classes, scores } = await trainFoldsOverBlocks(
    [store],
    block,
    // What was said about text has been done.
    {
      ...options,
      given: new Set(),
      innerPasses: DEFAULTS.innerPasses,
      store: undefined,
      blocks: undefined,
      resume: false,
    },
    CALIBRATION_FOLDS,
    labels =>
      Array.from({ length: CALIBRATION_FOLDS }, (_, heldOut) =>
        problemsOf(labels).map((problem, column) => ({ ...problem, heldOut, column })),
      ).flat(),
    tell,
  )
  return problemsOf(labels).map(({ positive }, k) => calibrationOf(options, scores[k], classes, positive))
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
export function asResult(outcome: TrainingOutcome, options: ResolvedOptions, seconds: number): TrainResult {
  const { data, labels, solutions } = outcome
  const certificate = sumOf(solutions)
  const shortfall = shortfallOf(outcome, certificate, options)
  const model = makeModel({
    labels: labels.map(({ value, text }) => ({ value, text })),
    multiclass: options.multiclass,
    features: data.features * (options.space ? widthOf(options.space) : 1),
    weights: outcome.weights,
    ownsWeights: true,
    bias: options.bias,
    biasWeights: options.bias === 0 ? new Float64Array(0) : outcome.biasWeights,
    ...(data.format !== 'libsvm' && { inputFormat: data.format }),
    ...(data.valueBits === 64 && { values: 'f64' }),
    indexBase: data.indexBase === 0 ? 0 : 1,
    loss: options.loss,
    regularizer: options.regularizer,
    cost: options.cost,
    solver: outcome.solver,
    seed: options.seed,
    classWeights: Object.entries(options.classWeights).map(([label, weight]) => ({ label, weight })),
    transforms: {
      ...(options.expand !== undefined && {
        expand: { steps: options.expand, ...(data.names && { names: data.names }) },
      }),
      ...(options.space && { expand: { steps: spaceText(options.space) } }),
      ...(options.normalize && { normalize: options.normalize }),
      ...(options.scale &&
        outcome.factors &&
        (options.space ? { ranges: outcome.factors } : { scale: { kind: options.scale, factors: outcome.factors } })),
    },
    ...(outcome.calibrations && { calibrations: outcome.calibrations }),
    certificate,
    classCertificates: solutions.length > 1 ? solutions.map(asModelCertificate) : [],
    data: {
      fingerprint: data.fingerprint,
      rows: data.rows,
      nonzeros: data.nonzeros,
      sources: data.sources.map(({ name }) => name),
    },
    ...(shortfall && { shortfall }),
    createdBy: `spillway ${version}`,
  })
  return {
    model,
    solver: outcome.solver,
    loss: options.loss,
    cost: options.cost,
    rows: data.rows,
    features: data.features,
    nonzeros: data.nonzeros,
    classes: labels.length,
    passes: certificate.passes,
    primal: certificate.primal,
    dual: certificate.dual,
    gap: certificate.gap,
    supportVectors: certificate.supportVectors,
    seconds: { total: seconds, read: outcome.readSeconds, compute: seconds - outcome.readSeconds, write: 0 },
    bytesRead: outcome.bytesRead,
    peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
    exitReason: certificate.exitReason as ExitReason,
    trainingAccuracy: solutions.length === 1 ? (solutions[0].certificate?.trainingAccuracy ?? null) : null,
    badRows: outcome.badRows,
    badRowMessages: outcome.badRowMessages,
    ...(outcome.blocks && { blocks: outcome.blocks }),
  }
}
