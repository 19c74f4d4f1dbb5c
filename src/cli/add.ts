// spillway add: rows of text into a store that is there.
import { blocksText } from '../sizes.ts'
import { checkData, checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, numberOption, textOption } from './command.ts'
import { NEXT_TRAINING } from './describe-store.ts'
import { formatBytes, formatCount, formatSeconds } from './format.ts'
import { print } from './print.ts'
import { readingOptions } from './reading-options.ts'
import { ProgressLine, readingText } from './terminal.ts'
import { sayingWhatIsKept } from './what-is-kept.ts'

const { 'index-base': _, ...reading } = readingOptions

export const addCommand: Command = {
  name: 'add',
  takes: 'DATA… STORE',
  count: [2, Number.POSITIVE_INFINITY],
  options: {
    blocks: {
      value: 'N',
      help: 'number of new blocks',
      fallback: "as many as make them the size of the store's own",
      group: 'The store',
    },
    ...reading,
    format: {
      ...reading['format'],
      help: 'the format of the text; it must be that of the store',
      fallback: "the store's",
    },
    again: { help: 'add data whose content is in the store already', group: 'The data' },
    json: { help: 'print one line of JSON at the end', group: 'Output' },
    quiet: { short: 'q', help: 'show no progress', group: 'Output' },
  },
  examples: [
    {
      line: 'spillway add today.svm clicks.spill',
      does: 'then: spillway train clicks.spill --solver block, in fewer passes than from zero',
    },
    { line: 'spillway add day8.svm.zst day9.svm.zst clicks.spill --on-bad-row skip', does: 'several files' },
  ],
  notes:
    'New rows go into new blocks, and are read as the rows of the store were: features from 0 or 1, values in f32 or f64.\n' +
    'They are numbered on from the last row. The store changes at the very end: if anything goes wrong, it is as it was.',
  run: runAdd,
}

async function runAdd({ arguments: given, options, signal }: CommandInput): Promise<number> {
  const paths = given.slice(0, -1)
  const folder = given[given.length - 1]
  await checkData(paths, textOption(options, 'format'))
  await checkOutputs({ reads: paths, stores: [folder] })
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const { addRows } = await import('../block-store/add.ts')
  const work = addRows(paths, folder, {
    blocks: numberOption(options, 'blocks', { least: 1, most: 100000, whole: true }),
    format: textOption(options, 'format'),
    onBadRow: textOption(options, 'on-bad-row') as 'fail' | 'skip' | undefined,
    again: options['again'] === true,
    threads: numberOption(options, 'threads', { least: 1, most: 256, whole: true }),
    signal,
    progress: progress => line.show(`${readingText(progress)}, ${formatBytes(progress.bytesWritten)} written`),
  }).finally(() => line.clear())
  const result = await sayingWhatIsKept(work, () => `nothing was added: ${folder} is as it was`)
  const { manifest, bytesRead, bytesWritten, seconds, badRows, badRowMessages, newLabels, states } = result
  if (badRows > 0) {
    line.say(`skipped ${formatCount(badRows)} bad rows; the first:`)
    for (const message of badRowMessages) line.say(`  ${message}`)
  }
  if (options['json']) {
    const json = {
      command: 'add',
      rowsAdded: result.rows,
      nonzerosAdded: result.nonzeros,
      blocksAdded: result.blocks,
      newLabels,
      rows: manifest.rows,
      features: manifest.features,
      nonzeros: manifest.nonzeros,
      classes: manifest.labels.filter(label => label.rows > 0).length,
      blocks: manifest.blocks.length,
      states,
    }
    await print(JSON.stringify({ ...json, badRows, bytesRead, bytesWritten, seconds, store: folder }))
  } else {
    const lines = [
      `added ${formatCount(result.rows)} rows, ${formatCount(result.nonzeros)} nonzeros, in ${blocksText(result.blocks)}, ${formatBytes(bytesWritten)}`,
      ...(newLabels.length > 0
        ? [`new labels: ${newLabels.slice(0, 20).join(', ')}${newLabels.length > 20 ? ' …' : ''}`]
        : []),
      `${formatBytes(bytesRead)} of text in ${formatSeconds(seconds)}`,
      `store: ${folder}, ${formatCount(manifest.rows)} rows in ${blocksText(manifest.blocks.length)}`,
      ...(states > 0 ? [NEXT_TRAINING] : []),
    ]
    await print(lines.join('\n'))
  }
  return 0
}
