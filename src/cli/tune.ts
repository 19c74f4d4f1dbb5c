// spillway tune: the cost with the best accuracy on held-out rows, and the model at that cost.
import { UsageError } from '../errors.ts'
import { shortfallJson, shortfallLines } from '../model/shortfall.ts'
import { alone } from '../ranks/communicator.ts'
import type { ResultFields } from '../report/records.ts'
import type { Tuning } from '../train/tune.ts'
import type { CostResult } from '../train/validation.ts'
import { checkData, checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, numberOption, textOption } from './command.ts'
import { askedOf } from './evaluation-report.ts'
import { foldOptions, formatCost, parseCosts } from './fold-options.ts'
import { formatCount, formatSeconds, formatShare, sourceName } from './format.ts'
import { fromLiblinear } from './liblinear-words.ts'
import { print } from './print.ts'
import { dataOrQuery, queryOf } from './reading-options.ts'
import { type OpenRecorder, recorded, recordFiles } from './record-options.ts'
import { exitCodeOf, keptLines, type SavedModel, saveTrained } from './save-trained.ts'
import { sameDataOf } from './share-of-data.ts'
import { showProgress } from './terminal.ts'
import { splitArguments, testOf, testOn } from './train.ts'
import { expandNotes, optionsOfTrain, trainOptions } from './train-options.ts'
import { testJson, testLines } from './train-summary.ts'

export const tuneCommand: Command = {
  name: 'tune',
  takes: 'DATA… [MODEL]',
  count: [1, Number.POSITIVE_INFINITY],
  dataOption: 'sql',
  options: {
    cost: {
      value: 'LIST',
      short: 'c',
      help: 'costs to try: 0.1,1,10 or 2^-6..2^6',
      fallback: 'from a small one upwards, until it gets worse',
      group: 'The folds',
    },
    choose: {
      value: 'WHICH',
      help: 'the cost of the model: the best, or the smallest within a standard error of it',
      choices: ['best', 'simplest'],
      fallback: 'best',
      group: 'The folds',
    },
    'no-model': { help: 'only say which cost is best, and write no model', group: 'Output' },
    model: { value: 'FILE', help: 'where the model goes, when it is not the last argument', group: 'Output' },
    ...foldOptions,
    ...Object.fromEntries(['keep-names', 'test', 'test-sql', 'evaluate'].map(name => [name, optionsOfTrain[name]])),
  },
  examples: [
    { line: 'spillway tune reviews.svm', does: 'finds a cost by itself; writes reviews.svm.model' },
    {
      line: 'spillway tune digits.svm digits.model --cost 2^-6..2^6 --folds 5 --loss squared-hinge --choose simplest',
      does: '13 costs times 5 folds trained together; the model is the simplest that is about as good as the best',
    },
    {
      line: 'spillway tune --sql "SELECT * FROM \'clicks.parquet\'" --label clicked --test-sql "SELECT * FROM \'may.parquet\'"',
      does: 'the rows of a query; the model is tested on those of another',
    },
  ],
  notes: [
    'The rows are read once. With --cost, the models of all costs and folds are trained together. Without it, larger and larger',
    'costs are tried one after the other, and each begins with the models of the cost before. Data that does not fit in memory is',
    'read in blocks, for all costs together; Ctrl-C then ends without figures.',
    '',
    ...expandNotes,
  ].join('\n'),
  rewrite: fromLiblinear,
  overRanks: true,
  run: recorded(runTune),
}

