// Reads a store: opens block files, hands out their segments in shared memory, checks what the manifest promises.
import { constants } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { Region } from '../numeric/region.ts'
import { roundUp } from '../numeric/rounding.ts'
import { SEGMENT_HEADER_BYTES } from '../numeric/segment-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { checkSegment, SegmentDecoder } from './codecs.ts'
import {
  BLOCK_FILE_PATTERN,
  blockNumber,
  chainChecksum,
  checkFileHeader,
  damaged,
  FILE_HEADER_BYTES,
  hexChecksum,
  LOCK_FILE,
  MANIFEST_FILE,
  readSegmentHeader,
  type SegmentHeader,
} from './file-layout.ts'
import { type BlockEntry, type Manifest, readManifest } from './manifest.ts'
import { fingerprintOf } from './writer.ts'

/** A segment in shared memory, until the next one is asked for. */
export interface LoadedSegment {
  header: SegmentHeader
  at: Address
  bytes: ByteCount
  /** Names file and segment, for errors of the decoder. */
  where: string
}

const DEFAULT_READ_BYTES = 8 << 20
/** What positions, sizes and addresses of reads past the page cache are multiples of. */
const PAGE_BYTES = 4096

export interface VerifyResult {
  blocks: number
  segments: number
  rows: number
  nonzeros: number
  /** What is wrong, one error for each bad block; empty for a sound store. */
  problems: SpillwayError[]
}

/** Opens a finished store; says so when it is unfinished or none. */
export async function openStore(folder: string): Promise<Store> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    throw fileError(error, folder, 'open')
  }
  if (!names.includes(MANIFEST_FILE)) {
    if (names.some(name => name === LOCK_FILE || BLOCK_FILE_PATTERN.test(name))) {
      throw new SpillwayError(
        `${folder} is an unfinished store: it has no ${MANIFEST_FILE}, so its ingest is still running or was interrupted`,
        'wait for the ingest to end, or ingest the data again',
      )
    }
    throw new SpillwayError(
      `${folder} is no store: it has no ${MANIFEST_FILE}`,
      'make one with `spillway ingest DATA STORE`',
    )
  }
  return new Store(folder, await readManifest(folder))
}

/** A buffer in the arena through which block files are read, to be used again for the next block. */
export class ReadBuffer {
  readonly arena: Arena
  readonly readBytes: ByteCount
  /** Whether files are read past the page cache. */
  readonly direct: boolean
  /** 16 bytes for checksums. */
  readonly scratch: Address
  readonly #region: Region

  constructor(arena: Arena, readBytes = DEFAULT_READ_BYTES, direct = false) {
    this.arena = arena
    this.readBytes = Math.max(readBytes, FILE_HEADER_BYTES + SEGMENT_HEADER_BYTES)
    this.direct = direct
    this.#region = new Region(arena, 'reading a block')
    this.scratch = arena.allocate(16, 'reading a block')
  }

  /** Room that begins with a page. */
  room(bytes: ByteCount): Address {
    return roundUp(this.#region.room(bytes + PAGE_BYTES), PAGE_BYTES)
  }
}

export class Store {
  readonly folder: string
  readonly manifest: Manifest

  constructor(folder: string, manifest: Manifest) {
    this.folder = folder
    this.manifest = manifest
  }

  /** Path of a block's file. */
  blockPath(block: number): string {
    return join(this.folder, this.manifest.blocks[block].file)
  }

  /** The segments of a block in the order of the file, read in large pieces straight into shared memory. Headers,
   *  sizes, counts and the block's checksum are checked on the way; the decoder checks payloads. Of segments that are not
   *  `wanted`, by their number in the block, only what comes with their headers is read. */
  async *blockSegments(
    block: number,
    buffer: ReadBuffer,
    wanted: (segment: number) => boolean = () => true,
  ): AsyncGenerator<LoadedSegment, void, void> {
    const { arena } = buffer
    const entry = this.manifest.blocks[block]
    const path = this.blockPath(block)
    await using file = await BlockFile.open(path, buffer.direct)
    const size = await file.size()
    // What is in memory: `held` bytes from `offset` of the file on, of which `used` are done with. They lie as they do in the
    // pages of the file, so that every read begins and ends with a page.
    let room = roundUp(buffer.readBytes, PAGE_BYTES)
    let base = buffer.room(room)
    let [at, offset, held, used] = [base, 0, 0, 0]
    const fill = async (bytes: ByteCount) => {
      if (held - used >= bytes) return
      const kept = arena.bytes(at + used, held - used)
      offset += used
      const before = offset % PAGE_BYTES
      if (before + bytes > room) {
        const copy = kept.slice()
        room = roundUp(before + bytes, PAGE_BYTES)
        base = buffer.room(room)
        arena.bytes(base + before, copy.length).set(copy)
      } else arena.bytes(base, room).copyWithin(before, at + used - base, at + held - base)
      at = base + before
      held -= used
      used = 0
      const end = Math.min(room - before, size - offset)
      await file.read(arena, at + held, end - held, offset + held)
      held = end
    }
    await fill(Math.min(size, FILE_HEADER_BYTES))
    let checksum = checkFileHeader(arena, at, held, blockNumber(entry.file), path)
    checkSize(path, size, entry)
    used = FILE_HEADER_BYTES
    let [rows, nonzeros, segments] = [0, 0, 0]
    while (offset + used < size) {
      const where = `segment ${segments} (at byte ${offset + used}) of ${path}`
      const left = size - offset - used
      await fill(Math.min(left, SEGMENT_HEADER_BYTES))
      const header = readSegmentHeader(arena, at + used, held - used, where)
      const bytes = SEGMENT_HEADER_BYTES + header.payloadBytes
      if (bytes > left) throw damaged(where, `it is truncated, ${left} bytes were found, ${bytes} expected`)
      if (header.block !== blockNumber(entry.file)) throw damaged(where, `it belongs to block ${header.block}`)
      rows += header.rows
      nonzeros += header.nonzeros
      checksum = chainChecksum(arena, buffer.scratch, checksum, header.headerHash)
      if (wanted(segments++)) {
        await fill(bytes)
        yield { header, at: at + used, bytes, where }
      }
      used += bytes
      // What was not read is passed over: reading goes on behind it.
      if (used > held) [offset, held, used] = [offset + used, 0, 0]
    }
    checkCounts(path, { rows, nonzeros, segments, checksum: hexChecksum(checksum) }, entry)
  }

