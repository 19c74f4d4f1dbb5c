// Hashing, shuffling and label numbers.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import { seed } from './reference.ts'

describe('xxh64', () => {
  const arena = new Arena()
  const at = arena.allocate(4096, 'test bytes')
  const hash = (bytes: Uint8Array, offset = 0): string => {
    arena.bytes(at + offset, bytes.length).set(bytes)
    return BigInt.asUintN(64, arena.numeric.xxh64(at + offset, bytes.length))
      .toString(16)
      .padStart(16, '0')
  }
  it('gives the published values', () => {
    assert.equal(hash(Buffer.from('')), 'ef46db3751d8e999')
    assert.equal(hash(Buffer.from('a')), 'd24ec4f1a98c6e5b')
    assert.equal(hash(Buffer.from('abc')), '44bc2cf5ad770999')
    assert.equal(
      hash(Buffer.from('Call me Ishmael. Some years ago--never mind how long precisely-')),
      '02a2e85470d6fd96',
    )
  })
  it('agrees with a plain BigInt implementation at every length and offset', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(9), (bytes, offset) => {
        assert.equal(hash(bytes, offset), referenceHash(bytes).toString(16).padStart(16, '0'))
      }),
      { seed, numRuns: 300 },
    )
  })
})

/** XXH64 with seed 0, after the description in xxhash's doc/xxhash_spec.md. */
function referenceHash(bytes: Uint8Array): bigint {
  const [p1, p2, p3, p4, p5] = [
    0x9e3779b185ebca87n,
    0xc2b2ae3d27d4eb4fn,
    0x165667b19e3779f9n,
    0x85ebca77c2b2ae63n,
    0x27d4eb2f165667c5n,
  ]
  const u64 = (x: bigint): bigint => BigInt.asUintN(64, x)
  const rotate = (x: bigint, by: bigint): bigint => u64((x << by) | (u64(x) >> (64n - by)))
  const round = (lane: bigint, word: bigint): bigint => u64(rotate(u64(lane + word * p2), 31n) * p1)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 0
  let hash: bigint
  if (bytes.length >= 32) {
    let lanes = [u64(p1 + p2), p2, 0n, u64(-p1)]
    for (; at + 32 <= bytes.length; at += 32)
      lanes = lanes.map((lane, k) => round(lane, view.getBigUint64(at + 8 * k, true)))
    hash = u64(rotate(lanes[0], 1n) + rotate(lanes[1], 7n) + rotate(lanes[2], 12n) + rotate(lanes[3], 18n))
    for (const lane of lanes) hash = u64((hash ^ round(0n, lane)) * p1 + p4)
  } else hash = p5
  hash = u64(hash + BigInt(bytes.length))
  for (; at + 8 <= bytes.length; at += 8) {
    hash = u64(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * p1 + p4)
  }
  if (at + 4 <= bytes.length) {
    hash = u64(rotate(hash ^ u64(BigInt(view.getUint32(at, true)) * p1), 23n) * p2 + p3)
    at += 4
  }
  for (; at < bytes.length; at++) hash = u64(rotate(hash ^ u64(BigInt(bytes[at]) * p5), 11n) * p1)
  hash = u64((hash ^ (hash >> 33n)) * p2)
  hash = u64((hash ^ (hash >> 29n)) * p3)
  return hash ^ (hash >> 32n)
}

describe('shuffle', () => {
  const arena = new Arena()
  const mark = arena.mark()
  const shuffled = (count: number, start: bigint): number[] => {
    arena.release(mark)
    const state = arena.allocate(8, 'test')
    const array = arena.allocate(count * 4 + 4, 'test')
    arena.u64(state, 1)[0] = start
    arena.numeric.iota(array, count)
    arena.u32(array, count + 1)[count] = 0xdeadbeef
    assert.deepEqual(
      [...arena.u32(array, count)],
      Array.from({ length: count }, (_, k) => k),
    )
    arena.numeric.shuffle(array, count, state)
    assert.equal(arena.u32(array, count + 1)[count], 0xdeadbeef)
    return [...arena.u32(array, count)]
  }
  it('is a permutation, the same for the same seed', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (count, start) => {
        const order = shuffled(count, start)
        assert.deepEqual(
          order.toSorted((a, b) => a - b),
          Array.from({ length: count }, (_, k) => k),
        )
        assert.deepEqual(shuffled(count, start), order)
      }),
      { seed, numRuns: 200 },
    )
  })
  it('depends on the seed and reaches all orders about equally often', () => {
    assert.notDeepEqual(shuffled(100, 1n), shuffled(100, 2n))
    const counts = new Map<string, number>()
    for (let start = 0; start < 2400; start++) {
      const key = shuffled(4, BigInt(start)).join('')
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    assert.equal(counts.size, 24)
    // 100 expected each; six standard deviations.
    for (const [key, count] of counts) assert.ok(count > 40 && count < 160, `${key} came ${count} times`)
  })
})

