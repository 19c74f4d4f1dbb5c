// Two runs of one problem on one store: the second is refused while the first goes on, runs of other problems are not, and a
// killed run's lock is taken over.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { Arena } from '../../src/numeric/arena.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { run, start } from '../cli/run.ts'
import { copyStore, fastFolder, noisyStore, threeClasses } from '../out-of-core/fixture.ts'

const folder = fastFolder()
/** Goes on until it is stopped. */
const endless: TrainOptions = { solver: 'block', tolerance: 1e-15, maxPasses: 1e9, checkpointSeconds: 0 }
const short: TrainOptions = { solver: 'block', maxPasses: 3 }
const locksIn = (store: string): string[] => readdirSync(store).filter(name => name.endsWith('.lock'))

let made: string
let copies = 0
before(async () => {
  made = await noisyStore(folder, 'rows', { rows: 300, blocks: 4 })
})
const fresh = (): string => copyStore(made, join(folder.path, `copy-${++copies}.spill`))

/** A run under way that has written something; `stop` ends it. */
async function underWay(store: string, options: TrainOptions) {
  const stop = new AbortController()
  const running = train(store, { ...endless, ...options, signal: stop.signal })
  for await (const record of running) if (record.stage === 'train' && (record.pass ?? 0) >= 2) break
  return {
    async stop() {
      stop.abort()
      return running.result
    },
  }
}

describe('a problem that is being trained', () => {
  it('is refused to a second run, which leaves the first alone; other problems are not', async () => {
    const store = fresh()
    const first = await underWay(store, {})
    const [lock, ...others] = locksIn(store)
    assert.deepEqual(others, [])
    assert.match(lock, /^state-[0-9a-f]{12}\.lock$/)
    for (const more of [{}, { resume: true }, { cold: true }, { solver: 'stream' }]) {
      await assert.rejects(train(store, { ...short, ...more }).result, (error: Error & { advice?: string }) => {
        assert.equal(error.message, `this problem is being trained on ${store} by process ${process.pid}`)
        assert.match(error.advice!, /^wait for it to end, or remove .*state-[0-9a-f]{12}\.lock if that process is no/)
        return true
      })
    }
    const { passes } = await train(store, { ...short, cost: 3 }).result
    assert.equal(passes, 3)
    assert.deepEqual(locksIn(store), [lock])
    const { exitReason } = await first.stop()
    assert.equal(exitReason, 'interrupted')
    assert.deepEqual(locksIn(store), [])
    // What the first has saved is whole: it goes on from there.
    const resumed = await train(store, { ...short, resume: true }).result
    assert.ok(resumed.passes >= 3)
  })

  it('has a lock for every class that is trained on its own', async () => {
    const text = folder.write('three.svm', `${threeClasses(300, 5)}\n`)
    const store = join(folder.path, 'three.spill')
    await ingest(text, store, { blocks: 4, threads: 1 })
    const first = await underWay(store, { weights: 'f32' })
    assert.equal(locksIn(store).length, 3)
    await assert.rejects(train(store, { ...short, weights: 'f32' }).result, /is being trained on/)
    // Together they are another problem, with a state of its own.
    await train(store, short).result
    assert.equal(locksIn(store).length, 3)
    await first.stop()
    assert.deepEqual(locksIn(store), [])
  })

  it('keeps its store from being replaced', async () => {
    const store = fresh()
    const first = await underWay(store, {})
    await assert.rejects(
      ingest(join(folder.path, 'rows.svm'), store, { overwrite: true }),
      new RegExp(`is being trained on by process ${process.pid}$`),
    )
    await first.stop()
    await (await openStore(store)).verify(new Arena())
    await ingest(join(folder.path, 'rows.svm'), store, { overwrite: true, threads: 1 })
  })

  it('is free again when a run has failed', async () => {
    const store = fresh()
    truncateSync(join(store, 'block-000002.bin'), 100)
    await assert.rejects(train(store, short).result, /block-000002\.bin/)
    assert.deepEqual(locksIn(store), [])
  })
})

describe('a lock of another process', () => {
  let other: ChildProcess | undefined
  after(() => other?.kill('SIGKILL'))
  /** The name of the lock of `short`. */
  const lockOf = async (store: string): Promise<string> => {
    await train(store, short).result
    return join(store, `${readdirSync(store).find(name => name.startsWith('state-'))}.lock`)
  }

  it('that lives is named on the command line, and nothing is touched', async () => {
    const store = fresh()
    const lock = await lockOf(store)
    other = spawn('sleep', ['600'])
    writeFileSync(lock, `${other.pid}\n`)
    const { status, stderr } = await run(
      ['train', store, join(folder.path, 'none.model'), '--solver', 'block', '--max-passes', '3', '-q'],
      { cwd: folder.path },
    )
    assert.equal(status, 1)
    assert.match(
      stderr,
      new RegExp(`this problem is being trained on .* by process ${other.pid}\n  wait for it to end`),
    )
    assert.ok(!existsSync(join(folder.path, 'none.model')))
    assert.equal(readFileSync(lock, 'utf8'), `${other.pid}\n`)
  })

  it('that has ended is taken over, also when its number is in use again', async t => {
    const store = fresh()
    const lock = await lockOf(store)
    const dead = [`${spawnSync('true').pid}\n`, '', 'nonsense\n']
    // As in a container, where the next process has the number of the one that was killed.
    if (existsSync('/proc/self/stat')) dead.push(`${process.pid}\n1\n`)
    else t.diagnostic('no /proc here: numbers alone are compared')
    for (const text of dead) {
      writeFileSync(lock, text)
      await train(store, short).result
      assert.deepEqual(locksIn(store), [], JSON.stringify(text))
    }
  })

  it('that was killed with signal 9 is taken over, and the run resumed', async () => {
    const store = fresh()
    const model = join(folder.path, 'killed.model')
    const words = ['train', store, model, '--solver', 'block', '--tolerance', '1e-15', '--checkpoint-seconds', '0']
    const { child, outcome } = start([...words, '--max-passes', '1000000000', '-q'], { cwd: folder.path })
    child.stdin.end()
    const checkpointed = (): boolean => readdirSync(store).some(name => existsSync(join(store, name, 'checkpoint.bin')))
    while (!checkpointed() && child.exitCode === null) await pause(20)
    child.kill('SIGKILL')
    assert.equal((await outcome).signal, 'SIGKILL')
    assert.equal(locksIn(store).length, 1)
    const { passes } = await train(store, { ...short, tolerance: 1e-15, maxPasses: 5, resume: true }).result
    assert.ok(passes >= 1)
    assert.deepEqual(locksIn(store), [])
  })
})
