// The messages of Arrow data as far as they are looked at before they are decoded: what kind each is, where it ends, and which
// columns and how many rows there are. Their heads are flatbuffers. Every place and every length is checked: a file may have been
// damaged, or made to do harm.
// https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc

import {
  CELL_BIT,
  CELL_F32,
  CELL_F64,
  CELL_I8,
  CELL_I16,
  CELL_I32,
  CELL_I64,
  CELL_U8,
  CELL_U16,
  CELL_U32,
  CELL_U64,
} from '../numeric/table-layout.ts'

export const CONTINUES = 0xffffffff
/** Bytes in front of the head of a message: a mark, and the length of the head. */
export const PREFIX_BYTES = 8
export const LONGEST_HEAD = 1 << 26
const MOST_COLUMNS = 1 << 20

export interface ArrowColumn {
  name: string
  /** What its type is called where it has no cells that are numbers or texts. */
  refused: string | undefined
  cells: ArrowCells
}

/** How the cells of a column are written. */
export interface ArrowCells {
  /** `other`: neither plain numbers nor plain texts. A column of nulls has no cell. */
  kind: 'numbers' | 'texts' | 'nulls' | 'other'
  /** Of numbers: one of the CELL_ constants. */
  numbers: number
  /** Buffers that a record batch has for the column; undefined where that differs. */
  buffers: number | undefined
  /** Of a dictionary: the cells of the column are numbers, which tell values of this kind. */
  values?: ArrowCells
  dictionary?: bigint
}

/** What a record batch, or the values of a dictionary, consist of. Places are in the body of the message. */
export interface BatchParts {
  rows: number
  /** Of each column: cells, and those that are missing. */
  nodes: { length: number; missing: number }[]
  buffers: { at: number; bytes: number }[]
  /** Undefined where nothing is compressed. */
  codec: 'lz4' | 'zstd' | undefined
}

export interface BatchMessage {
  kind: 'batch'
  bodyBytes: number
  rows: number
  compressed: boolean
}

export type ArrowMessage =
  | BatchMessage
  | { kind: 'schema'; bodyBytes: number; columns: ArrowColumn[] }
  | { kind: 'dictionary'; bodyBytes: number; id: bigint; isDelta: boolean }
  | { kind: 'other'; bodyBytes: number }

/** Types by their numbers in a schema. Of the others, cells are numbers, texts, booleans or dates. */
const REFUSED: Record<number, string> = {
  4: 'bytes',
  11: 'intervals',
  12: 'lists',
  13: 'records',
  14: 'unions',
  15: 'bytes',
  16: 'lists',
  17: 'maps',
  18: 'durations',
  19: 'bytes',
  21: 'lists',
  22: 'run-ends',
  23: 'bytes',
  25: 'lists',
  26: 'lists',
}
const LAST_TYPE = 26

/** Reads the head of a message. What is wrong with it is thrown as an error in words. */
export function readMessage(head: Uint8Array): ArrowMessage {
  const message = Fields.root(head)
  const bodyBytes = message.long(3)
  if (bodyBytes < 0 || bodyBytes % 8 !== 0) throw new Error(`a body of ${bodyBytes} bytes`)
  const header = message.table(2)
  const kind = message.byte(1)
  if (!header) return { kind: 'other', bodyBytes }
  if (kind === 1) return { kind: 'schema', bodyBytes, columns: columnsOf(header) }
  if (kind === 2) {
    if (!header.table(1)) throw new Error('a dictionary without values')
    return { kind: 'dictionary', bodyBytes, id: header.bigint(0), isDelta: header.byte(2) !== 0 }
  }
  if (kind !== 3) return { kind: 'other', bodyBytes }
  const rows = header.long(0)
  if (rows < 0) throw new Error(`a record batch of ${rows} rows`)
  return { kind: 'batch', bodyBytes, rows, compressed: header.table(3) !== undefined }
}

function columnsOf(schema: Fields): ArrowColumn[] {
  if (schema.short(0) !== 0) throw new Error('numbers whose highest byte comes first')
  return schema.tables(1, MOST_COLUMNS).map(field => {
    const type = field.byte(2)
    const name = field.text(0)
    if (type === 0 || type > LAST_TYPE) throw new Error(`a column of the type ${type}`)
    return { name, refused: REFUSED[type], cells: cellsOf(field, type) }
  })
}

const WHOLE: Record<string, number> = {
  '8 signed': CELL_I8,
  '8 unsigned': CELL_U8,
  '16 signed': CELL_I16,
  '16 unsigned': CELL_U16,
  '32 signed': CELL_I32,
  '32 unsigned': CELL_U32,
  '64 signed': CELL_I64,
  '64 unsigned': CELL_U64,
}
const FLOATS: Record<number, number> = { 1: CELL_F32, 2: CELL_F64 }
/** Buffers of types that are not looked at further, by their numbers in a schema: decimals, dates, times, and long texts. */
const BUFFERS: Record<number, number> = { 2: 2, 3: 2, 7: 2, 8: 2, 9: 2, 10: 2, 20: 3 }

