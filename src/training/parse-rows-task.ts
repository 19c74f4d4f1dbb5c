// One chunk of text to row records in the arena: what a worker does while the main thread reads the next chunk.
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import type { BadRow, ChunkParser, ParseSettings } from '../input-formats/input-format.ts'
import { LabelNumbers } from '../input-formats/label-numbers.ts'
import { type Arena, windowFull } from '../numeric/arena.ts'
import { BATCH_LABELS } from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'
import { type PackSettings, RowPacker } from './row-packer.ts'

export interface ParseRowsOptions {
  format: string
  at: number
  bytes: number
  parse: ParseSettings
  pack: PackSettings
}

export interface ParsedRows {
  /** Addresses of the row records, in the order of the text. */
  table: Uint32Array
  nonzeros: number
  features: number
  /** Labels in order of appearance; the class of a record is its place here. */
  labels: { value: number; text: string; rows: number }[]
  lines: number
  badRows: number
  bad: BadRow[]
  /** Bytes of row records written. */
  packedBytes: number
  /** Of the chunk's text. */
  hash: bigint
}

interface Kept {
  parser: ChunkParser
  packer: RowPacker
  numbers: LabelNumbers
}

function keptTools({ arena, kept }: TaskContext, format: string): Kept {
  const key = `parse-rows ${format}`
  let tools = kept.get(key) as Kept | undefined
  if (!tools) {
    tools = {
      parser: findInputFormat(format).newParser(arena),
      packer: new RowPacker(arena),
      numbers: new LabelNumbers(arena),
    }
    kept.set(key, tools)
  }
  return tools
}

export function parseRowsTask(context: TaskContext, options: ParseRowsOptions): ParsedRows {
  const { parser, packer, numbers } = keptTools(context, options.format)
  const { arena } = context
  numbers.start()
  packer.start(options.pack)
  let nonzeros = 0
  let features = 0
  for (const batch of parser.parse(options.at, options.bytes, options.parse)) {
    const classes = numbers.add(labelsOf(arena, batch.batch), batch.rows, row => parser.labelText(row))
    if (!packer.pack(batch.batch, batch.rows, classes)) throw windowFull('the rows')
    nonzeros += batch.nonzeros
    features = Math.max(features, batch.features)
  }
  const { lines, badRows, bad } = parser
  return {
    table: packer.table(),
    nonzeros,
    features,
    labels: numbers.labels,
    lines,
    badRows,
    bad,
    packedBytes: packer.written,
    hash: arena.numeric.xxh64(options.at, options.bytes),
  }
}

const labelsOf = (arena: Arena, batch: number): number => arena.getU32(batch + BATCH_LABELS)
