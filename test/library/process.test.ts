// The library in a process of its own: it prints nothing, leaves nothing running, and no rejection goes unhandled.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { inFolder, type Outcome, outcomeOf } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'

const library = new URL('../../src/index.ts', import.meta.url).href

/** Runs a module that ends by itself, within reason. */
async function script(cwd: string, text: string): Promise<Outcome> {
  writeFileSync(join(cwd, 'script.mjs'), `import * as spillway from '${library}'\n${text}`)
  const child = spawn(process.execPath, ['script.mjs'], { cwd })
  // A machine may be busy; only a process that never ends takes so long.
  const timer = setTimeout(() => child.kill('SIGKILL'), 120_000)
  const outcome = await outcomeOf(child)
  clearTimeout(timer)
  assert.equal(outcome.signal, null, 'it had to be killed: something kept the process alive')
  return outcome
}

const silent = { status: 0, signal: null, stdout: '', stderr: '' }

describe('the library', { concurrency: 3 }, () => {
  it('prints nothing and lets the process end', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), `${asText(someRows(200, 20))}bad row\n`)
      const text = `
        const { train, predict, predictRows, ingest, generate, saveModel, loadModel } = spillway
        const run = train('a.svm', { onBadRow: 'skip' })
        for await (const _ of run);
        const model = await run.model
        await model.save('a.model')
        await predict('a.svm', 'a.model', { onBadRow: 'skip', write() {} })
        for await (const _ of predictRows('a.svm', model, { onBadRow: 'skip' }));
        await ingest('a.svm', 'a.spill', { onBadRow: 'skip' })
        await train('a.spill').model
        await generate('g.svm', { like: 'dna', rows: 5 })
        await saveModel('b.model', await loadModel('a.model'))`
      assert.deepEqual(await script(cwd, text), silent)
    }))

  it('lets the process end when the rest of predictRows is not wanted, or never asked for', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(200, 20)))
      writeFileSync(join(cwd, 'b.svm'), asText(someRows(200, 20)).repeat(200))
      const text = `
        const model = await spillway.train('a.svm').model
        for await (const _ of spillway.predictRows('b.svm', model)) break
        const left = spillway.predictRows('b.svm', model)
        await left.next()`
      assert.deepEqual(await script(cwd, text), silent)
    }))

  it('has no unhandled rejection when somebody only iterates', () =>
    inFolder(async cwd => {
      const text = `
        let unhandled = 0
        process.on('unhandledRejection', () => unhandled++)
        let caught = 0
        try { for await (const _ of spillway.train('nope.svm')); } catch { caught++ }
        try { await spillway.train('nope.svm').model } catch { caught++ }
        try { await spillway.train('nope.svm').result } catch { caught++ }
        try { for await (const _ of spillway.predictRows('nope.svm', 'nope.model')); } catch { caught++ }
        spillway.train('nope.svm')
        process.on('exit', () => process.stdout.write(JSON.stringify({ unhandled, caught })))`
      assert.deepEqual(await script(cwd, text), { ...silent, stdout: '{"unhandled":0,"caught":4}' })
    }))

  it('lets the process end after a failure in a worker or in the source', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), `${asText(someRows(200, 20))}1 1:x\n`)
      const text = `
        const messages = []
        const fail = promise => promise.then(() => messages.push('?'), error => messages.push(error.name))
        await fail(spillway.train('a.svm').model)
        await fail(spillway.ingest('a.svm', 'a.spill'))
        await fail(spillway.ingest('nope.svm', 'b.spill'))
        await fail(spillway.loadModel('a.svm'))
        process.stdout.write(messages.join(' '))`
      const stdout = 'SpillwayError SpillwayError SpillwayError SpillwayError'
      assert.deepEqual(await script(cwd, text), { ...silent, stdout })
    }))
})
