// What tells two sources with the same content: a checksum of the bytes that parsers get. Compressed text counts as it is
// when it is decompressed, and a last line without a line feed as one with it. The checksum is made of pieces of one size,
// so that neither chunks nor threads nor the memory matter.
import { stat } from 'node:fs/promises'
import { serialize } from 'node:v8'
import { SpillwayError } from '../errors.ts'
import { openSource } from '../input-formats/byte-source.ts'
import type { Chunk } from '../input-formats/chunks.ts'
import { blankByteOrderMark, LINE_FEED } from '../input-formats/line-chunks.ts'
import type { Arena } from '../numeric/arena.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { chainChecksum, hexChecksum } from './file-layout.ts'
import type { SourceEntry } from './manifest.ts'

/** Bytes that are hashed at once. Stores remember what comes of them: another size would find nothing again. */
const PIECE = 1 << 16
const SCRATCH = 16
/** A file that is only hashed is read so much at a time. */
const READ_BYTES = 1 << 20

const AGAIN = 'leave it out, or say --again if that is what you want'

/** Of the first piece, and of everything. */
interface ContentChecksums {
  beginning: string
  checksum: string
}

class SourceContent {
  readonly #arena: Arena
  readonly #scratch: Address
  /** A piece whose end has not come yet. */
  readonly #piece: Address
  #filled = 0
  #soFar = 0n
  #beginning: bigint | undefined

  constructor(arena: Arena) {
    this.#arena = arena
    this.#scratch = arena.allocate(SCRATCH, 'checksums of sources')
    this.#piece = arena.allocate(PIECE, 'checksums of sources')
  }

