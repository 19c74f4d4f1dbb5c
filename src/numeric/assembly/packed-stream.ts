// Packed streams: u32 numbers in groups of four. A control byte names one of four widths for each number of its group,
// 2 bits each; the widths are chosen for the stream from a histogram. Layout: u8[4] widths, the control bytes, then the
// groups, each of them bits from low to high and padded to whole bytes. Byte-granular codes waste half a byte a number;
// these waste half a bit, and four numbers still decode with one shuffle, one multiplication, one shift and one mask.
import {
  DECODE_GROUP_BYTES, DECODE_TABLES, DECODE_VALID, DECODE_WIDE, DECODE_WIDTHS, ENCODE_TABLE_BYTES,
  STREAM_CODES as CODES, STREAM_SECOND as SECOND, STREAM_WIDTHS as WIDTHS,
} from '../segment-layout'

@inline
function widthOf(x: u32): u32 {
  return 32 - clz(x)
}

/** Histogram of widths and the four widths that make the stream smallest; its size in bytes, padding estimated. */
export function planStream(numbers: usize, count: u32, tables: usize): u64 {
  memory.fill(tables, 0, ENCODE_TABLE_BYTES)
  let p = numbers
  for (const end = numbers + (usize(count & ~1) << 2); p < end; p += 8) {
    const a = tables + (usize(widthOf(load<u32>(p))) << 2)
    const b = tables + SECOND + (usize(widthOf(load<u32>(p, 4))) << 2)
    store<u32>(a, load<u32>(a) + 1)
    store<u32>(b, load<u32>(b) + 1)
  }
  if ((count & 1) != 0) {
    const a = tables + (usize(widthOf(load<u32>(p))) << 2)
    store<u32>(a, load<u32>(a) + 1)
  }
  let widest: u32 = 0
  for (let w: u32 = 0; w <= 32; w++) {
    const a = tables + (usize(w) << 2)
    const total = load<u32>(a) + load<u32>(a + SECOND)
    if (total > 0) widest = w
    // From here on cumulative: numbers of at most w bits.
    store<u32>(a, total + (w > 0 ? load<u32>(a - 4) : 0))
  }
  let best: u64 = u64.MAX_VALUE
  let x: u32 = 0, y: u32 = 0, z: u32 = 0
  for (let i: u32 = 0; i <= widest; i++) {
    const upToI = u64(load<u32>(tables + (usize(i) << 2)))
    // A width that no number has is never better than the next smaller one.
    if (i > 0 && upToI == load<u32>(tables + (usize(i - 1) << 2))) continue
    for (let j = i; j <= widest; j++) {
      const upToJ = u64(load<u32>(tables + (usize(j) << 2)))
      if (j > i && upToJ == load<u32>(tables + (usize(j - 1) << 2))) continue
      const first = upToI * i + (upToJ - upToI) * j
      if (first >= best) break
      for (let k = j; k <= widest; k++) {
        const upToK = u64(load<u32>(tables + (usize(k) << 2)))
        const cost = first + (upToK - upToJ) * k + (u64(count) - upToK) * widest
        if (cost < best) {
          best = cost
          x = i
          y = j
          z = k
        }
      }
    }
  }
  for (let w: u32 = 0; w <= 32; w++) store<u8>(tables + CODES + usize(w), w <= x ? 0 : w <= y ? 1 : w <= z ? 2 : 3)
  store<u32>(tables + WIDTHS, x | (y << 8) | (z << 16) | (widest << 24))
  const groups = (u64(count) + 3) >> 2
  return 4 + groups + ((best + groups * 3 + 7) >> 3)
}

/** Writes the stream that planStream has just planned; where it ends. May touch 16 bytes beyond. Up to three numbers
 *  behind the last are overwritten with zeros. */
export function writeStream(numbers: usize, count: u32, tables: usize, out: usize): usize {
  const groups = (usize(count) + 3) >> 2
  const widths = tables + WIDTHS
  const codes = tables + CODES
  store<u32>(out, load<u32>(widths))
  for (let k = count; (k & 3) != 0; k++) store<u32>(numbers + (usize(k) << 2), 0)
  let control = out + 4
  let data = control + groups
  for (const end = numbers + (groups << 4); numbers < end; numbers += 16, control++) {
    const a = load<u32>(numbers), b = load<u32>(numbers, 4), c = load<u32>(numbers, 8), d = load<u32>(numbers, 12)
    const ca = <u32>load<u8>(codes + usize(widthOf(a)))
    const cb = <u32>load<u8>(codes + usize(widthOf(b)))
    const cc = <u32>load<u8>(codes + usize(widthOf(c)))
    const cd = <u32>load<u8>(codes + usize(widthOf(d)))
    store<u8>(control, u8(ca | (cb << 2) | (cc << 4) | (cd << 6)))
    const wa = <u64>load<u8>(widths + usize(ca)), wb = <u64>load<u8>(widths + usize(cb))
    const wc = <u64>load<u8>(widths + usize(cc)), wd = <u64>load<u8>(widths + usize(cd))
    // Two numbers fit in a word. The second word is laid over the first one's last byte.
    const low = u64(a) | (u64(b) << wa)
    const high = u64(c) | (u64(d) << wc)
    const half = wa + wb
    const rest = half & 7
    const at = data + usize(half >> 3)
    store<u64>(data, low)
    // When half is 64 the first word is full and the second starts behind it with nothing to keep.
    const kept = rest == 0 ? 0 : u64(load<u8>(at)) & ((u64(1) << rest) - 1)
    store<u64>(at, kept | (high << rest))
    if (rest != 0) store<u8>(at, u8(high >> (64 - rest)), 8)
    data += usize((half + wc + wd + 7) >> 3)
  }
  return data
}

