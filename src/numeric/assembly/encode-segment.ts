// Rows of a batch to one segment: every section of the payload takes the smallest codec that holds it exactly. What is
// chosen depends on the rows alone, never on what came before, so a store is the same whatever thread encodes what.
import { BATCH_FEATURES, BATCH_INDICES, BATCH_ROWS, BATCH_STARTS, BATCH_VALUE_BYTES, BATCH_VALUES } from '../layouts'
import {
  ENCODE_BATCH,
  ENCODE_BLOCK,
  ENCODE_FIRST_POSITION,
  ENCODE_GAPS,
  ENCODE_INDICES,
  ENCODE_LENGTHS,
  ENCODE_NONZEROS,
  ENCODE_OUT,
  ENCODE_ROW_LIST,
  ENCODE_ROWS,
  ENCODE_TABLES,
  ENCODE_VALUES,
  ENCODE_WORK,
  INDICES_BITMAP,
  INDICES_FULL,
  INDICES_GAPS,
  LENGTHS_EQUAL,
  LENGTHS_PACKED,
  POSITIONS_CONSECUTIVE,
  POSITIONS_PACKED,
  SEGMENT_BASE_POSITION,
  SEGMENT_BLOCK,
  SEGMENT_FEATURES,
  SEGMENT_FLAGS,
  SEGMENT_HEADER_BYTES,
  SEGMENT_HEADER_HASH,
  SEGMENT_INDEX_CODEC,
  SEGMENT_LENGTH_CODEC,
  SEGMENT_MAGIC,
  SEGMENT_MAGIC_VALUE,
  SEGMENT_NONZEROS,
  SEGMENT_ORDER,
  SEGMENT_ORDER_VALUE,
  SEGMENT_PAYLOAD_BYTES,
  SEGMENT_PAYLOAD_HASH,
  SEGMENT_POSITION_CODEC,
  SEGMENT_RAW_BYTES,
  SEGMENT_ROWS,
  SEGMENT_VALUE_BYTES,
  SEGMENT_VERSION,
  SEGMENT_VERSION_VALUE,
} from '../segment-layout'
import { drawnBlock, firstBlockOf, seededDraw } from './draw-block'
import { tryIntervals } from './encode-intervals'
import { encodeLabels, encodeValues, encodeWeights } from './encode-values'
import { xxh64 } from './hash'
import { planStream, writeStream } from './packed-stream'

/** Gaps of at most so many bits a nonzero are good enough: looking for intervals would not pay. */
const GOOD_GAP_BITS: u64 = 11

/** Sorts the rows of a batch by a block drawn for each of them: `order` receives row numbers, rising within a block,
 *  `counts` for each block its rows and its nonzeros (u32 pairs); `drawn` is scratch, u32[rows]. */
export function assignRows(
  batch: usize,
  blocks: u32,
  spread: u32,
  seed: u64,
  chunk: u32,
  first: u32,
  order: usize,
  counts: usize,
  drawn: usize,
): void {
  const rows = load<u32>(batch, BATCH_ROWS)
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  memory.fill(counts, 0, usize(blocks) << 3)
  const seeded = seededDraw(seed)
  const firstBlock = firstBlockOf(seeded, chunk, blocks, spread)
  for (let r: u32 = 0; r < rows; r++) {
    const block = drawnBlock(seeded, chunk, first + r, firstBlock, blocks, spread)
    store<u32>(drawn + (usize(r) << 2), block)
    const at = counts + (usize(block) << 3)
    store<u32>(at, load<u32>(at) + 1)
    const row = starts + (usize(r) << 2)
    store<u32>(at, load<u32>(at, 4) + load<u32>(row, 4) - load<u32>(row), 4)
  }
  let next: u32 = 0
  // For the scatter the row counts turn into places; subtracting neighbours afterwards gives them back.
  for (let k: u32 = 0; k < blocks; k++) {
    const at = counts + (usize(k) << 3)
    const n = load<u32>(at)
    store<u32>(at, next)
    next += n
  }
  for (let r: u32 = 0; r < rows; r++) {
    const at = counts + (usize(load<u32>(drawn + (usize(r) << 2))) << 3)
    const place = load<u32>(at)
    store<u32>(order + (usize(place) << 2), r)
    store<u32>(at, place + 1)
  }
  let before: u32 = 0
  for (let k: u32 = 0; k < blocks; k++) {
    const at = counts + (usize(k) << 3)
    const after = load<u32>(at)
    store<u32>(at, after - before)
    before = after
  }
}

