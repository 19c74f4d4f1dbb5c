// Solvers that look at all rows before they move, block by block: the optimum of rows in memory, the same bits after a stop,
// and one reading of every block for each pass.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { openStore } from '../../src/block-store/reader.ts'
import { allSolvers } from '../../src/optimise/solvers/all-solvers.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { isSlow, unlessSlow } from '../slow.ts'
import { abortAfter, assertSameModel, copyStore, fastFolder, memoryFor, noisyStore, told } from './fixture.ts'

const folder = fastFolder()
const BLOCKS = 8
let store = ''
let bytes = 0
let count = 0
const fresh = (): string => copyStore(store, join(folder.path, `copy-${++count}.spill`))

before(async () => {
  store = await noisyStore(folder, 'rows', { blocks: BLOCKS })
  const { manifest } = await openStore(store)
  bytes = manifest.blocks.reduce((sum, block) => sum + block.bytes, 0)
})

const solvers = allSolvers.filter(solver => solver.data === 'memory' && solver.inBlocks).map(({ name }) => name)
const ways: [string, TrainOptions][] = [
  ['squared hinge', { loss: 'squared-hinge' }],
  ['logistic, bias, class weights', { loss: 'logistic', bias: 1, classWeights: { '+1': 2 } }],
  ['logistic, minmax', { loss: 'logistic', scale: 'minmax' }],
]

for (const solver of solvers)
  describe(`${solver}, block by block`, () => {
    /** That a run resumes makes it one over blocks. */
    const inBlocks = async (more: TrainOptions, together = 1): Promise<TrainOptions> => {
      const options: TrainOptions = { solver, cost: 0.5, tolerance: 1e-10, resume: true, ...more }
      return { ...options, memory: await memoryFor(store, together, options) }
    }

    for (const [name, more] of ways) {
      it(`reaches what it reaches in memory: ${name}`, async () => {
        const { resume: _, memory: __, ...options } = await inBlocks(more)
        const whole = await train(store, options).result
        assert.equal(whole.exitReason, 'converged')
        assert.equal(whole.blocks, undefined)
        for (const together of [1, 3]) {
          const { result } = await told(fresh(), await inBlocks(more, together))
          assert.equal(result.exitReason, 'converged')
          assert.equal(result.blocks!.count, BLOCKS)
          assert.ok(Math.abs(result.primal! - whole.primal!) <= 1e-9 * whole.primal!)
          assert.ok(result.gap! <= 1e-10)
        }
      })

      it(`reads every block once a pass, and for nothing else: ${name}`, async () => {
        const { result, certificates } = await told(fresh(), await inBlocks(more))
        const scaling = more.scale ? 1 : 0
        // What is certified is the last gradient.
        assert.equal(certificates, 1)
        assert.equal(result.blocks!.read, BLOCKS * (result.passes + scaling))
        const reads = result.passes + scaling
        assert.ok(result.bytesRead <= bytes * reads && result.bytesRead > 0.8 * bytes * reads)
        // With few features a gap of 1e-10 takes few passes.
        assert.ok(result.passes < 30, `${result.passes} passes`)
      })

      const long = more !== ways[0][1] && unlessSlow
      it(`gives the same bits when it is stopped and resumed: ${name}`, { skip: long }, async () => {
        const options = { ...(await inBlocks(more)), checkpointSeconds: 0 }
        const whole = await told(fresh(), options)
        const random = randomNumbers(name.length)
        const path = fresh()
        for (let stops = 0; ; stops++) {
          const last = await abortAfter(path, options, 1 + Math.floor((random() * whole.train.length) / 4))
          if (last.result.exitReason === 'interrupted') continue
          assert.ok(stops > 1)
          assertSameModel(last.result, whole.result)
          break
        }
      })
    }

    it('gives the same bits wherever it was stopped', async () => {
      const options = { ...(await inBlocks({ loss: 'logistic' }, 2)), checkpointSeconds: 0, tolerance: 1e-3 }
      const whole = await told(fresh(), options)
      for (let records = 1; records < whole.train.length; records += isSlow ? 3 : 13) {
        const path = fresh()
        const first = await abortAfter(path, options, records)
        const rest = first.result.exitReason === 'interrupted' ? await told(path, options) : first
        assertSameModel(rest.result, whole.result)
      }
    })

    it('gives the same bits when it is stopped and resumed, with many features', async () => {
      // So many that newton forms no matrix and lbfgs forgets its oldest pairs.
      const wide = await noisyStore(folder, `wide-${solver}`, { rows: 300, features: 1100, blocks: 3 })
      const options: TrainOptions = { solver, loss: 'logistic', cost: 2, tolerance: 1e-9, resume: true }
      options.memory = await memoryFor(wide, 1, options)
      options.checkpointSeconds = 0
      const another = (): string => copyStore(wide, join(folder.path, `copy-${++count}.spill`))
      const whole = await told(another(), options)
      assert.equal(whole.result.exitReason, 'converged')
      assert.ok(whole.result.passes > 12, `${whole.result.passes} passes`)
      for (const share of isSlow ? [0.1, 0.5, 0.8, 0.95] : [0.5]) {
        const path = another()
        const first = await abortAfter(path, options, Math.ceil(share * whole.train.length))
        assert.equal(first.result.exitReason, 'interrupted')
        assertSameModel((await told(path, options)).result, whole.result)
      }
    })

    it('to a smaller gap goes on from the larger one', async () => {
      const path = fresh()
      const options = await inBlocks({ loss: 'squared-hinge', tolerance: 0.5 })
      const first = await told(path, options)
      const rest = await told(path, { ...options, tolerance: 1e-8 })
      assert.equal(rest.result.exitReason, 'converged')
      assert.ok(rest.result.gap! <= 1e-8)
      // It starts at the weights that were reached: what is known after its first pass is no worse.
      const began = rest.train.filter(({ pass }) => pass >= first.result.passes + 1)[1]
      assert.ok(began.primal! <= first.result.primal! * (1 + 1e-12), `${began.primal}, was ${first.result.primal}`)
    })
  })

describe('few features that do not fit, left to auto', () => {
  it('a run that was stopped goes on under the same options', async () => {
    const many = await noisyStore(folder, 'many', { rows: 12_000, features: 12, blocks: BLOCKS })
    const options: TrainOptions = { loss: 'logistic', memory: '140M', tolerance: 1e-8 }
    const whole = await told(copyStore(many, join(folder.path, 'many-whole.spill')), options)
    assert.equal(whole.result.solver, 'newton')
    const stopped = await abortAfter(many, options, 3)
    assert.equal(stopped.result.exitReason, 'interrupted')
    const rest = await told(many, { ...options, resume: true })
    assert.equal(rest.result.start, 'resumed')
    assert.equal(rest.result.solver, 'newton')
    assertSameModel(rest.result, whole.result)
  })
})
