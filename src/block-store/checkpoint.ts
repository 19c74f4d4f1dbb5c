// Checkpoints of a run over a store: weights, dual variables and where the run stands, in a folder of the store that
// belongs to one problem. Dual variables lie in a file for each block, beside the block; a new version of such a file
// gets a new name, and only the checkpoint, written last and atomically, says which versions are the present ones. So
// whatever moment a run is killed at, the last checkpoint and the files it names are whole.
//
// When rows are added to the store or removed (carried-states.ts), the checkpoint is followed by one without weights:
// dual variables of the rows that stayed, from which the next run starts. It is written as checkpoint-next.bin before the
// store changes and takes its name afterwards; its fingerprint tells which of the two holds.
import { constants } from 'node:fs'
import { access, mkdir, open, readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import { writeAtomically } from '../files/atomic-file.ts'
import type { Arena } from '../numeric/arena.ts'
import { alone, type Communicator } from '../ranks/communicator.ts'
import type { Address, ByteCount } from '../sizes.ts'
import {
  alphaFile,
  alphaHead,
  alphaMatches,
  alphaStrideOf,
  CHECKPOINT_MAGIC,
  checkpointHead,
  HEADER_BYTES,
  hashOf,
  hashOfAll,
  headOf,
  isHead,
  MEMORY_MAGIC,
  memoryFile,
  refuseOtherVersion,
  type Stretch,
  sha256,
} from './checkpoint-files.ts'
import { commitTogether, nextMark, type RankMark, settleTogether, WAITING_CHECKPOINT_FILE } from './commit-together.ts'
import type { Manifest } from './manifest.ts'
import { CHECKPOINT_FILE, type RunState, readState, type StoredState, settleNext } from './run-state.ts'
import { removeFolder } from './store-folder.ts'

export type { Stretch } from './checkpoint-files.ts'
export type { GapMet, RunState } from './run-state.ts'

const WRITE_PIECE = 8 << 20
const FILES_AT_A_TIME = 16

/** Where a problem's weights and dual variables are. */
export interface StatePlaces {
  weights: number
  weightCount: number
  /** Bytes of a weight. */
  weightBytes: ByteCount
  /** Address of all dual variables, in the order of the store's rows; 0 for methods without. */
  alpha: number
  alphaStride: number
}

/** The folder of a problem's state: one for each distinct problem on a store. */
export function stateFolder(store: string, problem: Record<string, unknown>): string {
  const hash = sha256(JSON.stringify(problem)).toString('hex').slice(0, 12)
  return join(store, `state-${hash}`)
}

const IF_READ_ONLY =
  'a run over blocks keeps its state in the store: copy the store to a place that can be written, or train in memory with --solver dual'

/** Refuses a store that no checkpoint could be written into, before any work is done. */
export async function requireRoomForState(store: string): Promise<void> {
  await access(store, constants.W_OK).catch(error => {
    throw fileError(error, store, 'write a checkpoint into', IF_READ_ONLY)
  })
}

export class Checkpoints {
  readonly folder: string
  readonly #arena: Arena
  readonly #problem: StatePlaces
  readonly #manifest: Manifest
  readonly #firstRows: number[] = []
  /** Blocks whose dual variables changed since the last checkpoint. */
  readonly #changed = new Set<number>()
  #versions: Record<string, number> = {}
  #version = 0
  #memory: number | undefined
  readonly #ranks: Communicator
  /** Of the last checkpoint over ranks. */
  #mark: RankMark | undefined

  constructor(arena: Arena, problem: StatePlaces, manifest: Manifest, folder: string, ranks: Communicator = alone) {
    this.#arena = arena
    this.#problem = problem
    this.#manifest = manifest
    this.folder = folder
    this.#ranks = ranks
    let first = 0
    for (const block of manifest.blocks) {
      this.#firstRows.push(first)
      first += block.rows
    }
  }

  /** Remembers that the dual variables of these blocks changed. */
  touch(blocks: number[]): void {
    if (this.#problem.alpha !== 0) for (const block of blocks) this.#changed.add(block)
  }

  /** Dual variables that were read in part are 0 again. */
  forgetAlpha(): void {
    const { alpha, alphaStride } = this.#problem
    const rows = this.#manifest.rows
    if (alpha !== 0) this.#arena.bytes(alpha, rows * alphaStride).fill(0)
  }

  /** Forgets an earlier run. */
  async clear(): Promise<void> {
    await removeFolder(this.folder, IF_READ_ONLY)
    this.#versions = {}
  }

  /** Forgets an earlier run, but not what was carried over a change of the store. */
  async clearFinished(): Promise<void> {
    await settleNext(this.folder, this.#manifest.fingerprint)
    const state = await readState(join(this.folder, CHECKPOINT_FILE))
    if (!state?.carried) await this.clear()
  }

  /** `memory`: what the solver has in memory that would have to be read again; left out when that is cheaper. */
  async save(state: RunState, memory?: Stretch[]): Promise<void> {
    const version = ++this.#version
    const versions = { ...this.#versions }
    try {
      await makeFolder(this.folder)
      if (memory) await this.#writeMemory(memoryFile(version), memory)
      // Side by side: most of the time goes into waiting for the disk to confirm each file.
      const changed = [...this.#changed]
      for (let from = 0; from < changed.length; from += FILES_AT_A_TIME) {
        await Promise.all(
          changed.slice(from, from + FILES_AT_A_TIME).map(async block => {
            const { file } = this.#manifest.blocks[block]
            await this.#writeAlpha(block, alphaFile(file, version))
            versions[file] = version
          }),
        )
      }
    } catch (error) {
      throw error instanceof SpillwayError
        ? error
        : fileError(error, this.folder, 'write a checkpoint into', IF_READ_ONLY)
    }
    const { weights, weightCount, weightBytes } = this.#problem
    const mark = this.#ranks.size > 1 ? await nextMark(this.#ranks, this.#mark) : undefined
    const stored: StoredState = {
      ...state,
      ...{ weightBytes, weightCount, alpha: versions },
      ...(memory && { memory: version }),
      ...(mark && { ranks: mark }),
    }
    const { header, json } = checkpointHead(this.#arena, stored, weights, weightCount * weightBytes)
    await writeAtomically(
      join(this.folder, mark ? WAITING_CHECKPOINT_FILE : CHECKPOINT_FILE),
      this.#pieces(header, json, weights, weightCount * weightBytes),
    )
    if (mark) await commitTogether(this.folder, this.#ranks)
    this.#mark = mark
    this.#versions = versions
    this.#memory = memory && version
    this.#changed.clear()
    await this.#removeStale()
  }

  /** The state of the last checkpoint, weights and dual variables put in place; undefined when there is none. Over ranks, the last
   *  one that all of them have. */
  async load(): Promise<RunState | undefined> {
    await settleNext(this.folder, this.#manifest.fingerprint)
    if (this.#ranks.size > 1 && !(await settleTogether(this.folder, this.#ranks))) return undefined
    const found = await this.loadWeights(this.folder)
    if (!found) return undefined
    const { alpha, memory, ranks, weightBytes: _bytes, weightCount: _count, ...state } = found
    await this.#loadAlpha(alpha)
    this.#mark = ranks
    this.#memory = memory
    this.#version = Math.max(this.#version, memory ?? 0)
    return state
  }

  /** Puts the weights of a checkpoint in place, of this problem or of another one like it. */
  async loadWeights(folder: string): Promise<StoredState | undefined> {
    const path = join(folder, CHECKPOINT_FILE)
    // Without weights there is nothing to go on from, only something to start from.
    if ((await readState(path))?.carried) return undefined
    let file: Buffer
    try {
      file = await readFile(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw fileError(error, path, 'read')
    }
    const wrong = (what: string): SpillwayError =>
      new SpillwayError(`${path} is damaged: ${what}`, 'train again without --resume')
    if (!isHead(file, CHECKPOINT_MAGIC)) throw wrong('it does not start like a checkpoint')
    refuseOtherVersion(path, file)
    const jsonBytes = file.readUInt32LE(8)
    if (HEADER_BYTES + jsonBytes > file.length) throw wrong('it is truncated')
    const json = file.subarray(HEADER_BYTES, HEADER_BYTES + jsonBytes)
    const weights = file.subarray(HEADER_BYTES + jsonBytes)
    const { weights: at, weightCount, weightBytes } = this.#problem
    const bytes = weightCount * weightBytes
    if (weights.length !== bytes) throw wrong(`${weights.length} bytes of weights were found, ${bytes} expected`)
    this.#arena.bytes(at, bytes).set(weights)
    if (hashOf(this.#arena, json, at, bytes) !== file.readBigUInt64LE(16)) throw wrong('its checksum does not match')
    return JSON.parse(json.toString()) as StoredState
  }

  /** Fills the solver's memory from the checkpoint that was loaded. */
  async loadMemory(stretches: Stretch[]): Promise<void> {
    const path = join(this.folder, memoryFile(this.#memory ?? 0))
    const damaged = new SpillwayError(`${path} is damaged`, 'train again without --resume')
    try {
      await using file = await open(path, 'r')
      const header = Buffer.alloc(HEADER_BYTES)
      const expected = stretches.reduce((sum, { bytes }) => sum + bytes, HEADER_BYTES)
      const { bytesRead } = await file.read(header, 0, HEADER_BYTES, 0)
      if (bytesRead < HEADER_BYTES || !isHead(header, MEMORY_MAGIC)) throw damaged
      refuseOtherVersion(path, header)
      if ((await file.stat()).size !== expected) throw damaged
      let position = HEADER_BYTES
      for (const { at, bytes } of stretches) {
        for (let from = 0; from < bytes; from += WRITE_PIECE) {
          const piece = this.#arena.bytes(at + from, Math.min(WRITE_PIECE, bytes - from))
          const { bytesRead } = await file.read(piece, 0, piece.length, position)
          if (bytesRead !== piece.length) throw damaged
          position += bytesRead
        }
      }
      if (hashOfAll(this.#arena, stretches) !== header.readBigUInt64LE(16)) throw damaged
    } catch (error) {
      throw error instanceof SpillwayError ? error : fileError(error, path, 'read')
    }
  }

  async #writeMemory(name: string, stretches: Stretch[]): Promise<void> {
    const header = headOf(MEMORY_MAGIC, 0, hashOfAll(this.#arena, stretches))
    await using file = await open(join(this.folder, name), 'w')
    await file.writeFile(header)
    for (const { at, bytes } of stretches) {
      for (const piece of this.#pieces(undefined, undefined, at, bytes)) await file.writeFile(piece)
    }
    await file.sync()
  }

  /** Puts the dual variables in place that were carried over a change of the store; undefined when there are none.
   *  Those of new rows are 0. */
  async loadCarried(): Promise<{ passes: number } | undefined> {
    await settleNext(this.folder, this.#manifest.fingerprint)
    const state = await readState(join(this.folder, CHECKPOINT_FILE))
    if (!state?.carried || state.fingerprint !== this.#manifest.fingerprint || this.#problem.alpha === 0)
      return undefined
    await this.#loadAlpha(state.alpha)
    return state.carried
  }

  async #loadAlpha(versions: Record<string, number>): Promise<void> {
    this.#versions = {}
    for (const [block, { file }] of this.#manifest.blocks.entries()) {
      const version = versions[file]
      if (version === undefined) continue
      await this.#readAlpha(block, alphaFile(file, version))
      this.#versions[file] = version
      this.#version = Math.max(this.#version, version)
    }
  }

  #alphaPlace(block: number): { at: Address; bytes: ByteCount } {
    const { alpha, alphaStride } = this.#problem
    return { at: alpha + this.#firstRows[block] * alphaStride, bytes: this.#manifest.blocks[block].rows * alphaStride }
  }

  async #writeAlpha(block: number, name: string): Promise<void> {
    const { at, bytes } = this.#alphaPlace(block)
    const header = alphaHead(this.#arena, this.#problem.alphaStride, at, bytes)
    await using file = await open(join(this.folder, name), 'w')
    for (const piece of this.#pieces(header, undefined, at, bytes)) await file.writeFile(piece)
    await file.sync()
  }

  async #readAlpha(block: number, name: string): Promise<void> {
    const path = join(this.folder, name)
    let file: Buffer
    try {
      file = await readFile(path)
    } catch (error) {
      throw fileError(error, path, 'read')
    }
    refuseOtherVersion(path, file)
    const { at, bytes } = this.#alphaPlace(block)
    const sound = file.length === HEADER_BYTES + bytes && alphaStrideOf(file) === this.#problem.alphaStride
    if (sound) this.#arena.bytes(at, bytes).set(file.subarray(HEADER_BYTES))
    if (!sound || !alphaMatches(this.#arena, file, at, bytes)) {
      throw new SpillwayError(`${path} is damaged`, 'train again without --resume')
    }
  }

  *#pieces(header: Buffer | undefined, json: Buffer | undefined, at: Address, bytes: ByteCount): Generator<Uint8Array> {
    if (header) yield header
    if (json) yield json
    for (let from = 0; from < bytes; from += WRITE_PIECE) {
      yield this.#arena.bytes(at + from, Math.min(WRITE_PIECE, bytes - from))
    }
  }

  /** Versions that no checkpoint names any more, and what a run that was killed had half written. */
  async #removeStale(): Promise<void> {
    const present = new Set(Object.entries(this.#versions).map(([file, version]) => alphaFile(file, version)))
    if (this.#memory !== undefined) present.add(memoryFile(this.#memory))
    for (const name of await readdir(this.folder).catch(() => [])) {
      const stale = /^(alpha|memory)-/.test(name) ? !present.has(name) : name.endsWith('.tmp')
      if (stale) await unlink(join(this.folder, name)).catch(() => {})
    }
  }
}

/** Not with `recursive`, under which Node takes a read-only file system for a folder that is missing. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}
