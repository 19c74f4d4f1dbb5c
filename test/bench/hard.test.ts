// The suites hard and second-order: small runs on made rows, what they read out of Spillway's words, and their options.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { zstdCompressSync } from 'node:zlib'
import { dataFolder, dataSets } from '../../bench/data.ts'
import { adviceOf, isFastEnough, knownProblem } from '../../bench/sections/hard.ts'
import { readSettings } from '../../bench/settings.ts'
import { hard } from '../../bench/suites/hard.ts'
import { linesOf } from '../data-sets/likenesses.ts'
import { noLiblinear } from '../train/liblinear.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const noPython = spawnSync('python3', ['--version']).error ? 'python3 is not installed' : false

let folder = ''
const at = (name: string): string => join(folder, name)
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'spillway-hard-'))
  mkdirSync(at('data'))
  for (const name of ['a9a', 'dna.scale'] as const)
    writeFileSync(at(`data/${name}.zst`), zstdCompressSync(`${linesOf(name, 300).join('\n')}\n`))
  for (const name of ['a9a', 'dna.scale'] as const)
    writeFileSync(at(`data/${name}.t.zst`), zstdCompressSync(`${linesOf(name, 50, 1).join('\n')}\n`))
})
after(() => rmSync(folder, { recursive: true }))

function benchWith(more: Record<string, string>, ...words: string[]): { status: number | null; stderr: string } {
  const env = { ...process.env, SPILLWAY_DATA: at('data'), SPILLWAY_BENCH_CACHE: at('cache'), ...more }
  return spawnSync(process.execPath, [main, ...words, '--out', at('results')], { encoding: 'utf8', env })
}

const bench = (...words: string[]): { status: number | null; stderr: string } => benchWith({}, ...words)

describe('the suite hard', () => {
  it('has a line for each loss and cost, with the time of LIBLINEAR', { skip: noPython || noLiblinear }, () => {
    const words = ['hard', '--rounds', '1', '--size', 'small', '--only', 'dna', '--costs', '0.01,1']
    const { status, stderr } = bench(...words, '--losses', 'squared-hinge')
    assert.equal(status, 0, stderr)
    const results = JSON.parse(readFileSync(at('results/hard-small-dna-squared-hinge-c0.01-c1.json'), 'utf8'))
    assert.equal(results.complete, true)
    const [{ tables, details }] = results.sections
    assert.deepEqual(
      tables[0].rows.map(({ loss, cost }: Record<string, unknown>) => [loss, cost]),
      [
        ['squared-hinge', 0.01],
        ['squared-hinge', 1],
      ],
    )
    for (const { gap, known, peer, ratio, seconds, peerSeconds } of tables[0].rows) {
      assert.ok(gap >= 0 && gap <= 1e-3 && known <= 1e-6, `${gap} ${known}`)
      assert.match(peer, /^-s [12] -e /)
      assert.ok(Math.abs(ratio - seconds / peerSeconds) < 1e-9)
    }
    assert.equal(details.length, 2)
    // A run that broke off goes on where it stopped: what it has is not run again.
    const file = at('results/hard-small-dna-squared-hinge-c0.01-c1.json')
    const [first] = tables[0].rows
    const left = { ...results.sections[0], tables: [{ ...tables[0], rows: [{ ...first, seconds: 12345 }] }] }
    writeFileSync(file, JSON.stringify({ ...results, complete: false, sections: [left] }))
    const again = bench(...words, '--losses', 'squared-hinge', '--resume')
    assert.equal(again.status, 0, again.stderr)
    const [{ tables: after }] = JSON.parse(readFileSync(file, 'utf8')).sections
    assert.equal(after[0].rows.length, 2)
    assert.equal(after[0].rows[0].seconds, 12345)
    assert.notEqual(after[0].rows[1].seconds, 12345)
    assert.doesNotMatch(again.stderr, /C = 0\.01/)
  })

  it('has every published set in it, but for strings', t => {
    if (!existsSync(dataFolder)) return t.skip(`there is no ${dataFolder}`)
    const sources = hard.dataSets.map(name => dataSets[name].source)
    const published = readdirSync(dataFolder).filter(name => /\.zst$/.test(name) && !/\.t\.zst$/.test(name))
    assert.ok(published.length > 0)
    for (const name of published.filter(name => !name.startsWith('celegans')))
      assert.ok(sources.includes(name.replace(/\.zst$/, '')), name)
  })

  it('says that a run took too long, and goes on', { skip: noPython }, () => {
    // A program that never ends, in place of Spillway.
    const program = at('endless.mjs')
    writeFileSync(
      program,
      "if (process.argv.includes('--version')) console.log('spillway 0'); else setInterval(() => {}, 1000)",
    )
    const words = ['hard', '--rounds', '1', '--size', 'small', '--only', 'a9a', '--costs', '1', '--seconds', '1']
    const env = { SPILLWAY_PROGRAM: program }
    const { status, stderr } = benchWith(env, ...words, '--losses', 'hinge')
    assert.equal(status, 0, stderr)
    const results = JSON.parse(readFileSync(at('results/hard-small-a9a-hinge-c1.json'), 'utf8'))
    const [row] = results.sections[0].tables[0].rows
    assert.deepEqual([row.seconds, row.reached], ['> 1 s', false])
  })

  it('judges by the time of LIBLINEAR, where that was not stopped too early', () => {
    assert.equal(isFastEnough(2, 1), true)
    assert.equal(isFastEnough(4, 1), false)
    assert.equal(isFastEnough(undefined, 1), false)
    assert.equal(isFastEnough(4, undefined), true)
    assert.equal(isFastEnough(4, undefined, 20), true)
    assert.equal(isFastEnough(100, undefined, 20), undefined)
  })

  it('knows what was measured before by data, loss and cost', () => {
    const row = { data: 'a9a', loss: 'hinge', cost: 1, seconds: 3 }
    const section = {
      ...{ name: 'hard', title: '', goal: '', protocol: [], notes: [] },
      details: [{ ...row, told: 1 }],
    }
    const before = [{ ...section, tables: [{ columns: {}, rows: [row] }] }]
    assert.deepEqual(knownProblem(before, { data: 'a9a', loss: 'hinge', cost: 1 }), {
      row,
      details: { ...row, told: 1 },
    })
    assert.equal(knownProblem(before, { data: 'a9a', loss: 'hinge', cost: 100 }), undefined)
  })

  it('with a fifth of the memory names the memory', { skip: noPython || noLiblinear }, () => {
    const words = ['hard', '--rounds', '1', '--size', 'small', '--only', 'a9a', '--costs', '1', '--fifth']
    const { status, stderr } = bench(...words, '--losses', 'logistic')
    assert.equal(status, 0, stderr)
    const results = JSON.parse(readFileSync(at('results/hard-small-a9a-logistic-c1-fifth.json'), 'utf8'))
    assert.deepEqual(results.skipped, [])
    assert.match(results.sections[0].tables[0].rows[0].memory, /^\d+M$/)
  })

  it('follows advice for the same problem first', () => {
    const told = { shortfall: { advice: ['--max-passes 1000'], otherwise: ['--scale minmax', '--bias 1'] } }
    assert.deepEqual(adviceOf(told), ['--max-passes 1000', '--scale minmax', '--bias 1'])
    assert.deepEqual(adviceOf({}), [])
    assert.deepEqual(adviceOf(undefined), [])
  })

  it('refuses options in words', () => {
    for (const [words, message] of [
      [['hard', '--losses', 'absolute'], '--losses names "absolute"; expected hinge, squared-hinge, logistic'],
      [['hard', '--costs', '1,-2'], '--costs has "-2"; expected numbers above 0'],
      [['start', '--fifth'], '--fifth is not for start; it is for hard'],
      [['hard', '--seconds', '0'], '--seconds is "0"; expected a whole number from 1'],
      [['start', '--resume'], '--resume is not for start; it is for hard, caps'],
      [['caps', '--solvers', 'dual'], '--solvers names "dual"; expected stream, selective, block, bundles'],
      [['in-memory', '--costs', '1'], '--costs is not for in-memory; it is for hard, second-order, indexed'],
    ] as const) {
      assert.equal(readSettings([...words]), message)
    }
  })
})

