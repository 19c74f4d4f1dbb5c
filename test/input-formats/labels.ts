// Labels for tests: any text that may be one, and pairs of texts that share a code.
import fc from 'fast-check'

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/
export const isNumber = (text: string): boolean => NUMBER.test(text)
const bytes = (text: string): number => Buffer.byteLength(text)

/** A label of text: no blank, colon or control character in it, no number, no comment. */
export const textLabel: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom('cat', 'sci.space', 'ünïcode', 'positive-2', 'c#', 'c', '+', '-', '1x', '1,2', 'info', '__proto__'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 9 }),
    // Beyond the 16-bit characters order by bytes and order by the language's own units part.
    fc.string({ unit: fc.constantFrom('\u{10000}', '\u{1f600}', '\uffee', '\ue000', 'z'), minLength: 1, maxLength: 3 }),
    fc.string({ unit: fc.constantFrom('a', 'é', '字'), minLength: 60, maxLength: 255 }),
  )
  // A byte order mark that opens a file is a blank.
  .map(text => text.replace(/[\0-\x20\x7f:]/g, '').replace(/^[#\ufeff]+/, ''))
  .filter(text => text !== '' && bytes(text) <= 255 && !isNumber(text) && !isNumber(text.split('#')[0]))
  .filter(text => !/^[+-]?(nan|inf|infinity)(#|$)/i.test(text))

// XXH64 of eight bytes, forwards and backwards: every step can be undone, so a text can be found for a wanted hash.
const P1 = 0x9e3779b185ebca87n
const P2 = 0xc2b2ae3d27d4eb4fn
const P3 = 0x165667b19e3779f9n
const P4 = 0x85ebca77c2b2ae63n
const P5 = 0x27d4eb2f165667c5n
const u64 = (x: bigint): bigint => BigInt.asUintN(64, x)
const rotate = (x: bigint, bits: bigint): bigint => u64((x << bits) | (x >> (64n - bits)))
function inverse(odd: bigint): bigint {
  let x = odd
  for (let k = 0; k < 6; k++) x = u64(x * (2n - odd * x))
  return x
}
function unfold(x: bigint, bits: bigint): bigint {
  let y = x
  for (let k = 0; k < 3; k++) y = x ^ (y >> bits)
  return y
}

export function hashOfEight(word: bigint): bigint {
  const lane = u64(rotate(u64(word * P2), 31n) * P1)
  let hash = u64(rotate(u64(P5 + 8n) ^ lane, 27n) * P1 + P4)
  hash = u64((hash ^ (hash >> 33n)) * P2)
  hash = u64((hash ^ (hash >> 29n)) * P3)
  return hash ^ (hash >> 32n)
}

function eightOfHash(hash: bigint): bigint {
  let x = unfold(hash, 32n)
  x = unfold(u64(x * inverse(P3)), 29n)
  x = unfold(u64(x * inverse(P2)), 33n)
  x = rotate(u64((x - P4) * inverse(P1)), 37n) ^ u64(P5 + 8n)
  return u64(rotate(u64(x * inverse(P1)), 33n) * inverse(P2))
}

function textOf(word: bigint): string {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(word)
  return buffer.toString('latin1')
}

/** Two labels of text whose codes are the same: the bits of the hash that a code has not. */
export function sameCode(): [string, string] {
  for (let k = 0; ; k++) {
    const text = `label${String(k).padStart(3, '0')}`
    const hash = hashOfEight(Buffer.from(text).readBigUInt64LE())
    for (let lost = 0n; lost < 4096n; lost++) {
      const other = textOf(eightOfHash((hash & ~(0xfffn << 51n)) | (lost << 51n)))
      if (other !== text && /^[!-"$-9;-~][!-9;-~]*$/.test(other)) return [text, other]
    }
  }
}
