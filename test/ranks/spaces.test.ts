// Rows that become others before they are trained on: expansions and additive kernels over ranks, in memory and in blocks.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { partsOf, trainInStores, trainOnParts } from './ranks.ts'
import { isSlow, near, sameAsAlone } from './sets.ts'

const folder = fastFolder()

/** Values from 0 to `most` of `features` features, of which each rank has some of its own: they rise with the rows. */
function histograms(rows: number, features: number, most = 1): string {
  const random = randomNumbers(17)
  return Array.from({ length: rows }, (_, i) => {
    const first = Math.floor((i / rows) * (features / 2))
    const x = Array.from({ length: 6 }, (_, j) => ({ index: 1 + first + j * 3, value: Math.fround(random() * most) }))
    const label = x[0].value * x[1].value > 0.25 * most ** 2 !== random() < 0.05 ? 1 : -1
    return `${label} ${x.map(({ index, value }) => `${index}:${value}`).join(' ')}\n`
  }).join('')
}

/** Strings of letters, the later ones longer: their last rank has the most features. */
function strings(rows: number): string {
  const random = randomNumbers(5)
  return Array.from({ length: rows }, (_, i) => {
    const letters = Array.from({ length: 8 + Math.floor((4 * i) / rows) }, () => 'ACGT'[Math.floor(random() * 4)])
    const label = letters[2] === 'A' || letters[3] === 'C' ? 1 : -1
    return `${random() < 0.05 ? -label : label} ${letters.join('')}\n`
  }).join('')
}

let runs = 0

/** The optimum of one process with its rows in memory, and the same model on every rank. */
async function sameOptimum(text: string, size: number, where: 'memory' | 'blocks', options: TrainOptions) {
  const { solver: asked, ...others } = options
  const inMemory = { ...others, solver: asked === 'newton' ? 'newton' : 'dual', maxPasses: 5000 }
  const name = `run${++runs}`
  const alone = await train(folder.write(`${name}.svm`, text), { threads: 1, ...inMemory }).result
  const parts = partsOf(folder, name, text, size)
  const results =
    where === 'memory'
      ? await trainOnParts(parts, inMemory)
      : await trainInStores(folder, name, parts, { ...options, maxPasses: 5000 })
  assert.equal(results[0].exitReason, 'converged')
  near(results[0].primal!, alone.primal!, 2e-6, `${where}, ${size} ranks`)
  sameAsAlone(results, alone)
}

const tolerance = 1e-6
const numbers = histograms(240, 40)

/** Every rank has threads of its own, which take most of the time of rows in blocks: the others are for slow runs. */
const placesOf = (k: number): ('memory' | 'blocks')[] => (isSlow || k % 2 === 0 ? ['memory', 'blocks'] : ['memory'])

describe('expansions over ranks', () => {
  const cases: [string, TrainOptions][] = [
    [numbers, { expand: 'polynomial:2', solver: 'block', loss: 'squared-hinge' }],
    [numbers, { expand: 'polynomial:2+hash:8', solver: 'newton', loss: 'logistic' }],
    [numbers, { expand: 'chi2-map', solver: 'stream', normalize: 'unit' }],
    [strings(200), { expand: 'weighted-degree:3', solver: 'block', normalize: 'unit', format: 'label-string' }],
  ]
  for (const [k, [text, options]] of cases.entries()) {
    for (const where of placesOf(k)) {
      it(`${options.expand}, rows in ${where}`, async () => {
        await sameOptimum(text, where === 'memory' ? 3 : 2, where, { tolerance, ...options })
      })
    }
  }

  it('names of hashed features are refused', async () => {
    const parts = partsOf(folder, 'names', numbers, 2)
    await assert.rejects(
      trainOnParts(parts, { expand: 'polynomial:2+hash:8', keepNames: true }),
      /the option keepNames is not compatible with 2 ranks/,
    )
  })
})

describe('additive kernels over ranks', () => {
  const cases: [string, TrainOptions][] = [
    [histograms(240, 40, 7), { kernel: 'intersection', scale: 'minmax', solver: 'block', loss: 'squared-hinge' }],
    [numbers, { kernel: 'chi2', solver: 'block' }],
    [numbers, { kernel: 'intersection', solver: 'stream', loss: 'logistic' }],
  ]
  for (const [k, [text, options]] of cases.entries()) {
    for (const where of placesOf(k)) {
      it(`${options.kernel}${options.scale ? ', scaled' : ''}, ${options.loss ?? 'hinge'}, rows in ${where}`, async () => {
        await sameOptimum(text, where === 'memory' ? 3 : 2, where, { tolerance, ...options })
      })
    }
  }
})
