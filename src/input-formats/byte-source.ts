// Bytes of a file or of standard input, decompressed on the way when they start like compressed data. Plain files are read
// straight into the caller's memory.
import { constants } from 'node:fs'
import { access, type FileHandle, open, stat } from 'node:fs/promises'
import { PassThrough, type Readable } from 'node:stream'
import { fileError, SpillwayError } from '../errors.ts'
import { crowdsOut, DirectReader } from '../files/read-directly.ts'
import { unlessAborted } from '../threads/until-aborted.ts'
import { COMPRESSION_HEAD, compressionOf } from './compressions.ts'
import { type FilePart, filePart, partName } from './file-part.ts'
import { isGivenRows, openGivenRows } from './given-rows.ts'
import { NotDecompressed } from './xz-streams.ts'

export interface ByteSource {
  /** As the user wrote it; `standard input` for `-`. */
  name: string
  /** What it is, in words: `a file`, `a pipe`, `gzip data`. */
  kind: string
  /** Bytes on disk, where they are known. */
  size: number | undefined
  /** Bytes taken from the disk so far: what progress and `bytesRead` count. */
  consumed: number
  /** Fills as much of the target as there is; less than all of it only at the end. */
  read(target: Uint8Array): Promise<number>
  /** The first bytes, of a plain file. */
  head?: Uint8Array
  /** Fills the target from any byte on, where that can be: in plain files. Less than all of it only at the end. */
  readAt?(target: Uint8Array, at: number): Promise<number>
  close(): Promise<void>
}

/** Bytes of a file that its format may be told by. */
const HEAD_BYTES = 64

