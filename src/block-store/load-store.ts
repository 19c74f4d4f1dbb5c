// A block store to rows in memory: several blocks are read at a time, their segments decoded by the pool's threads, and
// the rows put together in the order of blocks and segments.

import { expandedFeatures } from '../features/kept-names.ts'
import { labelKey } from '../input-formats/labels.ts'
import type { Arena } from '../numeric/arena.ts'
import type { ReadReport } from '../rows/load-rows.ts'
import { RowCollector, type RowMaking, type RowSet } from '../rows/row-set.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { ReadBuffer } from './block-file.ts'
import type { DecodedRows } from './decode-rows-task.ts'
import { decodeRowsTask } from './decode-rows-task.ts'
import { inputFormatOf } from './manifest.ts'
import type { Store } from './reader.ts'
import { storedKey, unlistedLabel } from './stored-labels.ts'

export async function loadStore(
  arena: Arena,
  pool: ThreadPool,
  store: Store,
  make: RowMaking,
  report: (progress: ReadReport) => void,
  signal?: AbortSignal,
): Promise<{ rows: RowSet; read: ReadReport }> {
  const { manifest } = store
  const collector = new RowCollector()
  const { expansion, ...pack } = make
  const bytesTotal = manifest.blocks.reduce((sum, block) => sum + block.bytes, 0)
  const read: ReadReport = { bytesRead: 0, bytesTotal, rows: 0, badRows: 0, badRowMessages: [] }
  const decoded: DecodedRows[][] = manifest.blocks.map(() => [])
  let next = 0
  const names = new Set<number>()
  let nonzeros = 0
  let failed = false
  const reader = async (): Promise<void> => {
    const buffer = new ReadBuffer(arena)
    while (next < manifest.blocks.length && !signal?.aborted && !failed) {
      const block = next++
      try {
        for await (const { at, bytes, where, header } of store.blockSegments(block, buffer)) {
          const piece = await pool.run(decodeRowsTask, {
            at,
            bytes,
            where,
            expansion,
            pack: { ...pack, load: collector.load },
          })
          decoded[block].push(piece)
          nonzeros += piece.nonzeros
          names.add(piece.names)
          read.bytesRead += bytes
          read.rows += header.rows
          report(read)
        }
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  // One reader more than there are threads keeps them all busy while a read is under way.
  const readers = Array.from({ length: Math.min(pool.size + 1, manifest.blocks.length) }, reader)
  const outcomes = await Promise.allSettled(readers)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  for (const block of decoded) for (const piece of block) collector.add(piece)
  const texts = new Map(manifest.labels.map(label => [storedKey(label), label.text]))
  for (const label of collector.labels) {
    const text = texts.get(labelKey(label))
    if (text === undefined && label.value === null) throw unlistedLabel(store.folder)
    label.text = text ?? label.text
  }
  return {
    rows: {
      ...collector.finish(arena),
      ...{ rows: collector.rows, nonzeros },
      ...expandedFeatures(arena, expansion, manifest.features, names),
      renumbered: undefined,
      labels: collector.labels,
      format: inputFormatOf(manifest),
      indexBase: manifest.indexBase,
      valueBits: manifest.valueBits,
      packedBytes: collector.packedBytes,
      fingerprint: `xxh64:${manifest.fingerprint}`,
      sources: manifest.sources.map(({ name, rows }) => ({ name, rows })),
    },
    read,
  }
}
