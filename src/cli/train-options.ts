// The options of spillway train: what they are called, their help, and what the library makes of them.
import { kernelForms } from '../additive-kernels/all-additive-kernels.ts'
import { approximations, MOST_BINS, MOST_DEGREE, nodeKinds } from '../additive-kernels/row-space.ts'
import { UsageError } from '../errors.ts'
import { allExpansions } from '../features/all-expansions.ts'
import { scaleKinds } from '../features/scale-kinds.ts'
import { allLosses } from '../losses/all-losses.ts'
import { multiclassNames, regularizerNames } from '../losses/formulations.ts'
import { solverChoices } from '../optimise/solvers/all-solvers.ts'
import { indexMethods } from '../optimise/solvers/solver.ts'
import { DEFAULTS, type TrainOptions, twoWeights } from '../train/options.ts'
import { type Command, memoryOption, numberOption, type OptionValues, textOption } from './command.ts'
import { labelsOption, readingOptions, sqlOption } from './reading-options.ts'
import { recordOptions } from './record-options.ts'
import { tableOptions, tableOptionsOf } from './table-options.ts'

/** What --expand takes, for the help of every command that has it. */
export const expandNotes = [
  'STEPS of --expand, several with + between, e.g. weighted-degree:8+hash:22:',
  ...allExpansions.map(({ name, takes, summary }) => `  ${name}${takes}  ${summary}`),
  'The model has them in it, and predict applies them. --normalize unit comes after them; --scale is refused with them.',
]

/** Losses that give outliers up, in words. */
export const truncated = allLosses.flatMap(({ name, truncates }) => (truncates ? [name] : [])).join(' or ')

