// Momentum over blocks: the same optimum in fewer passes, the same bits after a stop, and room in the plan only where there is some.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { openStore } from '../../src/block-store/reader.ts'
import { findLoss } from '../../src/losses/all-losses.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { BinaryObjective } from '../../src/optimise/objectives/binary.ts'
import { block } from '../../src/optimise/solvers/block.ts'
import { BlockMomentum } from '../../src/optimise/solvers/block-momentum.ts'
import { selective } from '../../src/optimise/solvers/selective.ts'
import { RowsInMemory, wholeGroup } from '../../src/optimise/sources/rows-in-memory.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planFor } from '../../src/train/plan-for-blocks.ts'
import { train } from '../../src/train/train.ts'
import { isSlow } from '../slow.ts'
import { abortAfter, assertSameModel, copyStore, fastFolder, memoryFor, noisyStore, told } from './fixture.ts'
import { textsIn, two, withWeights } from './weighted-rows.ts'

const folder = fastFolder()
let store = ''
let weighted = ''
let count = 0
const fresh = (from = store): string => copyStore(from, join(folder.path, `copy-${++count}.spill`))

before(async () => {
  store = await noisyStore(folder, 'rows', { rows: 400, features: 12, blocks: 4 })
  weighted = await textsIn(folder).storeOf(withWeights(two))
})

describe('the optimum of rows in memory', () => {
  const unlike = { bias: 1, classWeights: { '+1': 2 } }
  const slow = 'only with SPILLWAY_SLOW=1'
  const ways: [string, TrainOptions, of: 'plain' | 'weighted', when?: typeof slow][] = [
    ['hinge', { cost: 0.1 }, 'plain', slow],
    ['hinge, bias, class weights', { ...unlike, cost: 0.1 }, 'plain'],
    ['hinge, weights of rows', { cost: 0.1 }, 'weighted', slow],
    ['squared hinge', { loss: 'squared-hinge' }, 'plain', slow],
    ['squared hinge, bias, class weights', { ...unlike, loss: 'squared-hinge', cost: 0.2 }, 'plain', slow],
    ['squared hinge, weights of rows', { loss: 'squared-hinge', cost: 0.1 }, 'weighted'],
    ['logistic', { loss: 'logistic', cost: 10 }, 'plain'],
    ['logistic, bias, class weights', { ...unlike, loss: 'logistic', cost: 5 }, 'plain', slow],
    ['logistic, weights of rows', { loss: 'logistic', cost: 5 }, 'weighted', slow],
  ]
  for (const [name, more, of, when] of ways) {
    it(name, { skip: !isSlow && when }, async () => {
      const data = of === 'weighted' ? weighted : store
      const options: TrainOptions = { solver: 'block', tolerance: 1e-6, maxPasses: 3000, ...more }
      options.memory = await memoryFor(data, 1, options)
      const got = await train(fresh(data), options).result
      const best = await train(data, { ...more, solver: 'dual', tolerance: 1e-8, maxPasses: 20_000 }).result
      assert.equal(got.exitReason, 'converged')
      assert.ok(got.passes > 9, `${got.passes} passes: it had not begun`)
      const [primal, optimum] = [got.primal!, best.primal!]
      assert.ok(Math.abs(primal - optimum) <= 1e-6 * optimum, `${primal}, in memory ${optimum}`)
    })
  }
})

