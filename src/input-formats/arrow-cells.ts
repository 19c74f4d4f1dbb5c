// Record batches of Arrow data to columns of cells, as far as their columns are numbers, booleans and texts, with or without
// dictionaries. Loops read them where they are. Whatever else there is goes by way of text.
import { zstdDecompressSync } from 'node:zlib'
import { roundUp } from '../numeric/rounding.ts'
import { NO_CELLS, TEXT_CELLS } from '../numeric/table-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { type ArrowCells, type BatchParts, PREFIX_BYTES, readParts } from './arrow-messages.ts'
import {
  bytesOfNumbers,
  CELL_BYTES,
  type CellRooms,
  type CellsOfChunk,
  type CellsWanted,
  columnsOfCells,
  demand,
  demanded,
  type EncodedBytes,
  hasWanted,
  ifPlain,
  MOST_CELLS,
  withSlack,
} from './cells.ts'
import { decompressLz4Frame } from './lz4-frames.ts'

export interface ArrowChunk {
  /** Bytes of each message in the chunk: the schema, dictionaries, and record batches. Each begins at a multiple of 8. */
  messages: number[]
  /** Which dictionaries they are, in their order; a second one of the same name adds to the first. */
  dictionaries: bigint[]
  rows: number
  cells: ArrowCells[]
}

/** The cells of record batches; undefined where they have to go by way of text, which also finds the words for what is wrong. */
export function batchesToCells(
  rooms: CellRooms,
  chunk: EncodedBytes,
  about: ArrowChunk,
  wanted: readonly CellsWanted[],
): CellsOfChunk | undefined {
  const isPlain = ({ kind, buffers }: ArrowCells, k: number): boolean => {
    if (buffers === undefined) return false
    if (wanted[k] === 'none') return true
    return kind !== 'other' && hasWanted(wanted[k], kind === 'texts')
  }
  if (!about.cells.every(isPlain)) return undefined
  if (new Set(about.dictionaries).size < about.dictionaries.length) return undefined
  return ifPlain(() => new BatchesReader(rooms, chunk, about).read(wanted))
}

interface Message extends BatchParts {
  body: Address
  bodyBytes: ByteCount
}

interface Bytes {
  at: Address
  bytes: ByteCount
}

class BatchesReader {
  readonly #rooms: CellRooms
  readonly #chunk: EncodedBytes
  readonly #about: ArrowChunk
  /** Where the next buffer goes that was compressed. */
  #next: Address = 0
  readonly #dictionaries = new Map<bigint, { at: Address; size: number }>()

  constructor(rooms: CellRooms, chunk: EncodedBytes, about: ArrowChunk) {
    this.#rooms = rooms
    this.#chunk = chunk
    this.#about = about
  }

  read(wanted: readonly CellsWanted[]): CellsOfChunk {
    const { cells, rows, dictionaries } = this.#about
    const messages = this.#messages()
    const unpackedBytes = messages.reduce((sum, message) => sum + this.#unpackedBytes(message), 0)
    demand(unpackedBytes <= LARGEST_UNPACKED)
    this.#next = this.#rooms.texts.room(unpackedBytes)
    this.#readDictionaries(messages.slice(0, dictionaries.length), wanted)
    const batches = messages.slice(dictionaries.length)
    demand(batches.reduce((sum, batch) => sum + batch.rows, 0) === rows)
    const columns = columnsOfCells(this.#rooms, rows, wanted, k => cells[k].kind === 'texts')
    let before = 0
    for (const batch of batches) {
      let [buffer, node] = [0, 0]
      for (const [k, { kind, at }] of columns.entries()) {
        demand(batch.nodes[node]?.length === batch.rows)
        if (kind !== NO_CELLS) {
          const out = at + before * CELL_BYTES
          this.#readColumn(batch, { cells: cells[k], node, buffer, out, texts: kind === TEXT_CELLS })
        }
        node++
        buffer += cells[k].buffers!
      }
      before += batch.rows
    }
    return { rows, columns }
  }

  /** All messages but the schema. */
  #messages(): Message[] {
    const { arena } = this.#rooms
    const { at, bytes } = this.#chunk
    const found: Message[] = []
    let from = 0
    for (const [k, length] of this.#about.messages.entries()) {
      demand(from + length <= bytes && length >= PREFIX_BYTES)
      const head = arena.getU32(at + from + 4)
      demand(head <= length - PREFIX_BYTES)
      if (k > 0) {
        const body = at + from + PREFIX_BYTES + head
        const parts = demanded(() => readParts(arena.bytes(at + from + PREFIX_BYTES, head).slice()))
        demand(parts.rows >= 0 && parts.rows <= MOST_CELLS)
        found.push({ ...parts, body, bodyBytes: length - PREFIX_BYTES - head })
      }
      from += roundUp(length, 8)
    }
    return found
  }

  /** Room that the buffers of a message take once they are not compressed any more. */
  #unpackedBytes({ codec, buffers, body, bodyBytes }: Message): ByteCount {
    if (!codec) return 0
    let sum = 0
    for (const { at, bytes } of buffers) {
      if (bytes === 0) continue
      demand(bytes >= 8 && at + bytes <= bodyBytes)
      const length = Number(this.#rooms.arena.view(body + at, 8).getBigInt64(0, true))
      demand(length >= -1 && length <= LARGEST_UNPACKED)
      sum += length < 0 ? 0 : withSlack(length)
    }
    return sum
  }

  #readDictionaries(messages: readonly Message[], wanted: readonly CellsWanted[]): void {
    const { dictionary } = this.#rooms
    const { cells, dictionaries } = this.#about
    const values = messages.reduce((sum, { rows }) => sum + rows, 0)
    demand(values <= MOST_CELLS)
    let at = dictionary.room(values * CELL_BYTES)
    for (const [k, message] of messages.entries()) {
      const id = dictionaries[k]
      const column = cells.findIndex((each, c) => each.dictionary === id && wanted[c] !== 'none')
      if (column < 0) continue
      const { values: written } = cells[column]
      demand(written && message.nodes[0]?.length === message.rows)
      this.#readColumn(message, { cells: written, node: 0, buffer: 0, out: at, texts: written.kind === 'texts' })
      this.#dictionaries.set(id, { at, size: message.rows })
      at += message.rows * CELL_BYTES
    }
  }

