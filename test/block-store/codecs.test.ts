import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SegmentDecoder, SegmentEncoder, setBasePosition } from '../../src/block-store/codecs.ts'
import { chooseCompression } from '../../src/block-store/compression.ts'
import { readSegmentHeader } from '../../src/block-store/file-layout.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { BATCH_FEATURES } from '../../src/numeric/layouts.ts'
import * as S from '../../src/numeric/segment-layout.ts'
import { kindsOfRows, makeBatch, type Row, readBatch, seeded } from './batches.ts'

const arena = new Arena()
const start = arena.mark()

/** Encodes, decodes and compares; returns the headers. */
function roundTrip(
  rows: Row[],
  { valueBytes = 4 as 4 | 8, blocks = 1, features = undefined as number | undefined, zstd = false, first = 0 } = {},
) {
  arena.release(start)
  const batch = makeBatch(arena, rows, valueBytes, features)
  const compression = zstd ? 'zstd' : 'none'
  const encoder = new SegmentEncoder(arena, { blocks, seed: 5, mode: 'random', compression })
  const decoder = new SegmentDecoder(arena)
  const out = decoder.newBatch()
  const segments = encoder.encode(batch, 3, first)
  const found = new Map<number, Row>()
  const headers = segments.map(segment => {
    setBasePosition(arena, segment.at, 2 ** 40)
    const header = decoder.decode(segment.at, segment.bytes, out, 'segment')
    assert.equal(header.block, segment.block)
    assert.equal(header.rows, segment.rows)
    assert.equal(header.nonzeros, segment.nonzeros)
    assert.equal(header.basePosition, 2 ** 40)
    assert.equal(arena.getU32(out + BATCH_FEATURES), arena.getU32(batch + BATCH_FEATURES))
    let before = -1
    for (const { position, row } of readBatch(arena, out)) {
      assert.ok(position > before, 'positions rise within a segment')
      before = position
      found.set(position - first, row)
    }
    return header
  })
  assert.equal(found.size, rows.length)
  // deepStrictEqual tells −0 from 0, and compares every bit that matters.
  rows.forEach((row, r) => {
    assert.deepStrictEqual(found.get(r), row)
  })
  return { headers, bytes: segments.reduce((sum, segment) => sum + segment.bytes, 0) }
}

describe('segments', () => {
  const random = seeded(7)
  for (const [kind, make] of Object.entries(kindsOfRows)) {
    for (const blocks of [1, 7]) {
      test(`come back as they went in: ${kind}, ${blocks} blocks`, () => {
        roundTrip(make(400, random), { blocks })
        roundTrip(make(400, random), { blocks, zstd: true, valueBytes: 8, first: 1000 })
      })
    }
  }

  const cases: [string, Row[], Partial<Record<keyof ReturnType<typeof roundTrip>['headers'][0]['codecs'], number>>][] =
    [
      [
        'the same everywhere',
        rowsOf(50, r => [
          [r, r + 9],
          [1, 1],
        ]),
        { labels: 0, lengths: 0, values: 0 },
      ],
      [
        'dense',
        kindsOfRows['dense'](100, random),
        { indices: S.INDICES_FULL, values: S.VALUES_RAW, labels: S.LABELS_RAW },
      ],
      ['nearly dense', kindsOfRows['nearly dense'](100, random), { indices: S.INDICES_BITMAP, values: S.VALUES_CODED }],
      ['text', kindsOfRows['text'](100, random), { indices: S.INDICES_GAPS, values: S.VALUES_ROW_CODED }],
      ['one-hot', kindsOfRows['one-hot'](500, random), { indices: S.INDICES_INTERVALS, values: S.VALUES_CONSTANT }],
      ['unit length', kindsOfRows['one-hot unit length'](500, random), { values: S.VALUES_BY_ROW }],
      ['many values', kindsOfRows['many values'](500, random), { values: S.VALUES_CODED, labels: S.LABELS_CODED }],
    ]
  for (const [name, rows, expected] of cases) {
    test(`take the codecs that fit: ${name}`, () => {
      const { codecs } = roundTrip(rows).headers[0]
      for (const [section, codec] of Object.entries(expected)) {
        assert.equal(codecs[section as keyof typeof codecs], codec, section)
      }
    })
  }

  test('hold the goals for bytes a nonzero', () => {
    const size = (rows: Row[]) => roundTrip(rows).bytes / rows.reduce((sum, row) => sum + row.indices.length, 0)
    assert.ok(size(kindsOfRows['text'](500, random)) < 5)
    assert.ok(size(kindsOfRows['one-hot'](500, random)) < 2)
    assert.ok(size(kindsOfRows['dense'](500, random)) < 4.2)
  })

  test('keep f64 values, and store them as f32 where that loses nothing', () => {
    const third = rowsOf(100, r => [[r], [1 / (3 + r)]])
    const half = rowsOf(100, r => [[r], [r / 2]])
    assert.ok(roundTrip(third, { valueBytes: 8 }).bytes - roundTrip(half, { valueBytes: 8 }).bytes >= 400)
  })

  test('hold the largest feature number, empty rows and explicit zeros', () => {
    roundTrip([row([]), row([0, 4294967293]), row([]), row([4294967292, 4294967293])])
    roundTrip([row([])], { features: 17 })
    roundTrip(rowsOf(300, r => [r % 3 ? [] : [r, r + 4_000_000_000], r % 3 ? [] : [0, -0]]))
  })

  test('keep −0 and many labels', () => {
    roundTrip(Array.from({ length: 700 }, (_, r) => ({ ...row([r]), label: r % 300 === 0 ? -0 : r % 300 })))
    roundTrip(Array.from({ length: 9 }, (_, r) => ({ ...row([r]), label: r === 4 ? -0 : 0 })))
  })

  const anyRow = (most: number, value: fc.Arbitrary<number>) =>
    fc
      .tuple(
        fc.constantFrom(0, -0, 1, -1, 7, 1e300),
        fc.uniqueArray(fc.nat(most), { maxLength: 40 }),
        fc.infiniteStream(value),
      )
      .map(([label, indices, values]) => ({
        label,
        indices: indices.sort((a, b) => a - b),
        values: [...take(values, indices.length)],
      }))

  test('come back whatever the rows are', () => {
    const most = fc.constantFrom(3, 40, 1000, 1 << 20, 4294967293)
    const f32 = [
      fc.constant(1),
      fc.constantFrom(0, -0, 2, 3),
      fc.integer({ min: 1, max: 600 }),
      fc.float({ noNaN: true }),
    ]
    fc.assert(
      fc.property(
        fc
          .tuple(most, fc.constantFrom(...f32))
          .chain(([m, v]) => fc.array(anyRow(m, v), { minLength: 1, maxLength: 120 })),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom<4 | 8>(4, 8),
        fc.boolean(),
        (rows, blocks, valueBytes, zstd) => void roundTrip(rows, { blocks, valueBytes, zstd }),
      ),
      { numRuns: 300 },
    )
    fc.assert(
      fc.property(fc.array(anyRow(5000, fc.double({ noNaN: true })), { minLength: 1 }), rows => {
        roundTrip(rows, { valueBytes: 8 })
      }),
    )
  })
})

