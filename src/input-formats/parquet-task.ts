// Decodes a row group of a Parquet file to text, in a thread of its own: one whose columns are not plain.
import { SpillwayError } from '../errors.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { RowsAsText } from './columns-to-text.ts'
import type { AboutEncoded, ChunkToDecode } from './input-format.ts'
import type { PlainGroup } from './parquet-cells.ts'

export interface AboutRowGroup extends AboutEncoded, PlainGroup {
  /** Where the bytes of the chunk are in the file. */
  from: number
  columns: string[]
}

export const reason = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]

export function damaged(name: string, found: string): SpillwayError {
  return new SpillwayError(
    `${name}: found ${found}, expected a Parquet file`,
    'is the file cut short? Copy or download it again',
  )
}

/** Rows whose cells are objects at a time: those of a row group of a million would take gigabytes. A page that goes on beyond them is
 *  decoded again for the next ones. */
const ROWS_AT_ONCE = 1 << 17

export const rowGroupToTextTask = declareTask(import.meta.url, 'row-group-to-text', rowGroupToText)

async function rowGroupToText(_: TaskContext, chunk: ChunkToDecode): Promise<Uint8Array> {
  const { name, metadata, columns } = chunk.about as AboutRowGroup
  const rows = Number(metadata.row_groups[0].num_rows)
  const text = new RowsAsText(columns)
  for (let from = 0; from < rows; from += ROWS_AT_ONCE) {
    const to = Math.min(rows, from + ROWS_AT_ONCE)
    const cells = (await cellsOf(chunk, from, to)).map(pieces => new ColumnCells(pieces, from))
    const short = cells.findIndex(({ end }) => end < to)
    if (short >= 0) {
      throw damaged(name, `${cells[short].end} cells in column ${JSON.stringify(columns[short])} of ${rows} rows`)
    }
    for (let r = from; r < to; r++) text.row(k => cells[k].at(r))
  }
  return text.finish()
}

interface CellsFound {
  start: number
  data: ArrayLike<unknown>
}

/** The cells of some rows, and maybe of rows around them, column by column. */
async function cellsOf({ bytes, about }: ChunkToDecode, rowStart: number, rowEnd: number): Promise<CellsFound[][]> {
  const [{ parquetRead }, { compressors }] = await Promise.all([import('hyparquet'), import('hyparquet-compressors')])
  const { name, metadata, from, columns } = about as AboutRowGroup
  const places = new Map(columns.map((column, k) => [column, k]))
  const found = columns.map((): CellsFound[] => [])
  try {
    await parquetRead({
      file: {
        byteLength: from + bytes.length,
        slice: (start, end = from + bytes.length) => {
          if (start < from || end > from + bytes.length) throw new Error(`bytes ${start} to ${end} are not there`)
          return bytes.buffer.slice(bytes.byteOffset + start - from, bytes.byteOffset + end - from) as ArrayBuffer
        },
      },
      ...{ metadata, compressors, rowStart, rowEnd },
      onChunk: ({ columnName, columnData, rowStart: start }) =>
        void found[places.get(columnName) ?? -1]?.push({ start, data: columnData }),
    })
  } catch (error) {
    throw damaged(name, `data that cannot be read (${reason(error)})`)
  }
  return found
}

/** The cells of a column as they were decoded, piece by piece. A copy of all of them would take as much again. */
class ColumnCells {
  /** Behind the last row whose cell is there. */
  readonly end: number
  readonly #pieces: CellsFound[] = []
  #piece = 0

  /** From a row on. */
  constructor(found: CellsFound[], from: number) {
    let end = from
    for (const { start, data } of found.sort((a, b) => a.start - b.start)) {
      if (start > end || start + data.length <= end) continue
      this.#pieces.push({ start, data })
      end = start + data.length
    }
    this.end = end
  }

  /** Of rising rows. */
  at(row: number): unknown {
    let { start, data } = this.#pieces[this.#piece]
    while (row >= start + data.length) ({ start, data } = this.#pieces[++this.#piece])
    return data[row - start]
  }
}
