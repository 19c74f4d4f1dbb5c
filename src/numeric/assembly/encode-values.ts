// The labels, values and weights of a segment: constant, coded by a dictionary of the segment or of each row, or as they are.
// Bits are compared, never numbers: −0 and 0 are two values, and what comes out is what went in.
import { BATCH_LABELS, BATCH_VALUE_BYTES, BATCH_WEIGHTED, BATCH_WEIGHTS } from '../layouts'
import {
  ENCODE_BATCH, ENCODE_CODES, ENCODE_GENERATION, ENCODE_HASH, ENCODE_HASH_BYTES, ENCODE_HASH_SLOTS, ENCODE_LENGTHS,
  ENCODE_MOST_CODES, ENCODE_NONZEROS, ENCODE_ROW_LIST, ENCODE_ROWS, ENCODE_VALUES, LABELS_CODED,
  LABELS_CONSTANT, LABELS_RAW, SEGMENT_FLAG_WEIGHTS, SEGMENT_FLAGS, SEGMENT_LABEL_CODEC, SEGMENT_STORED_BYTES, SEGMENT_VALUE_CODEC,
  SEGMENT_VERSION, SEGMENT_VERSION_WEIGHTED, SEGMENT_WEIGHT_CODEC,
  VALUES_BY_ROW, VALUES_CODED,VALUES_CONSTANT, VALUES_RAW, VALUES_ROW_CODED,
} from '../segment-layout'

/** Bits of a code among so many. */
@inline
export function codeBits(count: u32): u32 {
  return count <= 1 ? 0 : count <= 2 ? 1 : count <= 4 ? 2 : count <= 16 ? 4 : count <= 256 ? 8 : 16
}

// --- The dictionary under construction: value bits to code, emptied by a new generation number
let hash: usize = 0
let mask: u32 = 0
let generation: u32 = 0

/** Starts an empty dictionary for at most half of `slots` values; few slots stay in the nearest cache. */
function newDictionary(state: usize, slots: u32): void {
  hash = <usize>load<u32>(state, ENCODE_HASH)
  mask = slots - 1
  generation = load<u32>(state, ENCODE_GENERATION) + 1
  if (generation == 0) {
    memory.fill(hash, 0, ENCODE_HASH_BYTES)
    generation = 1
  }
  store<u32>(state, generation, ENCODE_GENERATION)
}

/** Code of a value, or `next` after entering it under that code. */
@inline
function codeOf(bits: u64, next: u32): u32 {
  let slot = u32((bits * 0x9e3779b97f4a7c15) >> 40) & mask
  while (true) {
    const at = hash + (usize(slot) << 4)
    if (load<u32>(at, 12) != generation) {
      store<u64>(at, bits)
      store<u32>(at, next, 8)
      store<u32>(at, generation, 12)
      return next
    }
    if (load<u64>(at) == bits) return load<u32>(at, 8)
    slot = (slot + 1) & mask
  }
}

/** u16 codes to `bits` bits each, low bits first; where they end. May touch 8 bytes beyond. */
function writeCodes(codes: usize, count: u32, bits: u32, out: usize): usize {
  if (bits == 0) return out
  const end = codes + (usize(count) << 1)
  if (bits == 16) {
    memory.copy(out, codes, usize(count) << 1)
    return out + (usize(count) << 1)
  }
  if (bits == 8) {
    for (; codes < end; codes += 2, out++) store<u8>(out, load<u8>(codes))
    return out
  }
  let word: u32 = 0
  let filled: u32 = 0
  for (; codes < end; codes += 2) {
    word |= u32(load<u16>(codes)) << filled
    filled += bits
    if (filled == 8) {
      store<u8>(out++, u8(word))
      word = 0
      filled = 0
    }
  }
  if (filled > 0) store<u8>(out++, u8(word))
  return out
}

export function encodeLabels(state: usize, header: usize, out: usize): usize {
  const labels = <usize>load<u32>(<usize>load<u32>(state, ENCODE_BATCH), BATCH_LABELS)
  return encodeColumn(state, labels, header + SEGMENT_LABEL_CODEC, out)
}

/** Weights of the listed rows, unless each of them counts once: then the segment is as if there were none. */
export function encodeWeights(state: usize, header: usize, out: usize): usize {
  const batch = <usize>load<u32>(state, ENCODE_BATCH)
  if (load<u32>(batch, BATCH_WEIGHTED) == 0) return out
  const weights = <usize>load<u32>(batch, BATCH_WEIGHTS)
  const list = <usize>load<u32>(state, ENCODE_ROW_LIST)
  const rows = load<u32>(state, ENCODE_ROWS)
  let once = true
  for (let r: u32 = 0; r < rows && once; r++) once = load<f64>(weights + (usize(load<u32>(list + (usize(r) << 2))) << 3)) == 1
  if (once) return out
  store<u16>(header, SEGMENT_VERSION_WEIGHTED, SEGMENT_VERSION)
  store<u8>(header, load<u8>(header, SEGMENT_FLAGS) | SEGMENT_FLAG_WEIGHTS, SEGMENT_FLAGS)
  return encodeColumn(state, weights, header + SEGMENT_WEIGHT_CODEC, out)
}

