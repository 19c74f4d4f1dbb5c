// A batch to row records: each row takes the smallest of the layouts of layouts.ts that holds it exactly.
import {
  BATCH_INDICES, BATCH_NONZEROS, BATCH_ROWS, BATCH_STARTS, BATCH_VALUE_BYTES, BATCH_VALUES, PACK_CLASSES, PACK_END, PACK_FIXED,
  PACK_BINS, PACK_HASH, PACK_HASH_SLOTS, PACK_NEXT, PACK_PLAIN, PACK_ROWS, PACK_TABLE, PACK_UNIT, PACK_WRITTEN, ROW_CLASS,
  ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32,
  ROW_KIND_F64, ROW_SCALE,
} from '../layouts'
import { packBins } from './bin-rows'
import { allocate } from './memory'
import { finishRow, wideValues } from './row'

const EXTENT: u32 = 1 << 21
const MOST_CODES: u32 = 256
/** Below so many entries a dictionary of a row's own saves nothing. */
const LEAST_FOR_OWN_DICTIONARY: u32 = 24

// --- A set of f32 bit patterns with their codes: PACK_HASH_SLOTS slots of {u32 bits, u16 code, u16 generation}.
// A generation number empties it without clearing; generation 0 means never used.
let generation: u32 = 0

function newGeneration(hash: usize): void {
  generation = (generation + 1) & 0xffff
  if (generation == 0) {
    memory.fill(hash, 0, PACK_HASH_SLOTS * 8)
    generation = 1
  }
}

/** Code of a value, or `next` after entering it under that code. */
@inline
function codeOf(hash: usize, bits: u32, next: u32): u32 {
  let slot = (bits * 0x9e3779b1) >> 22
  while (true) {
    const at = hash + (usize(slot) << 3)
    if (<u32>load<u16>(at, 6) != generation) {
      store<u32>(at, bits)
      store<u16>(at, u16(next), 4)
      store<u16>(at, u16(generation), 6)
      return next
    }
    if (load<u32>(at) == bits) return load<u16>(at, 4)
    slot = (slot + 1) & (PACK_HASH_SLOTS - 1)
  }
}

/** Room for one record in this thread's extent; 0 when the window is full. */
@inline
function reserve(state: usize, bytes: u32): usize {
  const next = load<u32>(state, PACK_NEXT)
  if (u64(next) + bytes <= u64(load<u32>(state, PACK_END)) && next != 0) return next
  if (load<u32>(state, PACK_FIXED) != 0) return 0
  const size = max(EXTENT, bytes)
  const extent = allocate(size)
  if (extent == 0) return 0
  store<u32>(state, u32(extent), PACK_NEXT)
  store<u32>(state, u32(extent) + size, PACK_END)
  return extent
}

/** Copies words. Rows are short, and a call for each would take longer than this. Up to 12 bytes behind them are written as well:
 *  what was asked for has room for that. */
@inline
function copyWords(to: usize, from: usize, bytes: usize): void {
  for (let k: usize = 0; k < bytes; k += 16) v128.store(to + k, v128.load(from + k))
}

