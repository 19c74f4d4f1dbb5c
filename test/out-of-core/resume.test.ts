// A run that was stopped goes on as if nothing had happened: the same model, to the bit.
import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError } from '../../src/errors.ts'
import { LAYOUT_VERSION } from '../../src/numeric/layouts.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { isSlow } from '../slow.ts'
import {
  abortAfter,
  assertSameModel,
  copyStore,
  fastFolder,
  memoryFor,
  noisyStore,
  type Told,
  threeClasses,
  told,
} from './fixture.ts'

const folder = fastFolder()
let store = ''
let count = 0
const fresh = (from = store): string => copyStore(from, join(folder.path, `copy-${++count}.spill`))
const stateFolder = (path: string): string => {
  const names = readdirSync(path).filter(name => name.startsWith('state-'))
  assert.equal(names.length, 1)
  return join(path, names[0])
}

before(async () => {
  store = await noisyStore(folder, 'rows')
})

/** Stops a run again and again, each time after some records, until it comes to its end. */
async function inPieces(
  path: string,
  options: TrainOptions,
  pieces: () => number,
): Promise<{ last: Told; stops: number }> {
  for (let stops = 0; ; stops++) {
    const last = await abortAfter(path, { ...options, resume: true }, pieces())
    if (last.result.exitReason !== 'interrupted') return { last, stops }
    assert.ok(stops < 500, 'it never ends')
  }
}

describe('a run that is aborted and resumed', () => {
  const ways: [string, TrainOptions, 'only with SPILLWAY_SLOW=1'?][] = [
    ['hinge', {}, 'only with SPILLWAY_SLOW=1'],
    ['squared hinge, without shrinking', { loss: 'squared-hinge', shrinking: false }],
    ['logistic', { loss: 'logistic' }],
    ['f32 weights, bias, class weights', { weights: 'f32', bias: 1, classWeights: { '+1': 2 } }],
    ['sweeps until a block is solved', { innerTolerance: 0.1 }, 'only with SPILLWAY_SLOW=1'],
    ['fixed order, minmax', { blockOrder: 'fixed', scale: 'minmax', tolerance: 0.03 }],
    ['unit length', { normalize: 'unit' }, 'only with SPILLWAY_SLOW=1'],
  ]
  for (const [name, more, when] of ways) {
    it(`gives the model of one that ran through: ${name}`, { skip: !isSlow && when }, async () => {
      const memory = await memoryFor(store, 1, more)
      const options: TrainOptions = {
        solver: 'block',
        memory,
        checkpointSeconds: 0,
        cost: 0.02,
        tolerance: 0.01,
        ...more,
      }
      const whole = await told(fresh(), options)
      assert.equal(whole.result.exitReason, 'converged')
      const random = randomNumbers(name.length)
      const { last, stops } = await inPieces(
        fresh(),
        options,
        () => 1 + Math.floor((random() * whole.train.length) / 3),
      )
      assert.ok(stops > 1)
      assertSameModel(last.result, whole.result)
    })
  }

  for (const solver of ['selective', 'stream'])
    it(`gives the model of one that ran through, also with rows kept in memory: ${solver}`, async () => {
      const options: TrainOptions = { solver, cost: 0.02, tolerance: 0.01 }
      options.memory = await memoryFor(store, 1, options)
      const whole = await told(fresh(), options)
      const { last, stops } = await inPieces(fresh(), options, () => (solver === 'stream' ? 1 : 3))
      assert.ok(stops > 1)
      assertSameModel(last.result, whole.result)
    })

  it('gives the same model wherever it was stopped', async () => {
    const memory = await memoryFor(store, 2)
    const options: TrainOptions = { solver: 'block', memory, checkpointSeconds: 0, cost: 0.02, tolerance: 0.03 }
    const whole = await told(fresh(), options)
    for (let records = 1; records < whole.train.length; records += isSlow ? 2 : 5) {
      const path = fresh()
      const first = await abortAfter(path, options, records)
      const rest = first.result.exitReason === 'interrupted' ? await told(path, { ...options, resume: true }) : first
      assertSameModel(rest.result, whole.result)
    }
  })

  it('goes on from where a checkpoint was, however seldom they are written', async () => {
    const memory = await memoryFor(store, 1)
    const options: TrainOptions = { solver: 'block', memory, checkpointSeconds: 1000, cost: 0.02 }
    const whole = await told(fresh(), options)
    const path = fresh()
    await abortAfter(path, options, Math.floor(whole.train.length / 2))
    const rest = await told(path, { ...options, resume: true })
    assertSameModel(rest.result, whole.result)
    assert.ok(rest.train[0].pass > whole.train[0].pass)
  })

  it('leaves a model behind that says it is none yet', async () => {
    const options: TrainOptions = { solver: 'block', memory: await memoryFor(store, 1) }
    const { result } = await abortAfter(fresh(), options, 3)
    assert.equal(result.exitReason, 'interrupted')
    assert.equal(result.primal, null)
    assert.equal(result.gap, null)
    assert.equal(result.model.certificate?.exitReason, 'interrupted')
  })

  it('of three classes: finished ones are not trained again', async () => {
    const text = folder.write('three.svm', `${threeClasses(1500, 5)}\n`)
    const three = join(folder.path, 'three.spill')
    await ingest(text, three, { blocks: 6 })
    const options: TrainOptions = {
      solver: 'block',
      memory: await memoryFor(three, 1),
      checkpointSeconds: 0,
      cost: 0.02,
    }
    const whole = await told(fresh(three), options)
    const middle = whole.train.findIndex(record => record.problem === 2) + 5
    const path = fresh(three)
    const first = await abortAfter(path, options, middle)
    assert.equal(first.result.exitReason, 'interrupted')
    assert.ok(first.train.some(record => record.problem === 2))
    const rest = await told(path, { ...options, resume: true })
    assertSameModel(rest.result, whole.result)
    assert.equal(rest.train.filter(record => record.problem === 1 && !record.certified).length, 0)
  })
})

