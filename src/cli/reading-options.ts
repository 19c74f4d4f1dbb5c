// Options of every command that reads rows.
import { UsageError } from '../errors.ts'
import { formatChoices } from '../input-formats/all-input-formats.ts'
import { pathOfQuery } from '../input-formats/stand-ins.ts'
import { type OptionSpec, type OptionValues, textOption } from './command.ts'

/** The option that names a query in place of data. */
export const sqlOption: Record<string, OptionSpec> = {
  sql: {
    value: 'QUERY',
    help: "in place of DATA: a query that DuckDB runs, e.g. SELECT * FROM 'clicks.parquet' (npm install @duckdb/node-api)",
    group: 'The data',
  },
}

/** The option that names the labels of an array. */
export const labelsOption: Record<string, OptionSpec> = {
  labels: { value: 'FILE', help: 'of a .npy or .npz file: the .npy file of its labels', group: 'The data' },
}

/** The data that a query stands for, if one was given. */
export function queryOf(options: OptionValues, name = 'sql'): string[] {
  const sql = textOption(options, name)
  return sql === undefined ? [] : [pathOfQuery(sql)]
}

/** The data of a command that takes nothing besides: its arguments, or a query alone. */
export function dataOrQuery(given: string[], options: OptionValues): string[] {
  const query = queryOf(options)
  if (query.length === 0) return given
  if (given.length === 0) return query
  const besides = given.length === 1 ? 'an argument was' : `${given.length} arguments were`
  throw new UsageError(`--sql is the data, and ${besides} given besides`, 'leave out one of them')
}

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
