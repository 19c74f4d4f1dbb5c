// Whatever the bytes of a segment are, the decoder refuses them or fills the batch: it writes nowhere else, ends, and
// takes no more memory than the counts allow. Checksums are put right after most changes, so that the decoder is met.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SegmentDecoder, SegmentEncoder } from '../../src/block-store/codecs.ts'
import { SpillwayError } from '../../src/errors.ts'
import { Arena } from '../../src/numeric/arena.ts'
import * as L from '../../src/numeric/layouts.ts'
import * as S from '../../src/numeric/segment-layout.ts'
import { kindsOfRows, makeBatch, readBatch, seeded } from './batches.ts'

const CANARY = 0x5a
const MARGIN = 64

/** A batch with room for exactly so much, canaries around every buffer. */
function guardedBatch(arena: Arena, rows: number, nonzeros: number, valueBytes: number) {
  const batch = arena.allocateZeroed(L.BATCH_BYTES, 'a batch')
  const guards: [number, number][] = []
  const guarded = (field: number, bytes: number) => {
    const at = arena.allocate(bytes + 2 * MARGIN + 8, 'a buffer')
    arena.bytes(at, bytes + 2 * MARGIN).fill(CANARY)
    guards.push([at, MARGIN], [at + MARGIN + bytes, MARGIN])
    arena.setU32(batch + field, at + MARGIN)
  }
  guarded(L.BATCH_STARTS, (rows + 1) * 4)
  guarded(L.BATCH_LABELS, rows * 8)
  guarded(L.BATCH_LABEL_AT, rows * 4)
  guarded(L.BATCH_INDICES, nonzeros * 4)
  guarded(L.BATCH_VALUES, nonzeros * valueBytes)
  arena.setU32(batch + L.BATCH_ROW_CAPACITY, rows)
  arena.setU32(batch + L.BATCH_NONZERO_CAPACITY, nonzeros)
  arena.setU32(batch + L.BATCH_VALUE_BYTES, valueBytes)
  const check = () => {
    for (const [at, bytes] of guards)
      assert.ok(
        arena.bytes(at, bytes).every(b => b === CANARY),
        'a canary is dead',
      )
  }
  return { batch, check }
}

for (const [kind, make] of Object.entries(kindsOfRows)) {
  for (const valueBytes of [4, 8] as const) {
    test(`mutated segments: ${kind}, ${valueBytes * 8}-bit values`, () => {
      const random = seeded(valueBytes * 31 + kind.length)
      const below = (n: number) => Math.floor(random() * n)
      const arena = new Arena()
      const rows = make(120, random)
      if (valueBytes === 8) for (const row of rows) row.values = row.values.map(v => v / 3)
      const nonzeros = rows.reduce((sum, row) => sum + row.indices.length, 0)
      const encoder = new SegmentEncoder(arena, { blocks: 1, seed: 1, mode: 'random' })
      const [segment] = encoder.encode(makeBatch(arena, rows, valueBytes), 0, 0)
      const good = arena.bytes(segment.at, segment.bytes).slice()
      // The mutant has canaries of its own: a copy that ends where the room ends.
      const at = arena.allocate(good.length + 64, 'a mutant')
      const { batch, check } = guardedBatch(arena, rows.length, nonzeros, valueBytes)
      const decoder = new SegmentDecoder(arena)
      decoder.decode(segment.at, segment.bytes, batch, 'the original')
      assert.deepStrictEqual(
        readBatch(arena, batch).map(r => r.row),
        rows,
      )
      const before = arena.mark()
      const original = [...arena.u32(batch, L.BATCH_BYTES / 4)]
      let [refused, accepted] = [0, 0]
      for (let round = 0; round < 1500; round++) {
        let bytes = good.length
        const mutant = arena.bytes(at, good.length)
        mutant.set(good)
        for (let k = 1 + below(4); k > 0; k--) {
          // Most of what steers the decoder stands at the beginning of payload and sections.
          const place =
            random() < 0.3 ? 9 + below(7) : S.SEGMENT_HEADER_BYTES + below(random() < 0.5 ? 64 : good.length - 80)
          const change = below(3)
          mutant[place] = change === 0 ? below(256) : change === 1 ? mutant[place] ^ (1 << below(8)) : 255 * below(2)
        }
        const fields = new DataView(mutant.buffer, mutant.byteOffset)
        if (random() < 0.1) fields.setUint32(S.SEGMENT_ROWS, 1 + below(rows.length), true)
        if (random() < 0.1) fields.setBigUint64(S.SEGMENT_NONZEROS, BigInt(below(nonzeros + 1)), true)
        if (random() < 0.1) fields.setUint32(S.SEGMENT_FEATURES, below(2 ** 32), true)
        // A wider batch than the canaries have would be given new buffers.
        fields.setUint8(S.SEGMENT_VALUE_BYTES, valueBytes)
        if (random() < 0.2) {
          bytes = S.SEGMENT_HEADER_BYTES + below(good.length - 80)
          fields.setBigUint64(S.SEGMENT_PAYLOAD_BYTES, BigInt(bytes - S.SEGMENT_HEADER_BYTES), true)
          fields.setBigUint64(S.SEGMENT_RAW_BYTES, BigInt(bytes - S.SEGMENT_HEADER_BYTES), true)
        }
        if (random() < 0.95) arena.numeric.sealSegment(at)
        try {
          decoder.decode(at, bytes, batch, 'the mutant')
          accepted++
          for (const { row } of readBatch(arena, batch)) {
            for (let k = 0; k < row.indices.length; k++) {
              assert.ok(row.indices[k] > (row.indices[k - 1] ?? -1), 'features rise')
              assert.ok(row.indices[k] < arena.getU32(batch + L.BATCH_FEATURES), 'features are below their number')
            }
          }
        } catch (error) {
          assert.ok(error instanceof SpillwayError, String(error))
          assert.match(error.message, /the mutant/)
          refused++
        }
        check()
        // The buffers are the same ones still.
        for (const field of [L.BATCH_STARTS, L.BATCH_LABELS, L.BATCH_INDICES, L.BATCH_VALUES, L.BATCH_LABEL_AT]) {
          assert.equal(arena.getU32(batch + field), original[field / 4])
        }
        assert.ok(arena.mark() - before < 1 << 20, 'memory is bounded')
      }
      assert.ok(refused > 100 && accepted > 10, `${refused} refused, ${accepted} accepted`)
    })
  }
}

test('headers of noise are refused without taking memory', () => {
  const arena = new Arena()
  const random = seeded(1)
  const decoder = new SegmentDecoder(arena)
  const batch = decoder.newBatch()
  const at = arena.allocate(4096, 'noise')
  const before = arena.mark()
  for (let round = 0; round < 2000; round++) {
    const noise = arena.bytes(at, 4096)
    for (let k = 0; k < 4096; k++) noise[k] = random() * 256
    const view = new DataView(noise.buffer, at)
    if (round % 4 > 0) view.setUint32(S.SEGMENT_MAGIC, S.SEGMENT_MAGIC_VALUE, true)
    if (round % 4 > 1) view.setUint32(S.SEGMENT_VERSION, 0x01020001, true)
    if (round % 4 > 2) {
      view.setBigUint64(S.SEGMENT_PAYLOAD_BYTES, BigInt(4096 - S.SEGMENT_HEADER_BYTES), true)
      view.setUint8(S.SEGMENT_FLAGS, round % 8 > 3 ? 1 : 0)
      arena.numeric.sealSegment(at)
    }
    assert.throws(() => decoder.decode(at, 4096, batch, 'noise'), SpillwayError)
  }
  assert.equal(arena.mark(), before)
})
