// spillway train: its help, and the words around a run.
import { stat } from 'node:fs/promises'
import { UsageError } from '../errors.ts'
import { expansionFor } from '../features/expansion-steps.ts'
import { fileHead } from '../files/file-head.ts'
import { allInputFormats, findInputFormat } from '../input-formats/all-input-formats.ts'
import { compressedEndings } from '../input-formats/compressions.ts'
import { baseName, isQuery } from '../input-formats/stand-ins.ts'
import { allLosses } from '../losses/all-losses.ts'
import { scarceMemory } from '../machine-memory.ts'
import { allModelFormats } from '../model/all-model-formats.ts'
import type { Model } from '../model/model.ts'
import type { PredictResult } from '../predict/predict.ts'
import { alone, type Communicator } from '../ranks/communicator.ts'
import { fileOfRank, nameOfShare, RANK_PATTERN } from '../ranks/shares.ts'
import { DEFAULTS, type TrainOptions } from '../train/options.ts'
import type { ProgressListener } from '../train/progress.ts'
import type { TrainingRun, TrainResult } from '../train/training-run.ts'
import { checkData, checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, type OptionValues, textOption } from './command.ts'
import { askedOf } from './evaluation-report.ts'
import { bytesOfLetters, formatCount, sourceName } from './format.ts'
import { trainWords } from './liblinear-words.ts'
import { print } from './print.ts'
import { queryOf } from './reading-options.ts'
import { type OpenRecorder, recorded, recordFiles } from './record-options.ts'
import { BESIDE, exitCodeOf, saveTrained } from './save-trained.ts'
import { agreeOnData, shareOf } from './share-of-data.ts'
import { type ProgressLine, showProgress } from './terminal.ts'
import { testerOn } from './tester.ts'
import { expandNotes, optionsOfTrain, trainOptions, truncated } from './train-options.ts'
import { trainJson, trainSummary } from './train-summary.ts'
import { sayingWhatIsKept } from './what-is-kept.ts'

export const trainCommand: Command = {
  name: 'train',
  takes: 'DATA… [MODEL]',
  count: [1, Number.POSITIVE_INFINITY],
  dataOption: 'sql',
  options: optionsOfTrain,
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
      line: "spillway train --sql \"SELECT * FROM 'clicks.parquet' WHERE country = 'fr'\" --label clicked",
      does: 'the rows of a query, which DuckDB runs; writes query.model',
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
    'DATA is LIBSVM or Vowpal Wabbit text, a table (CSV, TSV) or labelled strings, plain or compressed with gzip, zstd, bzip2 or xz, or - for standard input; a',
    'Parquet, Arrow, .npy or .npz file; one store; or a query with --sql. The last of several arguments is the model unless it is a file of data. Without one the model is named after the first file, in',
    'this folder. Ctrl-C ends after the current step, saves the model, and exits with 130. A model that is there is replaced only by',
    `a run that reached its tolerance, or made the passes of --max-passes; any other goes beside it, as MODEL${BESIDE}.`,
    '',
    ...expandNotes,
  ].join('\n'),
  rewrite: trainWords,
  overRanks: true,
  run: recorded(runTrain),
}

/** Which arguments are data, and which one is the model. */
export async function splitArguments(
  given: string[],
  model: string | undefined,
  query: string[] = [],
): Promise<{ data: string[]; model: string }> {
  if (query.length > 0) {
    const models = [...given, ...(model === undefined ? [] : [model])]
    if (models.length < 2) return { data: query, model: models[0] ?? `${baseName(query[0])}.model` }
    throw new UsageError(`--sql is the data, and ${models.length} arguments were given besides`, 'name the model alone')
  }
  if (model !== undefined) return { data: given, model }
  const last = given[given.length - 1]
  if (given.length > 1 && !looksLikeData(last) && (await mayHoldModel(last)))
    return { data: given.slice(0, -1), model: last }
  const first = baseName(given[0].replace(/[-_.]?\{rank\}/g, '')).replace(/\.spill$/, '')
  return { data: given, model: `${first}.model` }
}

