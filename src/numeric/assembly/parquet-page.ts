// What the pages of Parquet files are packed with: Snappy, runs of equal numbers, numbers of few bits, differences, and bytes that
// stand apart. Every length is checked: a file may have been damaged, or made to do harm.
// https://github.com/google/snappy/blob/main/format_description.txt
// https://parquet.apache.org/docs/file-format/data-pages/encodings/
import { CELL_I32, CELL_U32 } from '../table-layout'

// What readVarint leaves behind: where it ends, 0 where there is none.
let varintEnd: usize = 0

/** A number in groups of seven bits, the lowest first. */
function readVarint(p: usize, end: usize): u64 {
  let value: u64 = 0
  for (let shift: u64 = 0; shift < 70 && p < end; shift += 7) {
    const byte = <u64>load<u8>(p++)
    value |= (byte & 127) << shift
    if (byte < 128) {
      varintEnd = p
      return value
    }
  }
  varintEnd = 0
  return 0
}

/** Copies at least so many bytes, sixteen at a time: up to fifteen beyond are written. */
@inline
function copyWide(to: usize, from: usize, bytes: usize): void {
  const end = to + bytes
  for (; to < end; to += 16, from += 16) v128.store(to, v128.load(from))
}

/** Undoes Snappy's compression: whether it gives so many bytes. There is room for sixteen more, and they may be written. */
export function unpackSnappy(p: usize, end: usize, out: usize, bytes: u32): bool {
  const first = out
  const last = out + usize(bytes)
  if (readVarint(p, end) != u64(bytes) || varintEnd == 0) return false
  p = varintEnd
  while (p < end) {
    const tag = <u32>load<u8>(p++)
    let length = usize(tag >> 2)
    if ((tag & 3) == 0) {
      if (length >= 60) {
        const more = length - 59
        if (more > end - p) return false
        length = usize(load<u32>(p) & (<u32>0xffffffff >> (32 - (u32(more) << 3))))
        p += more
      }
      // One less than the length is written, so that it is compared as it stands.
      if (length >= end - p || length >= last - out) return false
      length++
      if (length <= 64 && end - p >= 80) copyWide(out, p, length)
      else memory.copy(out, p, length)
      p += length
      out += length
      continue
    }
    let back: usize
    if ((tag & 3) == 1) {
      if (p >= end) return false
      length = (length & 7) + 4
      back = (usize(tag >> 5) << 8) | usize(load<u8>(p++))
    } else if ((tag & 3) == 2) {
      if (end - p < 2) return false
      length++
      back = usize(load<u16>(p))
      p += 2
    } else {
      if (end - p < 4) return false
      length++
      back = usize(load<u32>(p))
      p += 4
    }
    if (back == 0 || back > out - first || length > last - out) return false
    if (back >= 16) copyWide(out, out - back, length)
    else for (let k: usize = 0; k < length; k++) store<u8>(out + k, load<u8>(out + k - back))
    out += length
  }
  return out == last
}

/** Runs of equal numbers, and runs of packed ones, to words. */
export function unpackRuns(p: usize, end: usize, width: u32, count: u32, out: usize): bool {
  if (width > 32) return false
  const valueBytes = usize((width + 7) >> 3)
  const mask = width == 32 ? <u64>0xffffffff : (<u64>1 << u64(width)) - 1
  let left = count
  while (left > 0) {
    const head = readVarint(p, end)
    if (varintEnd == 0 || head > 0xffffffff) return false
    p = varintEnd
    if ((head & 1) != 0) {
      // Groups of eight; the last one may have more than are wanted, and may be cut short where they are.
      const run = u32(min<u64>((head >> 1) << 3, u64(left)))
      const packed = (head >> 1) * u64(width)
      if (run == 0 || (u64(run) * u64(width) + 7) >> 3 > u64(end - p)) return false
      let bit: u64 = 0
      for (let k: u32 = 0; k < run; k++, bit += u64(width))
        store<u32>(out + (usize(k) << 2), u32((load<u64>(p + usize(bit >> 3)) >> (bit & 7)) & mask))
      p += usize(min<u64>(packed, u64(end - p)))
      out += usize(run) << 2
      left -= run
    } else {
      const run = u32(min<u64>(head >> 1, u64(left)))
      if (run == 0 || valueBytes > end - p) return false
      const value = u32(valueBytes == 0 ? 0 : load<u32>(p) & (<u32>0xffffffff >> (32 - (u32(valueBytes) << 3))))
      p += valueBytes
      for (let k: u32 = 0; k < run; k++) store<u32>(out + (usize(k) << 2), value)
      out += usize(run) << 2
      left -= run
    }
  }
  return true
}

