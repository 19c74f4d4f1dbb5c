// Parquet files. A chunk is a row group: its bytes are read by the main thread, and decoded in worker threads.
import type { FileMetaData, RowGroup } from 'hyparquet'
import { SpillwayError } from '../errors.ts'
import { columnsToText, DecodedTableParser } from './decoded-table.ts'
import type { DecodedTables, InputFormat, InputToOpen, OpenedInput, PlannedChunk } from './input-format.ts'

interface AboutRowGroup {
  /** For messages. */
  name: string
  metadata: FileMetaData
  /** Where the bytes of the chunk are in the file. */
  from: number
  columns: string[]
}

const MAGIC = 'PAR1'
const LONGEST_METADATA = 1 << 28
/** Bytes of a row group before it was compressed. */
const LARGEST_GROUP = 1 << 28

const isMagic = (bytes: Uint8Array): boolean => Buffer.from(bytes).toString('latin1') === MAGIC
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n')[0]

function damaged(name: string, found: string): SpillwayError {
  return new SpillwayError(
    `${name}: found ${found}, expected a Parquet file`,
    'is the file cut short? Copy or download it again',
  )
}

async function open(input: InputToOpen): Promise<OpenedInput> {
  // The library is loaded by those who have such files.
  const { parquetMetadata, parquetSchema } = await import('hyparquet')
  const { name } = input
  const file = await input.file()
  if (file.size < 12) throw damaged(name, `${file.size} bytes in all`)
  const tail = Buffer.from(await file.bytes(file.size - 8, 8))
  if (!isMagic(tail.subarray(4))) throw damaged(name, 'other bytes at its end')
  const length = tail.readUInt32LE(0)
  if (length > Math.min(file.size - 12, LONGEST_METADATA)) throw damaged(name, `a description of ${length} bytes`)
  const bytes = (await file.bytes(file.size - 8 - length, length + 8)).slice().buffer
  let metadata: FileMetaData
  let columns: string[]
  try {
    metadata = parquetMetadata(bytes)
    columns = parquetSchema(metadata).children.map(({ element }) => element.name)
  } catch (error) {
    throw damaged(name, `a description that cannot be read (${reason(error)})`)
  }
  const chunks = metadata.row_groups.map((group, k): PlannedChunk => {
    const part = `row group ${k + 1}`
    const { from, to } = placeOf(`${name}, ${part}`, group, file.size)
    const about: AboutRowGroup = {
      name: `${name}, ${part}`,
      metadata: { ...metadata, row_groups: [group] },
      from,
      columns,
    }
    return { name: part, bytes: to - from, fill: target => file.fill(target, from), about }
  })
  return { chunks, columns }
}

/** Where the pages of a row group stand. */
function placeOf(name: string, group: RowGroup, size: number): { from: number; to: number } {
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  let whole = 0
  for (const { meta_data: column } of group.columns) {
    if (!column) throw damaged(name, 'a column that is described in another file')
    const start = Number(column.dictionary_page_offset ?? column.data_page_offset)
    from = Math.min(from, start, Number(column.data_page_offset))
    to = Math.max(to, start + Number(column.total_compressed_size))
    whole += Number(column.total_uncompressed_size)
  }
  if (!(from >= MAGIC.length && to <= size && from < to))
    throw damaged(name, `bytes ${from} to ${to} in a file of ${size}`)
  if (whole > LARGEST_GROUP || to - from > LARGEST_GROUP) {
    throw new SpillwayError(
      `${name}: found ${Math.max(whole, to - from)} bytes in a row group, expected at most ${LARGEST_GROUP}, for a row group is decoded at once`,
      'write the file with smaller row groups, e.g. row_group_size=100000',
    )
  }
  return { from, to }
}

const tables: DecodedTables = {
  async toText(bytes, about) {
    const [{ parquetRead }, { compressors }] = await Promise.all([import('hyparquet'), import('hyparquet-compressors')])
    const { name, metadata, from, columns } = about as AboutRowGroup
    const rows = Number(metadata.row_groups[0].num_rows)
    const cells = columns.map(() => new Array<unknown>(0))
    const places = new Map(columns.map((column, k) => [column, k]))
    const found: { place: number; start: number; data: ArrayLike<unknown> }[] = []
    try {
      await parquetRead({
        file: {
          byteLength: from + bytes.length,
          slice: (start, end = from + bytes.length) => {
            if (start < from || end > from + bytes.length) throw new Error(`bytes ${start} to ${end} are not there`)
            return bytes.buffer.slice(bytes.byteOffset + start - from, bytes.byteOffset + end - from) as ArrayBuffer
          },
        },
        metadata,
        compressors,
        onChunk: ({ columnName, columnData, rowStart }) =>
          void found.push({ place: places.get(columnName) ?? -1, start: rowStart, data: columnData }),
      })
    } catch (error) {
      throw damaged(name, `data that cannot be read (${reason(error)})`)
    }
    for (const { place, start, data } of found.sort((a, b) => a.place - b.place || a.start - b.start)) {
      if (place < 0 || start !== cells[place].length) continue
      for (let k = 0; k < data.length; k++) cells[place].push(data[k])
    }
    const short = cells.findIndex(({ length }) => length !== rows)
    if (short >= 0) {
      throw damaged(name, `${cells[short].length} cells in column ${JSON.stringify(columns[short])} of ${rows} rows`)
    }
    return columnsToText(columns, cells)
  },
}

export const parquet: InputFormat = {
  module: import.meta.url,
  name: 'parquet',
  summary: 'Parquet files: tables in columns',
  title: 'a Parquet file',
  row: 'LABEL and the cells of the other columns',
  letters: false,
  cut: { by: 'plan', detect: head => isMagic(head.subarray(0, 4)), indexBase: 1, open, tables },
  newParser: arena => new DecodedTableParser(arena, tables),
}
