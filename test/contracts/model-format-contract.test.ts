// What every model format promises: files that are told from others, the same bytes for the same model, the same scores back,
// and refusals in words of files that are cut, damaged, or not for reading.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SpillwayError } from '../../src/errors.ts'
import {
  allModelFormats,
  detectModelFormat,
  modelFormat,
  readableModelFormat,
} from '../../src/model/all-model-formats.ts'
import { denseWeights, type Model, scoreRow } from '../../src/model/model.ts'
import { anyModel, smallModel } from '../model/some-models.ts'
import { seed } from '../numeric/reference.ts'

const scores = (model: Model): number[] => {
  const row = Array.from({ length: model.features }, (_, j) => ((j * 7) % 5) - 2)
  return [...scoreRow(model, [...row.keys()], row)]
}

describe('the list of model formats', () => {
  it('has names and summaries that tell entries apart', () => {
    assert.equal(new Set(allModelFormats.map(({ name }) => name)).size, allModelFormats.length)
    assert.equal(new Set(allModelFormats.map(({ summary }) => summary)).size, allModelFormats.length)
    const names = allModelFormats.map(({ name }) => name).join(', ')
    assert.throws(() => modelFormat('magic'), new RegExp(`there is no model format "magic"; expected one of ${names}$`))
  })
})

for (const format of allModelFormats) {
  describe(`the model format ${format.name}`, () => {
    const { read } = format
    const write = (model: Model): Buffer => Buffer.concat([...format.write(model, { force: true })])
    /** What any format can hold. */
    const models = anyModel({ wholeLabels: true }).filter(model =>
      [...denseWeights(model), ...model.biasWeights].every(x => Math.abs(x) < 1e300),
    )

    it('is found by its name, and by the start of its files', () => {
      assert.equal(modelFormat(format.name), format)
      assert.match(format.name, /^[a-z][a-z0-9-]*$/)
      assert.ok(format.summary.length > 10 && format.summary.length < 100 && !format.summary.includes('\n'))
      fc.assert(
        fc.property(models, model => {
          const bytes = write(model)
          assert.deepEqual(
            allModelFormats.filter(({ detect }) => detect(bytes)),
            [format],
          )
          assert.equal(detectModelFormat(bytes.subarray(0, 64)), format)
        }),
        { seed, numRuns: 50 },
      )
      for (const bytes of [Buffer.alloc(0), Buffer.from('+1 1:0.5\n'), Buffer.alloc(100)]) {
        assert.ok(!format.detect(bytes))
      }
    })

    it('writes the same bytes for the same model, and says what is left to the reader', () => {
      fc.assert(
        fc.property(models, model => {
          assert.deepEqual(write(model), write(model))
          for (const warning of format.warnings?.(model) ?? []) assert.ok(warning.length > 10)
        }),
        { seed, numRuns: 50 },
      )
    })

    it('refuses in words a model that it cannot hold', () => {
      fc.assert(
        fc.property(anyModel(), model => {
          try {
            assert.ok(Buffer.concat([...format.write(model)]).length > 0)
          } catch (error) {
            assert.ok(error instanceof SpillwayError && error.message.length > 20, String(error))
          }
        }),
        { seed, numRuns: 50 },
      )
    })

    if (!read) {
      it('is refused in words where a model is to be read', () => {
        assert.throws(
          () => readableModelFormat(write(smallModel()), 'a.model'),
          new RegExp(`^SpillwayError: a.model is a model in the format ${format.name}, which is for other programs`),
        )
      })
      return
    }

    it('reads back what it wrote: the same labels and scores, and then the same bytes', () => {
      fc.assert(
        fc.property(models, model => {
          const bytes = write(model)
          const found = read(bytes, 'a.model')
          assert.deepEqual(
            found.labels.map(({ value }) => value),
            model.labels.map(({ value }) => value),
          )
          assert.equal(found.features, model.features)
          assert.deepEqual(write(read(write(found), 'a.model')), write(found))
        }),
        { seed, numRuns: 100 },
      )
      const model = smallModel({ bias: 1, biasWeights: Float64Array.of(0.1) })
      assert.deepEqual(scores(read(write(model), 'a.model')), scores(model))
      assert.equal(readableModelFormat(write(model), 'a.model'), format)
    })

    it('refuses a file that was cut, in words that name it', () => {
      const bytes = write(smallModel())
      // Blanks at the end of a text are no loss.
      const whole = bytes.toString('latin1').trimEnd().length
      for (let length = 64; length < whole; length++) {
        assert.throws(
          () => read(bytes.subarray(0, length), 'cut.model'),
          (error: Error) => error instanceof SpillwayError && error.message.includes('cut.model'),
          `${length} of ${bytes.length} bytes`,
        )
      }
    })
  })
}