describe('assignment of rows to blocks', () => {
  const rows = rowsOf(4000, r => [[r], [1]])
  const encode = (seed: number, chunk: number, first = 0) => {
    arena.release(start)
    const encoder = new SegmentEncoder(arena, { blocks: 8, seed, mode: 'random' })
    return encoder.encode(makeBatch(arena, rows), chunk, first).map(segment => segment.rows)
  }

  test('spreads them evenly, by seed, chunk and row alone', () => {
    const counts = encode(1, 0)
    assert.equal(counts.length, 8)
    for (const count of counts) assert.ok(Math.abs(count - 500) < 100, `${counts}`)
    assert.deepEqual(encode(1, 0), counts)
    assert.notDeepEqual(encode(2, 0), counts)
    assert.notDeepEqual(encode(1, 1), counts)
  })

  test('gives rows of a chunk to some of many blocks, and all of them the same share in the end', () => {
    const [blocks, spread, chunks] = [50, 6, 400]
    const few = makeBatch(arena, rows.slice(0, 200))
    const mark = arena.mark()
    const counts = new Array<number>(blocks).fill(0)
    for (let chunk = 0; chunk < chunks; chunk++) {
      arena.release(mark)
      const encoder = new SegmentEncoder(arena, { blocks, spread, seed: 3, mode: 'random' })
      const segments = encoder.encode(few, chunk, 0)
      assert.ok(segments.length <= spread)
      for (const { block, rows: drawn } of segments) counts[block] += drawn
    }
    const share = (chunks * 200) / blocks
    for (const count of counts) assert.ok(Math.abs(count - share) < share / 8, `${counts}`)
  })

  test('does not depend on how a chunk is cut into batches', () => {
    arena.release(start)
    const whole = new SegmentEncoder(arena, { blocks: 3, seed: 9, mode: 'random' })
    const decoder = new SegmentDecoder(arena)
    const batch = decoder.newBatch()
    const blocksOf = (from: number, to: number) => {
      const blocks = new Map<number, number>()
      for (const segment of whole.encode(makeBatch(arena, rows.slice(from, to)), 4, from)) {
        decoder.decode(segment.at, segment.bytes, batch, 'segment')
        for (const { position } of readBatch(arena, batch)) blocks.set(position, segment.block)
      }
      return blocks
    }
    assert.deepEqual(
      new Map([...blocksOf(0, 1500), ...blocksOf(1500, 4000)].sort()),
      new Map([...blocksOf(0, 4000)].sort()),
    )
  })

  test('is left to the caller in sequential mode', () => {
    arena.release(start)
    const encoder = new SegmentEncoder(arena, { blocks: 8, seed: 1, mode: 'sequential' })
    const [segment, ...others] = encoder.encode(makeBatch(arena, rows), 5, 0, 6)
    assert.deepEqual([segment.block, segment.rows, others.length], [6, 4000, 0])
    assert.equal(readSegmentHeader(arena, segment.at, segment.bytes, 'x').codecs.positions, S.POSITIONS_CONSECUTIVE)
  })
})

test('zstd is chosen when the disk is slower than the decoder', () => {
  const easy = [new Uint8Array(1 << 20)]
  const hard = [Uint8Array.from({ length: 10000 }, seeded(3)).map((_, k) => seeded(k)() * 256)]
  assert.equal(chooseCompression('auto', easy, 1e6).compression, 'zstd')
  assert.equal(chooseCompression('auto', easy, 1e15).compression, 'none')
  assert.equal(chooseCompression('auto', hard, 1).compression, 'none')
  assert.equal(chooseCompression('zstd', hard, 1e15).compression, 'zstd')
  assert.equal(chooseCompression('none', easy, 1).compression, 'none')
})

function row(indices: number[]): Row {
  return { label: 1, indices, values: indices.map((_, k) => k + 0.5) }
}

function rowsOf(count: number, make: (r: number) => [number[], number[]]): Row[] {
  return Array.from({ length: count }, (_, r) => {
    const [indices, values] = make(r)
    return { label: 1, indices, values }
  })
}

function* take<T>(from: Iterable<T>, count: number): Generator<T> {
  if (count === 0) return
  let k = 0
  for (const item of from) {
    yield item
    if (++k === count) return
  }
}
