// What the first pass of solver `stream` moves to the places of the store, against plain lists: rows, dual variables, weights
// and features.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ReadBuffer } from '../../src/block-store/block-file.ts'
import { SegmentDecoder } from '../../src/block-store/codecs.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { newFeatureMap } from '../../src/numeric/feature-map.ts'
import {
  PROBLEM_ALPHA,
  ROW_KIND_CONSTANT,
  ROW_KIND_DENSE,
  ROW_KIND_F32,
  ROW_KIND_F64,
} from '../../src/numeric/layouts.ts'
import {
  DICTIONARY_BYTES,
  DICTIONARY_CAPACITY,
  DICTIONARY_COUNT,
  DICTIONARY_FEATURES,
  DICTIONARY_MOST_SLOTS,
  DICTIONARY_SLOTS,
  DICTIONARY_TABLE,
  WORKING_ALPHA,
  WORKING_CAPACITY,
  WORKING_RECORDS,
  WORKING_RESIDENT,
  WORKING_ROOM,
  WORKING_USED,
} from '../../src/numeric/working-set-layout.ts'
import { WorkingSet } from '../../src/optimise/solvers/working-set.ts'
import { makeBatch, readBatch } from '../block-store/batches.ts'
import { decodeRow, randomNumbers, seed, writeRow } from './reference.ts'
import { anyCase, anyRounds, FEATURES, losses, World } from './working-set-fixture.ts'

