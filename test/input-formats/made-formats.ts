// Two formats as others may come: a table of text with a header and quoted line feeds, and rows that come from no file.
import type { ChunkBytes, InputFormat, PlannedChunk } from '../../src/input-formats/input-format.ts'
import { type MadeRow, type RefusedRow, RowsParser } from '../../src/input-formats/rows-parser.ts'

const [LINE_FEED, QUOTE] = [10, 34]

/** Fields of rows: commas between them, quotes around those with line feeds. */
function fieldsOf(text: string): string[][] {
  const rows = text.match(/(?:"[^"]*"|[^"\n])*\n/g) ?? []
  return rows.map(row =>
    (row.slice(0, -1).match(/"[^"]*"|[^",]+|(?<=,|^)(?=,|$)/g) ?? []).map(f => f.replaceAll('"', '')),
  )
}

class TableParser extends RowsParser {
  protected override *rows(bytes: Uint8Array, { first, about }: ChunkBytes): Generator<MadeRow | RefusedRow> {
    const columns = about as string[]
    for (const [k, fields] of fieldsOf(Buffer.from(bytes).toString()).entries()) {
      if (first && k === 0) {
        this.lines++
        continue
      }
      const numbers = columns.flatMap((column, c) => (column.startsWith('x') ? [Number(fields[c])] : []))
      const label = fields[columns.indexOf('label')]
      if (fields.length === columns.length) yield { label, indices: [...numbers.keys()], values: numbers }
      else yield { column: 1, found: `${fields.length} fields`, expected: `${columns.length}, as the header has` }
      this.lines += fields.join('').split('\n').length - 1
    }
  }
}

/** `label`, `note` and columns of numbers, `x…`, in the order of the header. */
export const table: InputFormat = {
  module: import.meta.url,
  name: 'table',
  summary: 'a table with a header, for tests',
  title: 'a table',
  row: 'LABEL and other fields',
  letters: false,
  cut: {
    by: 'lines',
    examples: [],
    detect: line => line.includes('label,'),
    indexBase: 1,
    about: text => fieldsOf(Buffer.from(text).toString())[0],
    endOfRows(text) {
      let [end, quoted] = [0, false]
      for (let k = 0; k < text.length; k++) {
        if (text[k] === QUOTE) quoted = !quoted
        else if (text[k] === LINE_FEED && !quoted) end = k + 1
      }
      return end
    },
  },
  newParser: arena => new TableParser(arena),
}

class NumbersParser extends RowsParser {
  #numbers: number[] = []

  /** Stands for a library that decodes while one waits. */
  async prepare({ about }: ChunkBytes): Promise<void> {
    this.#numbers = await Promise.all((about as number[]).map(async number => number))
  }

  protected override *rows(): Generator<MadeRow> {
    for (const number of this.#numbers)
      yield { label: number % 2 ? 'odd' : 'even', indices: [0, number + 1], values: [0, number] }
  }
}

/** Rows that are made on the way: chunk k has the rows 10·k, …, 10·k + 9. No input is opened. */
async function* numbers(count: number): AsyncGenerator<PlannedChunk> {
  for (let k = 0; k < count; k++) {
    const made = Array.from({ length: 10 }, (_, i) => 10 * k + i)
    yield { bytes: made.length, fill: async target => target.set(made), about: made }
  }
}

/** The path says how many chunks there are. */
export const madeNumbers: InputFormat = {
  module: import.meta.url,
  name: 'made-numbers',
  summary: 'rows that come from no file, for tests',
  title: 'made numbers',
  row: 'LABEL and a number',
  letters: false,
  cut: {
    by: 'plan',
    detect: () => false,
    noFiles: true,
    indexBase: 0,
    open: async ({ path }) => ({ chunks: numbers(Number(path)) }),
  },
  newParser: arena => new NumbersParser(arena),
}
