// A segment to a batch. The bytes may be anything: whatever a length or a code says is held against the end of the
// payload and the room in the batch before it is used, every loop is bounded by a checked count, and nothing outside
// the payload is read nor outside the batch and the scratch written.
import {
  BATCH_FEATURES, BATCH_INDICES, BATCH_LABEL_AT, BATCH_LABELS, BATCH_NONZERO_CAPACITY, BATCH_NONZEROS, 
  BATCH_ROW_CAPACITY, BATCH_ROWS, BATCH_STARTS, BATCH_VALUE_BYTES, BATCH_VALUES, BATCH_WEIGHTED, BATCH_WEIGHTS,
} from '../layouts'
import {
  DECODE_DICTIONARY, DECODE_ERROR_CODEC, DECODE_ERROR_INDEX, DECODE_ERROR_LABEL_CODE, DECODE_ERROR_LENGTHS,
  DECODE_ERROR_POSITION, DECODE_ERROR_ROOM, DECODE_ERROR_TRAILING, DECODE_ERROR_TRUNCATED, DECODE_ERROR_VALUE_CODE, DECODE_ERROR_WEIGHT,
  INDICES_BITMAP, INDICES_FULL, INDICES_GAPS, INDICES_INTERVALS, LABELS_CODED, LABELS_CONSTANT, LABELS_RAW, LENGTHS_EQUAL,
  LENGTHS_PACKED, POSITIONS_CONSECUTIVE, POSITIONS_PACKED, SEGMENT_FEATURES, SEGMENT_FLAG_WEIGHTS, SEGMENT_FLAGS,
  SEGMENT_INDEX_CODEC, SEGMENT_LABEL_CODEC, SEGMENT_LENGTH_CODEC, SEGMENT_NONZEROS, SEGMENT_POSITION_CODEC,
  SEGMENT_ROWS, SEGMENT_STORED_BYTES, SEGMENT_VALUE_BYTES, SEGMENT_VALUE_CODEC, SEGMENT_WEIGHT_CODEC, VALUES_BY_ROW, VALUES_CODED, VALUES_CONSTANT,
  VALUES_RAW, VALUES_ROW_CODED,
} from '../segment-layout'
import { readIntervals } from './decode-intervals'
import { codeBits } from './encode-values'
import { loadBytes, readStream } from './packed-stream'

/** Where the section just read ended, and why reading stopped. */
let cursor: usize = 0
let failure: u32 = 0

/** Fills the batch from a payload that is not compressed; `scratch` is DECODE_BYTES. Positions go where the batch keeps
 *  BATCH_LABEL_AT. 0, or a DECODE_ERROR_. */
export function decodeSegment(header: usize, payload: usize, bytes: u32, batch: usize, scratch: usize): u32 {
  const rows = load<u32>(header, SEGMENT_ROWS)
  const nonzeros = load<u64>(header, SEGMENT_NONZEROS)
  const valueBytes = <u32>load<u8>(header, SEGMENT_VALUE_BYTES)
  if (rows == 0 || rows > load<u32>(batch, BATCH_ROW_CAPACITY)) return DECODE_ERROR_ROOM
  if (nonzeros > u64(load<u32>(batch, BATCH_NONZERO_CAPACITY))) return DECODE_ERROR_ROOM
  if (valueBytes != load<u32>(batch, BATCH_VALUE_BYTES)) return DECODE_ERROR_ROOM
  const end = payload + usize(bytes)
  cursor = payload
  failure = 0
  readLengths(header, batch, end, scratch)
  if (failure == 0) readPositions(header, batch, end, scratch)
  if (failure == 0) readLabels(header, batch, end)
  if (failure == 0) readIndices(header, batch, end, scratch)
  if (failure == 0) readValues(header, batch, end, scratch)
  const weighted = (load<u8>(header, SEGMENT_FLAGS) & SEGMENT_FLAG_WEIGHTS) != 0
  if (failure == 0 && weighted) readWeights(header, batch, end)
  if (failure == 0 && cursor != end) failure = DECODE_ERROR_TRAILING
  const good = failure == 0
  store<u32>(batch, good ? rows : 0, BATCH_ROWS)
  store<u32>(batch, good && weighted ? 1 : 0, BATCH_WEIGHTED)
  store<u32>(batch, good ? u32(nonzeros) : 0, BATCH_NONZEROS)
  store<u32>(batch, good ? load<u32>(header, SEGMENT_FEATURES) : 0, BATCH_FEATURES)
  return failure
}

