// The files inside a zip archive, each read from its beginning on: stored, or inflated piece by piece, so that no file is ever in
// memory as a whole.
import { Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'
import { SpillwayError } from '../errors.ts'
import type { RandomAccess } from './input-format.ts'

export interface ZipEntry {
  name: string
  method: number
  /** Bytes in the archive, and where the entry's own head is. */
  packed: number
  at: number
}

const END = 0x06054b50
const END_64 = 0x06064b50
const LOCATOR_64 = 0x07064b50
const LISTED = 0x02014b50
const HEAD = 0x04034b50
const END_BYTES = 22
const LONGEST_COMMENT = 0xffff
const LONGEST_LIST = 1 << 24
const PIECE = 1 << 18
const STORED = 0
const DEFLATED = 8

export function damagedZip(name: string, found: string): SpillwayError {
  return new SpillwayError(
    `${name}: found ${found}, expected a zip archive, as scipy.sparse.save_npz writes it`,
    'is the file cut short? Write, copy or download it again',
  )
}

/** The list at the end of an archive. */
export async function zipEntries(name: string, file: RandomAccess): Promise<ZipEntry[]> {
  const { at, bytes } = await listPlace(name, file)
  if (bytes > LONGEST_LIST || at + bytes > file.size) throw damagedZip(name, `a list of ${bytes} bytes at byte ${at}`)
  const list = Buffer.from(await file.bytes(at, bytes))
  const entries: ZipEntry[] = []
  for (let k = 0; k + 46 <= list.length && list.readUInt32LE(k) === LISTED; ) {
    const nameEnd = k + 46 + list.readUInt16LE(k + 28)
    const extraEnd = nameEnd + list.readUInt16LE(k + 30)
    let packed = list.readUInt32LE(k + 20)
    let start = list.readUInt32LE(k + 42)
    // Numbers that 32 bits do not hold stand in an extra field, those alone and in this order: size, packed size, place.
    for (let e = nameEnd; e + 4 <= Math.min(extraEnd, list.length); e += 4 + list.readUInt16LE(e + 2)) {
      if (list.readUInt16LE(e) !== 1) continue
      let next = e + 4 + (list.readUInt32LE(k + 24) === 0xffffffff ? 8 : 0)
      if (next + 16 > list.length) break
      if (packed === 0xffffffff) {
        packed = Number(list.readBigUInt64LE(next))
        next += 8
      }
      if (start === 0xffffffff && next + 8 <= list.length) start = Number(list.readBigUInt64LE(next))
    }
    entries.push({ name: list.toString('utf8', k + 46, nameEnd), method: list.readUInt16LE(k + 10), packed, at: start })
    k = extraEnd + list.readUInt16LE(k + 32)
  }
  return entries
}

async function listPlace(name: string, file: RandomAccess): Promise<{ at: number; bytes: number }> {
  const length = Math.min(file.size, END_BYTES + LONGEST_COMMENT)
  const tail = Buffer.from(await file.bytes(file.size - length, length))
  let end = length - END_BYTES
  while (end >= 0 && tail.readUInt32LE(end) !== END) end--
  if (end < 0) throw damagedZip(name, 'no list of files at its end')
  const [bytes, at] = [tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)]
  if (at !== 0xffffffff && bytes !== 0xffffffff) return { at, bytes }
  const locator = end - 20
  if (locator < 0 || tail.readUInt32LE(locator) !== LOCATOR_64) throw damagedZip(name, 'no list of files at its end')
  const wide = Buffer.from(await file.bytes(Number(tail.readBigUInt64LE(locator + 8)), 56))
  if (wide.readUInt32LE(0) !== END_64) throw damagedZip(name, 'no list of files at its end')
  return { bytes: Number(wide.readBigUInt64LE(40)), at: Number(wide.readBigUInt64LE(48)) }
}

/** The bytes of an entry, from its beginning on. */
export class ZipReader {
  readonly name: string
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #stream: Readable
  #current: Uint8Array = new Uint8Array(0)

  private constructor(name: string, stream: Readable) {
    this.name = name
    this.#stream = stream
    this.#pieces = stream[Symbol.asyncIterator]()
  }

  static async open(archive: string, file: RandomAccess, entry: ZipEntry): Promise<ZipReader> {
    const name = `${archive}, ${entry.name}`
    const head = Buffer.from(await file.bytes(entry.at, 30))
    if (head.readUInt32LE(0) !== HEAD) throw damagedZip(name, 'other bytes where it should begin')
    const from = entry.at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28)
    if (from + entry.packed > file.size) throw damagedZip(name, `${entry.packed} bytes from byte ${from} on`)
    if (entry.method !== STORED && entry.method !== DEFLATED) {
      throw new SpillwayError(
        `${name}: found the compression ${entry.method}, expected none, or deflate`,
        'write it with scipy.sparse.save_npz or numpy.savez',
      )
    }
    const raw = Readable.from(piecesOf(file, from, entry.packed), { highWaterMark: 2 })
    if (entry.method === STORED) return new ZipReader(name, raw)
    const inflate = createInflateRaw({ chunkSize: PIECE })
    raw.on('error', error => inflate.destroy(error))
    inflate.on('close', () => raw.destroy())
    return new ZipReader(name, raw.pipe(inflate))
  }

  /** Fills the target with the next bytes. */
  async fill(target: Uint8Array): Promise<void> {
    let filled = 0
    while (filled < target.length) {
      if (this.#current.length === 0) this.#current = await this.#next(target.length - filled)
      const part = this.#current.subarray(0, target.length - filled)
      target.set(part, filled)
      filled += part.length
      this.#current = this.#current.subarray(part.length)
    }
  }

  async take(length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    await this.fill(bytes)
    return bytes
  }

  async #next(missing: number): Promise<Uint8Array> {
    try {
      const { value, done } = await this.#pieces.next()
      if (!done) return value
    } catch (error) {
      if (error instanceof SpillwayError) throw error
      throw damagedZip(this.name, `damaged data (${error instanceof Error ? error.message : error})`)
    }
    throw damagedZip(this.name, `its end ${missing} bytes too early`)
  }

  close(): void {
    this.#stream.destroy()
  }
}

async function* piecesOf(file: RandomAccess, from: number, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < length; at += PIECE) yield file.bytes(from + at, Math.min(PIECE, length - at))
}
