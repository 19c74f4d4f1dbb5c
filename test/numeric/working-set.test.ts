// The working set of solver `stream` against plain lists: who is in memory, who leaves, what is known of those who left; and
// what the first pass moves to the places of the store.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SegmentDecoder } from '../../src/block-store/codecs.ts'
import { newFeatureMap } from '../../src/block-store/feature-set.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore, ReadBuffer } from '../../src/block-store/reader.ts'
import { Arena } from '../../src/numeric/arena.ts'
import {
  PROBLEM_ALPHA,
  ROW_KIND_CONSTANT,
  ROW_KIND_DENSE,
  ROW_KIND_F32,
  ROW_KIND_F64,
  SUMS_CORRECT,
} from '../../src/numeric/layouts.ts'
import {
  DICTIONARY_BYTES,
  DICTIONARY_CAPACITY,
  DICTIONARY_COUNT,
  DICTIONARY_FEATURES,
  DICTIONARY_SLOTS,
  DICTIONARY_TABLE,
  LEDGER_CORRECT,
  LEDGER_DUAL,
  LEDGER_SUPPORT,
  WORKING_ALPHA,
  WORKING_CAPACITY,
  WORKING_DRAWN,
  WORKING_MOVED,
  WORKING_RECORDS,
  WORKING_RESIDENT,
  WORKING_ROOM,
  WORKING_USED,
} from '../../src/numeric/working-set-layout.ts'
import { WorkingSet } from '../../src/solvers/working-set.ts'
import { makeBatch, readBatch } from '../block-store/batches.ts'
import type { PlainRow } from './dual-reference.ts'
import { decodeRow, randomNumbers, seed, writeRow } from './reference.ts'
import {
  anyCase,
  anyRounds,
  assertInvariants,
  type Case,
  FEATURES,
  losses,
  near,
  PlainSet,
  World,
} from './working-set-fixture.ts'

