// Decompresses LZ4 frames, as Arrow files have them: blocks of literal bytes and of copies of what came before.
// https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md

const MAGIC = 0x184d2204
const VERSION = 0x40
const VERSION_MASK = 0xc0
const BLOCK_CHECKSUMS = 0x10
const CONTENT_SIZE = 0x08
const CONTENT_CHECKSUM = 0x04
const DICTIONARY = 0x01
/** Of the size of a block: it is not compressed. */
const PLAIN = 0x80000000
const LEAST_COPY = 4

/** The bytes of a frame, which are so many. Checksums are not looked at. */
export function decompressLz4Frame(frame: Uint8Array, length: number): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  const output = new Uint8Array(length)
  const flags = frame[4]
  if (view.getUint32(0, true) !== MAGIC || (flags & VERSION_MASK) !== VERSION)
    throw new Error('bytes that are no LZ4 frame')
  if (flags & DICTIONARY) throw new Error('an LZ4 frame with a dictionary')
  let at = 7 + (flags & CONTENT_SIZE ? 8 : 0)
  let filled = 0
  for (;;) {
    const size = view.getUint32(at, true)
    at += 4
    if (size === 0) break
    const bytes = size & ~PLAIN
    const block = frame.subarray(at, at + bytes)
    if (block.length < bytes) throw new Error('an LZ4 block that is cut short')
    if (size & PLAIN) {
      if (filled + bytes > length) throw new Error('an LZ4 frame longer than it says')
      output.set(block, filled)
      filled += bytes
    } else filled = decompressBlock(block, output, filled)
    at += bytes + (flags & BLOCK_CHECKSUMS ? 4 : 0)
  }
  if (at + (flags & CONTENT_CHECKSUM ? 4 : 0) > frame.length) throw new Error('an LZ4 frame that is cut short')
  if (filled !== length) throw new Error('an LZ4 frame shorter than it says')
  return output
}

/** The bytes of a block that stands alone, which are so many. */
export function decompressLz4Block(block: Uint8Array, length: number): Uint8Array {
  const output = new Uint8Array(length)
  if (decompressBlock(block, output, 0) !== length) throw new Error('an LZ4 block shorter than it says')
  return output
}

/** Puts the bytes of a block behind those that are there; returns how many there are then. */
function decompressBlock(block: Uint8Array, output: Uint8Array, filled: number): number {
  let at = 0
  /** A length of 15 goes on in the next bytes, as long as they are 255. */
  const lengthFrom = (nibble: number): number => {
    let length = nibble
    if (nibble < 15) return length
    for (;;) {
      if (at >= block.length) throw new Error('an LZ4 block that is cut short')
      const byte = block[at++]
      length += byte
      if (byte < 255) return length
    }
  }
  while (at < block.length) {
    const token = block[at++]
    const literals = lengthFrom(token >> 4)
    if (at + literals > block.length || filled + literals > output.length)
      throw new Error('an LZ4 block longer than it says')
    output.set(block.subarray(at, at + literals), filled)
    at += literals
    filled += literals
    // The last sequence has no copy.
    if (at === block.length) break
    const back = block[at] | (block[at + 1] << 8)
    at += 2
    const end = filled + LEAST_COPY + lengthFrom(token & 15)
    if (back === 0 || back > filled || end > output.length) throw new Error('an LZ4 copy of bytes that are not there')
    // What is copied may overlap what is written.
    for (; filled < end; filled++) output[filled] = output[filled - back]
  }
  return filled
}
