// The suite cluster: what it counts, the tables that it makes of runs, its options, and a small run of ranks. Times are for bench/.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { zstdCompressSync } from 'node:zlib'
import { trafficOf } from '../../bench/peers/mpirun.ts'
import { chartOf, lossesOf, type Point, tablesOf } from '../../bench/sections/averaging.ts'
import type { RankTiming } from '../../bench/sections/rank-runs.ts'
import { occurring, rowsOf, verdicts } from '../../bench/sections/scaling.ts'
import { checkRows, errorNotes, ratesOf } from '../../bench/sections/simulate.ts'
import { rowOf, windowVerdict } from '../../bench/sections/window.ts'
import { readSettings } from '../../bench/settings.ts'
import { linesOf } from '../data-sets/likenesses.ts'
import { openMpi } from '../ranks/mpirun.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const noPython = spawnSync('python3', ['--version']).error ? 'python3 is not installed' : false

let folder = ''
const at = (name: string): string => join(folder, name)
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'spillway-cluster-'))
})
after(() => rmSync(folder, { recursive: true }))

/** A run on so many ranks that read for `read` seconds and computed for `compute`, in ten passes. */
function timing(ranks: number, read: number, compute: number, primal = 100): RankTiming {
  const seconds = read + compute + 0.5
  const once = { seconds, cpuSeconds: seconds, peakMemoryBytes: 1e8 }
  return {
    run: { name: `two ranks`, method: { solver: 'lbfgs', loss: 'logistic' }, ranks, threads: 1 },
    timing: { ...once, spread: 1, all: [once] },
    ...{ inside: { read, compute }, computing: [compute], passes: 10, primal },
    told: { rows: 1e5, nonzeros: 1e7, solver: 'lbfgs' },
  }
}

describe('what ranks send', () => {
  it('is what the files of all ranks say, less what stays', () => {
    const lines = (...own: [kind: string, from: number, to: number, bytes: number][]): string =>
      own.map(([kind, from, to, bytes]) => `${kind}\t${from}\t${to}\t${bytes} bytes\t3 msgs sent\t0,1\n`).join('')
    const files = [
      `# POINT TO POINT\n${lines(['E', 0, 1, 100], ['I', 0, 1, 8000], ['I', 0, 0, 50])}# COLLECTIVES\n${lines(['C', 0, 1, 7000])}A2A\t0\t1 bytes\t1 msgs sent\n`,
      lines(['I', 1, 0, 9000]),
    ]
    assert.deepEqual(trafficOf(files), { givenByRank: 7000, sentByRank: 9000, sentInAll: 17_100, messages: 9 })
    assert.deepEqual(trafficOf([]), { givenByRank: 0, sentByRank: 0, sentInAll: 0, messages: 0 })
  })

  it('is stated for each pass beside 2·n·8 bytes', () => {
    const traffic = [5e6, 5e6 + 9 * 17e6].map(sentByRank => {
      return { givenByRank: 2 * sentByRank, sentByRank, sentInAll: 2 * sentByRank, messages: 1 }
    })
    const alone = timing(1, 2, 4)
    const timings = [{ ...alone, run: { ...alone.run, onOneCore: true } }, timing(2, 1, 2.2, 100.01)]
    const [one, two] = rowsOf({ name: 'made' }, 1e6, timings, new Map([[2, traffic]]))
    assert.deepEqual([one['faster'], one['sent'], one['difference']], [1, undefined, 0])
    assert.deepEqual([two['given'], two['givenShare']], [34e6, 17 / 8])
    assert.deepEqual([two['sent'], two['sentShare'], two['sentAtFirst']], [17e6, 17 / 16, 5e6])
    assert.ok(Math.abs(Number(two['difference']) - 1e-4) < 1e-12)
    assert.ok(Math.abs(Number(two['fasterInside']) - 6 / 3.2) < 1e-12)
    assert.deepEqual(verdicts([one, two]), [
      'made, lbfgs, two ranks: 1.76 times as fast (inside 1.88), 1.06 times 2·n·8 bytes sent in a pass; goal of 1.8: not reached.',
    ])
  })

  it('goes by features that occur', async () => {
    writeFileSync(at('few'), '+1 1:1 3000000:2\n-1 3:0 3000000:1\n')
    assert.equal(await occurring({ file: at('few') }), 2)
  })
})

