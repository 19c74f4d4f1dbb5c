// Killed with signal 9 at any moment, and run again: the same model to the bit, the same store, nothing half-made.
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { good, start } from '../cli/run.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { fastFolder } from '../folders.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { isSlow } from '../slow.ts'
import { memoryWithRoom } from './fixture.ts'

const folder = fastFolder()
/** In all, shared out among the commands; more with SPILLWAY_SLOW=1, and SPILLWAY_KILLS=100 for the real thing. */
const KILLS = Number(process.env['SPILLWAY_KILLS'] ?? (isSlow ? 12 : 5))
const random = randomNumbers(Number(process.env['SPILLWAY_SEED'] ?? 1))
const text = folder.write('rows.svm', `${noisyRows(40_000, 30, 3)}\n`)
const more = folder.write('more.svm', `${noisyRows(10_000, 30, 4)}\n`)

const shares = { ingest: 0.2, text: 0.3, store: 0.25, add: 0.25 }
const killsOf = (command: keyof typeof shares): number => Math.max(1, Math.round(KILLS * shares[command]))

/** Runs a command and kills it after so many milliseconds; whether it had ended before. */
async function killed(words: string[], cwd: string, after: number): Promise<boolean> {
  const { child, outcome } = start(words, { cwd })
  child.stdin.end()
  const timer = setTimeout(() => child.kill('SIGKILL'), after)
  const { status, signal, stderr } = await outcome
  clearTimeout(timer)
  if (signal === 'SIGKILL') return false
  assert.equal(status, 0, `spillway ${words.join(' ')}: ${stderr}`)
  return true
}

/** A folder for one experiment. Names in it are the same for all: they are written into models and stores. */
let count = 0
function place(from?: string): string {
  const cwd = join(folder.path, `place-${++count}`)
  mkdirSync(cwd)
  cpSync(text, join(cwd, 'rows.svm'), { preserveTimestamps: true })
  cpSync(more, join(cwd, 'more.svm'), { preserveTimestamps: true })
  if (from) cpSync(from, join(cwd, 'rows.spill'), { recursive: true })
  return cwd
}

/** How long it takes undisturbed, in milliseconds, and where it ran. */
async function undisturbed(words: string[], from?: string): Promise<{ cwd: string; duration: number }> {
  // Once before, so that compiled code is at hand and no run is longer than the one that is timed.
  const cwd = place(from)
  const began = performance.now()
  await good(words, { cwd })
  return { cwd, duration: performance.now() - began }
}

/** Moments spread over the run, one drawn from each stretch of it; starting Node is not worth many of them. */
function moments(kills: number, duration: number): number[] {
  const first = Math.min(250, duration / 3)
  return Array.from({ length: kills }, (_, k) => first + ((duration - first) * (k + random())) / kills)
}

/** An experiment at each of these moments, and at earlier ones until a run was killed, should the machine be faster now than
 *  when the run was timed. `experiment` says whether the run had ended before. */
async function atMoments(
  kills: number,
  duration: number,
  experiment: (moment: number) => Promise<boolean>,
): Promise<void> {
  let killed = false
  for (const moment of moments(kills, duration)) if (!(await experiment(moment))) killed = true
  for (let moment = duration / 2; !killed; moment /= 2) killed = !(await experiment(moment))
}

/** What a store holds, but for training states and the lock of a process that was killed, which the next one takes over. */
const storeFiles = (store: string): Map<string, Buffer> =>
  new Map(
    readdirSync(store)
      .filter(name => !name.startsWith('state-') && name !== 'writing.lock')
      .sort()
      .map(name => [name, readFileSync(join(store, name))]),
  )

const verify = (cwd: string): Promise<unknown> => good(['inspect', 'rows.spill', '--verify', '--json'], { cwd })

const trainWords = ['--cost', '0.02', '--tolerance', '1e-4', '--checkpoint-seconds', '0', '-q']
const forStore = ['--memory', memoryWithRoom(20, 'store'), ...trainWords]

