// What every additive kernel promises: one form of its text, a function that is a kernel on [0, 1] and 0 at 0, a space that
// stands for it, and models that train and predict by it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allAdditiveKernels, findScalarKernel, kernelForms } from '../../src/additive-kernels/all-additive-kernels.ts'
import { errorOf, parseSpace, spaceText, spaceWith, tableOf, widthOf } from '../../src/additive-kernels/row-space.ts'
import { UsageError } from '../../src/errors.ts'
import { predict, train } from '../../src/index.ts'
import { asLibsvm, makeHistograms, seededNumbers } from '../additive-kernels/histograms.ts'
import { testFolder } from '../input-formats/fixture.ts'

const folder = testFolder()
const grid = Array.from({ length: 40 }, (_, k) => ((k + 1) / 40) ** 2)

for (const kernel of allAdditiveKernels) {
  describe(`the additive kernel ${kernel.name}`, () => {
    const { text, of } = findScalarKernel(kernel.example)
    const space = spaceWith({ kernel: text, approximation: 'projection', bins: 100 })

    it('has one form of its text, and refuses words that it cannot have', () => {
      assert.equal(findScalarKernel(text).text, text)
      assert.ok(kernelForms.includes(kernel.takes ? `${kernel.name}:${kernel.takes}` : kernel.name))
      for (const words of [['nonsense'], ['1'], [''], ['-1', '-1']]) {
        assert.throws(
          () => findScalarKernel([kernel.name, ...words].join(':')),
          (error: Error) => error instanceof UsageError && error.message.includes(kernel.name),
        )
      }
    })

    it('is symmetric, about 0 beside 0, and positive definite', () => {
      const random = seededNumbers(7)
      for (const x of grid) {
        assert.ok(Math.abs(of(1e-300, x)) < 1e-50)
        for (const y of grid) {
          assert.ok(Math.abs(of(x, y) - of(y, x)) <= 1e-15)
          assert.ok(of(x, y) ** 2 <= of(x, x) * of(y, y) * (1 + 1e-12))
        }
      }
      for (let k = 0; k < 200; k++) {
        const v = grid.map(() => random() - 0.5)
        const form = grid.reduce((sum, x, i) => sum + v[i] * grid.reduce((part, y, j) => part + v[j] * of(x, y), 0), 0)
        assert.ok(form >= -1e-12, `vᵀMv is ${form}`)
      }
    })

    it('has a space that stands for it', () => {
      assert.deepEqual(parseSpace(spaceText(space).split(':').slice(1)), space)
      assert.ok(errorOf(space) < 0.05, `off by ${errorOf(space)}`)
      const table = tableOf(space)
      assert.equal(table.length, (space.bins + 1) * widthOf(space))
      assert.ok(table.every(Number.isFinite))
      assert.ok(table.subarray(0, widthOf(space)).every(x => x === 0))
    })

    it('trains a model that predicts by it', async () => {
      const data = makeHistograms({ rows: 120, features: 12, seed: 4 })
      const file = folder.write(`${kernel.name}.svm`, asLibsvm(data))
      const { exitReason, gap, model } = await train(file, { kernel: kernel.example, tolerance: 1e-4, threads: 1 })
        .result
      assert.equal(exitReason, 'converged')
      assert.ok(gap! <= 1e-4)
      assert.ok(model.transforms.expand!.steps.includes(text))
      const { accuracy } = await predict(file, model, { threads: 1 })
      assert.ok(accuracy > 0.8, `${accuracy}`)
    })
  })
}
