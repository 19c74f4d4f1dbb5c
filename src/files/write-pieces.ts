// Pieces of bytes into a new file, one after the other.
import { type FileHandle, open } from 'node:fs/promises'
import { fileError } from '../errors.ts'

export async function writePieces(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  let file: FileHandle | undefined
  const asFile = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw fileError(error, path, 'write')
    }
  }
  try {
    file = await asFile(() => open(path, 'w'))
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; )
        at += await asFile(async () => (await file!.write(piece, at, piece.length - at)).bytesWritten)
    }
  } finally {
    await file?.close()
  }
}
