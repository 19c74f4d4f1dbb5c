// Blocks that fit: planned before text is read, split when they turn out too large, refused before anything is read when
// nothing can be done; and advice that works when it is followed, without reading the text again.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { SpillwayError } from '../../src/errors.ts'
import { stream } from '../../src/optimise/solvers/stream.ts'
import { estimateText } from '../../src/rows/sample-text.ts'
import { usedFeatures } from '../../src/rows/used-features.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { resolveOptions } from '../../src/train/options.ts'
import { planByText } from '../../src/train/plan-for-text.ts'
import type { Progress } from '../../src/train/progress.ts'
import { planIngest } from '../../src/train/store-for-training.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { run } from '../cli/run.ts'
import { randomNumbers } from '../cli/some-data.ts'
import { abortAfter, assertSound, fastFolder, memoryWithRoom } from './fixture.ts'

const folder = fastFolder()
const MIB = 2 ** 20
/** Room for a few blocks of a MiB or two. All rows would fit as well, and so tests that mean blocks name a solver. */
const small = memoryWithRoom(22, 'text')
/** Memory for training while text is read. */
const medium = '257M'
const smallForStore = memoryWithRoom(20, 'store')

/** About so many bytes of rows. `entries` makes the features of a row: short rows take 10 times their text in memory. */
function someText(bytes: number, entries: (row: number) => number[], classes = 2, seed = 1): string {
  const random = randomNumbers(seed)
  const lines: string[] = []
  for (let length = 0, row = 0; length < bytes; row++) {
    const features = entries(row)
    const label = classes > 2 ? row % classes : random() < 0.9 === features[0] % 2 > 0 ? '+1' : '-1'
    const line = `${label} ${features.map(feature => `${feature}:1`).join(' ')}\n`
    lines.push(line)
    length += line.length
  }
  return lines.join('')
}
const short = (row: number): number[] => [1 + (row % 7)]
const long = (row: number): number[] => Array.from({ length: 60 }, (_, k) => 1 + k * 100 + ((row * 7 + k * k) % 97))
const unlike = (row: number): number[] => Array.from({ length: 30 }, (_, k) => 10_000 + row * 30 + k)
/** Text whose beginning is unlike the rest. Of compressed text samples see no more than that. */
const hidden = (outside: (row: number) => number[], inside: string): Buffer =>
  gzipSync(`${someText(0.6 * MIB, outside)}${inside}`, { level: 1 })

interface Told {
  result: TrainResult
  reasons: string[]
  /** Whether text was read. */
  read: boolean
}

let count = 0
/** A text, and how it is trained on. */
function data(text: string | Buffer): { path: string; store: string; go(options: TrainOptions): Promise<Told> } {
  const name = `fitting-${++count}.svm`
  const path = folder.write(typeof text === 'string' ? name : `${name}.gz`, text)
  const store = join(folder.path, `${name}.spill`)
  return {
    path,
    store,
    async go(options) {
      const work = train(path, { store, tolerance: 0.05, threads: 1, ...options })
      const records: Progress[] = []
      for await (const record of work) records.push(record)
      return {
        result: await work.result,
        reasons: records.flatMap(record => (record.stage === 'plan' ? [record.reason] : [])),
        read: records.some(record => record.stage === 'read'),
      }
    },
  }
}

async function refusal(work: Promise<unknown>): Promise<{ message: string; advice: string; megabytes: number }> {
  const error = await work.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof SpillwayError, String(error))
  const { message, advice = '' } = error
  assert.match(message, /of memory cannot work:\n/)
  return { message, advice, megabytes: Number(/--memory (\d+)M/.exec(advice)?.[1]) }
}

const judged = new RegExp(`^judged by samples of the text, ${small.replace('M', ' MiB')} of memory cannot work:`)

const splitting = (told: Told): boolean => told.reasons.some(reason => reason.startsWith('splitting'))

