// Factors that `--scale` learns, and rows of numbers whose squares are none, in memory and over blocks.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest, scoreRow, train, tune } from '../../src/index.ts'
import { denseScaleFactors } from '../../src/model/model.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { fastFolder } from '../out-of-core/fixture.ts'

const folder = fastFolder()
let files = 0

interface Ways {
  values?: 'f32' | 'f64'
  threads?: number
}

async function inMemory(text: string, options: TrainOptions, { values = 'f32', threads = 1 }: Ways = {}) {
  const path = folder.write(`${++files}.svm`, text)
  return train(path, { solver: 'dual', maxPasses: 20, values, threads, ...options }).result
}

async function overBlocks(text: string, options: TrainOptions, { values = 'f32', threads = 1 }: Ways = {}) {
  const path = folder.write(`${++files}.svm`, text)
  const store = join(folder.path, `${files}.spill`)
  await ingest(path, store, { blocks: 5, threads, values })
  return train(store, { solver: 'block', maxPasses: 20, threads, ...options }).result
}

const ways = { 'in memory': inMemory, 'over blocks': overBlocks }
const factorsOf = ({ model }: TrainResult): number[] => [...denseScaleFactors(model)!]

function near(found: number, expected: number, precision: number, what: string): void {
  assert.ok(Math.abs(found - expected) <= precision * Math.abs(expected), `${what}: ${found}, expected ${expected}`)
}

/** 1 / σ by two passes over a column, all rows counted. */
function plainFactor(column: number[]): number {
  const mean = column.reduce((sum, x) => sum + x, 0) / column.length
  return 1 / Math.sqrt(column.reduce((sum, x) => sum + (x - mean) ** 2, 0) / column.length)
}

for (const [way, learn] of Object.entries(ways)) {
  describe(`--scale standard ${way}`, () => {
    it('finds the deviation beside a large mean', async () => {
      for (const [base, values] of [
        [1e6, 'f32'],
        [1e12, 'f64'],
      ] as const) {
        const text = Array.from({ length: 300 }, (_, i) => `${i % 2} 1:${base + (i % 3)} 2:1\n`).join('')
        const [first, second] = factorsOf(await learn(text, { scale: 'standard', maxPasses: 2 }, { values }))
        near(first, Math.sqrt(1.5), 1e-4, `at ${base}`)
        assert.equal(second, 1, 'a constant feature is brought to 1')
      }
    })

    it('counts absent entries as zeros; a constant feature of all rows is brought to 1', async () => {
      const random = randomNumbers(5)
      const columns = Array.from({ length: 6 }, (_, j) =>
        Array.from({ length: 200 }, () => (random() < 0.2 * j ? Math.fround(random() * 7 - 2) : 0)),
      )
      const text = columns[0].map(
        (_, i) =>
          `${i % 2}${columns.map((column, j) => (column[i] ? ` ${j + 1}:${column[i]}` : '')).join('')} 7:-0.1\n`,
      )
      const factors = factorsOf(await learn(text.join(''), { scale: 'standard' }))
      for (const [j, column] of columns.entries()) {
        near(factors[j], j === 0 ? 1 : plainFactor(column), 1e-12, `feature ${j + 1}`)
      }
      near(factors[6], 1 / Math.fround(0.1), 1e-15, 'the constant feature')
    })

    it('gives the same bits for any number of threads', async () => {
      const random = randomNumbers(6)
      const text = Array.from(
        { length: 2000 },
        (_, i) => `${i % 2} ${[1, 2, 3].map(j => `${j}:${1e5 * j + random()}`).join(' ')}\n`,
      ).join('')
      const one = factorsOf(await learn(text, { scale: 'standard', maxPasses: 1 }, { threads: 1 }))
      const three = factorsOf(await learn(text, { scale: 'standard', maxPasses: 1 }, { threads: 3 }))
      assert.deepEqual(three, one)
    })
  })

  describe(`numbers whose squares are none ${way}`, () => {
    const rows = [
      [1, 2],
      [-1, 1],
      [0.5, -3],
      [2, 2],
      [-2, -0.25],
      [1, -1],
    ]
    const textOf = (size: number): string => rows.map(([a, b], i) => `${i % 2} 1:${a * size} 2:${b * size}\n`).join('')
    const choices: TrainOptions[] = [
      { normalize: 'unit' },
      { scale: 'standard' },
      { scale: 'standard', normalize: 'unit' },
      { scale: 'minmax', normalize: 'unit' },
    ]
    it('rows of 1e160 and of 1e-170 are what rows of 1 are', async () => {
      for (const choice of learn === inMemory ? choices : choices.slice(0, 2)) {
        const options: TrainOptions = { ...choice, loss: 'squared-hinge', bias: 1, tolerance: 1e-9, maxPasses: 40 }
        const plain = await learn(textOf(1), options, { values: 'f64' })
        for (const size of [1e160, 1e-170]) {
          const result = await learn(textOf(size), options, { values: 'f64' })
          const what = `${JSON.stringify(choice)} at ${size}`
          near(result.primal!, plain.primal!, 1e-8, `${what}: primal`)
          near(result.dual!, plain.dual!, 1e-8, `${what}: dual`)
          for (const row of rows) {
            const score = scoreRow(
              result.model,
              [0, 1],
              row.map(x => x * size),
            )[0]
            assert.ok(Math.abs(score - scoreRow(plain.model, [0, 1], row)[0]) < 1e-4, `${what}: the score ${score}`)
          }
        }
      }
    })
  })
}

describe('factors of the smallest numbers', () => {
  it('are numbers', async () => {
    const text = Array.from({ length: 6 }, (_, i) => `${i % 2} 1:${(1 + i) * 5e-324} 2:${i + 1}\n`).join('')
    for (const scale of ['minmax', 'standard'] as const) {
      const result = await inMemory(text, { scale }, { values: 'f64' })
      for (const factor of factorsOf(result)) assert.ok(Number.isFinite(factor) && factor > 0)
      assert.ok(Number.isFinite(result.primal))
    }
  })
})

describe('costs for rows whose squares pass the largest number', () => {
  it('are above 0', async () => {
    const text = Array.from({ length: 8 }, (_, i) => `${i % 2} 1:${i % 2 ? 1e160 : -1e160}\n`).join('')
    const path = folder.write('huge.svm', text)
    const { costs } = await tune(path, { values: 'f64', folds: 2, threads: 1, final: 'none' })
    for (const { cost } of costs) assert.ok(cost > 0)
  })
})
