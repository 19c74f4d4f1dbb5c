// A file that appears under its name only once it is whole: written beside its place, synced, and renamed into it.
// A reader sees the old file or the new one, never half of one.
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'

export class AtomicFile {
  readonly #path: string
  readonly #handle: FileHandle
  /** Where the bytes go until the end; undefined for devices and pipes, which are written straight. */
  readonly #temporary: string | undefined
  readonly #target: string

  private constructor(path: string, handle: FileHandle, temporary: string | undefined, target: string) {
    this.#path = path
    this.#handle = handle
    this.#temporary = temporary
    this.#target = target
  }

  static async create(path: string): Promise<AtomicFile> {
    try {
      const existing = await stat(path).catch(ignoreMissing)
      if (existing?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
      if (existing && !existing.isFile()) return new AtomicFile(path, await open(path, 'w'), undefined, path)
      // A link stays a link: the file it leads to is the one that is replaced.
      const target = existing ? await realpath(path) : path
      const unique = `${process.pid}-${Math.random().toString(36).slice(2, 10)}`
      const temporary = join(dirname(target), `.${basename(target)}.${unique}.tmp`)
      const handle = await open(temporary, 'wx')
      if (existing) await handle.chmod(existing.mode & 0o777)
      return new AtomicFile(path, handle, temporary, target)
    } catch (error) {
      throw fileError(error, path, 'write')
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    try {
      await this.#handle.writeFile(bytes)
    } catch (error) {
      throw fileError(error, this.#path, 'write')
    }
  }

  /** Puts the file in its place. */
  async commit(): Promise<void> {
    try {
      if (this.#temporary) await this.#handle.sync()
      await this.#handle.close()
      if (this.#temporary) {
        await rename(this.#temporary, this.#target)
        await syncFolder(dirname(this.#target))
      }
    } catch (error) {
      await this.discard()
      throw fileError(error, this.#path, 'write')
    }
  }

  /** Leaves no trace. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => {})
    if (this.#temporary) await unlink(this.#temporary).catch(() => {})
  }
}

/** Replaces a file by these bytes, all or nothing. */
export async function writeAtomically(path: string, chunks: Iterable<Uint8Array>): Promise<void> {
  let file: AtomicFile | undefined
  try {
    // The first piece is made before the file: a writer that refuses leaves nothing behind, not even for a moment.
    const pieces = chunks[Symbol.iterator]()
    let piece = pieces.next()
    file = await AtomicFile.create(path)
    for (; !piece.done; piece = pieces.next()) await file.write(piece.value)
    await file.commit()
  } catch (error) {
    await file?.discard()
    throw error instanceof SpillwayError ? error : fileError(error, path, 'write')
  }
}

/** The rename itself has to reach the disk too. Some systems cannot open folders; there the rename is all there is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  try {
    await handle?.sync()
  } catch {
    // The file is whole either way.
  } finally {
    await handle?.close()
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
