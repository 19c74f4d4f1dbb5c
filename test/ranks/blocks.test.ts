// Ranks whose rows are in blocks: each has a store of its own. The optimum is that of one process, whatever the number of ranks.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { fastFolder, memoryWithRoom, padded, threeClasses } from '../out-of-core/fixture.ts'
import { partsOf, trainInStores, trainOnParts } from './ranks.ts'
import { fiveGroups, isSlow, near, objective, sameAsAlone, textOf } from './sets.ts'

const folder = fastFolder()
const texts = {
  a9a: textOf('a9a', 16, 1),
  imdb: textOf('imdb', 60, 4),
  covtype: textOf('covtype.libsvm.binary', 300, 10),
  news: fiveGroups(),
}
let stores = 0

/** Trains over ranks in blocks, and compares the objective with that of one process with its rows in memory. */
async function sameOptimum(text: string, size: number, options: TrainOptions, most = 1e-6): Promise<TrainResult> {
  const { solver: asked, ...others } = options
  const solver = asked === 'block' ? 'dual' : asked
  const alone = await train(folder.write('alone.svm', text), { threads: 1, ...others, ...(solver && { solver }) })
    .result
  const name = `store${++stores}`
  const results = await trainInStores(folder, name, partsOf(folder, name, text, size), options)
  const [first] = results
  assert.equal(first.exitReason, 'converged')
  assert.ok(first.blocks && first.blocks.read > 0, 'blocks were read')
  near(objective(text, first, options), objective(text, alone, options), most, `${size} ranks`)
  near(first.primal!, objective(text, first, options), 1e-9, 'what the certificate says')
  sameAsAlone(results, alone)
  return first
}

/** Every rank has threads of its own, which take most of the time of these tests: all numbers of ranks are for slow runs. */
const sizes = isSlow ? [1, 2, 3, 4] : [2]
const skip = isSlow ? false : 'it takes long: set SPILLWAY_SLOW=1'

describe('newton and lbfgs over ranks, in blocks', () => {
  const tolerance = 1e-7
  const cases: [keyof typeof texts, TrainOptions][] = [
    ['a9a', { solver: 'newton', loss: 'squared-hinge', bias: 1, tolerance }],
    ['a9a', { solver: 'lbfgs', loss: 'logistic', tolerance }],
    ['imdb', { solver: 'newton', loss: 'logistic', normalize: 'unit', tolerance }],
    ['imdb', { solver: 'lbfgs', loss: 'squared-hinge', normalize: 'unit', tolerance }],
    ['covtype', { solver: 'newton', loss: 'logistic', scale: 'standard', tolerance }],
    ['covtype', { solver: 'lbfgs', loss: 'squared-hinge', scale: 'minmax', tolerance }],
    ['news', { solver: 'newton', loss: 'squared-hinge', normalize: 'unit', tolerance }],
    ['news', { solver: 'lbfgs', loss: 'logistic', normalize: 'unit', tolerance }],
  ]
  for (const size of sizes) {
    for (const [set, options] of cases.filter((_, k) => isSlow || [0, 3].includes(k))) {
      it(`${set}, ${options.loss}, ${options.solver}, ${size} ranks`, async () => {
        await sameOptimum(texts[set], size, options)
      })
    }
  }

  it('several classes, with scaled values', async () => {
    const options: TrainOptions = { solver: 'newton', loss: 'squared-hinge', scale: 'standard', tolerance }
    await sameOptimum(`${threeClasses(300, 5)}\n`, 2, options)
  })

  it('the hinge by second-order steps', { skip }, async () => {
    await sameOptimum(texts.a9a, 2, { solver: 'newton', tolerance: 1e-6 }, 2e-6)
  })

  it('the softmax of all classes', { skip }, async () => {
    const text = texts.news.split('\n').slice(0, 300).join('\n')
    const softmax = { multiclass: 'softmax', normalize: 'unit', tolerance: 1e-7, solver: 'lbfgs' } as const
    const alone = await train(folder.write('softmax.svm', text), softmax).result
    const [first] = await trainInStores(folder, 'softmax', partsOf(folder, 'softmax', text, 2), softmax)
    near(first.primal!, alone.primal!, 1e-6, 'softmax')
  })
})

describe('block over ranks', () => {
  for (const size of sizes) {
    for (const loss of isSlow ? ['hinge', 'squared-hinge', 'logistic'] : ['hinge', 'logistic']) {
      it(`imdb, ${loss}, ${size} ranks, which have rows of one class alone`, async () => {
        await sameOptimum(texts.imdb, size, { solver: 'block', loss, normalize: 'unit', tolerance: 1e-7 })
      })
    }
  }

  it('a9a, with a bias and class weights', async () => {
    const options = { loss: 'squared-hinge', solver: 'block', bias: 1, classWeights: { '-1': 2 }, maxPasses: 5000 }
    await sameOptimum(texts.a9a, 3, { ...options, tolerance: 1e-6 }, 2e-6)
  })

  it('covtype, scaled', { skip }, async () => {
    const options = { loss: 'logistic', solver: 'block', scale: 'minmax', maxPasses: 5000 } as const
    await sameOptimum(texts.covtype, 2, { ...options, tolerance: 1e-6 }, 2e-6)
  })

  it('many classes, one after the other', async () => {
    const text = texts.news.split('\n').slice(0, 150).join('\n')
    await sameOptimum(text, 2, { solver: 'block', normalize: 'unit', tolerance: 1e-7 })
  })
})

describe('all classes at once over ranks, in blocks', () => {
  it('by Crammer and Singer', async () => {
    const text = texts.news.split('\n').slice(0, 80).join('\n')
    const options = { multiclass: 'crammer-singer', normalize: 'unit', tolerance: 1e-5, maxPasses: 5000 } as const
    const alone = await train(folder.write('together.svm', text), options).result
    const parts = partsOf(folder, 'together', text, 2)
    const results = await trainInStores(folder, 'together', parts, { ...options, solver: 'block' })
    assert.equal(results[0].exitReason, 'converged')
    near(results[0].primal!, alone.primal!, 2e-5, 'Crammer and Singer')
    sameAsAlone(results, alone)
  })
})

describe('what does not fit in the memory of a rank', () => {
  it('goes into blocks on all of them, which auto trains by stream or by second-order steps', async () => {
    const memory = memoryWithRoom(16, 'text')
    const parts = partsOf(folder, 'large', texts.imdb, 2)
    const large = padded(texts.imdb, 24 << 20)
    const [first] = partsOf(folder, 'padded', large, 2)
    const options = (rank: number): TrainOptions => ({
      ...{ memory, normalize: 'unit', store: `${folder.path}/large.${rank + 1}-of-2.spill` },
    })
    const [found, other] = await trainOnParts([first, parts[1]], options)
    assert.equal(found.solver, 'stream')
    assert.match(found.solverReason!, /stream keeps rows between passes, so ranks read less$/)
    assert.deepEqual(
      [found.blocks?.store, other.blocks?.store],
      [1, 2].map(k => `${folder.path}/large.${k}-of-2.spill`),
    )
    const alone = await train(folder.write('small.svm', texts.imdb), { normalize: 'unit' }).result
    near(found.primal!, alone.primal!, 2e-3, 'with the tolerance of 1e-3')
  })
})
