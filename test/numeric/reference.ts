// What the tests of the numeric loops share: rows written into and read out of the arena by code that has nothing to do
// with the code under test, and plain references.
import assert from 'node:assert/strict'
import type { Arena } from '../../src/numeric/arena.ts'
import {
  BATCH_BYTES,
  BATCH_INDICES,
  BATCH_LABELS,
  BATCH_NONZEROS,
  BATCH_ROWS,
  BATCH_STARTS,
  BATCH_VALUE_BYTES,
  BATCH_VALUES,
  ROW_CLASS,
  ROW_COUNT,
  ROW_DICTIONARY,
  ROW_ENTRIES,
  ROW_KIND,
  ROW_KIND_CODED,
  ROW_KIND_CONSTANT,
  ROW_KIND_DENSE,
  ROW_KIND_F32,
  ROW_KIND_F64,
  ROW_KIND_SCALED_DENSE,
  ROW_KIND_SCALED_F32,
  ROW_NORM,
  ROW_SCALE,
  SPACE_FACTORS,
} from '../../src/numeric/layouts.ts'

/** One seed for all property tests, so that a failure repeats; SPILLWAY_TEST_SEED looks elsewhere. */
export const seed = Number(process.env['SPILLWAY_TEST_SEED'] ?? 20260101)

export const allRowKinds = [
  ROW_KIND_F32,
  ROW_KIND_CONSTANT,
  ROW_KIND_CODED,
  ROW_KIND_DENSE,
  ROW_KIND_F64,
  ROW_KIND_SCALED_F32,
  ROW_KIND_SCALED_DENSE,
]

/** Factors of scaled rows that tests write: powers of two, so that what is stored is exact. They lie in the control page, which
 *  nothing that a test releases takes along. */
const FACTORS_AT = 49152
const FACTORS = 1024
const factorOf = (feature: number): number => 2 ** -(feature % 5)

function placeFactors(arena: Arena): void {
  arena.setU32(SPACE_FACTORS, FACTORS_AT)
  arena.f64(FACTORS_AT, FACTORS).forEach((_, j, all) => {
    all[j] = factorOf(j)
  })
}

const isDense = (kind: number): boolean => kind === ROW_KIND_DENSE || kind === ROW_KIND_SCALED_DENSE
const isScaled = (kind: number): boolean => kind === ROW_KIND_SCALED_F32 || kind === ROW_KIND_SCALED_DENSE

export interface Entries {
  /** Rising. */
  indices: number[]
  values: number[]
}

export interface DecodedRow extends Entries {
  kind: number
  scale: number
  norm: number
  classNumber: number
  /** Address of the dictionary of a coded row, else 0. */
  dictionary: number
  /** First byte after the record (its own dictionary included). */
  end: number
}

const wideStart = (at: number, count: number): number => Math.ceil((at + 4 * count) / 8) * 8

/** Reads a row record. Values come as stored, before the row's scale, and of scaled rows times their factors; a constant row
 *  has ones; zeros of a dense row are left out. */
export function decodeRow(arena: Arena, at: number): DecodedRow {
  const count = arena.getU32(at + ROW_COUNT)
  const kind = arena.getU32(at + ROW_KIND)
  const entries = at + ROW_ENTRIES
  const row: DecodedRow = {
    kind,
    scale: arena.getF64(at + ROW_SCALE),
    norm: arena.getF64(at + ROW_NORM),
    classNumber: arena.getU32(at + ROW_CLASS),
    dictionary: 0,
    indices: [],
    values: [],
    end: entries + 4 * count,
  }
  const factors = arena.getU32(SPACE_FACTORS)
  const scaled = (value: number, feature: number): number =>
    isScaled(kind) ? value * arena.getF64(factors + feature * 8) : value
  if (isDense(kind)) {
    arena.f32(entries, count).forEach((value, index) => {
      if (value === 0) return
      row.indices.push(index)
      row.values.push(scaled(value, index))
    })
    return row
  }
  row.indices = [...arena.u32(entries, count)]
  const after = entries + 4 * count
  if (kind === ROW_KIND_CONSTANT) row.values = row.indices.map(() => 1)
  else if (kind === ROW_KIND_F32 || kind === ROW_KIND_SCALED_F32) {
    row.values = [...arena.f32(after, count)].map((value, k) => scaled(value, row.indices[k]))
    row.end = after + 4 * count
  } else if (kind === ROW_KIND_CODED) {
    row.dictionary = arena.getU32(at + ROW_DICTIONARY)
    row.end = after + count
    for (const code of arena.bytes(after, count)) {
      row.values.push(arena.f32(row.dictionary + 4 * code, 1)[0])
      if (row.dictionary >= at && row.dictionary < at + 16 * count + 2048) {
        row.end = Math.max(row.end, row.dictionary + 4 * code + 4)
      }
    }
  } else if (kind === ROW_KIND_F64) {
    row.values = [...arena.f64(wideStart(entries, count), count)]
    row.end = wideStart(entries, count) + 8 * count
  } else throw new Error(`no such row kind: ${kind}`)
  return row
}

