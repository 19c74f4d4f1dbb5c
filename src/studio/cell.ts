// What is asked of a cell of a confusion matrix, and what is answered, whatever the data is.

export interface CellRow {
  /** Counted from 1; of data that has no lines, the number of the row. */
  line: number
  truth: string
  predicted: string
  score: number
  text: string
  /** Of a store: the data that the row came from, and its number there. */
  source?: string
  sourceRow?: number
}

export interface CellRows {
  rows: CellRow[]
  /** How many rows the cell has. */
  all: number
  /** There when only a part of the data was scored. */
  sampled?: true
  /** There when the data has no lines: rows have numbers. */
  byRow?: true
}

export interface Cell {
  truth: string
  predicted: string
  /** Rows to show. */
  most: number
  /** Of one row alone: its line. It is shown whole, as far as that is possible. */
  line?: number | undefined
}

/** What is scored, at most. */
export interface Limits {
  rows: number
  bytes: number
}

/** Data that was scored. */
export interface Scored {
  cell(cell: Cell): Promise<CellRows>
}

const MOST_TEXT = 2000
const MOST_TEXT_OF_ONE = 500_000

/** Characters of a row's text, at most. */
export function textLength({ line }: Cell): number {
  return line === undefined ? MOST_TEXT : MOST_TEXT_OF_ONE
}
