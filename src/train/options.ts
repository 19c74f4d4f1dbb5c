// What `train` can be told, with its defaults and their limits: one list for the library and the command line.

import { type Approximation, type NodeKind, type RowSpace, spaceWith } from '../additive-kernels/row-space.ts'
import { UsageError } from '../errors.ts'
import { parseExpansion } from '../features/expansion-steps.ts'
import { type ScaleKind, scaleKinds } from '../features/scale-kinds.ts'
import { formatChoices } from '../input-formats/all-input-formats.ts'
import { type LabelKey, labelKey, labelOf } from '../input-formats/labels.ts'
import { allLosses } from '../losses/all-losses.ts'
import {
  beyondBinary,
  type MulticlassKind,
  multiclassNames,
  type Regularizer,
  regularizerNames,
} from '../losses/formulations.ts'
import { OUTLIER_MARGIN } from '../losses/loss.ts'
import { scarceMemory } from '../machine-memory.ts'
import { type CalibrationKind, calibrationKinds } from '../model/calibration.ts'
import { type IndexMethod, indexMethods } from '../optimise/solvers/solver.ts'
import { alone, type Communicator } from '../ranks/communicator.ts'
import type { ExpansionOptions } from '../rows/parse-rows-task.ts'
import { parseMemory } from '../sizes.ts'
import type { Schema } from '../tables/schema.ts'
import { categoriesOf, type TableOptions, tableOptionNames } from '../tables/table-options.ts'
import type { Tester, TestsOnTheWay } from './tests-on-the-way.ts'

export interface TrainOptions extends TableOptions {
  /** `hinge` when not said, and `logistic` under multiclass softmax. */
  loss?: string
  /** `l2` for ½‖w‖², `l1` for ‖w‖₁, which leaves few weights that are not zero. */
  regularizer?: Regularizer
  /** C in ½‖w‖² + C Σ loss. */
  cost?: number
  /** s of a truncated loss: a row costs at most 1 + s, and is an outlier where its loss would be more. */
  outlierMargin?: number
  /** What a truncated loss starts from: the convex solution of 10,000 rows, or that of all. */
  outlierStart?: 'sample' | 'full'
  solver?: string
  /** How more than two classes are told apart: each from the rest, or all at once. */
  multiclass?: MulticlassKind
  /** Value of a feature added to every row; none at 0 or below, as in LIBLINEAR. */
  bias?: number
  /** Cost multipliers by label as the user writes it. */
  classWeights?: Record<string, number>
  /** What the cost of each row is multiplied by, for the rows in the order of the text: numbers above 0. */
  rowWeights?: readonly number[] | Float64Array
  /** Relative duality gap to reach. */
  tolerance?: number
  maxPasses?: number
  seed?: number
  shrinking?: boolean
  normalize?: 'unit'
  /** `none` for tables, whose numbers are scaled unless something else is said. */
  scale?: ScaleKind | 'none'
  /** An additive kernel, e.g. `chi2`; `linear` for none. */
  kernel?: string
  /** Of an additive kernel: what stands for it, of what degree and by which nodes (else its own), and the bins that values fall into. */
  approximation?: Approximation
  degree?: number
  nodes?: NodeKind
  bins?: number
  /** Features made of each row as it is decoded, e.g. `weighted-degree:8` or `polynomial:2+hash:22`. */
  expand?: string
  /** Keep in the model which features there were before they were hashed, or the names of those that the data hashes. */
  keepNames?: boolean
  /** Precision of the weights during training. */
  weights?: 'f64' | 'f32'
  /** Precision in which values are kept. */
  values?: 'f32' | 'f64'
  /** What the text is: the name of an input format, or `auto`. */
  format?: string
  /** Of an array or a matrix: the file of its labels. */
  labels?: string
  indexBase?: 0 | 1
  onBadRow?: 'fail' | 'skip'
  /** Threads for parsing and certifying, all cores when not given; when given, solver `stream` has as many trainers. */
  threads?: number
  /** Threads that train one model at the same time, with solver `dual` or `stream`. The bits of the result then vary. */
  trainers?: number
  /** Bytes of memory that the run may take, Node and all, or a text such as 512M; most of what the machine has when not
   *  given. */
  memory?: number | string
  /** Folder of the store that text is read into when it does not fit in memory. */
  store?: string
  /** Go on from the last checkpoint. */
  resume?: boolean
  /** Start from zero even when rows were added to a trained store or removed, whose dual variables could be used. */
  cold?: boolean
  /** Seconds between two checkpoints. */
  checkpointSeconds?: number
  /** Number of blocks that text is drawn into. */
  blocks?: number
  /** Sweeps over a block each time it is in memory. */
  innerPasses?: number
  /** Or sweeps until the projected gradients of a block lie within so much of each other. */
  innerTolerance?: number
  /** Stop when the projected gradients met in a round lie within so much of each other, whatever the gap. */
  gradientTolerance?: number
  blockOrder?: 'random' | 'fixed'
  /** Of solver indexed: how much of the index is searched before it is taken for granted that no row is missing. */
  indexStop?: 'sampled' | 'exact'
  /** Of solver indexed: end when about so many rows, or fewer, are missing that would still move the model, whatever the gap. */
  indexLeft?: number
  /** Of solver indexed: how the rows that the index gave are trained on, by coordinate descent on the dual or, for losses with a
   *  second derivative, by second-order steps on the primal. */
  indexMethod?: IndexMethod
  /** What a primal method takes for one step. */
  batch?: 'block' | 'row'
  /** How scores become probabilities, fitted on rows that were held out. */
  calibrate?: CalibrationKind
  /** Processes that train together, each on its part of the rows; `alone` when not said. */
  ranks?: Communicator
  signal?: AbortSignal
  /** Tests the model of the moment at ends of passes, now and then. */
  tester?: Tester
}

