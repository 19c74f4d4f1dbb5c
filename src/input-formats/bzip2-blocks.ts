// Decompresses bzip2 data, several streams one after the other among it. A stream is a header, blocks of up to 900 kB, each with
// a checksum, and the checksum of all. A block takes three steps: Huffman codes and runs of the front symbol, the sorted
// rotations of Burrows and Wheeler undone, and runs of four bytes and more written out.
//
// The libraries at hand keep every byte of a block as an element of an array, and some bytes make them loop for ever.

const MAGIC = [0x42, 0x5a, 0x68]
const BLOCK_BEGINS = [0x314159, 0x265359]
const STREAM_ENDS = [0x177245, 0x385090]
const MOST_CODE_BITS = 20
/** Symbols that one code table is for. */
const SYMBOLS_EACH = 50
/** Bytes that are handed on at a time. */
const PIECE = 1 << 18
/** A symbol has 20 bits at most: no block of this level is longer when it is compressed. */
const longestBlock = (level: number): number => level * 250_000 + (1 << 15)

const CRC_TABLE = new Uint32Array(256).map((_, byte) => {
  let crc = byte << 24
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  return crc
})

export const startsWithBzip2 = (head: Uint8Array): boolean =>
  MAGIC.every((byte, k) => head[k] === byte) && head[3] >= 0x31 && head[3] <= 0x39

/** Decompresses all streams of the input. */
export async function* bunzip2(input: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  const bits = new BitReader(input)
  do {
    await bits.need(4)
    const head = [bits.read(8), bits.read(8), bits.read(8), bits.read(8)]
    if (!startsWithBzip2(Uint8Array.from(head))) throw new Error('bytes that start no bzip2 stream')
    yield* oneStream(bits, head[3] - 0x30)
  } while (await bits.more())
}

async function* oneStream(bits: BitReader, level: number): AsyncGenerator<Uint8Array> {
  const block = new Block(level * 100_000)
  for (let all = 0; ; ) {
    await bits.need(longestBlock(level))
    const magic = [bits.read(24), bits.read(24)]
    const [begins, ends] = [BLOCK_BEGINS, STREAM_ENDS].map(known => known.every((word, k) => word === magic[k]))
    if (ends) {
      if (bits.read32() !== all >>> 0) throw new Error('the checksum of the stream does not agree')
      bits.toByte()
      return
    }
    if (!begins) throw new Error('bytes that start no bzip2 block')
    const expected = bits.read32()
    block.decode(bits)
    const crc = yield* block.bytes()
    if (crc !== expected) throw new Error('the checksum of a block does not agree')
    all = ((all << 1) | (all >>> 31)) ^ crc
  }
}

/** Bits from pieces of bytes, the highest of a byte first. */
class BitReader {
  readonly #input: AsyncIterator<Buffer>
  #bytes: Uint8Array = new Uint8Array(0)
  #at = 0
  #ended = false
  /** Bits that were taken from the bytes and not yet read: the lowest `#count` of the word. */
  #word = 0
  #count = 0

  constructor(input: AsyncIterable<Buffer>) {
    this.#input = input[Symbol.asyncIterator]()
  }