/** A signed number, whose sign is in the lowest bit. */
@inline
function unfolded(value: u64): i64 {
  return i64(value >> 1) ^ -i64(value & 1)
}

/** Bits from a place on, up to 64. */
@inline
function bitsAt(p: usize, bit: u64, width: u64, mask: u64): u64 {
  const at = p + usize(bit >> 3)
  const within = bit & 7
  let bits = load<u64>(at) >> within
  if (within + width > 64) bits |= <u64>load<u8>(at, 8) << (64 - within)
  return bits & mask
}

/** Numbers of a kind, as differences to the ones before, in blocks of so many bits each, to words of 64 bits. Returns where they end,
 *  or 0. */
export function unpackDeltas(p: usize, end: usize, count: u32, out: usize, kind: u32): usize {
  const blockSize = readVarint(p, end)
  if (varintEnd == 0) return 0
  const parts = readVarint(varintEnd, end)
  if (varintEnd == 0 || parts == 0 || parts > 1024 || blockSize > 0x100000 || blockSize % parts != 0) return 0
  const each = blockSize / parts
  if (each == 0 || (each & 7) != 0) return 0
  if (readVarint(varintEnd, end) != u64(count) || varintEnd == 0 || count == 0) return 0
  let value = unfolded(readVarint(varintEnd, end))
  if (varintEnd == 0) return 0
  p = varintEnd
  store<i64>(out, cutTo(value, kind))
  let k: u32 = 1
  while (k < count) {
    const least = unfolded(readVarint(p, end))
    if (varintEnd == 0 || usize(parts) > end - varintEnd) return 0
    const widths = varintEnd
    p = widths + usize(parts)
    for (let part: u64 = 0; part < parts && k < count; part++) {
      const width = <u64>load<u8>(widths + usize(part))
      const bytes = (each * width) >> 3
      if (width > 64 || bytes > u64(end - p)) return 0
      const mask = width == 64 ? ~(<u64>0) : (<u64>1 << width) - 1
      const stop = u32(min<u64>(u64(k) + each, u64(count)))
      for (let bit: u64 = 0; k < stop; k++, bit += width) {
        value += least + i64(bitsAt(p, bit, width, mask))
        store<i64>(out + (usize(k) << 3), cutTo(value, kind))
      }
      p += usize(bytes)
    }
  }
  return p
}

/** A sum as a number of its kind: what is beyond 32 bits goes away. */
@inline
function cutTo(value: i64, kind: u32): i64 {
  if (kind == CELL_I32) return (value << 32) >> 32
  return kind == CELL_U32 ? value & 0xffffffff : value
}

/** Numbers whose first bytes come first, then their second ones, and so on. */
export function gatherBytes(p: usize, count: u32, width: u32, out: usize): void {
  for (let b: u32 = 0; b < width; b++) {
    const from = p + usize(b) * usize(count)
    for (let k: usize = 0; k < usize(count); k++) store<u8>(out + k * usize(width) + usize(b), load<u8>(from + k))
  }
}

/** Whether one run says that all are there, as it does for most columns. */
export function areAllPresent(p: usize, end: usize, count: u32): bool {
  const head = readVarint(p, end)
  return varintEnd != 0 && varintEnd < end && (head & 1) == 0 && head >> 1 >= u64(count) && load<u8>(varintEnd) == 1
}

/** How many of the numbers are not 0. */
export function countPresent(levels: usize, count: u32): u32 {
  let present: u32 = 0
  for (let k: u32 = 0; k < count; k++) present += u32(load<u32>(levels + (usize(k) << 2)) != 0)
  return present
}
