// What the expansions share: rows of the batch `from` become rows of the batch `to`, until that is full.
import {
  BATCH_FEATURES, BATCH_LABEL_AT, BATCH_LABELS, BATCH_NONZERO_CAPACITY, BATCH_NONZEROS, BATCH_ROW_CAPACITY, BATCH_ROWS,
  BATCH_STARTS, BATCH_VALUE_BYTES, EXPAND_ERROR, EXPAND_ERROR_LENGTH, EXPAND_MOST_ENTRIES, EXPAND_NEEDED,
  EXPAND_ROW,
} from '../layouts'

/** Feature numbers stop short of it: the largest u32 means that a feature is unknown, and the number of features is a u32. */
export const MOST_FEATURES: u64 = 0xfffffffe

/** Whether a row that may become so many entries fits behind `entries` others; if not, the state says why. */
@inline
export function fits(state: usize, to: usize, rows: u32, entries: u32, most: u64): bool {
  if (rows >= load<u32>(to, BATCH_ROW_CAPACITY)) return false
  if (u64(entries) + most <= u64(load<u32>(to, BATCH_NONZERO_CAPACITY))) return true
  if (most > u64(EXPAND_MOST_ENTRIES)) store<u32>(state, EXPAND_ERROR_LENGTH, EXPAND_ERROR)
  else if (rows == 0) store<u32>(state, u32(most), EXPAND_NEEDED)
  return false
}

/** The account of what was written: `rows` rows, the first of them from row `first`. Labels stay where they are. */
@inline
export function finish(state: usize, from: usize, to: usize, first: u32, rows: u32, entries: u32, valueBytes: u32): void {
  store<u32>(<usize>load<u32>(to, BATCH_STARTS) + (usize(rows) << 2), entries)
  store<u32>(to, rows, BATCH_ROWS)
  store<u32>(to, entries, BATCH_NONZEROS)
  store<u32>(to, 0, BATCH_FEATURES)
  store<u32>(to, valueBytes, BATCH_VALUE_BYTES)
  store<u32>(to, load<u32>(from, BATCH_LABELS) + (first << 3), BATCH_LABELS)
  store<u32>(to, load<u32>(from, BATCH_LABEL_AT) + (first << 2), BATCH_LABEL_AT)
  store<u32>(state, first + rows, EXPAND_ROW)
}
