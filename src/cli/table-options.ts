// Options that say what the columns of a table are.
import { listOf, type TableOptions } from '../tables/table-options.ts'
import { type OptionSpec, type OptionValues, textOption } from './command.ts'

const group = 'Tables'

export const tableOptions: Record<string, OptionSpec> = {
  label: {
    value: 'COLUMN',
    help: 'the column of the labels, by its name or its number',
    fallback: 'label, target, class or y',
    group,
  },
  weight: { value: 'COLUMN', help: 'a column of numbers that the costs of the rows are multiplied by', group },
  ignore: { value: 'COLUMNS', help: 'columns that are left out, with commas between', group },
  categorical: {
    value: 'COLUMNS',
    help: 'columns whose numbers are names; hash:BITS among them hashes all names, and saves the look at all rows',
    group,
  },
  text: { value: 'COLUMNS', help: 'columns of text: each word that occurs is a feature, by its hash', group },
  header: {
    value: 'yes|no|auto',
    help: 'whether the first row names the columns',
    choices: ['yes', 'no', 'auto'],
    fallback: 'auto',
    group,
  },
}

/** What the user said of a table. */
export function tableOptionsOf(options: OptionValues): TableOptions {
  const list = (name: string): string[] | undefined => {
    const text = textOption(options, name)
    return text === undefined ? undefined : listOf(text)
  }
  return {
    label: textOption(options, 'label'),
    weight: textOption(options, 'weight'),
    ignore: list('ignore'),
    categorical: list('categorical'),
    text: list('text'),
    header: textOption(options, 'header') as TableOptions['header'],
  }
}
