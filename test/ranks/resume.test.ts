// Runs over ranks that go on: from the step that all of them have, bit by bit, or from weights with another number of ranks.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { partsOf, trainInStores } from './ranks.ts'
import { isSlow, jsonOf, near, objective, textOf } from './sets.ts'

const folder = fastFolder()
const text = textOf('imdb', 80)
const weightsOf = ({ model }: TrainResult): unknown => jsonOf(model).weights

/** The folder of the state that a rank's store has. */
function stateOf(name: string, rank: number, size: number): string {
  const store = join(folder.path, `${name}.${rank}-of-${size}.spill`)
  return join(store, readdirSync(store).find(entry => /^state-\w+$/.test(entry))!)
}

const byBlock: TrainOptions = { solver: 'block', loss: 'squared-hinge', normalize: 'unit' }
const byNewton: TrainOptions = { solver: 'newton', loss: 'logistic', normalize: 'unit' }
const byStream: TrainOptions = { solver: 'stream', loss: 'squared-hinge', normalize: 'unit' }
const slowRuns: TrainOptions[] = [
  { ...byStream, loss: 'logistic' },
  { ...byBlock, loss: 'logistic' },
  { ...byNewton, solver: 'lbfgs', loss: 'squared-hinge' },
]
const SLOW = 'it takes long: set SPILLWAY_SLOW=1'
/** Every rank has threads of its own, which take most of the time of these tests: the others are for slow runs. */
const runs = [byBlock, byNewton, byStream, ...(isSlow ? slowRuns : [])]
const nameOf = ({ solver, loss }: TrainOptions): string => `${solver}-${loss}`

describe('a run over ranks that is resumed with as many of them', () => {
  for (const options of runs) {
    const name = nameOf(options)
    const often = { ...options, checkpointSeconds: 0, tolerance: 1e-6 }
    let known: TrainResult | undefined
    const uninterrupted = async (): Promise<TrainResult> => {
      known ??= (await trainInStores(folder, `${name}-whole`, partsOf(folder, name, text, 2), often))[0]
      return known
    }

    it(`${name}: after some passes, with the same bits`, async () => {
      const parts = partsOf(folder, name, text, 2)
      const whole = await uninterrupted()
      const [short] = await trainInStores(folder, name, parts, { ...often, maxPasses: 3 })
      assert.equal(short.exitReason, 'max-passes')
      const resumed = await trainInStores(folder, name, parts, { ...often, resume: true })
      assert.equal(resumed[0].start, 'resumed')
      assert.deepEqual(weightsOf(resumed[0]), weightsOf(whole))
      assert.deepEqual(weightsOf(resumed[1]), weightsOf(whole))
      assert.equal(resumed[0].passes, whole.passes)
    })

    const skip = isSlow || options !== byNewton ? false : SLOW
    it(`${name}: after an interrupt within a pass, with the same bits`, { skip }, async () => {
      const parts = partsOf(folder, name, text, 2)
      const stop = new AbortController()
      const cut = `${name}-cut`
      // Where all rows stay in memory, they are read once.
      const last = options.solver === 'stream' ? 1 : 8
      let blocks = 0
      const [first] = await trainInStores(
        folder,
        cut,
        parts,
        rank => ({ ...often, ...(rank === 1 && { signal: stop.signal }) }),
        (rank, { stage }) => {
          if (rank === 1 && stage === 'train' && ++blocks === last) stop.abort()
        },
      )
      assert.equal(first.exitReason, 'interrupted')
      const whole = await uninterrupted()
      const [resumed] = await trainInStores(folder, cut, parts, { ...often, resume: true })
      assert.deepEqual(weightsOf(resumed), weightsOf(whole))
    })
  }

  const options = { ...byBlock, checkpointSeconds: 0, tolerance: 1e-6 }
  const parts = partsOf(folder, 'torn', text, 2)
  /** Stores of a run that has made so many passes. */
  const at = async (maxPasses: number): Promise<void> => {
    rmSync(join(folder.path, 'torn.1-of-2.spill'), { recursive: true, force: true })
    rmSync(join(folder.path, 'torn.2-of-2.spill'), { recursive: true, force: true })
    await trainInStores(folder, 'torn', parts, { ...options, maxPasses })
  }

  it('goes on from the step that all have, when one was killed before it had the last', async () => {
    const [whole] = await trainInStores(folder, 'torn-whole', parts, options)
    await at(3)
    // A checkpoint that is written, but has not taken its place: another rank may have it there already.
    const second = stateOf('torn', 2, 2)
    renameSync(join(second, 'checkpoint.bin'), join(second, 'checkpoint-waiting.bin'))
    const [resumed] = await trainInStores(folder, 'torn', parts, { ...options, resume: true })
    assert.deepEqual(weightsOf(resumed), weightsOf(whole))
  })

  it('leaves a step alone that waits for a rank which never wrote its own', {
    skip: isSlow ? false : SLOW,
  }, async () => {
    const [whole] = await trainInStores(folder, 'torn-whole', parts, options)
    await at(3)
    const waiting = readFileSync(join(stateOf('torn', 1, 2), 'checkpoint.bin'))
    await at(2)
    const own = stateOf('torn', 1, 2)
    writeFileSync(join(own, 'checkpoint-waiting.bin'), waiting)
    const [again] = await trainInStores(folder, 'torn', parts, { ...options, resume: true })
    assert.deepEqual(weightsOf(again), weightsOf(whole))
    assert.ok(!existsSync(join(own, 'checkpoint-waiting.bin')))
  })

  it('starts from zero where there is no checkpoint', async () => {
    const [first] = await trainInStores(folder, 'none', partsOf(folder, 'none', text, 2), {
      ...{ ...byNewton, resume: true },
    })
    assert.equal(first.start, 'cold')
  })
})

