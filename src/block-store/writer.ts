// Writes a store. Block files grow while chunks come in; the manifest is written last, under another name, made
// durable and renamed. So a crash, a full disk or a kill at any moment leaves a folder without a manifest, which
// openStore calls unfinished and the next ingest clears away. A finished store is changed the same way: new files beside
// the old ones, and then a manifest that names them; until that moment the old store is whole, afterwards the new one.
import { type FileHandle, open, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError, SpillwayError, UsageError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { type EncodedSegment, setBasePosition } from './codecs.ts'
import {
  blockFileName,
  chainChecksum,
  FEATURE_NAMES_FILE,
  FEATURE_SET_FILE,
  FILE_HEADER_BYTES,
  hexChecksum,
  LOCK_FILE,
  MANIFEST_FILE,
  MANIFEST_TEMPORARY,
  MOST_BLOCKS,
  readSegmentHeader,
  writeFileHeader,
} from './file-layout.ts'
import {
  type BlockEntry,
  checkManifest,
  MANIFEST_VERSION,
  MANIFEST_VERSION_WEIGHTED,
  type Manifest,
  type ManifestParts,
} from './manifest.ts'
import { checkFolder, clearFolder, lockFolder, makeFolder, removeFile, syncFolder } from './store-folder.ts'

export interface WriterOptions {
  arena: Arena
  /** Number of block files. */
  blocks: number
  /** Replace a finished store of the same name. */
  overwrite?: boolean
  /** Memory for gathering small writes, shared by all blocks. */
  bufferBytes?: ByteCount
  /** false leaves it to the system when bytes reach the disk: faster, and a power cut may damage a finished store. */
  durable?: boolean
}

const DEFAULT_BUFFER_BYTES = 16 << 20
const LARGEST_BUFFER = 256 << 10
const SMALLEST_BUFFER = 4 << 10
/** Files held open; the others are opened for each write. */
const MOST_OPEN = 200
/** Writes that are under way while buffers fill up. To wait for each would keep the threads waiting that parse and encode. */
const MOST_UNDER_WAY = 4

interface OpenBlock {
  number: number
  file: string
  handle: FileHandle | undefined
  buffer: Buffer | undefined
  filled: number
  /** Bytes that were given to the file; what is in the buffer comes after them. */
  written: number
  /** Ends when the file has them. It never fails: a failure is kept by the writer. */
  pending: Promise<void>
  /** Writes that have not ended. */
  writes: number
  rows: number
  nonzeros: number
  segments: number
  checksum: bigint
  lastUse: number
}

export class StoreWriter {
  readonly folder: string
  readonly #arena: Arena
  readonly #durable: boolean
  readonly #bufferBytes: ByteCount
  readonly #made: boolean
  readonly #scratch: Address
  readonly #blocks: OpenBlock[] = []
  /** The feature set that belongs to what is written: abort removes it. */
  #featureFile: string | undefined
  #open = 0
  #uses = 0
  /** Buffers that wait for bytes, and how many are being written. */
  readonly #free: Buffer[] = []
  #underWay = 0
  #whenOneEnds: (() => void) | undefined
  #failure: { error: unknown } | undefined
  #ownsLock = true
  /** Whether a segment had weights of rows. */
  #weighted = false
  #state: 'writing' | 'finished' | 'aborted' | 'failed' = 'writing'

  private constructor(folder: string, options: WriterOptions, made: boolean) {
    this.folder = folder
    this.#arena = options.arena
    this.#durable = options.durable ?? true
    this.#made = made
    const share = Math.floor((options.bufferBytes ?? DEFAULT_BUFFER_BYTES) / (options.blocks + MOST_UNDER_WAY))
    this.#bufferBytes = Math.min(LARGEST_BUFFER, Math.max(SMALLEST_BUFFER, share))
    this.#scratch = options.arena.allocate(FILE_HEADER_BYTES, 'the store writer')
  }

  /** Makes the folder, or clears an unfinished store (with `overwrite` also a finished one), and takes its lock. */
  static async create(folder: string, options: WriterOptions): Promise<StoreWriter> {
    if (!Number.isInteger(options.blocks) || options.blocks < 1 || options.blocks > MOST_BLOCKS) {
      throw new UsageError(`a store has 1 to ${MOST_BLOCKS} blocks, ${options.blocks} were asked for`)
    }
    const made = await makeFolder(folder)
    if (!made) await checkFolder(folder, options.overwrite ?? false)
    await lockFolder(folder, 'name another place for the store')
    const writer = new StoreWriter(folder, options, made)
    writer.#featureFile = FEATURE_SET_FILE
    try {
      if (!made) await clearFolder(folder, writer.#durable)
      for (let k = 0; k < options.blocks; k++) await writer.#startBlock(k)
    } catch (error) {
      await writer.abort()
      throw error
    }
    return writer
  }

  /** New blocks, with these numbers, beside those of a finished store. The caller holds the store's lock and lets go of
   *  it; nothing that the present manifest names is touched before `commit`. */
  static async extend(
    folder: string,
    options: Omit<WriterOptions, 'blocks' | 'overwrite'> & { numbers: number[]; featureFile?: string },
  ): Promise<StoreWriter> {
    const writer = new StoreWriter(folder, { ...options, blocks: Math.max(options.numbers.length, 1) }, false)
    writer.#featureFile = options.featureFile
    writer.#ownsLock = false
    try {
      for (const number of options.numbers) await writer.#startBlock(number)
    } catch (error) {
      await writer.abort()
      throw error
    }
    return writer
  }

  /** Appends the segments of one chunk. Chunks come in order and one call at a time; `basePosition` is the number of
   *  the chunk's first row in the whole input. The segments' memory is free again when the promise resolves. */
  async append(segments: readonly EncodedSegment[], basePosition: number): Promise<void> {
    this.#check()
    const touched = new Set<OpenBlock>()
    for (const segment of segments) {
      const block = this.#blocks[segment.block]
      if (!block) throw new Error(`block ${segment.block} of ${this.#blocks.length}`)
      setBasePosition(this.#arena, segment.at, basePosition, block.number)
      const where = join(this.folder, block.file)
      const header = readSegmentHeader(this.#arena, segment.at, segment.bytes, where)
      this.#weighted ||= header.weighted
      block.rows += header.rows
      block.nonzeros += header.nonzeros
      block.segments++
      block.checksum = chainChecksum(this.#arena, this.#scratch, block.checksum, header.headerHash)
      await this.#write(block, segment.at, segment.bytes)
      touched.add(block)
    }
    // What is written straight from the segments' memory must be out of it.
    for (const block of touched) if (block.writes > 0) await block.pending
  }

  /** Bytes of all block files so far, those in buffers included. */
  get bytes(): number {
    return this.#blocks.reduce((sum, block) => sum + block.written + block.filled, 0)
  }

  /** Empties the buffers, makes the files durable and writes the manifest. */
  async finish(parts: ManifestParts): Promise<Manifest> {
    const manifest = await this.prepare(parts)
    await this.commit(manifest)
    await removeFile(join(this.folder, LOCK_FILE))
    return manifest
  }

  /** Empties the buffers and makes the files durable; the manifest that is to be. `arrange` makes the list of blocks
   *  of those written, where there are others. */
  async prepare(parts: ManifestParts, arrange = (written: BlockEntry[]) => written): Promise<Manifest> {
    this.#check()
    for (const block of this.#blocks) await this.#flush(block)
    for (const block of this.#blocks) await this.#close(block, this.#durable)
    this.#free.length = 0
    return checkManifest(this.#manifest(parts, arrange), join(this.folder, MANIFEST_FILE))
  }

  /** Puts the manifest in its place: from here on the store is the new one. */
  async commit(manifest: Manifest): Promise<void> {
    const path = join(this.folder, MANIFEST_TEMPORARY)
    try {
      await using file = await open(path, 'w')
      await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`)
      if (this.#durable) await file.sync()
    } catch (error) {
      throw this.#failed(error, path)
    }
    try {
      // Before the manifest gets its name its blocks must be in the folder for good, hence both syncs.
      if (this.#durable) await syncFolder(this.folder)
      await rename(path, join(this.folder, MANIFEST_FILE))
      this.#state = 'finished'
      // The manifest has its name: whatever is said of the folder now, there is no way back.
      if (this.#durable) await syncFolder(this.folder).catch(() => {})
    } catch (error) {
      throw this.#failed(error, join(this.folder, MANIFEST_FILE))
    }
  }

  /** Removes what was written. Does nothing once the store is finished. */
  async abort(): Promise<void> {
    if (this.#state === 'finished' || this.#state === 'aborted') return
    this.#state = 'aborted'
    for (const block of this.#blocks) {
      block.buffer = undefined
      await block.pending
      await block.handle?.close().catch(() => {})
      block.handle = undefined
      await removeFile(join(this.folder, block.file))
    }
    if (this.#featureFile) await removeFile(join(this.folder, this.#featureFile))
    await removeFile(join(this.folder, MANIFEST_TEMPORARY))
    if (this.#ownsLock) {
      await removeFile(join(this.folder, FEATURE_NAMES_FILE))
      await removeFile(join(this.folder, LOCK_FILE))
    }
    if (this.#made) await rmdir(this.folder).catch(() => {})
  }

  #manifest(parts: ManifestParts, arrange: (written: BlockEntry[]) => BlockEntry[]): Manifest {
    const blocks = arrange(
      this.#blocks.map(block => ({
        file: block.file,
        bytes: block.written,
        rows: block.rows,
        nonzeros: block.nonzeros,
        segments: block.segments,
        checksum: hexChecksum(block.checksum),
      })),
    )
    const rowWeights = parts.rowWeights === true || this.#weighted
    const total = (field: 'rows' | 'nonzeros') => blocks.reduce((sum, block) => sum + block[field], 0)
    return {
      format: 'spillway block store',
      version: rowWeights ? MANIFEST_VERSION_WEIGHTED : MANIFEST_VERSION,
      createdBy: parts.createdBy,
      rows: total('rows'),
      nonzeros: total('nonzeros'),
      features: parts.features,
      usedFeatures: parts.usedFeatures ?? 0,
      ...(parts.featureFile !== undefined && { featureFile: parts.featureFile }),
      ...(parts.positions !== undefined && { positions: parts.positions }),
      ...(parts.inputFormat !== undefined && { inputFormat: parts.inputFormat }),
      indexBase: parts.indexBase,
      ...(parts.schema && { schema: parts.schema }),
      ...(rowWeights && { rowWeights }),
      split: parts.split,
      seed: parts.seed,
      valueBits: parts.valueBits,
      compression: parts.compression ?? 'none',
      transforms: parts.transforms ?? {},
      fingerprint: fingerprintOf(this.#arena, this.#scratch, blocks),
      labels: parts.labels,
      sources: parts.sources,
      blocks,
    }
  }

  async #startBlock(number: number): Promise<void> {
    const block: OpenBlock = {
      number,
      file: blockFileName(number),
      handle: undefined,
      buffer: undefined,
      filled: 0,
      written: 0,
      pending: Promise.resolve(),
      writes: 0,
      rows: 0,
      nonzeros: 0,
      segments: 0,
      checksum: 0n,
      lastUse: 0,
    }
    this.#blocks.push(block)
    block.checksum = writeFileHeader(this.#arena, this.#scratch, number)
    const path = join(this.folder, block.file)
    try {
      // Created anew: a leftover that could not be removed, or a link to elsewhere, is an error and is not written to.
      block.handle = await open(path, 'wx')
      this.#open++
    } catch (error) {
      throw this.#failed(error, path)
    }
    await this.#write(block, this.#scratch, FILE_HEADER_BYTES)
    if (this.#open >= MOST_OPEN) await this.#close(block, false)
  }

  /** Through the block's buffer; what would fill an empty one is written from where it is. */
  async #write(block: OpenBlock, at: Address, bytes: ByteCount): Promise<void> {
    for (let done = 0; done < bytes; ) {
      const rest = this.#arena.bytes(at + done, bytes - done)
      if (block.filled === 0 && rest.length >= this.#bufferBytes) return await this.#begin(block, rest)
      block.buffer ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bufferBytes)
      const part = Math.min(rest.length, block.buffer.length - block.filled)
      block.buffer.set(rest.subarray(0, part), block.filled)
      block.filled += part
      done += part
      if (block.filled === block.buffer.length) await this.#flush(block)
    }
  }

  /** Begins to write what is in the buffer. */
  async #flush(block: OpenBlock): Promise<void> {
    const { buffer, filled } = block
    block.buffer = undefined
    block.filled = 0
    if (buffer) await this.#begin(block, buffer.subarray(0, filled), () => this.#free.push(buffer))
  }

  /** Begins to write bytes at the end of a block, and waits until not too many others are being written. A failure is told to
   *  whoever comes next. */
  async #begin(block: OpenBlock, bytes: Uint8Array, done?: () => void): Promise<void> {
    const position = block.written
    block.written += bytes.length
    this.#underWay++
    block.writes++
    block.pending = block.pending
      .then(() => this.#writeAt(block, bytes, position))
      .catch(error => {
        this.#failure ??= { error: this.#failed(error, join(this.folder, block.file)) }
      })
      .then(() => {
        done?.()
        this.#underWay--
        block.writes--
        this.#whenOneEnds?.()
      })
    while (this.#underWay >= MOST_UNDER_WAY) {
      await new Promise<void>(resolve => {
        this.#whenOneEnds = resolve
      })
    }
    this.#check()
  }

  /** Tells of a write that failed meanwhile. */
  #check(): void {
    const failure = this.#failure
    this.#failure = undefined
    if (failure) throw failure.error
    if (this.#state !== 'writing') throw new Error(`the store is ${this.#state}`)
  }

  async #writeAt(block: OpenBlock, bytes: Uint8Array, position: number): Promise<void> {
    const handle = await this.#handle(block)
    for (let done = 0; done < bytes.length; ) {
      done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten
    }
  }

  async #handle(block: OpenBlock): Promise<FileHandle> {
    block.lastUse = ++this.#uses
    if (block.handle) return block.handle
    if (this.#open >= MOST_OPEN) {
      let oldest: OpenBlock | undefined
      for (const other of this.#blocks) {
        if (other.handle && other.writes === 0 && (!oldest || other.lastUse < oldest.lastUse)) oldest = other
      }
      if (oldest) await this.#closeHandle(oldest)
    }
    block.handle = await open(join(this.folder, block.file), 'r+')
    this.#open++
    return block.handle
  }

  /** The handle is nobody's from the start: another write may want the file open again meanwhile. */
  async #closeHandle(block: OpenBlock): Promise<void> {
    const { handle } = block
    block.handle = undefined
    if (!handle) return
    this.#open--
    await handle.close()
  }

  async #close(block: OpenBlock, sync: boolean): Promise<void> {
    await block.pending
    this.#check()
    try {
      if (sync) await (await this.#handle(block)).sync()
      await this.#closeHandle(block)
    } catch (error) {
      throw this.#failed(error, join(this.folder, block.file))
    }
  }

  #failed(error: unknown, path: string): SpillwayError {
    if (this.#state === 'writing') this.#state = 'failed'
    return error instanceof SpillwayError ? error : fileError(error, path, 'write')
  }
}

/** XXH64 over the blocks' checksums, one after the other. */
export function fingerprintOf(arena: Arena, scratch: number, blocks: readonly { checksum: string }[]): string {
  let sum = 0n
  for (const block of blocks) sum = chainChecksum(arena, scratch, sum, BigInt(`0x${block.checksum}`))
  return hexChecksum(sum)
}
