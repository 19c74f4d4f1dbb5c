// A file that says which process is at work on something. Processes that are killed leave theirs behind: a lock whose process
// has ended is taken over. A process has a number and, where the system tells, the moment it started: numbers come back, and in a
// container the next process often has the very number of the one that was killed.
import { closeSync, openSync, writeSync } from 'node:fs'
import { readFile, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import { isAlive, startOf } from './processes.ts'

/** Takes the lock, or throws what `busy` makes of the number of the process that has it. Gives what releases it. `ifReadOnly`:
 *  what to do where nothing can be written. */
export async function takeLock(
  path: string,
  busy: (owner: number) => SpillwayError,
  ifReadOnly?: string,
): Promise<() => Promise<void>> {
  for (let attempt = 0; attempt < 3; attempt++) {
    if (create(path, ifReadOnly)) return () => removeFile(path)
    const found = await readFile(path, 'utf8').catch(() => '')
    const owner = ownerOf(found)
    if (owner !== undefined) throw busy(owner)
    // Moved aside before it goes: if another process has taken it over meanwhile, it is that one's lock which was moved.
    const aside = `${path}.${process.pid}-dead`
    if (!(await moved(path, aside))) continue
    if ((await readFile(aside, 'utf8').catch(() => '')) === found) await removeFile(aside)
    else await moved(aside, path)
  }
  throw new SpillwayError(
    `cannot take the lock ${path}: other processes keep taking it`,
    'run one of these commands at a time',
  )
}

/** The process that has a lock; undefined when there is none, or the process has ended. */
export async function lockOwner(path: string): Promise<number | undefined> {
  return ownerOf(await readFile(path, 'utf8').catch(() => ''))
}

/** At one go, so that others see no lock without its process. */
function create(path: string, ifReadOnly: string | undefined): boolean {
  let file: number
  try {
    file = openSync(path, 'wx')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fileError(error, dirname(path), 'write into', ifReadOnly)
  }
  try {
    writeSync(file, `${process.pid}\n${startOf(process.pid)}\n`)
    return true
  } catch (error) {
    unlink(path).catch(() => {})
    throw fileError(error, dirname(path), 'write into', ifReadOnly)
  } finally {
    closeSync(file)
  }
}

function ownerOf(text: string): number | undefined {
  const [first, start = ''] = text.split('\n')
  const owner = Number.parseInt(first, 10)
  if (!(owner > 0) || !isAlive(owner)) return undefined
  const present = startOf(owner)
  return start === '' || present === '' || start === present ? owner : undefined
}

async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw fileError(error, from, 'remove')
  }
}

async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw fileError(error, path, 'remove')
  })
}