  #readColumn(message: Message, { cells, node, buffer, out, texts }: ColumnPlace): void {
    const { numeric } = this.#rooms.arena
    const { rows } = message
    if (rows === 0) return
    if (cells.kind === 'nulls') {
      const none = this.#rooms.levels.room(Math.ceil(rows / 8))
      this.#rooms.arena.bytes(none, Math.ceil(rows / 8)).fill(0)
      numeric.blankCells(out, none, rows, texts)
      return
    }
    const bits = message.nodes[node].missing > 0 ? this.#buffer(message, buffer) : undefined
    demand(!bits || bits.bytes >= Math.ceil(rows / 8))
    const first = this.#buffer(message, buffer + 1)
    if (texts && cells.dictionary === undefined) {
      const second = this.#buffer(message, buffer + 2)
      demand(first.bytes >= (rows + 1) * 4)
      demand(numeric.offsetsToCells(first.at, rows, second.at, second.bytes, out))
      if (bits) numeric.blankCells(out, bits.at, rows, true)
      return
    }
    demand(first.bytes >= bytesOfNumbers(cells.numbers, rows))
    demand(numeric.numbersToCells(cells.numbers, first.at, rows, out, 1))
    if (bits) numeric.blankCells(out, bits.at, rows, false)
    if (cells.dictionary === undefined) return
    const dictionary = this.#dictionaries.get(cells.dictionary)
    demand(dictionary)
    demand(numeric.replaceCells(out, rows, dictionary.at, dictionary.size, texts))
  }

  /** Where the bytes of a buffer stand, which may have been compressed. */
  #buffer({ body, bodyBytes, buffers, codec }: Message, k: number): Bytes {
    const found = buffers[k]
    demand(found && found.at + found.bytes <= bodyBytes)
    const { at, bytes } = found
    if (!codec || bytes === 0) return { at: body + at, bytes }
    const { arena } = this.#rooms
    const length = Number(arena.view(body + at, 8).getBigInt64(0, true))
    // Some buffers are left as they were.
    if (length < 0) return { at: body + at + 8, bytes: bytes - 8 }
    const to = this.#next
    this.#next += withSlack(length)
    arena.bytes(to, length).set(unpacked(codec, arena.bytes(body + at + 8, bytes - 8).slice(), length))
    return { at: to, bytes: length }
  }
}

interface ColumnPlace {
  cells: ArrowCells
  /** The numbers of its node and of its first buffer in the message. */
  node: number
  buffer: number
  out: Address
  texts: boolean
}

/** Bytes of the buffers of a chunk before they were compressed. */
const LARGEST_UNPACKED = 1 << 28
function unpacked(codec: 'lz4' | 'zstd', packed: Uint8Array, length: number): Uint8Array {
  const plain = demanded(() =>
    codec === 'lz4'
      ? decompressLz4Frame(packed, length)
      : zstdDecompressSync(packed, { maxOutputLength: Math.max(1, length) }),
  )
  demand(plain.length === length)
  return plain
}
