// Reads a store: opens block files, hands out their segments in shared memory, checks what the manifest promises.
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { Region } from '../numeric/region.ts'
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
import { type Manifest, readManifest } from './manifest.ts'
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
  readonly region: Region
  /** 16 bytes for checksums. */
  readonly scratch: number

  constructor(arena: Arena, readBytes = DEFAULT_READ_BYTES) {
    this.arena = arena
    this.readBytes = Math.max(readBytes, FILE_HEADER_BYTES + SEGMENT_HEADER_BYTES)
    this.region = new Region(arena, 'reading a block')
    this.scratch = arena.allocate(16, 'reading a block')
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
   *  sizes, counts and the block's checksum are checked on the way; the decoder checks payloads. */
  async *blockSegments(block: number, buffer: ReadBuffer): AsyncGenerator<LoadedSegment, void, void> {
    const { arena } = buffer
    const entry = this.manifest.blocks[block]
    const path = this.blockPath(block)
    await using file = await openFile(path)
    const size = (await file.stat()).size
    if (size !== entry.bytes) {
      const what = size < entry.bytes ? 'it is truncated' : 'bytes are left over at its end'
      // A newer version may well have another size; that is the better thing to say.
      await this.#checkHeader(file, block, size, buffer, path)
      throw damaged(path, `${what}: ${size} bytes were found, ${entry.bytes} expected`)
    }
    let checksum = await this.#checkHeader(file, block, size, buffer, path)
    let [rows, nonzeros, segments] = [0, 0, 0]
    let at = buffer.region.room(buffer.readBytes)
    let room = buffer.readBytes
    // What is in memory: `held` bytes from `offset` of the file on, of which `used` are done with.
    let [offset, held, used] = [FILE_HEADER_BYTES, 0, 0]
    const fill = async (bytes: ByteCount) => {
      if (held - used >= bytes) return
      arena.bytes(at, held).copyWithin(0, used)
      offset += used
      held -= used
      used = 0
      if (bytes > room) {
        const kept = arena.bytes(at, held).slice()
        at = buffer.region.room(bytes)
        room = bytes
        arena.bytes(at, held).set(kept)
      }
      const wanted = Math.min(room, size - offset)
      await readFully(file, arena, at + held, wanted - held, offset + held, path)
      held = wanted
    }
    while (offset + used < size) {
      const where = `segment ${segments} (at byte ${offset + used}) of ${path}`
      const left = size - offset - used
      await fill(Math.min(left, SEGMENT_HEADER_BYTES))
      const header = readSegmentHeader(arena, at + used, held - used, where)
      const bytes = SEGMENT_HEADER_BYTES + header.payloadBytes
      if (bytes > left) throw damaged(where, `it is truncated, ${left} bytes were found, ${bytes} expected`)
      if (header.block !== blockNumber(entry.file)) throw damaged(where, `it belongs to block ${header.block}`)
      await fill(bytes)
      rows += header.rows
      nonzeros += header.nonzeros
      segments++
      checksum = chainChecksum(arena, buffer.scratch, checksum, header.headerHash)
      yield { header, at: at + used, bytes, where }
      used += bytes
    }
    for (const [what, found, expected] of [
      ['segments', segments, entry.segments],
      ['rows', rows, entry.rows],
      ['nonzeros', nonzeros, entry.nonzeros],
      ['as checksum', hexChecksum(checksum), entry.checksum],
    ]) {
      if (found !== expected) throw damaged(path, `${found} ${what}; the manifest says ${expected}`)
    }
  }

  async #checkHeader(file: FileHandle, block: number, size: number, buffer: ReadBuffer, path: string): Promise<bigint> {
    const at = buffer.region.room(buffer.readBytes)
    const bytes = Math.min(size, FILE_HEADER_BYTES)
    await readFully(file, buffer.arena, at, bytes, 0, path)
    return checkFileHeader(buffer.arena, at, bytes, blockNumber(this.manifest.blocks[block].file), path)
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

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (error) {
    throw fileError(error, path, 'read')
  }
}

async function readFully(
  file: FileHandle,
  arena: Arena,
  at: Address,
  bytes: ByteCount,
  position: number,
  path: string,
): Promise<void> {
  for (let done = 0; done < bytes; ) {
    let bytesRead: number
    try {
      const into = arena.bytes(at + done, bytes - done)
      bytesRead = (await file.read(into, 0, bytes - done, position + done)).bytesRead
    } catch (error) {
      throw fileError(error, path, 'read')
    }
    if (bytesRead === 0) throw damaged(path, 'it became shorter while it was read')
    done += bytesRead
  }
}
