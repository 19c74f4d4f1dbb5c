// The options --record and --report, for every command that has a run to tell of. What writes them is loaded when one is given.

import { alone, unlessOthersFail } from '../ranks/communicator.ts'
import { type Command, type CommandInput, type OptionSpec, type OptionValues, textOption } from './command.ts'
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

/** Gives the recorder of a run; undefined when neither was asked for: then nothing is gathered. Of several processes, the first one
 *  records. */
export type OpenRecorder = (run: RunToRecord) => Promise<Recorder | undefined>

/** A command that can be recorded. An error that ends it goes on record, too, be it that of another rank. */
export function recorded(run: (input: CommandInput, open: OpenRecorder) => Promise<number>): Command['run'] {
  return async input => {
    const { options, ranks } = input
    let recorder: Recorder | undefined
    const open: OpenRecorder = async about => {
      if (recordFiles(options).length === 0 || (ranks && ranks.rank > 0)) return undefined
      const { Recorder } = await import('./recorder.ts')
      recorder = new Recorder({ record: textOption(options, 'record'), report: textOption(options, 'report') }, about)
      return recorder
    }
    try {
      return await unlessOthersFail(ranks ?? alone, run(input, open))
    } catch (error) {
      await recorder?.failed(error)
      throw error
    }
  }
}
