// The folder of a store: who may write in it, and what is cleared away there. What is no part of a store is never touched.
import { mkdir, open, readdir, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import { lockOwner, takeLock } from '../files/lock-file.ts'
import {
  BLOCK_FILE_PATTERN,
  FEATURE_NAMES_FILE,
  FEATURE_NAMES_TEMPORARY,
  FEATURE_SET_PATTERN,
  FEATURE_SET_TEMPORARY,
  INDEX_FOLDER,
  LOCK_FILE,
  LOCK_PATTERN,
  MANIFEST_FILE,
  MANIFEST_TEMPORARY,
  STATE_FOLDER_PATTERN,
  UNSAVED_MARKER,
} from './file-layout.ts'
import { featureFileOf, type Manifest, readManifest } from './manifest.ts'

/** Makes the folder; whether it was not there. */
export async function makeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fileError(error, folder, 'make')
  }
}

/** Names of files that only the manifest gives a meaning. */
const OWNED = [BLOCK_FILE_PATTERN, FEATURE_SET_PATTERN, FEATURE_SET_TEMPORARY, FEATURE_NAMES_TEMPORARY]

function isStoreFile(name: string): boolean {
  const known = [MANIFEST_FILE, MANIFEST_TEMPORARY, FEATURE_NAMES_FILE, UNSAVED_MARKER, INDEX_FOLDER]
  const patterns = [...OWNED, STATE_FOLDER_PATTERN, LOCK_PATTERN]
  return known.includes(name) || patterns.some(pattern => pattern.test(name))
}

/** A finished store whose lock this process holds, and what it held when the lock was taken. */
export interface LockedStore {
  manifest: Manifest
  release(): Promise<void>
}

/** Takes the lock of a folder; what lets go of it. */
export function lockFolder(folder: string, ifReadOnly: string): Promise<() => Promise<void>> {
  const path = join(folder, LOCK_FILE)
  return takeLock(
    path,
    owner =>
      new SpillwayError(
        `${folder} is being written by process ${owner}`,
        `wait for it to end, or remove ${path} if that process is no Spillway`,
      ),
    ifReadOnly,
  )
}

/** Takes the lock of a finished store, and clears away what an interrupted change has left. */
export async function lockStore(folder: string): Promise<LockedStore> {
  const release = await lockFolder(folder, 'copy the store to a place that can be written, and change the copy')
  try {
    const manifest = await readManifest(folder)
    await removeStrays(folder, manifest)
    return { manifest, release }
  } catch (error) {
    await release().catch(() => {})
    throw error
  }
}

/** Removes block files and feature sets that the manifest does not name: what came before a change, or of one that
 *  was interrupted. */
export async function removeStrays(folder: string, manifest: Manifest): Promise<void> {
  const named = new Set([...manifest.blocks.map(({ file }) => file), featureFileOf(manifest)])
  const names = await readdir(folder).catch((error: unknown) => {
    throw fileError(error, folder, 'list')
  })
  for (const name of names) {
    const owned = OWNED.some(pattern => pattern.test(name))
    if ((owned && !named.has(name)) || name === MANIFEST_TEMPORARY) await removeFile(join(folder, name))
  }
}

/** Refuses a folder that is no store, one that is finished unless it may be replaced, and one that is in use. */
export async function checkFolder(folder: string, overwrite: boolean): Promise<void> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    throw fileError(error, folder, 'list')
  }
  const stranger = names.find(name => !isStoreFile(name))
  if (stranger !== undefined) {
    throw new SpillwayError(
      `${folder} exists and is no store: it holds ${stranger}`,
      'choose another name for the store',
    )
  }
  if (names.includes(MANIFEST_FILE) && !overwrite) {
    throw new SpillwayError(
      `${folder} is a finished store already`,
      'choose another name, or replace it with --overwrite',
    )
  }
  for (const name of names) {
    // The lock of the store itself is looked at when it is taken.
    const owner = LOCK_PATTERN.test(name) && name !== LOCK_FILE ? await lockOwner(join(folder, name)) : undefined
    if (owner === undefined) continue
    throw new SpillwayError(
      `${folder} is being trained on by process ${owner}`,
      `wait for it to end, choose another name, or remove ${join(folder, name)} if that process is no Spillway`,
    )
  }
}

/** Removes all that a store has in its folder, but for its lock. */
export async function clearFolder(folder: string, durable: boolean): Promise<void> {
  // The manifest goes first: at no moment does one stand beside blocks that are not its own.
  await removeFile(join(folder, MANIFEST_FILE))
  if (durable) await syncFolder(folder)
  const names = await readdir(folder).catch((error: unknown) => {
    throw fileError(error, folder, 'list')
  })
  for (const name of names) {
    if (STATE_FOLDER_PATTERN.test(name) || name === INDEX_FOLDER) await removeFolder(join(folder, name))
    else if (isStoreFile(name) && name !== LOCK_FILE) await removeFile(join(folder, name))
  }
}

/** A folder and all that is in it; it need not be there. */
export async function removeFolder(path: string, ifReadOnly?: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch((error: unknown) => {
    throw fileError(error, path, 'remove', ifReadOnly)
  })
}

/** A file, which need not be there. */
export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw fileError(error, path, 'remove')
  }
}

/** Makes names of files in a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  // Some file systems do not sync folders and say so; there is nothing better to do there.
  await handle.sync().catch(() => {})
}
