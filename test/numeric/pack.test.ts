// Batches to row records: whatever layout a row gets, it comes back bit by bit.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import {
  ROW_KIND_CODED,
  ROW_KIND_CONSTANT,
  ROW_KIND_DENSE,
  ROW_KIND_F32,
  ROW_KIND_F64,
} from '../../src/numeric/layouts.ts'
import { RowPacker } from '../../src/rows/row-packer.ts'
import { bitsOf, type DecodedRow, decodeRow, type Entries, randomNumbers, seed, writeBatch } from './reference.ts'

type Style = 'empty' | 'constant' | 'few' | 'count' | 'real' | 'dense' | 'huge' | 'extreme'
const styles: Style[] = ['empty', 'constant', 'few', 'count', 'real', 'dense', 'huge', 'extreme']

/** A row in one of the ways that data comes. */
function makeRow(style: Style, length: number, random: () => number): Entries {
  const indices: number[] = []
  const values: number[] = []
  const palette = Array.from({ length: 6 }, () => Math.fround(random() * 20 - 10))
  const constant = Math.fround(random() * 4 - 2)
  let index = style === 'huge' ? 4294967294 - 3 * length : Math.floor(random() * 5)
  for (let k = 0; k < (style === 'empty' ? 0 : length); k++) {
    indices.push(index)
    index += style === 'dense' ? (random() < 0.9 ? 1 : 2) : style === 'huge' ? 3 : 2 + Math.floor(random() * 50)
    if (style === 'constant') values.push(constant)
    else if (style === 'few') values.push(palette[Math.floor(random() * palette.length)])
    else if (style === 'count') values.push(1 + Math.floor(random() ** 3 * 200))
    else if (style === 'extreme') {
      values.push([3.4028234663852886e38, -1.401298464324817e-45, 1.17549435e-38, -1e-40].map(Math.fround)[k % 4])
    } else values.push(random() * 2 - 1.0001)
  }
  return { indices, values }
}

function pack(
  arena: Arena,
  packer: RowPacker,
  rows: Entries[],
  valueBytes: 4 | 8,
  settings: { unit?: boolean; plain?: boolean; load?: number } = {},
): DecodedRow[] {
  const batch = writeBatch(arena, rows, valueBytes)
  const classes = arena.allocate(rows.length * 4, 'test classes')
  arena.u32(classes, rows.length).set(rows.map((_, k) => (k * 7) % 11))
  packer.start({ unit: false, plain: false, load: 0, ...settings })
  assert.ok(packer.pack(batch, rows.length, classes))
  const addresses = [...packer.table()]
  assert.equal(addresses.length, rows.length)
  const decoded = addresses.map(at => decodeRow(arena, at))
  // Records stand in the order of the rows unless a new extent began, never one upon the other, aligned to 8 bytes.
  const spans = addresses.map((at, k) => [at, decoded[k].end]).sort((a, b) => a[0] - b[0])
  spans.forEach(([at], k) => {
    assert.equal(at % 8, 0)
    if (k > 0) assert.ok(at >= spans[k - 1][1], 'a record begins inside the one before it')
  })
  return decoded
}

const batchOf = fc.record({
  styles: fc.oneof(
    fc.array(fc.tuple(fc.constantFrom(...styles), fc.nat(120)), { maxLength: 40 }),
    // Enough entries for a dictionary that rows share.
    fc.array(fc.tuple(fc.constantFrom(...styles), fc.integer({ min: 35, max: 90 })), { minLength: 32, maxLength: 40 }),
  ),
  only: fc.option(fc.constantFrom(...styles)),
  start: fc.integer(),
})
const rowsOf = ({ styles: list, only, start }: typeof batchOf extends fc.Arbitrary<infer B> ? B : never): Entries[] => {
  const random = randomNumbers(start)
  return list.map(([style, length]) => makeRow(only ?? style, length, random))
}

