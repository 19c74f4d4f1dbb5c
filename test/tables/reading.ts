// Tables that tests write, read as rows of plain numbers.

import { learnSchema } from '../../src/rows/learn-schema.ts'
import type { Schema } from '../../src/tables/schema.ts'
import type { TableOptions } from '../../src/tables/table-options.ts'
import { load } from '../input-formats/fixture.ts'
import { decodeRow } from '../numeric/reference.ts'

export interface ReadTable {
  schema: Schema
  /** Of each row its entries, by feature. */
  rows: Record<number, number>[]
  labels: string[]
  weights: number[] | undefined
  badRows: string[]
}

export interface HowToRead extends TableOptions {
  format?: string
  onBadRow?: 'fail' | 'skip'
  threads?: number
  schema?: Schema
  valueBits?: 32 | 64
  /** That the schema is learnt in. */
  memory?: number
}

/** Learns the schema of files, and reads their rows by it. */
export async function readTable(paths: string[], options: HowToRead = {}): Promise<ReadTable> {
  const { format, onBadRow = 'fail', threads = 1, valueBits = 64, schema: given, ...table } = options
  const learnt = given ? undefined : await learnSchema(paths, { ...table, format, onBadRow, threads })
  const schema = given ?? learnt!.schema
  const settings = { format: learnt?.format ?? format ?? 'csv', onBadRow, threads, valueBits, table: { schema } }
  return load(paths, settings, ({ arena, rows, read }) => {
    const records = Array.from(arena.u32(rows.table, rows.rows), at => decodeRow(arena, at))
    return {
      schema,
      rows: records.map(({ indices, values, scale }) =>
        Object.fromEntries([...indices].map((feature, k) => [feature, values[k] * scale])),
      ),
      labels: records.map(({ classNumber }) => rows.labels[classNumber].text),
      weights: rows.rowWeights === undefined ? undefined : [...arena.f64(rows.rowWeights, rows.rows)],
      badRows: read.badRowMessages,
    }
  })
}
