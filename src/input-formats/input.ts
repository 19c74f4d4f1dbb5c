// One input: its bytes one after the other, or at any place.
import { SpillwayError } from '../errors.ts'
import { type ByteSource, openSource } from './byte-source.ts'
import { sourceName } from './given-rows.ts'
import type { RandomAccess } from './input-format.ts'

export class Input {
  readonly path: string
  readonly name: string
  #opened: ByteSource | undefined
  #counted = 0

  constructor(path: string) {
    this.path = path
    this.name = sourceName(path)
  }

  /** Opened once, however often it is asked for. */
  async source(): Promise<ByteSource> {
    this.#opened ??= await openSource(this.path)
    return this.#opened
  }

  /** Bytes on disk, where they are known. */
  get size(): number | undefined {
    return this.#opened?.size
  }

  /** Bytes taken from disk since this was asked last. */
  newBytes(): number {
    const before = this.#counted
    this.#counted = this.#opened?.consumed ?? 0
    return this.#counted - before
  }

  /** For a format of this title. */
  async randomAccess(title: string): Promise<RandomAccess> {
    const source = await this.source()
    if (!source.readAt) throw noRandomAccess(source, title)
    const fill = async (target: Uint8Array, at: number): Promise<void> => {
      if (at >= 0 && (await source.readAt!(target, at)) === target.length) return
      throw new SpillwayError(
        `${source.name}: found ${source.size} bytes in all, expected ${target.length} bytes from byte ${at} on`,
        'is the file cut short? Copy or download it again',
      )
    }
    const bytes = async (at: number, length: number): Promise<Uint8Array> => {
      const found = new Uint8Array(length)
      await fill(found, at)
      return found
    }
    return { size: source.size!, fill, bytes }
  }

  async close(): Promise<void> {
    await this.#opened?.close()
  }
}

/** The refusal of a source that can only be read from its beginning on. */
export function noRandomAccess({ name, kind }: ByteSource, title: string): SpillwayError {
  return new SpillwayError(
    `${name}: found ${kind}, expected a file that is not compressed, for ${title} is read at many places of it`,
    kind === 'a pipe' ? 'write it to a file, and name the file' : 'decompress it, and name the file that comes out',
  )
}
