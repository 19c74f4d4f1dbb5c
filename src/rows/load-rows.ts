// Data to rows in memory: the main thread reads, the pool's threads parse and pack, results are taken in the order of
// the data, so that the outcome is the same for any number of threads.

import { fitFor } from '../features/expansion-steps.ts'
import { expandedFeatures } from '../features/kept-names.ts'
import type { TableReading } from '../input-formats/chunks.ts'
import { sourceName } from '../input-formats/given-rows.ts'
import type { Arena } from '../numeric/arena.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { parseRowsTask } from './parse-rows-task.ts'
import { RowReader } from './read-rows.ts'
import { RowCollector, type RowMaking, type RowSet } from './row-set.ts'

export interface ReadSettings {
  /** The name of a format, or `auto`. */
  format: string
  /** 0 or 1; found out from the first row when not given. */
  indexBase: number | undefined
  onBadRow: 'fail' | 'skip'
  valueBits: 32 | 64
  /** How tables are read. */
  table?: TableReading | undefined
}

export interface ReadReport {
  bytesRead: number
  bytesTotal: number | undefined
  rows: number
  badRows: number
  /** The first few bad rows in words. */
  badRowMessages: string[]
}

/** Reads data into memory. An abort ends the reading early; what was read until then is whole rows. */
export async function loadRows(
  arena: Arena,
  pool: ThreadPool,
  paths: string[],
  settings: ReadSettings,
  make: RowMaking,
  report: (progress: ReadReport) => void,
  signal?: AbortSignal,
): Promise<{ rows: RowSet; read: ReadReport; readMilliseconds: number }> {
  const collector = new RowCollector()
  const { expansion, ...pack } = make
  const fit = fitFor(expansion?.expand)
  const reader = new RowReader(arena, pool, { ...settings, fit, signal, keepsRows: true })
  const sources = paths.map(path => ({ name: sourceName(path), rows: 0 }))
  const hashes: bigint[] = []
  const names = new Set<number>()
  let nonzeros = 0
  let features = 0
  const progress = (): ReadReport => ({
    bytesRead: reader.bytesRead,
    bytesTotal: reader.bytesTotal,
    rows: collector.rows,
    badRows: reader.badRows,
    badRowMessages: reader.badRowMessages,
  })

  await reader.read(
    paths,
    (_, toParse) => pool.run(parseRowsTask, { ...toParse, expansion, pack: { ...pack, load: collector.load } }),
    (chunk, parsed) => {
      collector.add(parsed)
      sources[chunk.source].rows += parsed.table.length
      nonzeros += parsed.nonzeros
      features = Math.max(features, parsed.features)
      hashes.push(parsed.hash)
      names.add(parsed.names)
      report(progress())
    },
  )
  const { labels, rows, packedBytes } = collector
  return {
    rows: {
      ...collector.finish(arena),
      ...{ rows, nonzeros },
      ...expandedFeatures(arena, expansion, features, names),
      renumbered: undefined,
      labels,
      format: reader.format.name,
      indexBase: reader.indexBase,
      valueBits: settings.valueBits,
      packedBytes,
      fingerprint: hashOf(arena, hashes),
      sources,
    },
    read: progress(),
    readMilliseconds: reader.readMilliseconds,
  }
}

/** One hash of many. */
export function hashOf(arena: Arena, hashes: bigint[]): string {
  const mark = arena.mark()
  const at = arena.allocate(hashes.length * 8, 'a hash')
  arena.u64(at, hashes.length).set(hashes)
  const hash = BigInt.asUintN(64, arena.numeric.xxh64(at, hashes.length * 8))
  arena.release(mark)
  return `xxh64:${hash.toString(16).padStart(16, '0')}`
}