/** Whether so many more bytes are there; says so when not. */
@inline
function has(end: usize, bytes: u64): bool {
  if (u64(end - cursor) >= bytes) return true
  failure = DECODE_ERROR_TRUNCATED
  return false
}

function stream(end: usize, count: u32, out: usize, scratch: usize): bool {
  const after = readStream(cursor, end, count, out, scratch)
  if (after == 0) {
    failure = DECODE_ERROR_TRUNCATED
    return false
  }
  cursor = after
  return true
}

function readLengths(header: usize, batch: usize, end: usize, scratch: usize): void {
  const codec = <u32>load<u8>(header, SEGMENT_LENGTH_CODEC)
  const rows = load<u32>(header, SEGMENT_ROWS)
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const last = starts + (usize(rows) << 2)
  if (codec == LENGTHS_EQUAL) {
    if (!has(end, 4)) return
    const length = load<u32>(cursor)
    cursor += 4
    for (let p = starts; p < last; p += 4) store<u32>(p, length)
  } else if (codec == LENGTHS_PACKED) {
    if (!stream(end, rows, starts, scratch)) return
  } else {
    failure = DECODE_ERROR_CODEC
    return
  }
  let sum: u64 = 0
  for (let p = starts; p < last; p += 4) {
    const length = load<u32>(p)
    store<u32>(p, u32(sum))
    sum += u64(length)
  }
  // Below 2^24 rows of below 2^32 entries the sum cannot wrap, so one comparison vouches for every start.
  if (sum != load<u64>(header, SEGMENT_NONZEROS)) failure = DECODE_ERROR_LENGTHS
  store<u32>(last, u32(sum))
}

function readPositions(header: usize, batch: usize, end: usize, scratch: usize): void {
  const codec = <u32>load<u8>(header, SEGMENT_POSITION_CODEC)
  const rows = load<u32>(header, SEGMENT_ROWS)
  const positions = <usize>load<u32>(batch, BATCH_LABEL_AT)
  const last = positions + (usize(rows) << 2)
  let next: u64 = 0
  if (codec == POSITIONS_CONSECUTIVE) {
    if (!has(end, 4)) return
    next = u64(load<u32>(cursor))
    cursor += 4
    for (let p = positions; p < last; p += 4) store<u32>(p, u32(next++))
  } else if (codec == POSITIONS_PACKED) {
    if (!stream(end, rows, positions, scratch)) return
    for (let p = positions; p < last; p += 4) {
      next += u64(load<u32>(p))
      store<u32>(p, u32(next++))
    }
  } else {
    failure = DECODE_ERROR_CODEC
    return
  }
  if (next > u64(u32.MAX_VALUE) + 1) failure = DECODE_ERROR_POSITION
}

function readLabels(header: usize, batch: usize, end: usize): void {
  const codec = <u32>load<u8>(header, SEGMENT_LABEL_CODEC)
  readColumn(codec, load<u32>(header, SEGMENT_ROWS), <usize>load<u32>(batch, BATCH_LABELS), end, DECODE_ERROR_LABEL_CODE)
}

/** Weights of rows, numbers above 0. */
function readWeights(header: usize, batch: usize, end: usize): void {
  const rows = load<u32>(header, SEGMENT_ROWS)
  const weights = <usize>load<u32>(batch, BATCH_WEIGHTS)
  if (weights == 0) {
    failure = DECODE_ERROR_ROOM
    return
  }
  readColumn(<u32>load<u8>(header, SEGMENT_WEIGHT_CODEC), rows, weights, end, DECODE_ERROR_WEIGHT)
  for (let at = weights, last = weights + (usize(rows) << 3); at < last && failure == 0; at += 8) {
    const weight = load<f64>(at)
    if (!(weight > 0 && weight < Infinity)) failure = DECODE_ERROR_WEIGHT
  }
}

