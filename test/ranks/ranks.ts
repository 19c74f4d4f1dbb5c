// Several ranks of one process, each with its own part of a text.
import { ranksInOneProcess } from '../../src/ranks/in-one-process.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import type { Folder } from '../out-of-core/fixture.ts'

let texts = 0

/** Writes a text in parts of whole lines, one a rank, and trains on them together; what each rank gives. */
export async function trainOverRanks(
  folder: Folder,
  text: string,
  size: number,
  options: TrainOptions | ((rank: number) => TrainOptions),
): Promise<TrainResult[]> {
  const name = `${++texts}`
  const lines = text.trimEnd().split('\n')
  const border = (rank: number): number => Math.floor((lines.length * rank) / size)
  const parts = Array.from({ length: size }, (_, rank) => {
    const part = lines.slice(border(rank), border(rank + 1))
    return folder.write(`${name}-${rank}.svm`, part.map(line => `${line}\n`).join(''))
  })
  return trainOnParts(parts, options)
}

/** Trains on parts that are there already. */
export async function trainOnParts(
  parts: string[],
  options: TrainOptions | ((rank: number) => TrainOptions),
): Promise<TrainResult[]> {
  return Promise.all(
    ranksInOneProcess(parts.length).map(async ranks => {
      try {
        const own = typeof options === 'function' ? options(ranks.rank) : options
        return await train(parts[ranks.rank], { threads: 1, ...own, ranks }).result
      } catch (error) {
        ranks.leave(error as Error)
        throw error
      }
    }),
  )
}