  /** The next chunk of the source. A format that plans its chunks may have said part of the content beside the bytes. */
  addChunk({ at, bytes, part, about }: Chunk, planned: boolean): void {
    this.add(at, bytes)
    if (!planned) return
    const beside = serialize([part, about])
    for (let from = 0; from < beside.length; ) {
      const room = Math.min(PIECE - this.#filled, beside.length - from)
      this.#arena.bytes(this.#piece + this.#filled, room).set(beside.subarray(from, from + room))
      this.#keep(room)
      from += room
    }
  }

  add(at: Address, bytes: ByteCount): void {
    for (let from = 0; from < bytes; ) {
      if (this.#filled === 0 && bytes - from >= PIECE) {
        this.#chain(at + from, PIECE)
        from += PIECE
        continue
      }
      const room = Math.min(PIECE - this.#filled, bytes - from)
      this.#arena.bytes(this.#piece + this.#filled, room).set(this.#arena.bytes(at + from, room))
      this.#keep(room)
      from += room
    }
  }

  /** The checksums of what was added, and a new beginning. */
  end(): ContentChecksums {
    if (this.#filled > 0) this.#chain(this.#piece, this.#filled)
    const checksums = { beginning: hexChecksum(this.#beginning ?? 0n), checksum: hexChecksum(this.#soFar) }
    this.#filled = 0
    this.#soFar = 0n
    this.#beginning = undefined
    return checksums
  }

  /** The first piece alone, once it is whole. */
  get beginning(): string | undefined {
    return this.#beginning === undefined ? undefined : hexChecksum(this.#beginning)
  }

  #keep(bytes: number): void {
    this.#filled += bytes
    if (this.#filled < PIECE) return
    this.#chain(this.#piece, PIECE)
    this.#filled = 0
  }

  #chain(at: Address, bytes: ByteCount): void {
    const hash = BigInt.asUintN(64, this.#arena.numeric.xxh64(at, bytes))
    this.#soFar = chainChecksum(this.#arena, this.#scratch, this.#soFar, hash)
    this.#beginning ??= this.#soFar
  }
}

/** The sources of a text that is being read, and what they hold. */
export class Sources {
  readonly #entries: SourceEntry[]
  readonly #content: SourceContent
  readonly #earlier: EarlierSources | undefined
  /** The source that is being read. */
  #current = 0

  /** `earlier` is not given where content may come twice. */
  constructor(arena: Arena, paths: string[], earlier: EarlierSources | undefined) {
    this.#entries = paths.map(name => ({ name, bytes: 0, rows: 0 }))
    this.#content = new SourceContent(arena)
    this.#earlier = earlier
  }

  add(chunk: Chunk, rows: number, planned: boolean): void {
    while (this.#current < chunk.source) this.#endSource()
    const entry = this.#entries[chunk.source]
    entry.rows += rows
    entry.bytes += chunk.bytes
    this.#content.addChunk(chunk, planned)
  }

  end(): SourceEntry[] {
    while (this.#current < this.#entries.length) this.#endSource()
    return this.#entries
  }

  #endSource(): void {
    const entry = this.#entries[this.#current++]
    const checksums = this.#content.end()
    // What has no bytes, a table of a database say, is known by its name alone, which tells nothing of its rows.
    if (entry.bytes > 0) Object.assign(entry, checksums)
    if (!this.#earlier) return
    const { folder, sources } = this.#earlier
    const before = sameContent(sources, entry)
    if (before) throw refuseAgain(entry.name, before, folder)
    const beside = sameContent(this.#entries.slice(0, this.#current - 1), entry)
    if (beside) throw refuseAgain(entry.name, beside, undefined)
  }
}

/** What a store holds already. */
export interface EarlierSources {
  folder: string
  sources: readonly SourceEntry[]
}

/** The source among those known that has the content of another one. A source without rows doubles nothing. */
function sameContent(known: readonly SourceEntry[], source: SourceEntry): SourceEntry | undefined {
  if (source.rows === 0 || source.checksum === undefined) return undefined
  return known.find(({ checksum, bytes, rows }) => rows > 0 && checksum === source.checksum && bytes === source.bytes)
}

/** Refuses, before anything is parsed, a file of text that is among the sources of a store: found by its size, then by its
 *  beginning, and for sure by a reading of all of it. Compressed files and pipes are not looked at. */
export async function refuseSameText(
  arena: Arena,
  path: string,
  { folder, sources }: EarlierSources,
  signal: AbortSignal | undefined,
): Promise<void> {
  const file = path === '-' ? undefined : await stat(path).catch(() => undefined)
  if (!file?.isFile()) return
  // Text of a file may have got a line feed at its end.
  const alike = sources.filter(
    ({ checksum, bytes, rows }) => checksum && rows > 0 && [0, 1].includes(bytes - file.size),
  )
  if (alike.length === 0) return
  const checksum = await textChecksum(arena, path, new Set(alike.map(({ beginning }) => beginning)), signal)
  const same = alike.find(entry => entry.checksum === checksum)
  if (same) throw refuseAgain(path, same, folder)
}

/** Refuses a file that is named twice, by the same name or by another. */
export async function refuseNamedTwice(paths: string[]): Promise<void> {
  const names = new Map<string, string>()
  for (const path of paths) {
    const file = path === '-' ? undefined : await stat(path, { bigint: true }).catch(() => undefined)
    if (!file?.isFile()) continue
    const identity = `${file.dev} ${file.ino}`
    const before = names.get(identity)
    names.set(identity, path)
    if (before === undefined) continue
    const what = before === path ? `${path} is named twice` : `${path} is the same file as ${before}`
    throw new SpillwayError(`${what}: its rows would be there twice`, AGAIN)
  }
}

/** The checksum that the text of a file has in a store, if its beginning is one of those given. */
async function textChecksum(
  arena: Arena,
  path: string,
  beginnings: Set<string | undefined>,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const mark = arena.mark()
  const source = await openSource(path)
  try {
    if (!source.readAt) return undefined
    const content = new SourceContent(arena)
    const buffer = arena.allocate(READ_BYTES, 'a file to compare')
    let last = LINE_FEED
    for (let first = true; ; first = false) {
      signal?.throwIfAborted()
      const filled = await source.read(arena.bytes(buffer, READ_BYTES))
      const text = arena.bytes(buffer, filled)
      if (first) blankByteOrderMark(text)
      content.add(buffer, filled)
      if (content.beginning && !beginnings.has(content.beginning)) return undefined
      last = text.at(-1) ?? last
      if (filled < READ_BYTES) break
    }
    if (last !== LINE_FEED) {
      arena.bytes(buffer, 1)[0] = LINE_FEED
      content.add(buffer, 1)
    }
    return content.end().checksum
  } finally {
    await source.close()
    arena.release(mark)
  }
}

/** The refusal of rows that are there already. */
function refuseAgain(name: string, earlier: SourceEntry, folder: string | undefined): SpillwayError {
  const which = name === earlier.name ? 'is' : `has the same content as ${shown(earlier.name)}, which is`
  const where = folder === undefined ? 'among the data already' : `in ${folder} already`
  const rows = earlier.rows === 1 ? 'its row' : `its ${earlier.rows} rows`
  return new SpillwayError(`${shown(name)} ${which} ${where}: ${rows} would be there twice`, AGAIN)
}

const shown = (name: string): string => (name === '-' ? 'standard input' : name)