describe('what the first pass moves', () => {
  it('placeRows: rows go where the store has them', async () => {
    const folder = join(tmpdir(), `spillway-places-${process.pid}`)
    const text = `${folder}.svm`
    const random = randomNumbers(4)
    // Each row says which it is. More than one chunk, and more than one batch in a chunk.
    const rows = 30_000
    const write = (entries: number): void => {
      const others = Array.from({ length: entries }, (_, j) => ` ${80_000 + j}:0.5`).join('')
      const lines = Array.from({ length: rows }, (_, k) => `${random() < 0.5 ? 1 : -1} ${k + 1}:1${others}\n`)
      writeFileSync(text, lines.join(''))
    }
    try {
      for (const [blocks, draws, entries, mostSpread] of [
        [1, 1, 1, 1],
        [7, 1, 1, 7],
        [40, 2 ** 40 + 3, 1, 40],
        // So many chunks that each goes to some of the blocks only.
        [40, 3, 60, 39],
      ]) {
        write(entries)
        const chunks: { chunk: number; rows: number; spread: number }[] = []
        const follower = {
          room: async () => undefined,
          take: ({ chunk, rows, spread }: (typeof chunks)[number]) => chunks.push({ chunk, rows, spread }),
        }
        // The least memory makes the smallest chunks.
        const options = {
          blocks,
          seed: draws,
          memory: 100 << 20,
          isPlanned: true,
          follower,
          overwrite: true,
          indexBase: 1,
        } as const
        await ingest(text, folder, options)
        assert.ok(chunks.length > 1, `${chunks.length} chunks`)
        for (const { spread } of chunks) assert.ok(spread <= mostSpread, `${spread} of ${blocks} blocks`)
        const store = await openStore(folder)
        const arena = new Arena()
        const { manifest } = store
        const firsts = manifest.blocks.map((_, b) =>
          manifest.blocks.slice(0, b).reduce((sum, { rows }) => sum + rows, 0),
        )
        const next = arena.allocate(blocks * 4, 'test')
        arena.u32(next, blocks).set(firsts)
        const places = arena.allocate(rows * 4, 'test')
        let row = 0
        for (const { chunk, rows: count, spread } of chunks) {
          arena.numeric.placeRows(BigInt(manifest.seed), chunk, count, blocks, spread, next, places + row * 4)
          row += count
        }
        assert.equal(row, rows)
        const decoder = new SegmentDecoder(arena)
        const batch = decoder.newBatch()
        const buffer = new ReadBuffer(arena, 1 << 20)
        const found = arena.u32(places, rows)
        let place = 0
        for (let b = 0; b < blocks; b++) {
          for await (const { at, bytes, where } of store.blockSegments(b, buffer)) {
            decoder.decode(at, bytes, batch, where)
            for (const { row: read } of readBatch(arena, batch)) assert.equal(found[read.indices[0]], place++)
          }
        }
        assert.equal(place, rows)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
      rmSync(text, { force: true })
    }
  })

  it('placeAlpha: dual variables follow their rows', () => {
    const arena = new Arena()
    const places = fc.uniqueArray(fc.nat(80), { maxLength: 40 })
    fc.assert(
      fc.property(places, fc.constantFrom(8, 16), (list, stride) => {
        const [from, to, at] = [1000, 2000, 400].map(bytes => arena.allocateZeroed(bytes, 'test'))
        const width = stride / 8
        arena.f64(from, list.length * width).set(Array.from({ length: list.length * width }, (_, k) => k + 1))
        arena.u32(at, list.length).set(list)
        arena.numeric.placeAlpha(from, at, list.length, to, stride)
        const expected = new Float64Array(81 * width)
        list.forEach((place, k) => {
          for (let j = 0; j < width; j++) expected[place * width + j] = k * width + j + 1
        })
        assert.deepEqual(arena.f64(to, 81 * width), expected)
      }),
      { seed, numRuns: 50 },
    )
  })

  /** A map of features, as a store has it. */
  function mapOf(arena: Arena, features: number[]): number {
    const top = newFeatureMap(arena, 100)
    const sorted = [...features].sort((a, b) => a - b)
    arena.numeric.enterBatch(top, makeBatch(arena, [{ label: 1, indices: sorted, values: sorted.map(() => 1) }]))
    arena.numeric.finishMap(top)
    return top
  }

  const anyFeatures = fc.uniqueArray(fc.oneof(fc.nat(50), fc.nat(5_000_000)), { minLength: 1, maxLength: 60 })

  it('placeWeights and placeFeatures: from the order of a dictionary or of the features, to that of the features in use', () => {
    const arena = new Arena()
    const mark = arena.mark()
    fc.assert(
      fc.property(anyFeatures, fc.boolean(), fc.boolean(), fc.boolean(), (met, dictionary, mapped, narrow) => {
        arena.release(mark)
        // Without a dictionary a feature is its own number.
        const listed = dictionary ? met : met.map(feature => feature % 200).filter((f, k, all) => all.indexOf(f) === k)
        const sorted = [...listed].sort((a, b) => a - b)
        const features = dictionary ? arena.allocate(listed.length * 4, 'test') : 0
        if (dictionary) arena.u32(features, listed.length).set(listed)
        const map = mapped ? mapOf(arena, listed) : 0
        const placeOf = (feature: number): number => (mapped ? sorted.indexOf(feature) : feature)
        const count = dictionary ? listed.length : 200
        const width = mapped ? listed.length : sorted[sorted.length - 1] + 1
        const bytes = narrow ? 4 : 8
        const from = arena.allocateZeroed(count * bytes, 'test')
        const to = arena.allocateZeroed((width + 1) * bytes, 'test')
        const view = (at: number, n: number): Float32Array | Float64Array =>
          narrow ? arena.f32(at, n) : arena.f64(at, n)
        const numberOf = (feature: number): number => (dictionary ? listed.indexOf(feature) : feature)
        for (const feature of listed) view(from, count)[numberOf(feature)] = (feature % 100) - 3
        const place = narrow ? arena.numeric.placeWeightsF32 : arena.numeric.placeWeightsF64
        place(features, count, map, from, to)
        for (const feature of listed) assert.equal(view(to, width)[placeOf(feature)], (feature % 100) - 3)
        const filled = view(to, width + 1).filter(x => x !== 0).length
        assert.equal(filled, listed.filter(feature => feature % 100 !== 3).length)

        for (const kind of [ROW_KIND_F32, ROW_KIND_CONSTANT, ROW_KIND_F64]) {
          const indices = listed.map(numberOf)
          const values = listed.map((_, k) => (kind === ROW_KIND_CONSTANT ? 1 : k / 2))
          const row = writeRow(arena, kind, { indices, values })
          arena.numeric.placeFeatures(features, map, row)
          const after = decodeRow(arena, row)
          assert.deepEqual(after.indices, listed.map(placeOf))
          assert.deepEqual(after.values, values)
        }
        const dense = writeRow(arena, ROW_KIND_DENSE, { indices: [0, 1, 2], values: [1, 2, 3] })
        arena.numeric.placeFeatures(features, map, dense)
        assert.deepEqual(decodeRow(arena, dense).values, [1, 2, 3])
      }),
      { seed, numRuns: 60 },
    )
  })

  it('numberFeatures: numbers in the order in which features are met; rows with features beyond the room are left out', () => {
    const arena = new Arena()
    const mark = arena.mark()
    const rising = fc.uniqueArray(fc.oneof(fc.nat(40), fc.nat(4_000_000_000)), { maxLength: 12 })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(rising, fc.nat(9)), { maxLength: 25 }),
        fc.integer({ min: 1, max: 250 }),
        fc.boolean(),
        (lists, capacity, grows) => {
          arena.release(mark)
          const slots = 2 ** Math.ceil(Math.log2(capacity * 1.5 + 1))
          const dictionary = arena.allocateZeroed(DICTIONARY_BYTES, 'test')
          arena.setU32(dictionary + DICTIONARY_CAPACITY, capacity)
          arena.setU32(dictionary + DICTIONARY_FEATURES, arena.allocateZeroed(capacity * 4, 'test'))
          const room = arena.allocate(slots * 8, 'test')
          arena.setU32(dictionary + DICTIONARY_TABLE, room)
          arena.setU32(dictionary + DICTIONARY_MOST_SLOTS, slots)
          // A table that grows begins with two slots; whatever lies behind them has to go.
          const begin = grows ? 2 : slots
          arena.setU32(dictionary + DICTIONARY_SLOTS, begin)
          arena
            .bytes(room, slots * 8)
            .fill(255)
            .fill(0, 0, begin * 8)
          const records = lists.map(([list, kind]) => {
            const indices = [...list].sort((a, b) => a - b)
            if (kind === 0) return writeRow(arena, ROW_KIND_DENSE, { indices: [0, 1], values: [1, 1] })
            return writeRow(arena, kind < 5 ? ROW_KIND_F32 : ROW_KIND_CONSTANT, {
              indices,
              values: indices.map(() => 1),
            })
          })
          const table = arena.allocate(records.length * 4 + 4, 'test')
          arena.u32(table, records.length).set(records)
          const order = arena.allocate(records.length * 4 + 4, 'test')
          // In two calls, as two chunks would come.
          const half = records.length >> 1
          const numbers: number[] = []
          const expected: number[] = []
          const entries: number[][] = []
          lists.forEach(([list, kind], k) => {
            if (kind === 0) return
            const own: number[] = []
            for (const feature of [...list].sort((a, b) => a - b)) {
              if (!numbers.includes(feature)) {
                if (numbers.length >= capacity) return
                numbers.push(feature)
              }
              own.push(numbers.indexOf(feature))
            }
            expected.push(k)
            entries.push(own)
          })
          const first = arena.numeric.numberFeatures(dictionary, table, half, order)
          const found = [...arena.u32(order, first)]
          const second = arena.numeric.numberFeatures(dictionary, table + half * 4, records.length - half, order)
          found.push(...[...arena.u32(order, second)].map(k => k + half))
          assert.deepEqual(found, expected)
          for (const [at, k] of found.entries()) assert.deepEqual(decodeRow(arena, records[k]).indices, entries[at])
          assert.equal(arena.getU32(dictionary + DICTIONARY_COUNT), numbers.length)
          assert.deepEqual([...arena.u32(arena.getU32(dictionary + DICTIONARY_FEATURES), numbers.length)], numbers)
        },
      ),
      { seed, numRuns: 100 },
    )
  })

  it('adoptRows: as many rows as there is room for, under their places and the features of the store', () => {
    const arena = new Arena()
    const mark = arena.mark()
    let partly = 0
    for (const loss of losses) {
      fc.assert(
        fc.property(
          anyCase(loss),
          anyRounds,
          fc.boolean(),
          fc.constantFrom(0.1, 0.5, 1.4),
          (item, rounds, mapped, share) => {
            arena.release(mark)
            const world = new World(arena, { ...item, share: 1.3 })
            for (const [choice, work] of rounds) {
              world.visit(choice % world.blocks)
              if (work) world.work()
            }
            const { rows, set, stride } = world
            const order = rows.map((_, k) => k).sort(() => world.random() - 0.5)
            const places = arena.allocate(rows.length * 4, 'test')
            arena.u32(places, rows.length).set(order)
            // Feature j is number j of a dictionary that has 3j + 1; the store has all of these in use.
            const features = arena.allocate(FEATURES * 4, 'test')
            arena.u32(features, FEATURES).set(Array.from({ length: FEATURES }, (_, j) => 3 * j + 1))
            const map = mapped
              ? mapOf(
                  arena,
                  Array.from({ length: FEATURES }, (_, j) => 3 * j + 1),
                )
              : 0
            const all = rows.reduce((sum, row) => sum + row.bytes, 0)
            const target = new WorkingSet(arena, (_, bytes) => arena.allocateZeroed(bytes + 64, 'test'), {
              bytes: Math.floor(share * (all + rows.length * 40)),
              mostBytes: all,
              rows: rows.length,
              recordBytes: all / Math.max(rows.length, 1),
              firstRows: [0],
              alpha: arena.allocateZeroed(rows.length * 16, 'test'),
              alphaStride: stride,
              weights: world.weights,
              biasFeature: FEATURES,
              problem: world.settings,
              seed: 1,
              followed: true,
              weighted: false,
            })
            target.adopt(set, places, features, map)
            const wanted = [...set.numbers.entries()].filter(
              ([, number]) => !mapped || decodeRow(arena, rows[number].at).kind !== ROW_KIND_DENSE,
            )
            const get = (offset: number): number => arena.getU32(target.at + offset)
            const kept = wanted.slice(0, target.count)
            if (kept.length < wanted.length) {
              partly++
              const next = rows[wanted[kept.length][1]].bytes
              const full = get(WORKING_USED) + next > 0.9 * get(WORKING_ROOM) || kept.length >= get(WORKING_CAPACITY)
              assert.ok(full, 'there was room for another row')
            }
            assert.deepEqual(
              [...target.numbers],
              kept.map(([, number]) => order[number]),
            )
            const alphas = world.alphas()
            let at = get(WORKING_RECORDS)
            kept.forEach(([, number], k) => {
              assert.equal(target.table[k], at)
              const { dictionary: _, end: __, indices, ...copy } = decodeRow(arena, at)
              const { dictionary: ___, end: ____, indices: before, ...original } = decodeRow(arena, rows[number].at)
              assert.deepEqual(copy, original)
              const moved = copy.kind === ROW_KIND_DENSE ? before : before.map(j => (mapped ? j : 3 * j + 1))
              assert.deepEqual(indices, moved)
              const [a, rest] = arena.f64(get(WORKING_ALPHA) + k * stride, stride / 8)
              assert.deepEqual([a, rest ?? 0], alphas[number])
              at += rows[number].bytes
            })
            assert.equal(get(WORKING_USED), at - get(WORKING_RECORDS))
            const bits = arena.bytes(get(WORKING_RESIDENT), Math.ceil(rows.length / 8))
            const here = rows.map((_, k) => k).filter(k => bits[k >> 3] & (1 << (k & 7)))
            assert.deepEqual(
              here,
              [...target.numbers].sort((a, b) => a - b),
            )
            // The problem of the adopting set has the adopted dual variables.
            assert.equal(arena.getU32(target.problem + PROBLEM_ALPHA), get(WORKING_ALPHA))
          },
        ),
        { seed, numRuns: 40 },
      )
    }
    assert.ok(partly > 10, `${partly} times there was not room for all`)
  })
})