/** A number of 8 bytes for each row; `unknown` is what is wrong with a code that the dictionary has not. */
function readColumn(codec: u32, rows: u32, out: usize, end: usize, unknown: u32): void {
  const last = out + (usize(rows) << 3)
  if (codec == LABELS_CONSTANT) {
    if (!has(end, 8)) return
    const label = load<u64>(cursor)
    cursor += 8
    for (; out < last; out += 8) store<u64>(out, label)
  } else if (codec == LABELS_CODED) {
    if (!has(end, 1)) return
    const count = u32(load<u8>(cursor)) + 1
    const bits = codeBits(count)
    const codeBytes = (u64(rows) * bits + 7) >> 3
    if (!has(end, 1 + (u64(count) << 3) + codeBytes)) return
    const dictionary = cursor + 1
    const codes = dictionary + (usize(count) << 3)
    const mask = (u32(1) << bits) - 1
    for (let k: u32 = 0; k < rows; k++) {
      const bit = u64(k) * bits
      const code: u32 = bits == 0 ? 0 : (u32(load<u8>(codes + usize(bit >> 3))) >> u32(bit & 7)) & mask
      if (code >= count) {
        failure = unknown
        return
      }
      store<u64>(out + (usize(k) << 3), load<u64>(dictionary + (usize(code) << 3)))
    }
    cursor = codes + usize(codeBytes)
  } else if (codec == LABELS_RAW) {
    if (!has(end, u64(rows) << 3)) return
    memory.copy(out, cursor, usize(rows) << 3)
    cursor += usize(rows) << 3
  } else failure = DECODE_ERROR_CODEC
}

function readIndices(header: usize, batch: usize, end: usize, scratch: usize): void {
  const codec = <u32>load<u8>(header, SEGMENT_INDEX_CODEC)
  const rows = load<u32>(header, SEGMENT_ROWS)
  const nonzeros = u32(load<u64>(header, SEGMENT_NONZEROS))
  const features = u64(load<u32>(header, SEGMENT_FEATURES))
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  if (codec == INDICES_FULL) {
    for (let r: usize = 0; r < usize(rows); r++) {
      const from = load<u32>(starts + (r << 2))
      const n = load<u32>(starts + (r << 2), 4) - from
      if (u64(n) > features) {
        failure = DECODE_ERROR_INDEX
        return
      }
      const out = indices + (usize(from) << 2)
      for (let k: u32 = 0; k < n; k++) store<u32>(out + (usize(k) << 2), k)
    }
  } else if (codec == INDICES_BITMAP) {
    readBitmap(rows, features, starts, indices, end)
  } else if (codec == INDICES_GAPS) {
    if (stream(end, nonzeros, indices, scratch) && !sumRows(rows, features, starts, indices)) failure = DECODE_ERROR_INDEX
  } else if (codec == INDICES_INTERVALS) {
    const after = readIntervals(cursor, end, rows, nonzeros, features, starts, indices, scratch)
    if (after == 0) failure = DECODE_ERROR_INDEX
    else cursor = after
  } else failure = DECODE_ERROR_CODEC
}

/** Gaps to numbers, row by row, in place; false when one of them reaches the limit. Numbers rise within a row, and
 *  64 bits cannot wrap here, so the last of a row vouches for the others. */
function sumRows(rows: u32, limit: u64, starts: usize, indices: usize): bool {
  let p = indices
  for (let r: usize = 0; r < usize(rows); r++) {
    let next: u64 = 0
    for (const stop = indices + (usize(load<u32>(starts + (r << 2), 4)) << 2); p < stop; p += 4) {
      next += u64(load<u32>(p))
      store<u32>(p, u32(next++))
    }
    if (next > limit) return false
  }
  return true
}

