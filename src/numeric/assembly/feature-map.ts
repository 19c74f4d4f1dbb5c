// A map from the features that occur to 0, 1, 2, …: a bitmap in pages that exist only where features do, with counts of
// the bits before each word. Feature numbers may be as large as 2^32 − 2 while few of them occur.
//
// The top table is u32[65536], the addresses of pages (0: none). A page covers 65536 features: 1024 words of bits, then
// 1024 u32 with the number of features before each word.
import {
  BATCH_INDICES, BATCH_NONZEROS, ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_DENSE,
} from '../layouts'
import { allocate } from './memory'

const PAGE_BITS: usize = 8192
const PAGE_BYTES: u32 = 12288
const ABSENT: u32 = 0xffffffff

/** Enters a feature; false when there is no room for another page. */
// @ts-ignore: decorator
@inline
function enter(top: usize, feature: u32): bool {
  const slot = top + (usize(feature >> 16) << 2)
  let page = <usize>load<u32>(slot)
  if (page == 0) {
    page = allocate(PAGE_BYTES)
    if (page == 0) return false
    memory.fill(page, 0, PAGE_BYTES)
    store<u32>(slot, u32(page))
  }
  const word = page + (usize((feature >> 6) & 1023) << 3)
  store<u64>(word, load<u64>(word) | (u64(1) << u64(feature & 63)))
  return true
}

export function enterFeatures(top: usize, features: usize, count: u32): bool {
  for (let k: u32 = 0; k < count; k++) if (!enter(top, load<u32>(features + (usize(k) << 2)))) return false
  return true
}

/** Enters every feature of rows from..to. A dense row has all features up to its length, so they keep their numbers. */
export function enterRows(top: usize, table: usize, from: u32, to: u32): bool {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const dense = load<u32>(row, ROW_KIND) == ROW_KIND_DENSE
    const entries = row + ROW_ENTRIES
    for (let k: u32 = 0; k < n; k++) {
      if (!enter(top, dense ? k : load<u32>(entries + (usize(k) << 2)))) return false
    }
  }
  return true
}

/** Counts the features before every word; the number of features in all. */
export function finishMap(top: usize): u32 {
  let before: u32 = 0
  for (let p: usize = 0; p < 65536; p++) {
    const page = <usize>load<u32>(top + (p << 2))
    if (page == 0) continue
    for (let k: usize = 0; k < 1024; k++) {
      store<u32>(page + PAGE_BITS + (k << 2), before)
      before += u32(popcnt(load<u64>(page + (k << 3))))
    }
  }
  return before
}

/** The features in rising order, u32 each. */
export function listFeatures(top: usize, out: usize): void {
  for (let p: usize = 0; p < 65536; p++) {
    const page = <usize>load<u32>(top + (p << 2))
    if (page == 0) continue
    for (let k: usize = 0; k < 1024; k++) {
      for (let word = load<u64>(page + (k << 3)); word != 0; word &= word - 1) {
        store<u32>(out, (u32(p) << 16) | (u32(k) << 6) | u32(ctz(word)))
        out += 4
      }
    }
  }
}

// @ts-ignore: decorator
@inline
function lookup(top: usize, feature: u32): u32 {
  const page = <usize>load<u32>(top + (usize(feature >> 16) << 2))
  if (page == 0) return ABSENT
  const k = usize((feature >> 6) & 1023)
  const word = load<u64>(page + (k << 3))
  const bit = u64(feature & 63)
  if (((word >> bit) & 1) == 0) return ABSENT
  return load<u32>(page + PAGE_BITS + (k << 2)) + u32(popcnt(word & ((u64(1) << bit) - 1)))
}

/** Renumbers the entries of rows from..to. Dense rows keep theirs: see enterRows. */
export function renumberRows(top: usize, table: usize, from: u32, to: u32): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    if (load<u32>(row, ROW_KIND) == ROW_KIND_DENSE) continue
    let at = row + ROW_ENTRIES
    for (const end = at + (usize(load<u32>(row, ROW_COUNT)) << 2); at < end; at += 4) {
      store<u32>(at, lookup(top, load<u32>(at)))
    }
  }
}

/** Renumbers a batch; a feature that the map does not know becomes 2^32 − 1, beyond every model. */
export function renumberBatch(top: usize, batch: usize): void {
  let at = <usize>load<u32>(batch, BATCH_INDICES)
  for (const end = at + (usize(load<u32>(batch, BATCH_NONZEROS)) << 2); at < end; at += 4) {
    store<u32>(at, lookup(top, load<u32>(at)))
  }
}
