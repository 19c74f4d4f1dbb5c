// spillway ingest: text into a new block store.
import { MOST_BINS } from '../additive-kernels/row-space.ts'
import { checkData, checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, memoryOption, numberOption, textOption } from './command.ts'
import { formatBytes, formatCount, formatSeconds } from './format.ts'
import { print } from './print.ts'
import { labelsOption, queryOf, readingOptions, sqlOption } from './reading-options.ts'
import { tableOptions, tableOptionsOf } from './table-options.ts'
import { ProgressLine, readingText } from './terminal.ts'
import { sayingWhatIsKept } from './what-is-kept.ts'

export const ingestCommand: Command = {
  name: 'ingest',
  takes: 'DATA… STORE',
  count: [2, Number.POSITIVE_INFINITY],
  dataOption: 'sql',
  options: {
    blocks: { value: 'N', help: 'number of blocks', fallback: 'one for every 128 MiB of text', group: 'The store' },
    split: {
      value: 'HOW',
      help: 'draw rows into blocks at random, or keep their order',
      choices: ['random', 'sequential'],
      fallback: 'random',
      group: 'The store',
    },
    seed: { value: 'N', help: 'seed of what --split draws at random', fallback: '1', group: 'The store' },
    bins: {
      value: 'B',
      help: 'for train --kernel: round values from 0 to 1 to B levels; up to 256 take one byte a value, more take two',
      group: 'The store',
    },
    values: {
      value: 'TYPE',
      help: 'precision in which the values of features are kept',
      choices: ['f32', 'f64'],
      fallback: 'f32',
      group: 'The store',
    },
    compress: {
      value: 'HOW',
      help: 'compress blocks with zstd as well; auto does so if reading them is then faster',
      choices: ['auto', 'zstd', 'none'],
      fallback: 'auto',
      group: 'The store',
    },
    memory: {
      value: 'SIZE',
      help: 'the most memory that the whole process may take, Node included; blocks are made to suit training in it',
      group: 'The store',
    },
    overwrite: { help: 'replace a store of the same name', group: 'The store' },
    ...readingOptions,
    ...sqlOption,
    ...labelsOption,
    ...tableOptions,
    'keep-names': {
      help: 'keep the names of hashed features, which models of the store then have: of Vowpal Wabbit text, and of the hashed columns of a table',
      group: 'The data',
    },
    again: { help: 'take files with the same content', group: 'The data' },
    json: { help: 'print one line of JSON at the end', group: 'Output' },
    quiet: { short: 'q', help: 'show no progress', group: 'Output' },
  },
  examples: [
    { line: 'spillway ingest reviews.svm reviews.spill', does: 'then: spillway train reviews.spill' },
    {
      line: 'spillway ingest day*.svm.zst clicks.spill --blocks 40',
      does: 'several files into one store of 40 blocks',
    },
  ],
  notes: 'A store is a folder, by habit NAME.spill. A store that was not finished is not opened by any command.',
  run: runIngest,
}

async function runIngest({ arguments: given, options, signal }: CommandInput): Promise<number> {
  const paths = [...queryOf(options), ...given.slice(0, -1)]
  const folder = given[given.length - 1]
  await checkData(paths, textOption(options, 'format'))
  await checkOutputs({ reads: paths, stores: [folder] })
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const { ingest } = await import('../block-store/ingest.ts')
  const work = ingest(paths, folder, {
    blocks: numberOption(options, 'blocks', { least: 1, most: 100000, whole: true }),
    split: textOption(options, 'split') as 'random' | 'sequential' | undefined,
    seed: numberOption(options, 'seed', { least: 0, most: Number.MAX_SAFE_INTEGER, whole: true }),
    bins: numberOption(options, 'bins', { least: 2, most: MOST_BINS, whole: true }),
    values: textOption(options, 'values') as 'f32' | 'f64' | undefined,
    compress: textOption(options, 'compress') as 'auto' | 'zstd' | 'none' | undefined,
    format: textOption(options, 'format'),
    indexBase: numberOption(options, 'index-base') as 0 | 1 | undefined,
    onBadRow: textOption(options, 'on-bad-row') as 'fail' | 'skip' | undefined,
    labels: textOption(options, 'labels'),
    keepNames: options['keep-names'] === true,
    again: options['again'] === true,
    ...tableOptionsOf(options),
    threads: numberOption(options, 'threads', { least: 1, most: 256, whole: true }),
    memory: memoryOption(options),
    overwrite: options['overwrite'] === true,
    signal,
    progress: progress => line.show(`${readingText(progress)}, ${formatBytes(progress.bytesWritten)} written`),
  }).finally(() => line.clear())
  const result = await sayingWhatIsKept(work, () => `nothing was kept of what was read: there is no ${folder}`)
  const { manifest, bytesRead, bytesWritten, seconds, badRows, badRowMessages } = result
  if (badRows > 0) {
    line.say(`skipped ${formatCount(badRows)} bad rows; the first:`)
    for (const message of badRowMessages) line.say(`  ${message}`)
  }
  const { rows, nonzeros, features, blocks, labels, compression } = manifest
  const perNonzero = nonzeros > 0 ? bytesWritten / nonzeros : 0
  if (options['json']) {
    const json = {
      command: 'ingest',
      rows,
      features,
      nonzeros,
      classes: labels.length,
      blocks: blocks.length,
      compression,
    }
    await print(JSON.stringify({ ...json, badRows, bytesRead, bytesWritten, seconds, store: folder }))
  } else {
    const lines = [
      `${formatCount(rows)} rows, ${formatCount(features)} features, ${formatCount(nonzeros)} nonzeros, ${labels.length} classes`,
      `${formatBytes(bytesRead)} of text in ${formatSeconds(seconds)} (${formatBytes(bytesRead / seconds)}/s)`,
      `store: ${folder}, ${formatBytes(bytesWritten)} in ${blocks.length} ${blocks.length === 1 ? 'block' : 'blocks'}, ${perNonzero.toFixed(2)} bytes a nonzero`,
    ]
    await print(lines.join('\n'))
  }
  return 0
}
