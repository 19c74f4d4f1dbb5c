// The reverse of encode-intervals.ts, on bytes that may be anything. Steps are decoded first, from two streams at once
// so that the look-ups of one hide the latency of the other; then places are added, row by row.
import {
  DECODE_STARTS, DECODE_STEPS, INTERVALS_HEADER_BYTES, INTERVALS_MOST, INTERVALS_MOST_CODE_BITS,
} from '../segment-layout'
import { reverse } from './encode-intervals'
import { loadBytes } from './packed-stream'

const CODE_MASK: u64 = (1 << INTERVALS_MOST_CODE_BITS) - 1

/** Where the section ends; 0 when it is not whole or leads to a feature at or beyond `features`. */
export function readIntervals(
  from: usize, end: usize, rows: u32, n: u32, features: u64, starts: usize, indices: usize, scratch: usize,
): usize {
  if (end - from < usize(INTERVALS_HEADER_BYTES)) return 0
  const spaceBits = <u32>load<u8>(from)
  const intervals = <u32>load<u16>(from, 1)
  const used = <u32>load<u16>(from, 3)
  const bytesA = load<u32>(from, 5), bytesB = load<u32>(from, 9), bytesPlaces = load<u32>(from, 13)
  if (spaceBits > 32 || intervals == 0 || intervals > u32(INTERVALS_MOST) || used == 0 || used > intervals) return 0
  const tables = u64(INTERVALS_HEADER_BYTES) + u64(intervals) + ((u64(used) + 1) >> 1)
  if (u64(end - from) < tables + u64(bytesA) + u64(bytesB) + u64(bytesPlaces)) return 0
  const widths = from + INTERVALS_HEADER_BYTES
  let start: u64 = 0
  for (let k: usize = 0; k < usize(intervals); k++) {
    const width = <u32>load<u8>(widths + k)
    if (width > spaceBits) return 0
    store<u32>(scratch + DECODE_STARTS + (k << 2), u32(start))
    start += u64(1) << u64(width)
  }
  if (start != u64(1) << u64(spaceBits)) return 0
  if (!makeSteps(widths + usize(intervals), used, scratch + DECODE_STEPS)) return 0

  const a = from + usize(tables)
  const b = a + usize(bytesA)
  const places = b + usize(bytesB)
  const last = places + usize(bytesPlaces)
  if (!readSteps(a, b, places, end, n, indices, scratch + DECODE_STEPS)) return 0
  return addPlaces(places, last, rows, intervals, features, starts, indices, widths, scratch + DECODE_STARTS) ? last : 0
}

/** The table of all next 12 bits; false when the code lengths ask for more codes than there are. */
function makeSteps(lengths: usize, used: u32, table: usize): bool {
  // Bits that no code starts with read as step 0: they occur in no whole segment, and every number of steps is bounded.
  for (let k: usize = 0; k <= usize(CODE_MASK); k++) store<u16>(table + (k << 1), 1)
  let code: u32 = 0
  for (let length: u32 = 1; length <= u32(INTERVALS_MOST_CODE_BITS); length++) {
    for (let s: u32 = 0; s < used; s++) {
      const own = (u32(load<u8>(lengths + usize(s >> 1))) >> ((s & 1) << 2)) & 15
      if (own > u32(INTERVALS_MOST_CODE_BITS)) return false
      if (own != length) continue
      if (code >> length != 0) return false
      const entry = u16((s << 4) | length)
      for (let k = reverse(code, length); k <= u32(CODE_MASK); k += u32(1) << length) {
        store<u16>(table + (usize(k) << 1), entry)
      }
      code++
    }
    code <<= 1
  }
  return true
}

/** Eight bytes from the one that holds this bit, as far as there are any, the bit lowest: at least 57 bits. */
// @ts-ignore: decorator
@inline
function peek(from: usize, bit: u64, end: usize): u64 {
  const at = from + usize(bit >> 3)
  const word = end - at >= 8 ? load<u64>(at) : loadBytes(at, end - at)
  return word >> (bit & 7)
}

/** Steps of both streams to indices; false when a stream is not exactly used up. */
function readSteps(a: usize, b: usize, bEnd: usize, end: usize, n: u32, indices: usize, table: usize): bool {
  const half = n >> 1
  let toA = indices
  let toB = indices + (usize(half) << 2)
  const fours = toA + (usize(half & ~3) << 2)
  const endA = toB
  const endB = indices + (usize(n) << 2)
  let bitA: u64 = 0, bitB: u64 = 0
  const lengthA = u64(b - a) << 3, lengthB = u64(bEnd - b) << 3
  // Four codes of at most 12 bits are in every word. A stream read past its end is still within the payload.
  while (toA < fours && bitA <= lengthA && bitB <= lengthB) {
    let x = peek(a, bitA, end)
    let y = peek(b, bitB, end)
    for (let k = 0; k < 4; k++) {
      const s = <u32>load<u16>(table + (usize(x & CODE_MASK) << 1))
      const t = <u32>load<u16>(table + (usize(y & CODE_MASK) << 1))
      store<u32>(toA, s >> 4)
      store<u32>(toB, t >> 4)
      toA += 4
      toB += 4
      x >>= u64(s & 15)
      y >>= u64(t & 15)
      bitA += u64(s & 15)
      bitB += u64(t & 15)
    }
  }
  while (toA < endA && bitA <= lengthA) {
    const s = <u32>load<u16>(table + (usize(peek(a, bitA, end) & CODE_MASK) << 1))
    store<u32>(toA, s >> 4)
    toA += 4
    bitA += u64(s & 15)
  }
  while (toB < endB && bitB <= lengthB) {
    const t = <u32>load<u16>(table + (usize(peek(b, bitB, end) & CODE_MASK) << 1))
    store<u32>(toB, t >> 4)
    toB += 4
    bitB += u64(t & 15)
  }
  return toA == endA && toB == endB && (bitA + 7) >> 3 == u64(b - a) && (bitB + 7) >> 3 == u64(bEnd - b)
}

function addPlaces(
  places: usize, end: usize, rows: u32, intervals: u32, features: u64, starts: usize, indices: usize, widths: usize,
  begins: usize,
): bool {
  let p = indices
  let bit: u64 = 0
  const bits = u64(end - places) << 3
  for (let r: usize = 0; r < usize(rows); r++) {
    let at: u32 = 0
    // Signed and one below the first feature: what follows must be larger than what came before.
    let before: i64 = -1
    for (const stop = indices + (usize(load<u32>(starts + (r << 2), 4)) << 2); p < stop; p += 4) {
      at += load<u32>(p)
      if (at >= intervals || bit > bits) return false
      const width = u64(load<u8>(widths + usize(at)))
      const place = u32(peek(places, bit, end) & ((u64(1) << width) - 1))
      bit += width
      const index = load<u32>(begins + (usize(at) << 2)) + place
      if (i64(index) <= before) return false
      before = i64(index)
      store<u32>(p, index)
    }
    if (u64(before + 1) > features) return false
  }
  return (bit + 7) >> 3 == u64(end - places)
}
