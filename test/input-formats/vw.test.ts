// Vowpal Wabbit text: how names become features, weights, and what is refused.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { csv } from '../../src/input-formats/csv.ts'
import { looksLikeVw, murmur3, VW_BITS, vw } from '../../src/input-formats/vw.ts'
import { Arena } from '../../src/numeric/arena.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { weightsOfStore } from '../out-of-core/fixture.ts'
import { load, testFolder } from './fixture.ts'
import { parseWithClass } from './parsing.ts'

const folder = testFolder()
const parse = (text: string, skipBad = true) =>
  parseWithClass(Buffer.from(text), { indexBase: 0, skipBad, valueBits: 64 }, new Arena(), vw)
const hash = (text: string, seed = 0): number => murmur3(Buffer.from(text), 0, Buffer.byteLength(text), seed)
const kept = (number: number): number => number % 2 ** VW_BITS

const modelOf = async (path: string, options: TrainOptions = {}) =>
  (await train(path, { threads: 1, ...options }).result).model

describe('Vowpal Wabbit text', () => {
  it('hashes as MurmurHash3 does', () => {
    assert.equal(hash(''), 0)
    assert.equal(hash('', 1), 0x514e28b7)
    assert.equal(hash('hello'), 0x248bfa47)
    assert.equal(hash('hello, world'), 0x149bbb7f)
    assert.equal(hash('The quick brown fox jumps over the lazy dog'), 0x2e4ff723)
  })

  it('makes features of names under their namespaces, and of numbers as they are', () => {
    const { rows } = parse('1 | 3:0.5 7\n-1 |house price:2\n1 |house 5\n1 |7 5')
    assert.deepEqual(rows[0], { label: 1, indices: [3, 7], values: [0.5, 1] })
    assert.deepEqual(rows[1].indices, [kept(hash('price', hash('house')))])
    assert.deepEqual(rows[2].indices, [kept(hash('house') + 5)])
    assert.deepEqual(rows[3].indices, [12])
  })

  it('multiplies values by the scale of their namespace, adds those of one feature and leaves zeros out', () => {
    const { rows } = parse('1 |a:0.5 x:4 y z:0 | 9 |a x:3')
    const entries = new Map(rows[0].indices.map((index, k) => [index, rows[0].values[k]]))
    const of = (name: string): number | undefined => entries.get(kept(hash(name, hash('a'))))
    assert.deepEqual([of('x'), of('y'), of('z'), entries.get(9)], [5, 0.5, undefined, 1])
  })

  it('tells labels, weights and tags apart', async () => {
    const { bad } = parse("1 2.5 'a tag| 1")
    assert.match(bad[0].found, /'a/, 'a blank ends a tag')
    const good = folder.write('good.vw', "1 2.5 'a| 1\n-1 'second| 2\n1 third| 1 2\n-1 0.5 | 4\n")
    const weights = await load([good], { format: 'auto' }, ({ arena, rows }) => [
      ...arena.f64(rows.rowWeights!, rows.rows),
    ])
    assert.deepEqual(weights, [2.5, 1, 1, 0.5])
  })

  it('has rows without weights beside rows with them, in any batch', async () => {
    const lines = Array.from({ length: 20000 }, (_, k) => `${k % 2}${k === 17000 ? ' 3' : ''} | ${k % 7}`)
    const path = folder.write('late.vw', lines.join('\n'))
    const weights = await load([path], { format: 'vw' }, ({ arena, rows }) => [
      ...arena.f64(rows.rowWeights!, rows.rows),
    ])
    assert.equal(weights.length, 20000)
    assert.deepEqual([weights[16999], weights[17000], weights[17001]], [1, 3, 1])
  })

  it('trains as LIBSVM text of the same numbers does, to the last bit', async () => {
    const rows = Array.from({ length: 60 }, (_, k) => [k % 3 ? 1 : -1, `${k % 5}:${(k % 7) / 8} ${5 + (k % 4)}:1.5`])
    const text = folder.write('same.svm', rows.map(([label, entries]) => `${label} ${entries}`).join('\n'))
    const names = folder.write('same.vw', rows.map(([label, entries]) => `${label} | ${entries}`).join('\n'))
    const [ofText, ofNames] = [await modelOf(text, { indexBase: 0 }), await modelOf(names)]
    assert.ok(ofText.weights.values.length > 0)
    assert.deepEqual(ofNames.weights, ofText.weights)
  })

  it('counts a row of weight 2 as two rows', async () => {
    const some = Array.from({ length: 30 }, (_, k) => `${k % 3 ? 1 : -1} | ${k % 5}:${(k % 7) / 8} ${5 + (k % 4)}`)
    const once = folder.write('once.vw', some.map(line => line.replace(' |', ' 2 |')).join('\n'))
    const twice = folder.write('twice.vw', [...some, ...some].join('\n'))
    const primal = async (path: string) => (await train(path, { tolerance: 1e-8, threads: 1 }).result).primal!
    const expected = await primal(twice)
    assert.ok(Math.abs((await primal(once)) - expected) < 1e-6 * expected)
  })

  it('has its weights kept where rows go into a store', async () => {
    const path = folder.write('stored.vw', '1 2 | 1\n-1 | 2\n1 | 3\n')
    const store = join(folder.path, 'stored.spill')
    const { manifest } = await ingest(path, store, { split: 'sequential' })
    assert.deepEqual([manifest.rowWeights, manifest.version], [true, 2])
    assert.deepEqual(await weightsOfStore(store), [2, 1, 1])
  })

  it('has its weights refused by a solver that would ignore them', async () => {
    const path = folder.write('ignored.vw', '1 2 | 1\n-1 | 2\n')
    const options: TrainOptions = {
      solver: 'one-pass',
      loss: 'squared-hinge',
      store: join(folder.path, 'ignored.spill'),
    }
    await assert.rejects(modelOf(path, options), /weights of rows are not compatible with solver one-pass/)
  })

  it('is told from tables whose cells stand between bars', () => {
    for (const line of ['1 |a b', '-1 | 3:1', "1 2 'tag|a b|c d", '1 tag|a', '0 |a x:1, y'])
      assert.ok(looksLikeVw(line), line)
    const isCsv = csv.cut.by === 'lines' ? csv.cut.detect : undefined
    for (const line of ['1|2|3', '1 | 2 | 3', 'a b|c', 'age|name', 'x|2|?']) {
      assert.ok(!looksLikeVw(line) && isCsv!(line), line)
    }
  })

  it('says what is wrong with a row, and where', () => {
    const wrong: [string, number, RegExp, RegExp][] = [
      ['|a b', 1, /"\|"/, /a label in front of the bar/],
      ['1 a b', 1, /"1 a b"/, /a row with a bar/],
      ['1:0.5 2:1 |a b', 1, /"1:0.5"/, /one label/],
      ['1 x |a b', 3, /"x"/, /a weight/],
      ['1 -2 |a b', 3, /"-2"/, /a weight: a number above 0/],
      ['1 1 0.5 |a b', 5, /"0.5"/, /no score to begin with/],
      ['1 |a b:x', 6, /"b:x"/, /a number as value/],
      ['1 |a b:', 6, /"b:"/, /a number as value/],
      ['1 |a b:1e999', 6, /"b:1e999"/, /a number as value/],
      ['1 |a b:nan', 6, /"b:nan"/, /a number as value/],
      ['1 |a :3', 6, /":3"/, /NAME or NAME:VALUE/],
      ['1 |a:x b', 4, /"a:x"/, /a number as value/],
      ['1 | 4294967299:1', 1, /feature 4294967299/, /a whole number from 0/],
      ['\u0000\u0001', 1, /./, /bar/],
    ]
    for (const [line, column, found, expected] of wrong) {
      const { bad, badRows } = parse(`1 | 1\n${line}\n`)
      assert.equal(badRows, 1, line)
      assert.deepEqual([bad[0].line, bad[0].column], [1, column], line)
      assert.match(bad[0].found, found)
      assert.match(bad[0].expected, expected)
    }
    assert.ok(readFileSync(new URL('../../docs/input-vw.md', import.meta.url), 'utf8').includes(`2^${VW_BITS}`))
  })
})