/** A number of 8 bytes for each listed row; which codec it took goes to `codec`. */
function encodeColumn(state: usize, column: usize, codec: usize, out: usize): usize {
  const list = <usize>load<u32>(state, ENCODE_ROW_LIST)
  const rows = load<u32>(state, ENCODE_ROWS)
  const codes = <usize>load<u32>(state, ENCODE_CODES)
  const most = min<u32>(256, max(rows >> 1, 1))
  newDictionary(state, 1024)
  const dictionary = out + 1
  let distinct: u32 = 0
  for (let r: u32 = 0; r < rows; r++) {
    const bits = load<u64>(column + (usize(load<u32>(list + (usize(r) << 2))) << 3))
    const code = codeOf(bits, distinct)
    if (code == distinct) {
      if (distinct == most) {
        distinct = 0
        break
      }
      store<u64>(dictionary + (usize(distinct++) << 3), bits)
    }
    store<u16>(codes + (usize(r) << 1), u16(code))
  }
  if (distinct == 1) {
    store<u8>(codec, LABELS_CONSTANT)
    store<u64>(out, load<u64>(dictionary))
    return out + 8
  }
  if (distinct > 1) {
    store<u8>(codec, LABELS_CODED)
    store<u8>(out, u8(distinct - 1))
    return writeCodes(codes, rows, codeBits(distinct), dictionary + (usize(distinct) << 3))
  }
  store<u8>(codec, LABELS_RAW)
  for (let r: u32 = 0; r < rows; r++, out += 8) {
    store<u64>(out, load<u64>(column + (usize(load<u32>(list + (usize(r) << 2))) << 3)))
  }
  return out
}

export function encodeValues(state: usize, header: usize, out: usize): usize {
  const values = <usize>load<u32>(state, ENCODE_VALUES)
  const nonzeros = load<u32>(state, ENCODE_NONZEROS)
  const wide = load<u32>(<usize>load<u32>(state, ENCODE_BATCH), BATCH_VALUE_BYTES) == 8
  if (wide && !narrow(values, nonzeros)) {
    store<u8>(header, 8, SEGMENT_STORED_BYTES)
    return encodeAs<u64>(state, header, out)
  }
  store<u8>(header, 4, SEGMENT_STORED_BYTES)
  return encodeAs<u32>(state, header, out)
}

/** Turns f64 values into f32 in place when that loses nothing. */
function narrow(values: usize, count: u32): bool {
  for (let k: usize = 0; k < usize(count); k++) {
    const value = load<f64>(values + (k << 3))
    // A NaN never equals itself, so it stays wide and keeps its bits.
    if (f64(f32(value)) != value) return false
  }
  for (let k: usize = 0; k < usize(count); k++) store<f32>(values + (k << 2), f32(load<f64>(values + (k << 3))))
  return true
}

function encodeAs<T>(state: usize, header: usize, out: usize): usize {
  const values = <usize>load<u32>(state, ENCODE_VALUES)
  const n = load<u32>(state, ENCODE_NONZEROS)
  const raw = u64(n) * sizeof<T>()
  const end = values + usize(n) * sizeof<T>()
  let p = values + sizeof<T>()
  if (n > 0) while (p < end && load<T>(p) == load<T>(values)) p += sizeof<T>()
  if (p >= end) {
    store<u8>(header, VALUES_CONSTANT, SEGMENT_VALUE_CODEC)
    store<T>(out, n > 0 ? load<T>(values) : <T>0)
    return out + sizeof<T>()
  }
  const constant = rowConstants<T>(state, out)
  if (constant != 0) {
    store<u8>(header, VALUES_BY_ROW, SEGMENT_VALUE_CODEC)
    return constant
  }
  const few = segmentDictionary<T>(state, 1024, 256, out)
  if (few != 0 && codeBits(u32(load<u16>(out)) + 1) < 8) {
    store<u8>(header, VALUES_CODED, SEGMENT_VALUE_CODEC)
    return few
  }
  const byRow = rowDictionaries<T>(state, out)
  if (few != 0 && few <= byRow) {
    store<u8>(header, VALUES_CODED, SEGMENT_VALUE_CODEC)
    // The row dictionaries have been written over it.
    return segmentDictionary<T>(state, 1024, 256, out)
  }
  // A dictionary of thousands takes two bytes a value, and a look-up in a large table.
  if (u64(byRow - out) > u64(n) * 3) {
    const many = segmentDictionary<T>(state, ENCODE_HASH_SLOTS, ENCODE_MOST_CODES, out)
    if (many != 0) {
      store<u8>(header, VALUES_CODED, SEGMENT_VALUE_CODEC)
      return many
    }
    if (u64(byRow - out) >= raw) {
      store<u8>(header, VALUES_RAW, SEGMENT_VALUE_CODEC)
      memory.copy(out, values, usize(raw))
      return out + usize(raw)
    }
    // The attempt has written over the row dictionaries.
    rowDictionaries<T>(state, out)
  }
  store<u8>(header, VALUES_ROW_CODED, SEGMENT_VALUE_CODEC)
  return byRow
}