type Optional = Exclude<keyof TrainOptions, keyof typeof DEFAULTS>

export type ResolvedOptions = Required<Omit<TrainOptions, Optional>> &
  Pick<TrainOptions, Exclude<Optional, 'memory' | 'trainers' | 'scale'>> & {
    scale?: ScaleKind | undefined
    /** Of a table. */
    schema?: Schema | undefined
    memory: number | undefined
    trainers: number
    /** What an additive kernel makes of rows. */
    space: RowSpace | undefined
    /** Of a run over blocks that would fit in memory, too: the bytes that it would take there. */
    fitsInMemory?: number | undefined
    /** Where there is a tester. */
    watcher?: TestsOnTheWay | undefined
    given: ReadonlySet<string>
  }

export const DEFAULTS = {
  loss: 'hinge',
  regularizer: 'l2',
  cost: 1,
  outlierMargin: OUTLIER_MARGIN,
  outlierStart: 'sample',
  solver: 'auto',
  multiclass: 'one-vs-rest',
  bias: 0,
  classWeights: {},
  tolerance: 1e-3,
  maxPasses: 1000,
  seed: 1,
  shrinking: true,
  weights: 'f64',
  values: 'f32',
  keepNames: false,
  kernel: 'linear',
  approximation: 'projection',
  bins: 1000,
  format: 'auto',
  onBadRow: 'fail',
  resume: false,
  cold: false,
  checkpointSeconds: 10,
  innerPasses: 4,
  blockOrder: 'random',
  batch: 'row',
  ranks: alone,
} as const

/** Passes over the data at most, when the user does not say how many, where one convex problem follows another. */
const PASSES_OF_SERIES = 10_000

/** Fills in defaults and refuses what cannot be: what, got, expected. */
export function resolveOptions(given: TrainOptions): ResolvedOptions {
  for (const key of Object.keys(given)) {
    if (![DEFAULTS, LIMITS, choices(), OTHERS].some(known => Object.hasOwn(known, key))) {
      throw new UsageError(`there is no training option "${key}"`)
    }
  }
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const options = { ...DEFAULTS, ...said, given: new Set(Object.keys(said)) } as unknown as ResolvedOptions
  // Several trainers give another result every time: a run has them only when they were asked for. A rank has one.
  const trainers = options.ranks.size > 1 ? 1 : (options.threads ?? 1)
  options.trainers = said['trainers'] === undefined ? trainers : (said['trainers'] as number)
  if (typeof said['memory'] === 'string') options.memory = parseMemory(said['memory'], 'memory')
  // Where there is little memory, a run is planned as if that had been named.
  options.memory ??= scarceMemory()
  checkEach(options)
  if (said['scale'] === 'none') options.scale = undefined
  categoriesOf(options)
  // A problem of all classes has one loss.
  const ofAllClasses = allLosses.find(({ allClasses }) => allClasses === options.multiclass)
  if (ofAllClasses && said['loss'] === undefined) options.loss = ofAllClasses.name
  // A truncated loss is a series of convex problems.
  const isSeries = allLosses.some(({ name, truncates }) => name === options.loss && truncates)
  if (isSeries && said['maxPasses'] === undefined) options.maxPasses = PASSES_OF_SERIES
  options.bias = Math.max(0, options.bias)
  if (options.expand !== undefined) options.expand = parseExpansion(options.expand).text
  checkExpansion(options)
  options.space = spaceFor(options)
  if (options.resume && options.cold) throw new UsageError('a run either resumes or starts cold, not both')
  checkOutlierOptions(options)
  checkClassWeights(options.classWeights)
  checkRowWeights(options.rowWeights)
  return options
}