async function runTune(input: CommandInput, openRecorder: OpenRecorder): Promise<number> {
  const { arguments: given, options, words = [], signal, ranks = alone } = input
  const wantsModel = options['no-model'] !== true
  const { data, model } = wantsModel
    ? await splitArguments(given, textOption(options, 'model'), queryOf(options))
    : { data: dataOrQuery(given, options), model: '' }
  const test = testOf(options)
  if (test !== undefined && !wantsModel) {
    throw new UsageError('--no-model writes no model, and there is none to test', 'leave out --no-model, or the test')
  }
  const { cost: _, ...settings } = trainOptions({ ...options, cost: undefined })
  const cost = textOption(options, 'cost')
  const choose = textOption(options, 'choose') === 'simplest' ? 'simplest' : 'best'
  const reads = test === undefined || ranks.rank > 0 ? data : [...data, test]
  await sameDataOf(data, ranks)
  await checkData(reads, textOption(options, 'format'))
  const writes = [...(wantsModel ? [model] : []), ...recordFiles(options)]
  await checkOutputs({ reads, writes: ranks.rank > 0 ? [] : writes })
  const { line, tell } = showProgress(options, settings)
  const about = { words, data, settings: { ...settings, cost }, warn: (text: string) => line.say(text) }
  const recorder = await openRecorder({ verb: 'tune', ...about })
  const { tune } = await import('../train/tune.ts')
  const result = await tune(data, {
    ...settings,
    ...(cost !== undefined && { costs: parseCosts(cost) }),
    folds: numberOption(options, 'folds', { least: 2, most: 255, whole: true }),
    final: wantsModel ? choose : 'none',
    signal,
    progress: recorder?.along(tell) ?? tell,
    ...(ranks.size > 1 && { ranks }),
  }).finally(() => line.clear())
  if (ranks.rank > 0) return 0
  const saved = result.final && (await saveTrained(model, result.final, settings.maxPasses !== undefined, data))
  const tested =
    test === undefined || signal.aborted || !result.final ? undefined : await testOn(test, result.final.model, input)
  const shown = tested && askedOf(tested, options['evaluate'] === true)
  const json = { ...tuneJson(result, saved), ...(shown && { test: testJson(shown) }) }
  const text = (): string => [tuneText(result, data, saved, choose), ...(shown ? testLines(shown) : [])].join('\n')
  await print(options['json'] ? JSON.stringify(json) : text())
  await recorder?.finishTuned(data, result, json, tested && [test!, tested])
  if (signal.aborted) return 130
  return result.final && saved ? exitCodeOf(result.final, saved) : 0
}

function tuneJson(result: Tuning, saved: SavedModel | undefined): ResultFields {
  const { final, best, simplest, badRowMessages: _, data: _data, ...rest } = result
  const shortfall = final && shortfallJson(final.model)
  return {
    command: 'tune',
    ...rest,
    best: { cost: best.cost, accuracy: best.accuracy },
    simplest: { cost: simplest.cost, accuracy: simplest.accuracy },
    ...(final && {
      ...saved,
      ...{ cost: final.cost, primal: final.primal, dual: final.dual, gap: final.gap, exitReason: final.exitReason },
      ...(shortfall && { shortfall }),
    }),
  }
}

function tuneText(result: Tuning, data: string[], saved: SavedModel | undefined, choose: 'best' | 'simplest'): string {
  const { costs, best, simplest, seconds, final } = result
  const name = data.length > 1 ? `${data.length} files` : sourceName(data[0])
  const lines = [
    `${name}: ${formatCount(result.rows)} rows, ${formatCount(result.features)} features, ${result.classes} classes`,
    `${formatCount(result.models)} models of ${result.folds} folds and ${costs.length} costs in ${formatSeconds(seconds.compute)}, after ${formatSeconds(seconds.read)} of reading`,
    '',
    ...chart(costs, best, simplest),
    '',
    `best: C = ${formatCost(best.cost)}, ${formatShare(best.accuracy)} of rows${result.rowWeights ? ', by their weights,' : ''} told right that were not trained on`,
  ]
  if (simplest !== best) {
    lines.push(
      `simplest within a standard error (${formatShare(best.standardError)}): C = ${formatCost(simplest.cost)}, ${formatShare(simplest.accuracy)}`,
    )
  }
  if (final && saved) {
    lines.push(
      `model: ${saved.model}, ${choose === 'best' ? 'the best' : 'the simplest'}, C = ${formatCost(final.cost)}`,
    )
    lines.push(...keptLines(saved))
    lines.push(...shortfallLines(final.model).map(line => `  ${line}`))
  }
  return lines.join('\n')
}

const BAR = 40
const EIGHTHS = ' ▏▎▍▌▋▊▉'

/** A line for each cost, with a bar as long as its accuracy is above the worst. */
function chart(costs: CostResult[], best: CostResult, simplest: CostResult): string[] {
  const accuracies = costs.map(({ accuracy }) => accuracy)
  const [least, most] = [Math.min(...accuracies), Math.max(...accuracies)]
  const width = Math.max(4, ...costs.map(({ cost }) => formatCost(cost).length))
  const marks = costs.map(cost => (cost === best ? ' best' : cost === simplest ? ' simplest' : ''))
  return [
    `${'cost'.padStart(width)}   accuracy   ± s.e.`,
    ...costs.map(({ cost, accuracy, standardError }, k) => {
      const length = most > least ? 0.5 + (BAR - 0.5) * ((accuracy - least) / (most - least)) : BAR
      const eighths = Math.round(length * 8)
      const bar = `${'█'.repeat(eighths >> 3)}${EIGHTHS[eighths & 7].trim()}`
      return `${formatCost(cost).padStart(width)}  ${formatShare(accuracy).padStart(9)}  ${(100 * standardError).toFixed(2).padStart(7)}  ${bar}${marks[k]}`
    }),
  ]
}
