// Options of every command that reads rows.
import { formatChoices } from '../input-formats/all-input-formats.ts'
import type { OptionSpec } from './command.ts'

export const readingOptions: Record<string, OptionSpec> = {
  format: {
    value: 'NAME',
    help: 'the format of the text; auto looks at its first line',
    choices: formatChoices(),
    fallback: 'auto',
    group: 'The data',
  },
  'index-base': {
    value: '0|1',
    help: 'number of the first feature in the data',
    choices: ['0', '1'],
    fallback: 'as the first row shows',
    group: 'The data',
  },
  'on-bad-row': {
    value: 'fail|skip',
    help: 'stop at a row that cannot be read, or count it and go on',
    choices: ['fail', 'skip'],
    fallback: 'fail',
    group: 'The data',
  },
  threads: { value: 'N', help: 'number of threads', fallback: 'as many as there are cores', group: 'The data' },
}
