// Rows that are loaded ahead: every line of them is met, and never a byte beyond the memory.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena } from '../../src/numeric/arena.ts'
import * as layout from '../../src/numeric/layouts.ts'

const kinds = Object.entries(layout).filter(([name]) => name.startsWith('ROW_KIND_')) as [string, number][]

/** Bytes of a record of n entries, by the description of each kind. */
function bytesOf(name: string, n: number): number {
  const index = name.includes('DENSE') ? 0 : name.includes('SHORT') ? 2 : 4
  const value = name.endsWith('CONSTANT')
    ? 0
    : name.endsWith('F64')
      ? 8
      : name.endsWith('16')
        ? 2
        : /8$|CODED/.test(name)
          ? 1
          : 4
  const indices = value === 8 ? Math.ceil((index * n) / 8) * 8 : index * n
  return Math.ceil((layout.ROW_ENTRIES + indices + value * n) / 8) * 8
}

for (const [name, kind] of kinds) {
  test(`rows of ${name} at the very end of the memory are loaded ahead`, () => {
    const arena = new Arena()
    const tables = arena.allocate(256, 'tables')
    const end = arena.share.memory.buffer.byteLength
    for (let n = 0; n < 200; n++) {
      const row = end - bytesOf(name, n)
      if (row < tables + 256) break
      arena.bytes(row, end - row).fill(0)
      arena.u32(row + layout.ROW_COUNT, 1)[0] = n
      arena.u32(row + layout.ROW_KIND, 1)[0] = kind
      arena.u32(tables, 2).set([row, 0])
      arena.numeric.bringRows(tables, tables + 4, 0, 1, tables, 8)
      arena.numeric.bringOn(tables, tables + 4, 0, 1, tables, 8)
      // The same row comes again and again: its entries are loaded, then its header, then its address.
      arena.u32(tables + 8, 40).fill(0)
      arena.numeric.bringOn(tables, tables + 4, 0, 40, tables, 8)
      arena.numeric.bringWeightsF64(tables, tables + 4, 0, 1, tables)
      arena.numeric.bringWeightsF32(tables, tables + 4, 0, 1, tables)
    }
  })
}

test('every line of a row, of what stands beside it, and of a column is loaded', () => {
  const arena = new Arena()
  const at = arena.allocateZeroed(1 << 14, 'rows')
  const touched = (): number => arena.numeric.wordsTouched() >>> 0
  const row = at + 4096
  const n = 250
  arena.u32(row + layout.ROW_COUNT, 1)[0] = n
  arena.u32(row + layout.ROW_KIND, 1)[0] = layout.ROW_KIND_F32
  arena.u32(at, 2).set([row, 0])
  const bytes = bytesOf('ROW_KIND_F32', n)
  // A one in each line at the byte that is loaded: the sum tells how many lines there were.
  const before = touched()
  for (let line = 64; line < bytes; line += 64) arena.bytes(row + line, 1)[0] = 1
  arena.numeric.bringRows(at, at + 4, 0, 1, 0, 0)
  const lines = Math.ceil(bytes / 64) - 1
  // The first line holds the count: it is met twice, as a number and by its lowest byte.
  assert.equal(touched() - before, n + (n & 255) + lines)
  // The row comes next, sixteen times, and then a second one: of it, the header and what stands beside it.
  arena.u32(row + 2048 + layout.ROW_COUNT, 1)[0] = 7
  arena.u32(at, 2).set([row, row + 2048])
  arena.u32(at + 8, 18).fill(0)[17] = 1
  arena.bytes(at + 128, 16).set([1, 0, 0, 0, 0, 0, 0, 1, 3])
  const beside = touched()
  arena.numeric.bringOn(at, at + 8, 1, 18, at + 128, 8)
  assert.equal(touched() - beside, 16 * ((n & 255) + lines + 2) + 7 + 3)
  // Rows of up to 64 entries have their weights loaded, f64 or f32; longer ones have not.
  arena.u32(row + 2048 + layout.ROW_KIND, 1)[0] = layout.ROW_KIND_CONSTANT
  arena.u32(row + 2048 + layout.ROW_ENTRIES, 7).set([0, 9, 18, 27, 36, 45, 54])
  arena.bytes(at + 8192, 55).fill(2)
  arena.bytes(at + 8192 + 55, 54 * 8 - 54).fill(3)
  const weights = touched()
  arena.numeric.bringWeightsF32(at, at + 8 + 17 * 4, 0, 1, at + 8192)
  assert.equal(touched() - weights, 2 * 2 + 5 * 3)
  arena.numeric.bringWeightsF64(at, at + 8, 16, 18, at + 8192)
  assert.equal(touched() - weights, 2 * 2 + 5 * 3 + 2 + 6 * 3)
  arena.u32(at, 2).set([row, 0])
  const columns = at + 12288
  arena.u32(columns, 3).set([0, 0, 40])
  arena.bytes(columns + 1024, 160).fill(1)
  arena.bytes(columns + 2048, 320).fill(1)
  const then = touched()
  arena.u32(at + 8, 1)[0] = 1
  arena.numeric.bringColumns(columns, at + 8, 0, 1, columns + 1024, columns + 2048)
  // Three lines of 40 row numbers, five of 40 values, and the last byte of each.
  assert.equal(touched() - then, 3 + 5 + 2)
})
