// Several ranks of one process, each with its own part of a text.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ranksInOneProcess } from '../../src/ranks/in-one-process.ts'
import { nameOfShare } from '../../src/ranks/shares.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import type { Progress } from '../../src/train/progress.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import type { Folder } from '../out-of-core/fixture.ts'

let texts = 0

/** Writes a text in parts of whole lines, one a rank. */
export function partsOf(folder: Folder, name: string, text: string, size: number): string[] {
  const lines = text.trimEnd().split('\n')
  const border = (rank: number): number => Math.floor((lines.length * rank) / size)
  return Array.from({ length: size }, (_, rank) => {
    const file = `${name}-${rank}-of-${size}.svm`
    // A file that is newer than its store would be read again.
    if (existsSync(join(folder.path, file))) return join(folder.path, file)
    const part = lines.slice(border(rank), border(rank + 1))
    return folder.write(file, part.map(line => `${line}\n`).join(''))
  })
}

/** Writes a text in parts, and trains on them together; what each rank gives. */
export async function trainOverRanks(
  folder: Folder,
  text: string,
  size: number,
  options: TrainOptions | ((rank: number) => TrainOptions),
): Promise<TrainResult[]> {
  return trainOnParts(partsOf(folder, `${++texts}`, text, size), options)
}

/** Trains on parts in blocks, each rank in a store of its own: NAME.1-of-2.spill and so on, as the command line names them. */
export async function trainInStores(
  folder: Folder,
  name: string,
  parts: string[],
  options: TrainOptions | ((rank: number) => TrainOptions),
  heard?: (rank: number, record: Progress) => void,
): Promise<TrainResult[]> {
  const size = parts.length
  const storeOf = (rank: number): string => join(folder.path, nameOfShare(`${name}.spill`, { rank, size }))
  const inBlocks = (rank: number): TrainOptions => ({
    ...{ store: storeOf(rank), blocks: 5, ...(typeof options === 'function' ? options(rank) : options) },
  })
  return trainOnParts(parts, inBlocks, heard)
}

/** Trains on parts that are there already; `heard` is told what each rank tells. */
export async function trainOnParts(
  parts: string[],
  options: TrainOptions | ((rank: number) => TrainOptions),
  heard?: (rank: number, record: Progress) => void,
): Promise<TrainResult[]> {
  return Promise.all(
    ranksInOneProcess(parts.length).map(async ranks => {
      try {
        const own = typeof options === 'function' ? options(ranks.rank) : options
        const run = train(parts[ranks.rank], { threads: 1, ...own, ranks })
        if (heard) for await (const record of run) heard(ranks.rank, record)
        return await run.result
      } catch (error) {
        ranks.leave(error as Error)
        throw error
      }
    }),
  )
}
