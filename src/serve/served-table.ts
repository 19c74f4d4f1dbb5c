// Lines of a table in requests: the first row of a request names its columns, or they stand in the order of the training. Rows are
// read by the parser that `predict` reads files with.
import { type AboutTable, TableParser } from '../input-formats/csv.ts'
import type { ChunkBytes } from '../input-formats/input-format.ts'
import { blankByteOrderMark } from '../input-formats/line-chunks.ts'
import type { Arena } from '../numeric/arena.ts'
import { Region } from '../numeric/region.ts'
import { COLUMN_BYTES } from '../numeric/table-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { endOfRows, layoutOf } from '../tables/delimited-text.ts'
import { type MatchedText, matchText } from '../tables/match-columns.ts'
import { PlacedSchema } from '../tables/place-schema.ts'
import type { Schema } from '../tables/schema.ts'

/** What messages call the table of a request. */
const NAME = 'the body'

export class ServedTable {
  readonly parser: TableParser
  readonly #placed: PlacedSchema
  /** Records of the columns of the request that is being answered: requests take turns. */
  readonly #columns: Region

  constructor(arena: Arena, schema: Schema) {
    this.parser = new TableParser(arena)
    this.#placed = new PlacedSchema(arena, schema)
    this.#columns = new Region(arena, 'the columns of a request')
  }

  get schema(): Schema {
    return this.#placed.schema
  }

  about(matched: MatchedText): AboutTable {
    const { order } = matched
    const columnAt = this.#columns.room(order.length * COLUMN_BYTES)
    this.#placed.fillColumns(columnAt, order)
    return { ...matched, columnAt, features: this.schema.features, needsLabel: false, weights: false }
  }
}

/** The table of one request, which comes in pieces. */
export class TableOfRequest {
  readonly #table: ServedTable
  readonly #delimiters: readonly number[]
  #matched: MatchedText | undefined

  constructor(table: ServedTable, delimiters: readonly number[]) {
    this.#table = table
    this.#delimiters = delimiters
  }

  /** Where the last whole row ends: a line feed within quotes ends none. */
  endOfRows(text: Uint8Array): number {
    if (!this.#matched) blankByteOrderMark(text.subarray(0, 3))
    return endOfRows(text, this.#matched?.delimiter ?? layoutOf(text, this.#delimiters, NAME).delimiter)
  }

  /** The next piece, whose bytes stand there; whole rows. `text` is the same without what was added behind it. */
  chunk(text: Uint8Array, at: Address, bytes: ByteCount): ChunkBytes {
    const first = this.#matched === undefined
    this.#matched ??= matchText(layoutOf(text, this.#delimiters, NAME), this.#table.schema, { name: NAME, needed: [] })
    return { at, bytes, first, about: this.#table.about(this.#matched) }
  }
}
