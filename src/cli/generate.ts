// spillway generate: data like a known set, of any size.

import { UsageError } from '../errors.ts'
import { likenesses } from '../generate/likenesses.ts'
import { checkOutputs } from './check-files.ts'
import { bytesOption, type Command, numberOption, textOption } from './command.ts'
import { formatBytes, formatCount } from './format.ts'
import { print, printAside } from './print.ts'

const names = Object.keys(likenesses)
const PROGRESS_EVERY = 200

export const generateCommand: Command = {
  name: 'generate',
  takes: 'OUT',
  count: [1, 1],
  options: {
    like: { value: 'NAME', help: 'the set to imitate', choices: names },
    rows: { value: 'N', help: 'rows to make' },
    size: { value: 'BYTES', help: 'or bytes of text to make, e.g. 2G', fallback: '1G, of skin all its rows' },
    seed: { value: 'N', help: 'the same seed makes the same bytes, whatever the number of threads', fallback: '1' },
    features: { value: 'N', help: "features, instead of the real set's" },
    noise: { value: 'P', help: 'share of labels that are wrong, from 0 to 0.5' },
    threads: { value: 'N', help: 'worker threads', fallback: 'as many as cores' },
    test: { value: 'FILE', help: 'also make a test file: other rows, the same hidden model' },
    'test-rows': { value: 'N', help: 'rows of the test file', fallback: 'a quarter of the rows' },
    json: { help: 'print one line of JSON at the end' },
    quiet: { help: 'print no progress', short: 'q' },
  },
  examples: [
    { line: 'spillway generate --like webspam spam.svm --size 2G', does: '2 GiB of long sparse rows' },
    {
      line: 'spillway generate --like kddb kddb.svm.zst --rows 1000000 --test kddb.t --test-rows 100000',
      does: 'a million rows of ones, compressed, and a test file to go with them',
    },
    {
      line: 'spillway generate --like criteo clicks.tsv --rows 1000000',
      does: 'a table of clicks, a label in column 1',
    },
    { line: 'spillway generate --like epsilon - --rows 1000 | head -c 300', does: 'dense rows on standard output' },
  ],
  notes: [
    'Sets:',
    ...Object.entries(likenesses).map(
      ([name, { about, rows, features, shape }]) =>
        `  ${name}  ${about} (${formatCount(rows)} rows, ${formatCount(features)} ${shape.kind === 'table' ? 'columns' : 'features'})`,
    ),
    '',
    'OUT is a file, - for standard output, or a name ending in .gz or .zst, which is compressed; --size counts the text.',
  ].join('\n'),

  async run({ arguments: [file], options, signal }) {
    const like = textOption(options, 'like')
    if (like === undefined) {
      throw new UsageError(`--like is missing; expected one of ${names.join(', ')}`, 'e.g. --like webspam')
    }
    const rows = numberOption(options, 'rows', { least: 1, whole: true })
    const size = bytesOption(options, 'size')
    if (rows !== undefined && size !== undefined) {
      throw new UsageError('--rows and --size were both given; one of them says how much data to make')
    }
    const test = textOption(options, 'test')
    await checkOutputs({ reads: [], prints: test === undefined ? [file] : [file, test] })
    const quiet = options['quiet'] === true
    const show = !quiet && process.stderr.isTTY
    let shown = 0
    const { generate } = await import('../generate/generate.ts')
    const result = await generate(file, {
      like,
      rows,
      size,
      seed: numberOption(options, 'seed', { least: 0, whole: true }),
      features: numberOption(options, 'features', { least: 1, whole: true }),
      noise: numberOption(options, 'noise', { least: 0, most: 0.5 }),
      threads: numberOption(options, 'threads', { least: 1, whole: true }),
      test,
      testRows: numberOption(options, 'test-rows', { least: 1, whole: true }),
      signal,
      onProgress: progress => {
        if (!show || performance.now() - shown < PROGRESS_EVERY) return
        shown = performance.now()
        process.stderr.write(
          `\r${progress.file}: ${Math.floor(progress.done * 100)} %, ${formatBytes(progress.bytes)}\x1b[K`,
        )
      },
    })
    if (show) process.stderr.write('\r\x1b[K')
    if (!quiet) {
      const entries = likenesses[like].shape.kind === 'table' ? 'filled cells' : 'nonzeros'
      const bytes = result.bytes + (result.test?.bytes ?? 0)
      for (const { file: name, rows: count, nonzeros, bytes: size } of [
        result,
        ...(result.test ? [result.test] : []),
      ]) {
        const each = (nonzeros / count).toFixed(1)
        process.stderr.write(
          `${name === '-' ? 'standard output' : name}: ${formatCount(count)} rows like ${like}, ${each} ${entries} a row, ${formatBytes(size)}\n`,
        )
      }
      process.stderr.write(`${result.seconds.toFixed(2)} s, ${formatBytes(bytes / result.seconds)} a second\n`)
    }
    if (options['json']) {
      const { features, nonzeros, bytes, seconds, test: tested } = result
      const counts = { rows: result.rows, features, nonzeros, bytes, seconds }
      const line = { command: 'generate', like, ...counts, file, test: tested }
      // The data itself may be on standard output; then the line goes where it does no harm.
      await (file === '-' || test === '-' ? printAside : print)(JSON.stringify(line))
    }
    return 0
  },
}
