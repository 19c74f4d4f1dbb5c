// Arrow IPC: files (.arrow, Feather 2) and streams. A chunk is a record batch, or a few small ones, behind the schema and the
// dictionaries that it needs. Its bytes are read by the main thread, and decoded by the thread that parses them, or by one of its own.
import { SpillwayError } from '../errors.ts'
import { roundUp } from '../numeric/rounding.ts'
import { batchesToCells } from './arrow-cells.ts'
import {
  type ArrowCells,
  type ArrowColumn,
  type ArrowMessage,
  type BatchMessage,
  CONTINUES,
  LONGEST_HEAD,
  PREFIX_BYTES,
  readMessage,
} from './arrow-messages.ts'
import { type AboutBatches, batchesToTextTask, damagedArrow, LARGEST_BATCH } from './arrow-task.ts'
import { DecodedTableParser } from './decoded-table.ts'
import type {
  DecodedTables,
  InputFormat,
  InputToOpen,
  OpenedInput,
  PlannedChunk,
  RandomAccess,
} from './input-format.ts'
import { reason } from './parquet-task.ts'

/** A file begins and ends with it; behind the first one are two zeros. */
const MAGIC = 'ARROW1'
const FILE_BEGINS = 8
/** Behind the last message of a file: a description of so many bytes, their number, and the magic. */
const TAIL_BYTES = 4 + MAGIC.length
/** Dictionaries go with every chunk. */
const MOST_DICTIONARY_BYTES = 1 << 26
/** A cell of a compressed batch is taken for so many bytes. */
const CELL_BYTES = 8

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  Buffer.from(bytes.subarray(0, text.length)).toString('latin1') === text

/** A message of a schema comes first in a stream. */
function isStream(head: Uint8Array): boolean {
  if (head.length < 16) return false
  const view = new DataView(head.buffer, head.byteOffset, head.length)
  const [mark, length, root] = [0, 4, 8].map(at => view.getUint32(at, true))
  return mark === CONTINUES && length >= 8 && length <= LONGEST_HEAD && length % 8 === 0 && root < length
}

/** Where a message stands, its head and body together. */
interface Placed {
  at: number
  bytes: number
  message: ArrowMessage
}

interface PlacedSchema extends Placed {
  columns: ArrowColumn[]
}

interface PlacedBatch extends Placed {
  message: BatchMessage
  /** Counted from 1. */
  number: number
}

async function open(input: InputToOpen, chunkBytes: number): Promise<OpenedInput> {
  const { name } = input
  const file = await input.file()
  const head = await file.bytes(0, Math.min(file.size, 16))
  const isFile = startsWith(head, MAGIC)
  if (!isFile && !isStream(head)) throw damagedArrow(name, file.size < 16 ? `${file.size} bytes in all` : 'other bytes')
  const end = isFile ? await endOfMessages(file, name) : file.size
  const messages = messagesOf(file, isFile ? FILE_BEGINS : 0, end, name)
  const first = await messages.next()
  const schema: Placed | undefined = first.done ? undefined : first.value
  if (schema?.message.kind !== 'schema') throw damagedArrow(name, 'no schema at its beginning')
  const { columns } = schema.message
  refuseTypes(columns, name)
  const plan = new ChunkPlan(file, name, { ...schema, columns }, chunkBytes)
  for await (const placed of messages) plan.add(placed)
  return { chunks: plan.finish(), columns: plan.columns }
}

/** Where the description at the end of a file begins. */
async function endOfMessages(file: RandomAccess, name: string): Promise<number> {
  if (file.size < FILE_BEGINS + TAIL_BYTES) throw damagedArrow(name, `${file.size} bytes in all`)
  const tail = Buffer.from(await file.bytes(file.size - TAIL_BYTES, TAIL_BYTES))
  if (!startsWith(tail.subarray(4), MAGIC)) throw damagedArrow(name, 'other bytes at its end')
  const length = tail.readInt32LE(0)
  if (length < 0 || length > file.size - FILE_BEGINS - TAIL_BYTES)
    throw damagedArrow(name, `a description of ${length} bytes`)
  return file.size - TAIL_BYTES - length
}

/** The messages one after the other, up to a mark of their end, or to the end of the data. */
async function* messagesOf(file: RandomAccess, from: number, end: number, name: string): AsyncGenerator<Placed> {
  for (let at = from; at < end; ) {
    const where = `${name}, byte ${at}`
    if (end - at < PREFIX_BYTES) throw damagedArrow(where, `${end - at} bytes behind the last message`)
    const prefix = Buffer.from(await file.bytes(at, PREFIX_BYTES))
    const length = prefix.readUInt32LE(4)
    if (prefix.readUInt32LE(0) !== CONTINUES) throw damagedArrow(where, 'bytes that start no message')
    if (length === 0) return
    if (length > LONGEST_HEAD || length > end - at - PREFIX_BYTES)
      throw damagedArrow(where, `a message whose head has ${length} bytes`)
    let message: ArrowMessage
    try {
      message = readMessage(await file.bytes(at + PREFIX_BYTES, length))
    } catch (error) {
      if (error instanceof SpillwayError) throw error
      throw damagedArrow(where, `a message that cannot be read (${reason(error)})`)
    }
    const bytes = PREFIX_BYTES + length + message.bodyBytes
    if (bytes > end - at) throw damagedArrow(where, `a message of ${bytes} bytes where there are ${end - at}`)
    yield { at, bytes, message }
    at += bytes
  }
}

