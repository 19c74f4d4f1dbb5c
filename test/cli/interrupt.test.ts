// Ctrl-C: training leaves a usable model, other commands leave nothing half-written, and all of them exit with 130.
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { loadModel } from '../../src/model/files.ts'
import { assertPlainWords, filesIn, good, inFolder, type Outcome, shows, start } from './run.ts'
import { asText, someRows } from './some-data.ts'

/** A passing state that files show. */
async function until(holds: () => boolean): Promise<void> {
  for (let k = 0; !holds(); k++) {
    assert.ok(k * 20 < PATIENCE, 'it did not come to pass')
    await wait(20)
  }
}

/** Sends text that a pipe cannot hold, and waits until the program has read most of it: by then it hears signals. */
const sent = (child: ChildProcess, text: string): Promise<unknown> =>
  new Promise(resolve => child.stdin!.write(text, resolve))

/** The outcome, or undefined for a process that goes on; it is ended then. */
async function within(
  milliseconds: number,
  { child, outcome }: ReturnType<typeof start>,
): Promise<Outcome | undefined> {
  const timer = wait(milliseconds, undefined, { ref: false })
  const result = await Promise.race([outcome, timer])
  if (!result) child.kill('SIGKILL')
  await outcome
  return result as Outcome | undefined
}

/** A machine may be busy; only a test that fails waits so long. */
const PATIENCE = 120_000
const small = '+1 1:1\n-1 2:1\n'
/** More than three chunks of text. */
const large = asText(someRows(40, 20)).repeat(2000)