describe('packBatch', () => {
  it('gives every f32 row back bit by bit and reaches every layout', () => {
    const arena = new Arena()
    const reached = new Set<string>()
    const mark = arena.mark()
    fc.assert(
      fc.property(batchOf, fc.boolean(), (batch, plain) => {
        arena.release(mark)
        const rows = rowsOf(batch).map(row => ({ ...row, values: row.values.map(Math.fround) }))
        const decoded = pack(arena, new RowPacker(arena), rows, 4, { plain })
        for (const [k, row] of decoded.entries()) {
          const expected = rows[k]
          assert.equal(row.classNumber, (k * 7) % 11)
          assert.deepEqual(row.indices, expected.indices)
          assert.deepEqual(bitsOf(row.values.map(x => x * row.scale)), bitsOf(expected.values))
          if (row.kind !== ROW_KIND_CONSTANT) assert.equal(row.scale, 1)
          const norm = expected.values.reduce((sum, x) => sum + x * x, 0)
          assert.ok(Math.abs(row.norm - norm) <= 1e-12 * norm)
          if (plain) assert.ok(row.kind === ROW_KIND_F32 || row.kind === ROW_KIND_DENSE)
          const uses = decoded.filter(other => other.dictionary === row.dictionary).length
          reached.add(row.kind === ROW_KIND_CODED ? `coded ${uses > 1 ? 'shared' : 'own'}` : String(row.kind))
        }
      }),
      { seed, numRuns: 400 },
    )
    const all = [ROW_KIND_F32, ROW_KIND_CONSTANT, ROW_KIND_DENSE].map(String)
    assert.deepEqual([...reached].sort(), [...all, 'coded own', 'coded shared'].sort())
  })

  it('keeps f64 rows as they are', () => {
    const arena = new Arena()
    const mark = arena.mark()
    fc.assert(
      fc.property(batchOf, batch => {
        arena.release(mark)
        const rows = rowsOf(batch)
        for (const [k, row] of pack(arena, new RowPacker(arena), rows, 8).entries()) {
          assert.equal(row.kind, ROW_KIND_F64)
          assert.deepEqual(row.indices, rows[k].indices)
          assert.deepEqual(bitsOf(row.values), bitsOf(rows[k].values))
          const norm = rows[k].values.reduce((sum, x) => sum + x * x, 0)
          assert.ok(Math.abs(row.norm - norm) <= 1e-12 * norm)
        }
      }),
      { seed, numRuns: 100 },
    )
  })

  it('makes rows unit length by their scale alone', () => {
    const arena = new Arena()
    const mark = arena.mark()
    fc.assert(
      fc.property(batchOf, fc.boolean(), (batch, wide) => {
        arena.release(mark)
        const rows = rowsOf(batch).map(row => ({ ...row, values: row.values.map(wide ? x => x : Math.fround) }))
        const decoded = pack(arena, new RowPacker(arena), rows, wide ? 8 : 4, { unit: true })
        for (const [k, row] of decoded.entries()) {
          const { indices, values } = rows[k]
          assert.deepEqual(row.indices, indices)
          if (values.length === 0) {
            assert.equal(row.norm, 0)
            continue
          }
          const length = Math.hypot(...values)
          assert.equal(row.norm, 1)
          for (const [e, x] of values.entries()) {
            const found = row.values[e] * row.scale
            assert.ok(
              Math.abs(found - x / length) <= 1e-14 * Math.abs(x / length) + 1e-300,
              `${found}, expected ${x / length}`,
            )
          }
          const squares = row.values.reduce((sum, x) => sum + (x * row.scale) ** 2, 0)
          assert.ok(Math.abs(squares - 1) < 1e-12)
        }
      }),
      { seed, numRuns: 150 },
    )
  })

  it('goes on into new extents, and packs a row larger than one', () => {
    const arena = new Arena()
    const packer = new RowPacker(arena)
    const random = randomNumbers(5)
    const rows = [
      ...Array.from({ length: 3000 }, () => makeRow('real', 150, random)),
      makeRow('real', 700_000, random),
      makeRow('few', 700_000, random),
      makeRow('dense', 700_000, random),
      makeRow('constant', 700_000, random),
      ...Array.from({ length: 50 }, () => makeRow('count', 40, random)),
    ].map(row => ({ ...row, values: row.values.map(Math.fround) }))
    const decoded = pack(arena, packer, rows, 4)
    decoded.forEach((row, k) => {
      assert.deepEqual(row.indices, rows[k].indices)
      assert.deepEqual(
        row.values.map(x => x * row.scale),
        rows[k].values,
      )
    })
    const bytes = decoded.reduce((sum, row) => sum + 8 * row.values.length, 0)
    assert.ok(packer.written > 0.5 * bytes && packer.written < 1.2 * bytes)
  })

  it('adds batches of one chunk to one table, and does not write into the extents of an earlier load', () => {
    const arena = new Arena()
    const packer = new RowPacker(arena)
    const random = randomNumbers(8)
    const batches = Array.from({ length: 20 }, (_, k) =>
      Array.from({ length: 1 + 3 * k }, () => makeRow('count', 30, random)),
    )
    packer.start({ unit: false, plain: false, load: 1 })
    for (const rows of batches) {
      const classes = arena.allocateZeroed(rows.length * 4, 'test classes')
      packer.pack(writeBatch(arena, rows, 4), rows.length, classes)
    }
    const flat = batches.flat()
    const table = packer.table()
    assert.equal(table.length, flat.length)
    const same = (): void =>
      flat.forEach((row, k) => {
        const found = decodeRow(arena, table[k])
        assert.deepEqual(found.indices, row.indices)
        assert.deepEqual(
          found.values.map(x => x * found.scale),
          row.values,
        )
      })
    same()
    pack(arena, packer, flat, 4, { load: 2 })
    same()
  })

  it('starts its hash afresh when the generation numbers come round', () => {
    const arena = new Arena()
    const packer = new RowPacker(arena)
    const spread = (values: number[]): Entries => ({ indices: values.map((_, k) => 3 * k), values })
    const rare = Array.from({ length: 200 }, (_, k) => Math.fround(Math.sqrt(k + 2)))
    const filler = spread(Array.from({ length: 300 }, (_, k) => k + 0.25))
    const same = (rows: Entries[]): void => {
      for (const [k, row] of pack(arena, packer, rows, 4).entries()) assert.deepEqual(row.values, rows[k].values)
    }
    // A batch takes one number, and each of its rows another: the rare values are entered under number 3. The filler
    // ends the search for a shared dictionary before it meets them.
    same([filler, spread(rare.flatMap(x => [x, x]))])
    // The next batch takes all other numbers up to 65,535, and touches few of the slots.
    const two = spread(Array.from({ length: 24 }, (_, k) => 1 + (k % 2)))
    same([filler, ...Array.from({ length: 65_530 }, () => two)])
    same([filler, spread(rare.toReversed().flatMap(x => [x, x]))])
  })
})

