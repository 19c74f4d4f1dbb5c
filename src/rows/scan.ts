// A look at data without keeping it: counts, labels and ranges, in constant memory.

import { type LabelCount, mergeLabels } from '../input-formats/label-numbers.ts'
import type { LabelKey } from '../input-formats/labels.ts'
import { Arena } from '../numeric/arena.ts'
import type { Schema } from '../tables/schema.ts'
import type { TableOptions } from '../tables/table-options.ts'
import { learnSchema } from './learn-schema.ts'
import { poolForText } from './pool-for-text.ts'
import { RowReader } from './read-rows.ts'
import { scanChunkTask } from './scan-chunk-task.ts'

export interface DataSummary {
  /** The input format. */
  format: string
  rows: number
  nonzeros: number
  features: number
  indexBase: number
  emptyRows: number
  longestRow: number
  smallest: number
  largest: number
  labels: LabelCount[]
  bytes: number
  badRows: number
  badRowMessages: string[]
  /** Of a table. */
  schema?: Schema
}

export interface ScanOptions extends TableOptions {
  format?: string
  indexBase?: number
  onBadRow?: 'fail' | 'skip'
  threads?: number
  progress?: (progress: { bytesRead: number; bytesTotal: number | undefined; rows: number; seconds: number }) => void
  signal?: AbortSignal
}

export async function scanData(paths: string[], options: ScanOptions = {}): Promise<DataSummary> {
  const started = performance.now()
  const table = await learnSchema(paths, { ...options, format: options.format, onBadRow: options.onBadRow ?? 'fail' })
  const arena = new Arena()
  const pool = await poolForText(arena, paths, options.threads)
  const { indexBase, onBadRow = 'fail', signal } = options
  const format = table?.format ?? options.format
  const reader = new RowReader(arena, pool, {
    ...{ format, indexBase, onBadRow, valueBits: 32, signal },
    table: { schema: table?.schema, header: options.header },
  })
  const byKey = new Map<LabelKey, number>()
  const total = {
    rows: 0,
    nonzeros: 0,
    features: 0,
    emptyRows: 0,
    longestRow: 0,
    smallest: Infinity,
    largest: -Infinity,
  }
  const labels: LabelCount[] = []
  try {
    await reader.read(
      paths,
      (_, toParse) => pool.run(scanChunkTask, toParse),
      (_, scanned) => {
        mergeLabels(labels, byKey, scanned.labels)
        total.rows += scanned.rows
        total.nonzeros += scanned.nonzeros
        total.emptyRows += scanned.emptyRows
        total.features = Math.max(total.features, scanned.features)
        total.longestRow = Math.max(total.longestRow, scanned.longestRow)
        total.smallest = Math.min(total.smallest, scanned.smallest)
        total.largest = Math.max(total.largest, scanned.largest)
        const seconds = (performance.now() - started) / 1000
        const { bytesRead, bytesTotal } = reader
        options.progress?.({ seconds, bytesRead, bytesTotal, rows: total.rows })
      },
    )
  } finally {
    await pool.close()
  }
  return {
    format: reader.format.name,
    ...total,
    indexBase: reader.indexBase,
    labels,
    bytes: reader.bytesRead,
    badRows: reader.badRows,
    badRowMessages: reader.badRowMessages,
    ...(table && { schema: table.schema }),
  }
}
