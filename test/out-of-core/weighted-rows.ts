// Rows with weights, as Vowpal Wabbit text has them, and the same rows repeated.
import { join } from 'node:path'
import { ingest } from '../../src/block-store/ingest.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { type Folder, threeClasses } from './fixture.ts'

/** Whole numbers, so that rows can be repeated. */
export const weightOf = (row: number): number => [1, 3, 1, 2, 1, 1, 5][row % 7]

export const repeatedOf = (lines: string[]): string[] =>
  lines.flatMap((line, k) => Array.from({ length: weightOf(k) }, () => line))

/** Lines of LIBSVM text with weights, or with the same weight each. */
export const withWeights = (lines: string[], of: number | ((row: number) => number) = weightOf): string[] =>
  lines.map((line, k) => line.replace(/^(\S+) ?/, `$1 ${typeof of === 'number' ? of : of(k)} | `))
export const withoutWeights = (lines: string[]): string[] => lines.map(line => line.replace(/^(\S+) ?/, '$1 | '))

export const two = noisyRows(210, 10, 5).split('\n')
export const three = threeClasses(150, 5).split('\n')

/** Texts and stores in a folder, under new names. */
export function textsIn(folder: Folder) {
  let names = 0
  const newStore = (): string => join(folder.path, `${++names}.spill`)
  const write = (lines: string[]): string => folder.write(`${++names}.vw`, `${lines.join('\n')}\n`)
  const storeOf = async (lines: string[], blocks = 4): Promise<string> => {
    const store = newStore()
    await ingest(write(lines), store, { blocks, threads: 1, format: 'vw' })
    return store
  }
  return { newStore, write, storeOf }
}
