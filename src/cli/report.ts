// spillway report: a page of charts from the records of a run that is over, or was cut short.
import { checkOutputs } from './check-files.ts'
import type { Command, CommandInput } from './command.ts'
import { print } from './print.ts'

export const reportCommand: Command = {
  name: 'report',
  takes: 'RUN.jsonl OUT.html',
  count: [2, 2],
  options: {
    json: { help: 'print one line of JSON at the end', group: 'Output' },
    quiet: { short: 'q', help: 'say nothing', group: 'Output' },
  },
  examples: [{ line: 'spillway report run.jsonl run.html', does: 'charts of a run that had --record run.jsonl' }],
  notes:
    'RUN.jsonl is what --record has written. Records of a run that was killed, or that is still going on, make a report of what\n' +
    'there is. The page is one file: it needs no network, and can be sent to others.',
  run: runReport,
}

async function runReport({ arguments: [records, out], options }: CommandInput): Promise<number> {
  await checkOutputs({ reads: [records], writes: [out] })
  const { readLines } = await import('../report/record-file.ts')
  const { writeReport } = await import('./recorder.ts')
  const lines = readLines(records)
  await writeReport(out, lines)
  if (options['json']) await print(JSON.stringify({ command: 'report', records: lines.length, out }))
  else if (options['quiet'] !== true) await print(`report: ${out}`)
  return 0
}
