// The options --record and --report, for every command that has a run to tell of. What writes them is loaded when one is given.
import { type OptionSpec, type OptionValues, textOption } from './command.ts'
import type { Recorder, RunToRecord } from './recorder.ts'

export const recordOptions: Record<string, OptionSpec> = {
  record: {
    value: 'FILE.jsonl',
    help: 'write what the run tells, one record a line, for spillway report and spillway compare',
    group: 'Output',
  },
  report: { value: 'FILE.html', help: 'write a page with charts of the run, all in one file', group: 'Output' },
}

/** The files that they name. */
export function recordFiles(options: OptionValues): string[] {
  return [textOption(options, 'record'), textOption(options, 'report')].filter(path => path !== undefined)
}

/** Undefined when neither was asked for: then nothing is gathered. */
export async function openRecorder(options: OptionValues, run: RunToRecord): Promise<Recorder | undefined> {
  if (recordFiles(options).length === 0) return undefined
  const { Recorder } = await import('./recorder.ts')
  return new Recorder({ record: textOption(options, 'record'), report: textOption(options, 'report') }, run)
}
