// A file system that does not read past the page cache.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Has calls of node:fs fail that open a file past the cache, or the first ones that read. */
export async function refused(what: 'open' | 'read', code: string, work: () => Promise<void>): Promise<void> {
  const kept = { open: fs.open, openSync: fs.openSync, read: fs.read, readSync: fs.readSync }
  const error = Object.assign(new Error(code), { code })
  const direct = (flags: unknown): boolean => (Number(flags) & (fs.constants.O_DIRECT ?? 0)) !== 0
  const past = new Set<number>()
  type Done = (error: Error | null, result?: number) => void
  const now = (call: () => number, done: Done): void => {
    const told = Promise.resolve().then(call)
    void told.then(
      result => done(null, result),
      thrown => done(thrown as Error),
    )
  }
  const openSync = (name: string, flags: number): number => {
    if (direct(flags) && what === 'open') throw error
    const descriptor = kept.openSync(name, flags)
    if (direct(flags)) past.add(descriptor)
    else past.delete(descriptor)
    return descriptor
  }
  const readSync = (descriptor: number, ...given: unknown[]): number => {
    if (past.has(descriptor) && what === 'read') throw error
    return (kept.readSync as (...all: unknown[]) => number)(descriptor, ...given)
  }
  Object.assign(fs, {
    ...{ openSync, readSync },
    open: (name: string, flags: number, done: Done) => now(() => openSync(name, flags), done),
    read: (...all: unknown[]) => now(() => readSync(all[0] as number, ...all.slice(1, -1)), all.at(-1) as Done),
  })
  syncBuiltinESMExports()
  try {
    await work()
  } finally {
    Object.assign(fs, kept)
    syncBuiltinESMExports()
  }
}
