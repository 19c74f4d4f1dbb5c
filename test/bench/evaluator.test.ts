import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import {
  CompensatedSum,
  describe as describeFile,
  evaluate,
  evaluateFiles,
  type LossName,
} from '../../bench/evaluator.ts'
import { type LinearModel, readLiblinearModel } from '../../bench/liblinear-model.ts'
import { forEachRow, parseNumber } from '../../bench/libsvm-text.ts'
import { noLiblinear } from '../train/liblinear.ts'

const near = (actual: number, expected: number, relative = 1e-14): void =>
  assert.ok(Math.abs(actual - expected) <= relative * Math.abs(expected), `${actual} is not ${expected}`)

describe("the harness's evaluator", () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'spillway-evaluator-'))
  })
  after(() => rmSync(folder, { recursive: true }))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  // Scores w·x: row 1: 1·1 − 2·0.5 = 0, row 2: 0.5·2 = 1, row 3: −2·1 = −2, row 4 (empty): 0.
  const data = '+1 1:1 2:0.5\n-1 3:2\n-1 2:1\n+1\n'
  const model: LinearModel = {
    labels: [1, -1],
    features: 3,
    bias: 0,
    count: 1,
    weights: Float64Array.of(1, -2, 0.5),
  }
  const log2 = Math.log(2)
  const expected: Record<LossName, number> = {
    // Margins 0, −1, 2, 0.
    hinge: 1 + 2 + 0 + 1,
    'squared-hinge': 1 + 4 + 0 + 1,
    logistic: log2 + Math.log(1 + Math.E) + Math.log(1 + Math.exp(-2)) + log2,
  }

  for (const loss of ['hinge', 'squared-hinge', 'logistic'] as const) {
    it(`computes ½‖w‖² + C Σ loss by hand: ${loss}`, async () => {
      const [result] = await evaluate(file('four', data), [model], { loss, cost: 3 })
      assert.equal(result.regularizer, (1 + 4 + 0.25) / 2)
      near(result.lossSum, expected[loss])
      near(result.primal, 2.625 + 3 * expected[loss])
      // A score of 0 means the second label, as in LIBLINEAR: only row 3 is right.
      assert.equal(result.accuracy, 1 / 4)
      assert.deepEqual([result.rows, result.nonzeros, result.features], [4, 4, 3])
    })
  }

  it('does not overflow where logistic losses are large', async () => {
    const path = file('large', '+1 1:-5000\n+1 1:5000\n')
    const one = { ...model, features: 1, weights: Float64Array.of(1) }
    const [{ lossSum }] = await evaluate(path, [one], { loss: 'logistic', cost: 1 })
    assert.equal(lossSum, 5000)
  })

  it('counts the bias weight in the norm and adds its feature to every row', async () => {
    const path = file(
      'bias.model',
      'solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel -1 1\nnr_feature 1\nbias 2\nw\n0.5 \n-1 \n',
    )
    // The first label is −1: row scores 0.5·4 − 2 = 0 and −2, margins 0 and 2.
    const [result] = await evaluateFiles(file('bias', '-1 1:4\n1 7:3\n'), [path], { loss: 'hinge', cost: 1 })
    assert.equal(result.regularizer, (0.25 + 1) / 2)
    assert.equal(result.lossSum, 1)
    assert.equal(result.accuracy, 1 / 2)
  })

  it('scales rows to unit length when asked, but not the bias', async () => {
    const biased = { ...model, features: 2, bias: 1, weights: Float64Array.of(1, 1, 0.25) }
    const [result] = await evaluate(file('unit', '1 1:3 2:4\n'), [biased], {
      loss: 'hinge',
      cost: 1,
      normalize: 'unit',
    })
    near(result.lossSum, 0)
    const [plain] = await evaluate(file('unit', '-1 1:3 2:4\n'), [biased], {
      loss: 'hinge',
      cost: 1,
      normalize: 'unit',
    })
    near(plain.lossSum, 1 + 1.4 + 0.25)
  })

  it('sums one-against-the-rest problems over more than two classes', async () => {
    const text = 'solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 3\nlabel 1 2 3\nnr_feature 2\nbias -1\nw\n1 0 -1 \n0 2 0 \n'
    const three = await readLiblinearModel(file('three.model', text))
    assert.deepEqual([...three.weights], [1, 0, -1, 0, 2, 0])
    const [result] = await evaluate(file('three', '2 2:1\n3 1:-1\n'), [three], { loss: 'hinge', cost: 1 })
    // Scores 0 2 0, margins 0 2 0; scores −1 0 1, margins 1 0 1.
    assert.equal(result.lossSum, 2 + 1)
    assert.equal(result.regularizer, 3)
    assert.equal(result.accuracy, 1)
  })

  it('gives the same for several models in one reading as for each alone', async () => {
    const path = file('four', data)
    const other = { ...model, labels: [-1, 1], weights: Float64Array.of(-1, 2, -0.5) }
    const together = await evaluate(path, [model, other], { loss: 'hinge', cost: 1 })
    assert.equal(together[0].primal, together[1].primal)
    assert.deepEqual(together[0], (await evaluate(path, [model], { loss: 'hinge', cost: 1 }))[0])
  })

  it('loses nothing in long sums', () => {
    const sum = new CompensatedSum()
    sum.add(1e16)
    for (let k = 0; k < 1000; k++) sum.add(0.5)
    sum.add(-1e16)
    assert.equal(sum.value, 500)
  })

  it('reads numbers exactly as Number() does', () => {
    const check = (text: string): void => {
      const bytes = Buffer.from(text)
      assert.equal(parseNumber(bytes, 0, bytes.length), Number(text), text)
    }
    for (const text of ['0', '-0.5', '+1', '.5', '3.', '1e-7', '-0.83348875753096863', '9007199254740993', '5e-324'])
      check(text)
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => check(String(value))))
    fc.assert(fc.property(fc.double({ min: -1e6, max: 1e6, noNaN: true }), value => check(value.toPrecision(7))))
    for (const text of ['', '-', '.', 'x', '1x']) {
      assert.throws(() => parseNumber(Buffer.from(text), 0, text.length), /expected a number/)
    }
  })

  it('reads rows across chunks, with comments, blank lines and Windows line ends', async () => {
    // Longer than a chunk, so that rows are cut in two.
    const lines = Array.from(
      { length: 60_000 },
      (_, k) => `${k % 2 ? '+1' : '-1'} ${k + 1}:${k}.5\t${k + 9}:-1e-3 # row ${k}`,
    )
    const path = file('long', `\r\n# a comment\n${lines.join('\r\n')}`)
    let k = 0
    await forEachRow(path, ({ label, length, indices, values }) => {
      assert.deepEqual([label, length, indices[0], values[0]], [k % 2 ? 1 : -1, 2, k + 1, k + 0.5])
      assert.deepEqual([indices[1], values[1]], [k + 9, -0.001])
      k++
    })
    assert.equal(k, 60_000)
    assert.deepEqual(await describeFile(path), { rows: 60_000, nonzeros: 120_000, features: 60_008 })
  })

  it('says where a file cannot be read', async () => {
    for (const [text, message] of [
      ['1 1:1\n1 x:1\n', /:2: expected INDEX:VALUE, got "x:1"/],
      ['1 1\n', /:1: expected INDEX:VALUE, got "1"/],
      ['1 1:\n', /:1: expected a number, got ""/],
    ] as const) {
      await assert.rejects(
        forEachRow(file('bad', text), () => {}),
        message,
      )
    }
    await assert.rejects(readLiblinearModel(file('no.model', 'nothing\n')), /no line "w"/)
    const short = 'solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n1\n'
    await assert.rejects(readLiblinearModel(file('short.model', short)), /1 weights; its header announces 2/)
  })

  describe('beside LIBLINEAR', () => {
    const solvers: [LossName, number][] = [
      ['hinge', 3],
      ['squared-hinge', 1],
      ['logistic', 7],
    ]
    for (const bias of [-1, 1]) {
      for (const [loss, solver] of solvers) {
        it(`agrees with its objective at the optimum: ${loss}, bias ${bias}`, { skip: noLiblinear }, async () => {
          const path = file('noisy', noisyRows(400, 12))
          const out = join(folder, 'liblinear.model')
          const words = ['-s', String(solver), '-c', '0.7', '-B', String(bias), '-e', '1e-8', path, out]
          const printed = execFileSync('liblinear-train', words, {
            encoding: 'utf8',
            stdio: ['ignore', 'pipe', 'ignore'],
          })
          // The dual objective as it is minimised: its negative is the primal's at the optimum.
          const dual = -Number(/^Objective value = (\S+)/m.exec(printed)![1])
          const [{ primal, accuracy }] = await evaluateFiles(path, [out], { loss, cost: 0.7 })
          near(primal, dual, 1e-6)
          const predicted = execFileSync('liblinear-predict', [path, out, '/dev/null'], { encoding: 'utf8' })
          assert.equal(Math.round(accuracy * 400), Number(/\((\d+)\/400\)/.exec(predicted)![1]))
        })
      }
    }
  })
})

/** Labels that follow a hidden direction most of the time, from a fixed generator. */
function noisyRows(rows: number, features: number): string {
  let state = 1
  const random = (): number => {
    state = (state * 48271) % 2147483647
    return state / 2147483647
  }
  let text = ''
  for (let i = 0; i < rows; i++) {
    let score = 2 * random() - 1
    let line = ''
    for (let j = 1; j <= features; j++) {
      if (random() < 0.4) continue
      const value = Math.round((2 * random() - 1) * 1000) / 1000
      score += (j % 3) * value - value
      line += ` ${j}:${value}`
    }
    text += `${score > 0 ? '+1' : '-1'}${line}\n`
  }
  return text
}