for (const loss of losses) {
  describe(`a working set with the ${loss} loss`, () => {
    const arena = new Arena()
    const mark = arena.mark()
    const worldOf = (item: Case): World => {
      arena.release(mark)
      return new World(arena, item)
    }

    it('takes rows in and sends them away by the rule, and loses none', () => {
      let [left, drawn] = [0, 0]
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const plain = new PlainSet(world)
          // α of every row, followed through its visits.
          const alphas = world.alphas()
          for (const [choice, work] of rounds) {
            const newcomers = world.visit(choice % world.blocks)
            for (const { number, a, rest } of newcomers) alphas[number] = [a, rest]
            const before = plain.members.length + newcomers.length
            plain.takeIn(newcomers)
            left += before - plain.members.length
            assertInvariants(world)
            assert.deepEqual(
              [...world.set.numbers],
              plain.members.map(({ number }) => number),
            )
            // Below 1e-9 it tells rows apart no more: how far it is below is nobody's business.
            assert.ok(world.epsilon === plain.epsilon || Math.max(world.epsilon, plain.epsilon) <= 1e-9)
            plain.epsilon = world.epsilon
            assert.deepEqual(
              world.gradientsHere(),
              plain.members.map(({ gradient }) => gradient),
            )
            assert.deepEqual(world.alphas(), alphas, 'a dual variable was lost')
            if (!work) continue
            world.work()
            // What the visits changed, the plain list takes over.
            const now = world.alphas()
            const gradients = world.gradientsHere()
            plain.members.forEach((row, k) => {
              ;[row.a, row.rest] = now[row.number]
              row.gradient = gradients[k]
              alphas[row.number] = now[row.number]
            })
          }
          assert.equal(world.get(WORKING_DRAWN), plain.drawn)
          drawn += plain.drawn
          if (plain.drawn > 0) assert.ok(world.epsilon <= 1e-9 / 0.9 ** rounds.length, 'drawn while ε could still help')
        }),
        { seed, numRuns: 150 },
      )
      // Of the logistic loss, only rows without entries are never beyond ε.
      assert.ok(left > 100 && drawn > (loss === 'logistic' ? 5 : 20), `${left} rows left, ${drawn} were drawn`)
    })

    it('w stays Σ α y x, wherever rows are', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf({ ...item, size: 0 })
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const expected = new Array<number>(FEATURES + 1).fill(0)
          const alphas = world.alphas()
          world.rows.forEach((row, i) => {
            const step = row.positive ? alphas[i][0] : -alphas[i][0]
            for (const [k, index] of row.indices.entries()) expected[index] += step * row.values[k]
            expected[FEATURES] += step * item.bias
          })
          const size = alphas.reduce((sum, [a]) => sum + a, 1) * 10
          for (const [k, value] of world.w.entries()) near(value, expected[k], size, `w[${k}]`)
        }),
        { seed, numRuns: 60 },
      )
    })

    it('settleAlpha puts what is here among all; listAbsent and lacks know who is not', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const alphas = world.alphas()
          arena.numeric.settleAlpha(world.set.at)
          const found = arena.f64(world.alpha, (world.rows.length * world.stride) / 8)
          alphas.forEach(([a, rest], k) => {
            assert.equal(found[(k * world.stride) / 8], a)
            if (world.logistic) assert.equal(found[2 * k + 1], rest)
          })
          for (let block = 0; block < world.blocks; block++) {
            const { from, to } = world.range(block)
            const absent = world.absentOf(block)
            assert.equal(world.set.lacks(block), absent.length > 0)
            const count = arena.numeric.listAbsent(world.set.at, world.order, 0, world.numbers, 0, to - from, from)
            assert.equal(count, absent.length)
            assert.deepEqual(
              [...arena.u32(world.order, count)].map(k => arena.u32(world.numbers, to - from)[k]),
              absent,
            )
            assert.deepEqual(
              [...arena.u32(world.numbers, to - from)],
              Array.from({ length: to - from }, (_, k) => from + k),
            )
          }
          // Blocks that are loaded together are listed one behind the other.
          let [listed, row] = [0, 0]
          for (let block = world.blocks - 1; block >= 0; block--) {
            const { from, to } = world.range(block)
            const args = [world.set.at, world.order, listed, world.numbers, row, to - from, from] as const
            listed = arena.numeric.listAbsent(...args)
            row += to - from
          }
          const together = [...arena.u32(world.order, listed)].map(k => arena.u32(world.numbers, row)[k])
          const expected = Array.from({ length: world.blocks }, (_, k) => world.absentOf(world.blocks - 1 - k)).flat()
          assert.deepEqual(together, expected)
        }),
        { seed, numRuns: 60 },
      )
    })

    it('listNear lists who may move at the next visit, or nearly', () => {
      fc.assert(
        fc.property(
          anyCase(loss),
          anyRounds,
          fc.constantFrom(0, 0.01, 0.5, Number.POSITIVE_INFINITY),
          (item, rounds, by) => {
            const world = worldOf({ ...item, share: Math.max(item.share, 0.6) })
            for (const [choice] of rounds) world.visit(choice % world.blocks)
            const { set } = world
            const plain = new PlainSet(world)
            const alphas = world.alphas()
            const gradients = world.gradientsHere()
            const expected = [...set.numbers.entries()]
              .filter(([k, number]) => {
                const [a, rest] = alphas[number]
                return world.logistic || plain.distance({ number, a, rest, gradient: gradients[k] }) <= by
              })
              .map(([k]) => k)
            const count = arena.numeric.listNear(set.at, set.problem, set.order, by)
            assert.deepEqual([...arena.u32(set.order, count)], expected)
          },
        ),
        { seed, numRuns: 60 },
      )
    })

    it('the ledger knows what absent rows owe: just that where w stands, and no less wherever it may have gone', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const { set } = world
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const alphas = world.alphas()
          for (let block = 0; block < world.blocks; block++) {
            world.evaluate(block)
            const absent = world.absentOf(block).map(k => ({ row: world.rows[k], alpha: alphas[k] }))
            const sum = (w: ArrayLike<number>): number =>
              absent.reduce((total, { row, alpha }) => total + world.owed(row, alpha, w), 0)
            const { w } = world
            const size = absent.reduce(
              (total, { row, alpha }) =>
                total + Math.abs(world.dualPart(row, alpha)) + Math.abs(alpha[0] * world.margin(row, w)),
              1e-9,
            )
            near(set.mostOwed(block, 0), sum(w), size, 'what is owed')
            const ledger = set.ledger(block)
            const dual = absent.reduce((total, { row, alpha }) => total + world.dualPart(row, alpha), 0)
            near(ledger[LEDGER_DUAL / 8], dual, size, 'the dual part')
            assert.equal(ledger[LEDGER_SUPPORT / 8], absent.filter(({ alpha }) => alpha[0] > 0).length)
            if (world.logistic) {
              assert.equal(set.mostOwed(block, 1e-9), absent.length > 0 ? Number.POSITIVE_INFINITY : 0)
              continue
            }
            let before = set.mostOwed(block, 0)
            for (let distance = set.radius / 7; distance < set.radius * 2 ** 17; distance *= 1.9) {
              const most = set.mostOwed(block, distance)
              assert.ok(most >= before - 1e-9 * size, `${most} at ${distance} is less than ${before}`)
              before = most
              if (distance > set.radius * 2 ** 14) {
                assert.equal(most, absent.length > 0 ? Number.POSITIVE_INFINITY : 0)
                continue
              }
              for (const direction of directions(world, absent, world.random)) {
                const there = w.map((x, k) => x + distance * direction[k])
                const owes = sum(there)
                assert.ok(owes <= most + 1e-9 * (size + Math.abs(most)), `${owes} at ${distance}, at most ${most}`)
              }
            }
          }
        }),
        { seed, numRuns: 60 },
      )
    })

    it('the ledger counts rows on the right side as the certificate does', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          for (const [choice] of rounds) world.visit(choice % world.blocks)
          for (let block = 0; block < world.blocks; block++) {
            world.evaluate(block)
            // What the evaluating pass counted of the same rows.
            const counted = arena.getF64(world.sums + SUMS_CORRECT)
            assert.equal(world.set.ledger(block)[LEDGER_CORRECT / 8], counted)
          }
        }),
        { seed, numRuns: 60 },
      )
    })

    it('ε does not sink where it can tell no rows apart, and so comes back soon', () => {
      const world = worldOf({
        ...{ loss, rows: 80, blocks: 4, start: 5, bias: 0, cost: 1, weight: 1, share: 0.1, size: 0.3 },
      })
      for (let round = 0; round < 2000; round++) {
        world.visit(round % 4)
        world.work()
      }
      assert.ok(world.epsilon >= 0.9e-9, `ε is ${world.epsilon}`)
    })

    it('the ledger holds for rows as they were met or sent away, however far the visit itself went', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const { set } = world
          // Where each block was last met, along the path of w; rows that are sent away later are met later.
          const metAt = new Array<number | undefined>(world.blocks).fill(undefined)
          let path = 0
          const copy = arena.allocate((FEATURES + 1) * 8, 'test')
          arena.f64(copy, FEATURES + 1).set(world.w)
          for (const [choice, work] of rounds) {
            const block = choice % world.blocks
            world.visit(block)
            path += Math.sqrt(arena.numeric.followWeights(world.weights, copy, FEATURES + 1))
            metAt[block] = path - arena.getF64(set.at + WORKING_MOVED)
            if (work) world.work()
            const now = path + Math.sqrt(arena.numeric.followWeights(world.weights, copy, FEATURES + 1))
            path = now
            const alphas = world.alphas()
            metAt.forEach((met, b) => {
              if (met === undefined) return
              const absent = world.absentOf(b)
              const owes = absent.reduce((sum, k) => sum + world.owed(world.rows[k], alphas[k], world.w), 0)
              const most = set.mostOwed(b, path - met)
              assert.ok(owes <= most + 1e-9 * (1 + Math.abs(owes)), `${owes} is owed, the ledger says ${most} at most`)
            })
          }
        }),
        { seed, numRuns: 100 },
      )
    })
  })
}

