// The reverse of encode-intervals.ts, on bytes that may be anything. Steps are decoded first, from four streams at
// once so that the look-ups of one hide the latency of the others; then places are added, row by row.
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
  if (spaceBits > 32 || intervals == 0 || intervals > u32(INTERVALS_MOST) || used == 0 || used > intervals) return 0
  const tables = u64(INTERVALS_HEADER_BYTES) + u64(intervals) + ((u64(used) + 1) >> 1)
  let all = tables
  for (let k: usize = 5; k < usize(INTERVALS_HEADER_BYTES); k += 4) all += u64(load<u32>(from + k))
  if (u64(end - from) < all) return 0
  const widths = from + INTERVALS_HEADER_BYTES
  let start: u64 = 0
  for (let k: usize = 0; k < usize(intervals); k++) {
    const width = <u32>load<u8>(widths + k)
    if (width > spaceBits) return 0
    store<u64>(scratch + DECODE_STARTS + (k << 3), start | (u64(width) << 32))
    start += u64(1) << u64(width)
  }
  if (start != u64(1) << u64(spaceBits)) return 0
  if (!makeSteps(widths + usize(intervals), used, scratch + DECODE_STEPS)) return 0

  const last = from + usize(all)
  const places = last - usize(load<u32>(from, 21))
  if (!readSteps(from + 5, from + usize(tables), end, n, indices, scratch + DECODE_STEPS)) return 0
  return addPlaces(places, last, rows, intervals, features, starts, indices, scratch + DECODE_STARTS) ? last : 0
}

/** The table of all next 12 bits: step << 6 | bits of the code, so that an entry is a shift count as it stands. False
 *  when the code lengths ask for more codes than there are. */
function makeSteps(lengths: usize, used: u32, table: usize): bool {
  // Bits that no code starts with read as step 0: they occur in no whole segment, and every number of steps is bounded.
  for (let k: usize = 0; k <= usize(CODE_MASK); k += 8) v128.store(table + (k << 1), i16x8.splat(1))
  // Canonical codes: those of one length follow each other, after all shorter ones.
  let code: u32 = 0
  for (let length: u32 = 1; length <= u32(INTERVALS_MOST_CODE_BITS); length++, code <<= 1) {
    for (let s: u32 = 0; s < used; s++) {
      const own = (u32(load<u8>(lengths + usize(s >> 1))) >> ((s & 1) << 2)) & 15
      if (own != length) {
        if (own > u32(INTERVALS_MOST_CODE_BITS)) return false
        continue
      }
      if (code >> length != 0) return false
      const entry = u16((s << 6) | length)
      for (let k = reverse(code, length); k <= u32(CODE_MASK); k += u32(1) << length) {
        store<u16>(table + (usize(k) << 1), entry)
      }
      code++
    }
  }
  return true
}

/** Eight bytes from the one that holds this bit, as far as there are any, the bit lowest: at least 57 bits. */
@inline
function peek(from: usize, bit: u64, end: usize): u64 {
  const at = from + usize(bit >> 3)
  const word = end - at >= 8 ? load<u64>(at) : loadBytes(at, end - at)
  return word >> (bit & 7)
}

@inline
function entryOf(table: usize, word: u64): u64 {
  return u64(load<u16>(table + (usize(word & CODE_MASK) << 1)))
}

/** The four steps at the bottom of a word, which has them whole; how many bits they take. */
@inline
function four(table: usize, word: u64, to: usize): u64 {
  const a = entryOf(table, word)
  word >>= a
  const b = entryOf(table, word)
  word >>= b
  const c = entryOf(table, word)
  const d = entryOf(table, word >> c)
  v128.store(to, i32x4.shr_u(lanes(a, b, c, d), 6))
  // At most 48 in all: the sum of the four shift counts does not reach into the steps.
  return (a + b + c + d) & 63
}