function makeTables(widths: usize, scratch: usize): void {
  for (let control: u32 = 0; control < 256; control++) {
    const shuffle = scratch + DECODE_TABLES + usize(control) * 48
    let bit: u32 = 0
    let wide: u32 = 0
    for (let lane: u32 = 0; lane < 4; lane++) {
      const width = <u32>load<u8>(widths + usize((control >> (lane * 2)) & 3))
      // Four bytes from the one that holds the lowest bit; none is beyond the sixteenth.
      store<u32>(shuffle + usize(lane * 4), 0x03020100 + (bit >> 3) * 0x01010101)
      // The multiplication puts the number's lowest bit at bit 7, whatever its place in the byte.
      store<u32>(shuffle + usize(lane * 4), u32(1) << (7 - (bit & 7)), 16)
      store<u32>(shuffle + usize(lane * 4), u32((u64(1) << width) - 1), 32)
      if (width > 25) wide = DECODE_WIDE
      bit += width
    }
    store<u8>(scratch + DECODE_GROUP_BYTES + usize(control), u8(((bit + 7) >> 3) | wide))
  }
  store<u32>(scratch, load<u32>(widths), DECODE_WIDTHS)
  store<u32>(scratch, 1, DECODE_VALID)
}

/** Reads `bytes` bytes, at most 8, as a little-endian number. */
@inline
export function loadBytes(from: usize, bytes: usize): u64 {
  let word: u64 = 0
  for (let k: usize = 0; k < bytes; k++) word |= u64(load<u8>(from + k)) << (u64(k) << 3)
  return word
}

/** One group of up to four numbers, `room` bytes of them wanted; where it ends, 0 when the payload ends first. */
function readGroup(widths: usize, code: u32, data: usize, end: usize, out: usize, room: usize): usize {
  let total: u32 = 0
  for (let lane: u32 = 0; lane < 8; lane += 2) total += <u32>load<u8>(widths + usize((code >> lane) & 3))
  const size = usize((total + 7) >> 3)
  if (end - data < size) return 0
  let bit: u32 = 0
  for (let k: usize = 0; k < room; k += 4, code >>= 2) {
    const width = <u32>load<u8>(widths + usize(code & 3))
    const at = usize(bit >> 3)
    const word = end - data >= at + 8 ? load<u64>(data + at) : loadBytes(data + at, min(<usize>5, size - at))
    store<u32>(out + k, u32((word >> u64(bit & 7)) & ((u64(1) << width) - 1)))
    bit += width
  }
  return data + size
}

/** So few numbers are decoded before the tables for more would be made. */
const LEAST_FOR_TABLES: u32 = 512

function readShort(from: usize, end: usize, count: u32, out: usize): usize {
  const groups = (usize(count) + 3) >> 2
  let data = from + 4 + groups
  const outEnd = out + (usize(count) << 2)
  for (let control = from + 4; out < outEnd; control++, out += 16) {
    data = readGroup(from, <u32>load<u8>(control), data, end, out, min(outEnd - out, 16))
    if (data == 0) return 0
  }
  return data
}

/** Decodes count numbers to out (room for exactly count) and returns where the stream ends; 0 when the payload ends
 *  first or the widths are none. Reads nothing at or beyond end. */
export function readStream(from: usize, end: usize, count: u32, out: usize, scratch: usize): usize {
  const groups = (usize(count) + 3) >> 2
  if (end - from < 4 + groups) return 0
  const widths = from
  for (let k: usize = 0; k < 4; k++) if (load<u8>(widths + k) > 32) return 0
  if (count < LEAST_FOR_TABLES) return readShort(from, end, count, out)
  if (load<u32>(scratch, DECODE_VALID) == 0 || load<u32>(scratch, DECODE_WIDTHS) != load<u32>(widths)) {
    makeTables(widths, scratch)
  }
  const sizes = scratch + DECODE_GROUP_BYTES
  const tables = scratch + DECODE_TABLES
  let control = from + 4
  let data = control + groups
  const controlEnd = data
  const outEnd = out + (usize(count) << 2)
  while (control < controlEnd) {
    if (end - data >= 16) {
      // Whole groups with 16 readable bytes: no test but these two.
      const fullEnd = from + 4 + (usize(count) >> 2)
      const safe = end - 16
      while (control < fullEnd && data <= safe) {
        const code = <usize>load<u8>(control)
        const size = <usize>load<u8>(sizes + code)
        if (size >= usize(DECODE_WIDE)) break
        const table = tables + code * 48
        const bytes = i8x16.swizzle(v128.load(data), v128.load(table))
        const placed = i32x4.mul(bytes, v128.load(table, 16))
        v128.store(out, v128.and(i32x4.shr_u(placed, 7), v128.load(table, 32)))
        out += 16
        data += size
        control++
      }
      if (control >= controlEnd) break
    }
    data = readGroup(widths, <u32>load<u8>(control), data, end, out, min(outEnd - out, 16))
    if (data == 0) return 0
    out += 16
    control++
  }
  return data
}