/** Unit vectors: at random, along single rows, and the one in which all losses rise. */
function directions(world: World, absent: { row: PlainRow }[], random: () => number): number[][] {
  const unit = (x: number[]): number[] => {
    const length = Math.hypot(...x)
    return x.map(value => (length > 0 ? value / length : 0))
  }
  const along = (rows: PlainRow[]): number[] => {
    const x = new Array<number>(FEATURES + 1).fill(0)
    for (const row of rows) {
      const y = row.positive ? -1 : 1
      for (const [k, index] of row.indices.entries()) x[index] += y * row.values[k]
      x[FEATURES] += y * world.settings.bias
    }
    return unit(x)
  }
  const worst = along(absent.map(({ row }) => row))
  const single = absent.length > 0 ? along([absent[Math.floor(random() * absent.length)].row]) : worst
  const any = unit(Array.from({ length: FEATURES + 1 }, () => random() - 0.5))
  return [worst, worst.map(x => -x), single, single.map(x => -x), any]
}

describe('following weights', () => {
  it('gives the square of the way they went, after which the copy is where they are', () => {
    const arena = new Arena()
    const [w, copy] = [arena.allocate(8000, 'test'), arena.allocate(8000, 'test')]
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.double({ min: -1e3, max: 1e3, noNaN: true }), fc.boolean())), entries => {
        const n = entries.length
        arena.f64(w, n).set(entries.map(([x]) => x))
        arena.f64(copy, n).set(entries.map(([x, moved]) => (moved ? x / 2 : x)))
        const expected = entries.reduce((sum, [x, moved]) => sum + (moved ? x / 2 : 0) ** 2, 0)
        near(arena.numeric.followWeights(w, copy, n), expected, expected, 'the square')
        assert.deepEqual(arena.f64(copy, n), arena.f64(w, n))
        assert.equal(arena.numeric.followWeights(w, copy, n), 0)
      }),
      { seed, numRuns: 50 },
    )
  })
})

