// A map from the features that occur to 0, 1, 2, …: a bitmap in pages that exist only where features do, with counts of
// the bits before each word. Feature numbers may be as large as 2^32 − 2 while few of them occur.
//
// The top table is u32[65536], the addresses of pages (0: none). A page covers 65536 features: 1024 words of bits, then
// 1024 u32 with the number of features before each word.
import {
  BATCH_INDICES, BATCH_NONZEROS, ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_BINS8,
} from '../layouts'
import { PAGE_BEFORE, PAGE_BITS, PAGE_BYTES, TOP_ENTRIES, TOP_LEFT } from '../feature-map-layout'
import { allocate } from './memory'
import { hasWideBins } from './binned-row'
import { isDense, isShort } from './row'

const ABSENT: u32 = 0xffffffff

/** Enters a feature; false when there is no room for another page. */
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

/** Enters every feature of a batch. The u32 behind the top table is how many pages may still be taken. */
export function enterBatch(top: usize, batch: usize): bool {
  let at = <usize>load<u32>(batch, BATCH_INDICES)
  for (const end = at + (usize(load<u32>(batch, BATCH_NONZEROS)) << 2); at < end; at += 4) {
    const feature = load<u32>(at)
    if (load<u32>(top + (usize(feature >> 16) << 2)) == 0) {
      const left = load<u32>(top, TOP_LEFT)
      if (left == 0) return false
      store<u32>(top, left - 1, TOP_LEFT)
    }
    if (!enter(top, feature)) return false
  }
  return true
}

/** Enters every feature of rows from..to. A dense row enters all features up to its length, so they keep their numbers;
 *  the longest such length is left at `longestDense` (u32). */
export function enterRows(top: usize, table: usize, from: u32, to: u32, longestDense: usize): bool {
  let longest: u32 = 0
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const dense = isDense(row)
    if (dense) {
      // What a longer dense row entered need not be entered again.
      if (n > longest) {
        for (let k = longest; k < n; k++) if (!enter(top, k)) return false
        longest = n
      }
      continue
    }
    const entries = row + ROW_ENTRIES
    const short = isShort(row)
    for (let k: usize = 0; k < usize(n); k++) {
      if (!enter(top, short ? u32(load<u16>(entries + (k << 1))) : load<u32>(entries + (k << 2)))) return false
    }
  }
  store<u32>(longestDense, longest)
  return true
}

/** Counts the features before every word; the number of features in all. */
export function finishMap(top: usize): u32 {
  let before: u32 = 0
  for (let p: usize = 0; p < usize(TOP_ENTRIES); p++) {
    const page = <usize>load<u32>(top + (p << 2))
    if (page == 0) continue
    for (let k: usize = 0; k < 1024; k++) {
      store<u32>(page + PAGE_BEFORE + (k << 2), before)
      before += u32(popcnt(load<u64>(page + (k << 3))))
    }
  }
  return before
}

