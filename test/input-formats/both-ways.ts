// The rows of a file in columns, made of columns of cells by loops, and made of text by the parser of tables: in this thread, chunk
// by chunk.
import { type CellsOfChunk, newCellRooms } from '../../src/input-formats/cells.ts'
import { CHUNK_SLACK } from '../../src/input-formats/chunk-slots.ts'
import { ColumnsParser, wantedBy } from '../../src/input-formats/columns-parser.ts'
import { type AboutTable, TableParser } from '../../src/input-formats/csv.ts'
import { aboutColumns, cellsOfChunk } from '../../src/input-formats/decoded-table.ts'
import { Input } from '../../src/input-formats/input.ts'
import type {
  ByPlan,
  ChunkBytes,
  InputFormat,
  ParseSettings,
  PlannedChunk,
} from '../../src/input-formats/input-format.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { learnSchema } from '../../src/rows/learn-schema.ts'
import { PlacedSchema } from '../../src/tables/place-schema.ts'
import type { TableOptions } from '../../src/tables/table-options.ts'
import { findTask } from '../../src/threads/task.ts'
import { type Row, rowsOfBatch } from './parsing.ts'

export interface RowRead extends Row {
  labelText: string
  weight: number | undefined
}

export interface ReadBothWays {
  chunks: number
  /** Chunks that loops took. */
  byLoops: number
  /** Their rows. */
  ofCells: RowRead[]
  ofText: RowRead[]
}

function rowsOf(
  arena: Arena,
  parser: TableParser | ColumnsParser,
  chunk: ChunkBytes,
  settings: ParseSettings,
): RowRead[] {
  const rows: RowRead[] = []
  for (const { batch, rows: count } of parser.parse(chunk, settings)) {
    const weights = parser.rowWeights(count)
    for (const [r, row] of rowsOfBatch(arena, batch).entries())
      rows.push({ ...row, labelText: parser.labelText(r), weight: weights?.[r] })
  }
  if (parser.badRows > 0) throw new Error(JSON.stringify(parser.bad))
  return rows
}

/** The chunks of a file, while it is used. */
export async function withChunks<T>(
  path: string,
  cut: ByPlan,
  use: (chunks: PlannedChunk[], columns: string[]) => Promise<T>,
): Promise<T> {
  const input = new Input(path)
  try {
    const opened = await cut.open({ path, name: path, file: () => input.randomAccess('data') }, 1 << 20)
    return await use(opened.chunks as PlannedChunk[], opened.columns ?? [])
  } finally {
    await input.close()
  }
}

export async function readBothWays(
  path: string,
  format: InputFormat,
  options: TableOptions & { valueBits?: 32 | 64 } = {},
): Promise<ReadBothWays> {
  const { valueBits = 32, ...said } = options
  const cut = format.cut as ByPlan
  const tables = cut.tables!
  const learnt = await learnSchema([path], { format: undefined, onBadRow: 'fail', threads: 1, ...said })
  const arena = new Arena()
  const rooms = newCellRooms(arena)
  const parsers = { ofCells: new ColumnsParser(arena), ofText: new TableParser(arena) }
  const placed = new PlacedSchema(arena, learnt!.schema)
  const settings: ParseSettings = { indexBase: 1, skipBad: false, valueBits }
  const toText = await findTask(tables.toText.module, tables.toText.name)
  const read: ReadBothWays = { chunks: 0, byLoops: 0, ofCells: [], ofText: [] }
  const readChunk = async (planned: PlannedChunk, columns: string[]): Promise<void> => {
    const at = arena.allocate(planned.bytes + CHUNK_SLACK, 'a chunk')
    await planned.fill(arena.bytes(at, planned.bytes))
    const table = aboutColumns(columns, { name: path, placed, needsLabel: true, header: undefined }) as AboutTable
    const chunk = { at, bytes: planned.bytes, first: false, about: { ...table, decode: planned.about } }
    const cells: CellsOfChunk | undefined = await cellsOfChunk(tables, rooms, chunk, wantedBy(arena, table))
    const isTaken = cells !== undefined && parsers.ofCells.take(cells, table, valueBits / 8)
    const ofChunk = { at: 0, bytes: cells?.rows ?? 0, first: false, about: table }
    if (isTaken) read.ofCells.push(...rowsOf(arena, parsers.ofCells, ofChunk, settings))
    read.byLoops += isTaken ? 1 : 0
    read.chunks++
    const given = { bytes: arena.bytes(at, planned.bytes).slice(), about: planned.about }
    const text = (await toText({ arena, kept: new Map() }, given)) as Uint8Array
    const textAt = arena.allocate(text.length + CHUNK_SLACK, 'text')
    arena.bytes(textAt, text.length).set(text)
    const asText = { at: textAt, bytes: text.length, first: false, about: table }
    read.ofText.push(...rowsOf(arena, parsers.ofText, asText, settings))
  }
  await withChunks(path, cut, async (chunks, columns) => {
    for (const planned of chunks) await readChunk(planned, columns)
  })
  return read
}
