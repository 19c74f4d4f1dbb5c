// Stores to index, with their rows as plain numbers in the order of the store: what a search is held against.
import { join } from 'node:path'
import { type IngestOptions, ingest } from '../../src/block-store/ingest.ts'
import { loadStore } from '../../src/block-store/load-store.ts'
import { openStore, type Store } from '../../src/block-store/reader.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { ROW_CLASS, ROW_COUNT } from '../../src/numeric/layouts.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import { randomNumbers } from '../numeric/reference.ts'
import type { Folder } from '../out-of-core/fixture.ts'

export interface PlainRow {
  indices: number[]
  values: number[]
  class: number
}

/** Text of rows around a few centres, each of mostly one class: `lengths` makes some rows many times as long as others. */
export function clusteredRows(
  rows: number,
  features: number,
  {
    seed = 1,
    classes = 2,
    density = 1,
    lengths = false,
  }: Partial<Record<'seed' | 'classes' | 'density', number>> & {
    lengths?: boolean
  } = {},
): string {
  const random = randomNumbers(seed)
  const centres = Array.from({ length: 12 }, () => Array.from({ length: features }, () => random() * 2 - 1))
  return Array.from({ length: rows }, () => {
    const c = Math.floor(random() * centres.length)
    const label = random() < 0.1 ? Math.floor(random() * classes) : c % classes
    const length = lengths ? 10 ** (random() * 2 - 1) : 1
    const entries = centres[c].flatMap((centre, j) => {
      if (random() > density) return []
      return [`${j + 1}:${Math.fround(length * (centre + 0.4 * (random() - 0.5)))}`]
    })
    return `${label} ${entries.join(' ')}`
  }).join('\n')
}

export async function storeOf(
  folder: Folder,
  name: string,
  text: string,
  options: IngestOptions = {},
): Promise<string> {
  const path = join(folder.path, `${name}.spill`)
  await ingest(folder.write(`${name}.svm`, `${text}\n`), path, { blocks: 3, threads: 1, ...options })
  return path
}

/** All rows of a store in its order. */
export async function plainRows(path: string): Promise<{ store: Store; rows: PlainRow[] }> {
  const store = await openStore(path)
  const arena = new Arena()
  await using pool = new ThreadPool(arena.share, 1)
  const { rows } = await loadStore(arena, pool, store, { unit: false, plain: true }, () => {})
  const { labels } = store.manifest
  const numbers = rows.labels.map(label => labels.findIndex(({ text }) => text === label.text))
  const records = arena.u32(rows.table, rows.rows)
  return {
    store,
    rows: Array.from(records, record => ({
      ...entriesOf(arena, record),
      class: numbers[arena.getU32(record + ROW_CLASS)],
    })),
  }
}

/** The entries of a row record that are not 0. */
export function entriesOf(arena: Arena, record: number): { indices: number[]; values: number[] } {
  const room = arena.getU32(record + ROW_COUNT)
  const indices = arena.allocate(room * 4, 'indices')
  const values = arena.allocate(room * 8, 'values')
  const count = arena.numeric.writeEntries(record, indices, values)
  const kept = Array.from(arena.f64(values, count), (value, k) => ({
    value,
    index: arena.u32(indices, count)[k],
  })).filter(({ value }) => value !== 0)
  return { indices: kept.map(({ index }) => index), values: kept.map(({ value }) => value) }
}

/** Its margin, by plain sums. */
export function marginOf(
  row: PlainRow,
  {
    weights,
    bias = 0,
    positive,
    unit = false,
  }: { weights: Float64Array; bias?: number; positive: number; unit?: boolean },
): number {
  let [score, squares] = [0, 0]
  for (const [k, value] of row.values.entries()) {
    score += value * weights[row.indices[k]]
    squares += value * value
  }
  if (unit && squares > 0) score /= Math.sqrt(squares)
  return (row.class === positive ? 1 : -1) * (score + bias * weights[weights.length - 1])
}
