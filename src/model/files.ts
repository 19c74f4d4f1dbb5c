// Models on disk. A model is written beside its place and renamed into it once it is safe on the disk: whoever looks sees
// the old file or the whole new one, never half of one.
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import { type ReadableModelFormat, readableModelFormat } from './all-model-formats.ts'
import type { Model } from './model.ts'
import { encodeModelChunks } from './own-file.ts'

export { detectModelFormat } from './all-model-formats.ts'

/** Enough to tell what a file is: a data file of many gigabytes given by mistake is refused without being read. */
const DETECT_BYTES = 4096
// One read call takes less than 2 GiB.
const READ_BYTES = 1 << 30

export async function loadModel(path: string): Promise<Model> {
  return (await loadModelFile(path)).model
}

/** The model, and the format it was found in. */
export async function loadModelFile(path: string): Promise<{ model: Model; format: ReadableModelFormat }> {
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    const start = await readUpTo(file, DETECT_BYTES)
    const format = readableModelFormat(start, path)
    const bytes = await readRest(file, start)
    return { model: format.read(bytes, path), format }
  } catch (error) {
    throw error instanceof SpillwayError ? error : fileError(error, path, 'read the model')
  } finally {
    await file?.close()
  }
}

/** `count` bytes, or as many as there are; the first of them may have been read before. */
async function readUpTo(file: FileHandle, count: number, before: Uint8Array = new Uint8Array(0)): Promise<Uint8Array> {
  const bytes = new Uint8Array(count)
  bytes.set(before)
  let length = before.length
  while (length < count) {
    const { bytesRead } = await file.read(bytes, length, Math.min(READ_BYTES, count - length), null)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return length === count ? bytes : bytes.subarray(0, length)
}

/** What was read so far and all that follows. A pipe has no size to ask for, so it is read in growing pieces. */
async function readRest(file: FileHandle, start: Uint8Array): Promise<Uint8Array> {
  let { size } = await file.stat()
  let bytes: Uint8Array = start
  for (;;) {
    if (size <= bytes.length) size = bytes.length * 2 + DETECT_BYTES
    const piece = await readUpTo(file, size, bytes)
    if (piece.length < size) return piece
    bytes = piece
  }
}

/** Writes the model in its own format. */
export async function saveModel(path: string, model: Model): Promise<void> {
  await writeAtomically(path, encodeModelChunks(model))
}

/** Replaces a file by these bytes, all or nothing. Devices and pipes (/dev/stdout) are written straight. */
export async function writeAtomically(path: string, chunks: Iterable<Uint8Array>): Promise<void> {
  try {
    const existing = await stat(path).catch(ignoreMissing)
    if (existing && !existing.isFile() && !existing.isDirectory()) {
      await writeStraight(path, chunks)
      return
    }
    if (existing?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    // A link stays a link: the file it leads to is the one that is replaced.
    const target = existing ? await realpath(path) : path
    await writeAndRename(target, chunks, existing?.mode)
  } catch (error) {
    throw error instanceof SpillwayError ? error : fileError(error, path, 'write')
  }
}

async function writeStraight(path: string, chunks: Iterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'w')
  try {
    for (const chunk of chunks) await file.writeFile(chunk)
  } finally {
    await file.close()
  }
}

async function writeAndRename(target: string, chunks: Iterable<Uint8Array>, mode: number | undefined): Promise<void> {
  const folder = dirname(target)
  const unique = `${process.pid}-${Math.random().toString(36).slice(2, 10)}`
  const temporary = join(folder, `.${basename(target)}.${unique}.tmp`)
  const file = await open(temporary, 'wx')
  try {
    try {
      if (mode !== undefined) await file.chmod(mode & 0o777)
      for (const chunk of chunks) await file.writeFile(chunk)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, target)
  } catch (error) {
    await unlink(temporary).catch(ignoreMissing)
    throw error
  }
  await syncFolder(folder)
}

// The rename itself has to reach the disk too. Some systems cannot open folders; there the rename is all there is.
async function syncFolder(folder: string): Promise<void> {
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