describe('a run that is stopped', () => {
  for (const loss of ['hinge', 'squared-hinge', 'logistic'] as const) {
    it(`goes on to the same bits, between passes and within: ${loss}`, async () => {
      const options: TrainOptions = {
        solver: 'block',
        loss,
        cost: loss === 'logistic' ? 10 : 1,
        bias: 1,
        tolerance: 1e-12,
      }
      Object.assign(options, { maxPasses: 12, memory: await memoryFor(store, 1, options) })
      const whole = await told(fresh(), options)
      assert.ok(whole.train.length >= 12 * 4)
      // The ninth pass remembers, the tenth is the first to be carried on. Each has four blocks.
      for (const records of isSlow ? [33, 35, 37, 40, 45] : [34, 38]) {
        const path = fresh()
        const first = await abortAfter(path, options, records)
        assert.equal(first.result.exitReason, 'interrupted')
        const rest = await told(path, { ...options, resume: true })
        assertSameModel(rest.result, whole.result)
      }
    })
  }

  it('goes on with more passes, and from an end that it had reached', async () => {
    const options: TrainOptions = { solver: 'block', loss: 'squared-hinge', memory: await memoryFor(store, 1) }
    const path = fresh()
    await train(path, { ...options, tolerance: 1e-12, maxPasses: 12 }).result
    const on = await train(path, { ...options, tolerance: 1e-12, maxPasses: 13, resume: true }).result
    const whole = await train(fresh(), { ...options, tolerance: 1e-12, maxPasses: 13 }).result
    assertSameModel(on, whole)
    const close = await train(path, { ...options, tolerance: 1e-2, maxPasses: 1000, resume: true }).result
    const closer = await train(path, { ...options, tolerance: 1e-4, maxPasses: 1000, resume: true }).result
    assert.deepEqual([close.exitReason, closer.exitReason], ['converged', 'converged'])
    assert.ok(closer.gap! <= 1e-4)
  })
})

describe('the plan', () => {
  const planOf = async (memory: number, more: TrainOptions = {}, solver = block) =>
    planFor(await openStore(store), solver, resolveOptions({ ...more, memory }))
  /** Weights, with that of the bias, and dual variables. */
  const bytes = (stride: number): number => 13 * 8 + 400 * stride

  it('has room for weights and dual variables of before where blocks lose little by it', async () => {
    const plan = await planOf(await memoryFor(store, 2))
    assert.equal(plan.spareBytes, bytes(8))
    assert.ok(plan.parts.some(part => part.what === 'weights and dual variables of before' && part.bytes === bytes(8)))
    assert.equal((await planOf(await memoryFor(store, 2), { loss: 'logistic' })).spareBytes, bytes(16))
  })

  it('leaves them out rather than refuse a run, or make its groups of blocks smaller', async () => {
    const enough = await memoryFor(store, 1)
    const least = await planOf(enough - bytes(8))
    assert.equal(least.spareBytes, 0)
    await assert.rejects(planOf(enough - bytes(8) - 8192))
    const three = await planOf((await memoryFor(store, 3)) - bytes(8))
    assert.equal(three.spareBytes, 0)
    assert.equal(three.slotRows, 3 * least.slotRows)
  })

  it('has none for solvers and losses that do not use them', async () => {
    const memory = await memoryFor(store, 3)
    assert.equal((await planOf(memory, {}, selective)).spareBytes, 0)
    assert.equal((await planOf(memory, { weights: 'f32' })).spareBytes, 0)
    assert.equal((await planOf(memory, { loss: 'ramp' })).spareBytes, 0)
  })

  it('without that room, a run does without momentum', async () => {
    const options: TrainOptions = { solver: 'block', loss: 'squared-hinge', tolerance: 1e-2, maxPasses: 500 }
    const memory = await memoryFor(store, 1, options)
    const without = await train(fresh(), { ...options, memory: memory - bytes(8) }).result
    const carried = await train(fresh(), { ...options, memory }).result
    assert.equal(without.exitReason, 'converged')
    assert.ok(carried.passes < 0.7 * without.passes, `${carried.passes} passes, without momentum ${without.passes}`)
  })
})

it('the share grows while the dual objective rises, and begins anew when it has fallen', async () => {
  const arena = new Arena()
  await using pool = new ThreadPool(arena.share, 1)
  const table = { table: arena.allocateZeroed(8, 'rows'), rows: 2, nonzeros: 0, rowWeights: 0 }
  const settings = { loss: findLoss('hinge'), costPositive: 1, costNegative: 1, bias: 0, positive: 1 }
  const objective = new BinaryObjective(arena, { rows: 2, weights: 3 }, { ...settings, weightBits: 64 })
  const momentum = new BlockMomentum(objective, new RowsInMemory(arena, pool, table))
  const group = wholeGroup(arena, table)
  const shareOf = (pass: number): number | undefined => momentum.visit(group, pass)?.share
  assert.equal(shareOf(7), undefined)
  const shares = [10, 11, 12, 11.5, 12, 13].map((parts, k) => {
    const share = shareOf(8 + k)
    momentum.visited(parts)
    return share
  })
  assert.deepEqual(shares, [0, 1 / 4, 2 / 5, 3 / 6, 0, 1 / 4])
})
