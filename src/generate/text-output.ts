// Where generated text goes: a file, standard output, or a compressed file. A file appears under its name only when it
// is whole; until then it is a neighbour named `….partial`.
import { open, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { createGzip, createZstdCompress } from 'node:zlib'
import { fileError } from '../errors.ts'
import { writeStandard } from '../files/standard-output.ts'

export interface TextOutput {
  /** Resolves when the bytes may be overwritten. */
  write(bytes: Uint8Array): Promise<void>
  /** Finishes the file and gives it its name. */
  close(): Promise<void>
  /** Drops what was written. */
  discard(): Promise<void>
}

const compressors: Record<string, () => NodeJS.ReadWriteStream & Writable> = {
  '.gz': () => createGzip({ level: 1, chunkSize: 1 << 18 }),
  '.zst': () => createZstdCompress({ chunkSize: 1 << 18 }),
}

/** Opens a file, or standard output for `-`. */
export async function openTextOutput(file: string): Promise<TextOutput> {
  if (file === '-') {
    return { write: bytes => writeStandard('stdout', bytes), close: async () => {}, discard: async () => {} }
  }
  // Devices and pipes are written as they are: there is nothing to rename.
  const found = await stat(file).catch(() => undefined)
  const special = found !== undefined && !found.isFile()
  const partial = special ? file : `${file}.${process.pid}.partial`
  const handle = await open(partial, 'w').catch(error => {
    throw fileError(error, file, 'write')
  })
  const keep = async (): Promise<void> => {
    if (special) return
    await rename(partial, file).catch(error => {
      throw fileError(error, file, 'write')
    })
  }
  const drop = async (): Promise<void> => {
    if (!special) await rm(partial, { force: true })
  }
  const compressor = Object.entries(compressors).find(([ending]) => file.endsWith(ending))
  if (compressor) {
    const inner = compressedOutput(compressor[1](), handle.createWriteStream(), file)
    return {
      write: inner.write,
      close: () => inner.close().then(keep),
      discard: () => inner.discard().then(drop),
    }
  }
  return {
    async write(bytes) {
      try {
        for (let done = 0; done < bytes.length; ) done += (await handle.write(bytes, done)).bytesWritten
      } catch (error) {
        throw fileError(error, file, 'write')
      }
    },
    async close() {
      await handle.close()
      await keep()
    },
    async discard() {
      await handle.close()
      await drop()
    },
  }
}

function compressedOutput(packed: NodeJS.ReadWriteStream & Writable, target: Writable, file: string): TextOutput {
  const written = pipeline(packed, target).catch(error => {
    throw fileError(error, file, 'write')
  })
  // A compressor that ends in the middle of a piece never answers for it: a full disk is then all that is heard.
  let stopWaiting = (_: unknown): void => {}
  written.catch(error => stopWaiting(error))
  return {
    write: bytes =>
      new Promise((resolve, reject) => {
        stopWaiting = reject
        // A copy, because streams hold on to what they are given, and shared memory is written anew.
        packed.write(Buffer.from(bytes), error => (error ? written.catch(reject) : resolve()))
      }),
    close() {
      packed.end()
      return written
    },
    async discard() {
      packed.destroy()
      await written.catch(() => {})
      target.destroy()
      await finished(target).catch(() => {})
    },
  }
}
