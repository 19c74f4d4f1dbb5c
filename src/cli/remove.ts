// spillway remove: rows out of a store.
import type { RowsToRemove } from '../block-store/remove.ts'
import { UsageError } from '../errors.ts'
import { blocksText } from '../sizes.ts'
import { checkOutputs } from './check-files.ts'
import { type Command, type CommandInput, type OptionValues, textOption } from './command.ts'
import { NEXT_TRAINING } from './describe-store.ts'
import { formatBytes, formatCount, formatSeconds } from './format.ts'
import { print } from './print.ts'
import { ProgressLine } from './terminal.ts'
import { sayingWhatIsKept } from './what-is-kept.ts'

export const removeCommand: Command = {
  name: 'remove',
  takes: 'STORE',
  count: [1, 1],
  options: {
    rows: {
      value: 'FILE',
      help: 'the rows whose numbers are in this file, one on each line',
      group: 'Which rows (one of these)',
    },
    label: { value: 'L', help: 'the rows that have this label', group: 'Which rows (one of these)' },
    source: {
      value: 'NAME',
      help: 'the rows that came from this file, named as `spillway inspect` names it',
      group: 'Which rows (one of these)',
    },
    json: { help: 'print one line of JSON at the end', group: 'Output' },
    quiet: { short: 'q', help: 'show no progress', group: 'Output' },
  },
  examples: [
    { line: 'spillway remove clicks.spill --source day1.svm', does: 'forget the oldest day' },
    {
      line: 'spillway remove clicks.spill --rows wrong.txt',
      does: 'rows are numbered from 1 in the order they were added',
    },
    { line: 'spillway remove clicks.spill --label 7', does: 'a class that is no longer wanted' },
  ],
  notes:
    'Rows that stay keep their numbers. In a file of row numbers, blank lines are skipped, and so is what follows a #.\n' +
    'The store changes at the very end: if anything goes wrong, it is as it was.',
  run: runRemove,
}

function whatToRemove(options: OptionValues): RowsToRemove {
  const [rows, label, source] = ['rows', 'label', 'source'].map(name => textOption(options, name))
  const given = [rows, label, source].filter(value => value !== undefined).length
  if (given !== 1) {
    throw new UsageError(
      given === 0
        ? 'which rows are to be removed?'
        : 'rows are removed by number, by label or by source, one at a time',
      'give one of --rows FILE, --label L, --source NAME',
    )
  }
  if (rows !== undefined) return { rows }
  return label !== undefined ? { label } : { source: source as string }
}

async function runRemove({ arguments: [folder], options, signal }: CommandInput): Promise<number> {
  const what = whatToRemove(options)
  await checkOutputs({ reads: 'rows' in what ? [what.rows as string] : [], stores: [folder] })
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const { removeRows } = await import('../block-store/remove.ts')
  const work = removeRows(folder, what, {
    signal,
    progress: ({ blocks, blocksTotal, rows }) =>
      line.show(
        `${blocksTotal === undefined ? `block ${blocks} searched` : `block ${blocks} of ${blocksTotal} written`}, ${formatCount(rows)} rows found`,
      ),
  }).finally(() => line.clear())
  const result = await sayingWhatIsKept(work, () => `nothing was removed: ${folder} is as it was`)
  const { manifest, rows, nonzeros, blocksRewritten, blocksDropped, bytesRead, bytesWritten, seconds, states } = result
  if (options['json']) {
    const json = {
      command: 'remove',
      rowsRemoved: rows,
      nonzerosRemoved: nonzeros,
      blocksRewritten,
      blocksDropped,
      rows: manifest.rows,
      features: manifest.features,
      nonzeros: manifest.nonzeros,
      classes: manifest.labels.filter(label => label.rows > 0).length,
      blocks: manifest.blocks.length,
      states,
      bytesRead,
      bytesWritten,
      seconds,
      store: folder,
    }
    await print(JSON.stringify(json))
  } else {
    const lines = [
      `removed ${formatCount(rows)} rows, ${formatCount(nonzeros)} nonzeros, in ${formatSeconds(seconds)}`,
      `store: ${folder}, ${formatCount(manifest.rows)} rows in ${blocksText(manifest.blocks.length)} (${blocksRewritten} written anew, ${formatBytes(bytesWritten)}; ${blocksDropped} dropped)`,
      ...(states > 0 ? [NEXT_TRAINING] : []),
    ]
    await print(lines.join('\n'))
  }
  return 0
}
