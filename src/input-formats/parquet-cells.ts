// Row groups of Parquet files to columns of cells, as far as their columns are flat numbers and texts. Loops decode their pages where
// they are. Whatever else there is goes by way of text.
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { FileMetaData, PageHeader, RowGroup, SchemaElement, SchemaTree } from 'hyparquet'
import {
  CELL_BIT,
  CELL_F32,
  CELL_F64,
  CELL_I32,
  CELL_I64,
  CELL_U32,
  CELL_U64,
  NO_CELLS,
} from '../numeric/table-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
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
  withSlack,
} from './cells.ts'
import { decompressLz4Block } from './lz4-frames.ts'

/** A column whose cells are numbers or texts, and where its pages are. */
export interface PlainColumn {
  /** How its numbers are written; undefined for texts. */
  numbers: number | undefined
  /** What its numbers are multiplied by. */
  factor: number
  /** Whether cells may be missing. */
  optional: boolean
  codec: string
  /** In the chunk. */
  from: number
  bytes: ByteCount
  /** Before they were compressed. */
  plainBytes: ByteCount
}

/** The columns of a row group; undefined for those that are not plain. `from`: where the chunk begins in the file. */
export function plainColumns(
  { children }: Pick<SchemaTree, 'children'>,
  group: RowGroup,
  from: number,
): (PlainColumn | undefined)[] {
  const byName = Map.groupBy(group.columns, ({ meta_data: column }) => column?.path_in_schema[0])
  return children.map(({ element, children: inner }) => {
    const numbers = numbersOf(element)
    const found = byName.get(element.name)
    if (inner.length > 0 || found?.length !== 1 || (numbers === undefined && !isText(element))) return undefined
    const { codec, dictionary_page_offset: first, ...column } = found[0].meta_data!
    return {
      ...{ numbers, codec, optional: element.repetition_type === 'OPTIONAL' },
      factor: element.converted_type === 'DECIMAL' ? 10 ** -(element.scale || 0) : 1,
      from: Number(first || column.data_page_offset) - from,
      bytes: Number(column.total_compressed_size),
      plainBytes: Number(column.total_uncompressed_size),
    }
  })
}

function isText({ type, repetition_type, converted_type = 'UTF8', logical_type }: SchemaElement): boolean {
  const isFlat = type === 'BYTE_ARRAY' && repetition_type !== 'REPEATED'
  return (
    isFlat && ['UTF8', 'ENUM'].includes(converted_type) && ['STRING', 'ENUM'].includes(logical_type?.type ?? 'STRING')
  )
}

const WHOLE = [undefined, 'INT_8', 'INT_16', 'INT_32', 'INT_64', 'UINT_8', 'UINT_16', 'UINT_32', 'UINT_64', 'DECIMAL']

/** How the numbers of a column are written; undefined where they are none, or mean something else. */
function numbersOf(element: SchemaElement): number | undefined {
  const { type, repetition_type, converted_type: converted, logical_type: logical } = element
  if (repetition_type === 'REPEATED') return undefined
  if (type === 'INT32' || type === 'INT64') {
    const isDecimal = converted === 'DECIMAL'
    if (!WHOLE.includes(converted) || ![undefined, isDecimal ? 'DECIMAL' : 'INTEGER'].includes(logical?.type))
      return undefined
    const bits = type === 'INT32' ? 32 : 64
    const isUnsigned =
      converted === `UINT_${bits}` || (logical?.type === 'INTEGER' && !logical.isSigned && logical.bitWidth === bits)
    if (bits === 32) return isUnsigned ? CELL_U32 : CELL_I32
    return isUnsigned ? CELL_U64 : CELL_I64
  }
  if (converted !== undefined || logical !== undefined) return undefined
  if (type === 'FLOAT') return CELL_F32
  if (type === 'DOUBLE') return CELL_F64
  return type === 'BOOLEAN' ? CELL_BIT : undefined
}

export interface PlainGroup {
  metadata: FileMetaData
  plain: (PlainColumn | undefined)[]
}

