// Search in the metric forest against brute force: nothing is found that is not in the band, an unlimited search finds all, and
// a narrower one says what it left out.
import assert from 'node:assert/strict'
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Arena } from '../../src/numeric/arena.ts'
import { TREE_ENTRIES, TREE_ROW_BYTES, TREE_ROW_NUMBER, TREE_ROW_RECORD } from '../../src/numeric/metric-tree-layout.ts'
import { buildIndex } from '../../src/sample-index/build-index.ts'
import { type BandQuery, MetricForest, type SearchLimits } from '../../src/sample-index/metric-forest.ts'
import { refused } from '../files/refused.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { clusteredRows, entriesOf, marginOf, type PlainRow, plainRows, storeOf } from './fixture.ts'

const folder = fastFolder()

interface Opened {
  arena: Arena
  forest: MetricForest
  rows: PlainRow[]
  features: number
}

async function opened(name: string, text: string, index = {}, ingest = {}): Promise<Opened> {
  const path = await storeOf(folder, name, text, ingest)
  await buildIndex(path, { threads: 1, leafBytes: 2048, fanOut: 4, ...index })
  const { store, rows } = await plainRows(path)
  const arena = new Arena()
  return { arena, forest: await MetricForest.open(arena, store, 256 << 10), rows, features: store.manifest.features }
}

/** Numbers of the rows that a search finds, each looked at on the way: its record and its margin are the row's own. */
function search({ arena, forest, rows }: Opened, query: BandQuery, weights: Float64Array, limits: SearchLimits = {}) {
  const found: number[] = []
  const result = forest.search(query, limits, ({ page, places, margins, firstRow }) => {
    for (const [k, place] of [...places].entries()) {
      const entry = page + TREE_ENTRIES + place * TREE_ROW_BYTES
      const number = firstRow + arena.getU32(entry + TREE_ROW_NUMBER)
      const { class: _, ...entries } = rows[number]
      assert.deepEqual(entriesOf(arena, page + arena.getU32(entry + TREE_ROW_RECORD)), entries)
      const expected = marginOf(rows[number], { ...query, weights })
      assert.ok(Math.abs(margins[k] - expected) <= (query.narrow ? 1e-6 : 1e-9) * (1 + Math.abs(expected)))
      found.push(number)
    }
  })
  assert.equal(result.found, found.length)
  return { ...result, numbers: found.sort((a, b) => a - b) }
}

function queryOf({ arena, features }: Opened, weights: Float64Array, more: Partial<BandQuery> = {}): BandQuery {
  const at = arena.allocate(weights.length * 8, 'weights')
  arena.f64(at, weights.length).set(weights)
  return {
    ...{ weights: at, weightCount: features + 1, narrow: false, bias: 0, positive: 1, unit: false, high: 1 },
    ...more,
  }
}

function randomWeights(features: number, length: number, seed: number): Float64Array {
  const random = randomNumbers(seed)
  const w = Float64Array.from({ length: features + 1 }, () => random() * 2 - 1)
  const now = Math.hypot(...w)
  return w.map(value => (value * length) / now)
}

const kinds: [string, string, object?, object?][] = [
  ['dense rows', clusteredRows(1500, 8)],
  ['rows of very different lengths', clusteredRows(1500, 6, { lengths: true, seed: 2 })],
  ['sparse rows', clusteredRows(1200, 40, { density: 0.2, seed: 3 })],
  ['sparse rows of many features', clusteredRows(600, 6000, { density: 0.01, seed: 4 })],
  ['four classes', clusteredRows(1500, 8, { classes: 4, seed: 5 }), { treeRows: 100 }],
  ['f64 values', clusteredRows(900, 8, { seed: 6 }), {}, { values: 'f64' }],
]

describe('an unlimited search', () => {
  for (const [kind, text, index, ingest] of kinds) {
    it(`finds just the rows in the band: ${kind}`, async () => {
      const place = await opened(kind.replaceAll(' ', '-'), text, index, ingest)
      const { rows, features } = place
      let skipped = 0
      for (const length of [0.1, 1, 4, 20]) {
        for (const unit of [false, true]) {
          for (const { low, bias } of [
            { low: undefined, bias: 0 },
            { low: -1, bias: 1 },
            { low: -0.2, bias: 0.5 },
          ]) {
            const weights = randomWeights(features, length, length * 7 + (low ?? 0))
            const query = queryOf(place, weights, { unit, bias, ...(low !== undefined && { low }) })
            const result = search(place, query, weights)
            const expected = rows.flatMap((row, number) => {
              const margin = marginOf(row, { ...query, weights })
              return margin < 1 && margin > (low ?? Number.NEGATIVE_INFINITY) ? [number] : []
            })
            assert.deepEqual(result.numbers, expected, `‖w‖ = ${length}, unit ${unit}, low ${low}`)
            assert.equal(result.visited + result.outside, rows.length)
            assert.equal(result.leftOut, 0)
            assert.equal(result.trees, place.forest.trees.length)
            skipped += result.outside
          }
        }
      }
      assert.ok(skipped > 0, 'some nodes were left out because they cannot hold a row of the band')
    })
  }

  it('holds the two sides of the band by two weight vectors', async () => {
    const place = await opened('anchored', clusteredRows(900, 8, { seed: 8 }))
    const [weights, anchor] = [randomWeights(8, 3, 1), randomWeights(8, 5, 2)]
    const query = queryOf(place, weights, { low: -1, bias: 1 })
    const result = search(place, { ...query, anchor: queryOf(place, anchor).weights }, weights)
    const expected = place.rows.flatMap((row, number) => {
      const below = marginOf(row, { ...query, weights }) < 1
      return below && marginOf(row, { ...query, weights: anchor }) > -1 ? [number] : []
    })
    assert.deepEqual(result.numbers, expected)
    assert.ok(result.found > 0 && result.found < place.rows.length)
  })

  it('takes weights in f32, too', async () => {
    const place = await opened('narrow', clusteredRows(600, 8, { seed: 9 }))
    const weights = randomWeights(8, 3, 1).map(Math.fround)
    const query = queryOf(place, weights)
    const narrow = place.arena.allocate(weights.length * 4, 'weights')
    place.arena.f32(narrow, weights.length).set(weights)
    assert.deepEqual(
      search(place, { ...query, weights: narrow, narrow: true }, weights).numbers,
      search(place, query, weights).numbers,
    )
  })
})

