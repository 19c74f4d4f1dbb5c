// The oracle itself: what others are compared with must be right on its own grounds.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { train } from '../../src/index.ts'
import { newFolder } from '../cli/run.ts'
import { against, asLibsvm, makeHistograms } from './histograms.ts'
import {
  chi2,
  intersection,
  jensenShannon,
  linear,
  type OracleLoss,
  powerMean,
  type ScalarKernel,
  solveKernelMachine,
} from './kernel-oracle.ts'

let folder = ''
before(() => {
  folder = newFolder()
})
after(() => rmSync(folder, { recursive: true, force: true }))

const losses: OracleLoss[] = ['hinge', 'squared-hinge']
const kernels: Record<string, ScalarKernel> = {
  chi2,
  intersection,
  'power-mean:-8': powerMean(-8),
  'jensen-shannon': jensenShannon,
}

describe('the oracle', () => {
  for (const loss of losses) {
    it(`${loss}: with the linear kernel finds the optimum that train() certifies`, async () => {
      const data = makeHistograms({ rows: 200, features: 20, seed: 3 })
      const file = join(folder, `${loss}.svm`)
      writeFileSync(file, asLibsvm(data))
      for (const cost of [0.01, 1, 20]) {
        const oracle = solveKernelMachine({ ...data, kernel: linear, cost, loss })
        const options = { loss, cost, tolerance: 1e-9, maxPasses: 1_000_000, threads: 1 }
        const { primal } = await train(file, options).result
        assert.ok(oracle.gap <= 1e-10)
        assert.ok(Math.abs(oracle.primal / primal! - 1) < 1e-8, `C = ${cost}: ${oracle.primal}, train() ${primal}`)
      }
    })

    for (const [name, kernel] of Object.entries(kernels)) {
      it(`${loss}, ${name}: the conditions of optimality hold for every row`, () => {
        const { rows, labels } = makeHistograms({ rows: 150, features: 12, classes: 3, seed: 5 })
        for (const cost of [0.1, 5]) {
          const task = { rows, labels: against(labels, 2), kernel, cost, loss }
          const { alpha, decision, primal, dual } = solveKernelMachine(task)
          assert.ok(primal >= dual * (1 - 1e-12))
          let free = 0
          for (const [i, value] of alpha.entries()) {
            const margin = task.labels[i] * decision(rows[i])
            if (loss === 'squared-hinge') {
              assert.ok(Math.abs(value - 2 * cost * Math.max(0, 1 - margin)) < 1e-3 * cost)
            } else if (value <= 0) assert.ok(margin > 1 - 1e-4, `row ${i}: ${margin}`)
            else if (value >= cost) assert.ok(margin < 1 + 1e-4, `row ${i}: ${margin}`)
            else {
              free++
              assert.ok(Math.abs(margin - 1) < 1e-4, `row ${i}: ${margin}`)
            }
          }
          if (loss === 'hinge') assert.ok(free > 0)
        }
      })
    }
  }

  it('puts a row of zeros at its bound', () => {
    const rows = [Float64Array.of(0, 0), Float64Array.of(1, 0), Float64Array.of(0, 0.5)]
    const { alpha, primal } = solveKernelMachine({ rows, labels: [1, 1, -1], kernel: chi2, cost: 2, loss: 'hinge' })
    assert.equal(alpha[0], 2)
    assert.ok(primal > 2)
  })
})

describe('scalar kernels', () => {
  const values = fc.double({ min: 1e-6, max: 1, noNaN: true })
  const all = { ...kernels, 'power-mean:0': powerMean(0), 'power-mean:-300': powerMean(-300) }

  it('are symmetric, k(x, x) = x, homogeneous, and between 0 and the geometric mean', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.entries(all)), values, values, ([name, kernel], x, y) => {
        const k = kernel(x, y)
        const close = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-12 * Math.max(a, b)
        assert.ok(close(k, kernel(y, x)))
        assert.ok(close(kernel(x, x), x))
        assert.ok(close(kernel(x / 2, y / 2), k / 2))
        // The Jensen-Shannon kernel is no mean, but it is positive definite: Cauchy-Schwarz bounds it alike.
        assert.ok(k >= 0 && k <= Math.sqrt(x * y) * (1 + 1e-12), `${name}: ${k}`)
        assert.equal(kernel(x, 0), 0)
        assert.equal(kernel(0, y), 0)
      }),
    )
  })

  it('power means are the chi2 kernel at −1, near the intersection far below, and never overflow', () => {
    fc.assert(
      fc.property(values, values, (x, y) => {
        assert.ok(Math.abs(powerMean(-1)(x, y) - chi2(x, y)) <= 1e-12 * chi2(x, y))
        assert.ok(Math.abs(powerMean(-1e6)(x, y) - intersection(x, y)) <= 1e-5 * intersection(x, y))
        const direct = ((x ** -8 + y ** -8) / 2) ** (-1 / 8)
        assert.ok(Math.abs(powerMean(-8)(x, y) - direct) <= 1e-12 * direct)
      }),
    )
    assert.equal(powerMean(-Infinity)(0.25, 0.5), 0.25)
    assert.ok(powerMean(-8)(1e-300, 1) > 0 && powerMean(-8)(1e-300, 1) < 2e-300)
  })
})

describe('histograms', () => {
  it('are the same for the same seed, in [0, 1], with all classes', () => {
    const options = { rows: 30, features: 6, classes: 3 }
    const data = makeHistograms({ ...options, seed: 4 })
    assert.deepEqual(data, makeHistograms({ ...options, seed: 4 }))
    assert.notDeepEqual(data, makeHistograms({ ...options, seed: 5 }))
    assert.deepEqual([...new Set(data.labels)].sort(), [1, 2, 3])
    assert.ok(data.rows.every(row => row.every(value => value >= 0 && value <= 1 && Math.fround(value) === value)))
  })
})
