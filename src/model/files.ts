// Models on disk. A model is written beside its place and renamed into it once it is safe on the disk: a reader sees
// the old file or the whole new one, never half of one.
import { type FileHandle, open } from 'node:fs/promises'
import { fileError, SpillwayError } from '../errors.ts'
import { writeAtomically } from '../files/atomic-file.ts'
import { type ReadableModelFormat, readableModelFormat } from './all-model-formats.ts'
import { newChecksum } from './checksum.ts'
import type { Model } from './model.ts'
import { encodeModelChunks } from './own-file.ts'
import { type Predicts, withPredict } from './predict-row.ts'

/** Enough to tell what a file is: a data file of many gigabytes given by mistake is refused without being read. */
const DETECT_BYTES = 4096
// One read call takes less than 2 GiB.
const READ_BYTES = 1 << 30

export async function loadModel(path: string): Promise<Model & Predicts> {
  return withPredict((await loadModelFile(path)).model)
}

/** The model, and the format it was found in. */
export async function loadModelFile(path: string): Promise<{ model: Model; format: ReadableModelFormat }> {
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    const start = await readUpTo(file, DETECT_BYTES)
    const format = readableModelFormat(start, path)
    const bytes = await readRest(file, start)
    return { model: format.read(bytes, path, newChecksum()), format }
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
  // A byte more than there should be: so the end is noticed without a larger piece.
  let size = (await file.stat()).size + 1
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
  await writeAtomically(path, encodeModelChunks(model, newChecksum()))
}