function refuseTypes(columns: ArrowColumn[], name: string): void {
  const wrong = columns.find(({ refused }) => refused !== undefined)
  if (!wrong) return
  throw new SpillwayError(
    `${name}: found ${wrong.refused} in column ${JSON.stringify(wrong.name)}, expected numbers or texts`,
    'write the file without the column, or with columns of numbers or texts made of it',
  )
}

/** Which messages go together. */
class ChunkPlan {
  readonly columns: string[]
  readonly #cells: ArrowCells[]
  readonly #file: RandomAccess
  readonly #name: string
  readonly #schema: Placed
  readonly #chunkBytes: number
  readonly #chunks: PlannedChunk[] = []
  /** Of each dictionary: its values, and those that were added to them. */
  #dictionaries = new Map<bigint, Placed[]>()
  /** Those of the next chunk, and the bytes of their cells. */
  #batches: PlacedBatch[] = []
  #bytes = 0
  #count = 0

  constructor(file: RandomAccess, name: string, schema: PlacedSchema, chunkBytes: number) {
    this.#file = file
    this.#name = name
    this.#schema = schema
    this.#chunkBytes = chunkBytes
    this.columns = schema.columns.map(column => column.name)
    this.#cells = schema.columns.map(column => column.cells)
  }

  add(placed: Placed): void {
    const { message } = placed
    if (message.kind === 'dictionary') {
      // Batches before it have the dictionaries as they were.
      this.#cut()
      const { id, isDelta } = message
      this.#dictionaries.set(id, isDelta ? [...(this.#dictionaries.get(id) ?? []), placed] : [placed])
    } else if (message.kind === 'batch') {
      const batch = { ...placed, message, number: ++this.#count }
      this.#refuseTooLarge(batch)
      const bytes = this.#decodedBytes(batch)
      if (this.#bytes + bytes > this.#chunkBytes) this.#cut()
      this.#batches.push(batch)
      this.#bytes += bytes
    } else throw damagedArrow(`${this.#name}, byte ${placed.at}`, `a message of another kind (${message.kind})`)
  }

  finish(): PlannedChunk[] {
    this.#cut()
    return this.#chunks
  }

  /** Bytes of the cells, as far as heads of messages tell. */
  #decodedBytes({ bytes, message }: PlacedBatch): number {
    return Math.max(bytes, message.compressed ? message.rows * this.columns.length * CELL_BYTES : 0)
  }

  #refuseTooLarge(batch: PlacedBatch): void {
    const where = `${this.#name}, record batch ${batch.number}`
    const found = Math.max(this.#decodedBytes(batch), (batch.message.rows * this.columns.length) / 8)
    if (found > LARGEST_BATCH) {
      throw new SpillwayError(
        `${where}: found about ${Math.ceil(found)} bytes in ${batch.message.rows} rows, expected at most ${LARGEST_BATCH}, for a record batch is decoded at once`,
        'write the file with smaller record batches, e.g. chunksize=65536',
      )
    }
    // Every cell but that of a column of nulls has a bit at least.
    if (!batch.message.compressed && batch.message.rows > batch.message.bodyBytes * 8)
      throw damagedArrow(where, `${batch.message.rows} rows in ${batch.message.bodyBytes} bytes`)
  }

  #cut(): void {
    const batches = this.#batches
    if (batches.length === 0) return
    const decodedBytes = this.#bytes
    this.#batches = []
    this.#bytes = 0
    const ids = [...this.#dictionaries].flatMap(([id, placed]) => placed.map(() => id))
    const dictionaries = [...this.#dictionaries.values()].flat()
    const dictionaryBytes = dictionaries.reduce((sum, { bytes }) => sum + bytes, 0)
    if (dictionaryBytes > MOST_DICTIONARY_BYTES) {
      throw new SpillwayError(
        `${this.#name}: found dictionaries of ${dictionaryBytes} bytes, expected at most ${MOST_DICTIONARY_BYTES}, for they are decoded with every record batch`,
        'write the file with plain texts in place of dictionaries',
      )
    }
    const messages = [this.#schema, ...dictionaries, ...batches]
    const [first, last] = [batches[0].number, batches[batches.length - 1].number]
    const part = first === last ? `record batch ${first}` : `record batches ${first} to ${last}`
    const about: AboutBatches = {
      name: `${this.#name}, ${part}`,
      decodedBytes: decodedBytes + dictionaryBytes,
      messages: messages.map(({ bytes }) => bytes),
      dictionaries: ids,
      rows: batches.reduce((sum, { message }) => sum + message.rows, 0),
      ...{ columns: this.columns, cells: this.#cells },
    }
    this.#chunks.push({
      name: part,
      bytes: messages.reduce((sum, { bytes }) => sum + roundUp(bytes, 8), 0),
      fill: async target => {
        let at = 0
        for (const message of messages) {
          await this.#file.fill(target.subarray(at, at + message.bytes), message.at)
          at += roundUp(message.bytes, 8)
        }
      },
      about,
    })
  }
}

const tables: DecodedTables = {
  toCells: async (rooms, chunk, about, wanted) => batchesToCells(rooms, chunk, about as AboutBatches, wanted),
  toText: batchesToTextTask,
}

export const arrow: InputFormat = {
  module: import.meta.url,
  name: 'arrow',
  endings: ['arrow', 'arrows', 'feather'],
  summary: 'Arrow files and streams, Feather 2: tables in columns',
  title: 'Arrow data',
  row: 'LABEL and the cells of the other columns',
  letters: false,
  cut: { by: 'plan', detect: head => startsWith(head, MAGIC) || isStream(head), indexBase: 1, open, tables },
  newParser: arena => new DecodedTableParser(arena, tables),
}
