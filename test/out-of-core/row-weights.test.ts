// Weights of rows over blocks: a row of weight 3 counts as the row three times, in every solver.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { buildIndex, type TrainOptions, type TrainResult, train } from '../../src/index.ts'
import { isSlow } from '../slow.ts'
import { abortAfter, assertSameModel, copyStore, fastFolder, memoryFor, told } from './fixture.ts'
import { repeatedOf, textsIn, three, two, withoutWeights, withWeights } from './weighted-rows.ts'

const { newStore, write, storeOf } = textsIn(fastFolder())
/** Long series run on request. */
let stores: Record<'two' | 'three', string>
let repeated: Record<'two' | 'three', string>

before(async () => {
  stores = { two: await storeOf(withWeights(two)), three: await storeOf(withWeights(three)) }
  repeated = { two: write(withoutWeights(repeatedOf(two))), three: write(withoutWeights(repeatedOf(three))) }
})

const common: TrainOptions = { threads: 1, tolerance: 1e-7, maxPasses: 20_000, cost: 0.1 }
const solved = async (store: string, options: TrainOptions): Promise<TrainResult> =>
  train(copyStore(store, newStore()), { ...common, ...options }).result

function assertNear(found: number, expected: number, most: number): void {
  assert.ok(Math.abs(found - expected) <= most * Math.abs(expected), `the objective: ${found}, expected ${expected}`)
}

const known = new Map<string, Promise<number>>()

/** The objective of repeated rows, in memory. */
function optimum(of: 'two' | 'three', { loss = 'hinge', multiclass, outlierStart }: TrainOptions): Promise<number> {
  const key = `${of} ${loss} ${multiclass}`
  const found = known.get(key)
  if (found) return found
  const solver = multiclass === 'softmax' ? 'newton' : 'dual'
  const options: TrainOptions = { ...common, tolerance: 1e-8, loss, multiclass, solver, outlierStart }
  const value = train(repeated[of], options).result.then(({ primal }) => primal!)
  known.set(key, value)
  return value
}

async function assertAsRepeated(of: 'two' | 'three', options: TrainOptions): Promise<void> {
  const got = await solved(stores[of], options)
  assert.equal(got.exitReason, 'converged')
  assertNear(got.primal!, await optimum(of, options), 1e-6)
}

describe('weights of rows over blocks stand for repeated rows', () => {
  const ways: [string, TrainOptions, more?: boolean][] = [
    ['hinge', { solver: 'block' }],
    ['hinge', { solver: 'stream' }],
    ['hinge', { solver: 'selective' }, isSlow],
    ['hinge', { solver: 'indexed' }, isSlow],
    ['hinge', { solver: 'newton' }, isSlow],
    ['squared-hinge', { solver: 'selective' }],
    ['squared-hinge', { solver: 'indexed' }],
    ['squared-hinge', { solver: 'block' }, isSlow],
    ['squared-hinge', { solver: 'stream' }, isSlow],
    ['squared-hinge', { solver: 'newton' }, isSlow],
    ['squared-hinge', { solver: 'lbfgs' }],
    ['squared-hinge', { solver: 'indexed', indexMethod: 'newton' }],
    ['logistic', { solver: 'block' }, isSlow],
    ['logistic', { solver: 'selective' }, isSlow],
    ['logistic', { solver: 'stream' }],
    ['logistic', { solver: 'newton' }],
    ['logistic', { solver: 'lbfgs' }, isSlow],
  ]
  for (const [loss, options, run = true] of ways) {
    const name = `${options.solver}${options.indexMethod ? ' by second-order steps' : ''}, ${loss}`
    it(name, { skip: !run }, () => assertAsRepeated('two', { loss, ...options }))
  }

  for (const solver of ['selective', 'stream', 'indexed']) {
    it(`${solver}, with room for a few of the rows`, { skip: solver === 'indexed' && !isSlow }, async () => {
      const options: TrainOptions = { solver, loss: 'squared-hinge' }
      await assertAsRepeated('two', { ...options, memory: await memoryFor(stores.two, 1, options) })
    })
  }

  for (const [solver, loss] of [
    ['block', 'hinge'],
    ['selective', 'squared-hinge'],
    ['stream', 'logistic'],
  ]) {
    it(`three classes, side by side, ${solver}, ${loss}`, () => assertAsRepeated('three', { solver, loss }))
  }
  it('three classes, each by newton', () => assertAsRepeated('three', { solver: 'newton', loss: 'logistic' }))
  it('all classes at once', () => assertAsRepeated('three', { solver: 'block', multiclass: 'crammer-singer' }))
  it('all classes at once, by their softmax', () =>
    assertAsRepeated('three', { solver: 'newton', multiclass: 'softmax', loss: 'logistic' }))
  it('outliers are given up', { skip: !isSlow }, () =>
    assertAsRepeated('two', { solver: 'block', loss: 'ramp', outlierStart: 'full' }),
  )
  it('all rows of the store in memory', () => assertAsRepeated('two', { solver: 'dual' }))
  it('several trainers', { skip: !isSlow }, () =>
    assertAsRepeated('two', { solver: 'stream', loss: 'squared-hinge', trainers: 2 }),
  )

  it('pegasos comes as near as it does', async () => {
    const options: TrainOptions = { solver: 'pegasos', loss: 'hinge', maxPasses: 50, tolerance: undefined }
    const { primal } = await solved(stores.two, options)
    assertNear(primal!, await optimum('two', {}), 0.1)
  })

  it('and where text is read into a store first', async () => {
    const options: TrainOptions = { ...common, solver: 'stream', store: newStore(), format: 'vw' }
    const { primal } = await train(write(withWeights(two)), options).result
    assertNear(primal!, await optimum('two', {}), 1e-6)
  })
})

describe('a run over rows with weights', () => {
  for (const [solver, loss] of [
    ['block', 'hinge'],
    ['selective', 'squared-hinge'],
    ['stream', 'hinge'],
    ['indexed', 'squared-hinge'],
  ]) {
    it(`goes on from a checkpoint to the same bits, ${solver}, ${loss}`, {
      skip: solver === 'block' && !isSlow,
    }, async () => {
      const options: TrainOptions = { ...common, solver, loss, tolerance: 1e-4, checkpointSeconds: 0 }
      const memory = await memoryFor(stores.two, 1, options)
      if (solver === 'indexed') await buildIndex(stores.two, { threads: 1 })
      const whole = await told(copyStore(stores.two, newStore()), { ...options, memory })
      const store = copyStore(stores.two, newStore())
      await abortAfter(store, { ...options, memory }, 2)
      const { result } = await told(store, { ...options, memory, resume: true })
      assertSameModel(result, whole.result)
    })
  }
})