describe('blocks that fit', () => {
  it('are planned before the text is read: short rows go into more blocks', async () => {
    const { go, store } = data(someText(1.2 * MIB, short))
    const told = await go({ memory: small, solver: 'stream' })
    assert.ok(!splitting(told))
    assert.ok(told.result.blocks!.count > 1, `${told.result.blocks!.count} blocks`)
    assert.equal(told.result.exitReason, 'converged')
    // The same number for the same text.
    const again = await go({ memory: small, solver: 'stream' })
    assert.ok(!again.read && !splitting(again))
    assert.equal(again.result.blocks!.count, told.result.blocks!.count)
    await assertSound(store)
  })

  it('of several classes leave room for a cache, whatever the memory is', async () => {
    const { path } = data(someText(2 * MIB, long, 6))
    const counts = new Set<number>()
    for (let room = 14; room < 24; room++) {
      const options = resolveOptions({ memory: memoryWithRoom(room, 'text'), threads: 1 })
      const how = await planIngest([path], stream, options).catch(() => undefined)
      if (!how) continue
      counts.add(how.blocks)
      const plan = await planByText([path], stream, options, how)
      assert.equal(plan?.solver.name, 'selective', `room for ${room} MiB, ${how.blocks} blocks`)
    }
    assert.ok(counts.size >= 2, `${[...counts]} blocks`)
  })

  it('stay as they are where they fit', async () => {
    const told = await data(someText(MIB, long)).go({ memory: memoryWithRoom(33, 'text'), solver: 'stream' })
    assert.ok(!splitting(told))
    assert.equal(told.result.blocks!.count, 1)
  })

  for (const [memory, bytes, what] of [
    [memoryWithRoom(20, 'text'), 0.8 * MIB, 'the text is read'],
    [medium, 3.2 * MIB, 'the text is read and trained on'],
  ] as const) {
    it(`are split when the samples were wrong: ${what} once, and training goes on to the optimum`, async () => {
      const { go, path, store } = data(hidden(long, someText(bytes, short)))
      const told = await go({ memory, solver: 'stream', tolerance: 1e-2, cost: 0.01 })
      assert.ok(splitting(told), told.reasons.join('; '))
      assert.equal(
        told.reasons.some(reason => reason.endsWith('and training on it meanwhile')),
        memory === medium,
      )
      assert.equal(told.result.exitReason, 'converged')
      const best = await train(path, { solver: 'dual', tolerance: 1e-4, cost: 0.01 }).result
      assert.ok(told.result.primal! <= best.primal! * 1.01 && told.result.primal! >= best.primal! * 0.9999)
      assert.equal(told.result.rows, best.rows)
      await assertSound(store)
      const again = await go({ memory, solver: 'stream', cost: 0.01 })
      assert.ok(!again.read && !splitting(again))
    })
  }

  it('of a store: split for less memory; but a run resumes on the blocks that it had', async () => {
    const { path, store } = data(someText(0.8 * MIB, short))
    await ingest(path, store, { blocks: 1, memory: 101 * MIB, isPlanned: true })
    const large = { memory: memoryWithRoom(57, 'store'), solver: 'block', tolerance: 1e-9, maxPasses: 5 } as const
    await abortAfter(store, large, 2)
    const { blocks } = (await openStore(store)).manifest
    const stopped = await refusal(train(store, { ...large, memory: smallForStore, resume: true }).result)
    assert.deepEqual((await openStore(store)).manifest.blocks, blocks, 'nothing was split')
    // The advice is for the blocks as they are.
    const [least, most] = [smallForStore, large.memory].map(memory => Number.parseInt(memory, 10))
    assert.ok(stopped.megabytes > least && stopped.megabytes <= most, stopped.advice)
    await train(store, { ...large, resume: true }).result
    const told = await train(store, { ...large, memory: smallForStore }).result
    assert.ok(told.blocks!.count > 1)
  })

  it('of a store that cannot be changed: the refusal says why, and what its blocks would do in', async () => {
    const { path, store } = data(someText(0.8 * MIB, short))
    await ingest(path, store, { blocks: 1, memory: 101 * MIB, isPlanned: true })
    writeFileSync(join(store, 'writing.lock'), `${process.pid}\n`)
    const { message, megabytes } = await refusal(train(store, { memory: smallForStore, solver: 'stream' }).result)
    assert.match(message, /\nsmaller blocks would do, but .* is being written by process \d+$/)
    const options = { memory: `${megabytes}M`, solver: 'stream', tolerance: 0.05 }
    assert.equal((await train(store, options).result).blocks!.count, 1)
  })

  it('that the user has counted are not split: leaving that out works, without the text', async () => {
    const { go } = data(hidden(long, someText(3.2 * MIB, short)))
    const { advice, megabytes } = await refusal(go({ memory: medium, solver: 'stream', blocks: 1 }))
    assert.match(advice, /, or smaller blocks: leave out --blocks; the text is in .* now and is not read again$/)
    const told = await go({ memory: medium, solver: 'stream' })
    assert.ok(!told.read && splitting(told))
    assert.ok(megabytes > Number.parseInt(medium, 10))
  })

  it('that the user has counted are refused before reading where samples leave no doubt', async () => {
    const { go, store } = data(someText(1.5 * MIB, short))
    const { message, advice } = await refusal(go({ memory: small, solver: 'block', blocks: 1 }))
    assert.match(message, judged)
    assert.match(advice, /leave out --blocks$/)
    assert.ok(!existsSync(store))
    const told = await go({ memory: small, solver: 'block' })
    assert.ok(told.result.blocks!.count > 1)
  })
})

