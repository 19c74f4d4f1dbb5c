// spillway train: its options and help, and the words around a run.

import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { kernelForms } from '../additive-kernels/all-additive-kernels.ts'
import { approximations, MOST_BINS, MOST_DEGREE, nodeKinds } from '../additive-kernels/row-space.ts'
import { UsageError } from '../errors.ts'
import { allExpansions } from '../features/all-expansions.ts'
import { allLosses } from '../losses/all-losses.ts'
import { multiclassNames, regularizerNames } from '../losses/formulations.ts'
import { scarceMemory } from '../machine-memory.ts'
import { allModelFormats } from '../model/all-model-formats.ts'
import { solverChoices } from '../optimise/solvers/all-solvers.ts'
import { indexMethods } from '../optimise/solvers/solver.ts'
import type { PredictResult } from '../predict/predict.ts'
import { alone } from '../ranks/communicator.ts'
import { fileOfRank, nameOfShare } from '../ranks/shares.ts'
import { scaleKinds } from '../rows/scale.ts'
import { DEFAULTS, type TrainOptions, twoWeights } from '../train/options.ts'
import type { ProgressListener } from '../train/progress.ts'
import type { TrainingRun, TrainResult } from '../train/training-run.ts'
import { checkData, checkOutputs } from './check-files.ts'
import {
  type Command,
  type CommandInput,
  memoryOption,
  numberOption,
  type OptionValues,
  textOption,
} from './command.ts'
import { fileHead } from './file-head.ts'
import { formatCount } from './format.ts'
import { trainWords } from './liblinear-words.ts'
import { print } from './print.ts'
import { readingOptions } from './reading-options.ts'
import { BESIDE, exitCodeOf, saveTrained } from './save-trained.ts'
import { shareOf } from './share-of-data.ts'
import { tableOptions, tableOptionsOf } from './table-options.ts'
import { showProgress } from './terminal.ts'
import { trainJson, trainSummary } from './train-summary.ts'
import { sayingWhatIsKept } from './what-is-kept.ts'

/** What --expand takes, for the help of every command that has it. */
export const expandNotes = [
  'STEPS of --expand, several with + between, e.g. weighted-degree:8+hash:22:',
  ...allExpansions.map(({ name, takes, summary }) => `  ${name}${takes}  ${summary}`),
  'The model has them in it, and predict applies them. --normalize unit comes after them; --scale is refused with them.',
]

const truncated = allLosses.flatMap(({ name, truncates }) => (truncates ? [name] : [])).join(' or ')

