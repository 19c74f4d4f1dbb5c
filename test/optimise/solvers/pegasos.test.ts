// Pegasos by blocks, held against the formulas written out on plain arrays.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Arena } from '../../../src/numeric/arena.ts'
import { drawFrom } from '../../../src/numeric/draw.ts'
import { train } from '../../../src/train/train.ts'
import { fastFolder } from '../../folders.ts'
import { bitsOf } from '../../numeric/reference.ts'
import {
  add,
  distance,
  dot,
  interrupted,
  makeStore,
  squared,
  type TestRow,
  type TestStore,
  trained,
} from './block-fixture.ts'

const folder = fastFolder()
const arena = new Arena()

/** The order of the rows that a seed, a pass and a block draw. */
function drawnOrder(rows: number, parts: number[]): number[] {
  const order = arena.allocate(rows * 4, 'a test')
  const state = arena.allocate(8, 'a test')
  arena.numeric.iota(order, rows)
  arena.u64(state, 1)[0] = drawFrom(parts)
  arena.numeric.shuffle(order, rows, state)
  return [...arena.u32(order, rows)]
}

interface Costs {
  positive: number
  negative: number
  bias: number
}

/** (11)–(13) of the paper with a cost for each row: the gradient of the problem divided by the sum of all costs. */
class Reference {
  readonly w: number[]
  readonly #costs: Costs
  readonly #all: number
  readonly #sum: number
  #t = 0

  constructor({ features, rows }: TestStore, costs: Costs) {
    this.w = new Array<number>(features + 1).fill(0)
    this.#costs = costs
    this.#all = rows.length
    this.#sum = rows.reduce((sum, row) => sum + this.#cost(row), 0)
  }

