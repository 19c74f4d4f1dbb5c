// What the records of a run say of its store: which blocks are in memory, which were read in this pass, and rows that stay.
import { type RunRecords, stageOf } from '../../report/records.ts'

export interface StoreState {
  /** Blocks by their numbers; sizes where they are known. */
  blocks: { rows?: number; bytes?: number }[]
  /** Those in memory, the one that came last at the end. */
  inMemory: number[]
  /** Those that were read since this pass began. */
  met: ReadonlySet<number>
  pass: number
  read: number
  bytesRead: number
  bytesSkipped: number
  rows: { kept: number; left: number; evicted?: number } | undefined
}

/** The pass that is going on, counted from 1. */
const passOf = ({ pass }: { pass: number }): number => Math.max(1, Math.ceil(pass - 1e-9))

/** What the last record says of the store; undefined for a run in memory. */
export function storeState(run: RunRecords): StoreState | undefined {
  const training = stageOf(run, 'train')
  const last = training.findLast(({ blocks }) => blocks !== undefined)
  const sizes = stageOf(run, 'rows').findLast(({ blocks }) => blocks !== undefined)?.blocks
  const planned = stageOf(run, 'plan').findLast(({ blocks }) => blocks !== undefined)?.blocks
  const count = sizes?.length ?? planned?.count ?? 0
  if (count === 0 || (!last && !planned)) return undefined
  const pass = last ? passOf(last) : 0
  const met = new Set<number>()
  for (let k = training.length - 1; k >= 0 && passOf(training[k]) === pass; k--) {
    for (const block of training[k].blocks?.inMemory ?? []) met.add(block)
  }
  const { read = 0, bytesRead = 0, bytesSkipped = 0, inMemory = [] } = last?.blocks ?? {}
  return {
    blocks: sizes ?? Array.from({ length: count }, () => ({})),
    ...{ inMemory, met, pass, read, bytesRead, bytesSkipped },
    rows: training.findLast(({ rows }) => rows !== undefined)?.rows,
  }
}
