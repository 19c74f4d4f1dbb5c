// Calibrations in model files: they come back as they were, and a file that lies about them is refused.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { describeModel } from '../../src/cli/inspect-model.ts'
import { SpillwayError } from '../../src/errors.ts'
import { Xxh64 } from '../../src/files/xxh64.ts'
import { type Calibration, calibrationsOf, fitCalibration, requireCalibrations } from '../../src/model/calibration.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { liblinearWarnings, readLiblinear, writeLiblinear } from '../../src/model/liblinear-file.ts'
import { type Model, makeModel } from '../../src/model/model.ts'
import { decodeModel, encodeModel } from '../../src/model/own-file.ts'
import { goldenModel, smallModel } from './some-models.ts'

const sigmoid: Calibration = { kind: 'sigmoid', slope: 1.5, offset: -0.25 }
const isotonic: Calibration = { kind: 'isotonic', scores: [-1.5, 0.1, 1 / 3], probabilities: [0, 0.5, 0.9] }

/** A file that says what makeModel would refuse. */
function fileWith(calibrations: unknown, model: Model = smallModel()): Uint8Array {
  return encodeModel({ ...model, calibrations: calibrations as Calibration[] })
}

/** The right checksum under changed bytes. */
function sealed(bytes: Uint8Array): Uint8Array {
  const end = bytes.length - 8
  const { high, low } = new Xxh64().update(bytes.subarray(0, end)).digest()
  const view = new DataView(bytes.buffer)
  view.setUint32(end, low, true)
  view.setUint32(end + 4, high, true)
  return bytes
}