  /** Has so many bytes at hand, or all that there are. */
  async need(bytes: number): Promise<void> {
    if (this.#bytes.length - this.#at >= bytes || this.#ended) return
    const pieces = [this.#bytes.subarray(this.#at)]
    for (let have = pieces[0].length; have < bytes; ) {
      const { value, done } = await this.#input.next()
      if (done) {
        this.#ended = true
        break
      }
      pieces.push(value)
      have += value.length
    }
    this.#bytes = Buffer.concat(pieces)
    this.#at = 0
  }

  /** Whether there are more bytes; between streams. */
  async more(): Promise<boolean> {
    await this.need(1)
    return this.#at < this.#bytes.length
  }

  /** Up to 24 bits. */
  read(bits: number): number {
    while (this.#count < bits) {
      if (this.#at === this.#bytes.length) throw new Error('unexpected end of file')
      this.#word = (this.#word << 8) | this.#bytes[this.#at++]
      this.#count += 8
    }
    this.#count -= bits
    return (this.#word >>> this.#count) & ((1 << bits) - 1)
  }

  read32(): number {
    return ((this.read(16) << 16) | this.read(16)) >>> 0
  }

  /** Leaves out the rest of a byte. */
  toByte(): void {
    this.#count = 0
  }
}

/** A table of Huffman codes: codes of a length follow each other, and those of the next length follow them. */
class CodeTable {
  readonly #least: number
  /** Of each length: the code behind its last one, and what a code has to be less by to be a place in the symbols. */
  readonly #ends = new Int32Array(MOST_CODE_BITS + 1)
  readonly #shifts = new Int32Array(MOST_CODE_BITS + 1)
  readonly #symbols: Uint16Array

  constructor(lengths: Uint8Array) {
    const counts = new Uint16Array(MOST_CODE_BITS + 1)
    for (const length of lengths) counts[length]++
    this.#least = counts.findIndex(count => count > 0)
    this.#symbols = new Uint16Array(lengths.length)
    const places = new Uint16Array(MOST_CODE_BITS + 1)
    for (let length = 1, code = 0, before = 0; length <= MOST_CODE_BITS; length++) {
      places[length] = before
      this.#shifts[length] = code - before
      code += counts[length]
      before += counts[length]
      this.#ends[length] = code
      code <<= 1
    }
    for (const [symbol, length] of lengths.entries()) this.#symbols[places[length]++] = symbol
  }

  symbol(bits: BitReader): number {
    let length = this.#least
    let code = bits.read(length)
    while (code >= this.#ends[length]) {
      if (++length > MOST_CODE_BITS) throw new Error('a code that no symbol has')
      code = (code << 1) | bits.read(1)
    }
    const place = code - this.#shifts[length]
    if (place < 0) throw new Error('a code that no symbol has')
    return this.#symbols[place]
  }
}

class Block {
  /** Of each byte of the block: its value in the lowest eight bits, and later the place of the next one above them. */
  readonly #places: Uint32Array
  #count = 0
  #first = 0

  constructor(most: number) {
    this.#places = new Uint32Array(most)
  }

  /** Reads the symbols of a block, and finds which byte follows which. */
  decode(bits: BitReader): void {
    if (bits.read(1) !== 0) throw new Error('a block of an early version of bzip2')
    this.#first = bits.read(24)
    const front = usedBytes(bits)
    const [tables, selectors] = codeTables(bits, front.length + 2)
    const counts = this.#symbols(bits, front, { tables, selectors })
    if (this.#first >= this.#count) throw new Error('a block that begins behind its end')
    let before = 0
    for (let byte = 0; byte < 256; byte++) {
      const own = counts[byte]
      counts[byte] = before
      before += own
    }
    const places = this.#places
    for (let k = 0; k < this.#count; k++) places[counts[places[k] & 0xff]++] |= k << 8
  }

  /** How often each byte is in the block. */
  #symbols(
    bits: BitReader,
    front: Uint8Array,
    { tables, selectors }: { tables: CodeTable[]; selectors: Uint8Array },
  ): Uint32Array {
    const counts = new Uint32Array(256)
    const places = this.#places
    const endOfBlock = front.length + 1
    let [count, run, step, group, left] = [0, 0, 1, 0, 0]
    let table = tables[0]
    for (;;) {
      if (left-- === 0) {
        if (group === selectors.length) throw new Error('more symbols than tables were chosen for')
        table = tables[selectors[group++]]
        left = SYMBOLS_EACH - 1
      }
      const symbol = table.symbol(bits)
      if (symbol < 2) {
        // A run of the front byte: its length has digits 1 and 2, the lowest first.
        run += step << symbol
        step <<= 1
        if (run > places.length - count) throw new Error('a block longer than its level allows')
        continue
      }
      if (run > 0) {
        places.fill(front[0], count, count + run)
        counts[front[0]] += run
        count += run
        ;[run, step] = [0, 1]
      }
      if (symbol === endOfBlock) break
      if (count === places.length) throw new Error('a block longer than its level allows')
      const byte = front[symbol - 1]
      front.copyWithin(1, 0, symbol - 1)
      front[0] = byte
      places[count++] = byte
      counts[byte]++
    }
    this.#count = count
    return counts
  }

  /** The bytes of the block in pieces, and in the end their checksum. */
  *bytes(): Generator<Uint8Array, number> {
    const places = this.#places
    let piece = new Uint8Array(PIECE)
    let filled = 0
    let crc = -1
    let [last, equal] = [-1, 0]
    let next = places[this.#first] >>> 8
    for (let left = this.#count; left > 0; left--) {
      const byte = places[next] & 0xff
      next = places[next] >>> 8
      // Behind four equal bytes stands how many more there are.
      const isLength = equal === 4
      const value = isLength ? last : byte
      for (let times = isLength ? byte : 1; times > 0; times--) {
        crc = (crc << 8) ^ CRC_TABLE[(crc >>> 24) ^ value]
        piece[filled++] = value
        if (filled === PIECE) {
          yield piece
          piece = new Uint8Array(PIECE)
          filled = 0
        }
      }
      equal = isLength ? 0 : byte === last ? equal + 1 : 1
      last = isLength ? -1 : byte
    }
    if (filled > 0) yield piece.subarray(0, filled)
    return ~crc >>> 0
  }
}

/** The bytes that occur in a block, in order. */
function usedBytes(bits: BitReader): Uint8Array {
  const sixteens = bits.read(16)
  const used: number[] = []
  for (let high = 0; high < 16; high++) {
    if (!(sixteens & (0x8000 >> high))) continue
    const those = bits.read(16)
    for (let low = 0; low < 16; low++) if (those & (0x8000 >> low)) used.push(high * 16 + low)
  }
  if (used.length === 0) throw new Error('a block without bytes')
  return Uint8Array.from(used)
}

/** The tables of a block, and which one is for each group of symbols. */
function codeTables(bits: BitReader, symbols: number): [CodeTable[], Uint8Array] {
  const count = bits.read(3)
  const groups = bits.read(15)
  if (count < 2 || count > 6 || groups === 0) throw new Error('a block without code tables')
  const order = Uint8Array.from({ length: count }, (_, k) => k)
  const selectors = new Uint8Array(groups)
  for (let k = 0; k < groups; k++) {
    let place = 0
    while (bits.read(1) === 1) if (++place === count) throw new Error('a choice of a table that is not there')
    const table = order[place]
    order.copyWithin(1, 0, place)
    order[0] = table
    selectors[k] = table
  }
  const tables = Array.from({ length: count }, () => {
    const lengths = new Uint8Array(symbols)
    let length = bits.read(5)
    for (let symbol = 0; symbol < symbols; symbol++) {
      for (;;) {
        if (length < 1 || length > MOST_CODE_BITS) throw new Error('a code of no or too many bits')
        if (bits.read(1) === 0) break
        length += bits.read(1) === 0 ? 1 : -1
      }
      lengths[symbol] = length
    }
    return new CodeTable(lengths)
  })
  return [tables, selectors]
}
