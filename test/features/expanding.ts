// Rows through the compiled expansions, in this thread, and plain arrays back.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Expander } from '../../src/features/expander.ts'
import type { ExpansionStep } from '../../src/features/expansion.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { BatchFields } from '../../src/numeric/fields/batch.ts'
import { BATCH_BYTES } from '../../src/numeric/layouts.ts'
import { rowsOfBatch } from '../input-formats/parsing.ts'

export interface PlainRow {
  indices: number[]
  values: number[]
}

/** A batch of these rows; the label of a row is its number. */
export function batchOf(arena: Arena, rows: PlainRow[], valueBytes: 4 | 8 = 4): number {
  const nonzeros = rows.reduce((sum, row) => sum + row.indices.length, 0)
  const room = (bytes: number): number => arena.allocate(Math.max(bytes, 8), 'a test')
  const batch = new BatchFields(arena, arena.allocateZeroed(BATCH_BYTES, 'a test'))
  const [starts, labels, labelAt] = [room((rows.length + 1) * 4), room(rows.length * 8), room(rows.length * 4)]
  const [indices, values] = [room(nonzeros * 4), room(nonzeros * valueBytes)]
  let next = 0
  rows.forEach((row, r) => {
    arena.setU32(starts + r * 4, next)
    arena.setF64(labels + r * 8, r)
    arena.u32(indices, nonzeros).set(row.indices, next)
    const all = valueBytes === 8 ? arena.f64(values, nonzeros) : arena.f32(values, nonzeros)
    all.set(row.values, next)
    next += row.indices.length
  })
  arena.setU32(starts + rows.length * 4, next)
  batch.rows = rows.length
  batch.nonzeros = nonzeros
  batch.starts = starts
  batch.labels = labels
  batch.labelAt = labelAt
  batch.indices = indices
  batch.values = values
  batch.valueBytes = valueBytes
  return batch.at
}

/** The rows, expanded; that pieces follow each other and keep their labels is seen to. */
export function expanded(
  expansion: string | ExpansionStep[],
  rows: PlainRow[],
  valueBytes: 4 | 8 = 4,
  arena = new Arena(),
): PlainRow[] {
  const expander = new Expander(arena, expansion)
  const result: PlainRow[] = []
  for (const { batch, first, rows: count, nonzeros } of expander.expand(batchOf(arena, rows, valueBytes))) {
    assert.equal(first, result.length)
    const found = rowsOfBatch(arena, batch)
    assert.equal(found.length, count)
    assert.equal(
      found.reduce((sum, row) => sum + row.indices.length, 0),
      nonzeros,
    )
    found.forEach(({ label }, r) => {
      assert.equal(label, first + r)
    })
    result.push(...found.map(({ indices, values }) => ({ indices, values })))
  }
  assert.equal(result.length, rows.length)
  for (const { indices } of result) {
    for (let k = 1; k < indices.length; k++) assert.ok(indices[k] > indices[k - 1], 'feature numbers rise along a row')
  }
  return result
}

/** A string as the parser leaves it. */
export const letters = (string: string): PlainRow => ({
  indices: [...string].map((_, p) => p),
  values: [...string].map(letter => letter.charCodeAt(0)),
})

export const anyString = (alphabet: string, maxLength = 60): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...alphabet), maxLength })

/** Sparse rows of numbers that a float holds. */
export const sparseRow = (features: number, maxLength = 12): fc.Arbitrary<PlainRow> =>
  fc.uniqueArray(fc.nat(features - 1), { maxLength }).chain(indices =>
    fc.record({
      indices: fc.constant([...indices].sort((a, b) => a - b)),
      values: fc.array(
        fc.float({ min: -100, max: 100, noNaN: true }).map(x => (Math.abs(x) < 1e-6 ? 1 : Math.fround(x))),
        { minLength: indices.length, maxLength: indices.length },
      ),
    }),
  )

/** Σ x_j z_j. */
export function product(x: PlainRow, z: PlainRow): number {
  const values = new Map(x.indices.map((index, k) => [index, x.values[k]]))
  return z.indices.reduce((sum, index, k) => sum + (values.get(index) ?? 0) * z.values[k], 0)
}
