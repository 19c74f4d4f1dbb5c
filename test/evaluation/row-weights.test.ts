// Evaluations of rows with weights: a row of weight 3 counts as the row three times.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { crossValidate, predict, type TrainOptions, type TrainResult, train, tune } from '../../src/index.ts'
import { fitCalibration, probabilityOf } from '../../src/model/calibration.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { repeatedOf, textsIn, three, two, weightOf, withoutWeights, withWeights } from '../out-of-core/weighted-rows.ts'

const { write, storeOf } = textsIn(fastFolder())

function assertNear(found: number, expected: number, most: number, what: string): void {
  assert.ok(Math.abs(found - expected) <= most * Math.abs(expected), `${what}: ${found}, expected ${expected}`)
}

describe('evaluations of rows with weights', () => {
  const report = async (data: string, model: TrainResult['model']) => {
    const { accuracy, correct, weight, evaluation } = await predict(data, model, { threads: 1, evaluate: true })
    const { rows: _, weight: all, ...figures } = evaluation!
    return { accuracy, correct, weight, all, figures }
  }

  for (const [classes, lines] of [
    ['two classes', two],
    ['three classes', three],
  ] as const) {
    it(`are those of repeated rows, exactly: ${classes}, of text and of stores`, async () => {
      const { model } = await train(write(withoutWeights(lines)), { threads: 1, loss: 'logistic', tolerance: 0.1 })
        .result
      const repeated = write(withoutWeights(repeatedOf(lines)))
      const weighted = write(withWeights(lines))
      const expected = await report(repeated, model)
      for (const data of [weighted, await storeOf(withWeights(lines))]) {
        const got = await report(data, model)
        assert.equal(got.weight, repeatedOf(lines).length)
        assert.equal(got.all, got.weight)
        assert.deepEqual([got.accuracy, got.correct], [expected.accuracy, expected.correct])
        const { logLoss, ...figures } = got.figures
        const { logLoss: expectedLoss, ...others } = expected.figures
        assert.deepEqual(figures, others)
        assertNear(logLoss!, expectedLoss!, 1e-12, 'log loss')
      }
      assert.equal(expected.weight, undefined)
    })
  }

  it('are made of folds, in memory and over blocks', async () => {
    const options = { folds: 3, threads: 1, tolerance: 1e-4, cost: 0.1 }
    const path = write(withWeights(two))
    const [inMemory, overBlocks] = [
      await crossValidate(path, options),
      await crossValidate(await storeOf(withWeights(two)), { ...options, solver: 'block' }),
    ]
    for (const { costs, rowWeights } of [inMemory, overBlocks]) {
      assert.equal(rowWeights, true)
      assert.ok(costs[0].accuracy > 0.6 && costs[0].accuracy <= 1)
    }
    const plain = await crossValidate(write(withoutWeights(two)), options)
    assert.equal(plain.rowWeights, undefined)
    // Where every row weighs the same, shares are those without weights.
    const alike = await crossValidate(write(withWeights(two, 4)), {
      ...options,
      cost: 0.025,
    })
    assert.equal(alike.costs[0].accuracy, plain.costs[0].accuracy)
    const { best } = await tune(path, { folds: 3, threads: 1, costs: [0.01, 0.1], final: 'none' })
    assert.ok(best.accuracy > 0.6)
  })

  it('calibrate as repeated rows do', () => {
    const scores = two.map((_, k) => Math.sin(k * 1.7) * 3)
    const positive = scores.map((score, k) => (score + Math.cos(k) > 0 ? 1 : 0))
    const weights = Float64Array.from(scores, (_, k) => weightOf(k))
    const repeat = (values: number[]): number[] =>
      values.flatMap((value, k) => Array.from({ length: weightOf(k) }, () => value))
    const fit = (kind: 'sigmoid' | 'isotonic') => [
      fitCalibration(kind, Float64Array.from(scores), Uint8Array.from(positive), weights),
      fitCalibration(kind, Float64Array.from(repeat(scores)), Uint8Array.from(repeat(positive))),
    ]
    const [isotonic, expected] = fit('isotonic')
    assert.deepEqual(isotonic, expected)
    for (const score of [-2, -0.5, 0, 1, 3]) {
      const [got, wanted] = fit('sigmoid').map(calibration => probabilityOf(calibration, score))
      assertNear(got, wanted, 1e-9, `at ${score}`)
    }
  })

  it('calibrate models in memory and over blocks', async () => {
    const options: TrainOptions = { threads: 1, cost: 0.1, calibrate: 'sigmoid' }
    const plain = await train(write(withoutWeights(two)), options).result
    const weighted = await train(write(withWeights(two)), options).result
    assert.notDeepEqual(weighted.model.calibrations, plain.model.calibrations)
    const overBlocks = await train(await storeOf(withWeights(two)), { ...options, solver: 'block' }).result
    const [inMemory, inBlocks] = [weighted, overBlocks].map(({ model }) => probabilityOf(model.calibrations![0], 1))
    assertNear(inBlocks, inMemory, 0.2, 'the probability of a score of 1')
  })
})
