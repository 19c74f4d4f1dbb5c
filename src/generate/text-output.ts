// Where generated text goes: a file, standard output, or a compressed file. A file appears under its name only when it
// is whole; until then it is a neighbour named `….partial`.
import { createWriteStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
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
    await handle.close()
    const packed = compressor[1]()
    const target = createWriteStream(partial)
    packed.pipe(target)
    target.on('error', error => packed.destroy(error))
    const inner = streamOutput(packed, file, target)
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

function streamOutput(stream: Writable, file: string, last: Writable): TextOutput {
  let failure: unknown
  const remember = (error: unknown): void => {
    failure ??= error
  }
  stream.on('error', remember)
  return {
    write: bytes =>
      new Promise((resolve, reject) => {
        const fail = (error: unknown): void => reject(fileError(error, file, 'write'))
        if (failure) return fail(failure)
        // A copy, because streams hold on to what they are given, and shared memory is written anew.
        stream.write(Buffer.from(bytes), error => (error ? fail(error) : resolve()))
      }),
    async close() {
      stream.end()
      await finished(last).catch(error => {
        throw fileError(failure ?? error, file, 'write')
      })
    },
    async discard() {
      stream.destroy()
      last.destroy()
      await finished(last).catch(() => {})
    },
  }
}