describe('too many features for the memory', () => {
  it('are refused before the text is read, with advice that works', async () => {
    const { go, store } = data(someText(2 * MIB, unlike, 20))
    const options = { solver: 'block', tolerance: 0.5, maxPasses: 1 } as const
    const { message, megabytes } = await refusal(go({ ...options, memory: small }))
    assert.match(message, judged)
    assert.ok(!existsSync(store), 'no store was begun')
    const told = await go({ ...options, memory: `${megabytes}M` })
    assert.ok(told.read)
  })

  it('that samples did not show are refused after it, and the advice works without it', async () => {
    const { go, store } = data(hidden(long, someText(4 * MIB, unlike)))
    const few = { solver: 'stream', maxPasses: 2, tolerance: 0.5 }
    const first = await refusal(go({ ...few, memory: memoryWithRoom(18, 'text') }))
    assert.doesNotMatch(first.message, /samples/)
    assert.match(first.advice, /; the text is in .* now and is not read again$/)
    const manifest = readFileSync(join(store, 'manifest.json'))
    const again = await refusal(go({ ...few, memory: memoryWithRoom(18, 'text') }))
    assert.equal(again.megabytes, first.megabytes)
    assert.ok(readFileSync(join(store, 'manifest.json')).equals(manifest), 'a refusal changes nothing')
    const told = await go({ ...few, memory: `${first.megabytes}M` })
    assert.ok(!told.read)
  })

  it('train and inspect of a store give one advice, its text another, and each is enough', async () => {
    // The features take more than there is, and the rows more than the features.
    const rows = someText(11 * MIB, row => Array.from({ length: 5 }, (_, k) => 1 + 2 * k + (row % 2)))
    const { path } = data(hidden(long, `${someText(8 * MIB, unlike)}${rows}`))
    const cwd = folder.path
    const said = async (words: string[]): Promise<string> => {
      const { status, stderr } = await run(words, { cwd })
      assert.equal(status, 1, stderr)
      return /what would help: (--memory \d+M)/.exec(stderr)![1]
    }
    const text = basename(path)
    const store = `${text.replace('.gz', '')}.spill`
    const little = ['--memory', memoryWithRoom(18, 'text')]
    const advice = await said(['train', text, 'm', ...little, '-q'])
    const ofStore = await said(['inspect', store, ...little])
    assert.equal(await said(['train', store, 'm', ...little, '-q']), ofStore)
    // A store leaves nothing behind that reading text does.
    const megabytes = (advice: string): number => Number.parseInt(advice.split(' ')[1], 10)
    assert.ok(megabytes(advice) - megabytes(ofStore) >= 12, `${advice} for the text, ${ofStore} for the store`)
    const memory = advice.split(' ')
    for (const some of [memory, ofStore.split(' ')]) {
      const shown = await run(['inspect', store, ...some], { cwd })
      assert.equal(shown.status, 0, shown.stderr)
      assert.match(shown.stdout, /solver stream/)
    }
    // Nothing could read the text again.
    truncateSync(path, 0)
    utimesSync(path, 0, 0)
    const few = ['--solver', 'stream', '--max-passes', '1', '--tolerance', '0.5', '-q', '--json']
    const trained = await run(['train', text, 'm', ...memory, ...few], { cwd })
    assert.equal(trained.status, 0, trained.stderr)
    assert.ok(JSON.parse(trained.stdout).rows > 0)
    const fromStore = await run(['train', store, 'm', ...ofStore.split(' '), ...few], { cwd })
    assert.equal(fromStore.status, 0, fromStore.stderr)
  })

  it('inspect says that blocks will be split, and into how many', async () => {
    const { path, store } = data(someText(0.8 * MIB, short))
    await ingest(path, store, { blocks: 1 })
    const { stdout } = await run(['inspect', store, '--memory', smallForStore], { cwd: folder.path })
    const blocks = Number(/training splits them into (\d+) first/.exec(stdout)![1])
    const told = await train(store, { memory: smallForStore, tolerance: 0.05 }).result
    assert.equal(told.blocks!.count, blocks)
  })
})

