// The suite additive: its data, its judge of labels, and what it says when nothing can be measured.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { HOG_FEATURES, hogOf } from '../../bench/hog.ts'
import { dealLines, rewrite, times, toUnitRange } from '../../bench/prepare.ts'
import { compactJson } from '../../bench/results.ts'
import { compareLabels } from '../../bench/sections/additive.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))

let folder = ''
const at = (name: string): string => join(folder, name)
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'spillway-additive-'))
})
after(() => rmSync(folder, { recursive: true }))

/** A picture of 28 × 28 grey levels. */
const picture = (level: (y: number, x: number) => number): Float64Array =>
  Float64Array.from({ length: 784 }, (_, k) => level(Math.floor(k / 28), k % 28))

describe('histograms of gradients', () => {
  it('are 441 values in [0, 1], for any picture', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 784, maxLength: 784 }), levels => {
        const values = hogOf(Float64Array.from(levels))
        assert.equal(values.length, HOG_FEATURES)
        assert.ok(values.every(value => value >= 0 && value <= 1))
      }),
      { numRuns: 20 },
    )
  })

  it('are empty where the picture is, and tell upright edges from level ones', () => {
    assert.ok(hogOf(picture(() => 200)).every(value => value === 0))
    const upright = hogOf(picture((_, x) => (x < 14 ? 0 : 255)))
    const level = hogOf(picture(y => (y < 14 ? 0 : 255)))
    const orientations = (values: Float64Array): number[] =>
      Array.from({ length: 9 }, (_, o) => values.filter((_, j) => j % 9 === o).reduce((a, b) => a + b, 0))
    assert.ok(orientations(upright)[0] > 1)
    assert.ok(orientations(upright).every((sum, o) => o === 0 || sum === 0))
    // A right angle lies between two of nine orientations.
    assert.ok(orientations(level).every((sum, o) => (o === 4 || o === 5 ? sum > 0.5 : sum === 0)))
    const inverse = hogOf(picture((_, x) => (x < 14 ? 255 : 0)))
    assert.deepEqual(inverse, upright)
  })
})

describe('the preparation of files', () => {
  it('deals lines out, each to one file or to none', async () => {
    writeFileSync(at('lines'), 'a\nb\nc\nd\ne\n')
    await dealLines(at('lines'), [at('one'), at('two')], line => (line % 3) - (line === 4 ? 5 : 0))
    assert.equal(readFileSync(at('one'), 'utf8'), 'a\nd\n')
    assert.equal(readFileSync(at('two'), 'utf8'), 'b\n')
  })

  it('moves and scales features to [0, 1], where 0 may come to be something', async () => {
    writeFileSync(at('raw'), '+1 1:10 3:-2\n-1 1:5 3:6\n-1 2:4\n')
    await rewrite(at('raw'), at('unit'), await toUnitRange(at('raw')))
    assert.equal(readFileSync(at('unit'), 'utf8'), '+1 1:1\n-1 1:0.5 3:1\n-1 2:1 3:0.25\n')
    await rewrite(at('raw'), at('halves'), times(0.5))
    assert.equal(readFileSync(at('halves'), 'utf8'), '+1 1:5 3:-1\n-1 1:2.5 3:3\n-1 2:2\n')
  })
})

it('labels are compared as numbers, for all rows and for each class', async () => {
  writeFileSync(at('data'), '+1 1:1\n+1 1:1\n+1 1:2\n2 1:1\n')
  writeFileSync(at('labels'), '1\n1\n2\n2\n')
  assert.deepEqual(await compareLabels(at('data'), at('labels')), { accuracy: 3 / 4, averageAccuracy: (2 / 3 + 1) / 2 })
  writeFileSync(at('labels'), '1\n1\n')
  await assert.rejects(compareLabels(at('data'), at('labels')), { message: '2 labels were predicted for 4 rows' })
})

it('compact JSON is the same JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      assert.deepEqual(JSON.parse(compactJson(value)), JSON.parse(JSON.stringify(value)))
    }),
  )
  assert.equal(compactJson({ a: [{ b: 1, c: [2, 3], d: undefined }] }), '{\n  "a": [\n    {"b":1,"c":[2,3]}\n  ]\n}')
})

it('without data the suite says what is missing', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [main, 'additive', '--size', 'small', '--rounds', '1', '--only', 'paper-cost,mnist', '--out', at('results')],
    {
      encoding: 'utf8',
      env: { ...process.env, SPILLWAY_DATA: at('nowhere'), SPILLWAY_BENCH_CACHE: at('cache') },
    },
  )
  assert.equal(status, 0, stderr)
  assert.match(readFileSync(at('results/additive-small-paper-cost-mnist.md'), 'utf8'), /there is no mnist\.zst/)
})
