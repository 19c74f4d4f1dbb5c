// Checkpoints of ranks belong together: a run goes on from the same step on all of them, whatever moment it was killed at. Each
// rank writes its checkpoint beside the last one. Only when all ranks have written theirs does it take the place of the last one,
// on each rank for itself. So a rank that has the new one in its place knows that the others have it at least beside.
import { rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError } from '../errors.ts'
import { syncFolder } from '../files/atomic-file.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { gatherRecords } from '../ranks/records.ts'
import { CHECKPOINT_FILE, readState } from './run-state.ts'

/** A checkpoint that waits for those of the other ranks. */
export const WAITING_CHECKPOINT_FILE = 'checkpoint-waiting.bin'

/** A step of a run: a run has a number of its own, which is drawn, and steps are counted from 1. */
export interface RankMark {
  size: number
  run: number
  step: number
}

/** The mark of the next checkpoint. */
export async function nextMark(ranks: Communicator, before: RankMark | undefined): Promise<RankMark> {
  if (before) return { ...before, step: before.step + 1 }
  const run = Float64Array.of(Math.floor(Math.random() * 2 ** 53))
  await ranks.broadcast(run)
  return { size: ranks.size, run: run[0], step: 1 }
}

/** The checkpoint that waits takes its place, once all ranks have one. */
export async function commitTogether(folder: string, ranks: Communicator): Promise<void> {
  await ranks.barrier()
  await takePlace(folder)
}

async function takePlace(folder: string): Promise<void> {
  const path = join(folder, WAITING_CHECKPOINT_FILE)
  try {
    await rename(path, join(folder, CHECKPOINT_FILE))
    await syncFolder(folder)
  } catch (error) {
    throw fileError(error, path, 'rename')
  }
}

/** Before a run goes on: the last step that all ranks have gets its place. Whether there is one. */
export async function settleTogether(folder: string, ranks: Communicator): Promise<boolean> {
  const markOf = async (name: string): Promise<RankMark | null> => (await readState(join(folder, name)))?.ranks ?? null
  const own = [await markOf(CHECKPOINT_FILE), await markOf(WAITING_CHECKPOINT_FILE)]
  const all = await gatherRecords(ranks, own)
  const common = all[0].filter(mark => mark !== null && all.every(marks => marks.some(other => isSame(mark, other))))
  const last = common.reduce((a, b) => (a && a.step > b!.step ? a : b), null)
  if (!last || last.size !== ranks.size) return false
  if (isSame(last, own[1])) await takePlace(folder)
  else await unlink(join(folder, WAITING_CHECKPOINT_FILE)).catch(() => {})
  return true
}

function isSame(a: RankMark | null, b: RankMark | null): boolean {
  return a !== null && b !== null && a.run === b.run && a.step === b.step && a.size === b.size
}
