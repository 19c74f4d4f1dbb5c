// Folds of rows: every class is dealt out evenly, in an order drawn from the seed, so that each fold is a small likeness of
// the whole.
import type { Arena } from '../numeric/arena.ts'
import { ROW_CLASS } from '../numeric/layouts.ts'
import type { RowSet } from './row-set.ts'

/** A fold is a byte. */
export const MOST_FOLDS = 255

/** Address of u8[rows]: the fold of each row. */
export function dealFolds(arena: Arena, rows: RowSet, folds: number, seed: number): number {
  const at = arena.allocateZeroed(Math.max(rows.rows, 1), 'folds')
  const classes = classesOf(arena, rows)
  const order = arena.allocate(Math.max(rows.rows, 1) * 4, 'folds')
  const random = arena.allocate(8, 'folds')
  arena.u64(random, 1)[0] = BigInt.asUintN(64, BigInt(seed) * 0x9e3779b97f4a7c15n + 0x632be59bd9b4e019n)
  arena.numeric.iota(order, rows.rows)
  arena.numeric.shuffle(order, rows.rows, random)
  // Each class goes on where the one before it ended: the folds are as large as each other to within one row.
  const counts = rows.labels.map(() => 0)
  for (const number of classes) counts[number]++
  const next: number[] = []
  counts.reduce((sum, count) => {
    next.push(sum % folds)
    return sum + count
  }, 0)
  const fold = arena.bytes(at, rows.rows)
  for (const row of arena.u32(order, rows.rows)) {
    const number = classes[row]
    fold[row] = next[number]
    next[number] = (next[number] + 1) % folds
  }
  return at
}

/** Class numbers of the rows. */
export function classesOf(arena: Arena, rows: RowSet): Uint32Array {
  const table = arena.u32(rows.table, rows.rows)
  return Uint32Array.from(table, record => arena.getU32(record + ROW_CLASS))
}
