// A change of a finished store: under its lock, with new files beside the old ones, until the new manifest takes the place
// of the old one. Before that moment everything can be undone, after it only what is no longer needed is left to be removed.
// Killed at any moment, there is the old store or the new one; strays are cleared by the next change.
import { SpillwayError } from '../errors.ts'
import type { CarriedStates } from './carried-states.ts'
import { blockNumber, MOST_BLOCKS } from './file-layout.ts'
import type { Manifest } from './manifest.ts'
import { lockStore, removeStrays } from './store-folder.ts'
import type { StoreWriter } from './writer.ts'

export interface Change {
  /** Names the states and the writer that are undone when the change fails. */
  keep(states: CarriedStates): CarriedStates
  write(writer: StoreWriter): StoreWriter
  /** Makes the store the one that the manifest describes. */
  commit(manifest: Manifest): Promise<void>
}

export async function changeStore<T>(folder: string, work: (old: Manifest, change: Change) => Promise<T>): Promise<T> {
  const { manifest: old, release } = await lockStore(folder)
  let states: CarriedStates | undefined
  let writer: StoreWriter | undefined
  let committed = false
  const change: Change = {
    keep(given) {
      states = given
      return given
    },
    write(given) {
      writer = given
      return given
    },
    async commit(manifest) {
      await states?.prepare(manifest)
      await writer?.commit(manifest)
      committed = true
      await states?.commit()
      // The change is made; files that cannot be removed now are removed by the next one.
      await removeStrays(folder, manifest).catch(() => {})
    },
  }
  try {
    return await work(old, change)
  } catch (error) {
    if (!committed) {
      await states?.discard()
      await writer?.abort().catch(() => {})
    }
    throw error
  } finally {
    await release().catch(() => {})
  }
}

/** Numbers for new block files: above those in use, or in the gaps when there is no room above. */
export function freeBlockNumbers(manifest: Manifest, count: number): number[] {
  const used = new Set(manifest.blocks.map(({ file }) => blockNumber(file)))
  let number = manifest.blocks.reduce((most, { file }) => Math.max(most, blockNumber(file)), -1)
  if (used.size + count > MOST_BLOCKS) {
    throw new SpillwayError(`${used.size} blocks and ${count} new ones are more than the ${MOST_BLOCKS} of a store`)
  }
  const numbers: number[] = []
  while (numbers.length < count) {
    number = (number + 1) % MOST_BLOCKS
    if (!used.has(number)) numbers.push(number)
  }
  return numbers
}