describe('shuffleNear', () => {
  const arena = new Arena()
  const mark = arena.mark()
  const shuffled = (numbers: number[], bound: number, start: bigint): number[] => {
    arena.release(mark)
    const state = arena.allocate(8, 'test')
    const array = arena.allocate(numbers.length * 4 + 4, 'test')
    const words = Math.ceil(bound / 64)
    const marks = arena.allocate(words * 8 + 8, 'test')
    arena.u64(state, 1)[0] = start
    arena.u32(array, numbers.length + 1).set([...numbers, 0xdeadbeef])
    arena.u64(marks, words + 1).fill(0xdeadbeefn)
    arena.numeric.shuffleNear(array, numbers.length, bound, marks, state)
    assert.equal(arena.u32(array, numbers.length + 1)[numbers.length], 0xdeadbeef)
    assert.equal(arena.u64(marks, words + 1)[words], 0xdeadbeefn, 'no word behind the marks is written')
    return [...arena.u32(array, numbers.length)]
  }
  it('is a permutation of the numbers that were there, the same for the same seed', () => {
    const distinct = fc.uniqueArray(fc.nat(5000), { maxLength: 3000, size: 'max' })
    fc.assert(
      fc.property(distinct, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (numbers, start) => {
        const bound = Math.max(-1, ...numbers) + 1
        const order = shuffled(numbers, bound, start)
        const sorted = numbers.toSorted((a, b) => a - b)
        assert.deepEqual(
          order.toSorted((a, b) => a - b),
          sorted,
        )
        // The order does not depend on how the numbers stood before.
        assert.deepEqual(shuffled(sorted, bound, start), order)
      }),
      { seed, numRuns: 100 },
    )
  })
  it('keeps near numbers near, draws each group from everywhere, and goes by the seed', () => {
    const count = 1 << 16
    const all = Array.from({ length: count }, (_, k) => k)
    const order = shuffled(all, count, 1n)
    for (let from = 0; from < count; from += 2048) {
      const group = order.slice(from, from + 2048)
      assert.equal(new Set(group.map(number => number >> 6)).size, 32, 'a group is 32 whole pieces')
      const mean = group.reduce((sum, number) => sum + number, 0) / group.length
      // The mean of 32 pieces of 1,024; six standard deviations.
      assert.ok(Math.abs(mean / count - 0.5) < (6 * Math.sqrt(1 / 12)) / Math.sqrt(32), `${mean}`)
    }
    assert.notDeepEqual(shuffled(all, count, 2n), order)
  })
})

describe('numberLabels', () => {
  const arena = new Arena()
  const mark = arena.mark()
  const check = (labels: number[], slots: number): void => {
    arena.release(mark)
    const rows = labels.length
    const at = arena.allocate(rows * 8, 'test')
    const codes = arena.allocate(rows * 4, 'test')
    const firsts = arena.allocate(rows * 4, 'test')
    const table = arena.allocateZeroed(slots * 4, 'test')
    arena.f64(at, rows).set(labels)
    const found = arena.numeric.numberLabels(at, rows, codes, firsts, table, slots, 0)
    const numbers = new Map<number, number>()
    const expectedFirsts: number[] = []
    const expected = labels.map((label, row) => {
      // A Map takes −0 for 0, as labels do.
      let number = numbers.get(label)
      if (number === undefined) {
        number = numbers.size
        numbers.set(label, number)
        expectedFirsts.push(row)
      }
      return number
    })
    assert.equal(found, numbers.size)
    assert.deepEqual([...arena.u32(codes, rows)], expected)
    assert.deepEqual([...arena.u32(firsts, found)], expectedFirsts)
    assert.ok(
      arena.u32(table, slots).every(slot => slot === 0),
      'the table is zero afterwards',
    )
    assert.deepEqual(
      [...arena.f64(at, rows)].map(Object.is.bind(undefined, 0)),
      labels.map(Object.is.bind(undefined, 0)),
    )
  }
  const label = fc.oneof(
    fc.constantFrom(1, -1, 0, -0, 2, 3, 0.5),
    fc.integer({ min: -20, max: 20 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  it('agrees with a Map, −0 being 0', () => {
    fc.assert(
      fc.property(fc.array(label, { maxLength: 120 }), labels => check(labels, 256)),
      { seed, numRuns: 400 },
    )
    check([0, -0, 1, -0, 0], 16)
    check([-0, 0], 16)
  })
  it('numbers thousands of distinct labels in a nearly full table', () => {
    const labels: number[] = []
    for (let k = 0; k < 20000; k++) labels.push((k * 7919) % 5003, k % 3 === 0 ? -(k % 4001) / 8 : k % 2)
    check(labels, 16384)
    check(
      Array.from({ length: 8000 }, (_, k) => k + 0.25),
      8192,
    )
  })
})
