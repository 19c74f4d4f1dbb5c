// Tables as delimited text with tabs between the cells: see csv.ts.
import { looksDelimited, TAB } from '../tables/delimited-text.ts'
import { csv, cutTable } from './csv.ts'
import type { InputFormat } from './input-format.ts'

export const tsv: InputFormat = {
  ...csv,
  module: import.meta.url,
  name: 'tsv',
  endings: ['tsv'],
  summary: 'tables: cells separated by tabs',
  row: 'CELL⇥CELL⇥…⇥LABEL',
  cut: cutTable([TAB], ['39\tState-gov\t0.5', '"a, b"\t1e-3'], line => looksDelimited(line, TAB)),
}
