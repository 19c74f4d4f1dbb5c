// Folds of rows: every class is dealt out evenly, in an order drawn from the seed, so that each fold is a small likeness of
// the whole.
import type { Arena } from '../numeric/arena.ts'
import { ROW_CLASS } from '../numeric/layouts.ts'
import type { Address } from '../sizes.ts'

/** A fold is a byte. */
export const MOST_FOLDS = 255

/** Address of u8[rows]: the fold of each row, by the class numbers of all. */
export function dealFolds(arena: Arena, classes: Uint32Array, folds: number, seed: number): number {
  const rows = classes.length
  const at = arena.allocateZeroed(Math.max(rows, 1), 'folds')
  const mark = arena.mark()
  const order = arena.allocate(Math.max(rows, 1) * 4, 'folds')
  const random = arena.allocate(8, 'folds')
  arena.u64(random, 1)[0] = BigInt.asUintN(64, BigInt(seed) * 0x9e3779b97f4a7c15n + 0x632be59bd9b4e019n)
  arena.numeric.iota(order, rows)
  arena.numeric.shuffle(order, rows, random)
  // Each class goes on where the one before it ended: the folds are as large as each other to within one row.
  const counts: number[] = []
  for (const number of classes) counts[number] = (counts[number] ?? 0) + 1
  const next: number[] = []
  let sum = 0
  for (const [number, count] of counts.entries()) {
    next[number] = sum % folds
    sum += count ?? 0
  }
  const fold = arena.bytes(at, rows)
  for (const row of arena.u32(order, rows)) {
    const number = classes[row]
    fold[row] = next[number]
    next[number] = (next[number] + 1) % folds
  }
  arena.release(mark)
  return at
}

/** Class numbers of rows in memory. */
export function classesOf(arena: Arena, rows: { table: Address; rows: number }): Uint32Array {
  const table = arena.u32(rows.table, rows.rows)
  return Uint32Array.from(table, record => arena.getU32(record + ROW_CLASS))
}

/** What is known of all rows besides their values, in the order of their source. */
export interface LabelledRows {
  /** Class numbers. */
  classes: Uint32Array
  /** Where rows have them. */
  weights: Float64Array | undefined
}

/** The same of rows in memory. */
export function labelledRows(
  arena: Arena,
  rows: { table: Address; rows: number; rowWeights?: Address | undefined },
): LabelledRows {
  const weights = rows.rowWeights ? arena.f64(rows.rowWeights, rows.rows).slice() : undefined
  return { classes: classesOf(arena, rows), weights }
}
