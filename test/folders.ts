// Folders for the tests of one file, which go away with it.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

export interface Folder {
  path: string
  /** Puts a file there and returns its path. */
  write(name: string, content: string | Uint8Array): string
}

/** In memory where there is such a place: stores and checkpoints are written through to the disk, which takes long. */
const fastPlace = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

function folderIn(place: string): Folder {
  const path = mkdtempSync(join(place, 'spillway-test-'))
  after(() => rmSync(path, { recursive: true, force: true }))
  return {
    path,
    write(name, content) {
      const file = join(path, name)
      writeFileSync(file, content)
      return file
    },
  }
}

/** A folder on the disk. */
export const testFolder = (): Folder => folderIn(tmpdir())

/** A folder for stores, and for tests that write hundreds of checkpoints. */
export const fastFolder = (): Folder => folderIn(fastPlace)
