// Decodes a row group of a Parquet file, in a thread of its own.
import type { FileMetaData } from 'hyparquet'
import { SpillwayError } from '../errors.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { columnsToText } from './columns-to-text.ts'
import type { AboutEncoded, ChunkToDecode } from './input-format.ts'

export interface AboutRowGroup extends AboutEncoded {
  metadata: FileMetaData
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

export const rowGroupToTextTask = declareTask(import.meta.url, 'row-group-to-text', rowGroupToText)

async function rowGroupToText(_: TaskContext, { bytes, about }: ChunkToDecode): Promise<Uint8Array> {
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
}