export const trainCommand: Command = {
  name: 'train',
  takes: 'DATA… [MODEL]',
  count: [1, Number.POSITIVE_INFINITY],
  options: {
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
      fallback: 'f64',
      group: 'The solver',
    },
    ...readingOptions,
    ...tableOptions,
    threads: {
      value: 'N',
      help: 'threads; with solver stream all of them train, and two runs then differ in the last digits',
      fallback: 'as many as there are cores',
      group: 'The data',
    },
    trainers: {
      value: 'N',
      help: 'threads that train one model at the same time (solver dual or stream); its bits then vary',
      fallback: '1',
      group: 'The solver',
    },
    normalize: { value: 'unit', help: 'scale every row to length 1', choices: ['unit'], group: 'The data' },
    scale: {
      value: 'KIND',
      help: 'divide each feature by its largest value (minmax), its deviation (standard), or that unless it is 0 or 1 (numbers)',
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
      help: 'with hash among the STEPS below: keep in the model what was hashed, for inspect to show',
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
    evaluate: { help: 'with --test: report how well each class is predicted', group: 'Output' },
    json: { help: 'print one line of JSON at the end', group: 'Output' },
    verbose: { help: 'show what the memory is planned for, part by part', group: 'Output' },
    quiet: { short: 'q', help: 'show no progress', group: 'Output' },
  },
  examples: [
    { line: 'spillway train reviews.svm', does: 'hinge loss, C = 1; writes reviews.svm.model' },
    {
      line: 'spillway train day1.svm.zst day2.svm.zst clicks.model --loss logistic --cost 0.1 --normalize unit',
      does: 'logistic regression on two compressed files with rows of unit length',
    },
    {
      line: 'spillway train adult.csv --label income --test adult.test.csv',
      does: 'a table: numbers are scaled, each name in a column of names is a feature of its own',
    },
    {
      line: 'spillway train acceptors.txt --expand weighted-degree:8 --normalize unit --memory 256M',
      does: 'DNA, LABEL STRING a line: every string of 1 to 8 letters at its position is a feature',
    },
    {
      line: 'spillway train digits.svm --kernel chi2 --scale minmax --bias 1',
      does: 'an additive kernel, for histograms and other amounts, each feature scaled to its range',
    },
    {
      line: 'spillway train reviews.svm few.model --regularizer l1 --loss logistic',
      does: 'few weights that are not zero; spillway inspect few.model --top 20 shows the largest',
    },
    {
      line: 'spillway train reviews.svm --loss ramp --outliers suspects.tsv',
      does: 'give rows up that lie far on the wrong side, and list them: many may be mislabelled',
    },
    {
      line: 'spillway train -s 1 -c 4 -w1 10 -B 1 data.svm data.model',
      does: 'the options that LIBLINEAR users type',
    },
  ],
  notes: [
    'DATA is LIBSVM text, a table (CSV, TSV) or labelled strings, plain or compressed with gzip or zstd, - for standard input, or one store. The',
    'last of several arguments is the model unless it is a file of data. Without one the model is named after the first file, in',
    'this folder. Ctrl-C ends after the current step, saves the model, and exits with 130. A model that is there is replaced only by',
    `a run that reached its tolerance, or made the passes of --max-passes; any other goes beside it, as MODEL${BESIDE}.`,
    '',
    ...expandNotes,
  ].join('\n'),
  rewrite: trainWords,
  overRanks: true,
  run: runTrain,
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

/** Which arguments are data, and which one is the model. */
export async function splitArguments(
  given: string[],
  model: string | undefined,
): Promise<{ data: string[]; model: string }> {
  if (model !== undefined) return { data: given, model }
  const last = given[given.length - 1]
  if (given.length > 1 && !looksLikeData(last) && (await mayHoldModel(last)))
    return { data: given.slice(0, -1), model: last }
  const first =
    given[0] === '-'
      ? 'stdin'
      : basename(given[0])
          .replace(/[-_.]?\{rank\}/g, '')
          .replace(/\.(gz|zst|spill)$/, '')
  return { data: given, model: `${first}.model` }
}

/** A name that only data has: a file of that name that is missing is a slip, not a model to be. */
function looksLikeData(path: string): boolean {
  return /\.(svm|libsvm|csv|tsv|gz|zst|spill)$/.test(path)
}

/** A file that is not there yet, is empty, or holds a model; never a file of data. */
async function mayHoldModel(path: string): Promise<boolean> {
  if (path === '-') return false
  try {
    const found = await stat(path)
    if (found.isDirectory()) return false
    if (!found.isFile()) return true
    const head = await fileHead(path)
    return head.length === 0 || allModelFormats.some(format => format.detect(head))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
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

/** Outliers are found by a model, in data that is read again. */
function checkOutliers(data: string[], loss: string = DEFAULTS.loss): void {
  if (!allLosses.some(({ name, truncates }) => name === loss && truncates)) {
    throw new UsageError(
      `--outliers is for losses that give outliers up, and the ${loss} loss does not`,
      `take --loss ${truncated.replace(' or ', ' or --loss ')}`,
    )
  }
  if (data.includes('-')) {
    throw new UsageError(
      '--outliers reads the data again, and standard input can be read once',
      'put the data into a file first',
    )
  }
}

async function tellAll(run: TrainingRun, tell: ProgressListener): Promise<TrainResult> {
  for await (const progress of run) tell(progress)
  return run.result
}

/** What a run that ends without a model leaves. */
async function keptWithoutModel(data: string[], asked: string | undefined): Promise<string> {
  const { isReadyStore, storeFolder } = await import('../train/store-for-training.ts')
  const store = (await isReadyStore(data[0])) ? data[0] : storeFolder(data, asked)
  const kept = (await isReadyStore(store))
    ? `the next run takes the rows of ${store}`
    : 'nothing was kept of what was read'
  return `there is no model of this run: ${kept}`
}

async function runTrain({ arguments: given, options, signal, ranks = alone }: CommandInput): Promise<number> {
  const { train } = await import('../train/train.ts')
  const { storeFolder } = await import('../train/store-for-training.ts')
  const { data: named, model: modelPath } = await splitArguments(given, textOption(options, 'model'))
  const data = named.map(path => fileOfRank(path, ranks))
  const settings = trainOptions(options)
  const testPath = textOption(options, 'test')
  const evaluate = options['evaluate'] === true
  if (evaluate && testPath === undefined) {
    throw new UsageError('--evaluate needs data to test on', 'add --test FILE')
  }
  const reads = testPath === undefined ? data : [...data, testPath]
  await checkData(reads, textOption(options, 'format'))
  const outliersPath = textOption(options, 'outliers')
  if (outliersPath !== undefined) checkOutliers(data, settings.loss)
  const writes = ranks.rank > 0 ? [] : outliersPath === undefined ? [modelPath] : [modelPath, outliersPath]
  const share = await shareOf(named, ranks)
  if (settings.store !== undefined) settings.store = nameOfShare(settings.store, ranks)
  await checkOutputs({ reads, writes, stores: [storeFolder(share, settings.store)] })
  const { line, tell } = showProgress(options, settings)
  // What the heap once grew to it keeps, and a limit counts it. There is little to collect in this thread.
  if ((settings.memory ?? scarceMemory()) !== undefined)
    process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
  const started = performance.now()
  const run = train(share, { ...settings, signal, ...(ranks.size > 1 && { ranks }) })
  const work = tellAll(run, tell).finally(() => line.clear())
  const result = await sayingWhatIsKept(work, () => keptWithoutModel(share, settings.store))
  // Nothing is written before all ranks have ended well.
  await ranks.barrier()
  if (ranks.rank > 0) return 0
  // Other programs take a second file for data to test on.
  if (data.length > 1 && testPath === undefined) {
    line.say(`trained on all ${data.length} files; to test on one of them instead, say --test ${data[data.length - 1]}`)
  }
  if (result.badRows > 0) {
    line.say(`skipped ${formatCount(result.badRows)} bad rows; the first:`)
    for (const message of result.badRowMessages) line.say(`  ${message}`)
  }
  const writing = performance.now()
  const saved = await saveTrained(modelPath, result, settings.maxPasses !== undefined, data)
  result.seconds.write = (performance.now() - writing) / 1000
  if (outliersPath !== undefined && !signal.aborted) {
    const { writeOutliers } = await import('./write-outliers.ts')
    await writeOutliers(outliersPath, data, result.model, { ...settings, signal })
  }
  const test = testPath === undefined || signal.aborted ? undefined : await testOn(testPath)
  result.seconds.total = (performance.now() - started) / 1000
  result.peakMemoryBytes = process.resourceUsage().maxRSS * 1024
  await print(
    options['json']
      ? JSON.stringify(trainJson(result, saved, test))
      : trainSummary(result, data, saved, settings.tolerance ?? DEFAULTS.tolerance, test),
  )
  return exitCodeOf(result, saved)

  async function testOn(path: string): Promise<PredictResult> {
    const { predict } = await import('../predict/predict.ts')
    return predict(path, result.model, { signal, evaluate })
  }
}
