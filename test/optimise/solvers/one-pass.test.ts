// The one-pass ball, held against the geometry: points, centres and radii written out in full.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { fastFolder } from '../../folders.ts'
import { bitsOf, randomNumbers } from '../../numeric/reference.ts'
import {
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

/** A ball in the full space: a direction for each feature, the bias, and one more for each row. */
interface FullBall {
  centre: number[]
  radius: number
}

const between = (a: number[], b: number[]): number => Math.sqrt(squared(a.map((x, j) => x - b[j])))

/** The point that row i is: y x, and 1/√(2C) in the direction of its own. */
function pointOf(row: TestRow, i: number, features: number, rows: number, cost: number, bias: number): number[] {
  const point = new Array<number>(features + 1 + rows).fill(0)
  row.indices.forEach((index, k) => {
    point[index] = row.y * row.values[k]
  })
  point[features] = row.y * bias
  point[features + 1 + i] = 1 / Math.sqrt(2 * cost)
  return point
}

/** The smallest ball around a ball and a point outside: its diameter runs from the point to the far side of the ball. */
function around({ centre, radius }: FullBall, point: number[]): FullBall {
  const d = between(centre, point)
  if (d < radius) return { centre, radius }
  const far = centre.map((x, j) => x - ((point[j] - x) / d) * radius)
  return { centre: far.map((x, j) => (x + point[j]) / 2), radius: (d + radius) / 2 }
}

/** w of the centre divided by the centre's squared length. */
function reference({ rows, features }: TestStore, cost: number, bias: number): { w: number[]; balls: FullBall[] } {
  const points = rows.map((row, i) => pointOf(row, i, features, rows.length, cost, bias))
  let ball: FullBall = { centre: points[0], radius: 0 }
  const balls = [ball]
  for (const point of points.slice(1)) {
    ball = around(ball, point)
    balls.push(ball)
  }
  const square = squared(ball.centre)
  return { w: ball.centre.slice(0, features + 1).map(x => x / square), balls }
}

describe('the solver one-pass', () => {
  let store: TestStore
  const base = { solver: 'one-pass', loss: 'squared-hinge', blockOrder: 'fixed' } as const
  before(async () => {
    store = await makeStore(folder, 'one-pass')
  })

  it('grows the smallest ball around the ball before and the row', async () => {
    for (const [cost, bias] of [
      [1, 0],
      [0.5, 1],
      [0.01, 0],
      [20, 2],
    ]) {
      const { own, result } = await trained(store, { ...base, cost, bias })
      const { w: mine, balls } = reference(store, cost, bias)
      assert.ok(distance(own, mine) <= 1e-9, `C ${cost}, bias ${bias}: ${distance(own, mine)} apart`)
      assert.deepEqual([result.passes, result.exitReason, result.gap], [1, 'max-passes', null])
      // What makes the reference one: each ball encloses the one before, and so every row up to it.
      const random = randomNumbers(5)
      for (const [k, ball] of balls.entries()) {
        if (k === 0) continue
        const { centre, radius } = balls[k - 1]
        assert.ok(between(centre, ball.centre) + radius <= ball.radius * (1 + 1e-12))
        const i = Math.floor(random() * (k + 1))
        for (const row of [k, i]) {
          const point = pointOf(store.rows[row], row, store.features, store.rows.length, cost, bias)
          assert.ok(between(ball.centre, point) <= ball.radius * (1 + 1e-12), `row ${row} is outside of ball ${k}`)
        }
      }
    }
  })

  it('follows the short formulas of its head: β, ξ² and R', () => {
    const cost = 0.3
    const { balls } = reference(store, cost, 1)
    let w = new Array<number>(store.features + 1).fill(0)
    let radius = 0
    let slack = 0
    for (const [i, row] of store.rows.entries()) {
      const point = pointOf(row, i, store.features, store.rows.length, cost, 1).slice(0, store.features + 1)
      if (i === 0) {
        w = point
        slack = 1 / (2 * cost)
      } else {
        const length = squared(w) - 2 * row.y * dot(row, w, 1) + squared(point)
        const d = Math.sqrt(length + slack + 1 / (2 * cost))
        if (d >= radius) {
          const beta = 0.5 * (1 - radius / d)
          w = w.map((x, j) => x + beta * (point[j] - x))
          slack = slack * (1 - beta) ** 2 + beta ** 2 / (2 * cost)
          radius += 0.5 * (d - radius)
        }
      }
      const { centre, radius: full } = balls[i]
      assert.ok(Math.abs(radius - full) <= 1e-12 * full)
      assert.ok(Math.abs(slack - squared(centre.slice(store.features + 1))) <= 1e-12 * slack)
      assert.ok(between(w, centre.slice(0, store.features + 1)) <= 1e-12)
    }
  })

  it('has f32 weights that are the f64 ones to their precision', async () => {
    const wide = await trained(store, base)
    const narrow = await trained(store, { ...base, weights: 'f32' })
    assert.ok(distance(narrow.w, wide.w) <= 1e-4)
    assert.notDeepEqual(bitsOf(narrow.w), bitsOf(wide.w))
  })

  it('comes to an objective far below that of no weights', async () => {
    const easy = await makeStore(folder, 'easy', { rows: 2000, features: 8, noise: 0, seed: 11 })
    const options = { loss: 'squared-hinge', normalize: 'unit', cost: 1 } as const
    const best = (await trained(easy, { ...options, solver: 'dual' })).result
    const { result } = await trained(easy, { ...options, solver: 'one-pass' })
    assert.ok(result.primal! >= best.dual!)
    assert.ok(result.primal! < 0.8 * easy.rows.length, `${result.primal} after one pass, ${best.primal} at best`)
  })

  it('takes blocks in the order that is drawn', async () => {
    const one = await trained(store, { ...base, blockOrder: 'random', seed: 1 })
    const again = await trained(store, { ...base, blockOrder: 'random', seed: 1 })
    const other = await trained(store, { ...base, blockOrder: 'random', seed: 2 })
    assert.deepEqual(bitsOf(again.w), bitsOf(one.w))
    assert.notDeepEqual(bitsOf(other.w), bitsOf(one.w))
  })

  it('goes on after an abort to the same bits', async () => {
    const many = await makeStore(folder, 'many', { rows: 300, blocks: 10, seed: 9 })
    const options = { ...base, blockOrder: 'random', bias: 1, checkpointSeconds: 0 } as const
    const whole = await trained(many, options)
    const part = await interrupted(many, options, 3)
    assert.deepEqual([part.exitReason, part.primal], ['interrupted', null])
    const rest = await trained(many, { ...options, resume: true })
    assert.deepEqual([rest.result.exitReason, rest.result.passes], ['max-passes', 1])
    assert.deepEqual(bitsOf(rest.w), bitsOf(whole.w))
    assert.equal(rest.result.primal, whole.result.primal)
    // Nothing is learned twice when a run is resumed that had come to its end.
    const after = await trained(many, { ...options, resume: true })
    assert.deepEqual(bitsOf(after.w), bitsOf(whole.w))
  })

  it('refuses in words what it cannot do', async () => {
    for (const loss of ['hinge', 'logistic']) {
      await assert.rejects(trained(store, { solver: 'one-pass', loss }), {
        message: `the ${loss} loss is not compatible with solver one-pass: missing the squared slack that makes its problem one of balls (the squared-hinge loss has it)`,
      })
    }
    await assert.rejects(trained(store, { ...base, maxPasses: 2 }), {
      message: 'maxPasses is 2, and solver one-pass makes a single pass: more would be ignored',
    })
    await assert.rejects(trained(store, { ...base, classWeights: { '+1': 2 } }), {
      message: 'class weights are not compatible with solver one-pass: it knows one cost for all rows',
    })
    await assert.rejects(trained(store, { ...base, batch: 'row' }), {
      message: 'the option batch is not compatible with solver one-pass: it would be ignored',
    })
  })
})
