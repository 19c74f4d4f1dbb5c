// Reads a store: opens block files, hands out their segments in shared memory, checks what the manifest promises.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { SEGMENT_HEADER_BYTES } from '../numeric/segment-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { BlockFile, ReadBuffer } from './block-file.ts'
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
    wanted?: (segment: number) => boolean,
  ): AsyncGenerator<LoadedSegment, void, void> {
    const { arena } = buffer
    const entry = this.manifest.blocks[block]
    const path = this.blockPath(block)
    await using file = await BlockFile.open(path, buffer, wanted === undefined)
    const { size } = file
    const start = await file.bytes(0, Math.min(size, FILE_HEADER_BYTES))
    let checksum = checkFileHeader(arena, start, file.heldFrom(0), blockNumber(entry.file), path)
    checkSize(path, size, entry)
    let position = FILE_HEADER_BYTES
    let [rows, nonzeros, segments] = [0, 0, 0]
    while (position < size) {
      const where = `segment ${segments} (at byte ${position}) of ${path}`
      const left = size - position
      const head = await file.bytes(position, Math.min(left, SEGMENT_HEADER_BYTES))
      const header = readSegmentHeader(arena, head, file.heldFrom(position), where)
      const bytes = SEGMENT_HEADER_BYTES + header.payloadBytes
      if (bytes > left) throw damaged(where, `it is truncated, ${left} bytes were found, ${bytes} expected`)
      if (header.block !== blockNumber(entry.file)) throw damaged(where, `it belongs to block ${header.block}`)
      rows += header.rows
      nonzeros += header.nonzeros
      checksum = chainChecksum(arena, buffer.scratch, checksum, header.headerHash)
      if (!wanted || wanted(segments)) yield { header, at: await file.bytes(position, bytes), bytes, where }
      segments++
      position += bytes
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
