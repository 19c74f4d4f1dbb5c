// The suite out-of-core: its picture, its sorted file, what it reads out of Spillway's words. Times are for bench/.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Chart, drawCharts } from '../../bench/chart.ts'
import { sortByLabel } from '../../bench/prepare.ts'
import { bytesOf } from '../../bench/sections/budget.ts'
import { piecesOf } from '../../bench/sections/pass-series.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))

const chart = (points: { x: number; y: number }[], yScale: Chart['yScale'] = 'log'): Chart => ({
  ...{ title: 'a < b & c', xLabel: 'seconds', yLabel: 'difference', yScale },
  series: [{ name: 'BLOCK-L-D', points }],
})
const circles = (svg: string): number[][] =>
  [...svg.matchAll(/<circle cx="([-\d.]+)" cy="([-\d.]+)"/g)].map(match => [Number(match[1]), Number(match[2])])

describe('the suite out-of-core', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'spillway-out-of-core-'))
  })
  after(() => rmSync(folder, { recursive: true }))
  const at = (name: string): string => join(folder, name)

  it('draws equal ratios as equal distances on log axes', () => {
    const points = [1, 10, 100].map(x => ({ x, y: 1 / x }))
    const svg = drawCharts([chart(points)])
    const [a, b, c] = circles(svg)
    assert.ok(Math.abs(b[0] - a[0] - (c[0] - b[0])) < 0.3 && b[0] > a[0])
    assert.ok(Math.abs(b[1] - a[1] - (c[1] - b[1])) < 0.3 && b[1] > a[1])
    assert.match(svg, />a &lt; b &amp; c</)
    assert.match(svg, />BLOCK-L-D</)
    assert.equal(svg.match(/<g\b/g)?.length, svg.match(/<\/g>/g)?.length)
  })

  it('leaves out what a log axis cannot show, and stays inside the picture', () => {
    const points = [
      { x: 1, y: 0 },
      { x: 2, y: 3e-8 },
      { x: 0, y: 1 },
      { x: 3, y: 40 },
      { x: 3, y: Number.NaN },
    ]
    const places = circles(drawCharts([chart(points)]))
    assert.equal(places.length, 2)
    for (const [x, y] of places) assert.ok(x >= 0 && x <= 600 && y >= 0 && y <= 330, `${x} ${y}`)
    assert.equal(circles(drawCharts([chart(points, 'linear')])).length, 3)
    assert.match(drawCharts([chart([])]), /nothing measured/)
    const alike = circles(drawCharts([chart([{ x: 1, y: 1 }]), chart([{ x: 5, y: 0 }], 'linear')]))
    assert.ok(alike.flat().every(Number.isFinite) && alike.length === 2)
  })

  it('sorts a file by label and keeps every line as it was', async () => {
    writeFileSync(at('mixed'), '+1 1:0.50 3:2\n-1 2:1\n+1 7:1e-3\n-1\n')
    await sortByLabel(at('mixed'), at('sorted'))
    assert.equal(readFileSync(at('sorted'), 'utf8'), '-1 2:1\n-1\n+1 1:0.50 3:2\n+1 7:1e-3\n')
  })

  it('reads the plan and sizes', () => {
    assert.equal(piecesOf('solver block: 40 blocks, read in 20 pieces a pass\n  Node 84 MiB'), 20)
    assert.equal(piecesOf('solver block: 5 blocks, read in 1 piece a pass'), 1)
    assert.equal(piecesOf('nothing of the kind'), undefined)
    assert.equal(bytesOf('256M'), 256 * 2 ** 20)
  })

  it('without any program says what is not measured, and draws nothing', () => {
    const nowhere = at('nowhere')
    const env = { ...process.env, PATH: nowhere, SPILLWAY_PROGRAM: nowhere, SPILLWAY_BENCH_CACHE: at('cache') }
    const words = ['out-of-core', '--rounds', '1', '--size', 'small', '--out', at('results')]
    const { status, stderr } = spawnSync(process.execPath, [main, ...words], { encoding: 'utf8', env })
    assert.equal(status, 0, stderr)
    const results = JSON.parse(readFileSync(join(at('results'), 'out-of-core-small.json'), 'utf8'))
    assert.equal(results.complete, true)
    assert.equal(results.sections.length, 4)
    const page = readFileSync(join(at('results'), 'out-of-core-small.md'), 'utf8')
    assert.match(page, /budget: not measured/)
    assert.match(page, /methods, BLOCK-P-I: not measured: this build has no solver pegasos/)
    assert.match(page, /- cdblock: not given \(--peer cdblock=PATH\)\n- vw: not given \(--peer vw=PATH\)/)
    assert.doesNotMatch(page, /\.svg/)
  })
})