describe('a run that is resumed with another number of ranks', () => {
  for (const options of [...runs, { ...byBlock, loss: 'hinge' }]) {
    const name = `other-${nameOf(options)}`
    it(`${name}: goes on from the weights, to the same optimum`, async () => {
      const tolerance = 1e-7
      const alone = await train(folder.write(`${name}.svm`, text), { loss: options.loss, normalize: 'unit', tolerance })
        .result
      const most = { ...options, tolerance, checkpointSeconds: 0 }
      const [short] = await trainInStores(folder, name, partsOf(folder, name, text, 3), { ...most, maxPasses: 8 })
      for (const size of isSlow ? [2, 4] : [2]) {
        const parts = partsOf(folder, name, text, size)
        const results = await trainInStores(folder, name, parts, { ...most, resume: true })
        const [first] = results
        assert.equal(first.start, 'resumed')
        assert.ok(first.resumedAtPass! > Math.min(7, short.passes))
        assert.equal(first.exitReason, 'converged')
        near(objective(text, first, options), objective(text, alone, options), 1e-6, `from 3 ranks to ${size}`)
        for (const other of results) assert.deepEqual(weightsOf(other), weightsOf(first))
      }
    })
  }

  it('begins near where the other one ended', { skip: isSlow ? false : SLOW }, async () => {
    const options = { ...byBlock, tolerance: 1e-6, checkpointSeconds: 0 }
    const [whole] = await trainInStores(folder, 'close', partsOf(folder, 'close', text, 3), options)
    const parts = partsOf(folder, 'close', text, 2)
    const [resumed] = await trainInStores(folder, 'close', parts, { ...options, resume: true })
    const [cold] = await trainInStores(folder, 'far', parts, options)
    const more = resumed.passes - whole.passes
    assert.ok(more < cold.passes / 2, `${more} more passes, where ${cold.passes} are needed from zero`)
  })

  it('a rank alone goes on from several, and several from one', async () => {
    const options = { ...byNewton, tolerance: 1e-7, checkpointSeconds: 0 }
    const data = folder.write('one.svm', text)
    const store = join(folder.path, 'one.spill')
    await trainInStores(folder, 'one', partsOf(folder, 'one', text, 2), { ...options, maxPasses: 4 })
    const alone = await train(data, { ...options, store, resume: true, threads: 1 }).result
    assert.equal(alone.start, 'resumed')
    const [first] = await trainInStores(folder, 'one', partsOf(folder, 'one', text, 3), { ...options, resume: true })
    assert.equal(first.start, 'resumed')
    near(objective(text, first, options), objective(text, alone, options), 1e-6, 'from one rank to three')
  })

  it('as many ranks go on from weights when one has lost its store', async () => {
    const options = { ...byBlock, tolerance: 1e-6, checkpointSeconds: 0 }
    const parts = partsOf(folder, 'lost', text, 2)
    const [whole] = await trainInStores(folder, 'lost', parts, options)
    rmSync(join(folder.path, 'lost.2-of-2.spill'), { recursive: true })
    const [first] = await trainInStores(folder, 'lost', parts, { ...options, resume: true })
    assert.equal(first.start, 'resumed')
    near(objective(text, first, options), objective(text, whole, options), 2e-6, 'with a store that is new')
  })
})