describe('a search with limits', () => {
  it('finds more the further it reaches, and says which share it looked at', async t => {
    const place = await opened('reaches', clusteredRows(3000, 10, { seed: 11 }))
    const weights = randomWeights(10, 6, 3)
    const query = queryOf(place, weights, { low: -1 })
    const all = search(place, query, weights)
    let before = { found: 0, visited: 0 }
    for (const reach of [0.1, 0.25, 0.5, 0.75, 1]) {
      const result = search(place, query, weights, { reach })
      assert.ok(result.found >= before.found && result.visited >= before.visited)
      assert.ok(result.numbers.every(number => all.numbers.includes(number)))
      assert.equal(result.visited + result.outside + result.leftOut, place.rows.length)
      t.diagnostic(
        `reach ${reach}: recall ${(result.found / all.found).toFixed(3)} with ${((100 * result.visited) / place.rows.length).toFixed(1)} % of the rows`,
      )
      before = result
    }
    assert.equal(before.found, all.found)
    assert.ok(before.visited < place.rows.length)
  })

  it('ends when it has found enough, with rows that are in the band', async () => {
    const place = await opened('enough', clusteredRows(2000, 8, { seed: 12 }))
    const weights = randomWeights(8, 2, 3)
    const query = queryOf(place, weights)
    const all = new Set(search(place, query, weights).numbers)
    const some = search(place, query, weights, { wanted: 50 })
    assert.ok(some.found >= 50 && some.found < 50 + 200 && some.visited < place.rows.length)
    assert.ok(some.numbers.every(number => all.has(number)))
    assert.equal(search(place, query, weights, { most: 100 }).trees, 1)
    const [first] = place.forest.trees
    const one = search(place, query, weights, { trees: [0] })
    assert.equal(one.rows, first.root.rows)
    assert.equal(one.visited + one.outside, first.root.rows)
  })

  it('shrinks: rows far above the band rest, and nodes of such rows, until they are woken', async () => {
    const place = await opened('resting', clusteredRows(2000, 8, { seed: 16 }))
    const { arena, rows } = place
    const weights = randomWeights(8, 6, 3)
    const resting = arena.allocateZeroed(Math.ceil(rows.length / 8), 'a bitmap')
    const query = queryOf(place, weights, { resting, restBeyond: 0.5 })
    const first = search(place, query, weights)
    const second = search(place, query, weights)
    assert.equal(first.resting, 0)
    assert.deepEqual(second.numbers, first.numbers)
    assert.ok(second.resting > 0 && second.visited < first.visited, 'nodes rest')
    assert.equal(second.visited + second.outside + second.resting, rows.length)
    const other = randomWeights(8, 2, 5)
    const found = search(place, { ...queryOf(place, other), resting }, other).numbers
    const all = search(place, queryOf(place, other), other).numbers
    const rests = (number: number): boolean => marginOf(rows[number], { ...query, weights }) > 1.5
    assert.ok(found.every(number => all.includes(number)))
    assert.ok(all.every(number => found.includes(number) || rests(number)))
    arena.bytes(resting, Math.ceil(rows.length / 8)).fill(0)
    assert.deepEqual(search(place, { ...queryOf(place, other), resting }, other).numbers, all)
  })

  it('leaves out rows that are taken, marks those it looked at, and finds rows by their dual variables', async () => {
    const place = await opened('taken', clusteredRows(800, 8, { seed: 13 }))
    const { arena, rows } = place
    const weights = randomWeights(8, 4, 3)
    const bitmap = (): number => arena.allocateZeroed(Math.ceil(rows.length / 8), 'a bitmap')
    const [taken, touched] = [bitmap(), bitmap()]
    const bits = arena.bytes(taken, Math.ceil(rows.length / 8))
    for (let k = 0; k < rows.length; k += 3) bits[k >> 3] |= 1 << (k & 7)
    const query = queryOf(place, weights)
    const all = search(place, query, weights)
    const others = search(place, { ...query, taken, touched }, weights)
    assert.deepEqual(
      others.numbers,
      all.numbers.filter(number => number % 3 !== 0),
    )
    const marked = arena.bytes(touched, Math.ceil(rows.length / 8)).reduce((sum, byte) => sum + popcount(byte), 0)
    assert.equal(marked, others.visited)
    const alpha = arena.allocateZeroed(rows.length * 8, 'dual variables')
    const some = [5, 99, 700]
    for (const number of some) arena.f64(alpha, rows.length)[number] = 0.5
    assert.deepEqual(search(place, { ...query, alpha }, weights).numbers, some)
  })
})