describe('averaging and alternating directions', () => {
  const points: Point[] = [
    { name: 'all rows', kind: 'all', ranks: 1, accuracy: 0.9, difference: 0 },
    { name: 'mean of 2 models', kind: 'average', ranks: 2, accuracy: 0.88, difference: 0.2 },
    { name: 'ADMM, 2 ranks, 1 round', kind: 'admm', ranks: 2, rounds: 1, accuracy: 0.87, difference: 0.4 },
    { name: 'ADMM, 2 ranks, 4 rounds', kind: 'admm', ranks: 2, rounds: 4, accuracy: 0.9, difference: 1e-9 },
  ]
  const found = new Map([
    ['a9a', points],
    ['imdb', points.slice(0, 2)],
  ])

  it('have a table of methods by data sets, like the one of the talk', () => {
    const [accuracies, differences] = tablesOf(found)
    assert.deepEqual(Object.keys(accuracies.columns), ['method', 'a9a', 'imdb'])
    assert.deepEqual(accuracies.rows[1], { method: 'mean of 2 models', a9a: 0.88, imdb: 0.88 })
    assert.deepEqual(differences.rows[2], { method: 'ADMM, 2 ranks, 1 round', a9a: 0.4, imdb: undefined })
    assert.match(lossesOf(found)[0], /^a9a: the mean of models is 2\.00 points below/)
    const better = points.map(point => (point.kind === 'average' ? { ...point, accuracy: 0.91 } : point))
    assert.match(lossesOf(new Map([['a9a', better]]))[0], /1\.00 points above/)
  })

  it('are drawn as a curve, and a line beside it', () => {
    const { series } = chartOf('a9a', points, [1, 4])
    assert.deepEqual(series[0], {
      name: 'ADMM, 2 ranks',
      points: [
        { x: 1, y: 0.4 },
        { x: 4, y: 1e-7 },
      ],
    })
    assert.deepEqual(
      series[1].points.map(({ y }) => y),
      [0.2, 0.2],
    )
  })
})

describe('predictions and rows beyond a window', () => {
  it('stand beside what was measured', () => {
    const one = timing(1, 2, 4)
    const pass = { secondsPerNonzero: 4 / 1e8, secondsPerWeight: 0 }
    const rates = ratesOf({ bytes: 2e8 }, one, { ...pass, contention: 1, readContention: 1, joinSeconds: 0 })
    assert.deepEqual([rates.startSeconds, rates.parseBytesPerSecond], [0.5, 1e8])
    const work = {
      rows: 1e5,
      nonzeros: 1e7,
      textBytes: 2e8,
      weights: 1000,
      passes: 10,
      vectorsPerPass: 2,
      bytesPerWeight: 232,
    }
    const loopback = { latency: 1e-6, bandwidth: 1e9 }
    const [row] = checkRows('made', 'lbfgs', { rates, work, loopback, timings: [one] })
    assert.ok(Math.abs(Number(row['error'])) < 1e-9)
    assert.deepEqual([row['start'], row['read'], row['sweeps'], row['sums']], [0.5, 2, 4, 0])
    // Passes of dual are those of the run.
    const [more] = checkRows('made', 'dual', { rates, work, loopback, timings: [{ ...one, passes: 20 }] })
    assert.equal(more['sweeps'], 8)
  })

  it('tell their errors with a core for each rank and with fewer', () => {
    const rows = [0, 0.1, -0.2, 0.4].map((error, k) => ({ ranks: k + 1, error }))
    assert.deepEqual(errorNotes(rows, 2), [
      'The largest error, a core for each rank: 10 %.',
      'The largest error, more ranks than cores: 40 %.',
    ])
    assert.deepEqual(errorNotes(rows.slice(0, 1), 2), [])
  })

  it('are judged by the time of a nonzero', () => {
    const small = rowOf({ name: 'small', bytes: 6e8 }, timing(2, 2, 4))
    assert.equal(small['nanoseconds'], 40)
    const large = { ...small, decoded: 5.1, nanoseconds: 44 }
    assert.match(
      windowVerdict([small, large])[0],
      /^5\.10 GiB of rows: a pass takes 1\.10 times as long .*; reached\.$/,
    )
    assert.match(windowVerdict([small, { ...large, decoded: 4.5 }])[0], /less than was wanted/)
    assert.deepEqual(windowVerdict([small]), [])
  })
})