/** One value a row, which 0/1 data of unit length have: dictionary and a code for each row; 0 when rows have several
 *  values, or when there are more than 256. An empty row takes the code of the row before it. */
function rowConstants<T>(state: usize, out: usize): usize {
  const codes = <usize>load<u32>(state, ENCODE_CODES)
  const lengths = <usize>load<u32>(state, ENCODE_LENGTHS)
  const rows = load<u32>(state, ENCODE_ROWS)
  const most = min<u32>(256, load<u32>(state, ENCODE_NONZEROS) >> 1)
  let p = <usize>load<u32>(state, ENCODE_VALUES)
  newDictionary(state, 1024)
  const dictionary = out + 2
  let distinct: u32 = 0
  let code: u32 = 0
  for (let r: u32 = 0; r < rows; r++) {
    const n = load<u32>(lengths + (usize(r) << 2))
    if (n > 0) {
      const bits = load<T>(p)
      for (const stop = p + usize(n) * sizeof<T>(); p < stop; p += sizeof<T>()) if (load<T>(p) != bits) return 0
      code = codeOf(u64(bits), distinct)
      if (code == distinct) {
        if (distinct >= most) return 0
        store<T>(dictionary + usize(distinct++) * sizeof<T>(), bits)
      }
    }
    store<u16>(codes + (usize(r) << 1), u16(code))
  }
  store<u16>(out, u16(distinct - 1))
  return writeCodes(codes, rows, codeBits(distinct), dictionary + usize(distinct) * sizeof<T>())
}

/** Writes dictionary and codes; 0 when there are too many values for them to pay. */
function segmentDictionary<T>(state: usize, slots: u32, most: u32, out: usize): usize {
  const values = <usize>load<u32>(state, ENCODE_VALUES)
  const codes = <usize>load<u32>(state, ENCODE_CODES)
  const n = load<u32>(state, ENCODE_NONZEROS)
  most = min(most, n >> 2)
  newDictionary(state, slots)
  const dictionary = out + 2
  let distinct: u32 = 0
  for (let k: u32 = 0; k < n; k++) {
    const bits = load<T>(values + usize(k) * sizeof<T>())
    const code = codeOf(u64(bits), distinct)
    if (code == distinct) {
      // Real numbers hardly repeat, which the first thousand tell.
      if (distinct >= most || (k == 1024 && distinct > 768)) return 0
      store<T>(dictionary + usize(distinct++) * sizeof<T>(), bits)
    }
    store<u16>(codes + (usize(k) << 1), u16(code))
  }
  if (distinct == 0) return 0
  store<u16>(out, u16(distinct - 1))
  return writeCodes(codes, n, codeBits(distinct), dictionary + usize(distinct) * sizeof<T>())
}

/** A dictionary for each row that gains by one (at most 255 values), the other rows as they are. */
function rowDictionaries<T>(state: usize, out: usize): usize {
  const codes = <usize>load<u32>(state, ENCODE_CODES)
  const lengths = <usize>load<u32>(state, ENCODE_LENGTHS)
  const rows = load<u32>(state, ENCODE_ROWS)
  let value = <usize>load<u32>(state, ENCODE_VALUES)
  const sizes = out
  out += usize(rows)
  for (let r: u32 = 0; r < rows; r++) {
    const n = load<u32>(lengths + (usize(r) << 2))
    const bytes = usize(n) * sizeof<T>()
    const most = min<u32>(255, (n + 1) >> 1)
    newDictionary(state, 512)
    let distinct: u32 = 0
    let k: u32 = 0
    for (; k < n; k++) {
      const bits = load<T>(value + usize(k) * sizeof<T>())
      const code = codeOf(u64(bits), distinct)
      if (code == distinct) {
        if (distinct >= most || (distinct > 20 && distinct + 4 > k)) break
        store<T>(out + usize(distinct++) * sizeof<T>(), bits)
      }
      store<u16>(codes + (usize(k) << 1), u16(code))
    }
    const paid = k == n && usize(distinct) * sizeof<T>() + ((usize(n) * codeBits(distinct) + 7) >> 3) < bytes
    if (paid || n == 1) {
      // A row of one value is its own dictionary, as long as the value itself.
      store<u8>(sizes + usize(r), u8(distinct))
      out = writeCodes(codes, n, codeBits(distinct), out + usize(distinct) * sizeof<T>())
    } else {
      store<u8>(sizes + usize(r), 0)
      memory.copy(out, value, bytes)
      out += bytes
    }
    value += bytes
  }
  return out
}
