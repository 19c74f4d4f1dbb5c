// What becomes of training states when rows are added to a store or removed. The dual variables of the rows that stay are
// kept, those of new rows are 0, and the next run starts from w = Σ α y x over them, formula (14) of Yu, Hsieh, Chang and
// Lin (KDD 2010, section 6.3). Checkpoints for the changed store are written before it changes and get their name after:
// at every moment each state belongs to the store that is there.
import { open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError } from '../errors.ts'
import { syncFolder, writeAtomically } from '../files/atomic-file.ts'
import type { Arena } from '../numeric/arena.ts'
import { alphaFile, alphaHead, alphaMatches, alphaOf, alphaStrideOf, checkpointHead } from './checkpoint-files.ts'
import { STATE_FOLDER_PATTERN } from './file-layout.ts'
import type { Manifest } from './manifest.ts'
import { CHECKPOINT_FILE, NEXT_CHECKPOINT_FILE, readState, type StoredState, settleNext } from './run-state.ts'

interface CarriedState {
  folder: string
  state: StoredState
  /** Versions of the dual variables in the changed store, by block file; undefined when they cannot be used. */
  alpha: Record<string, number> | undefined
  written: string[]
}

export class CarriedStates {
  readonly #arena: Arena
  readonly #states: CarriedState[]

  private constructor(arena: Arena, states: CarriedState[]) {
    this.#arena = arena
    this.#states = states
  }

  /** The states that belong to a store as it is. The caller holds the store's lock. */
  static async of(arena: Arena, store: string, fingerprint: string): Promise<CarriedStates> {
    const states: CarriedState[] = []
    const names = await readdir(store).catch((error: unknown) => {
      throw fileError(error, store, 'list')
    })
    for (const name of names) {
      if (!STATE_FOLDER_PATTERN.test(name)) continue
      const folder = join(store, name)
      if (await settleNext(folder, fingerprint)) await remove(join(folder, NEXT_CHECKPOINT_FILE))
      const state = await readState(join(folder, CHECKPOINT_FILE))
      // Methods without dual variables have nothing to carry over, and states of other versions are left behind.
      if (state?.fingerprint !== fingerprint || Object.keys(state.alpha).length === 0) continue
      states.push({ folder, state, alpha: { ...state.alpha }, written: [] })
    }
    return new CarriedStates(arena, states)
  }

  /** How many there are whose dual variables will be used. */
  get count(): number {
    return this.#states.filter(({ alpha }) => alpha !== undefined).length
  }

  /** Some rows of a block go to a new block file: their dual variables go with them. `keep` has a byte for each row. */
  async filterBlock(from: string, to: string, keep: Uint8Array): Promise<void> {
    for (const carried of this.#states) {
      const version = carried.alpha?.[from]
      if (!carried.alpha || version === undefined) continue
      const path = join(carried.folder, alphaFile(from, version))
      const kept = await readFile(path).then(
        file => this.#filter(file, keep),
        () => undefined,
      )
      // A state that is damaged is left behind: the next run starts from zero.
      if (!kept) {
        carried.alpha = undefined
        continue
      }
      const name = alphaFile(to, 1)
      carried.written.push(name)
      await writeDurably(join(carried.folder, name), kept)
      carried.alpha[to] = 1
    }
  }

  #filter(file: Buffer, keep: Uint8Array): Buffer[] | undefined {
    const arena = this.#arena
    const stride = alphaStrideOf(file)
    const values = alphaOf(file)
    if (stride === 0 || values.length !== keep.length * stride) return undefined
    const mark = arena.mark()
    try {
      const at = arena.allocate(Math.max(values.length, 8), 'dual variables')
      const here = arena.bytes(at, values.length)
      here.set(values)
      if (!alphaMatches(arena, file, at, values.length)) return undefined
      let end = 0
      for (let row = 0; row < keep.length; row++) {
        if (!keep[row]) continue
        here.copyWithin(end, row * stride, (row + 1) * stride)
        end += stride
      }
      return [alphaHead(arena, stride, at, end), Buffer.from(arena.bytes(at, end).slice())]
    } finally {
      arena.release(mark)
    }
  }

  /** Writes the checkpoints that go with a changed store, beside those that go with the present one. */
  async prepare(manifest: Manifest): Promise<void> {
    const files = new Set(manifest.blocks.map(({ file }) => file))
    for (const { folder, state, alpha } of this.#states) {
      if (!alpha) continue
      const next: StoredState = {
        ...state,
        fingerprint: manifest.fingerprint,
        weightCount: 0,
        alpha: Object.fromEntries(Object.entries(alpha).filter(([file]) => files.has(file))),
        carried: { passes: state.carried?.passes ?? state.pass + (state.position > 0 ? 1 : 0) },
      }
      const { header, json } = checkpointHead(this.#arena, next, 0, 0)
      await writeAtomically(join(folder, NEXT_CHECKPOINT_FILE), [header, json])
      await syncFolder(folder)
    }
  }

  /** The store has changed: the checkpoints for it get their name. What fails here is made up for when they are read. */
  async commit(): Promise<void> {
    for (const { folder, alpha } of this.#states) {
      if (!alpha) continue
      await rename(join(folder, NEXT_CHECKPOINT_FILE), join(folder, CHECKPOINT_FILE)).catch(() => {})
      await syncFolder(folder)
      const state = await readState(join(folder, CHECKPOINT_FILE)).catch(() => undefined)
      if (!state?.carried) continue
      const present = new Set(Object.entries(state.alpha).map(([file, version]) => alphaFile(file, version)))
      for (const name of await readdir(folder).catch(() => [])) {
        if (name.startsWith('alpha-') && !present.has(name)) await unlink(join(folder, name)).catch(() => {})
      }
    }
  }

  /** The store has not changed. */
  async discard(): Promise<void> {
    for (const { folder, written } of this.#states) {
      for (const name of [NEXT_CHECKPOINT_FILE, ...written]) await unlink(join(folder, name)).catch(() => {})
    }
  }
}

async function writeDurably(path: string, pieces: Buffer[]): Promise<void> {
  try {
    await using file = await open(path, 'w')
    for (const piece of pieces) await file.writeFile(piece)
    await file.sync()
  } catch (error) {
    throw fileError(error, path, 'write')
  }
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw fileError(error, path, 'remove')
  })
}
