// A schema in shared memory, where loops look values up: the lists of values with their hash tables once, and records of the
// columns in the order of each text.
import type { Arena } from '../numeric/arena.ts'
import { ColumnFields } from '../numeric/fields/column.ts'
import { roundUp } from '../numeric/rounding.ts'
import {
  COLUMN_BYTES,
  NO_FEATURE,
  ROLE_CATEGORY,
  ROLE_HASHED,
  ROLE_IGNORED,
  ROLE_LABEL,
  ROLE_NUMBER,
  ROLE_WEIGHT,
  ROLE_WORDS,
} from '../numeric/table-layout.ts'
import type { Address } from '../sizes.ts'
import type { CategoryColumn, Column, Schema } from './schema.ts'

const ROLES: Record<Column['role'], number> = {
  label: ROLE_LABEL,
  weight: ROLE_WEIGHT,
  ignored: ROLE_IGNORED,
  number: ROLE_NUMBER,
  category: ROLE_CATEGORY,
  hashed: ROLE_HASHED,
  words: ROLE_WORDS,
}

interface PlacedList {
  table: Address
  mask: number
  entries: Address
}

export class PlacedSchema {
  readonly schema: Schema
  readonly #arena: Arena
  readonly #lists = new Map<Column, PlacedList>()

  constructor(arena: Arena, schema: Schema) {
    this.#arena = arena
    this.schema = schema
  }

  /** Records of the columns of a text; see MatchedText for `order`. */
  columns(order: readonly number[]): Address {
    const at = this.#arena.allocate(order.length * COLUMN_BYTES, 'the columns of a table')
    this.fillColumns(at, order)
    return at
  }

  /** The same, to where there is room for them. */
  fillColumns(at: Address, order: readonly number[]): void {
    this.#arena.bytes(at, order.length * COLUMN_BYTES).fill(0)
    for (const [k, place] of order.entries()) {
      const column = this.schema.columns[place]
      if (column) this.#fill(new ColumnFields(this.#arena, at + k * COLUMN_BYTES), column)
    }
  }

  #fill(record: ColumnFields, column: Column): void {
    record.role = ROLES[column.role]
    record.missing = NO_FEATURE
    if (!('feature' in column)) return
    record.feature = column.feature
    if ('missing' in column && column.missing !== undefined) record.missing = column.missing
    if ('bits' in column) record.bits = column.bits
    if (column.role !== 'category') return
    let list = this.#lists.get(column)
    if (list) Object.assign(record, list)
    else {
      list = this.#list(column)
      Object.assign(record, list)
      this.#arena.numeric.listValues(record.at, column.values.length)
      this.#lists.set(column, list)
    }
  }

  /** Room for the values of a column, with the values in it; the hash table is yet to be filled. */
  #list({ values }: CategoryColumn): PlacedList {
    const arena = this.#arena
    const texts = values.map(value => Buffer.from(value))
    const slots = 2 ** Math.ceil(Math.log2(values.length * 2 + 2))
    const table = arena.allocateZeroed(slots * 4, 'the values of a column')
    const entries = arena.allocate(values.length * 8, 'the values of a column')
    // Values are compared by words: what is behind the last one may be read.
    const bytes = texts.reduce((sum, { length }) => sum + length, 0)
    let at = arena.allocate(roundUp(bytes, 8) + 8, 'the values of a column')
    for (const [k, text] of texts.entries()) {
      arena.bytes(at, text.length).set(text)
      arena.setU32(entries + k * 8, at)
      arena.setU32(entries + k * 8 + 4, text.length)
      at += text.length
    }
    return { table, mask: slots - 1, entries }
  }
}