describe('relabelRows', () => {
  it('maps the class number of each row of a stretch of the table, and nothing else', () => {
    const arena = new Arena()
    const random = randomNumbers(3)
    const rows = Array.from({ length: 60 }, (_, k) => makeRow(styles[k % styles.length], 20, random))
    const batch = writeBatch(arena, rows, 4)
    const classes = arena.allocate(rows.length * 4, 'test classes')
    const numbers = rows.map((_, k) => k % 5)
    arena.u32(classes, rows.length).set(numbers)
    const packer = new RowPacker(arena)
    packer.start({ unit: false, plain: false, load: 0 })
    packer.pack(batch, rows.length, classes)
    const table = arena.allocate(rows.length * 4, 'test table')
    arena.u32(table, rows.length).set(packer.table())
    const map = arena.allocate(20, 'test map')
    arena.u32(map, 5).set([3, 0, 4000000000, 2, 1])
    const before = [...packer.table()].map(at => decodeRow(arena, at))
    arena.numeric.relabelRows(table + 4 * 10, 30, map)
    const after = [...packer.table()].map(at => decodeRow(arena, at))
    after.forEach((row, k) => {
      const mapped = k >= 10 && k < 40
      assert.equal(row.classNumber, mapped ? [3, 0, 4000000000, 2, 1][k % 5] : k % 5)
      assert.deepEqual({ ...row, classNumber: 0 }, { ...before[k], classNumber: 0 })
    })
  })
})
