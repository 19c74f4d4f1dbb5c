// One to four ranks end at the same optimum, to a millionth: by newton, lbfgs and the exact dual method, on four sets.
import { describe, it } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { trainOverRanks } from './ranks.ts'
import { isSlow, near, objective, sameAsAlone, textOf } from './sets.ts'

const folder = fastFolder()
const sets: [string, () => string, TrainOptions][] = [
  ['a9a', () => textOf('a9a', 32, 8), { loss: 'squared-hinge' }],
  ['imdb', () => textOf('imdb', 80, 20), { loss: 'logistic', normalize: 'unit' }],
  ['covtype', () => textOf('covtype.libsvm.binary', 1000, 200), { loss: 'logistic', scale: 'minmax' }],
  ['news20, 20 classes', () => textOf('news20bydate', 160, 40), { loss: 'squared-hinge', normalize: 'unit' }],
]
const solvers = ['newton', 'lbfgs', 'dual']
const sizes = [1, 2, 3, 4]

for (const [s, [name, textOfSet, options]] of sets.entries()) {
  describe(name, () => {
    const text = textOfSet()
    const exact = { ...options, tolerance: 1e-7, maxPasses: 10_000 }
    const alone = train(folder.write(`alone-${s}.svm`, text), { ...exact, solver: 'newton', tolerance: 1e-8 }).result
    for (const [k, solver] of solvers.entries()) {
      // Every set, every solver and every number of ranks is always there, all of their combinations with SPILLWAY_SLOW=1.
      for (const size of sizes.filter(n => isSlow || (k === s % 3 && n === 4 - s) || (k === 2 && n === 2 + (s % 3)))) {
        it(`${solver}, ${size} ranks`, async () => {
          const results = await trainOverRanks(folder, text, size, { ...exact, solver })
          near(objective(text, results[0], options), objective(text, await alone, options), 1e-6, name)
          sameAsAlone(results, await alone)
        })
      }
    }
  })
}
