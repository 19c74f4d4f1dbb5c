// spillway predict: labels for rows, by a model.
import { UsageError } from '../errors.ts'
import { AtomicFile } from '../files/atomic-file.ts'
import { writeStandard } from '../files/standard-output.ts'
import { loadModel } from '../model/files.ts'
import type { Model } from '../model/model.ts'
import { shortfallJson, shortfallLines } from '../model/shortfall.ts'
import type { PredictOptions, PredictProgress, PredictResult } from '../predict/predict.ts'
import { agree, fileFact } from '../ranks/agree.ts'
import { alone, type Communicator } from '../ranks/communicator.ts'
import { fileOfRank } from '../ranks/shares.ts'
import type { ResultFields } from '../report/records.ts'
import { checkData, checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, numberOption, type OptionValues, textOption } from './command.ts'
import { askedOf, evaluationLines } from './evaluation-report.ts'
import { formatBytes, formatCount, formatSeconds, formatShare } from './format.ts'
import { predictWords } from './liblinear-words.ts'
import { print, printAside } from './print.ts'
import { labelsOption, queryOf, readingOptions, sqlOption } from './reading-options.ts'
import { type OpenRecorder, recorded, recordFiles, recordOptions } from './record-options.ts'
import { agreeOnData, isOneStore, shareOf } from './share-of-data.ts'
import { ProgressLine, readingText } from './terminal.ts'

export const predictCommand: Command = {
  name: 'predict',
  takes: 'DATA MODEL [OUT]',
  count: [2, 3],
  dataOption: 'sql',
  options: {
    scores: { help: 'the scores after each label: one for two classes, else one for each class', group: 'Output' },
    probability: {
      help: "the probability of every class after each label, in the order of the model's labels",
      group: 'Output',
    },
    header: {
      help: 'a first line that names the columns of --scores or --probability: labels 1 -1',
      group: 'Output',
    },
    explain: {
      value: 'N',
      help: 'after each label its score, and the N features that made it: + speaks for the label',
      group: 'Output',
    },
    evaluate: { help: 'report how well the labels of DATA are predicted, class by class', group: 'Output' },
    ...recordOptions,
    json: { help: 'print one line of JSON at the end; labels only go to OUT', group: 'Output' },
    quiet: { short: 'q', help: 'show no progress and no summary', group: 'Output' },
    ...readingOptions,
    ...sqlOption,
    ...labelsOption,
    format: { ...readingOptions['format'], fallback: "the model's; of tables, as the first line shows" },
    'index-base': { ...readingOptions['index-base'], fallback: "the model's" },
  },
  examples: [
    { line: 'spillway predict new.svm reviews.svm.model labels.txt', does: 'one label a line, and the accuracy' },
    {
      line: 'zcat new.svm.gz | spillway predict - reviews.svm.model --scores',
      does: 'from standard input to standard output',
    },
    {
      line: 'spillway predict new.svm reviews.svm.model --probability --header',
      does: 'the probability of each class, in columns with names',
    },
    {
      line: 'spillway predict new.csv adult.csv.model --explain 3',
      does: 'of each row the label, its score, and the 3 features that made it',
    },
    {
      line: 'spillway predict test.svm reviews.svm.model labels.txt --evaluate',
      does: 'precision and recall of each class, which class is taken for which, and the areas under the curves',
    },
  ],
  notes:
    'DATA is text as the model was trained on, plain or compressed, a store, - for standard input, or a query with --sql; its labels serve to tell the\n' +
    'accuracy. The labels of a store come in the order of the text that it was made of. MODEL is a Spillway or a LIBLINEAR model.\n' +
    'Without OUT the labels go to standard output. With two classes a score above 0 means the first label that `spillway inspect MODEL` lists. --probability takes a logistic model, or one that was calibrated; the label is\n' +
    'chosen by the scores. --evaluate of two classes takes 8 to 16 bytes of memory a row.',
  rewrite: predictWords,
  overRanks: true,
  run: recorded(runPredict),
}

