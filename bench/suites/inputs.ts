// How fast tables are read: numeric CSV by the core, and Parquet and Arrow beside DuckDB's own scan.
import { inputsSection } from '../sections/inputs.ts'
import type { Suite } from '../suite.ts'

export const inputs: Suite = {
  name: 'inputs',
  summary: 'reading tables: numeric CSV by the core, Parquet beside a scan by DuckDB',
  sections: ['inputs'],
  dataSets: [],
  async *run(context) {
    if (context.wants('inputs')) yield inputsSection(context)
  },
}