/** Encodes the listed rows at ENCODE_OUT, base position 0, not compressed; how many bytes the segment has. */
export function encodeSegment(state: usize): u32 {
  const batch = <usize>load<u32>(state, ENCODE_BATCH)
  const rows = load<u32>(state, ENCODE_ROWS)
  const nonzeros = load<u32>(state, ENCODE_NONZEROS)
  const header = <usize>load<u32>(state, ENCODE_OUT)
  const payload = header + SEGMENT_HEADER_BYTES
  memory.fill(header, 0, SEGMENT_HEADER_BYTES)
  store<u32>(header, SEGMENT_MAGIC_VALUE, SEGMENT_MAGIC)
  store<u16>(header, SEGMENT_VERSION_VALUE, SEGMENT_VERSION)
  store<u16>(header, SEGMENT_ORDER_VALUE, SEGMENT_ORDER)
  store<u8>(header, 0, SEGMENT_FLAGS)
  store<u8>(header, u8(load<u32>(batch, BATCH_VALUE_BYTES)), SEGMENT_VALUE_BYTES)
  store<u32>(header, rows, SEGMENT_ROWS)
  store<u32>(header, load<u32>(batch, BATCH_FEATURES), SEGMENT_FEATURES)
  store<u64>(header, u64(nonzeros), SEGMENT_NONZEROS)
  store<u64>(header, 0, SEGMENT_BASE_POSITION)
  store<u32>(header, load<u32>(state, ENCODE_BLOCK), SEGMENT_BLOCK)

  gatherRows(state)
  let out = encodeLengths(state, header, payload)
  out = encodePositions(state, header, out)
  out = encodeLabels(state, header, out)
  out = encodeIndices(state, header, out)
  out = encodeValues(state, header, out)
  out = encodeWeights(state, header, out)

  const bytes = u64(out - payload)
  store<u64>(header, bytes, SEGMENT_PAYLOAD_BYTES)
  store<u64>(header, bytes, SEGMENT_RAW_BYTES)
  sealSegment(header)
  return u32(bytes) + SEGMENT_HEADER_BYTES
}

/** Checksums of a segment whose header and payload are otherwise complete. */
export function sealSegment(header: usize): void {
  const bytes = u32(load<u64>(header, SEGMENT_PAYLOAD_BYTES))
  store<u64>(header, xxh64(header + SEGMENT_HEADER_BYTES, bytes), SEGMENT_PAYLOAD_HASH)
  store<u64>(header, xxh64(header, SEGMENT_HEADER_HASH), SEGMENT_HEADER_HASH)
}

/** Brings the rows together: lengths, indices, gaps and values without the rows of other blocks between them. */
function gatherRows(state: usize): void {
  const batch = <usize>load<u32>(state, ENCODE_BATCH)
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const shift: usize = load<u32>(batch, BATCH_VALUE_BYTES) == 8 ? 3 : 2
  const list = <usize>load<u32>(state, ENCODE_ROW_LIST)
  const rows = <usize>load<u32>(state, ENCODE_ROWS)
  const lengths = <usize>load<u32>(state, ENCODE_LENGTHS)
  let index = <usize>load<u32>(state, ENCODE_INDICES)
  let gap = <usize>load<u32>(state, ENCODE_GAPS)
  let value = <usize>load<u32>(state, ENCODE_VALUES)
  for (let r: usize = 0; r < rows; r++) {
    const row = starts + (usize(load<u32>(list + (r << 2))) << 2)
    const from = <usize>load<u32>(row)
    const n = usize(load<u32>(row, 4)) - from
    store<u32>(lengths + (r << 2), u32(n))
    memory.copy(value, values + (from << shift), n << shift)
    value += n << shift
    let next: u32 = 0
    let source = indices + (from << 2)
    for (const end = source + (n << 2); source < end; source += 4, index += 4, gap += 4) {
      const i = load<u32>(source)
      store<u32>(index, i)
      store<u32>(gap, i - next)
      next = i + 1
    }
  }
}

