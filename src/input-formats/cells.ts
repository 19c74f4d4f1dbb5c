// Columns of cells, in shared memory: what a file in columns is decoded to where its columns are numbers and texts. Each cell has
// eight bytes, and compiled loops make rows of them. What is not as plain goes by way of text.
import type { Arena } from '../numeric/arena.ts'
import { Region } from '../numeric/region.ts'
import { roundUp } from '../numeric/rounding.ts'
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
  CELLS_AT,
  CELLS_BYTES,
  CELLS_KIND,
  NO_CELLS,
  NUMBER_CELLS,
  TEXT_CELLS,
} from '../numeric/table-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'

/** What somebody needs of a column: nothing, numbers, texts, which numbers may be written as, or what it has. */
export type CellsWanted = 'none' | 'numbers' | 'texts' | 'any'

export const CELL_BYTES = 8
/** Cells that are decoded at once. */
export const MOST_CELLS = 1 << 26
/** Bytes behind a text or a page that loops may read, or write. */
const SLACK: ByteCount = 64

/** Room for so many bytes, and for what loops touch behind them. */
export const withSlack = (bytes: ByteCount): ByteCount => roundUp(bytes + SLACK, CELL_BYTES)

/** What is written another way, or damaged: it goes by way of text, where the words for what is wrong are found. */
class NotPlain extends Error {}

export function demand(holds: unknown): asserts holds {
  if (!holds) throw new NotPlain()
}

/** What comes of work that meets nothing else. */
export function ifPlain<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

/** What a library or a reader makes of bytes: whatever it complains of is damaged. */
export function demanded<T>(work: () => T): T {
  try {
    return work()
  } catch {
    throw new NotPlain()
  }
}

export interface ColumnOfCells {
  /** One of the constants NO_CELLS, NUMBER_CELLS and TEXT_CELLS. */
  kind: number
  at: Address
}

export interface CellsOfChunk {
  rows: number
  /** In the order of the file. */
  columns: ColumnOfCells[]
}

/** A chunk that is decoded where it is. */
export interface EncodedBytes {
  at: Address
  bytes: ByteCount
}

/** Room for cells, and for what they are made of. Each chunk uses it anew. */
export interface CellRooms {
  arena: Arena
  cells: Region
  /** The bytes of texts, which cells point to. */
  texts: Region
  /** The same of numbers that are written as texts. */
  digits: Region
  /** Of the page or the column at hand. */
  page: Region
  levels: Region
  numbers: Region
  dictionary: Region
}

export function newCellRooms(arena: Arena): CellRooms {
  const room = () => new Region(arena, 'decoded columns')
  return {
    arena,
    cells: room(),
    texts: room(),
    digits: room(),
    page: room(),
    levels: room(),
    numbers: room(),
    dictionary: room(),
  }
}

const BITS_OF: Record<number, number> = {
  [CELL_I8]: 8,
  [CELL_U8]: 8,
  [CELL_I16]: 16,
  [CELL_U16]: 16,
  [CELL_I32]: 32,
  [CELL_U32]: 32,
  [CELL_I64]: 64,
  [CELL_U64]: 64,
  [CELL_F32]: 32,
  [CELL_F64]: 64,
  [CELL_BIT]: 1,
}

/** Bytes that numbers of a kind take in a file. */
export const bytesOfNumbers = (kind: number, count: number): ByteCount => Math.ceil((count * BITS_OF[kind]) / 8)

/** Whether a column has what is wanted of it. */
export function hasWanted(wanted: CellsWanted, texts: boolean): boolean {
  return wanted !== 'numbers' || !texts
}

/** Bytes of a whole number as text, at most. */
const LONGEST_NUMBER: ByteCount = 17

/** The same cells, with texts of numbers where texts are wanted; undefined where a number is not whole. */
export function withTexts(
  { arena, digits }: CellRooms,
  { rows, columns }: CellsOfChunk,
  wanted: readonly CellsWanted[],
): CellsOfChunk | undefined {
  const isWritten = ({ kind }: ColumnOfCells, k: number): boolean => kind === NUMBER_CELLS && wanted[k] === 'texts'
  const bytes = withSlack(rows * LONGEST_NUMBER)
  let next = digits.room(columns.filter(isWritten).length * bytes)
  const found: ColumnOfCells[] = []
  for (const [k, column] of columns.entries()) {
    if (isWritten(column, k)) {
      if (!arena.numeric.cellsToTexts(column.at, rows, next)) return undefined
      next += bytes
      found.push({ ...column, kind: TEXT_CELLS })
    } else found.push(column)
  }
  return { rows, columns: found }
}

/** Room for the cells of all columns that are wanted. */
export function columnsOfCells(
  { cells }: CellRooms,
  rows: number,
  wanted: readonly CellsWanted[],
  areTexts: (column: number) => boolean,
): ColumnOfCells[] {
  demand(rows * wanted.length <= MOST_CELLS)
  const size = rows * CELL_BYTES
  let at = cells.room(wanted.filter(each => each !== 'none').length * size)
  return wanted.map((each, k) => {
    if (each === 'none') return { kind: NO_CELLS, at: 0 }
    at += size
    return { kind: areTexts(k) ? TEXT_CELLS : NUMBER_CELLS, at: at - size }
  })
}

/** Records of the columns, where loops look for them. */
export function placeCells(arena: Arena, room: Region, columns: readonly ColumnOfCells[]): Address {
  const at = room.room(columns.length * CELLS_BYTES)
  for (const [k, column] of columns.entries()) {
    arena.setU32(at + k * CELLS_BYTES + CELLS_KIND, column.kind)
    arena.setU32(at + k * CELLS_BYTES + CELLS_AT, column.at)
  }
  return at
}