function readBitmap(rows: u32, features: u64, starts: usize, indices: usize, end: usize): void {
  if (!has(end, 4)) return
  const width = load<u32>(cursor)
  const rowBytes = (u64(width) + 7) >> 3
  cursor += 4
  if (u64(width) > features) {
    failure = DECODE_ERROR_INDEX
    return
  }
  // Both factors may be large; their product stays below 2^53.
  if (!has(end, rowBytes * u64(rows))) return
  for (let r: usize = 0; r < usize(rows); r++) {
    let out = indices + (usize(load<u32>(starts + (r << 2))) << 2)
    const stop = indices + (usize(load<u32>(starts + (r << 2), 4)) << 2)
    const rowEnd = cursor + usize(rowBytes)
    for (let base: u32 = 0; cursor < rowEnd; base += 64) {
      const step = min(rowEnd - cursor, 8)
      let word = step == 8 ? load<u64>(cursor) : loadBytes(cursor, step)
      if (stop - out < usize(popcnt(word)) << 2) {
        failure = DECODE_ERROR_INDEX
        return
      }
      for (; word != 0; word &= word - 1, out += 4) store<u32>(out, base + u32(ctz(word)))
      cursor += step
    }
    // Bits behind the width would be features beyond it.
    if (out != stop || (out > indices && stop > indices + (usize(load<u32>(starts + (r << 2))) << 2) && load<u32>(out - 4) >= width)) {
      failure = DECODE_ERROR_INDEX
      return
    }
  }
}

function readValues(header: usize, batch: usize, end: usize, scratch: usize): void {
  const nonzeros = u32(load<u64>(header, SEGMENT_NONZEROS))
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const valueBytes = <u32>load<u8>(header, SEGMENT_VALUE_BYTES)
  const stored = <u32>load<u8>(header, SEGMENT_STORED_BYTES)
  if (stored == 8 && valueBytes == 8) readAs<u64>(header, batch, end, scratch, values)
  else if (stored == 4 && valueBytes == 4) readAs<u32>(header, batch, end, scratch, values)
  else if (stored == 4 && valueBytes == 8) {
    // Into the upper half of the room, then widened from the front: no write overtakes what is yet to be read.
    const narrow = values + (usize(nonzeros) << 2)
    readAs<u32>(header, batch, end, scratch, narrow)
    if (failure != 0) return
    for (let k: usize = 0; k < usize(nonzeros); k++) store<f64>(values + (k << 3), f64(load<f32>(narrow + (k << 2))))
  } else failure = DECODE_ERROR_CODEC
}

function readAs<T>(header: usize, batch: usize, end: usize, scratch: usize, out: usize): void {
  const codec = <u32>load<u8>(header, SEGMENT_VALUE_CODEC)
  const n = u32(load<u64>(header, SEGMENT_NONZEROS))
  const bytes = u64(n) * sizeof<T>()
  if (codec == VALUES_CONSTANT) {
    if (!has(end, sizeof<T>())) return
    const value = load<T>(cursor)
    cursor += sizeof<T>()
    for (const last = out + usize(bytes); out < last; out += sizeof<T>()) store<T>(out, value)
  } else if (codec == VALUES_RAW) {
    if (!has(end, bytes)) return
    memory.copy(out, cursor, usize(bytes))
    cursor += usize(bytes)
  } else if (codec == VALUES_CODED) {
    if (!has(end, 2)) return
    const count = u32(load<u16>(cursor)) + 1
    cursor += 2
    coded<T>(end, count, n, out, scratch)
  } else if (codec == VALUES_BY_ROW) {
    byRow<T>(header, batch, end, out)
  } else if (codec == VALUES_ROW_CODED) {
    const rows = load<u32>(header, SEGMENT_ROWS)
    if (!has(end, u64(rows))) return
    const sizes = cursor
    cursor += usize(rows)
    const starts = <usize>load<u32>(batch, BATCH_STARTS)
    for (let r: usize = 0; r < usize(rows); r++) {
      const from = load<u32>(starts + (r << 2))
      const length = load<u32>(starts + (r << 2), 4) - from
      const to = out + usize(from) * sizeof<T>()
      const count = <u32>load<u8>(sizes + r)
      if (count == 0) {
        const rowBytes = u64(length) * sizeof<T>()
        if (!has(end, rowBytes)) return
        memory.copy(to, cursor, usize(rowBytes))
        cursor += usize(rowBytes)
      } else {
        coded<T>(end, count, length, to, scratch)
        if (failure != 0) return
      }
    }
  } else failure = DECODE_ERROR_CODEC
}