describe('resuming', () => {
  const options: TrainOptions = { solver: 'block', checkpointSeconds: 0, cost: 0.02 }

  it('a run that had come to its end gives its model again, and trains no more', async () => {
    const path = fresh()
    const whole = await told(path, { ...options, memory: await memoryFor(store, 1) })
    const again = await told(path, { ...options, memory: await memoryFor(store, 1), resume: true })
    assertSameModel(again.result, whole.result)
    assert.equal(again.train.filter(record => !record.certified).length, 0)
    assert.equal(again.result.blocks?.read, 0)
  })

  it('a run that ended at its most passes goes on under a wider limit', async () => {
    const memory = await memoryFor(store, 1)
    const whole = await told(fresh(), { ...options, memory })
    const path = fresh()
    const first = await told(path, { ...options, memory, maxPasses: 3 })
    assert.equal(first.result.exitReason, 'max-passes')
    const rest = await told(path, { ...options, memory, resume: true })
    assertSameModel(rest.result, whole.result)
    assert.ok(rest.train[0].pass > 3)
  })

  it('to a smaller gap goes on from the larger one', async () => {
    const memory = await memoryFor(store, 1)
    const path = fresh()
    const first = await told(path, { ...options, memory, tolerance: 0.05 })
    const rest = await told(path, { ...options, memory, tolerance: 1e-3, resume: true })
    assert.equal(rest.result.exitReason, 'converged')
    assert.ok(rest.result.gap! <= 1e-3)
    assert.ok(rest.result.passes > first.result.passes)
  })

  it('without a checkpoint starts anew', async () => {
    const memory = await memoryFor(store, 1)
    const whole = await told(fresh(), { ...options, memory })
    const other = await told(fresh(), { ...options, memory, resume: true })
    assertSameModel(other.result, whole.result)
  })

  it('is not what happens unless it is asked for', async () => {
    const memory = await memoryFor(store, 1)
    const path = fresh()
    const whole = await told(path, { ...options, memory })
    await abortAfter(path, { ...options, memory }, 9)
    const again = await told(path, { ...options, memory })
    assert.equal(again.train.length, whole.train.length)
    assertSameModel(again.result, whole.result)
  })

  it('under other settings is refused, with both of them', async () => {
    const memory = await memoryFor(store, 1)
    const path = fresh()
    const base: TrainOptions = { ...options, memory, seed: 4 }
    await abortAfter(path, base, 9)
    const before = readFileSync(join(stateFolder(path), 'checkpoint.bin'))
    const others: [TrainOptions, RegExp][] = [
      [{ seed: 5 }, /^the checkpoint was written with seed 4, this run has 5$/],
      [{ shrinking: false }, /with shrinking true, this run has false/],
      [{ innerPasses: 9 }, /with innerPasses 4, this run has 9/],
      [{ innerTolerance: 0.5 }, /with innerTolerance null, this run has 0.5/],
      [{ blockOrder: 'fixed' }, /with blockOrder "random", this run has "fixed"/],
      [{ memory: await memoryFor(store, 2) }, /with --memory \d+, this run has --memory \d+/],
    ]
    for (const [other, words] of others) {
      await assert.rejects(train(path, { ...base, ...other, resume: true }).result, (error: SpillwayError) => {
        assert.ok(error instanceof SpillwayError)
        assert.match(error.message, words)
        assert.match(
          error.advice!,
          /^(give the same options as before|say --memory \d+ again), or train again without --resume$/,
        )
        return true
      })
    }
    assert.ok(readFileSync(join(stateFolder(path), 'checkpoint.bin')).equals(before), 'the checkpoint was touched')
    // And the right settings still go on.
    const whole = await told(fresh(), base)
    assertSameModel((await told(path, { ...base, resume: true })).result, whole.result)
  })

  it('a checkpoint of other rows is refused', async () => {
    const memory = await memoryFor(store, 1)
    const path = fresh()
    await abortAfter(path, { ...options, memory }, 9)
    // The same text drawn into blocks otherwise: as many rows and features, and yet another store.
    const other = join(folder.path, 'other.spill')
    await ingest(join(folder.path, 'rows.svm'), other, { blocks: 8, seed: 2 })
    const state = stateFolder(path)
    cpSync(state, join(other, state.slice(path.length + 1)), { recursive: true })
    await assert.rejects(train(other, { ...options, memory: memory * 2, resume: true }).result, SpillwayError)
  })

  it('after rows were added starts from their dual variables, and says so', async () => {
    const memory = (await memoryFor(store, 1)) * 2
    const path = fresh()
    await told(path, { ...options, memory })
    await addRows(folder.write('more.svm', `${noisyRows(300, 25, 7)}\n`), path)
    const after = await told(path, { ...options, memory, resume: true })
    assert.ok(after.records.some(r => r.stage === 'plan' && /started from the last training/.test(r.reason)))
    assert.equal(after.result.rows, 1500)
    assert.equal(after.result.exitReason, 'converged')
    const cold = await told(fresh(path), { ...options, memory })
    assert.ok(Math.abs(after.result.primal! - cold.result.primal!) <= 1e-3 * cold.result.primal!)
  })

  it('of three classes is not troubled by what an earlier run left behind', async () => {
    const three = join(folder.path, 'three.spill')
    const base: TrainOptions = { ...options, memory: await memoryFor(three, 1), tolerance: 0.01 }
    const path = fresh(three)
    await told(path, { ...base, seed: 1 })
    const whole = await told(fresh(three), { ...base, seed: 2 })
    // What a kill would leave behind: a copy, made in the middle of a run.
    const killed = join(folder.path, 'killed.spill')
    await told(path, { ...base, seed: 2 }, (_, count) => {
      if (count === 3) copyStore(path, killed, true)
    })
    assertSameModel((await told(killed, { ...base, seed: 2, resume: true })).result, whole.result)
  })
})