function popcount(byte: number): number {
  let count = 0
  for (let k = 0; k < 8; k++) count += (byte >> k) & 1
  return count
}

describe('pages', () => {
  it('are read once while they fit, and again when they had to give way to others', async () => {
    const text = clusteredRows(3000, 10, { seed: 14 })
    const path = await storeOf(folder, 'pages', text)
    const { bytes } = await buildIndex(path, { threads: 1, leafBytes: 2048, fanOut: 4 })
    const { store } = await plainRows(path)
    const weights = randomWeights(10, 0.1, 1)
    for (const { room, again } of [
      { room: 4 * bytes + (1 << 20), again: false },
      { room: 16 << 10, again: true },
      { room: 6 << 10, again: true },
    ]) {
      const arena = new Arena()
      const forest = await MetricForest.open(arena, store, room)
      const query = queryOf({ arena, forest, rows: [], features: 10 }, weights)
      const pages = (): number => {
        const result = forest.search(query, {}, () => {})
        assert.equal(result.found, 3000, 'nothing is lost, however often pages come and go')
        return forest.counts.pagesRead
      }
      const first = pages()
      assert.equal(pages() > first, again)
    }
  })

  it('are read past the cache of the system where it has no room for all of them', async t => {
    const onDisk = testFolder()
    const path = await storeOf(onDisk, 'direct', clusteredRows(3000, 10, { seed: 16 }))
    const { bytes } = await buildIndex(path, { threads: 1, leafBytes: 2048, fanOut: 4 })
    const { store } = await plainRows(path)
    const weights = randomWeights(10, 0.1, 1)
    // How the files of trees are open that this process has open; undefined where the system does not say.
    const flags = (): number[] | undefined => {
      if (!existsSync('/proc/self/fdinfo')) return undefined
      return readdirSync('/proc/self/fd').flatMap(fd => {
        try {
          if (!readlinkSync(`/proc/self/fd/${fd}`).startsWith(`${realpathSync(path)}/`)) return []
          const [, octal] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))!
          return [Number.parseInt(octal, 8)]
        } catch {
          return []
        }
      })
    }
    const direct = constants.O_DIRECT ?? 0
    const opensSo = (): boolean => {
      try {
        closeSync(openSync(join(path, 'manifest.json'), constants.O_RDONLY | direct))
        return direct > 0
      } catch {
        return false
      }
    }
    for (const { room, beside, past } of [
      { room: 64 << 10, beside: bytes - 1, past: true },
      { room: 64 << 10, beside: bytes, past: false },
      // There is no room for what stands around a page on the disk.
      { room: 6 << 10, beside: 0, past: false },
    ]) {
      const arena = new Arena()
      const forest = await MetricForest.open(arena, store, room, beside)
      const query = queryOf({ arena, forest, rows: [], features: 10 }, weights)
      assert.equal(forest.search(query, {}, () => {}).found, 3000)
      const found = flags()
      if (found === undefined || !opensSo())
        t.diagnostic('the system does not say, or cannot: only what was found is checked')
      else {
        assert.ok(found.length > 0)
        assert.ok(found.every(each => ((each & direct) !== 0) === past))
      }
      forest.close()
    }
  })

  it('are the same where the file system refuses to be read past the cache', async () => {
    const onDisk = testFolder()
    const path = await storeOf(onDisk, 'refusing', clusteredRows(3000, 10, { seed: 16 }))
    const { bytes } = await buildIndex(path, { threads: 1, leafBytes: 2048, fanOut: 4 })
    const { store } = await plainRows(path)
    const weights = randomWeights(10, 0.1, 1)
    for (const what of ['open', 'read'] as const)
      await refused(what, 'EINVAL', async () => {
        const arena = new Arena()
        const forest = await MetricForest.open(arena, store, 64 << 10, bytes - 1)
        const query = queryOf({ arena, forest, rows: [], features: 10 }, weights)
        assert.equal(forest.search(query, {}, () => {}).found, 3000)
        forest.close()
      })
  })

  it('need room for the largest of them', async () => {
    const path = await storeOf(folder, 'tight', clusteredRows(300, 10, { seed: 15 }))
    await buildIndex(path, { threads: 1 })
    const { store } = await plainRows(path)
    await assert.rejects(MetricForest.open(new Arena(), store, 512), /512 B for pages of the index is too little/)
  })
})
