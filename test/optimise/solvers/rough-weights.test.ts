// First sweeps on weights in f32: the optimum of exact ones, the same bits for any number of threads, and when exact ones take over.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LEAST_FOR_ROUGH, RoughWeights } from '../../../src/optimise/solvers/rough-weights.ts'
import { solved } from './clicks-fixture.ts'

/** Rough weights however small the data is, and never. */
const rough = { weights: 0, row: 0, nonzeros: 0 }
const exactly = { weights: Number.POSITIVE_INFINITY, row: 0, nonzeros: 0 }

describe('first sweeps on weights in f32', () => {
  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    for (const many of [0, Number.POSITIVE_INFINITY]) {
      it(`${loss}, ${many === 0 ? 'many rows' : 'few rows'}: the optimum of exact weights, the same bits for any number of threads`, async () => {
        for (const given of [{}, { cost: 20, bias: 1 }]) {
          const [one, two, exact] = [
            await solved({ loss, ...given, threads: 1, settings: { many, rough } }),
            await solved({ loss, ...given, threads: 2, settings: { many, rough } }),
            await solved({ loss, ...given, settings: { many, rough: exactly } }),
          ]
          assert.deepEqual(two.w, one.w)
          assert.notDeepEqual(exact.w, one.w, 'weights were rough at first')
          assert.ok(Math.abs(one.primal - exact.primal) <= 2e-7 * exact.primal, `${one.primal}, exact ${exact.primal}`)
        }
      })
    }
  }

  it('end with few of them: the gap that is certified is the one of rounded weights', async () => {
    const tolerance = 1e-2
    const best = await solved({ settings: { rough: exactly } })
    const { primal, dual, passes } = await solved({ settings: { rough, tolerance } })
    assert.ok(passes < 24, `${passes} passes`)
    assert.ok(primal - dual <= tolerance * primal)
    assert.ok(dual <= best.primal && best.primal <= primal, `${dual} to ${primal}, best ${best.primal}`)
  })

  it('give way to exact ones after 24 sweeps, or where rounding would show', () => {
    assert.equal(RoughWeights.areDone(23, 2e-5, 1), false)
    assert.equal(RoughWeights.areDone(24, 1, 1), true)
    assert.equal(RoughWeights.areDone(3, 1e-5, 1), true)
  })

  it('are not for few weights: the bits stay', async () => {
    const [few, exact] = [await solved({ settings: { rough: LEAST_FOR_ROUGH } }), await solved({})]
    assert.deepEqual(few, exact)
  })
})