describe('the suite second-order', () => {
  it('draws a line for each method that takes the problem, and tables of its points', { skip: noPython }, () => {
    const words = ['second-order', '--rounds', '1', '--size', 'small', '--only', 'a9a', '--costs', '1']
    const { status, stderr } = bench(...words, '--losses', 'squared-hinge')
    assert.equal(status, 0, stderr)
    const file = at('results/second-order-small-a9a-squared-hinge-c1')
    const [{ tables, charts }] = JSON.parse(readFileSync(`${file}.json`, 'utf8')).sections
    const methods = tables[0].rows.map(({ method }: Record<string, unknown>) => method)
    for (const method of ['dual', 'dual, no shrinking', 'newton']) assert.ok(methods.includes(method), `${methods}`)
    assert.ok(tables[1].rows.length >= 3 * methods.length)
    for (const { seconds, difference } of tables[1].rows) assert.ok(seconds > 0 && difference >= 0)
    const newton = tables[0].rows.find(({ method }: Record<string, unknown>) => method === 'newton')
    assert.ok(newton.last <= 1e-6 && newton['to0.001'] > 0)
    assert.equal(charts.length, 1)
    assert.match(readFileSync(`${file}.svg`, 'utf8'), />newton</)
  })
})

describe('both suites', () => {
  it('without any program say what is not measured', () => {
    const nowhere = at('nowhere')
    for (const suite of ['hard', 'second-order']) {
      const env = { ...process.env, PATH: nowhere, SPILLWAY_PROGRAM: nowhere, SPILLWAY_BENCH_CACHE: at('none') }
      const words = [suite, '--rounds', '1', '--size', 'small', '--out', at('none-results')]
      const { status, stderr } = spawnSync(process.execPath, [main, ...words], { encoding: 'utf8', env })
      assert.equal(status, 0, stderr)
      const results = JSON.parse(readFileSync(at(`none-results/${suite}-small.json`), 'utf8'))
      assert.equal(results.complete, true)
      assert.ok(results.skipped.some(({ why }: { why: string }) => why.includes('npm run build')))
    }
  })
})