/** Writes a row record of a given kind. Values must suit it: ones for a constant row, few distinct ones for a coded row. */
export function writeRow(
  arena: Arena,
  kind: number,
  { indices, values: given }: Entries,
  { scale = 1, classNumber = 0, dictionary = 0 }: { scale?: number; classNumber?: number; dictionary?: number } = {},
): number {
  const n = indices.length
  const length = n > 0 ? indices[n - 1] + 1 : 0
  if (isScaled(kind)) {
    if (length > FACTORS) throw new Error(`no factor for feature ${length - 1}`)
    placeFactors(arena)
  }
  const values = isScaled(kind) ? given.map((x, k) => x / factorOf(indices[k])) : given
  const room = 64 + 16 * Math.max(n, isDense(kind) ? length : 0) + 1024
  const at = arena.allocateZeroed(room, 'a test row')
  const entries = at + ROW_ENTRIES
  const after = entries + 4 * n
  arena.setU32(at + ROW_COUNT, isDense(kind) ? length : n)
  arena.setU32(at + ROW_KIND, kind)
  arena.setF64(at + ROW_SCALE, scale)
  arena.setF64(
    at + ROW_NORM,
    given.reduce((sum, x) => sum + (scale * x) ** 2, 0),
  )
  arena.setU32(at + ROW_CLASS, classNumber)
  if (isDense(kind)) {
    const dense = arena.f32(entries, length)
    for (const [k, index] of indices.entries()) dense[index] = values[k]
    return at
  }
  arena.u32(entries, n).set(indices)
  if (kind === ROW_KIND_F32 || kind === ROW_KIND_SCALED_F32) arena.f32(after, n).set(values)
  else if (kind === ROW_KIND_F64) arena.f64(wideStart(entries, n), n).set(values)
  else if (kind === ROW_KIND_CODED) {
    const distinct = [...new Set(values)]
    // Odd bytes behind the codes, where a dictionary of the row's own may stand.
    const own = dictionary || Math.ceil((after + n) / 4) * 4
    arena.setU32(at + ROW_DICTIONARY, own)
    arena.f32(own, distinct.length).set(distinct)
    arena.bytes(after, n).set(values.map(value => distinct.indexOf(value)))
  }
  return at
}

/** Writes rows as a batch (compressed sparse rows). */
export function writeBatch(arena: Arena, rows: (Entries & { label?: number })[], valueBytes: 4 | 8): number {
  const nonzeros = rows.reduce((sum, row) => sum + row.indices.length, 0)
  const at = arena.allocateZeroed(BATCH_BYTES, 'a test batch')
  const starts = arena.allocate((rows.length + 1) * 4, 'a test batch')
  const labels = arena.allocate(rows.length * 8, 'a test batch')
  const indices = arena.allocate(nonzeros * 4, 'a test batch')
  const values = arena.allocate(nonzeros * valueBytes, 'a test batch')
  const valueArray = valueBytes === 4 ? arena.f32(values, nonzeros) : arena.f64(values, nonzeros)
  let filled = 0
  rows.forEach((row, r) => {
    arena.u32(starts, rows.length + 1)[r] = filled
    arena.f64(labels, rows.length)[r] = row.label ?? 0
    arena.u32(indices, nonzeros).set(row.indices, filled)
    valueArray.set(row.values, filled)
    filled += row.indices.length
  })
  arena.u32(starts, rows.length + 1)[rows.length] = filled
  arena.setU32(at + BATCH_ROWS, rows.length)
  arena.setU32(at + BATCH_NONZEROS, nonzeros)
  arena.setU32(at + BATCH_STARTS, starts)
  arena.setU32(at + BATCH_LABELS, labels)
  arena.setU32(at + BATCH_INDICES, indices)
  arena.setU32(at + BATCH_VALUES, values)
  arena.setU32(at + BATCH_VALUE_BYTES, valueBytes)
  return at
}

/** The bits of doubles, for comparisons that tell −0 from 0. */
export function bitsOf(values: ArrayLike<number>): bigint[] {
  return [...new BigUint64Array(Float64Array.from(values).buffer)]
}

/** A small seeded generator for tests that make large data. */
export function randomNumbers(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Fails where a number is off by more than such a share of the one that is wanted. */
export function close(found: number, wanted: number, relative: number): void {
  assert.ok(Math.abs(found - wanted) <= relative * Math.abs(wanted), `found ${found}, expected ${wanted}`)
}
