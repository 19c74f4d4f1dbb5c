// Batches in an arena from plain rows, and back: what the tests of the block store compare.
import { growBatch } from '../../src/block-store/codecs.ts'
import type { Arena } from '../../src/numeric/arena.ts'
import * as L from '../../src/numeric/layouts.ts'

export interface Row {
  label: number
  indices: number[]
  values: number[]
}

export function makeBatch(arena: Arena, rows: Row[], valueBytes: 4 | 8 = 4, features?: number): number {
  const batch = arena.allocateZeroed(L.BATCH_BYTES, 'a batch')
  const nonzeros = rows.reduce((sum, row) => sum + row.indices.length, 0)
  growBatch(arena, batch, Math.max(rows.length, 1), Math.max(nonzeros, 1), valueBytes)
  const view = batchViews(arena, batch, rows.length, nonzeros)
  let [entry, most] = [0, 0]
  rows.forEach((row, r) => {
    view.starts[r] = entry
    view.labels[r] = row.label
    view.indices.set(row.indices, entry)
    view.values.set(row.values, entry)
    entry += row.indices.length
    for (const index of row.indices) most = Math.max(most, index + 1)
  })
  view.starts[rows.length] = entry
  arena.setU32(batch + L.BATCH_ROWS, rows.length)
  arena.setU32(batch + L.BATCH_NONZEROS, nonzeros)
  arena.setU32(batch + L.BATCH_FEATURES, features ?? most)
  return batch
}

export function batchViews(arena: Arena, batch: number, rows: number, nonzeros: number) {
  const at = (field: number) => arena.getU32(batch + field)
  const wide = at(L.BATCH_VALUE_BYTES) === 8
  return {
    starts: arena.u32(at(L.BATCH_STARTS), rows + 1),
    labels: arena.f64(at(L.BATCH_LABELS), rows),
    positions: arena.u32(at(L.BATCH_LABEL_AT), rows),
    indices: arena.u32(at(L.BATCH_INDICES), nonzeros),
    values: wide ? arena.f64(at(L.BATCH_VALUES), nonzeros) : arena.f32(at(L.BATCH_VALUES), nonzeros),
  }
}

/** Rows by position; −0 stays −0. */
export function readBatch(arena: Arena, batch: number): { position: number; row: Row }[] {
  const rows = arena.getU32(batch + L.BATCH_ROWS)
  const view = batchViews(arena, batch, rows, arena.getU32(batch + L.BATCH_NONZEROS))
  return Array.from({ length: rows }, (_, r) => ({
    position: view.positions[r],
    row: {
      label: view.labels[r],
      indices: [...view.indices.subarray(view.starts[r], view.starts[r + 1])],
      values: [...view.values.subarray(view.starts[r], view.starts[r + 1])],
    },
  }))
}

/** A small generator of numbers in [0, 1), the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let x = state
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
    return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32
  }
}

/** Rows of each kind that a codec exists for. */
export const kindsOfRows: Record<string, (rows: number, random: () => number) => Row[]> = {
  text: (rows, random) =>
    Array.from({ length: rows }, () => {
      const indices = draw(200, () => Math.floor(1e6 * random() ** 2))
      const counts = indices.map(() => Math.floor(1 / (random() + 0.05)) + 1)
      const length = Math.hypot(...counts)
      return { label: random() < 0.5 ? 1 : -1, indices, values: counts.map(c => Math.fround(c / length)) }
    }),
  'one-hot': (rows, random) =>
    Array.from({ length: rows }, () => {
      const indices = Array.from(
        { length: 30 },
        (_, group) => group * 1_000_000 + Math.floor(Math.exp(random() * 13.8)),
      )
      return { label: random() < 0.5 ? 1 : 0, indices, values: indices.map(() => 1) }
    }),
  clusters: (rows, random) =>
    Array.from({ length: rows }, () => {
      const indices = Array.from({ length: 24 }, (_, group) => group * 1_000_000 + Math.floor(Math.exp(random() * 4)))
      return { label: random() < 0.5 ? 1 : 0, indices, values: indices.map(() => 1) }
    }),
  'one-hot unit length': (rows, random) =>
    Array.from({ length: rows }, () => {
      const indices = draw(5 + Math.floor(random() * 20), () => Math.floor(Math.exp(random() * 17)))
      return { label: 3, indices, values: indices.map(() => Math.fround(1 / Math.sqrt(indices.length))) }
    }),
  dense: (rows, random) =>
    Array.from({ length: rows }, () => ({
      label: random(),
      indices: Array.from({ length: 50 }, (_, k) => k),
      values: Array.from({ length: 50 }, () => Math.fround(random() - 0.5)),
    })),
  'nearly dense': (rows, random) =>
    Array.from({ length: rows }, () => {
      const indices = Array.from({ length: 61 }, (_, k) => k).filter(() => random() < 0.9)
      return { label: -0, indices, values: indices.map(() => Math.floor(random() * 40) / 8) }
    }),
  'many values': (rows, random) =>
    Array.from({ length: rows }, (_, r) => {
      const indices = draw(40, () => Math.floor(random() * 5000))
      return { label: r % 7, indices, values: indices.map(() => Math.fround(Math.floor(random() * 500) / 999)) }
    }),
}

function draw(count: number, next: () => number): number[] {
  return [...new Set(Array.from({ length: count }, next))].sort((a, b) => a - b)
}
