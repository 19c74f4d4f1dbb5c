// Parquet files. A chunk is a row group: its bytes are read by the main thread, and decoded by the thread that parses them, or by
// one of its own.
import type { FileMetaData, RowGroup, SchemaTree } from 'hyparquet'
import { SpillwayError } from '../errors.ts'
import { MOST_CELLS } from './cells.ts'
import { DecodedTableParser } from './decoded-table.ts'
import type { DecodedTables, InputFormat, InputToOpen, OpenedInput, PlannedChunk } from './input-format.ts'
import { plainColumns, rowGroupToCells } from './parquet-cells.ts'
import { type AboutRowGroup, damaged, reason, rowGroupToTextTask } from './parquet-task.ts'

const MAGIC = 'PAR1'
const LONGEST_METADATA = 1 << 28
/** Bytes of a row group before it was compressed. */
const LARGEST_GROUP = 1 << 28
/** What a cell is taken for at least. */
const CELL_BYTES = 8

const isMagic = (bytes: Uint8Array): boolean => Buffer.from(bytes).toString('latin1') === MAGIC
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
  let tree: SchemaTree
  try {
    metadata = parquetMetadata(bytes)
    tree = parquetSchema(metadata)
  } catch (error) {
    throw damaged(name, `a description that cannot be read (${reason(error)})`)
  }
  const columns = tree.children.map(({ element }) => element.name)
  const chunks = metadata.row_groups.map((group, k): PlannedChunk => {
    const part = `row group ${k + 1}`
    const { from, to, decodedBytes } = placeOf(`${name}, ${part}`, group, file.size)
    const about: AboutRowGroup = {
      name: `${name}, ${part}`,
      metadata: { ...metadata, row_groups: [group] },
      plain: plainColumns(tree, group, from),
      ...{ from, columns, decodedBytes },
    }
    return { name: part, bytes: to - from, fill: target => file.fill(target, from), about }
  })
  return { chunks, columns }
}

/** Where the pages of a row group stand. */
function placeOf(name: string, group: RowGroup, size: number): { from: number; to: number; decodedBytes: number } {
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
  // Equal cells take no room in a file, but they do when they are decoded.
  const cells = Number(group.num_rows) * group.columns.length
  const decodedBytes = Math.max(whole, to - from, cells * CELL_BYTES)
  if (Math.max(whole, to - from) > LARGEST_GROUP || cells > MOST_CELLS) {
    throw new SpillwayError(
      `${name}: found ${decodedBytes} bytes and ${cells} cells in a row group, expected at most ${LARGEST_GROUP} and ${MOST_CELLS}, for a row group is decoded at once`,
      'write the file with smaller row groups, e.g. row_group_size=100000',
    )
  }
  return { from, to, decodedBytes }
}

const tables: DecodedTables = {
  toCells: (rooms, chunk, about, wanted) => rowGroupToCells(rooms, chunk, about as AboutRowGroup, wanted),
  toText: rowGroupToTextTask,
}

export const parquet: InputFormat = {
  module: import.meta.url,
  name: 'parquet',
  endings: ['parquet'],
  summary: 'Parquet files: tables in columns',
  title: 'a Parquet file',
  row: 'LABEL and the cells of the other columns',
  letters: false,
  cut: { by: 'plan', detect: head => isMagic(head.subarray(0, 4)), indexBase: 1, open, tables },
  newParser: arena => new DecodedTableParser(arena, tables),
}
