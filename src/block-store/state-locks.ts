// Locks of training states: one run at a time of each problem on a store. Two runs would write the same files, and the
// first to end would remove what the other needs. A lock lies beside the state's folder, which is removed and made
// again as runs begin. Runs of different problems have different states and go on side by side.

import { SpillwayError } from '../errors.ts'
import { takeLock } from '../files/lock-file.ts'
import { STATE_LOCK_SUFFIX } from './file-layout.ts'

/** Locks the states in these folders, all or none; disposing of what it gives releases them. */
export async function lockStates(store: string, folders: string[]): Promise<AsyncDisposable> {
  const releases: (() => Promise<void>)[] = []
  const release = async (): Promise<void> => {
    // A lock that cannot be removed now is taken over when this process has ended.
    for (const each of releases) await each().catch(() => {})
  }
  try {
    for (const folder of folders) {
      const path = `${folder}${STATE_LOCK_SUFFIX}`
      releases.push(
        await takeLock(
          path,
          owner =>
            new SpillwayError(
              `this problem is being trained on ${store} by process ${owner}`,
              `wait for it to end, or remove ${path} if that process is no Spillway; other losses, costs and classes may be trained meanwhile`,
            ),
        ),
      )
    }
  } catch (error) {
    await release()
    throw error
  }
  return { [Symbol.asyncDispose]: release }
}