describe('a checkpoint that is damaged', () => {
  const options: TrainOptions = { solver: 'block', checkpointSeconds: 0, cost: 0.02 }
  let memory = 0
  const interrupted = async (): Promise<string> => {
    memory = await memoryFor(store, 1)
    const path = fresh()
    await abortAfter(path, { ...options, memory }, 12)
    return path
  }
  const refused = async (path: string, words: RegExp): Promise<void> => {
    await assert.rejects(train(path, { ...options, memory, resume: true }).result, (error: SpillwayError) => {
      assert.ok(error instanceof SpillwayError, `${error}`)
      assert.match(error.message, words)
      return true
    })
  }

  it('is refused wherever a bit of it is flipped or its end is missing', async () => {
    const path = await interrupted()
    const file = join(stateFolder(path), 'checkpoint.bin')
    const good = readFileSync(file)
    const random = randomNumbers(17)
    for (let k = 0; k < 12; k++) {
      const bad = Buffer.from(good)
      const at = Math.floor(random() * bad.length)
      bad[at] ^= 1 << (k % 8)
      writeFileSync(file, bad)
      // Bytes 12 to 15 are the version of its layout.
      await refused(path, at >= 12 && at < 16 ? /checkpoint\.bin has layout version/ : /checkpoint\.bin is damaged/)
    }
    for (const bytes of [0, 10, 24, 100, good.length - 1]) {
      writeFileSync(file, good.subarray(0, bytes))
      await refused(path, /checkpoint\.bin is damaged/)
    }
    writeFileSync(file, good)
    assertSameModel(
      (await told(path, { ...options, memory, resume: true })).result,
      (await told(fresh(), { ...options, memory })).result,
    )
  })

  for (const [name, pattern, solver] of [
    ['the checkpoint', /^checkpoint\.bin$/, 'block'],
    ['the dual variables', /^alpha-/, 'block'],
    ['the rows in memory', /^memory-/, 'selective'],
  ] as const) {
    it(`is refused by its version when ${name} have another layout; without --resume training starts anew`, async () => {
      const own = { ...options, solver, memory: await memoryFor(store, 2) }
      const path = fresh()
      await abortAfter(path, own, 12)
      const state = stateFolder(path)
      for (const file of readdirSync(state).filter(file => pattern.test(file))) {
        const old = readFileSync(join(state, file))
        assert.equal(old.readUInt32LE(12), LAYOUT_VERSION)
        // As versions that had none wrote it.
        old.writeUInt32LE(0, 12)
        writeFileSync(join(state, file), old)
      }
      await assert.rejects(train(path, { ...own, resume: true }).result, (error: SpillwayError) => {
        assert.ok(error instanceof SpillwayError, `${error}`)
        const words = `has layout version 0, and this version of Spillway reads layout version ${LAYOUT_VERSION}`
        assert.ok(error.message.includes(words), error.message)
        assert.match(error.message, new RegExp(pattern.source.replace('^', '/').replace('$', '')))
        assert.match(error.advice ?? '', /train again without --resume/)
        return true
      })
      assertSameModel((await told(path, own)).result, (await told(fresh(), own)).result)
    })
  }

  it('is refused when dual variables are altered, cut off or missing', async () => {
    const path = await interrupted()
    const state = stateFolder(path)
    const file = join(state, readdirSync(state).find(name => name.startsWith('alpha-'))!)
    const good = readFileSync(file)
    const bad = Buffer.from(good)
    bad[bad.length - 3] ^= 4
    writeFileSync(file, bad)
    await refused(path, /alpha-\d+-\d+\.bin/)
    writeFileSync(file, good.subarray(0, good.length - 8))
    await refused(path, /alpha-\d+-\d+\.bin/)
    rmSync(file)
    await refused(path, /alpha-\d+-\d+\.bin/)
  })

  it('and half written ones of runs that were killed are cleared away', async () => {
    const path = await interrupted()
    const stray = join(stateFolder(path), '.checkpoint.bin.4711-abcdefgh.tmp')
    writeFileSync(stray, 'half')
    await told(path, { ...options, memory, resume: true })
    assert.ok(!existsSync(stray))
  })

  it('does not stand in the way of a run from the beginning', async () => {
    const path = await interrupted()
    writeFileSync(join(stateFolder(path), 'checkpoint.bin'), 'nonsense')
    assertSameModel(
      (await told(path, { ...options, memory })).result,
      (await told(fresh(), { ...options, memory })).result,
    )
  })
})
