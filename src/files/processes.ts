// Whether a process is still at work. Numbers of processes come back, so that a process is known by its number and the moment it
// started, where the system tells.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A process as it was when it was written down. */
export interface KnownProcess {
  pid: number
  /** Empty where the system does not tell. */
  start: string
}

/** Whether there is a process of that number. One that has ended, and that no parent has asked after, is none. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !ENDED.has(fieldsOf(pid)[STATE])
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When a process started, in a clock of the system's own; empty where the system does not tell. */
export function startOf(pid: number): string {
  return fieldsOf(pid)[START] ?? ''
}

/** Whether it is this very process that is at work, and known to be: one that has ended and waits for its parent is not, and
 *  neither is one that nobody can tell from another of its number. */
export function isAtWork({ pid, start }: KnownProcess): boolean {
  const fields = fieldsOf(pid)
  return start !== '' && fields[START] === start && !ENDED.has(fields[STATE])
}

/** The process that works in a folder and has all these words on its command line; undefined where the system does not tell. */
export function processIn(folder: string, words: readonly string[]): KnownProcess | undefined {
  for (const name of namesIn('/proc').filter(each => /^\d+$/.test(each))) {
    try {
      if (readlinkSync(`/proc/${name}/cwd`) !== folder) continue
      const said = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
      const known = { pid: Number(name), start: startOf(Number(name)) }
      if (words.every(word => said.includes(word)) && isAtWork(known)) return known
    } catch {
      // It has ended, or is somebody else's.
    }
  }
  return undefined
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Places behind the name: the state, and the start. */
const STATE = 0
const START = 19
const ENDED = new Set(['Z', 'X', 'x'])

function fieldsOf(pid: number): string[] {
  try {
    // The name, in brackets, may hold anything.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
