// How data may be compressed as a whole: each is told by how it begins, whatever the file is called.
import { createGunzip } from 'node:zlib'
import { bunzip2, startsWithBzip2 } from './bzip2-blocks.ts'
import { unxz } from './xz-streams.ts'
import { ZstdFrames } from './zstd-frames.ts'

export interface Compression {
  name: string
  /** What names of such files end with. */
  ending: string
  detect(head: Uint8Array): boolean
  decompress(input: AsyncIterable<Buffer>): AsyncIterable<Uint8Array>
}

const startsWith = (bytes: Uint8Array, magic: number[]): boolean => magic.every((byte, k) => bytes[k] === byte)
/** A frame, or a skippable frame before it, as parallel compressors write. */
const startsWithZstd = (bytes: Uint8Array): boolean =>
  startsWith(bytes, [0x28, 0xb5, 0x2f, 0xfd]) ||
  ((bytes[0] & 0xf0) === 0x50 && startsWith(bytes.subarray(1), [0x2a, 0x4d, 0x18]))

export const allCompressions: Compression[] = [
  { name: 'gzip', ending: 'gz', detect: head => startsWith(head, [0x1f, 0x8b]), decompress: gunzip },
  {
    name: 'zstd',
    ending: 'zst',
    detect: startsWithZstd,
    decompress: input => new ZstdFrames().decompress(input),
  },
  { name: 'bzip2', ending: 'bz2', detect: startsWithBzip2, decompress: bunzip2 },
  {
    name: 'xz',
    ending: 'xz',
    detect: head => startsWith(head, [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]),
    decompress: unxz,
  },
]

/** Bytes that tell how data is compressed. */
export const COMPRESSION_HEAD = 6

export function compressionOf(head: Uint8Array): Compression | undefined {
  return allCompressions.find(({ detect }) => detect(head))
}

export const compressedEndings = allCompressions.map(({ ending }) => ending)
const ENDING = new RegExp(`\\.(${compressedEndings.join('|')})$`)

/** A file's name without the ending that says how it is compressed. */
export function withoutCompression(name: string): string {
  return name.replace(ENDING, '')
}

async function* gunzip(input: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  const inflate = createGunzip({ chunkSize: 1 << 18 })
  const feed = (async () => {
    for await (const piece of input) {
      if (!inflate.write(piece)) await new Promise<void>(resolve => inflate.once('drain', resolve))
      if (inflate.destroyed) return
    }
    inflate.end()
  })()
  feed.catch(error => inflate.destroy(error as Error))
  yield* inflate as AsyncIterable<Uint8Array>
}