describe('the suite cluster', () => {
  const bench = (words: string[], env: Record<string, string> = {}): { status: number | null; stderr: string } => {
    const all = { ...process.env, SPILLWAY_DATA: at('data'), SPILLWAY_BENCH_CACHE: at('cache'), ...env }
    return spawnSync(process.execPath, [main, 'cluster', ...words, '--out', at('results')], {
      encoding: 'utf8',
      env: all,
    })
  }

  it('trains over ranks, and judges their models', { skip: noPython || openMpi.skip }, () => {
    mkdirSync(at('data'))
    for (const [name, rows, seed] of [
      ['a9a', 300, 0],
      ['a9a.t', 60, 1],
    ] as const)
      writeFileSync(at(`data/${name}.zst`), zstdCompressSync(`${linesOf('a9a', rows, seed).join('\n')}\n`))
    const { status, stderr } = bench(['--only', 'averaging,a9a', '--size', 'small', '--rounds', '1'])
    assert.equal(status, 0, stderr)
    const file = at('results/cluster-small-averaging-a9a')
    const { sections, skipped, complete } = JSON.parse(readFileSync(`${file}.json`, 'utf8'))
    assert.deepEqual([complete, skipped], [true, []])
    const [accuracies, differences] = sections[0].tables
    assert.equal(accuracies.rows[0].method, 'all rows')
    assert.ok(accuracies.rows.some(({ method }: Record<string, string>) => method === 'mean of 2 models'))
    for (const { a9a } of accuracies.rows) assert.ok(a9a > 0.5 && a9a <= 1, String(a9a))
    const admm = differences.rows.filter(({ method }: Record<string, string>) => method.startsWith('ADMM, 2 ranks'))
    assert.ok(admm.at(-1).a9a < admm[0].a9a, 'more rounds come closer')
    assert.match(readFileSync(`${file}.svg`, 'utf8'), />ADMM, 2 ranks</)
  })

  it('says what is missing, and what it cannot do in a small run', () => {
    const nowhere = { PATH: at('nowhere'), SPILLWAY_PROGRAM: at('nowhere') }
    for (const words of [
      ['--size', 'small'],
      ['--size', 'small', '--simulate'],
    ]) {
      const { status, stderr } = bench(words, nowhere)
      assert.equal(status, 0, stderr)
    }
    const page = readFileSync(at('results/cluster-small.md'), 'utf8')
    assert.match(page, /- scaling: not measured: npm ci && npm run build/)
    assert.match(page, /- window: not measured: it takes 10 GB of text/)
    assert.match(readFileSync(at('results/cluster-small-simulate.md'), 'utf8'), /No plan|simulate: not measured/)
  })

  it('refuses a network that is none', () => {
    for (const word of ['fast', '1e-6', '1e-6,0', '1e-6,1e9,3']) {
      const answer = readSettings(['cluster', '--simulate', '--network', word])
      assert.ok(
        String(answer).startsWith(`--network is "${word}"; expected seconds and bytes a second`),
        String(answer),
      )
    }
    const asked = readSettings(['cluster', '--simulate', '--network', '2e-6,12.5e9'])
    assert.ok(typeof asked === 'object')
    assert.deepEqual(asked.settings.network, { latency: 2e-6, bandwidth: 12.5e9 })
    assert.equal(asked.file, 'cluster-simulate')
  })
})
