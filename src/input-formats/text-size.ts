// How much text a file holds, as far as that can be told without reading it.
import { type FileHandle, open } from 'node:fs/promises'
import { withoutCompression } from './compressions.ts'
import { filePart, statInput } from './file-part.ts'

/** How much larger compressed text is taken to be at least, and at most whatever its file says. A bzip2 file says nothing, and packs
 *  lines of small numbers closely. */
const LEAST_FACTOR = 4
const LEAST_FACTOR_OF_BZIP2 = 10
const MOST_FACTOR = 256

/** Bytes of text; an estimate for a compressed file, undefined for what is no file. */
export async function textSize(path: string): Promise<number | undefined> {
  const found = await statInput(path)
  if (!found?.isFile()) return undefined
  path = filePart(path)?.path ?? path
  if (withoutCompression(path) === path) return found.size
  const said = (await saidSize(path, found.size).catch(() => undefined)) ?? 0
  const least = found.size * (path.endsWith('.bz2') ? LEAST_FACTOR_OF_BZIP2 : LEAST_FACTOR)
  return Math.min(Math.max(said, least), found.size * MOST_FACTOR)
}

/** Text that one thread parses in about the time that others take to start. */
const SMALL = 16 << 20

/** Whether there is text in the files, and little of it. What is missing holds none; what is no file may hold any amount. */
export async function isSmallText(paths: string[]): Promise<boolean> {
  let bytes = 0
  for (const path of paths) {
    const missing = path !== '-' && !(await statInput(path))
    bytes += missing ? 0 : ((await textSize(path)) ?? Number.POSITIVE_INFINITY)
  }
  return bytes > 0 && bytes <= SMALL
}

/** What a gzip file says at its end (modulo 2^32), the first frame of a zstd file in its header, or an xz file in its index. */
async function saidSize(path: string, size: number): Promise<number | undefined> {
  await using file = await open(path, 'r')
  const head = Buffer.alloc(18)
  await file.read(head, 0, head.length, 0)
  if (head.readUInt16LE(0) === 0x8b1f) {
    const tail = Buffer.alloc(4)
    await file.read(tail, 0, 4, Math.max(0, size - 4))
    return tail.readUInt32LE(0)
  }
  if (head.readUInt32BE(0) === XZ) return await sizeInIndex(file, size)
  if (head.readUInt32LE(0) !== 0xfd2fb528) return undefined
  // RFC 8878, section 3.1.1: flags, a window unless the frame is one segment, a dictionary's number, the size of the content.
  const flags = head[4]
  const singleSegment = (flags & 0x20) !== 0
  const at = 5 + (singleSegment ? 0 : 1) + [0, 1, 2, 4][flags & 3]
  switch (flags >> 6) {
    case 0:
      return singleSegment ? head[at] : undefined
    case 1:
      return head.readUInt16LE(at) + 256
    case 2:
      return head.readUInt32LE(at)
    default:
      return Number(head.readBigUInt64LE(at))
  }
}

/** How xz data begins. */
const XZ = 0xfd377a58
/** Bytes of an index that are looked at: some hundred thousand blocks. */
const LONGEST_INDEX = 1 << 20

/** The sizes of the blocks of an xz stream. They are in its index, in front of its last 12 bytes, in digits of seven bits. */
async function sizeInIndex(file: FileHandle, size: number): Promise<number | undefined> {
  const tail = Buffer.alloc(12)
  await file.read(tail, 0, 12, Math.max(0, size - 12))
  const bytes = (tail.readUInt32LE(4) + 1) * 4
  if (tail.toString('latin1', 10) !== 'YZ' || bytes > LONGEST_INDEX || bytes > size - 12) return undefined
  const index = Buffer.alloc(bytes)
  await file.read(index, 0, bytes, size - 12 - bytes)
  let at = 1
  const number = (): number => {
    let value = 0
    for (let place = 1; ; place *= 128) {
      const byte = index[at++]
      value += (byte & 127) * place
      if (!(byte & 128)) return value
    }
  }
  let all = 0
  for (let blocks = number(); blocks > 0 && at < bytes; blocks--) {
    number()
    all += number()
  }
  return all
}
