// Ways to run a text parser in this thread: through its class, and bare, with buffers as small as a test wants them
// and canaries around each.
import assert from 'node:assert/strict'
import { CHUNK_SLACK } from '../../src/input-formats/chunk-slots.ts'
import type { BadRow, InputFormat, ParseSettings } from '../../src/input-formats/input-format.ts'
import { libsvm } from '../../src/input-formats/libsvm.ts'
import { Reading } from '../../src/input-formats/reading.ts'
import { Arena } from '../../src/numeric/arena.ts'
import {
  BATCH_BYTES,
  BATCH_FEATURES,
  BATCH_INDICES,
  BATCH_LABEL_AT,
  BATCH_LABELS,
  BATCH_NONZERO_CAPACITY,
  BATCH_NONZEROS,
  BATCH_ROW_CAPACITY,
  BATCH_ROWS,
  BATCH_STARTS,
  BATCH_VALUE_BYTES,
  BATCH_VALUES,
  PARSE_BAD_ROWS,
  PARSE_BYTES,
  PARSE_CURSOR,
  PARSE_END,
  PARSE_INDEX_BASE,
  PARSE_LINES,
  PARSE_SKIP_BAD,
  PARSE_SLOW,
  PARSE_SLOW_CAPACITY,
  PARSE_SLOW_COUNT,
} from '../../src/numeric/layouts.ts'
import { type ReferenceRow, significantDigits } from './reference-parser.ts'

export interface Row {
  label: number
  indices: number[]
  values: number[]
}

export interface Parsed {
  rows: Row[]
  batches: number
  features: number
  lines: number
  badRows: number
  bad: BadRow[]
}

/** The rows of a batch as plain arrays. */
export function rowsOfBatch(arena: Arena, batch: number): Row[] {
  const count = arena.getU32(batch + BATCH_ROWS)
  const nonzeros = arena.getU32(batch + BATCH_NONZEROS)
  const starts = arena.u32(arena.getU32(batch + BATCH_STARTS), count + 1)
  const indices = arena.u32(arena.getU32(batch + BATCH_INDICES), nonzeros)
  const at = arena.getU32(batch + BATCH_VALUES)
  const values = arena.getU32(batch + BATCH_VALUE_BYTES) === 8 ? arena.f64(at, nonzeros) : arena.f32(at, nonzeros)
  assert.equal(starts[0], 0)
  assert.equal(starts[count], nonzeros)
  return Array.from(arena.f64(arena.getU32(batch + BATCH_LABELS), count), (label, r) => ({
    label,
    indices: [...indices.subarray(starts[r], starts[r + 1])],
    values: [...values.subarray(starts[r], starts[r + 1])],
  }))
}

/** The number of the first feature of LIBSVM text, where the text shows it. */
export function firstFeature(text: Uint8Array): number | undefined {
  const { indexBase } = new Reading(libsvm.name, undefined).lines
  return typeof indexBase === 'number' ? indexBase : indexBase(text)
}

/** The text with its last line feed. */
const closed = (text: Buffer): Buffer =>
  text.length > 0 && text.at(-1) !== 10 ? Buffer.concat([text, Buffer.from('\n')]) : text

export function parseWithClass(
  text: Buffer,
  settings: ParseSettings,
  arena = new Arena(),
  format: InputFormat = libsvm,
): Parsed & { labels: string[] } {
  const whole = closed(text)
  const at = arena.allocate(whole.length + CHUNK_SLACK, 'test text')
  arena.bytes(at, whole.length).set(whole)
  const parser = format.newParser(arena)
  const rows: Row[] = []
  const labels: string[] = []
  let features = 0
  let batches = 0
  for (const batch of parser.parse({ at, bytes: whole.length, first: true }, settings)) {
    const found = rowsOfBatch(arena, batch.batch)
    assert.equal(found.length, batch.rows)
    assert.equal(
      found.reduce((sum, row) => sum + row.indices.length, 0),
      batch.nonzeros,
    )
    found.forEach((_, r) => {
      labels.push(parser.labelText(r))
    })
    rows.push(...found)
    features = Math.max(features, batch.features)
    batches++
  }
  return { rows, labels, batches, features, lines: parser.lines, badRows: parser.badRows, bad: parser.bad }
}

const CANARY_BYTES = 64

