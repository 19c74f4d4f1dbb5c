// The suite indexed: a small run on made rows has every table, and figures that make sense.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { zstdCompressSync } from 'node:zlib'
import { linesOf } from '../data-sets/likenesses.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const noPython = spawnSync('python3', ['--version']).error ? 'python3 is not installed' : false

let folder = ''
const at = (name: string): string => join(folder, name)
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'spillway-indexed-'))
  mkdirSync(at('data'))
  writeFileSync(at('data/a9a.zst'), zstdCompressSync(`${linesOf('a9a', 300).join('\n')}\n`))
  writeFileSync(at('data/a9a.t.zst'), zstdCompressSync(`${linesOf('a9a', 100, 1).join('\n')}\n`))
})
after(() => rmSync(folder, { recursive: true }))

describe('the suite indexed', () => {
  it('has tables of flipped labels, margins and costs', { skip: noPython }, () => {
    const env = { ...process.env, SPILLWAY_DATA: at('data'), SPILLWAY_BENCH_CACHE: at('cache') }
    const words = [
      'indexed',
      '--rounds',
      '1',
      '--size',
      'small',
      '--only',
      'a9a,flipped,margins,costs',
      '--costs',
      '0.1,1',
    ]
    const { status, stderr } = spawnSync(process.execPath, [main, ...words, '--out', at('results')], {
      ...{ encoding: 'utf8', env },
    })
    assert.equal(status, 0, stderr)
    const results = JSON.parse(readFileSync(at('results/indexed-small-a9a-flipped-margins-costs-c0.1-c1.json'), 'utf8'))
    assert.equal(results.complete, true)
    const [flipped, margins, costs] = results.sections.map(
      ({ tables }: { tables: { rows: object[] }[] }) => tables[0].rows,
    )
    assert.equal(flipped.length, 3 * 4)
    assert.equal(margins.length, 2 * 7)
    assert.equal(costs.length, 2 * 2)
    for (const { loss, testError, supportVectors, outliers, recall, flipped: share } of flipped) {
      assert.ok(testError >= 0 && testError <= 1 && supportVectors > 0)
      const isTruncated = loss === 'ramp' || loss === 'truncated-squared-hinge'
      assert.equal(outliers !== undefined, isTruncated)
      if (isTruncated && share > 0) assert.ok(recall > 0 && recall <= 1, `${recall}`)
    }
    const [least, , , , , , convex] = margins
    assert.ok(least.supportVectors < convex.supportVectors, 'a small s leaves fewer support vectors')
  })
})