/** Packs the batch's rows from PACK_ROWS on; false when the window is full. */
export function packBatch(state: usize, batch: usize): bool {
  const rows = load<u32>(batch, BATCH_ROWS)
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const wide = load<u32>(batch, BATCH_VALUE_BYTES) == 8
  const table = <usize>load<u32>(state, PACK_TABLE)
  const classes = <usize>load<u32>(state, PACK_CLASSES)
  const unit = load<u32>(state, PACK_UNIT) != 0
  const plain = load<u32>(state, PACK_PLAIN) == 1
  const dictionaries = load<u32>(state, PACK_PLAIN) == 0
  const bins = load<u32>(state, PACK_BINS)
  const hash = <usize>load<u32>(state, PACK_HASH)
  let written = load<u32>(state, PACK_WRITTEN)
  const shared: usize = wide || !dictionaries || bins != 0 ? 0 : sharedDictionary(state, batch)

  for (let r: u32 = 0; r < rows; r++) {
    const from = load<u32>(starts + (usize(r) << 2))
    const n = load<u32>(starts + (usize(r) << 2), 4) - from
    const index = indices + (usize(from) << 2)
    const value = values + usize(from) * (wide ? 8 : 4)
    const length = n > 0 ? load<u32>(index + (usize(n - 1) << 2)) + 1 : 0
    const constant = !wide && !plain && bins == 0 && isConstant(value, n)
    const dense = !wide && !constant && bins == 0 && n * 2 > length
    // Of the sparse layouts the widest decides the room asked for; what a narrower one leaves goes to the next row.
    // A dictionary of the row's own is at most half as long as the row, so it stays within the same bound.
    const row = reserve(state, u32(ROW_ENTRIES) + (bins != 0 ? n * (length <= 65536 ? 4 : 6) : wide ? n * 12 : constant ? n * 4 : dense ? length * 4 : n * 8) + 16)
    if (row == 0) return false
    const entries = row + ROW_ENTRIES
    let end = entries
    let kind: u32
    let scale: f64 = 1
    if (bins != 0) {
      end = packBins(row, index, value, n, wide, bins)
      kind = load<u32>(row, ROW_KIND)
    } else if (wide) {
      kind = ROW_KIND_F64
      copyWords(entries, index, usize(n) << 2)
      const v = wideValues(entries, n)
      copyWords(v, value, usize(n) << 3)
      end = v + (usize(n) << 3)
    } else if (constant) {
      kind = ROW_KIND_CONSTANT
      scale = n > 0 ? f64(load<f32>(value)) : 1
      copyWords(entries, index, usize(n) << 2)
      end = entries + (usize(n) << 2)
    } else if (dense) {
      kind = ROW_KIND_DENSE
      memory.fill(entries, 0, usize(length) << 2)
      for (let k: usize = 0; k < usize(n); k++) {
        store<f32>(entries + (usize(load<u32>(index + (k << 2))) << 2), load<f32>(value + (k << 2)))
      }
      end = entries + (usize(length) << 2)
    } else {
      copyWords(entries, index, usize(n) << 2)
      const after = entries + (usize(n) << 2)
      kind = ROW_KIND_F32
      if (shared != 0) {
        kind = ROW_KIND_CODED
        for (let k: usize = 0; k < usize(n); k++) store<u8>(after + k, u8(codeOf(hash, load<u32>(value + (k << 2)), 0)))
        store<u32>(row, u32(shared), ROW_DICTIONARY)
        end = after + usize(n)
      } else if (dictionaries && n >= LEAST_FOR_OWN_DICTIONARY) {
        const distinct = ownDictionary(hash, value, n, after)
        if (distinct > 0) {
          kind = ROW_KIND_CODED
          const dictionary = (after + usize(n) + 3) & ~3
          store<u32>(row, u32(dictionary), ROW_DICTIONARY)
          // Codes were given in order of appearance, so the dictionary fills in the same order.
          let seen: u32 = 0
          for (let k: usize = 0; k < usize(n) && seen < distinct; k++) {
            if (<u32>load<u8>(after + k) == seen) {
              store<f32>(dictionary + (usize(seen) << 2), load<f32>(value + (k << 2)))
              seen++
            }
          }
          end = dictionary + (usize(distinct) << 2)
        }
      }
      if (kind == ROW_KIND_F32) {
        copyWords(after, value, usize(n) << 2)
        end = after + (usize(n) << 2)
      }
    }
    if (bins == 0) store<u32>(row, kind == ROW_KIND_DENSE ? length : n, ROW_COUNT)
    store<u32>(row, kind, ROW_KIND)
    store<f64>(row, scale, ROW_SCALE)
    store<u32>(row, load<u32>(classes + (usize(r) << 2)), ROW_CLASS)
    finishRow(row, unit)
    const next = (u32(end) + 7) & ~7
    written += next - u32(row)
    store<u32>(state, next, PACK_NEXT)
    store<u32>(table + (usize(load<u32>(state, PACK_ROWS)) << 2), u32(row))
    store<u32>(state, load<u32>(state, PACK_ROWS) + 1, PACK_ROWS)
  }
  store<u32>(state, written, PACK_WRITTEN)
  return true
}

@inline
function isConstant(value: usize, n: u32): bool {
  if (n == 0) return true
  const first = load<u32>(value)
  for (let k: u32 = 1; k < n; k++) if (load<u32>(value + (usize(k) << 2)) != first) return false
  return true
}

/** A dictionary for the whole batch in the arena, when its values are few; its codes stay in the hash. 0 otherwise. */
function sharedDictionary(state: usize, batch: usize): usize {
  const hash = <usize>load<u32>(state, PACK_HASH)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const n = load<u32>(batch, BATCH_NONZEROS)
  newGeneration(hash)
  let distinct: u32 = 0
  for (let k: u32 = 0; k < n; k++) {
    if (codeOf(hash, load<u32>(values + (usize(k) << 2)), distinct) == distinct && ++distinct > MOST_CODES) return 0
  }
  // Constant rows need no dictionary, and few rows do not pay for one.
  if (distinct < 2 || n < 1024) return 0
  const at = reserve(state, MOST_CODES * 4)
  if (at == 0) return 0
  for (let slot: u32 = 0; slot < u32(PACK_HASH_SLOTS); slot++) {
    const entry = hash + (usize(slot) << 3)
    if (<u32>load<u16>(entry, 6) == generation) store<u32>(at + (usize(load<u16>(entry, 4)) << 2), load<u32>(entry))
  }
  store<u32>(state, u32(at) + ((distinct * 4 + 7) & ~7), PACK_NEXT)
  return at
}

/** Writes the codes of a row's values; how many distinct there are, or 0 when a dictionary would not pay. */
@inline
function ownDictionary(hash: usize, value: usize, n: u32, codes: usize): u32 {
  newGeneration(hash)
  const most = min(n >> 1, MOST_CODES)
  let distinct: u32 = 0
  for (let k: u32 = 0; k < n; k++) {
    const code = codeOf(hash, load<u32>(value + (usize(k) << 2)), distinct)
    // Data of real numbers shows itself in the first few values.
    if (code == distinct && (++distinct > most || (k < 64 && distinct > 20 && distinct > k - 4))) return 0
    store<u8>(codes + usize(k), u8(code))
  }
  return distinct
}

/** What a sweep over these rows counts as its work: entries, and four for each visit. */
export function workOf(table: usize, rows: u32): f64 {
  let work: f64 = 0
  for (let r: u32 = 0; r < rows; r++) work += f64(load<u32>(<usize>load<u32>(table + (usize(r) << 2)), ROW_COUNT)) + 4
  return work
}

/** Rewrites the class numbers of rows by a map from a chunk's numbers to the data's. */
export function relabelRows(table: usize, rows: u32, map: usize): void {
  for (let r: u32 = 0; r < rows; r++) {
    const at = <usize>load<u32>(table + (usize(r) << 2)) + ROW_CLASS
    store<u32>(at, load<u32>(map + (usize(load<u32>(at)) << 2)))
  }
}