describe('calibrations in model files', () => {
  it('come back as they were fitted', () => {
    const points = fc.array(
      fc.record({ score: fc.double({ noNaN: true, noDefaultInfinity: true }), positive: fc.nat(1) }),
      {
        minLength: 1,
        maxLength: 30,
      },
    )
    fc.assert(
      fc.property(fc.constantFrom('sigmoid' as const, 'isotonic' as const), points, (kind, list) => {
        const scores = Float64Array.from(list, p => p.score)
        const calibration = fitCalibration(
          kind,
          scores,
          Uint8Array.from(list, p => p.positive),
        )
        const model = smallModel({ calibrations: [calibration] })
        assert.deepEqual(decodeModel(encodeModel(model)), model)
      }),
      { numRuns: 200 },
    )
    const three = makeModel({ ...goldenModel(), calibrations: [sigmoid, isotonic, sigmoid] })
    assert.deepEqual(decodeModel(encodeModel(three)), three)
  })

  it('are in the JSON, and inspect tells of them', () => {
    const model = smallModel({ calibrations: [isotonic] })
    const json = JSON.parse(Buffer.concat([...writeJson(model)]).toString())
    assert.deepEqual(json.calibrations, [isotonic])
    const line = (calibrated: Model): string | undefined =>
      describeModel(calibrated, 'm').lines.find(text => text.startsWith('calibrated'))
    assert.equal(line(model), 'calibrated   isotonic, 3 points')
    assert.equal(
      line(smallModel({ calibrations: [sigmoid] })),
      'calibrated   sigmoid, 1 / (1 + e^−(1.5 · score − 0.25))',
    )
    const three = makeModel({ ...goldenModel(), calibrations: [sigmoid, sigmoid, sigmoid] })
    assert.equal(line(three), 'calibrated   sigmoid, one for each class')
    assert.equal(line(smallModel()), undefined)
  })

  it("are left out of LIBLINEAR's file, with a word about it", () => {
    const model = smallModel({ calibrations: [sigmoid] })
    assert.match(liblinearWarnings(model).join('\n'), /calibration of its scores is left out/)
    assert.doesNotMatch(liblinearWarnings(smallModel()).join('\n'), /calibration/)
    const bytes = new Uint8Array(Buffer.concat([...writeLiblinear(model)]))
    assert.equal(readLiblinear(bytes).calibrations, undefined)
  })

  it('leave no trace in a model that has none', () => {
    for (const model of [smallModel(), goldenModel()]) {
      for (const bytes of [encodeModel(model), Buffer.concat([...writeJson(model)])]) {
        assert.ok(!Buffer.from(bytes).includes('calibration'))
      }
      assert.ok(!('calibrations' in decodeModel(encodeModel(model))))
    }
  })

  it('are checked when a file is read', () => {
    const refused = (calibrations: unknown, words: RegExp): void =>
      assert.throws(
        () => decodeModel(fileWith(calibrations), 'my.model'),
        (error: Error) => {
          assert.ok(error instanceof SpillwayError, String(error.stack))
          assert.match(error.message, /my\.model/)
          assert.match(error.message, words)
          assert.ok(error.message.length < 300)
          return true
        },
      )
    refused({}, /"calibrations" is \{\}; expected a list/)
    refused([3], /calibrations"?\[0\] is 3; expected an object/)
    refused([], /it has 0 calibrations for 1 weight vectors/)
    refused([sigmoid, sigmoid], /it has 2 calibrations for 1 weight vectors/)
    refused([{ kind: 'beta' }], /\.kind is "beta"; expected one of sigmoid, isotonic/)
    refused([{ kind: 'sigmoid', slope: 'x', offset: 0 }], /\.slope is "x"; expected a number/)
    refused([{ kind: 'sigmoid', slope: 1 }], /\.offset is missing; expected a number/)
    const steps = (scores: unknown, probabilities: unknown): unknown[] => [{ kind: 'isotonic', scores, probabilities }]
    refused(steps([0, null], [0, 1]), /\.scores is \[0,null\]; expected a list of numbers/)
    refused(steps('0', [0]), /\.scores is "0"; expected a list/)
    refused(steps([], []), /calibration 1 has 0 scores and 0 probabilities/)
    refused(steps([1, 2], [0.5]), /calibration 1 has 2 scores and 1 probabilities; expected as many of both/)
    refused(steps([1, 1], [0, 1]), /scores that do not increase: 1, then 1/)
    refused(steps([1, 2, 0], [0, 1, 1]), /scores that do not increase: 2, then 0/)
    refused(steps([1, 2], [0.5, 0.25]), /probabilities that fall: 0\.5, then 0\.25/)
    refused(steps([1, 2], [0.5, 1.5]), /the probability 1\.5; expected a number from 0 to 1/)
    refused(steps([1, 2], [-0.5, 1]), /the probability -0\.5; expected a number from 0 to 1/)
    refused(steps(new Array(100_000).fill(1), new Array(100_000).fill('y')), /expected a list of numbers/)
    // JSON reads a number beyond the largest as infinite.
    const huge = fileWith(steps([1, 1e208], [0, 1]))
    const at = Buffer.from(huge).indexOf('1e+208')
    huge.set(Buffer.from('1e+999'), at)
    assert.throws(() => decodeModel(sealed(huge), 'm'), /the score Infinity; expected a finite number/)
    assert.throws(
      () => makeModel({ ...smallModel(), calibrations: [{ ...isotonic, scores: [0, 1, Infinity] }] }),
      /the score Infinity/,
    )
    assert.throws(() => makeModel({ ...smallModel(), calibrations: [{ ...sigmoid, slope: Number.NaN }] }), /not finite/)
  })

  it('are needed unless the loss is logistic', () => {
    assert.equal(calibrationsOf(smallModel()), undefined)
    assert.throws(() => requireCalibrations(smallModel()), {
      name: 'SpillwayError',
      message: /scores are not probabilities: its loss is hinge, and it was not calibrated/,
      advice: /train --calibrate/,
    })
    const plain = { kind: 'sigmoid', slope: 1, offset: 0 }
    assert.deepEqual(calibrationsOf(smallModel({ loss: 'logistic' })), [plain])
    assert.deepEqual(calibrationsOf(makeModel({ ...goldenModel(), loss: 'logistic' })), [plain, plain, plain])
    assert.deepEqual(calibrationsOf(smallModel({ loss: 'logistic', calibrations: [isotonic] })), [isotonic])
  })
})