/** A name that only data has: a file of that name that is missing is a slip, not a model to be. */
function looksLikeData(path: string): boolean {
  const endings = [...compressedEndings, 'spill', ...allInputFormats.flatMap(({ endings = [] }) => endings)]
  return endings.some(ending => path.endsWith(`.${ending}`))
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

/** Outliers are found by a model, in data that is read again. */
function checkOutliers(data: string[], loss: string = DEFAULTS.loss, ranks: Communicator = alone): void {
  if (!allLosses.some(({ name, truncates }) => name === loss && truncates)) {
    throw new UsageError(
      `--outliers is for losses that give outliers up, and the ${loss} loss does not`,
      `take --loss ${truncated.replace(' or ', ' or --loss ')}`,
    )
  }
  const once = data.find(path => path === '-' || isQuery(path))
  if (once !== undefined) {
    throw new UsageError(
      `--outliers reads the data again, and ${sourceName(once)} can be read once`,
      'put the data into a file first',
    )
  }
  const own = ranks.size > 1 ? data.find(path => path.includes(RANK_PATTERN)) : undefined
  if (own !== undefined) {
    throw new UsageError(
      `--outliers has rank 0 read all data again, and ${own} is another file at each rank`,
      'name files that rank 0 can read, or leave out --outliers',
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

/** The data that a model is tested on: a file, or a query. */
export function testOf(options: OptionValues): string | undefined {
  const [file, [query]] = [textOption(options, 'test'), queryOf(options, 'test-sql')]
  if (file !== undefined && query !== undefined) {
    throw new UsageError('--test and --test-sql both name data to test on', 'leave out one of them')
  }
  if (options['evaluate'] === true && file === undefined && query === undefined) {
    throw new UsageError('--evaluate needs data to test on', 'add --test FILE or --test-sql QUERY')
  }
  return file ?? query
}

/** The files of a run: what it reads, and where its model, outliers and records go. */
async function checkFiles({ arguments: given, options, ranks = alone }: CommandInput, settings: TrainOptions) {
  const { storeFolder } = await import('../train/store-for-training.ts')
  const { data: named, model } = await splitArguments(given, textOption(options, 'model'), queryOf(options))
  const data = named.map(path => fileOfRank(path, ranks))
  const test = testOf(options)
  // Rank 0 alone tests.
  const reads = test === undefined || ranks.rank > 0 ? data : [...data, test]
  await agreeOnData(named, ranks)
  await checkData(reads, textOption(options, 'format'))
  const outliers = textOption(options, 'outliers')
  if (outliers !== undefined) checkOutliers(named, settings.loss, ranks)
  const writes = [model, ...(outliers === undefined ? [] : [outliers]), ...recordFiles(options)]
  const share = await shareOf(named, ranks)
  if (settings.store !== undefined) settings.store = nameOfShare(settings.store, ranks)
  const stores = [storeFolder(share, settings.store)]
  await checkOutputs({ reads, writes: ranks.rank > 0 ? [] : writes, stores })
  return { named, data, share, model, test, outliers }
}

/** Says that files are left over which look like those of more ranks. */
async function sayWhatIsLeft(data: string[], { size }: Communicator, line: ProgressLine): Promise<void> {
  if (size === 1) return
  for (const path of data.filter(path => path.includes(RANK_PATTERN))) {
    const next = fileOfRank(path, { rank: size, size })
    if ((await stat(next).catch(() => undefined))?.isFile()) {
      line.say(`${next} is there, too, and no rank takes it: each of ${size} ranks has a file, from 0 on`)
    }
  }
}

/** What there is to say of rows before the summary. */
function sayAboutData(result: TrainResult, data: string[], test: string | undefined, line: ProgressLine): void {
  // Other programs take a second file for data to test on.
  if (data.length > 1 && test === undefined) {
    line.say(`trained on all ${data.length} files; to test on one of them instead, say --test ${data[data.length - 1]}`)
  }
  const { inputFormat, transforms } = result.model
  const expand = inputFormat && expansionFor(findInputFormat(inputFormat), transforms.expand?.steps)
  if (expand !== undefined) line.say(bytesOfLetters(expand))
  if (result.badRows > 0) {
    line.say(`skipped ${formatCount(result.badRows)} bad rows; the first:`)
    for (const message of result.badRowMessages) line.say(`  ${message}`)
  }
}

/** A recorded run is evaluated in full, whatever was asked for. */
export async function testOn(
  path: string,
  model: Model,
  { options, signal }: Pick<CommandInput, 'options' | 'signal'>,
): Promise<PredictResult> {
  const { predict } = await import('../predict/predict.ts')
  const recorded = recordFiles(options).length > 0
  return predict(path, model, { signal, evaluate: recorded || options['evaluate'] === true, curves: recorded })
}

async function runTrain(input: CommandInput, openRecorder: OpenRecorder): Promise<number> {
  const { options, words = [], signal, ranks = alone } = input
  const { train } = await import('../train/train.ts')
  const settings = trainOptions(options)
  const { named, data, share, ...files } = await checkFiles(input, settings)
  const { line, tell } = showProgress(options, settings)
  const warn = (text: string): void => line.say(text)
  const about = { words, data: named, settings, resumes: settings.resume === true, warn }
  const { test: testData } = files
  const recorder = await openRecorder({ verb: 'train', test: testData, ...about })
  const told = recorder?.along(tell) ?? tell
  const tester = recorder && testData !== undefined ? await testerOn(testData, signal, told) : undefined
  // What the heap once grew to it keeps, and a limit counts it. There is little to collect in this thread.
  if ((settings.memory ?? scarceMemory()) !== undefined)
    process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
  const started = performance.now()
  const run = train(share, { ...settings, signal, ...(tester && { tester }), ...(ranks.size > 1 && { ranks }) })
  const work = tellAll(run, told).finally(() => line.clear())
  const result = await sayingWhatIsKept(work, () => keptWithoutModel(share, settings.store))
  const trained = result.seconds.total - (result.seconds.tests ?? 0)
  // Nothing is written before all ranks have ended well.
  await ranks.barrier()
  if (ranks.rank > 0) return 0
  await sayWhatIsLeft(named, ranks, line)
  sayAboutData(result, named, files.test, line)
  const writing = performance.now()
  const saved = await saveTrained(files.model, result, settings.maxPasses !== undefined, data)
  result.seconds.write = (performance.now() - writing) / 1000
  if (files.outliers !== undefined && !signal.aborted) {
    const { writeOutliers } = await import('./write-outliers.ts')
    await writeOutliers(files.outliers, data, result.model, { ...settings, signal })
  }
  const tested = files.test === undefined || signal.aborted ? undefined : await testOn(files.test, result.model, input)
  const test = tested && askedOf(tested, options['evaluate'] === true)
  result.seconds.total = (performance.now() - started) / 1000
  result.peakMemoryBytes = process.resourceUsage().maxRSS * 1024
  const json = trainJson(result, saved, test)
  await print(
    options['json']
      ? JSON.stringify(json)
      : trainSummary(result, named, saved, settings.tolerance ?? DEFAULTS.tolerance, test),
  )
  await recorder?.finishTrained({ paths: share, result, json, trained, test: tested && [files.test!, tested] })
  return exitCodeOf(result, saved)
}
