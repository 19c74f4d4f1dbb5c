// The harness itself: what it does with turns, children, files and missing peers. Times are for bench/, not for tests.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { zstdCompressSync } from 'node:zlib'
import { CommandFailed, type Measured, measure } from '../../bench/measure.ts'
import { against, byLargest, decompress, rewrite, unitLength } from '../../bench/prepare.ts'
import { referenceOf } from '../../bench/reference.ts'
import { earlierResults, geometricMean, type Results, reachedOf, showCell, writeResults } from '../../bench/results.ts'
import { interleave, timingOf } from '../../bench/rounds.ts'
import { allSuites } from '../../bench/suites/all-suites.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const noPython = spawnSync('python3', ['--version']).error ? 'python3 is not installed' : false

describe('the bench harness', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'spillway-harness-'))
  })
  after(() => rmSync(folder, { recursive: true }))
  const at = (name: string): string => join(folder, name)
  const run = (seconds: number, peakMemoryBytes = 1): Measured => {
    return { seconds, cpuSeconds: seconds / 2, peakMemoryBytes, diskBytes: 0, stdout: '', stderr: '' }
  }

  it('lets peers take turns, another one first each round', async () => {
    const order: string[] = []
    const contestant = (name: string) => ({
      name,
      run: async (round: number) => {
        order.push(`${name}${round}`)
        return run(round)
      },
    })
    const results = await interleave(['a', 'b', 'c'].map(contestant), 3, () => {})
    assert.equal(order.join(' '), 'a0 b0 c0 b1 c1 a1 c2 a2 b2')
    assert.deepEqual(
      results.get('b')!.map(({ seconds }) => seconds),
      [0, 1, 2],
    )
  })

  it('reports the smallest time, the spread and the largest memory', () => {
    const timing = timingOf([run(3, 10), run(2, 30), run(4, 20)])
    assert.deepEqual([timing.seconds, timing.spread, timing.peakMemoryBytes, timing.cpuSeconds], [2, 2, 30, 1])
    assert.equal(timing.all.length, 3)
  })

  it('measures a child: its memory, what it prints, and its failure', { skip: noPython }, async () => {
    const script = 'Buffer.alloc(3e8, 1); console.log("done"); console.error("noted")'
    const measured = await measure([process.execPath, '-e', script])
    assert.ok(measured.peakMemoryBytes > 3e8 && measured.peakMemoryBytes < 9e8, String(measured.peakMemoryBytes))
    assert.deepEqual([measured.stdout, measured.stderr], ['done\n', 'noted\n'])
    assert.ok(measured.seconds > 0 && measured.cpuSeconds > 0)
    const fails = measure([process.execPath, '-e', 'console.error("no luck"); process.exit(3)'])
    await assert.rejects(
      fails,
      (error: Error) => error instanceof CommandFailed && /exit code 3.*no luck/s.test(error.message),
    )
    await assert.rejects(measure(['no-such-program']), /could not run no-such-program/)
    const endless = measure([process.execPath, '-e', 'setInterval(() => {}, 1000)'], { timeout: 1 })
    await assert.rejects(endless, /stopped after 1 s/)
  })

  it('asks a command to end that takes too long, and takes what it has', { skip: noPython }, async () => {
    const script =
      'process.on("SIGINT", () => { console.log("so far"); process.exit(130) }); setInterval(() => {}, 1000)'
    const { stdout } = await measure([process.execPath, '-e', script], { interruptAfter: 1 })
    assert.equal(stdout, 'so far\n')
    const fails = measure([process.execPath, '-e', 'process.exit(3)'], { interruptAfter: 5 })
    await assert.rejects(fails, /exit code 3/)
  })

  it('knows an optimum as well as the run that looked for it', () => {
    const judged = { primal: 3, regularizer: 1, lossSum: 2, accuracy: 0.9, rows: 10, nonzeros: 20, features: 5 }
    const facts = { primal: 3, accuracy: 0.9, rows: 10, nonzeros: 20, features: 5 }
    assert.deepEqual(referenceOf({ exitReason: 'converged', gap: 1e-8 }, judged, 300), { ...facts, gap: 1e-8 })
    const ended = { ...facts, gap: 2e-4, endedAfter: 300 }
    assert.deepEqual(referenceOf({ exitReason: 'interrupted', gap: 2e-4 }, judged, 300), ended)
    // Without a certificate no difference is told from another.
    assert.equal(referenceOf({ exitReason: 'interrupted', gap: null }, judged, 300).gap, 1)
  })

  it('prepares files: decompressed, relabelled, unit length, scaled', async () => {
    writeFileSync(at('raw.zst'), zstdCompressSync('11 1:3 4:4\n2 1:-6\n7\n'))
    await decompress(at('raw.zst'), at('raw'))
    await rewrite(at('raw'), at('unit'), unitLength)
    assert.equal(readFileSync(at('unit'), 'utf8'), '+11 1:0.6 4:0.8\n+2 1:-1\n+7\n')
    await rewrite(at('raw'), at('one'), against(11))
    assert.equal(readFileSync(at('one'), 'utf8'), '+1 1:3 4:4\n-1 1:-6\n-1\n')
    await rewrite(at('raw'), at('scaled'), await byLargest(at('raw')))
    assert.equal(readFileSync(at('scaled'), 'utf8'), '+11 1:0.5 4:1\n+2 1:-1\n+7\n')
    assert.deepEqual(
      readdirSync(folder).filter(name => name.endsWith('.part')),
      [],
    )
  })

  it('shows cells for people', () => {
    assert.equal(showCell(undefined, { title: '' }), '–')
    assert.equal(showCell(true, { title: '' }), 'yes')
    assert.equal(showCell(12.345, { title: '', show: 'times' }), '12.3×')
    assert.equal(showCell(0.000123, { title: '', show: 'difference' }), '1.2e-4')
    assert.equal(showCell(645e6, { title: '', show: 'megabytes' }), '645')
    assert.equal(reachedOf([{ ok: true }, { ok: false }, { ok: undefined }], 'ok'), '1 of 2')
    assert.ok(Math.abs(geometricMean([2, 8]) - 4) < 1e-12)
  })

  it('goes on with results of the same build, machine and settings alone', async () => {
    const machine = {
      ...{ date: '', cores: 2, processor: 'a', memoryBytes: 1, system: '', node: '' },
      loadAverage: [0],
    }
    const now: Results = {
      ...{ suite: 'hard', command: '', complete: false, size: 'small', rounds: 1, pageCache: 'warm' },
      ...{ machine: { ...machine, commit: 'abc' }, sections: [], skipped: [] },
    }
    assert.equal(await earlierResults(folder, 'hard', now), 'there is no hard.json')
    await writeResults(folder, 'hard', now)
    assert.deepEqual(await earlierResults(folder, 'hard', now), JSON.parse(readFileSync(at('hard.json'), 'utf8')))
    const why = /hard\.json is of another build, another machine or other settings/
    for (const other of [
      { ...now, rounds: 3 },
      { ...now, machine: { ...machine, commit: 'abd' } },
    ])
      assert.match(String(await earlierResults(folder, 'hard', other)), why)
  })

  it('lists every suite that has a file', () => {
    const files = readdirSync(fileURLToPath(new URL('../../bench/suites/', import.meta.url)))
    const names = files.filter(name => name !== 'all-suites.ts').map(name => name.replace(/\.ts$/, ''))
    assert.deepEqual(allSuites.map(suite => suite.name).sort(), names.sort())
    const { stdout, status } = spawnSync(process.execPath, [main], { encoding: 'utf8' })
    assert.equal(status, 0)
    for (const { name, summary } of allSuites) assert.match(stdout, new RegExp(`${name} .*${summary.slice(0, 20)}`))
  })

  it('refuses what it does not know', () => {
    const refused = (...words: string[]): string => {
      const { status, stderr } = spawnSync(process.execPath, [main, ...words], { encoding: 'utf8' })
      assert.equal(status, 2)
      return stderr
    }
    assert.match(refused('in-mem'), /no suite "in-mem"; there are in-memory/)
    assert.match(refused('in-memory', '--only', 'a10a'), /--only names "a10a"; in-memory has train, .*a9a/)
    assert.match(refused('in-memory', '--rounds', '0'), /--rounds is "0"; expected a whole number from 1/)
    assert.match(refused('in-memory', '--size', 'big'), /--size is "big"; expected small or full/)
  })

  it('says what is missing and goes on', () => {
    const words = ['in-memory', '--rounds', '1', '--only', 'a9a,webspam', '--out', at('results')]
    const nowhere = at('nowhere')
    const env = {
      ...process.env,
      PATH: nowhere,
      SPILLWAY_DATA: nowhere,
      SPILLWAY_PROGRAM: nowhere,
      SPILLWAY_BENCH_CACHE: at('cache'),
    }
    const { status, stderr } = spawnSync(process.execPath, [main, ...words], { encoding: 'utf8', env })
    assert.equal(status, 0, stderr)
    assert.match(stderr, /LIBLINEAR is not there.*apt-get install liblinear-tools/)
    assert.match(stderr, /Spillway is not there.*npm run build/)
    const page = readFileSync(join(at('results'), 'in-memory-a9a-webspam.md'), 'utf8')
    assert.match(page, /Fewer than 3 rounds/)
    assert.match(page, /data set a9a: there is no a9a\.zst .* SPILLWAY_DATA/)
    assert.match(page, /data set webspam: spillway generate/)
    const results = JSON.parse(readFileSync(join(at('results'), 'in-memory-a9a-webspam.json'), 'utf8'))
    assert.equal(results.complete, true)
    assert.equal(results.sections.length, 3)
  })
})