function encodeLengths(state: usize, header: usize, out: usize): usize {
  const rows = load<u32>(state, ENCODE_ROWS)
  const lengths = <usize>load<u32>(state, ENCODE_LENGTHS)
  const first = load<u32>(lengths)
  let equal = true
  for (let r: u32 = 1; r < rows && equal; r++) equal = load<u32>(lengths + (usize(r) << 2)) == first
  store<u8>(header, equal ? LENGTHS_EQUAL : LENGTHS_PACKED, SEGMENT_LENGTH_CODEC)
  if (equal) {
    store<u32>(out, first)
    return out + 4
  }
  const tables = <usize>load<u32>(state, ENCODE_TABLES)
  planStream(lengths, rows, tables)
  return writeStream(lengths, rows, tables, out)
}

function encodePositions(state: usize, header: usize, out: usize): usize {
  const rows = load<u32>(state, ENCODE_ROWS)
  const list = <usize>load<u32>(state, ENCODE_ROW_LIST)
  const first = load<u32>(state, ENCODE_FIRST_POSITION)
  const start = load<u32>(list)
  if (load<u32>(list + (usize(rows - 1) << 2)) - start == rows - 1) {
    store<u8>(header, POSITIONS_CONSECUTIVE, SEGMENT_POSITION_CODEC)
    store<u32>(out, first + start)
    return out + 4
  }
  const work = <usize>load<u32>(state, ENCODE_WORK)
  let next: u32 = 0
  for (let r: u32 = 0; r < rows; r++) {
    const position = first + load<u32>(list + (usize(r) << 2))
    store<u32>(work + (usize(r) << 2), position - next)
    next = position + 1
  }
  store<u8>(header, POSITIONS_PACKED, SEGMENT_POSITION_CODEC)
  const tables = <usize>load<u32>(state, ENCODE_TABLES)
  planStream(work, rows, tables)
  return writeStream(work, rows, tables, out)
}

/** One more than the largest index of the segment, and whether every row is 0, 1, 2, … */
let indexWidth: u32 = 0
let indexFull: bool = false

function surveyIndices(indices: usize, lengths: usize, rows: u32): void {
  let width: u32 = 0
  let full = true
  let end = indices
  for (let r: u32 = 0; r < rows; r++) {
    const n = load<u32>(lengths + (usize(r) << 2))
    if (n == 0) continue
    end += usize(n) << 2
    const last = load<u32>(end - 4) + 1
    width = max(width, last)
    full = full && last == n
  }
  indexWidth = width
  indexFull = full
}

function encodeIndices(state: usize, header: usize, out: usize): usize {
  const rows = load<u32>(state, ENCODE_ROWS)
  const nonzeros = load<u32>(state, ENCODE_NONZEROS)
  const lengths = <usize>load<u32>(state, ENCODE_LENGTHS)
  const indices = <usize>load<u32>(state, ENCODE_INDICES)
  const gaps = <usize>load<u32>(state, ENCODE_GAPS)
  const tables = <usize>load<u32>(state, ENCODE_TABLES)
  surveyIndices(indices, lengths, rows)
  if (indexFull) {
    store<u8>(header, INDICES_FULL, SEGMENT_INDEX_CODEC)
    return out
  }
  const direct = planStream(gaps, nonzeros, tables)
  const rowBytes = (u64(indexWidth) + 7) >> 3
  if (4 + rowBytes * u64(rows) < direct) {
    store<u8>(header, INDICES_BITMAP, SEGMENT_INDEX_CODEC)
    return writeBitmap(indices, lengths, rows, usize(rowBytes), out)
  }
  if (direct << 3 > GOOD_GAP_BITS * u64(nonzeros)) {
    const end = tryIntervals(state, header, direct, indexWidth, out)
    if (end != 0) return end
  }
  store<u8>(header, INDICES_GAPS, SEGMENT_INDEX_CODEC)
  return writeStream(gaps, nonzeros, tables, out)
}

function writeBitmap(indices: usize, lengths: usize, rows: u32, rowBytes: usize, out: usize): usize {
  store<u32>(out, indexWidth)
  out += 4
  memory.fill(out, 0, rowBytes * usize(rows))
  for (let r: u32 = 0; r < rows; r++) {
    for (const end = indices + (usize(load<u32>(lengths + (usize(r) << 2))) << 2); indices < end; indices += 4) {
      const i = load<u32>(indices)
      const at = out + usize(i >> 3)
      store<u8>(at, load<u8>(at) | u8(u32(1) << (i & 7)))
    }
    out += rowBytes
  }
  return out
}
