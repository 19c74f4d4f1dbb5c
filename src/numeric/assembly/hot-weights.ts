// The weights that several trainers touch most: each trainer has its own and merges them with the shared ones now and
// then. Additions to a shared weight get lost, and the trainers fight over its cache line. Frequent features are given
// the first numbers meanwhile, so that a comparison tells them from the others.
import { ROW_COUNT, ROW_ENTRIES } from '../layouts'
import { isDense } from './row'

/** Merges the first `count` weights of a trainer, which are at `own` and were as at `seen` when they were last merged. The
 *  lock is taken meanwhile. Whoever has it may have lost its core: false when it is not free, and the trainer goes on. */
export function mergeHotF64(w: usize, own: usize, seen: usize, count: u32, lock: usize): bool { return mergeHot<f64>(w, own, seen, count, lock) }
export function mergeHotF32(w: usize, own: usize, seen: usize, count: u32, lock: usize): bool { return mergeHot<f32>(w, own, seen, count, lock) }

@inline
function mergeHot<W>(w: usize, own: usize, seen: usize, count: u32, lock: usize): bool {
  if (atomic.xchg<u32>(lock, 1) != 0) return false
  for (let j: usize = 0; j < usize(count) * sizeof<W>(); j += sizeof<W>()) {
    const mine = load<W>(own + j)
    const before = load<W>(seen + j)
    const all = load<W>(w + j)
    if (mine == before && all == before) continue
    const sum = <W>(f64(all) + (f64(mine) - f64(before)))
    store<W>(w + j, sum)
    store<W>(own + j, sum)
    store<W>(seen + j, sum)
  }
  atomic.store<u32>(lock, 0)
  return true
}

/** Counts how often each feature occurs in every `step`-th row, into u32[]; the most entries of a dense row, whose features
 *  have the numbers of their places. */
export function countOccurrences(table: usize, rows: u32, step: u32, counts: usize): u32 {
  let dense: u32 = 0
  for (let r: u32 = 0; r < rows; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    if (isDense(row)) {
      dense = max(dense, n)
      continue
    }
    if (r % step != 0) continue
    let at = row + ROW_ENTRIES
    for (const end = at + (usize(n) << 2); at < end; at += 4) {
      const slot = counts + (usize(load<u32>(at)) << 2)
      store<u32>(slot, load<u32>(slot) + 1)
    }
  }
  return dense
}

/** Gives the entries of rows from..to other numbers. */
export function renumberEntries(numbers: usize, table: usize, from: u32, to: u32): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    if (isDense(row)) continue
    let at = row + ROW_ENTRIES
    for (const end = at + (usize(load<u32>(row, ROW_COUNT)) << 2); at < end; at += 4) {
      store<u32>(at, load<u32>(numbers + (usize(load<u32>(at)) << 2)))
    }
  }
}

/** Puts weights where their features' other numbers say. `scratch` is room for them all. */
export function renumberWeightsF64(numbers: usize, count: u32, w: usize, scratch: usize): void { renumberWeights<f64>(numbers, count, w, scratch) }
export function renumberWeightsF32(numbers: usize, count: u32, w: usize, scratch: usize): void { renumberWeights<f32>(numbers, count, w, scratch) }

@inline
function renumberWeights<W>(numbers: usize, count: u32, w: usize, scratch: usize): void {
  for (let j: u32 = 0; j < count; j++) {
    store<W>(scratch + usize(load<u32>(numbers + (usize(j) << 2))) * sizeof<W>(), load<W>(w + usize(j) * sizeof<W>()))
  }
  memory.copy(w, scratch, usize(count) * sizeof<W>())
}

/** The numbers that lead back. */
export function invertNumbers(numbers: usize, count: u32, inverse: usize): void {
  for (let j: u32 = 0; j < count; j++) store<u32>(inverse + (usize(load<u32>(numbers + (usize(j) << 2))) << 2), j)
}