const whole = (value: number, most = Number.POSITIVE_INFINITY): boolean =>
  Number.isInteger(value) && value >= 1 && value <= most
const positive = (value: number): boolean => value > 0

const LIMITS: Partial<Record<keyof TrainOptions, [expected: string, fits: (value: number) => boolean]>> = {
  cost: ['a number above 0', positive],
  outlierMargin: ['a number of at least 0', value => value >= 0],
  bias: ['a finite number', () => true],
  tolerance: ['a number above 0 and below 1', value => value > 0 && value < 1],
  maxPasses: ['a whole number of at least 1', value => whole(value)],
  seed: ['a whole number from 0 to 2^53 − 1', value => Number.isSafeInteger(value) && value >= 0],
  memory: ['a number of bytes, or a size such as 512M', value => value >= 1],
  checkpointSeconds: ['a number of at least 0', value => value >= 0],
  blocks: ['a whole number from 1 to 100000', value => whole(value, 1e5)],
  innerPasses: ['a whole number of at least 1', value => whole(value)],
  innerTolerance: ['a number above 0', positive],
  gradientTolerance: ['a number above 0', positive],
  indexLeft: ['a whole number of at least 1', value => whole(value)],
  threads: ['a whole number from 1 to 256', value => whole(value, 256)],
  trainers: ['a whole number from 1 to 256', value => whole(value, 256)],
}

const choices = (): Partial<Record<keyof TrainOptions, readonly unknown[]>> => ({
  multiclass: multiclassNames,
  outlierStart: ['sample', 'full'],
  regularizer: regularizerNames,
  normalize: ['unit'],
  scale: [...scaleKinds, 'none'],
  header: ['yes', 'no', 'auto'],
  weights: ['f64', 'f32'],
  values: ['f32', 'f64'],
  format: formatChoices(),
  indexBase: [0, 1],
  onBadRow: ['fail', 'skip'],
  blockOrder: ['random', 'fixed'],
  indexStop: ['sampled', 'exact'],
  indexMethod: Object.keys(indexMethods),
  calibrate: calibrationKinds,
  batch: ['block', 'row'],
})

/** What has neither a default nor limits here. */
const OTHERS = {
  ...{ rowWeights: 1, expand: 1, degree: 1, nodes: 1, store: 1, signal: 1, tester: 1, labels: 1 },
  ...{ label: 1, weight: 1, ignore: 1, categorical: 1, text: 1 },
} satisfies Partial<Record<Optional, 1>>

/** Refuses what is beyond its limits or not among its choices: what, got, expected. */
function checkEach(options: ResolvedOptions): void {
  const refuse = (name: string, value: unknown, expected: string): UsageError =>
    new UsageError(`${name} is ${JSON.stringify(value)}; expected ${expected}`)
  for (const [name, [expected, fits]] of Object.entries(LIMITS)) {
    const value = options[name as keyof TrainOptions]
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && fits(value))) continue
    throw refuse(name, value, expected)
  }
  for (const [name, known] of Object.entries(choices())) {
    const value = options[name as keyof TrainOptions]
    if (value !== undefined && !known.includes(value)) throw refuse(name, value, `one of ${known.join(', ')}`)
  }
}

function checkExpansion(options: ResolvedOptions): void {
  if (options.expand !== undefined && options.scale !== undefined) {
    throw new UsageError(
      'features are either scaled or expanded, not both: factors for features that are made on the fly would be as many as they are',
      'scale the data before, or make rows unit length, which comes after the expansion: --normalize unit',
    )
  }
  if (options.keepNames && options.expand !== undefined && !parseExpansion(options.expand).hashes) {
    throw new UsageError(
      'names are kept of features that are hashed, and nothing is hashed here',
      'add a hash to the expansion, e.g. --expand polynomial:2+hash:22; other features have their names anyway',
    )
  }
}

