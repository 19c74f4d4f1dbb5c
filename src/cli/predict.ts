// spillway predict: labels for rows, by a model.
import { AtomicFile } from '../files/atomic-file.ts'
import { writeStandard } from '../files/standard-output.ts'
import { loadModel } from '../model/files.ts'
import { shortfallJson, shortfallLines } from '../model/shortfall.ts'
import { checkData, checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, numberOption, textOption } from './command.ts'
import { evaluationLines } from './evaluation-report.ts'
import { formatBytes, formatCount, formatSeconds, formatShare } from './format.ts'
import { predictWords } from './liblinear-words.ts'
import { print, printAside } from './print.ts'
import { readingOptions } from './reading-options.ts'
import { ProgressLine, readingText } from './terminal.ts'

export const predictCommand: Command = {
  name: 'predict',
  takes: 'DATA MODEL [OUT]',
  count: [2, 3],
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
    json: { help: 'print one line of JSON at the end; labels only go to OUT', group: 'Output' },
    quiet: { short: 'q', help: 'show no progress and no summary', group: 'Output' },
    ...readingOptions,
    format: { ...readingOptions['format'], fallback: "the model's" },
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
    'DATA is text as the model was trained on, plain or compressed, or - for standard input; its labels serve to tell the accuracy. MODEL is a\n' +
    'Spillway or a LIBLINEAR model. Without OUT the labels go to standard output. With two classes a score above 0 means the\n' +
    'first label that `spillway inspect MODEL` lists. --probability takes a logistic model, or one that was calibrated; the label is\n' +
    'chosen by the scores. --evaluate of two classes takes 8 to 16 bytes of memory a row.',
  rewrite: predictWords,
  run: runPredict,
}

async function runPredict({ arguments: [data, modelPath, outPath], options, signal }: CommandInput): Promise<number> {
  const model = await loadModel(modelPath)
  await checkData([data], textOption(options, 'format') ?? model.inputFormat)
  await checkOutputs({ reads: [data, modelPath], writes: [outPath ?? '-'] })
  const json = options['json'] === true
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const indexBase = numberOption(options, 'index-base')
  const output =
    outPath === undefined || outPath === '-' ? (json ? undefined : standardOutput()) : await AtomicFile.create(outPath)
  try {
    const { predict } = await import('../predict/predict.ts')
    const result = await predict(data, model, {
      format: textOption(options, 'format'),
      indexBase: indexBase as 0 | 1 | undefined,
      onBadRow: textOption(options, 'on-bad-row') as 'fail' | 'skip' | undefined,
      threads: numberOption(options, 'threads', { least: 1, most: 256, whole: true }),
      signal,
      scores: options['scores'] === true,
      probability: options['probability'] === true,
      header: options['header'] === true,
      evaluate: options['evaluate'] === true,
      explain: numberOption(options, 'explain', { least: 1, most: 1e6, whole: true }),
      progress: progress => line.show(readingText(progress)),
      ...(output && { write: text => output.write(text) }),
    })
    await output?.commit()
    line.clear()
    if (result.badRows > 0) {
      line.say(`skipped ${formatCount(result.badRows)} bad rows; the first:`)
      for (const message of result.badRowMessages) line.say(`  ${message}`)
    }
    const { badRowMessages, correct, ...rest } = result
    const shortfall = shortfallJson(model)
    const extra = { ...(outPath && { out: outPath }), ...(shortfall && { shortfall }) }
    for (const [k, text] of shortfallLines(model).entries()) line.say(`${k === 0 ? 'this model ' : '  '}${text}`)
    if (json) await print(JSON.stringify({ command: 'predict', ...rest, ...extra }))
    else {
      line.say(
        `accuracy ${formatShare(result.accuracy)} (${formatCount(correct)} of ${formatCount(result.rows)} rows), ` +
          `${formatBytes(result.bytesRead)} in ${formatSeconds(result.seconds)}`,
      )
      // It was asked for: --quiet does not take it away. Standard output may be full of labels.
      if (result.evaluation) await printAside(evaluationLines(result.evaluation).join('\n'))
    }
    return 0
  } catch (error) {
    line.clear()
    await output?.discard()
    throw error
  }
}

function standardOutput(): Pick<AtomicFile, 'write' | 'commit' | 'discard'> {
  return {
    write: text => writeStandard('stdout', text),
    commit: async () => {},
    discard: async () => {},
  }
}
