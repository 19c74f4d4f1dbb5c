// What tasks that work on a chunk of data have in common: the parser that their thread keeps, class numbers for labels, and the
// account of the chunk. A task says what it does with each batch of rows.

import { refusedValue } from '../features/bins.ts'
import { allInputFormats } from '../input-formats/all-input-formats.ts'
import type {
  BadRow,
  ChunkBytes,
  ChunkParser,
  InputFormat,
  ParsedBatch,
  ParseSettings,
} from '../input-formats/input-format.ts'
import { type LabelCount, LabelNumbers } from '../input-formats/label-numbers.ts'
import type { Arena } from '../numeric/arena.ts'
import { BATCH_NONZEROS } from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'

/** What every such task is told: plain data. */
export interface ChunkToParse extends ChunkBytes {
  format: { module: string; name: string }
  parse: ParseSettings
}

/** What every such task answers. */
export interface ParsedChunk {
  rows: number
  nonzeros: number
  features: number
  /** Labels in order of appearance, as far as they were numbered. */
  labels: LabelCount[]
  /** Lines, or rows where there are no lines, bad ones included. */
  lines: number
  badRows: number
  /** The first few of them in full. */
  bad: BadRow[]
  /** A bad row that cannot be left out. */
  fatal?: boolean
}

interface Kept {
  parser: ChunkParser
  numbers: LabelNumbers
}

/** The rows of a chunk. A format that is not on the list is loaded by the address of its file. */
export async function rowsOfChunk({ arena, kept }: TaskContext, chunk: ChunkToParse): Promise<ChunkRows> {
  const { module, name } = chunk.format
  const key = `parser ${name}`
  let tools = kept.get(key) as Kept | undefined
  if (!tools) {
    const listed = allInputFormats.find(each => each.name === name)
    const formats: InputFormat[] = listed ? [listed] : Object.values(await import(module))
    const format = formats.find(each => each?.name === name && each.newParser)
    if (!format) throw new Error(`${module} has no input format ${name}`)
    tools = { parser: format.newParser(arena), numbers: new LabelNumbers(arena) }
    kept.set(key, tools)
  }
  await tools.parser.prepare?.(chunk, chunk.parse)
  return new ChunkRows(arena, tools, chunk)
}

export class ChunkRows {
  readonly #arena: Arena
  readonly #parser: ChunkParser
  readonly #numbers: LabelNumbers
  readonly #chunk: ChunkToParse
  readonly #total = { rows: 0, nonzeros: 0, features: 0 }
  #refused: BadRow | undefined

  constructor(arena: Arena, { parser, numbers }: Kept, chunk: ChunkToParse) {
    this.#arena = arena
    this.#parser = parser
    this.#numbers = numbers
    this.#chunk = chunk
    numbers.start()
  }

  /** Batch after batch, each there until the next is asked for. Rows are counted as their batch is left behind. For bins,
   *  a value outside of [0, 1] ends it. */
  *batches(forBins = false): Generator<ParsedBatch> {
    const { parse } = this.#chunk
    const total = this.#total
    for (const batch of this.#parser.parse(this.#chunk, parse)) {
      if (forBins) {
        this.#refused = refusedValue(this.#arena, batch.batch, parse.indexBase, row => this.#parser.place(row))
        if (this.#refused) return
      }
      yield batch
      total.rows += batch.rows
      total.nonzeros += this.#arena.getU32(batch.batch + BATCH_NONZEROS)
      total.features = Math.max(total.features, batch.features)
    }
  }

  /** Address of the class numbers of a batch: places in the account's labels. */
  classes({ batch, rows }: ParsedBatch): number {
    return this.#numbers.add(batch, rows, row => this.#parser.labelText(row))
  }

  /** The weights of the rows of a batch, where the data has them. */
  weights({ rows }: ParsedBatch): Float64Array | undefined {
    return this.#parser.rowWeights?.(rows)
  }

  /** The line of a row of the present batch in its chunk, counted from 0. */
  lineOf(row: number): number {
    return this.#parser.place(row).line
  }

  /** Labels that were numbered so far. */
  get labels(): LabelCount[] {
    return this.#numbers.labels
  }

  /** After the last batch. */
  account(): ParsedChunk {
    const { lines, badRows, bad } = this.#parser
    const found = { ...this.#total, labels: this.labels, lines, badRows, bad }
    return this.#refused ? { ...found, badRows: 1, bad: [this.#refused], fatal: true } : found
  }
}