/** Refuses what cannot be opened, without opening it: a named pipe that is closed again loses its writer. */
export async function requireReadable(path: string): Promise<void> {
  if (path === '-' || isGivenRows(path)) return
  try {
    path = filePart(path)?.path ?? path
    if ((await stat(path)).isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    await access(path, constants.R_OK)
  } catch (error) {
    throw fileError(error, path, 'read')
  }
}

/** Whether data can be read once alone. A named pipe that is closed again loses its writer. */
export async function isReadOnce(path: string): Promise<boolean> {
  if (path === '-' || isGivenRows(path)) return true
  const found = await stat(filePart(path)?.path ?? path).catch(() => undefined)
  return found !== undefined && !found.isFile() && !found.isDirectory()
}

/** Pipes that were looked at, each with its beginning, which comes first when it is opened. */
const lookedAt = new Map<string, { source: ByteSource; head: Uint8Array }>()
const BEGINNING = 1 << 16

/** The beginning of a pipe. Whoever opens it later reads it from there. A pipe may never bring it: a signal ends the wait. */
export async function lookAtPipe(path: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const found = lookedAt.get(path)
  if (found) return found.head
  const source = await openSource(path)
  const head = new Uint8Array(BEGINNING)
  try {
    const looked = { source, head: head.subarray(0, await unlessAborted(() => source.read(head), signal)) }
    lookedAt.set(path, looked)
    return looked.head
  } catch (error) {
    await source.close()
    throw error
  }
}

/** Closes a pipe that was looked at, and that nobody opened afterwards: it would keep the program waiting. */
export async function forgetPipe(path: string): Promise<void> {
  const looked = lookedAt.get(path)
  lookedAt.delete(path)
  await looked?.source.close()
}

/** A pipe that was looked at, from its beginning on. */
function fromBeginning({ source, head }: { source: ByteSource; head: Uint8Array }): ByteSource {
  const { name, kind, size } = source
  return {
    ...{ name, kind, size },
    get consumed() {
      return source.consumed
    },
    async read(target) {
      const part = head.subarray(0, target.length)
      target.set(part)
      head = head.subarray(part.length)
      return part.length + (part.length < target.length ? await source.read(target.subarray(part.length)) : 0)
    },
    close: () => source.close(),
  }
}

/** Opens a path, standard input for `-`, a part of a file, or rows of a program. */
export async function openSource(path: string): Promise<ByteSource> {
  const looked = lookedAt.get(path)
  if (looked) {
    lookedAt.delete(path)
    return fromBeginning(looked)
  }
  const part = filePart(path)
  if (part) return partOfSource(await openSource(part.path), part)
  if (path === '-') return openStream('standard input', 'a pipe', process.stdin, undefined)
  if (isGivenRows(path)) return openGivenRows(path)
  let handle: FileHandle | undefined
  let size: number
  let head = new Uint8Array(HEAD_BYTES)
  let regular: boolean
  try {
    handle = await open(path, 'r')
    const stat = await handle.stat()
    if (stat.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    size = stat.size
    regular = stat.isFile()
    if (regular) head = head.subarray(0, (await handle.read(head, 0, HEAD_BYTES, 0)).bytesRead)
  } catch (error) {
    await handle?.close()
    throw fileError(error, path, 'read')
  }
  const packed = compressionOf(head)
  if (regular && !packed) return plainFile(path, handle, size, head)
  // The handle goes on: a named pipe that is closed and opened again loses its writer.
  const kind = regular ? `${packed?.name} data` : 'a pipe'
  return openStream(path, kind, handle.createReadStream({ highWaterMark: 1 << 20 }), regular ? size : undefined)
}

function plainFile(name: string, handle: FileHandle, size: number, head: Uint8Array): ByteSource {
  let next = 0
  let direct: Promise<DirectReader | undefined> | undefined
  return {
    name,
    kind: 'a file',
    size,
    consumed: 0,
    head,
    async read(target) {
      direct ??= crowdsOut(size) ? DirectReader.open(name) : Promise.resolve(undefined)
      const first = (await (await direct)?.read(target)) ?? 0
      this.consumed += first
      next += first
      const filled = first < target.length ? await this.readAt!(target.subarray(first), next) : 0
      next += filled
      return first + filled
    },
    async readAt(target, at) {
      let filled = 0
      while (filled < target.length) {
        let got: number
        try {
          got = (await handle.read(target, filled, target.length - filled, at + filled)).bytesRead
        } catch (error) {
          throw fileError(error, name, 'read')
        }
        if (got === 0) break
        filled += got
        this.consumed += got
      }
      return filled
    },
    async close() {
      await (await direct)?.close()
      await handle.close()
    },
  }
}

/** Part of a plain file. What has to be read from its beginning on is all of a file. */
async function partOfSource(whole: ByteSource, part: FilePart): Promise<ByteSource> {
  const { from, to } = part
  if (from === 0 && to === undefined) return whole
  if (!whole.readAt) throw new Error(`${whole.name} is ${whole.kind}, and cannot be read in part`)
  const size = (to ?? whole.size!) - from
  let next = 0
  const source: ByteSource = {
    name: partName(part),
    kind: whole.kind,
    size,
    get consumed() {
      return whole.consumed
    },
    async read(target) {
      const filled = await this.readAt!(target, next)
      next += filled
      return filled
    },
    readAt: (target, at) => whole.readAt!(target.subarray(0, Math.max(0, size - at)), from + at),
    close: () => whole.close(),
  }
  const head = new Uint8Array(HEAD_BYTES)
  source.head = head.subarray(0, await source.readAt!(head, 0))
  return source
}

/** What a decompressor complains of, in words. */
function decompressionError(error: unknown, name: string, compression: string, consumed: number): SpillwayError {
  const what = error instanceof Error ? error.message : String(error)
  if (error instanceof NotDecompressed)
    return new SpillwayError(`${name}: the ${compression} data cannot be read: ${what}`, error.advice)
  return new SpillwayError(
    `${name}: the ${compression} data is damaged or cut short (${what}), after ${consumed} compressed bytes`,
    'copy or download the file again',
  )
}

/** A stream whose first bytes decide whether it is decompressed. */
async function openStream(name: string, kind: string, stream: Readable, size: number | undefined): Promise<ByteSource> {
  const counted = new PassThrough({ highWaterMark: 1 << 20 })
  const source: ByteSource = { name, kind, size, consumed: 0, read, close }
  stream.on('data', (piece: Buffer) => {
    source.consumed += piece.length
  })
  stream.on('error', error => counted.destroy(fileError(error, name, 'read')))
  stream.pipe(counted)
  const iterator = pieces()
  let current: Uint8Array = new Uint8Array(0)

  async function* pieces(): AsyncGenerator<Uint8Array> {
    // The magic number may arrive in pieces.
    const head: Buffer[] = []
    let length = 0
    const raw = counted[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    let ended = false
    while (length < COMPRESSION_HEAD && !ended) {
      const { value, done } = await raw.next()
      if (done) ended = true
      else {
        head.push(value)
        length += value.length
      }
    }
    const first = Buffer.concat(head)
    const rest = async function* (): AsyncGenerator<Buffer> {
      yield first
      for (let item = ended ? undefined : await raw.next(); item && !item.done; item = await raw.next())
        yield item.value
    }
    const packed = compressionOf(first)
    if (!packed) return yield* rest()
    try {
      yield* packed.decompress(rest())
    } catch (error) {
      throw error instanceof SpillwayError ? error : decompressionError(error, name, packed.name, source.consumed)
    }
  }

  async function read(target: Uint8Array): Promise<number> {
    let filled = 0
    while (filled < target.length) {
      if (current.length === 0) {
        const { value, done } = await iterator.next()
        if (done) break
        current = value
        continue
      }
      const part = current.subarray(0, target.length - filled)
      target.set(part, filled)
      filled += part.length
      current = current.subarray(part.length)
    }
    return filled
  }

  async function close(): Promise<void> {
    stream.destroy()
    counted.destroy()
    // A file is closed when this is done. A pipe may be in the midst of a read that never ends.
    if (size !== undefined && !stream.closed) await new Promise(resolve => stream.once('close', resolve))
  }
  return source
}
