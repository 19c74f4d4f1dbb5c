// Threads that read and write files for Node, nudged now and then. A run was seen waiting for ever for a file, with all of those
// threads asleep; the next request woke one of them, and it went on. glibc before 2.41 loses such signals (its bug 25847).
import { stat } from 'node:fs'

const EVERY_MILLISECONDS = 1000

/** Asks for something small every second. That keeps no process alive. */
export function nudgeFileThreads(): void {
  setInterval(() => stat('.', () => {}), EVERY_MILLISECONDS).unref()
}