describe('what the first pass moves', () => {
  it('placeRows: rows go where the store has them', async () => {
    const folder = join(tmpdir(), `spillway-places-${process.pid}`)
    const text = `${folder}.svm`
    const random = randomNumbers(4)
    // Each row says which it is. More than one chunk, and more than one batch in a chunk.
    const rows = 30_000
    writeFileSync(
      text,
      Array.from({ length: rows }, (_, k) => `${random() < 0.5 ? 1 : -1} ${k + 1}:1 ${k + 40_000}:0.5\n`).join(''),
    )
    try {
      for (const [blocks, draws] of [
        [1, 1],
        [7, 1],
        [40, 2 ** 40 + 3],
      ]) {
        const chunks: { chunk: number; rows: number }[] = []
        const follower = {
          room: async () => undefined,
          take: (piece: { chunk: number; rows: number }) => chunks.push({ chunk: piece.chunk, rows: piece.rows }),
        }
        // The least memory makes the smallest chunks.
        const options = { blocks, seed: draws, memory: 100 << 20, follower, overwrite: true, indexBase: 1 } as const
        await ingest(text, folder, options)
        assert.ok(chunks.length > 1, `${chunks.length} chunks`)
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
        for (const { chunk, rows: count } of chunks) {
          arena.numeric.placeRows(BigInt(manifest.seed), chunk, count, blocks, next, places + row * 4)
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
        fc.integer({ min: 1, max: 60 }),
        (lists, capacity) => {
          arena.release(mark)
          const slots = 2 ** Math.ceil(Math.log2(capacity * 1.5 + 1))
          const dictionary = arena.allocateZeroed(DICTIONARY_BYTES, 'test')
          arena.setU32(dictionary + DICTIONARY_CAPACITY, capacity)
          arena.setU32(dictionary + DICTIONARY_FEATURES, arena.allocateZeroed(capacity * 4, 'test'))
          arena.setU32(dictionary + DICTIONARY_SLOTS, slots)
          arena.setU32(dictionary + DICTIONARY_TABLE, arena.allocateZeroed(slots * 8, 'test'))
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
