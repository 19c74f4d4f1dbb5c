// The messages of Arrow data as far as they are looked at before they are decoded: what kind each is, where it ends, and which
// columns and how many rows there are. Their heads are flatbuffers. Every place and every length is checked: a file may have been
// damaged, or made to do harm.
// https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc

export const CONTINUES = 0xffffffff
/** Bytes in front of the head of a message: a mark, and the length of the head. */
export const PREFIX_BYTES = 8
export const LONGEST_HEAD = 1 << 26
const MOST_COLUMNS = 1 << 20

export interface ArrowColumn {
  name: string
  /** What its type is called where it has no cells that are numbers or texts. */
  refused: string | undefined
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
    return { name, refused: REFUSED[type] }
  })
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
