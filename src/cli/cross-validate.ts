// spillway cross-validate: accuracy on rows that were not trained on.
import { alone } from '../ranks/communicator.ts'
import { checkData, checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, numberOption, textOption } from './command.ts'
import { foldOptions } from './fold-options.ts'
import { formatCount, formatGap, formatSeconds, formatShare, sourceName } from './format.ts'
import { fromLiblinear } from './liblinear-words.ts'
import { print } from './print.ts'
import { dataOrQuery } from './reading-options.ts'
import { type OpenRecorder, recorded, recordFiles } from './record-options.ts'
import { sameDataOf } from './share-of-data.ts'
import { showProgress } from './terminal.ts'
import { expandNotes, optionsOfTrain, trainOptions } from './train-options.ts'

export const crossValidateCommand: Command = {
  name: 'cross-validate',
  takes: 'DATA…',
  count: [1, Number.POSITIVE_INFINITY],
  dataOption: 'sql',
  options: { cost: optionsOfTrain['cost'], ...foldOptions },
  examples: [
    { line: 'spillway cross-validate reviews.svm', does: 'five folds, hinge loss, C = 1' },
    {
      line: 'spillway cross-validate digits.svm --folds 10 --loss squared-hinge --cost 0.1 --json',
      does: 'ten folds; one line of JSON with the accuracy of each',
    },
    {
      line: "spillway cross-validate --sql \"SELECT * FROM 'clicks.parquet' WHERE country = 'fr'\" --label clicked",
      does: 'the rows of a query, which DuckDB runs once',
    },
  ],
  notes: [
    'Rows are dealt into folds at random, each class evenly. For every fold a model is trained on the rows of the other folds, all',
    'models at the same time, and as exactly as train does it. Data that does not fit in memory is read in blocks, and then Ctrl-C',
    'ends without figures.',
    '',
    ...expandNotes,
  ].join('\n'),
  rewrite: fromLiblinear,
  overRanks: true,
  run: recorded(runCrossValidate),
}

async function runCrossValidate(input: CommandInput, openRecorder: OpenRecorder): Promise<number> {
  const { options, words = [], signal, ranks = alone } = input
  const data = dataOrQuery(input.arguments, options)
  const settings = trainOptions(options)
  await sameDataOf(data, ranks)
  await checkData(data, textOption(options, 'format'))
  await checkOutputs({ reads: data, writes: ranks.rank > 0 ? [] : recordFiles(options) })
  const { line, tell } = showProgress(options, settings)
  const about = { words, data, settings, warn: (text: string) => line.say(text) }
  const recorder = await openRecorder({ verb: 'cross-validate', ...about })
  const { crossValidate } = await import('../train/cross-validate.ts')
  const result = await crossValidate(data, {
    ...settings,
    folds: numberOption(options, 'folds', { least: 2, most: 255, whole: true }),
    signal,
    progress: recorder?.along(tell) ?? tell,
    ...(ranks.size > 1 && { ranks }),
  }).finally(() => line.clear())
  if (ranks.rank > 0) return 0
  const { costs, badRowMessages: _messages, data: _data, folds: count, ...others } = result
  const [{ cost, accuracy, deviation, standardError, folds }] = costs
  const json = {
    ...{ command: 'cross-validate', cost, accuracy, deviation, standardError, folds: count, perFold: folds },
    ...others,
  }
  if (options['json']) await print(JSON.stringify(json))
  else {
    const name = data.length > 1 ? `${data.length} files` : sourceName(data[0])
    const lines = [
      `${name}: ${formatCount(result.rows)} rows, ${formatCount(result.features)} features, ${result.classes} classes`,
      `${result.models} models in ${formatSeconds(result.seconds.compute)}, after ${formatSeconds(result.seconds.read)} of reading`,
      '',
      'fold      rows   accuracy  passes      gap',
      ...folds.map(
        (fold, k) =>
          `${String(k + 1).padStart(4)} ${formatCount(fold.rows).padStart(9)} ${formatShare(fold.accuracy).padStart(10)} ${String(fold.passes).padStart(7)} ${formatGap(fold.gap).padStart(8)}`,
      ),
      '',
      `accuracy ${formatShare(accuracy)}${result.rowWeights ? ' by the weights of rows' : ''}, folds differ by ${formatShare(deviation)} (standard deviation)`,
    ]
    await print(lines.join('\n'))
  }
  await recorder?.finishFolds(data, result, json)
  return signal.aborted ? 130 : 0
}