function cellsOf(field: Fields, type: number): ArrowCells {
  const values = plainCells(type, field.table(3))
  const dictionary = field.table(4)
  if (!dictionary) return values
  const numbers = wholeNumbers(dictionary.table(1)) ?? CELL_I32
  return { kind: values.kind, numbers, buffers: 2, values, dictionary: dictionary.bigint(0) }
}

function plainCells(type: number, described: Fields | undefined): ArrowCells {
  const buffers = BUFFERS[type]
  if (type === 1) return { kind: 'nulls', numbers: 0, buffers: 0 }
  if (type === 5) return { kind: 'texts', numbers: 0, buffers: 3 }
  if (type === 6) return { kind: 'numbers', numbers: CELL_BIT, buffers: 2 }
  const numbers = type === 2 ? wholeNumbers(described) : type === 3 ? FLOATS[described?.short(0) ?? 0] : undefined
  return numbers === undefined ? { kind: 'other', numbers: 0, buffers } : { kind: 'numbers', numbers, buffers }
}

function wholeNumbers(type: Fields | undefined): number | undefined {
  return type && WHOLE[`${type.int(0)} ${type.byte(1) ? 'signed' : 'unsigned'}`]
}

/** The parts of a record batch or of a dictionary, by the head of its message. */
export function readParts(head: Uint8Array): BatchParts {
  const message = Fields.root(head)
  const header = message.table(2)
  const batch = message.byte(1) === 2 ? header?.table(1) : header
  if (!batch) throw new Error('a message without cells')
  const compression = batch.table(3)
  return {
    rows: batch.long(0),
    nodes: batch.pairs(1).map(([length, missing]) => ({ length, missing })),
    buffers: batch.pairs(2).map(([at, bytes]) => ({ at, bytes })),
    codec: compression && (compression.byte(0) === 0 ? 'lz4' : 'zstd'),
  }
}

/** A table of a flatbuffer: fields by their numbers, each of which may be missing. */
class Fields {
  readonly #bytes: Buffer
  readonly #at: number
  readonly #places: number
  readonly #placeBytes: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
    this.#places = at - bytes.readInt32LE(at)
    this.#placeBytes = bytes.readUInt16LE(this.#places)
  }

  static root(head: Uint8Array): Fields {
    const bytes = Buffer.from(head.buffer, head.byteOffset, head.length)
    return new Fields(bytes, bytes.readUInt32LE(0))
  }

  /** Where a field is; 0 for nowhere. */
  #place(field: number): number {
    const entry = 4 + field * 2
    const offset = entry + 2 <= this.#placeBytes ? this.#bytes.readUInt16LE(this.#places + entry) : 0
    return offset === 0 ? 0 : this.#at + offset
  }

  byte(field: number): number {
    const at = this.#place(field)
    return at === 0 ? 0 : this.#bytes.readUInt8(at)
  }

  short(field: number): number {
    const at = this.#place(field)
    return at === 0 ? 0 : this.#bytes.readInt16LE(at)
  }

  int(field: number): number {
    const at = this.#place(field)
    return at === 0 ? 0 : this.#bytes.readInt32LE(at)
  }

  bigint(field: number): bigint {
    const at = this.#place(field)
    return at === 0 ? 0n : this.#bytes.readBigInt64LE(at)
  }

  /** A number that a program can count to. */
  long(field: number): number {
    const value = Number(this.bigint(field))
    if (!Number.isSafeInteger(value)) throw new Error(`the number ${value}`)
    return value
  }

  table(field: number): Fields | undefined {
    const at = this.#place(field)
    return at === 0 ? undefined : this.#pointed(at)
  }

  tables(field: number, most: number): Fields[] {
    const [at, count] = this.#vector(field)
    if (count > most || count * 4 > this.#bytes.length) throw new Error(`a list of ${count} columns`)
    return Array.from({ length: count }, (_, k) => this.#pointed(at + k * 4))
  }

  /** Records of two 64-bit numbers. */
  pairs(field: number): [number, number][] {
    const [at, count] = this.#vector(field)
    if (count * 16 > this.#bytes.length) throw new Error(`a list of ${count} records`)
    return Array.from({ length: count }, (_, k) => {
      const pair = [0, 8].map(offset => Number(this.#bytes.readBigInt64LE(at + k * 16 + offset)))
      if (!pair.every(number => Number.isSafeInteger(number) && number >= 0)) throw new Error('a negative length')
      return [pair[0], pair[1]]
    })
  }

  text(field: number): string {
    const [at, bytes] = this.#vector(field)
    if (bytes > this.#bytes.length - at) throw new Error(`a name of ${bytes} bytes`)
    return this.#bytes.toString('utf8', at, at + bytes)
  }

  /** Where the elements of a list are, and how many. */
  #vector(field: number): [number, number] {
    const place = this.#place(field)
    if (place === 0) return [0, 0]
    const at = place + this.#bytes.readUInt32LE(place)
    return [at + 4, this.#bytes.readUInt32LE(at)]
  }

  #pointed(at: number): Fields {
    return new Fields(this.#bytes, at + this.#bytes.readUInt32LE(at))
  }
}