/** The features in rising order, u32 each. */
export function listFeatures(top: usize, out: usize): void {
  for (let p: usize = 0; p < usize(TOP_ENTRIES); p++) {
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

@inline
export function lookup(top: usize, feature: u32): u32 {
  const page = <usize>load<u32>(top + (usize(feature >> 16) << 2))
  if (page == 0) return ABSENT
  const k = usize((feature >> 6) & 1023)
  const word = load<u64>(page + (k << 3))
  const bit = u64(feature & 63)
  if (((word >> bit) & 1) == 0) return ABSENT
  return load<u32>(page + PAGE_BEFORE + (k << 2)) + u32(popcnt(word & ((u64(1) << bit) - 1)))
}

/** Counts how often each mapped feature occurs in every `step`-th row, into u32[]; without a map, by the features' own numbers. */
export function countFeatures(top: usize, table: usize, rows: u32, step: u32, counts: usize): void {
  for (let r: u32 = 0; r < rows; r += step) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    if (isDense(row) || isShort(row)) continue
    let at = row + ROW_ENTRIES
    for (const end = at + (usize(load<u32>(row, ROW_COUNT)) << 2); at < end; at += 4) {
      const feature = load<u32>(at)
      const slot = counts + (usize(top == 0 ? feature : lookup(top, feature)) << 2)
      store<u32>(slot, load<u32>(slot) + 1)
    }
  }
}

/** The numbers of mapped features, which `features` lists, out of those of all features: u32 each. */
export function pickPlaces(all: usize, features: usize, count: u32, picked: usize): void {
  for (let k: usize = 0; k < usize(count); k++) {
    store<u32>(picked + (k << 2), load<u32>(all + (usize(load<u32>(features + (k << 2))) << 2)))
  }
}

/** Numbers by frequency: `counts` becomes, for each mapped feature, its place when features are sorted by the binary
 *  order of magnitude of their count, frequent ones first, ties in rising order. The first `fixed` keep their place.
 *  `scratch` is room for 33 u32. */
export function orderByFrequency(counts: usize, features: u32, fixed: u32, scratch: usize): void {
  memory.fill(scratch, 0, 33 * 4)
  for (let j = fixed; j < features; j++) {
    const slot = scratch + (usize(clz(load<u32>(counts + (usize(j) << 2)))) << 2)
    store<u32>(slot, load<u32>(slot) + 1)
  }
  // Few leading zeros mean a large count: the slots are in the order wanted, and become the first place of each.
  let next = fixed
  for (let k: usize = 0; k < 33; k++) {
    const size = load<u32>(scratch + (k << 2))
    store<u32>(scratch + (k << 2), next)
    next += size
  }
  for (let j: u32 = 0; j < fixed; j++) store<u32>(counts + (usize(j) << 2), j)
  for (let j = fixed; j < features; j++) {
    const at = counts + (usize(j) << 2)
    const slot = scratch + (usize(clz(load<u32>(at))) << 2)
    const place = load<u32>(slot)
    store<u32>(slot, place + 1)
    store<u32>(at, place)
  }
}

/** Makes places of mapped features, which `features` lists, those of all features: u32 by feature. Others have none. */
export function spreadPlaces(features: usize, places: usize, count: u32, all: usize): void {
  for (let k: usize = 0; k < usize(count); k++) {
    store<u32>(all + (usize(load<u32>(features + (k << 2))) << 2), load<u32>(places + (k << 2)))
  }
}

/** Renumbers the entries of rows from..to: first by the map, then by `places` (u32 a feature); without a map, by the places of all
 *  features. Dense rows keep their numbers: see enterRows. Rows of u16 indices get new records with u32 ones: how many did, or −1 when there is no room for those. */
export function renumberRows(top: usize, places: usize, table: usize, from: u32, to: u32): i32 {
  let renewed = 0
  for (let r = from; r < to; r++) {
    let row = <usize>load<u32>(table + (usize(r) << 2))
    if (isDense(row)) continue
    if (isShort(row)) {
      row = lengthened(row)
      if (row == 0) return -1
      store<u32>(table + (usize(r) << 2), u32(row))
      renewed++
    }
    let at = row + ROW_ENTRIES
    const end = at + (usize(load<u32>(row, ROW_COUNT)) << 2)
    if (top == 0) {
      for (; at < end; at += 4) store<u32>(at, load<u32>(places + (usize(load<u32>(at)) << 2)))
    } else for (; at < end; at += 4) {
      store<u32>(at, load<u32>(places + (usize(lookup(top, load<u32>(at))) << 2)))
    }
  }
  return renewed
}

/** A copy of a row of bins with u32 indices in place of u16 ones; 0 when there is no room. Some rows of data with many features
 *  may have small numbers only. */
function lengthened(row: usize): usize {
  const n = usize(load<u32>(row, ROW_COUNT))
  const wide = hasWideBins(load<u32>(row, ROW_KIND))
  const bins = n << usize(wide)
  const copy = allocate(u32(usize(ROW_ENTRIES) + (n << 2) + bins))
  if (copy == 0) return 0
  memory.copy(copy, row, ROW_ENTRIES)
  store<u32>(copy, ROW_KIND_BINS8 + u32(wide), ROW_KIND)
  for (let k: usize = 0; k < n; k++) store<u32>(copy + ROW_ENTRIES + (k << 2), u32(load<u16>(row + ROW_ENTRIES + (k << 1))))
  memory.copy(copy + ROW_ENTRIES + (n << 2), row + ROW_ENTRIES + (n << 1), bins)
  return copy
}

/** Enters all of another map's features. */
export function mergeMap(top: usize, other: usize): void {
  for (let p: usize = 0; p < usize(TOP_ENTRIES); p++) {
    const from = <usize>load<u32>(other + (p << 2))
    if (from == 0) continue
    const slot = top + (p << 2)
    const to = <usize>load<u32>(slot)
    if (to == 0) store<u32>(slot, u32(from))
    else for (let k: usize = 0; k < usize(PAGE_BITS); k += 8) store<u64>(to + k, load<u64>(to + k) | load<u64>(from + k))
  }
}

/** Renumbers a batch; a feature that the map does not know becomes 2^32 − 1, beyond every model. */
export function renumberBatch(top: usize, batch: usize): void {
  let at = <usize>load<u32>(batch, BATCH_INDICES)
  for (const end = at + (usize(load<u32>(batch, BATCH_NONZEROS)) << 2); at < end; at += 4) {
    store<u32>(at, lookup(top, load<u32>(at)))
  }
}