/** A dictionary, then a code for each row. */
function byRow<T>(header: usize, batch: usize, end: usize, out: usize): void {
  if (!has(end, 2)) return
  const rows = load<u32>(header, SEGMENT_ROWS)
  const count = u32(load<u16>(cursor)) + 1
  const bits = codeBits(count)
  const codeBytes = (u64(rows) * bits + 7) >> 3
  if (count > 256) {
    failure = DECODE_ERROR_VALUE_CODE
    return
  }
  if (!has(end, 2 + u64(count) * sizeof<T>() + codeBytes)) return
  const dictionary = cursor + 2
  const codes = dictionary + usize(count) * sizeof<T>()
  cursor = codes + usize(codeBytes)
  const mask = (u32(1) << bits) - 1
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const first = out
  for (let r: u32 = 0; r < rows; r++) {
    const bit = u64(r) * bits
    const code: u32 = bits == 0 ? 0 : (u32(load<u8>(codes + usize(bit >> 3))) >> u32(bit & 7)) & mask
    if (code >= count) {
      failure = DECODE_ERROR_VALUE_CODE
      return
    }
    const value = load<T>(dictionary + usize(code) * sizeof<T>())
    const stop = first + usize(load<u32>(starts + (usize(r) << 2), 4)) * sizeof<T>()
    for (; out < stop; out += sizeof<T>()) store<T>(out, value)
  }
}

/** A dictionary of count values, then n codes. */
@inline
function coded<T>(end: usize, count: u32, n: u32, out: usize, scratch: usize): void {
  const bits = codeBits(count)
  const dictionaryBytes = usize(count) * sizeof<T>()
  const codeBytes = (u64(n) * bits + 7) >> 3
  if (!has(end, u64(dictionaryBytes) + codeBytes)) return
  const source = cursor
  let codes = cursor + dictionaryBytes
  cursor = codes + usize(codeBytes)
  const last = out + usize(n) * sizeof<T>()
  if (bits == 16) {
    for (; out < last; out += sizeof<T>(), codes += 2) {
      const code = <u32>load<u16>(codes)
      if (code >= count) {
        failure = DECODE_ERROR_VALUE_CODE
        return
      }
      store<T>(out, load<T>(source + usize(code) * sizeof<T>()))
    }
    return
  }
  // A copy as long as a code can reach makes every look-up safe; one comparison at the end finds codes too large.
  const dictionary = scratch + DECODE_DICTIONARY
  for (let k: usize = 0; k < dictionaryBytes; k += sizeof<T>()) store<T>(dictionary + k, load<T>(source + k))
  let most: u32 = 0
  if (bits == 0) {
    const value = load<T>(dictionary)
    for (; out < last; out += sizeof<T>()) store<T>(out, value)
  } else if (bits == 8) {
    for (; out < last; out += sizeof<T>(), codes++) {
      const code = <u32>load<u8>(codes)
      most = max(most, code)
      store<T>(out, load<T>(dictionary + usize(code) * sizeof<T>()))
    }
  } else if (bits == 4) {
    for (const last2 = out + usize(n >> 1) * 2 * sizeof<T>(); out < last2; out += 2 * sizeof<T>(), codes++) {
      const pair = <u32>load<u8>(codes)
      const a = pair & 15, b = pair >> 4
      most = max(most, max(a, b))
      store<T>(out, load<T>(dictionary + usize(a) * sizeof<T>()))
      store<T>(out + sizeof<T>(), load<T>(dictionary + usize(b) * sizeof<T>()))
    }
    if (out < last) {
      const code = u32(load<u8>(codes)) & 15
      most = max(most, code)
      store<T>(out, load<T>(dictionary + usize(code) * sizeof<T>()))
    }
  } else {
    const mask = (u32(1) << bits) - 1
    let bit: u32 = 0
    for (; out < last; out += sizeof<T>()) {
      const code = (u32(load<u8>(codes)) >> bit) & mask
      most = max(most, code)
      store<T>(out, load<T>(dictionary + usize(code) * sizeof<T>()))
      bit += bits
      codes += usize(bit >> 3)
      bit &= 7
    }
  }
  if (most >= count) failure = DECODE_ERROR_VALUE_CODE
}
