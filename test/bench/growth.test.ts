// The section growth of the suite indexed: a small run of one method, on classes that lie apart.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { writeApart } from '../../bench/apart.ts'
import { readSettings } from '../../bench/settings.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const noPython = spawnSync('python3', ['--version']).error ? 'python3 is not installed' : false

let folder = ''
const at = (name: string): string => join(folder, name)
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'spillway-growth-'))
})
after(() => rmSync(folder, { recursive: true }))

describe('rows that lie apart', () => {
  it('are the same for the same seed, one in twenty near the plane', async () => {
    const read = async (name: string, seed: number): Promise<string> => {
      await writeApart(at(name), 12_000, seed)
      return readFileSync(at(name), 'utf8')
    }
    const text = await read('one.svm', 1)
    assert.equal(await read('again.svm', 1), text)
    assert.notEqual(await read('other.svm', 2), text)
    const lines = text.trim().split('\n')
    assert.equal(lines.length, 12_000)
    const margins = lines.map(line => {
      const [label, first] = line.split(' ')
      return Number(label) * Number(first.slice(2))
    })
    assert.ok(margins.every(margin => margin >= 0 && margin < 2))
    const near = margins.filter(margin => margin < 1).length
    assert.ok(near > 500 && near < 700, `${near} of 12,000 lie in between`)
  })
})

describe('the section growth', () => {
  it('runs the methods that --only names, and gives up after --seconds', () => {
    const asked = readSettings(['indexed', '--only', 'growth,apart-300k,L1-dual', '--seconds', '60'])
    assert.ok(typeof asked === 'object')
    assert.deepEqual(asked.only, ['growth', 'apart-300k', 'L1-dual'])
    assert.equal(asked.settings.seconds, 60)
    assert.match(String(readSettings(['indexed', '--only', 'L3-dual'])), /--only names "L3-dual"; .* L1-dual, L2-dual/)
  })

  it('has a row for each solver, loss and place, and a chart of the family', { skip: noPython }, () => {
    const env = { ...process.env, SPILLWAY_BENCH_CACHE: at('cache') }
    const words = ['--rounds', '1', '--size', 'small', '--only', 'growth,apart-100k,L1-dual', '--seconds', '100']
    const { status, stderr } = spawnSync(process.execPath, [main, 'indexed', ...words, '--out', at('results')], {
      ...{ encoding: 'utf8', env },
    })
    assert.equal(status, 0, stderr)
    const results = JSON.parse(readFileSync(at('results/indexed-small-growth-apart-100k-L1-dual.json'), 'utf8'))
    assert.equal(results.complete, true)
    assert.deepEqual(results.skipped, [])
    const [measured, growth] = results.sections
    const { rows } = measured.tables[0]
    assert.equal(rows.length, 2 * 2 * 2)
    for (const { method, solver, touched, against } of rows) {
      assert.equal(method, 'L1-dual')
      if (solver !== 'indexed') continue
      assert.ok(touched > 0 && touched <= 1)
      assert.ok(Math.abs(against) < 0.01, `the objective is ${against} from the batch solver's`)
    }
    assert.equal(growth.charts.length, 2)
    for (const { title } of growth.charts) assert.match(title, /^apart, L1-dual/)
  })
})
