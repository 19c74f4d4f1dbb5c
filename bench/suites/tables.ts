// How fast tables are read: rows like those of criteo to a model, and columns of numbers.
import { criteoSection } from '../sections/criteo.ts'
import { numbersSection } from '../sections/numbers.ts'
import type { Suite } from '../suite.ts'

export const tables: Suite = {
  name: 'tables',
  summary: 'rows a second of one logistic pass over a table of clicks, and megabytes a second of a table of numbers',
  sections: ['criteo', 'numbers'],
  dataSets: [],
  async *run(context) {
    if (context.wants('criteo')) yield criteoSection(context)
    if (context.wants('numbers')) yield numbersSection(context)
  },
}