  #cost(row: TestRow): number {
    return row.y > 0 ? this.#costs.positive : this.#costs.negative
  }

  /** The losses of the batch before the update. */
  update(batch: TestRow[]): number {
    const { w } = this
    const { bias } = this.#costs
    this.#t++
    const inside = batch.filter(row => row.y * dot(row, w, bias) < 1)
    const loss = inside.reduce((sum, row) => sum + this.#cost(row) * (1 - row.y * dot(row, w, bias)), 0)
    const gradient = w.map(x => x / this.#sum)
    for (const row of inside) {
      add(row, (-row.y * ((this.#all * this.#cost(row)) / this.#sum)) / batch.length, gradient, bias)
    }
    const eta = this.#sum / this.#t
    w.forEach((x, j) => {
      w[j] = x - eta * gradient[j]
    })
    const factor = Math.min(1, Math.sqrt(this.#sum / squared(w)))
    w.forEach((x, j) => {
      w[j] = x * factor
    })
    return loss
  }
}

describe('the solver pegasos', () => {
  let store: TestStore
  before(async () => {
    store = await makeStore(folder, 'pegasos')
  })

  function reference(
    costs: Costs,
    batch: 'row' | 'block',
    passes: number,
    seed: number,
  ): { w: number[]; loss: number } {
    const mine = new Reference(store, costs)
    let loss = 0
    for (let pass = 0; pass < passes; pass++) {
      loss = 0
      for (const [k, rows] of store.blocks.entries()) {
        if (batch === 'block') loss += mine.update(rows)
        else for (const i of drawnOrder(rows.length, [seed, pass, k])) loss += mine.update([rows[i]])
      }
    }
    return { w: mine.w, loss }
  }

  for (const batch of ['row', 'block'] as const) {
    for (const [cost, weights, bias] of [
      [1, undefined, 0],
      [0.01, undefined, 1],
      // The steps of a whole block are too long at a large cost: nothing of them is better than weights of 0.
      [batch === 'row' ? 100 : 0.1, undefined, 0],
      [2, { '+1': 5, '-1': 0.25 }, 1.5],
    ] as const) {
      it(`--batch ${batch} makes the updates of the paper: C ${cost}, ${JSON.stringify(weights)}, bias ${bias}`, async () => {
        for (const maxPasses of batch === 'row' ? [1, 4] : [4]) {
          const { own, result } = await trained(store, {
            ...{ solver: 'pegasos', batch, cost, bias, classWeights: weights ?? {}, maxPasses, seed: 7 },
            blockOrder: 'fixed',
          })
          const costs = { positive: cost * (weights?.['+1'] ?? 1), negative: cost * (weights?.['-1'] ?? 1), bias }
          const mine = reference(costs, batch, maxPasses, 7)
          assert.ok(distance(own, mine.w) <= 1e-9, `${distance(own, mine.w)} apart`)
          assert.deepEqual([result.passes, result.exitReason], [maxPasses, 'max-passes'])
          assert.deepEqual([result.dual, result.gap, result.supportVectors], [null, null, null])
        }
      })
    }
  }

  it('tells the objective as it met the rows, at the end of each pass', async () => {
    const estimates: number[] = []
    const run = train(store.path, {
      memory: store.memory,
      solver: 'pegasos',
      blockOrder: 'fixed',
      maxPasses: 3,
      threads: 1,
    })
    for await (const record of run) {
      if (record.stage === 'train' && !record.certified && record.pass === 3) estimates.push(record.primal!)
    }
    const mine = reference({ positive: 1, negative: 1, bias: 0 }, 'row', 3, 1)
    const expected = 0.5 * squared(mine.w) + mine.loss
    assert.equal(estimates.length, 1)
    assert.ok(Math.abs(estimates[0] - expected) <= 1e-9 * expected, `${estimates[0]}, expected ${expected}`)
  })

  it('keeps its digits where the first steps are projected thousands of times', async () => {
    // √(lC)·‖x‖ is far above 1 for the whole run, so that the scalar would fall below every number there is.
    const { own } = await trained(store, { solver: 'pegasos', cost: 1e6, blockOrder: 'fixed', maxPasses: 5 })
    const mine = reference({ positive: 1e6, negative: 1e6, bias: 0 }, 'row', 5, 1)
    assert.ok(own.every(Number.isFinite))
    assert.ok(distance(own, mine.w) <= 1e-9, `${distance(own, mine.w)} apart`)
  })

  it('makes ten passes unless told otherwise', async () => {
    const { result } = await trained(store, { solver: 'pegasos' })
    assert.equal(result.passes, 10)
  })

  it('has f32 weights that are the f64 ones to their precision', async () => {
    for (const batch of ['row', 'block'] as const) {
      const options = { solver: 'pegasos', batch, bias: 1, maxPasses: 3 } as const
      const wide = await trained(store, options)
      const narrow = await trained(store, { ...options, weights: 'f32' })
      assert.ok(distance(narrow.w, wide.w) <= 1e-4, `${batch}: ${distance(narrow.w, wide.w)} apart`)
      assert.notDeepEqual(bitsOf(narrow.w), bitsOf(wide.w))
    }
  })

  it('comes near the optimum, with class weights too', async () => {
    for (const classWeights of [{}, { '+1': 4 }] as Record<string, number>[]) {
      const problem = { cost: 0.1, bias: 1, classWeights }
      const optimum = (await trained(store, { ...problem, solver: 'dual', tolerance: 1e-8 })).result.primal!
      for (const [batch, maxPasses] of [
        ['row', 40],
        ['block', 50],
      ] as const) {
        const { result } = await trained(store, { ...problem, solver: 'pegasos', batch, maxPasses })
        const above = result.primal! / optimum - 1
        assert.ok(above >= -1e-9 && above <= 0.03, `--batch ${batch} is ${above} above the optimum`)
      }
    }
  })

  it('goes on after an abort to the same bits', async () => {
    for (const batch of ['row', 'block'] as const) {
      const options = { solver: 'pegasos', batch, bias: 1, cost: 3, maxPasses: 8, checkpointSeconds: 0 } as const
      const whole = await trained(store, options)
      const part = await interrupted(store, options, 7)
      assert.equal(part.exitReason, 'interrupted')
      assert.ok(part.passes < 8)
      const rest = await trained(store, { ...options, resume: true })
      assert.equal(rest.result.exitReason, 'max-passes')
      assert.deepEqual(bitsOf(rest.w), bitsOf(whole.w))
      assert.equal(rest.result.primal, whole.result.primal)
    }
  })

  it('goes on after its last pass as if there had been no stop', async () => {
    const options = { solver: 'pegasos', cost: 5 } as const
    const whole = await trained(store, { ...options, maxPasses: 6 })
    await trained(store, { ...options, maxPasses: 3 })
    const rest = await trained(store, { ...options, maxPasses: 6, resume: true })
    assert.equal(rest.result.passes, 6)
    assert.deepEqual(bitsOf(rest.w), bitsOf(whole.w))
  })

  it('does not resume with another batch', async () => {
    await trained(store, { solver: 'pegasos', maxPasses: 1, cost: 9 })
    await assert.rejects(
      trained(store, { solver: 'pegasos', maxPasses: 2, cost: 9, batch: 'block', resume: true }),
      /^SpillwayError: the checkpoint was written with batch "row", this run has "block"$/,
    )
  })

  it('refuses in words what it cannot do', async () => {
    for (const loss of ['squared-hinge', 'logistic']) {
      await assert.rejects(trained(store, { solver: 'pegasos', loss }), {
        message: `the ${loss} loss is not compatible with solver pegasos: missing a slope that is the same wherever there is a loss (the hinge loss has it)`,
      })
    }
    await assert.rejects(trained(store, { solver: 'pegasos', innerPasses: 2 }), {
      message: 'the option innerPasses is not compatible with solver pegasos: it would be ignored',
    })
    await assert.rejects(trained(store, { solver: 'block', batch: 'row' }), {
      message: 'the option batch is not compatible with solver block: it would be ignored',
    })
  })
})
