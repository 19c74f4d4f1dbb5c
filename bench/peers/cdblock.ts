// LIBLINEAR-cdblock, the program of the papers on block minimisation: a folder with its two programs, a splitter and blocktrain.
//
//   blockspliter -S BLOCKS -c DATA TARGET            (or blocksplit, the same words)
//   blocktrain -s 3 -c COST -m PASSES -e 1e-9 TARGET MODEL
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readLiblinearModel } from '../liblinear-model.ts'
import { measure } from '../measure.ts'
import { demandProgram, type GivenPeer } from './given.ts'

const SPLITTERS = ['blockspliter', 'blocksplit']
const SOLVERS = { hinge: 3, 'squared-hinge': 1 } as const
/** Passes end a run, not its tolerance. */
const NEVER = '1e-9'

export function makeCdblock(path: string): GivenPeer {
  const expected = `the folder of LIBLINEAR-cdblock with blocktrain and ${SPLITTERS.join(' or ')}`
  const splitter = join(path, SPLITTERS.find(name => existsSync(join(path, name))) ?? SPLITTERS[0])
  const trainer = join(path, 'blocktrain')
  for (const program of [trainer, splitter]) demandProgram(program, expected)
  return {
    name: 'cdblock',
    losses: ['hinge', 'squared-hinge'],
    prepare: async data => data,
    async train(data, { loss, cost, passes, blocks, folder }, options) {
      const [target, model] = [join(folder, 'cdblock.blocks'), join(folder, 'cdblock.model')]
      try {
        const split = await measure([splitter, '-S', String(blocks), '-c', data, target], options)
        const solver = String(SOLVERS[loss as keyof typeof SOLVERS])
        const words = ['-s', solver, '-c', String(cost), '-m', String(passes), '-e', NEVER, target, model]
        const train = await measure([trainer, ...words], options)
        const steps = [
          { what: 'split', run: split },
          { what: `${passes} passes`, run: train },
        ]
        return { steps, model: await readLiblinearModel(model) }
      } finally {
        for (const made of [target, model]) await rm(made, { recursive: true, force: true })
      }
    },
  }
}
