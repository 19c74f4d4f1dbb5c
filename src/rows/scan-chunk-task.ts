// One chunk of text looked at, nothing kept: what `inspect` learns about data.
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import type { BadRow, ChunkParser, ParseSettings } from '../input-formats/input-format.ts'
import { type LabelCount, LabelNumbers } from '../input-formats/label-numbers.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'

export interface ScanChunkOptions {
  format: string
  at: Address
  bytes: ByteCount
  parse: ParseSettings
}

export interface ScannedChunk {
  rows: number
  nonzeros: number
  features: number
  emptyRows: number
  longestRow: number
  smallest: number
  largest: number
  labels: LabelCount[]
  lines: number
  badRows: number
  bad: BadRow[]
}

export const scanChunkTask = declareTask(import.meta.url, 'scan-chunk', scanChunk)

function scanChunk({ arena, kept }: TaskContext, options: ScanChunkOptions): ScannedChunk {
  const key = `scan ${options.format}`
  let tools = kept.get(key) as { parser: ChunkParser; numbers: LabelNumbers } | undefined
  if (!tools) {
    tools = { parser: findInputFormat(options.format).newParser(arena), numbers: new LabelNumbers(arena) }
    kept.set(key, tools)
  }
  const { parser, numbers } = tools
  numbers.start()
  const scanned = { rows: 0, nonzeros: 0, features: 0, emptyRows: 0, longestRow: 0 }
  let smallest = Number.POSITIVE_INFINITY
  let largest = Number.NEGATIVE_INFINITY
  for (const { batch, rows, nonzeros, features } of parser.parse(options.at, options.bytes, options.parse)) {
    numbers.add(batch, rows, row => parser.labelText(row))
    const fields = new BatchFields(arena, batch)
    const starts = arena.u32(fields.starts, rows + 1)
    for (let r = 0; r < rows; r++) {
      const length = starts[r + 1] - starts[r]
      if (length === 0) scanned.emptyRows++
      scanned.longestRow = Math.max(scanned.longestRow, length)
    }
    for (const value of arena.f32(fields.values, nonzeros)) {
      if (value < smallest) smallest = value
      if (value > largest) largest = value
    }
    scanned.rows += rows
    scanned.nonzeros += nonzeros
    scanned.features = Math.max(scanned.features, features)
  }
  const { lines, badRows, bad } = parser
  return { ...scanned, smallest, largest, labels: numbers.labels, lines, badRows, bad }
}