/** The cells of a row group; undefined where they have to go by way of text, which also finds the words for what is wrong. */
export async function rowGroupToCells(
  rooms: CellRooms,
  chunk: EncodedBytes,
  { metadata, plain }: PlainGroup,
  wanted: readonly CellsWanted[],
): Promise<CellsOfChunk | undefined> {
  const isPlain = (column: PlainColumn | undefined, k: number): boolean =>
    wanted[k] === 'none' || (column !== undefined && hasWanted(wanted[k], column.numbers === undefined))
  if (!plain.every(isPlain)) return undefined
  const { parquetHeader } = await import('hyparquet/src/column.js')
  const rows = Number(metadata.row_groups[0].num_rows)
  return ifPlain(() => {
    const pages = plain.map((column, k) =>
      column && wanted[k] !== 'none' ? pagesOf(rooms, chunk, column, rows, parquetHeader) : [],
    )
    const columns = columnsOfCells(rooms, rows, wanted, k => plain[k]?.numbers === undefined)
    const texts = new TextsOfPages(rooms, plain, pages)
    for (const [k, { kind, at }] of columns.entries())
      if (kind !== NO_CELLS) new ColumnReader(rooms, plain[k]!, texts).read(pages[k], rows, at)
    return { rows, columns }
  })
}

interface Page {
  header: PageHeader
  at: Address
  bytes: ByteCount
}

/** The pages of a column up to its last row. Heads of pages are read by the library, in bytes that are the column's alone. */
function pagesOf(
  { arena }: CellRooms,
  chunk: EncodedBytes,
  { from, bytes, plainBytes }: PlainColumn,
  rows: number,
  readHeader: (reader: { view: DataView; offset: number }) => PageHeader,
): Page[] {
  demand(from >= 0 && bytes >= 0 && from + bytes <= chunk.bytes)
  const reader = { view: arena.view(chunk.at + from, bytes), offset: 0 }
  const pages: Page[] = []
  let left = plainBytes
  for (let met = 0; met < rows; ) {
    const header = demanded(() => readHeader(reader))
    const { compressed_page_size: size, uncompressed_page_size: plainSize } = header
    demand(isCount(size) && size <= bytes - reader.offset && isCount(plainSize) && plainSize <= left)
    left -= plainSize
    const at = chunk.at + from + reader.offset
    pages.push({ header, at, bytes: size })
    reader.offset += size
    const cells = (header.data_page_header ?? header.data_page_header_v2)?.num_values ?? 0
    demand(isCount(cells))
    met += cells
  }
  return pages
}

/** A damaged head may have anything in place of a number. */
const isCount = (found: unknown): boolean => Number.isInteger(found) && (found as number) >= 0