function checkOutlierOptions({ loss, given }: ResolvedOptions): void {
  // A loss that there is not is refused where it is looked for.
  const known = allLosses.find(({ name }) => name === loss)
  if (!known || known.truncates) return
  const truncated = allLosses.flatMap(({ name, truncates }) => (truncates ? [name] : []))
  for (const name of ['outlierMargin', 'outlierStart']) {
    if (!given.has(name)) continue
    throw new UsageError(
      `the option ${name} is for losses that give outliers up, and the ${loss} loss does not: it would be ignored`,
      `take --loss ${truncated.join(' or --loss ')}`,
    )
  }
}

function checkClassWeights(classWeights: Record<string, number>): void {
  const weighted = new Map<LabelKey, string>()
  for (const [label, weight] of Object.entries(classWeights)) {
    const key = labelKey(labelOf(label.trim()))
    const other = weighted.get(key)
    if (other !== undefined) throw twoWeights([other, classWeights[other]], [label, weight])
    weighted.set(key, label)
    if (!(weight > 0 && Number.isFinite(weight))) {
      throw new UsageError(`the class weight of label ${label} is ${weight}; expected a number above 0`)
    }
  }
}

/** How many there must be is known once the rows are read. */
function checkRowWeights(weights: ResolvedOptions['rowWeights']): void {
  if (weights === undefined) return
  if (!Array.isArray(weights) && !(weights instanceof Float64Array)) {
    throw new UsageError(`rowWeights is ${typeof weights}; expected an array of numbers, one a row`)
  }
  const wrong = weights.findIndex((weight: number) => !(weight > 0 && Number.isFinite(weight)))
  if (wrong >= 0) {
    throw new UsageError(
      `the weight of row ${wrong + 1} is ${weights[wrong]}; expected a number above 0`,
      'to train without a row, leave it out of the data',
    )
  }
}

/** One class with two weights, which may be spelled differently. */
export function twoWeights(...given: [label: string, weight: number][]): UsageError {
  const said = given.map(([label, weight]) => `${label}=${weight}`).join(' and ')
  return new UsageError(`the class weights ${said} are for the same class`, 'give each class one weight')
}

/** The space of the additive kernel that was asked for, and what does not go with one. */
function spaceFor(options: ResolvedOptions): RowSpace | undefined {
  const { kernel, approximation, degree, nodes, bins, given } = options
  if (kernel === 'linear') {
    for (const name of ['approximation', 'degree', 'nodes', 'bins']) {
      if (given.has(name))
        throw new UsageError(`${name} is for additive kernels, and none is named: it would be ignored`)
    }
    return undefined
  }
  const space = spaceWith({ kernel, approximation, degree, nodes, bins })
  if (options.expand !== undefined) {
    throw new UsageError(
      `a kernel and an expansion do not go together: ${space.kernel} makes other numbers of the features already`,
      'leave out --kernel or --expand',
    )
  }
  if (options.scale !== undefined && options.scale !== 'minmax') {
    throw new UsageError(
      `a kernel is for values from 0 to 1, and scale ${options.scale} makes others`,
      'take --scale minmax',
    )
  }
  const other = beyondBinary(options)
  if (other) throw new UsageError(`a kernel is not compatible with ${other}`, 'leave out one of the two')
  // Trainers of their own weights know rows of numbers only.
  if (given.has('trainers') && options.trainers > 1) {
    throw new UsageError('a kernel is trained by one trainer', 'leave out --trainers')
  }
  options.trainers = 1
  return space
}

/** What threads are told of the expansion. */
export function expansionOf({ expand, keepNames }: ResolvedOptions): ExpansionOptions | undefined {
  return expand === undefined ? undefined : { expand, keepNames }
}

/** Options of reading text, which a store has behind it. */
export function refuseTextOptions(options: ResolvedOptions): void {
  if (options.rowWeights) {
    throw new UsageError(
      'the option rowWeights goes by the order of rows in text, and this is a store, which has them in an order of its own',
      'train on the text',
    )
  }
  for (const name of ['values', 'format', 'labels', 'indexBase', 'onBadRow', 'store', 'blocks', ...tableOptionNames]) {
    if (options.given.has(name)) {
      throw new UsageError(`the option ${name} is for reading text, and this is a store: it would be ignored`)
    }
  }
}