/** Kills a training at each moment, resumes it until it ends, now and then killing it again, and compares models. */
async function killTraining(words: string[], kills: number, from?: string): Promise<void> {
  const whole = await undisturbed(words, from)
  const expected = readFileSync(join(whole.cwd, 'rows.model'))
  await atMoments(kills, whole.duration, async moment => {
    const cwd = place(from)
    const atOnce = await killed(words, cwd, moment)
    let ended = atOnce
    for (let again = 0; !ended; again++) {
      assert.ok(!existsSync(join(cwd, 'rows.model')) || readFileSync(join(cwd, 'rows.model')).equals(expected))
      const after = again < 3 && random() < 0.3 ? 250 + random() * whole.duration : 1e6
      ended = await killed([...words, '--resume'], cwd, after)
    }
    assert.ok(readFileSync(join(cwd, 'rows.model')).equals(expected), `killed after ${moment} ms: another model`)
    await verify(cwd)
    const left = readdirSync(join(cwd, 'rows.spill'), { recursive: true }).map(String)
    assert.deepEqual(
      left.filter(name => /writing\.lock|\.tmp$/.test(name)),
      [],
    )
    rmSync(cwd, { recursive: true })
    return atOnce
  })
}

describe('killed at any moment', () => {
  let store = ''

  it(`ingest: ${killsOf('ingest')} kills`, async () => {
    const words = ['ingest', 'rows.svm', 'rows.spill', '--blocks', '20', '-q']
    await undisturbed(words)
    const whole = await undisturbed(words)
    store = join(whole.cwd, 'rows.spill')
    const expected = storeFiles(store)
    await atMoments(killsOf('ingest'), whole.duration, async moment => {
      const cwd = place()
      const ended = await killed(words, cwd, moment)
      if (!ended) {
        if (existsSync(join(cwd, 'rows.spill', 'manifest.json'))) await verify(cwd)
        await good([...words, '--overwrite'], { cwd })
      }
      assert.deepEqual(storeFiles(join(cwd, 'rows.spill')), expected)
      await verify(cwd)
      rmSync(cwd, { recursive: true })
      return ended
    })
  })

  for (const solver of ['auto', 'stream'])
    it(`train from text, ${solver}: ${killsOf('text')} kills`, async () => {
      const words = ['train', 'rows.svm', 'rows.model', '--blocks', '20', '--store', 'rows.spill', '--solver', solver]
      // With memory for it, stream trains while the text is read.
      const memory = solver === 'stream' ? '253M' : memoryWithRoom(14, 'text')
      await killTraining([...words, '--memory', memory, ...trainWords], killsOf('text'))
    })

  for (const solver of ['block', 'stream'])
    it(`train from a store, ${solver}: ${killsOf('store')} kills`, async () => {
      const words = ['train', 'rows.spill', 'rows.model', '--solver', solver, '--loss', 'logistic', ...forStore]
      await killTraining(words, killsOf('store'), store)
    })

  it(`train from a store, a series of convex problems: ${killsOf('store')} kills`, async () => {
    const words = ['train', 'rows.spill', 'rows.model', '--solver', 'stream', '--loss', 'ramp', ...forStore]
    await killTraining(words, killsOf('store'), store)
  })

  it(`add: ${killsOf('add')} kills, and each time the old store or the new one`, async () => {
    const training = ['train', 'rows.spill', 'rows.model', '--solver', 'block', ...forStore]
    // A store with a training state, which is carried over.
    const trained = await undisturbed(training, store)
    const base = join(trained.cwd, 'rows.spill')
    const before = storeFiles(base)
    const words = ['add', 'more.svm', 'rows.spill', '-q']
    const whole = await undisturbed(words, base)
    const after = storeFiles(join(whole.cwd, 'rows.spill'))
    await good(training, { cwd: whole.cwd })
    const expected = readFileSync(join(whole.cwd, 'rows.model'))
    await atMoments(killsOf('add'), whole.duration, async moment => {
      const cwd = place(base)
      const path = join(cwd, 'rows.spill')
      const ended = await killed(words, cwd, moment)
      await verify(cwd)
      const manifest = readFileSync(join(path, 'manifest.json'))
      const isNew = manifest.equals(after.get('manifest.json')!)
      assert.ok(isNew || manifest.equals(before.get('manifest.json')!), 'neither the old store nor the new one')
      for (const [name, bytes] of isNew ? after : before) {
        assert.ok(readFileSync(join(path, name)).equals(bytes), `${name} is not what it was`)
      }
      // Killed just after the change, a store may still have files that only the old one knew; they harm nobody.
      if (!isNew) {
        await good(words, { cwd })
        assert.deepEqual(storeFiles(path), after)
      }
      await good(training, { cwd })
      assert.ok(readFileSync(join(cwd, 'rows.model')).equals(expected), `killed after ${moment} ms: another model`)
      rmSync(cwd, { recursive: true })
      return ended
    })
  })
})