/** Steps of the four streams to indices; false when a stream is not exactly used up. `sizes` are their bytes. */
function readSteps(sizes: usize, from: usize, end: usize, n: u32, indices: usize, table: usize): bool {
  const quarter = usize(n >> 2)
  const a = from
  const b = a + usize(load<u32>(sizes))
  const c = b + usize(load<u32>(sizes, 4))
  const d = c + usize(load<u32>(sizes, 8))
  const after = d + usize(load<u32>(sizes, 12))
  const apart = quarter << 2
  let bitA: u64 = 0, bitB: u64 = 0, bitC: u64 = 0, bitD: u64 = 0
  // Steps of at most 12 bits: 48 a word, and words that start at any bit hold 57. A stream that is read past its end is
  // still within the payload as long as eight bytes are.
  let to = indices
  const fours = to + ((quarter & ~3) << 2)
  const last = end - 8
  if (end - from >= 8) {
    while (to < fours) {
      const pa = a + usize(bitA >> 3), pb = b + usize(bitB >> 3), pc = c + usize(bitC >> 3), pd = d + usize(bitD >> 3)
      if (pa > last || pb > last || pc > last || pd > last) break
      bitA += four(table, load<u64>(pa) >> (bitA & 7), to)
      bitB += four(table, load<u64>(pb) >> (bitB & 7), to + apart)
      bitC += four(table, load<u64>(pc) >> (bitC & 7), to + 2 * apart)
      bitD += four(table, load<u64>(pd) >> (bitD & 7), to + 3 * apart)
      to += 16
    }
  }
  return (
    restOfSteps(a, b, end, bitA, to, indices + apart, table)
    && restOfSteps(b, c, end, bitB, to + apart, indices + 2 * apart, table)
    && restOfSteps(c, d, end, bitC, to + 2 * apart, indices + 3 * apart, table)
    && restOfSteps(d, after, end, bitD, to + 3 * apart, indices + (usize(n) << 2), table)
  )
}

function restOfSteps(from: usize, next: usize, end: usize, bit: u64, to: usize, toEnd: usize, table: usize): bool {
  const bits = u64(next - from) << 3
  while (to < toEnd && bit <= bits) {
    const entry = entryOf(table, peek(from, bit, end))
    store<u32>(to, u32(entry >> 6))
    to += 4
    bit += entry & 63
  }
  return to == toEnd && (bit + 7) >> 3 == bits >> 3
}

@inline
function lanes(a: u64, b: u64, c: u64, d: u64): v128 {
  return i64x2.replace_lane(i64x2.splat(a | (b << 32)), 1, c | (d << 32))
}

/** Steps to intervals to features, row by row. */
function addPlaces(
  places: usize, end: usize, rows: u32, intervals: u32, features: u64, starts: usize, indices: usize, begins: usize,
): bool {
  let p = indices
  let bit: u64 = 0
  const bits = u64(end - places) << 3
  // Up to here eight bytes can be read from any bit's byte.
  const safe: i64 = (i64(end - places) - 8) << 3
  let wrong: u32 = 0
  for (let r: usize = 0; r < usize(rows); r++) {
    let at: u64 = 0
    // Signed and one below the first feature: what follows must be larger than what came before.
    let before: i64 = -1
    const stop = indices + (usize(load<u32>(starts + (r << 2), 4)) << 2)
    while (p < stop && i64(bit) <= safe) {
      at += u64(load<u32>(p))
      // Masked, so that the look-up stays in its table; that it is an interval at all is found at the row's end.
      const interval = load<u64>(begins + (usize(at & (INTERVALS_MOST - 1)) << 3))
      const width = interval >> 32
      const place = (load<u64>(places + usize(bit >> 3)) >> (bit & 7)) & ((u64(1) << width) - 1)
      bit += width
      const index = (interval & 0xffffffff) + place
      wrong |= u32(i64(index) <= before)
      before = i64(index)
      store<u32>(p, u32(index))
      p += 4
    }
    for (; p < stop; p += 4) {
      if (bit > bits) return false
      at += u64(load<u32>(p))
      const interval = load<u64>(begins + (usize(at & (INTERVALS_MOST - 1)) << 3))
      const width = interval >> 32
      const place = peek(places, bit, end) & ((u64(1) << width) - 1)
      bit += width
      const index = (interval & 0xffffffff) + place
      wrong |= u32(i64(index) <= before)
      before = i64(index)
      store<u32>(p, u32(index))
    }
    if (wrong != 0 || at >= u64(intervals) || u64(before + 1) > features) return false
  }
  return (bit + 7) >> 3 == u64(end - places)
}