describe('Ctrl-C', { concurrency: 3 }, () => {
  it('ends training with a model; progress before it is plain lines', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(3000, 400)))
      const endless = ['--tolerance', '1e-300', '--max-passes', '1000000000']
      const run = start(['train', 'a.svm', 'a.model', '--solver', 'dual', '--json', ...endless], { cwd })
      await shows(run.child, /^(class|pass) /m)
      run.child.kill('SIGINT')
      const result = await within(PATIENCE, run)
      assert.ok(result, 'it went on')
      assert.equal(result.status, 130, result.stderr)
      assertPlainWords(result.stderr)
      const [progress, ...rest] = result.stderr.replace(/^solver .*\n/, '').split('\ninterrupted: ')
      assert.match(
        progress,
        /^(reading .*\n)*(pass \d+,( primal ~?[\d.e+-]+,)? gap ~?[\d.e+-]+ of 1\.0e-300( by the rows that still move)?, [\d.:]+( s)?(, .*)?\n?)+$/,
      )
      assert.deepEqual(rest, ['ending after the current step (Ctrl-C again to end at once)\n'])
      const line = JSON.parse(result.stdout)
      assert.equal(line.exitReason, 'interrupted')
      assert.ok(line.gap > 0 && line.gap < 1 && line.passes > 1)
      const model = await loadModel(join(cwd, 'a.model'))
      assert.equal(model.certificate!.exitReason, 'interrupted')
      assert.equal(model.features, 400)
      const { stdout } = await good(['predict', 'a.svm', 'a.model', '--json', '-q'], { cwd })
      assert.ok(JSON.parse(stdout).accuracy > 0.7)
      assert.deepEqual(filesIn(cwd), ['a.model', 'a.svm'])
    }))

  it('ends training on a pipe that never ends', () =>
    inFolder(async cwd => {
      const run = start(['train', '-', 'a.model', '--json'], { cwd })
      await sent(run.child, large)
      run.child.kill('SIGINT')
      const result = await within(PATIENCE, run)
      assert.ok(result, 'it went on')
      assert.equal(result.status, 130, result.stderr)
      assertPlainWords(result.stderr)
      assert.equal(JSON.parse(result.stdout).exitReason, 'interrupted')
      const { certificate, data } = await loadModel(join(cwd, 'a.model'))
      assert.equal(certificate!.exitReason, 'interrupted')
      assert.ok(data!.rows > 0 && data!.rows % 1 === 0)
      const said = /^interrupted while text was read; the model will be one of the (\d+) rows that came until then$/m
      assert.equal(Number(said.exec(result.stderr)?.[1]), data!.rows, result.stderr)
    }))

  for (const solver of ['block', 'stream']) {
    it(`ends training that reads text into a store, and says that nothing was kept (${solver})`, () =>
      inFolder(async cwd => {
        const run = start(['train', '-', 'a.model', '--solver', solver, '--store', 'a.spill', '--json'], { cwd })
        run.child.stdin.write(large)
        await until(() => filesIn(cwd).length > 0)
        run.child.kill('SIGINT')
        const result = await within(PATIENCE, run)
        assert.ok(result, 'it went on')
        assert.deepEqual([result.status, result.stdout], [130, ''], result.stderr)
        assertPlainWords(result.stderr)
        assert.match(
          result.stderr,
          /\nspillway: interrupted; there is no model of this run: nothing was kept of what was read\n$/,
        )
        assert.deepEqual(filesIn(cwd), [])
      }))
  }

  it('leaves the store of add as it was, and says so', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), small)
      await good(['ingest', 'a.svm', 'a.spill', '-q'], { cwd })
      const files = () => filesIn(cwd).map(name => [name, readFileSync(join(cwd, name), 'hex')])
      const before = files()
      const run = start(['add', '-', 'a.spill'], { cwd })
      run.child.stdin.write(large)
      await until(() => filesIn(cwd).length > before.length)
      run.child.kill('SIGINT')
      const result = await within(PATIENCE, run)
      assert.ok(result, 'it went on')
      assert.deepEqual([result.status, result.stdout], [130, ''], result.stderr)
      assertPlainWords(result.stderr)
      assert.match(result.stderr, /\nspillway: interrupted; nothing was added: a\.spill is as it was\n$/)
      assert.deepEqual(files(), before)
    }))

  it('a second time ends at once, with no model', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), small)
      await good(['train', 'a.svm', 'old.model', '-q'], { cwd })
      const old = readFileSync(join(cwd, 'old.model'))
      const run = start(['train', '-', 'old.model'], { cwd })
      // No whole line comes through the pipe, so that there is no step to end after.
      await sent(run.child, ' '.repeat(1e6))
      run.child.kill('SIGINT')
      await shows(run.child, /interrupted/)
      run.child.kill('SIGINT')
      const result = await within(PATIENCE, run)
      assert.ok(result, 'it went on')
      assert.equal(result.status, 130)
      assertPlainWords(result.stderr)
      assert.ok(readFileSync(join(cwd, 'old.model')).equals(old), 'the old model is untouched')
      assert.deepEqual(filesIn(cwd), ['a.svm', 'old.model'])
    }))

  it('ends predict with no output, whole or half', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), small)
      await good(['train', 'a.svm', 'a.model', '-q'], { cwd })
      writeFileSync(join(cwd, 'out.txt'), 'old\n')
      const run = start(['predict', '-', 'a.model', 'out.txt'], { cwd })
      run.child.stdin.write(large)
      await until(() => filesIn(cwd).some(name => name.endsWith('.tmp')))
      run.child.kill('SIGINT')
      const result = await within(PATIENCE, run)
      assert.ok(result, 'it went on')
      assert.equal(result.status, 130, result.stderr)
      assert.match(result.stderr, /spillway: interrupted\n$/)
      assertPlainWords(result.stderr)
      assert.deepEqual(filesIn(cwd), ['a.model', 'a.svm', 'out.txt'])
      assert.equal(readFileSync(join(cwd, 'out.txt'), 'utf8'), 'old\n')
    }))

  it('ends ingest with no store', () =>
    inFolder(async cwd => {
      const run = start(['ingest', '-', 'a.spill'], { cwd })
      run.child.stdin.write(large)
      await until(() => filesIn(cwd).length > 0)
      run.child.kill('SIGINT')
      const result = await within(PATIENCE, run)
      assert.ok(result, 'it went on')
      assert.equal(result.status, 130, result.stderr)
      assertPlainWords(result.stderr)
      assert.match(result.stderr, /\nspillway: interrupted; nothing was kept of what was read: there is no a\.spill\n$/)
      assert.equal(existsSync(join(cwd, 'a.spill', 'manifest.json')), false)
      // The name is free again.
      writeFileSync(join(cwd, 'b.svm'), small)
      await good(['ingest', 'b.svm', 'a.spill', '-q'], { cwd })
    }))

  it('ends inspect', () =>
    inFolder(async cwd => {
      const run = start(['inspect', '-'], { cwd })
      await sent(run.child, large)
      run.child.kill('SIGINT')
      const result = await within(PATIENCE, run)
      assert.ok(result, 'it went on')
      assert.deepEqual([result.status, result.stdout], [130, ''])
      assertPlainWords(result.stderr)
    }))

  it('is what SIGTERM does too', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), small)
      await good(['train', 'a.svm', 'a.model', '-q'], { cwd })
      const run = start(['predict', '-', 'a.model', 'out.txt'], { cwd })
      await until(() => filesIn(cwd).some(name => name.endsWith('.tmp')))
      run.child.kill('SIGTERM')
      const result = await within(PATIENCE, run)
      assert.equal(result?.status, 130)
      assert.deepEqual(filesIn(cwd), ['a.model', 'a.svm'])
    }))
})

describe('a reader that goes away', () => {
  it('ends predict quietly', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), small)
      await good(['train', 'a.svm', 'a.model', '-q'], { cwd })
      writeFileSync(join(cwd, 'b.svm'), small.repeat(400_000))
      const run = start(['predict', 'b.svm', 'a.model', '-q'], { cwd })
      run.child.stdout.once('data', () => run.child.stdout.destroy())
      const result = await within(PATIENCE, run)
      assert.ok(result, 'it went on')
      assert.equal(result.stderr, '')
      assert.equal(result.status, 0)
    }))
})