async function runPredict(input: CommandInput, openRecorder: OpenRecorder): Promise<number> {
  const { options, signal, ranks = alone } = input
  const given = [...queryOf(options), ...input.arguments]
  const [data, modelPath, outPath] = given.map(path => fileOfRank(path, ranks))
  await agreeOnData(given.slice(0, 1), ranks)
  const model = await loadModel(modelPath)
  await checkData([data], textOption(options, 'format') ?? model.inputFormat)
  const json = options['json'] === true
  const wantsAnswers = !(json && (outPath === undefined || outPath === '-'))
  // Answers go to rank 0, unless each rank has a file of its own.
  const collects = wantsAnswers && outPath === given[2] && ranks.size > 1
  const writes = wantsAnswers && !(collects && ranks.rank > 0)
  const records = ranks.rank > 0 ? [] : recordFiles(options)
  await checkOutputs({ reads: [data, modelPath], prints: writes ? [outPath ?? '-'] : [], writes: records })
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const asked = predictOptions(options)
  const { words = [] } = input
  const about = { words, data: [data], settings: asked, warn: (text: string) => line.say(text) }
  const recorder = await openRecorder({ verb: 'predict', ...about })
  const evaluates = recorder !== undefined && ranks.size === 1 && asked.explain === undefined
  const output = writes ? await openOutput(outPath) : undefined
  try {
    const settings = {
      ...asked,
      ...(evaluates && { evaluate: true, curves: true }),
      signal,
      progress: (progress: PredictProgress) => {
        recorder?.progress({ stage: 'read', ...progress })
        line.show(readingText(progress))
      },
      ...(output && { write: (text: Uint8Array) => output.write(text) }),
    }
    const result = await predictAll(given, model, settings, collects, ranks)
    await output?.commit()
    line.clear()
    if (ranks.rank > 0) return 0
    const json = predictJson(askedOf(result, asked.evaluate === true), model, outPath)
    await report(result, model, options, json, line)
    await recorder?.finishPredicted({ path: data, format: asked.format }, model, result, json)
    return 0
  } catch (error) {
    line.clear()
    await output?.discard()
    throw error
  }
}

/** Predicts all rows, or, over ranks, has each predict its share. */
async function predictAll(
  [data, modelPath]: string[],
  model: Model,
  settings: PredictOptions,
  collects: boolean,
  ranks: Communicator,
): Promise<PredictResult> {
  const { predict } = await import('../predict/predict.ts')
  if (ranks.size === 1) return predict(data, model, settings)
  if (settings.evaluate) {
    throw new UsageError(
      '--evaluate needs the scores of all rows in one process, and there are several',
      'leave out the launcher, or --evaluate: the accuracy is told anyway',
    )
  }
  await agree(ranks, { [modelPath]: await fileFact(modelPath) })
  const { predictOverRanks } = await import('./predict-over-ranks.ts')
  const share = await shareOf([data], ranks)
  // Blocks of one store are random draws of the rows: those of all ranks are merged.
  const order = collects ? ((await isOneStore([data])) ? 'merged' : 'by rank') : undefined
  return predictOverRanks(share, model, settings, order, ranks)
}

function predictOptions(options: OptionValues): PredictOptions {
  return {
    format: textOption(options, 'format'),
    indexBase: numberOption(options, 'index-base') as 0 | 1 | undefined,
    onBadRow: textOption(options, 'on-bad-row') as 'fail' | 'skip' | undefined,
    labels: textOption(options, 'labels'),
    threads: numberOption(options, 'threads', { least: 1, most: 256, whole: true }),
    scores: options['scores'] === true,
    probability: options['probability'] === true,
    header: options['header'] === true,
    evaluate: options['evaluate'] === true,
    explain: numberOption(options, 'explain', { least: 1, most: 1e6, whole: true }),
  }
}

/** The line that --json prints. */
function predictJson(result: PredictResult, model: Model, outPath: string | undefined): ResultFields {
  const { badRowMessages, correct, ...rest } = result
  const shortfall = shortfallJson(model)
  return { command: 'predict', ...rest, ...(outPath && { out: outPath }), ...(shortfall && { shortfall }) }
}

/** What is said when all rows are predicted. */
async function report(
  result: PredictResult,
  model: Model,
  options: OptionValues,
  json: object,
  line: ProgressLine,
): Promise<void> {
  if (result.badRows > 0) {
    line.say(`skipped ${formatCount(result.badRows)} bad rows; the first:`)
    for (const message of result.badRowMessages) line.say(`  ${message}`)
  }
  for (const [k, text] of shortfallLines(model).entries()) line.say(`${k === 0 ? 'this model ' : '  '}${text}`)
  if (options['json'] === true) {
    await print(JSON.stringify(json))
    return
  }
  const accuracy = result.unlabelled
    ? `${formatCount(result.rows)} rows, which have no labels to compare with`
    : `accuracy ${formatShare(result.accuracy)} (${countsText(result)})`
  line.say(`${accuracy}, ${formatBytes(result.bytesRead)} in ${formatSeconds(result.seconds)}`)
  // It was asked for: --quiet does not take it away. Standard output may be full of labels.
  if (result.evaluation && options['evaluate'] === true) await printAside(evaluationLines(result.evaluation).join('\n'))
}

/** What the accuracy is a share of. */
function countsText({ correct, rows, weight }: PredictResult): string {
  if (weight === undefined) return `${formatCount(correct)} of ${formatCount(rows)} rows`
  return `by the weights of ${formatCount(rows)} rows`
}

async function openOutput(path: string | undefined): Promise<Pick<AtomicFile, 'write' | 'commit' | 'discard'>> {
  return path === undefined || path === '-' ? standardOutput() : AtomicFile.create(path)
}

function standardOutput(): Pick<AtomicFile, 'write' | 'commit' | 'discard'> {
  return {
    write: text => writeStandard('stdout', text),
    commit: async () => {},
    discard: async () => {},
  }
}