describe('an estimate of a text', () => {
  const estimate = async (text: string) => {
    const path = folder.write(`estimate-${++count}.svm`, text)
    return (await estimateText([path], text.length, resolveOptions({})))!
  }

  it('counts rows, nonzeros, features and classes of even text', async () => {
    const text = someText(4 * MIB, long, 5)
    const found = await estimate(text)
    const rows = text.split('\n').length - 1
    assert.ok(Math.abs(found.rows - rows) < 0.01 * rows)
    assert.ok(Math.abs(found.nonzeros - rows * 60) < 0.01 * rows * 60)
    assert.equal(found.features, 5997)
    assert.equal(found.classes, 5)
    assert.ok(found.usedLeast >= 5000 && found.usedMost < 9000)
  })

  it('looks all over several files, and at the beginning where they are short', async () => {
    const paths = [short, unlike].map((entries, k) => folder.write(`of-two-${k}.svm`, someText(2 * MIB, entries)))
    const text = paths.reduce((sum, path) => sum + readFileSync(path).length, 0)
    const both = (await estimateText(paths, text, resolveOptions({})))!
    assert.ok(both.features > 100_000)
    assert.equal((await estimate('+1 3:1\n-1 9:1\n')).rows, 2)
    assert.equal(await estimate('+1 3:1'), undefined)
  })

  it('of features: those that run out, those that never do, and those between', () => {
    const random = randomNumbers(5)
    const draw = (rows: number, feature: () => number): Uint32Array =>
      Uint32Array.from({ length: rows * 10 }, () => feature())
    for (const [what, feature] of [
      ['few', () => Math.floor(random() * 1000)],
      ['skewed', () => Math.floor(1 / (1 - random()) ** 2)],
      ['endless', () => Math.floor(random() * 2 ** 32)],
    ] as const) {
      const all = draw(50_000, feature)
      const { least, most } = usedFeatures({ rows: 1000, features: all.subarray(0, 10_000) }, 50_000)
      const used = new Set(all).size
      assert.ok(least <= used && used <= most, `${what}: ${used} features, taken for ${least} to ${most}`)
    }
  })
})
