// Decompresses zstd files of several frames, one after the other (`cat a.zst b.zst`, parallel compressors). Node's
// decoder stops silently after the first frame, so the frames are walked here (RFC 8878, section 3.1) and each gets a
// decoder of its own.
import { createZstdDecompress, type ZstdDecompress } from 'node:zlib'

const MAGIC = 0xfd2fb528
const SKIPPABLE = 0x184d2a50

/** Cuts a byte stream into zstd frames and decompresses them in turn. */
export class ZstdFrames {
  async *decompress(input: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
    const reader = new PieceReader(input)
    while (!(await reader.atEnd())) {
      const magic = (await reader.take(4)).readUInt32LE(0)
      if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
        let left = (await reader.take(4)).readUInt32LE(0)
        while (left > 0) left -= (await reader.some(left)).length
        continue
      }
      if (magic !== MAGIC) throw new Error(`bytes that start no zstd frame: 0x${magic.toString(16)}`)
      yield* oneFrame(reader)
    }
  }
}

async function* oneFrame(reader: PieceReader): AsyncGenerator<Uint8Array> {
  const decoder = createZstdDecompress({ chunkSize: 1 << 18 })
  const feed = feedFrame(reader, decoder)
  feed.catch(error => decoder.destroy(error as Error))
  yield* decoder as AsyncIterable<Uint8Array>
  await feed
}

async function feedFrame(reader: PieceReader, decoder: ZstdDecompress): Promise<void> {
  const write = async (piece: Buffer): Promise<void> => {
    if (decoder.destroyed) throw new Error('the frame ended early')
    if (!decoder.write(piece)) {
      await new Promise<void>(resolve => {
        const go = (): void => {
          decoder.off('drain', go).off('close', go)
          resolve()
        }
        decoder.on('drain', go).on('close', go)
      })
    }
  }
  const magic = Buffer.alloc(4)
  magic.writeUInt32LE(MAGIC)
  await write(magic)
  const descriptor = await reader.take(1)
  const singleSegment = (descriptor[0] & 0x20) !== 0
  const dictionaryBytes = [0, 1, 2, 4][descriptor[0] & 3]
  const sizeBytes = [singleSegment ? 1 : 0, 2, 4, 8][descriptor[0] >> 6]
  await write(descriptor)
  const headerRest = (singleSegment ? 0 : 1) + dictionaryBytes + sizeBytes
  if (headerRest > 0) await write(await reader.take(headerRest))
  for (let last = false; !last; ) {
    const header = await reader.take(3)
    const word = header[0] | (header[1] << 8) | (header[2] << 16)
    last = (word & 1) !== 0
    await write(header)
    // A run-length block stores one byte, whatever its size.
    let left = ((word >> 1) & 3) === 1 ? 1 : word >> 3
    while (left > 0) {
      const piece = await reader.some(left)
      left -= piece.length
      await write(piece)
    }
  }
  if (descriptor[0] & 4) await write(await reader.take(4))
  decoder.end()
}

/** Takes exact numbers of bytes from a stream of pieces. */
class PieceReader {
  readonly #input: AsyncIterator<Buffer>
  #piece: Buffer = Buffer.alloc(0)

  constructor(input: AsyncIterable<Buffer>) {
    this.#input = input[Symbol.asyncIterator]()
  }

  async atEnd(): Promise<boolean> {
    while (this.#piece.length === 0) {
      const { value, done } = await this.#input.next()
      if (done) return true
      this.#piece = value
    }
    return false
  }

  /** Up to `most` bytes, at least one. */
  async some(most: number): Promise<Buffer> {
    if (await this.atEnd()) throw new Error('unexpected end of file')
    const part = this.#piece.subarray(0, most)
    this.#piece = this.#piece.subarray(part.length)
    return part
  }

  async take(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = bytes; left > 0; ) {
      const part = await this.some(left)
      parts.push(part)
      left -= part.length
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts)
  }
}