/** The options of `train`, in the order of its help. */
export const optionsOfTrain: Command['options'] = {
  loss: {
    value: 'NAME',
    help: 'what a row costs that is on the wrong side, or too close to it',
    choices: allLosses.map(loss => loss.name),
    fallback: DEFAULTS.loss,
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  regularizer: {
    value: 'NAME',
    help: 'l1 puts ‖w‖₁ in place of ½‖w‖², so that most weights become 0; it needs all rows in memory',
    choices: regularizerNames,
    fallback: DEFAULTS.regularizer,
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  cost: {
    value: 'C',
    short: 'c',
    help: 'C: how much losses count beside the size of the weights; a larger C fits the rows more closely',
    fallback: '1',
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  'outlier-margin': {
    value: 'S',
    help: `with ${truncated}: a row costs at most 1 + S, and is an outlier where its loss would be more`,
    fallback: `${DEFAULTS.outlierMargin}`,
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  bias: {
    value: 'B',
    short: 'B',
    help: 'add a constant feature of value B to every row; a negative B means none, as in LIBLINEAR',
    fallback: 'none',
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  'class-weight': {
    value: 'LABEL=W',
    help: 'multiply the cost of rows of this class by W; once for each class',
    many: true,
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  multiclass: {
    value: 'HOW',
    help: 'more than two classes: each against the rest, or all at once: crammer-singer (hinge), softmax (logistic)',
    choices: multiclassNames,
    fallback: DEFAULTS.multiclass,
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  solver: {
    value: 'NAME',
    help: 'the method; auto chooses by the data and the memory',
    choices: solverChoices(),
    fallback: 'auto',
    group: 'The solver',
  },
  tolerance: {
    value: 'GAP',
    short: 'e',
    help: 'stop when the relative duality gap, (primal − dual) / primal, is at most GAP',
    fallback: '1e-3',
    group: 'The solver',
  },
  'max-passes': {
    value: 'N',
    help: 'most passes over the data',
    fallback: '1000; indexed and truncated losses 10000, pegasos 10, one-pass 1, primal-coordinate 100000',
    group: 'The solver',
  },
  seed: {
    value: 'N',
    help: 'seed of what is drawn at random; the same seed gives the same model, to the bit',
    fallback: '1',
    group: 'The solver',
  },
  'outlier-start': {
    value: 'WHAT',
    help: `with ${truncated}: begin with the convex solution of a sample of 10,000 rows, or of all rows`,
    choices: ['sample', 'full'],
    fallback: DEFAULTS.outlierStart,
    group: 'The solver',
  },
  'no-shrinking': { help: 'visit every row in every pass, also those that no longer change', group: 'The solver' },
  'inner-passes': {
    value: 'N',
    help: 'sweeps over a block each time it is read; stream: visits to rows in memory for each row that is read',
    fallback: '4, stream 1',
    group: 'The solver',
  },
  'inner-tolerance': {
    value: 'EPS',
    help: 'block, selective: sweep over a block until its projected gradients differ by EPS at most',
    group: 'The solver',
  },
  'index-stop': {
    value: 'HOW',
    help: 'indexed: search samples of the index, or all of it, before the certificate is asked for',
    choices: ['sampled', 'exact'],
    fallback: 'sampled',
    group: 'The solver',
  },
  'index-left': {
    value: 'N',
    help: 'indexed: stop when a search finds fewer than N rows that would still move the model, whatever the gap',
    group: 'The solver',
  },
  'index-method': {
    value: 'HOW',
    help: 'indexed: train on the rows that were found by coordinate descent, or (squared-hinge, truncated-squared-hinge) by second-order steps',
    choices: Object.keys(indexMethods),
    fallback: 'dual',
    group: 'The solver',
  },
  'gradient-tolerance': {
    value: 'EPS',
    help: 'stream: stop when the projected gradients of a pass differ by EPS at most, whatever the gap',
    group: 'The solver',
  },
  'block-order': {
    value: 'HOW',
    help: 'the order in which a pass reads the blocks',
    choices: ['random', 'fixed'],
    fallback: 'random',
    group: 'The solver',
  },
  batch: {
    value: 'WHAT',
    help: 'pegasos: make a step with every row, or with a whole block',
    choices: ['row', 'block'],
    fallback: 'row',
    group: 'The solver',
  },
  memory: {
    value: 'SIZE',
    help: 'the most memory that the whole process may take, Node included, e.g. 512M',
    fallback: 'most of the memory of the machine or its container',
    group: 'Data larger than memory',
  },
  store: {
    value: 'DIR',
    help: 'folder of the store that text is read into when it does not fit in memory',
    fallback: 'NAME.spill in this folder',
    group: 'Data larger than memory',
  },
  blocks: {
    value: 'N',
    help: 'number of blocks that the rows of the text are divided into, at random',
    fallback: 'as the memory asks for',
    group: 'Data larger than memory',
  },
  resume: { help: 'go on from the last checkpoint of the same run', group: 'Data larger than memory' },
  cold: {
    help: 'start from zero, not from the last training, after rows were added to the store or removed',
    group: 'Data larger than memory',
  },
  'checkpoint-seconds': {
    value: 'S',
    help: 'seconds between two checkpoints, at least',
    fallback: '10',
    group: 'Data larger than memory',
  },
  weights: {
    value: 'TYPE',
    help: 'precision of the weights while training',
    choices: ['f64', 'f32'],
    fallback: 'f64; with long rows and many weights f32 at first',
    group: 'The solver',
  },
  ...readingOptions,
  ...sqlOption,
  ...labelsOption,
  ...tableOptions,
  threads: {
    value: 'N',
    help: 'threads; with solver stream all of them train, and two runs then differ in the last digits',
    fallback: 'as many as there are cores',
    group: 'The data',
  },
  trainers: {
    value: 'N',
    help: 'threads that train one model at the same time (solver dual or stream); with several, its bits vary',
    fallback: '1; for long rows 2, with bits that do not vary',
    group: 'The solver',
  },
  normalize: { value: 'unit', help: 'scale every row to length 1', choices: ['unit'], group: 'The data' },
  scale: {
    value: 'KIND',
    help: 'divide each feature by its largest value (minmax), its deviation (standard), or that unless it is 0 or 1 (numbers); or multiply it, for text, by how rare it is (idf), or by how well it tells classes apart (log-odds)',
    choices: [...scaleKinds, 'none'],
    fallback: 'none; for tables numbers',
    group: 'The data',
  },
  kernel: {
    value: 'NAME',
    help: `linear, or an additive kernel for values from 0 to 1: ${kernelForms.join(', ')}`,
    fallback: 'linear',
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  approximation: {
    value: 'KIND',
    help: 'how --kernel is approximated; the approximation is what is trained and certified',
    choices: approximations,
    fallback: 'projection',
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  degree: {
    value: 'M',
    help: 'degree of that approximation, 2 to 63: every value becomes M + 1 numbers',
    fallback: '2; intersection 19',
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  nodes: {
    value: 'KIND',
    help: 'the values at which that approximation is exact; ad-hoc is 0.01, 0.06, 0.75, for degree 2',
    choices: nodeKinds,
    fallback: 'chebyshev, even from degree 6 on',
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  bins: {
    value: 'B',
    help: 'with --kernel: round values to B levels; up to 256 take one byte a value, more take two',
    fallback: '1000',
    group: 'The problem: ½‖w‖² + C Σ loss',
  },
  expand: {
    value: 'STEPS',
    help: 'make other features of every row while it is read, by the STEPS below',
    group: 'The data',
  },
  'keep-names': {
    help: 'keep in the model the names of hashed features, for inspect and predict --explain to show: of --expand with hash, of Vowpal Wabbit text, and of the hashed columns of a table',
    group: 'The data',
  },
  values: {
    value: 'TYPE',
    help: 'precision in which the values of features are kept',
    choices: ['f32', 'f64'],
    fallback: 'f32',
    group: 'The data',
  },
  calibrate: {
    value: 'HOW',
    help: 'learn probabilities from the scores of held-out rows, for predict --probability',
    choices: ['sigmoid', 'isotonic'],
    group: 'Output',
  },
  model: { value: 'FILE', help: 'where the model goes, when it is not the last argument', group: 'Output' },
  outliers: {
    value: 'FILE',
    help: `with ${truncated}: write the rows that the loss has given up, which may be mislabelled`,
    group: 'Output',
  },
  test: { value: 'FILE', help: 'data to test the model on afterwards, text or a store', group: 'Output' },
  'test-sql': {
    value: 'QUERY',
    help: 'a query whose rows the model is tested on, in place of --test',
    group: 'Output',
  },
  evaluate: { help: 'with --test: report how well each class is predicted', group: 'Output' },
  ...recordOptions,
  json: { help: 'print one line of JSON at the end', group: 'Output' },
  verbose: { help: 'show what the memory is planned for, part by part', group: 'Output' },
  quiet: { short: 'q', help: 'show no progress', group: 'Output' },
}

function classWeights(options: OptionValues): Record<string, number> {
  // Any text may be a label, __proto__ too.
  const weights: Record<string, number> = Object.create(null)
  for (const text of (options['class-weight'] as string[] | undefined) ?? []) {
    const at = text.lastIndexOf('=')
    const weight = Number(text.slice(at + 1))
    if (at < 1 || text.length === at + 1 || !(weight > 0)) {
      throw new UsageError(`--class-weight is "${text}"; expected LABEL=W with a number above 0, e.g. +1=10`)
    }
    const label = text.slice(0, at)
    if (label in weights) throw twoWeights([label, weights[label]], [label, weight])
    weights[label] = weight
  }
  return weights
}

export function trainOptions(options: OptionValues): TrainOptions {
  const indexBase = numberOption(options, 'index-base')
  return {
    loss: textOption(options, 'loss'),
    regularizer: textOption(options, 'regularizer') as TrainOptions['regularizer'],
    cost: numberOption(options, 'cost', { above: 0 }),
    outlierMargin: numberOption(options, 'outlier-margin', { least: 0 }),
    outlierStart: textOption(options, 'outlier-start') as TrainOptions['outlierStart'],
    bias: numberOption(options, 'bias'),
    classWeights: classWeights(options),
    solver: textOption(options, 'solver'),
    multiclass: textOption(options, 'multiclass') as TrainOptions['multiclass'],
    tolerance: numberOption(options, 'tolerance', { above: 0, most: 0.999 }),
    maxPasses: numberOption(options, 'max-passes', { least: 1, whole: true }),
    seed: numberOption(options, 'seed', { least: 0, most: Number.MAX_SAFE_INTEGER, whole: true }),
    ...(options['no-shrinking'] === true && { shrinking: false }),
    weights: textOption(options, 'weights') as TrainOptions['weights'],
    values: textOption(options, 'values') as TrainOptions['values'],
    normalize: textOption(options, 'normalize') as TrainOptions['normalize'],
    scale: textOption(options, 'scale') as TrainOptions['scale'],
    kernel: textOption(options, 'kernel'),
    approximation: textOption(options, 'approximation') as TrainOptions['approximation'],
    degree: numberOption(options, 'degree', { least: 2, most: MOST_DEGREE.projection, whole: true }),
    nodes: textOption(options, 'nodes') as TrainOptions['nodes'],
    bins: numberOption(options, 'bins', { least: 2, most: MOST_BINS, whole: true }),
    expand: textOption(options, 'expand'),
    ...(options['keep-names'] === true && { keepNames: true }),
    ...tableOptionsOf(options),
    format: textOption(options, 'format'),
    labels: textOption(options, 'labels'),
    indexBase: indexBase as TrainOptions['indexBase'],
    onBadRow: textOption(options, 'on-bad-row') as TrainOptions['onBadRow'],
    threads: numberOption(options, 'threads', { least: 1, most: 256, whole: true }),
    memory: memoryOption(options),
    store: textOption(options, 'store'),
    blocks: numberOption(options, 'blocks', { least: 1, most: 100000, whole: true }),
    ...(options['resume'] === true && { resume: true }),
    ...(options['cold'] === true && { cold: true }),
    checkpointSeconds: numberOption(options, 'checkpoint-seconds', { least: 0 }),
    trainers: numberOption(options, 'trainers', { least: 1, whole: true }),
    innerPasses: numberOption(options, 'inner-passes', { least: 1, whole: true }),
    innerTolerance: numberOption(options, 'inner-tolerance', { above: 0 }),
    gradientTolerance: numberOption(options, 'gradient-tolerance', { above: 0 }),
    blockOrder: textOption(options, 'block-order') as TrainOptions['blockOrder'],
    indexStop: textOption(options, 'index-stop') as TrainOptions['indexStop'],
    indexLeft: numberOption(options, 'index-left', { least: 1, whole: true }),
    indexMethod: textOption(options, 'index-method') as TrainOptions['indexMethod'],
    batch: textOption(options, 'batch') as TrainOptions['batch'],
    calibrate: textOption(options, 'calibrate') as TrainOptions['calibrate'],
  }
}