/** Parses with given capacities; every buffer, and the text, stands between canaries that must live. */
export function parseBare(
  text: Buffer,
  settings: ParseSettings,
  capacity: { rows: number; nonzeros: number },
  arena = new Arena(),
  parser: 'parseLibsvm' | 'parseLabelString' = 'parseLibsvm',
): Omit<Parsed, 'bad'> {
  const whole = closed(text)
  const valueBytes = settings.valueBits / 8
  const guarded: { at: number; bytes: number; mark: number }[] = []
  const guard = (bytes: number, mark: number): number => {
    const at = arena.allocate(bytes + 2 * CANARY_BYTES + 64, 'a guarded buffer') + CANARY_BYTES
    arena.bytes(at - CANARY_BYTES, bytes + 2 * CANARY_BYTES + 64).fill(mark)
    guarded.push({ at, bytes, mark })
    return at
  }
  const at = guard(whole.length, 0xa5)
  arena.bytes(at, whole.length).set(whole)
  const slowRoom = valueBytes === 8 ? capacity.nonzeros + 1 : 1
  const batch = guard(BATCH_BYTES, 0xc1)
  const state = guard(PARSE_BYTES, 0xc2)
  const set = (where: number, fields: Record<number, number>): void => {
    for (const [offset, value] of Object.entries(fields)) arena.setU32(where + Number(offset), value)
  }
  set(batch, {
    [BATCH_STARTS]: guard((capacity.rows + 1) * 4, 0xc3),
    [BATCH_LABELS]: guard(capacity.rows * 8, 0xc4),
    [BATCH_INDICES]: guard(capacity.nonzeros * 4, 0xc5),
    [BATCH_VALUES]: guard(capacity.nonzeros * valueBytes, 0xc6),
    [BATCH_LABEL_AT]: guard(capacity.rows * 4, 0xc7),
    [BATCH_VALUE_BYTES]: valueBytes,
    [BATCH_ROW_CAPACITY]: capacity.rows,
    [BATCH_NONZERO_CAPACITY]: capacity.nonzeros,
  })
  const slow = guard(slowRoom * 8, 0xc8)
  set(state, {
    [PARSE_CURSOR]: at,
    [PARSE_END]: at + whole.length,
    [PARSE_INDEX_BASE]: settings.indexBase,
    [PARSE_SKIP_BAD]: settings.skipBad ? 1 : 0,
    [PARSE_LINES]: 0,
    [PARSE_BAD_ROWS]: 0,
    [PARSE_SLOW]: slow,
    [PARSE_SLOW_CAPACITY]: slowRoom,
    [PARSE_SLOW_COUNT]: 0,
  })
  const rows: Row[] = []
  let features = 0
  let batches = 0
  for (;;) {
    const cursor = arena.getU32(state + PARSE_CURSOR)
    arena.numeric[parser](state, batch)
    const next = arena.getU32(state + PARSE_CURSOR)
    const found = rowsOfBatch(arena, batch)
    for (let k = 0; valueBytes === 8 && k < arena.getU32(state + PARSE_SLOW_COUNT); k++) {
      const [entry, address] = arena.u32(slow + 8 * k, 2)
      assert.ok(address >= at && address < at + whole.length)
      const token = /^[^ \t\r\n#]*/.exec(whole.toString('latin1', address - at))![0]
      let row = 0
      let before = 0
      while (before + found[row].values.length <= entry) before += found[row++].values.length
      found[row].values[entry - before] = Number(token)
    }
    rows.push(...found)
    if (found.length > 0) batches++
    features = Math.max(features, found.length > 0 ? arena.getU32(batch + BATCH_FEATURES) : 0)
    assert.ok(found.length <= capacity.rows)
    assert.ok(next >= cursor && next <= at + whole.length, 'the cursor stays inside the text')
    if (arena.getU32(state + PARSE_BAD_ROWS) > 0 && !settings.skipBad) break
    if (next >= at + whole.length) break
    assert.ok(next > cursor, 'each call makes progress')
  }
  for (const { at: start, bytes, mark } of guarded) {
    for (const side of [arena.bytes(start - CANARY_BYTES, CANARY_BYTES), arena.bytes(start + bytes, CANARY_BYTES)]) {
      assert.ok(
        side.every(byte => byte === mark),
        `the canary ${mark.toString(16)} is dead`,
      )
    }
  }
  assert.ok(whole.equals(arena.bytes(at, whole.length)), 'the text is as it was')
  const lines = arena.getU32(state + PARSE_LINES)
  return { rows, batches, features, lines, badRows: arena.getU32(state + PARSE_BAD_ROWS) }
}

const ulp32 = (x: number): number => 2 ** Math.max(Math.floor(Math.log2(Math.abs(x))) - 23, -149)

/** Values bit by bit; a float whose text has more than 15 digits may be one unit in the last place off. */
export function sameRows(found: Row[], expected: ReferenceRow[], valueBits: 32 | 64): void {
  assert.equal(found.length, expected.length)
  found.forEach((row, r) => {
    const { label, labelText, indices, values, texts } = expected[r]
    // Labels are compared with labels that were read alike: one with many digits may be rounded twice.
    const exact = significantDigits(labelText) <= 15 && labelText.length <= 20 && !/[eE]/.test(labelText)
    if (Number.isNaN(label)) assert.ok(Number.isNaN(row.label), `label ${labelText} is ${row.label}`)
    else if (exact) assert.equal(row.label, label, `label ${labelText}`)
    else
      assert.ok(Math.abs(row.label - label) <= 1e-14 * Math.abs(label) + 1e-320, `label ${labelText} is ${row.label}`)
    assert.deepEqual(row.indices, indices)
    for (const [k, value] of row.values.entries()) {
      if (Object.is(value, values[k])) continue
      const slack = valueBits === 32 && significantDigits(texts[k]) > 15 ? ulp32(values[k]) : 0
      assert.ok(Math.abs(value - values[k]) <= slack, `${texts[k]} is read as ${value}, expected ${values[k]}`)
    }
  })
}
