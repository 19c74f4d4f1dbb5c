// How fast tables are read: rows like those of criteo to a model, columns of numbers, and both beside a scan by DuckDB.
import { besideDuckDb } from '../sections/beside-duckdb.ts'
import { criteoSection } from '../sections/criteo.ts'
import { numbersSection } from '../sections/numbers.ts'
import type { Suite } from '../suite.ts'

export const tables: Suite = {
  name: 'tables',
  summary:
    'one logistic pass over a table of clicks; columns of numbers by the core; CSV and Parquet beside a scan by DuckDB',
  sections: ['criteo', 'numbers', 'duckdb'],
  dataSets: [],
  async *run(context) {
    if (context.wants('criteo')) yield criteoSection(context)
    if (context.wants('numbers')) yield numbersSection(context)
    if (context.wants('duckdb')) yield besideDuckDb(context)
  },
}