const decompressors: Record<string, (bytes: Uint8Array, length: number) => Uint8Array> = {
  GZIP: (bytes, length) => gunzipSync(bytes, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
  LZ4_RAW: decompressLz4Block,
}

const isOfDictionary = (encoding: string | undefined): boolean =>
  encoding === 'RLE_DICTIONARY' || encoding === 'PLAIN_DICTIONARY'

/** Whether the cells of a page point into it, so that it has to stay. */
function isPointedTo({ header: { type, data_page_header: first, data_page_header_v2: second } }: Page): boolean {
  return type === 'DICTIONARY_PAGE' || !isOfDictionary((first ?? second)?.encoding)
}

/** Room for the pages that cells of texts point into. */
class TextsOfPages {
  #next: Address
  readonly #end: Address

  constructor({ texts }: CellRooms, plain: readonly (PlainColumn | undefined)[], pages: readonly Page[][]) {
    let bytes = 0
    for (const [k, column] of plain.entries()) {
      if (!column || column.numbers !== undefined || column.codec === 'UNCOMPRESSED') continue
      for (const page of pages[k]) if (isPointedTo(page)) bytes += withSlack(page.header.uncompressed_page_size)
    }
    this.#next = texts.room(bytes)
    this.#end = this.#next + bytes
  }

  room(bytes: ByteCount): Address {
    const at = this.#next
    this.#next += withSlack(bytes)
    demand(this.#next <= this.#end)
    return at
  }
}

/** Reads the pages of one column. */
class ColumnReader {
  readonly #rooms: CellRooms
  readonly #column: PlainColumn
  readonly #texts: TextsOfPages
  #dictionary: { at: Address; size: number } | undefined

  constructor(rooms: CellRooms, column: PlainColumn, texts: TextsOfPages) {
    this.#rooms = rooms
    this.#column = column
    this.#texts = texts
  }

  read(pages: readonly Page[], rows: number, cells: Address): void {
    let filled = 0
    for (const page of pages) {
      const { type, data_page_header: first, data_page_header_v2: second } = page.header
      const out = cells + filled * CELL_BYTES
      if (type === 'DICTIONARY_PAGE') this.#readDictionary(page)
      else {
        const count = (first ?? second)?.num_values ?? 0
        demand(filled + count <= rows)
        if (type === 'DATA_PAGE') this.#readPage(page, count, out)
        else this.#readPage2(page, count, out)
        filled += count
      }
    }
    demand(filled === rows)
  }

  #readDictionary(page: Page): void {
    const { dictionary_page_header: header, uncompressed_page_size: bytes } = page.header
    demand(
      header &&
        !this.#dictionary &&
        this.#column.numbers !== CELL_BIT &&
        ['PLAIN', 'PLAIN_DICTIONARY'].includes(header.encoding),
    )
    const { numbers } = this.#column
    const size = header.num_values
    // A text has its length in front.
    demand(isCount(size) && (numbers === undefined ? size * 4 : bytesOfNumbers(numbers, size)) <= bytes)
    const body = this.#unpacked(page.at, page.bytes, bytes, true)
    const at = this.#rooms.dictionary.room(size * CELL_BYTES)
    this.#plain(body, body + bytes, size, at)
    this.#dictionary = { at, size }
  }

  #readPage(page: Page, count: number, out: Address): void {
    const { data_page_header: header, uncompressed_page_size: bytes } = page.header
    demand(header)
    const { arena } = this.#rooms
    let at = this.#unpacked(page.at, page.bytes, bytes, isPointedTo(page))
    const end = at + bytes
    let present = count
    if (this.#column.optional) {
      demand(header.definition_level_encoding === 'RLE' && bytes >= 4)
      const length = arena.view(at, 4).getUint32(0, true)
      at += 4
      demand(length <= end - at)
      present = this.#present(at, at + length, count)
      at += length
    }
    this.#values(header.encoding, at, end, present, out)
    this.#spread(present, count, out)
  }

  /** Of the second version: levels are not compressed. */
  #readPage2(page: Page, count: number, out: Address): void {
    const { data_page_header_v2: header, uncompressed_page_size: bytes } = page.header
    demand(header && header.repetition_levels_byte_length === 0)
    const levels = header.definition_levels_byte_length
    demand(isCount(levels) && levels <= page.bytes && levels <= bytes)
    const present = this.#column.optional ? this.#present(page.at, page.at + levels, count) : count
    const [from, packed, plain] = [page.at + levels, page.bytes - levels, bytes - levels]
    const isPacked = header.is_compressed !== false
    if (present > 0) {
      const at = isPacked ? this.#unpacked(from, packed, plain, isPointedTo(page)) : from
      this.#values(header.encoding, at, at + (isPacked ? plain : packed), present, out)
    }
    this.#spread(present, count, out)
  }

  /** Reads which cells are there; how many are. */
  #present(at: Address, end: Address, count: number): number {
    const { arena, levels } = this.#rooms
    if (arena.numeric.areAllPresent(at, end, count)) return count
    const to = levels.room(count * 4)
    demand(arena.numeric.unpackRuns(at, end, 1, count, to))
    return arena.numeric.countPresent(to, count)
  }

  #spread(present: number, count: number, out: Address): void {
    const { arena, levels } = this.#rooms
    if (present === count) return
    arena.numeric.spreadCells(out, levels.room(0), count, present, this.#column.numbers === undefined)
  }

  #values(encoding: string, at: Address, end: Address, count: number, out: Address): void {
    const { arena, numbers } = this.#rooms
    const { numeric } = arena
    if (count === 0) return
    if (encoding === 'PLAIN') this.#plain(at, end, count, out)
    else if (isOfDictionary(encoding)) {
      demand(this.#dictionary && at < end)
      const to = numbers.room(count * 4)
      demand(numeric.unpackRuns(at + 1, end, arena.bytes(at, 1)[0], count, to))
      demand(numeric.lookUpCells(to, count, this.#dictionary.at, this.#dictionary.size, out))
    } else if (encoding === 'RLE') {
      // Booleans in runs, behind the length of all.
      demand(this.#column.numbers === CELL_BIT && end - at >= 4)
      const to = numbers.room(count * 4)
      demand(numeric.unpackRuns(at + 4, end, 1, count, to))
      numeric.numbersToCells(CELL_U32, to, count, out, 1)
    } else if (encoding === 'BYTE_STREAM_SPLIT') this.#split(at, end, count, out)
    else this.#deltas(encoding, at, end, count, out)
  }

  #split(at: Address, end: Address, count: number, out: Address): void {
    const { numbers } = this.#column
    demand(numbers !== undefined && numbers !== CELL_BIT)
    const bytes = bytesOfNumbers(numbers, count)
    demand(bytes <= end - at)
    const to = this.#rooms.numbers.room(bytes)
    this.#rooms.arena.numeric.gatherBytes(at, count, bytes / count, to)
    this.#plain(to, to + bytes, count, out)
  }

  /** Whole numbers by their differences, and texts by those of their lengths. */
  #deltas(encoding: string, at: Address, end: Address, count: number, out: Address): void {
    const { numeric } = this.#rooms.arena
    const { numbers, factor } = this.#column
    const isText = numbers === undefined
    demand(encoding === (isText ? 'DELTA_LENGTH_BYTE_ARRAY' : 'DELTA_BINARY_PACKED'))
    demand(isText || [CELL_I32, CELL_U32, CELL_I64, CELL_U64].includes(numbers))
    const stop = numeric.unpackDeltas(at, end, count, out, numbers ?? CELL_I32) >>> 0
    demand(stop !== 0)
    if (isText) demand(numeric.lengthsToCells(out, count, stop, end))
    else demand(numeric.numbersToCells(numbers === CELL_U64 ? CELL_U64 : CELL_I64, out, count, out, factor))
  }

  #plain(at: Address, end: Address, count: number, out: Address): void {
    const { numeric } = this.#rooms.arena
    const { numbers, factor } = this.#column
    if (numbers === undefined) demand(numeric.textsToCells(at, end, count, out))
    else {
      demand(bytesOfNumbers(numbers, count) <= end - at)
      demand(numeric.numbersToCells(numbers, at, count, out, factor))
    }
  }

  /** Where so many bytes stand that were compressed; `stays`: texts may point into them. */
  #unpacked(at: Address, packed: ByteCount, bytes: ByteCount, stays: boolean): Address {
    const { codec, numbers } = this.#column
    if (codec === 'UNCOMPRESSED') {
      demand(packed === bytes)
      return at
    }
    const { arena, page } = this.#rooms
    const to = stays && numbers === undefined ? this.#texts.room(bytes) : page.room(withSlack(bytes))
    if (codec === 'SNAPPY') {
      demand(arena.numeric.unpackSnappy(at, at + packed, to, bytes))
      return to
    }
    const decompress = decompressors[codec]
    demand(decompress)
    const plain = demanded(() => decompress(arena.bytes(at, packed).slice(), bytes))
    demand(plain.length === bytes)
    arena.bytes(to, bytes).set(plain)
    return to
  }
}
