// One chunk of text to row records in the arena: what a worker does while the main thread reads the next chunk.
import { badValue } from '../features/bins.ts'
import { Expander, piecesOf } from '../features/expander.ts'
import { newNameMap } from '../features/kept-names.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import type { BadRow, ChunkParser, ParseSettings } from '../input-formats/input-format.ts'
import { type LabelCount, LabelNumbers } from '../input-formats/label-numbers.ts'
import { windowFull } from '../numeric/arena.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { type PackSettings, RowPacker } from './row-packer.ts'

export interface ParseRowsOptions {
  format: string
  at: Address
  bytes: ByteCount
  parse: ParseSettings
  expansion?: ExpansionOptions
  pack: PackSettings
}

/** How rows are expanded: plain data. */
export interface ExpansionOptions {
  expand: string
  /** Note which features there are before they are hashed. */
  keepNames: boolean
}

export interface ParsedRows {
  /** Addresses of the row records, in the order of the text. */
  table: Uint32Array
  /** Of the rows as packed. */
  nonzeros: number
  /** Of the text, before rows are expanded. */
  features: number
  /** Address of this thread's map of features that were hashed so far; 0 when they were too many for it. */
  names: number
  /** Labels in order of appearance; the class of a record is its place here. */
  labels: LabelCount[]
  lines: number
  badRows: number
  bad: BadRow[]
  /** A bad row that cannot be left out. */
  fatal?: boolean
  /** Bytes of row records written. */
  packedBytes: ByteCount
  /** Of the chunk's text. */
  hash: bigint
}

interface Kept {
  parser: ChunkParser
  packer: RowPacker
  numbers: LabelNumbers
  expander: Expander | undefined
  names: number
}

function keptTools({ arena, kept }: TaskContext, format: string, expansion: ExpansionOptions | undefined): Kept {
  const key = `parse-rows ${format} ${JSON.stringify(expansion)}`
  let tools = kept.get(key) as Kept | undefined
  if (!tools) {
    const names = expansion?.keepNames ? newNameMap(arena) : 0
    tools = {
      parser: findInputFormat(format).newParser(arena),
      packer: new RowPacker(arena),
      numbers: new LabelNumbers(arena),
      expander: expansion && new Expander(arena, expansion.expand, names),
      names,
    }
    kept.set(key, tools)
  }
  return tools
}

export const parseRowsTask = declareTask(import.meta.url, 'parse-rows', parseRows)

function parseRows(context: TaskContext, options: ParseRowsOptions): ParsedRows {
  const { parser, packer, numbers, expander, names } = keptTools(context, options.format, options.expansion)
  const { arena } = context
  numbers.start()
  packer.start(options.pack)
  let nonzeros = 0
  let features = 0
  for (const batch of parser.parse(options.at, options.bytes, options.parse)) {
    const outside = options.pack.bins ? arena.numeric.findOutside(batch.batch) >>> 0 : 0xffffffff
    if (outside !== 0xffffffff) {
      const bad = [badValue(arena, batch.batch, outside, options.at, options.parse.indexBase)]
      return { ...nothingParsed(), badRows: 1, bad, fatal: true }
    }
    const classes = numbers.add(batch.batch, batch.rows, row => parser.labelText(row))
    for (const piece of piecesOf(arena, batch.batch, expander)) {
      if (!packer.pack(piece.batch, piece.rows, classes + piece.first * 4)) throw windowFull('the rows')
      nonzeros += piece.nonzeros
    }
    features = Math.max(features, batch.features)
  }
  const { lines, badRows, bad } = parser
  return {
    table: packer.table(),
    nonzeros,
    features,
    names: expander?.namesComplete ? names : 0,
    labels: numbers.labels,
    lines,
    badRows,
    bad,
    packedBytes: packer.written,
    hash: arena.numeric.xxh64(options.at, options.bytes),
  }
}

function nothingParsed(): ParsedRows {
  const none = { nonzeros: 0, features: 0, names: 0, lines: 0, badRows: 0, packedBytes: 0 }
  return { ...none, table: new Uint32Array(0), labels: [], bad: [], hash: 0n }
}