  /** Reads everything and checks every checksum and count. With `decode` every segment is decoded as well. */
  async verify(arena: Arena, options: { decode?: boolean; readBytes?: ByteCount } = {}): Promise<VerifyResult> {
    const buffer = new ReadBuffer(arena, options.readBytes)
    const decoder = options.decode ? new SegmentDecoder(arena) : undefined
    const batch = decoder?.newBatch() ?? 0
    const result: VerifyResult = { blocks: 0, segments: 0, rows: 0, nonzeros: 0, problems: [] }
    for (let block = 0; block < this.manifest.blocks.length; block++) {
      try {
        for await (const { header, at, bytes, where } of this.blockSegments(block, buffer)) {
          if (decoder) decoder.decode(at, bytes, batch, where)
          else checkSegment(arena, at, bytes, where)
          result.segments++
          result.rows += header.rows
          result.nonzeros += header.nonzeros
        }
        result.blocks++
      } catch (error) {
        if (!(error instanceof SpillwayError)) throw error
        result.problems.push(error)
      }
    }
    const fingerprint = fingerprintOf(arena, buffer.scratch, this.manifest.blocks)
    if (fingerprint !== this.manifest.fingerprint) {
      const path = join(this.folder, MANIFEST_FILE)
      result.problems.push(
        damaged(path, `the fingerprint of its blocks is ${fingerprint}, it says ${this.manifest.fingerprint}`),
      )
    }
    return result
  }
}

function checkSize(path: string, size: ByteCount, { bytes }: BlockEntry): void {
  if (size === bytes) return
  const what = size < bytes ? 'it is truncated' : 'bytes are left over at its end'
  throw damaged(path, `${what}: ${size} bytes were found, ${bytes} expected`)
}

/** Fails where a block does not hold what its manifest says. */
function checkCounts(path: string, found: BlockCounts, expected: BlockCounts): void {
  for (const [what, count] of [
    ['segments', 'segments'],
    ['rows', 'rows'],
    ['nonzeros', 'nonzeros'],
    ['as checksum', 'checksum'],
  ] as const) {
    if (found[count] === expected[count]) continue
    throw damaged(path, `${found[count]} ${what}; the manifest says ${expected[count]}`)
  }
}

type BlockCounts = Pick<BlockEntry, 'segments' | 'rows' | 'nonzeros' | 'checksum'>

/** A file of a block, read past the page cache where that is asked for and the file system can: some refuse to open it so,
 *  others refuse to read. */
class BlockFile implements AsyncDisposable {
  readonly #path: string
  #handle: FileHandle
  #direct: boolean

  private constructor(path: string, handle: FileHandle, direct: boolean) {
    this.#path = path
    this.#handle = handle
    this.#direct = direct
  }

  static async open(path: string, direct: boolean): Promise<BlockFile> {
    try {
      if (direct && constants.O_DIRECT) {
        return new BlockFile(path, await open(path, constants.O_RDONLY | constants.O_DIRECT), true)
      }
    } catch (error) {
      if (!isRefused(error)) throw fileError(error, path, 'read')
    }
    return new BlockFile(path, await openPlainly(path), false)
  }

  async size(): Promise<ByteCount> {
    return (await this.#handle.stat()).size
  }

  /** Reads so many bytes, and what follows them up to the end of a page or of the file: reads past the page cache must. */
  async read(arena: Arena, at: Address, bytes: ByteCount, position: number): Promise<void> {
    for (let done = 0; done < bytes; ) {
      const wanted = roundUp(bytes - done, PAGE_BYTES)
      const bytesRead = await this.#readOnce(arena.bytes(at + done, wanted), position + done)
      if (bytesRead === 0) throw damaged(this.#path, 'it became shorter while it was read')
      done += bytesRead
    }
  }

  async #readOnce(target: Uint8Array, position: number): Promise<number> {
    try {
      return (await this.#handle.read(target, 0, target.length, position)).bytesRead
    } catch (error) {
      if (!this.#direct || !isRefused(error)) throw fileError(error, this.#path, 'read')
    }
    const plain = await openPlainly(this.#path)
    await this.#handle.close()
    this.#handle = plain
    this.#direct = false
    return this.#readOnce(target, position)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }
}

/** What a file system says that cannot read past the page cache, or not from there. */
const isRefused = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EINVAL'

async function openPlainly(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (error) {
    throw fileError(error, path, 'read')
  }
}
