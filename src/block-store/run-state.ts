// Where a run stands, as a checkpoint has it.
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError } from '../errors.ts'
import type { ByteCount } from '../sizes.ts'
import { CHECKPOINT_MAGIC, HEADER_BYTES, isHead, ofOtherVersion } from './checkpoint-files.ts'
import type { RankMark } from './commit-together.ts'

export const CHECKPOINT_FILE = 'checkpoint.bin'
export const NEXT_CHECKPOINT_FILE = 'checkpoint-next.bin'

/** The relative gap after so many passes. */
export interface GapMet {
  work: number
  gap: number
}

/** Where a run stands. */
export interface RunState {
  /** Everything that decides the course of the run; a run resumes only under the same. */
  settings: Record<string, unknown>
  /** Fingerprint of the store. */
  fingerprint: string
  pass: number
  /** Groups of this pass that are done. */
  position: number
  /** Whether its end has been looked at: what is done then is not done again by a run that resumes. */
  stockTaken: boolean
  /** Blocks that this pass reads; null for all of them. */
  wanted: number[] | null
  /** Work done, in passes over all nonzeros. */
  work: number
  /** The same before this pass, where ranks have to agree on it. */
  workBefore?: number
  // Of each model:
  /** Losses and debts of the rows met in this pass so far; then what is estimated from them. */
  losses: number[]
  gaps: number[]
  primals: number[]
  /** How far estimates are trusted. */
  optimism: number[]
  /** Whether it came close, and waits for the others. */
  resting: boolean[]
  /** How it ended; null as long as it has not. */
  solutions: unknown[]
  /** Of a run that knows them better than by losses: the primals; and whether it thinks that it is there. */
  known?: number[]
  ready?: boolean
  /** Distance between the projected gradients of the last round. */
  spread: number
  bytesRead: number
  solver: unknown
  /** Gaps at the ends of passes, by which a run is judged that another method may go on with. */
  trail?: GapMet[]
  /** Once another method goes on with the models: passes of each so far, and where the method stands with the model that it is
   *  at. */
  handedOver?: { work: number[]; at?: { model: number; state: RunState } | undefined }
  /** Whether it was left for another method, which has a state of its own. */
  left?: boolean
  /** Of a series of problems: which one this is. */
  series?: unknown
  /** The end of the run, once it has come. */
  done?: unknown
}

export interface StoredState extends RunState {
  weightBytes: ByteCount
  weightCount: number
  /** Version of each block's dual variables, by the block's file. */
  alpha: Record<string, number>
  /** Version of the file with the solver's own memory, when there is one. */
  memory?: number
  /** Of a run over ranks: which step of which run it is. */
  ranks?: RankMark
  /** Only dual variables are here, of a store that has changed since; there are no weights. `passes`: of the last run. */
  carried?: { passes: number }
}

/** What a checkpoint says, its weights left alone; undefined when there is none or it cannot be understood, as one of
 *  another version cannot. */
export async function readState(path: string): Promise<StoredState | undefined> {
  try {
    await using file = await open(path, 'r')
    const header = Buffer.alloc(HEADER_BYTES)
    if ((await file.read(header, 0, HEADER_BYTES, 0)).bytesRead < HEADER_BYTES) return undefined
    if (!isHead(header, CHECKPOINT_MAGIC) || ofOtherVersion(header)) return undefined
    const bytes = header.readUInt32LE(8)
    if (HEADER_BYTES + bytes > (await file.stat()).size) return undefined
    const json = Buffer.alloc(bytes)
    await file.read(json, 0, bytes, HEADER_BYTES)
    return JSON.parse(json.toString()) as StoredState
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw fileError(error, path, 'read')
  }
}

/** If a change of the store came to its end and the checkpoint for it has not got its name yet, it gets it now. Whether
 *  there is one for another store, of a change that did not come to its end. */
export async function settleNext(folder: string, fingerprint: string): Promise<boolean> {
  const path = join(folder, NEXT_CHECKPOINT_FILE)
  const next = await readState(path)
  if (next === undefined) return false
  if (next.fingerprint !== fingerprint) return true
  try {
    await rename(path, join(folder, CHECKPOINT_FILE))
  } catch (error) {
    throw fileError(error, path, 'rename')
  }
  return false
}
