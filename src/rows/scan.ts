// A look at data without keeping it: counts, labels and ranges, in constant memory.

import { BadRowAccount } from '../input-formats/bad-rows.ts'
import { type LabelCount, mergeLabels } from '../input-formats/label-numbers.ts'
import type { LabelKey } from '../input-formats/labels.ts'
import { LineChunks } from '../input-formats/line-chunks.ts'
import { Reading } from '../input-formats/reading.ts'
import { Arena } from '../numeric/arena.ts'
import { inOrder } from '../threads/in-order.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'
import { untilAborted } from '../threads/until-aborted.ts'
import { CHUNK_BYTES } from './load-rows.ts'
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
}

export interface ScanOptions {
  format?: string
  indexBase?: number
  onBadRow?: 'fail' | 'skip'
  threads?: number
  progress?: (progress: { bytesRead: number; bytesTotal: number | undefined; rows: number; seconds: number }) => void
  signal?: AbortSignal
}

export async function scanData(paths: string[], options: ScanOptions = {}): Promise<DataSummary> {
  const started = performance.now()
  const arena = new Arena()
  const pool = new ThreadPool(arena.share, options.threads ?? defaultThreads())
  const chunks = new LineChunks(arena, CHUNK_BYTES, pool.size + 3)
  const account = new BadRowAccount()
  const onBadRow = options.onBadRow ?? 'fail'
  const byKey = new Map<LabelKey, number>()
  const reading = new Reading(options.format, options.indexBase)
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
    await inOrder(
      untilAborted(chunks.read(paths), options.signal),
      chunk => {
        options.signal?.throwIfAborted()
        const { format, indexBase } = reading.look(arena.bytes(chunk.at, chunk.bytes))
        const parse = { indexBase, skipBad: onBadRow === 'skip', valueBits: 32 as const }
        return pool.run(scanChunkTask, { format, at: chunk.at, bytes: chunk.bytes, parse })
      },
      (chunk, scanned) => {
        account.add(chunk, scanned, onBadRow)
        mergeLabels(labels, byKey, scanned.labels)
        total.rows += scanned.rows
        total.nonzeros += scanned.nonzeros
        total.emptyRows += scanned.emptyRows
        total.features = Math.max(total.features, scanned.features)
        total.longestRow = Math.max(total.longestRow, scanned.longestRow)
        total.smallest = Math.min(total.smallest, scanned.smallest)
        total.largest = Math.max(total.largest, scanned.largest)
        const seconds = (performance.now() - started) / 1000
        options.progress?.({ seconds, bytesRead: chunks.bytesRead, bytesTotal: chunks.bytesTotal, rows: total.rows })
      },
      chunk => chunk.release(),
    )
    options.signal?.throwIfAborted()
  } finally {
    await pool.close()
  }
  return {
    format: reading.format.name,
    ...total,
    indexBase: reading.indexBase,
    labels,
    bytes: chunks.bytesRead,
    badRows: account.badRows,
    badRowMessages: account.messages,
  }
}
