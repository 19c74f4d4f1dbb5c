// Feature hashing: a feature's number is mixed, the lowest bits are its new number and the highest bit its sign. Features of
// a row that meet are added up. Of 64 bits, all arithmetic modulo 2^64:
//
//   h = number + P5;  h = (h ^ h>>33)·P2;  h = (h ^ h>>29)·P3;  h = h ^ h>>32        the last steps of XXH64
import {
  BATCH_INDICES, BATCH_NONZERO_CAPACITY, BATCH_ROWS, BATCH_STARTS, BATCH_UPPER, BATCH_VALUE_BYTES, BATCH_VALUES, EXPAND_BITS,
  EXPAND_ROW, EXPAND_SCRATCH, EXPAND_SCRATCH_BYTES,
} from '../layouts'
import { finish, fits } from './expand-rows'

const P2: u64 = 0xc2b2ae3d27d4eb4f, P3: u64 = 0x165667b19e3779f9, P5: u64 = 0x27d4eb2f165667c5
/** Up to so many entries are sorted by insertion. */
const FEW: u32 = 40
/** From so many on, a digit of 11 bits pays for its 2048 counters. */
const MANY: u32 = 1500

@inline
function mix(number: u64): u64 {
  let h = number + P5
  h = (h ^ (h >> 33)) * P2
  h = (h ^ (h >> 29)) * P3
  return h ^ (h >> 32)
}

/** Where features fall (u32 each), the signs left aside. */
export function hashFeatures(features: usize, count: u32, bits: u32, out: usize): void {
  const mask = (u32(1) << bits) - 1
  for (let k: usize = 0; k < usize(count) << 2; k += 4) store<u32>(out + k, u32(mix(u64(load<u32>(features + k)))) & mask)
}

/** Sorts keys by their upper halves, of which `bits` count; equal ones keep their order. Where they end up. */
@inline
function sortKeys(keys: usize, other: usize, counts: usize, n: u32, bits: u32): usize {
  if (n <= FEW) {
    for (let k: usize = 8; k < usize(n) << 3; k += 8) {
      const key = load<u64>(keys + k)
      let at = k
      for (; at > 0 && load<u64>(keys + at - 8) >> 32 > key >> 32; at -= 8) store<u64>(keys + at, load<u64>(keys + at - 8))
      store<u64>(keys + at, key)
    }
    return keys
  }
  const digit: u32 = n < MANY ? 8 : 11
  const mask = (u64(1) << digit) - 1
  for (let shift: u64 = 32; shift < u64(32 + bits); shift += u64(digit)) {
    memory.fill(counts, 0, usize(4) << digit)
    for (let at = keys; at < keys + (usize(n) << 3); at += 8) {
      const slot = counts + (usize((load<u64>(at) >> shift) & mask) << 2)
      store<u32>(slot, load<u32>(slot) + 1)
    }
    let next = u32(other)
    for (let slot = counts; slot < counts + (usize(4) << digit); slot += 4) {
      const size = load<u32>(slot)
      store<u32>(slot, next)
      next += size << 3
    }
    for (let at = keys; at < keys + (usize(n) << 3); at += 8) {
      const key = load<u64>(at)
      const slot = counts + (usize((key >> shift) & mask) << 2)
      const place = load<u32>(slot)
      store<u64>(<usize>place, key)
      store<u32>(slot, place + 8)
    }
    const sorted = other
    other = keys
    keys = sorted
  }
  return keys
}

export function expandHash(state: usize, from: usize, to: usize): void {
  if (load<u32>(from, BATCH_VALUE_BYTES) == 8) expand<f64>(state, from, to)
  else expand<f32>(state, from, to)
}

@inline
function expand<V>(state: usize, from: usize, to: usize): void {
  const bits = load<u32>(state, EXPAND_BITS)
  const mask = (u64(1) << u64(bits)) - 1
  const counts = <usize>load<u32>(state, EXPAND_SCRATCH)
  const firstKeys = counts + EXPAND_SCRATCH_BYTES
  const otherKeys = firstKeys + (usize(load<u32>(to, BATCH_NONZERO_CAPACITY)) << 3)
  const rows = load<u32>(from, BATCH_ROWS)
  const starts = <usize>load<u32>(from, BATCH_STARTS)
  const indices = <usize>load<u32>(from, BATCH_INDICES)
  const upper = <usize>load<u32>(from, BATCH_UPPER)
  const values = <usize>load<u32>(from, BATCH_VALUES)
  const outStarts = <usize>load<u32>(to, BATCH_STARTS)
  const outIndices = <usize>load<u32>(to, BATCH_INDICES)
  const outValues = <usize>load<u32>(to, BATCH_VALUES)
  const first = load<u32>(state, EXPAND_ROW)
  let count: u32 = 0
  let entries: u32 = 0

  for (; first + count < rows; count++) {
    const start = load<u32>(starts + (usize(first + count) << 2))
    const n = load<u32>(starts + (usize(first + count) << 2), 4) - start
    if (!fits(state, to, count, entries, u64(n))) break
    store<u32>(outStarts + (usize(count) << 2), entries)
    const index = indices + (usize(start) << 2)
    const high = upper + (usize(start) << 2)
    const value = values + usize(start) * sizeof<V>()
    // A key is the new number, the sign and the entry it belongs to.
    for (let k: u32 = 0; k < n; k++) {
      let number = u64(load<u32>(index + (usize(k) << 2)))
      if (upper != 0) number |= u64(load<u32>(high + (usize(k) << 2))) << 32
      const h = mix(number)
      store<u64>(firstKeys + (usize(k) << 3), ((h & mask) << 32) | ((h >> 63) << 31) | u64(k))
    }
    const keys = sortKeys(firstKeys, otherKeys, counts, n, bits)
    for (let k: u32 = 0; k < n; ) {
      const bucket = u32(load<u64>(keys + (usize(k) << 3)) >> 32)
      let sum: f64 = 0
      do {
        const key = u32(load<u64>(keys + (usize(k) << 3)))
        const x = f64(load<V>(value + usize(key & 0x7fffffff) * sizeof<V>()))
        // A sign is as likely one as the other: no branch guesses it.
        sum += reinterpret<f64>(reinterpret<u64>(x) ^ (u64(key >> 31) << 63))
        k++
      } while (k < n && u32(load<u64>(keys + (usize(k) << 3)) >> 32) == bucket)
      // Those that cancel out leave no entry; a sum beyond the largest number stays there.
      let kept = <V>sum
      if (!(abs(kept) < <V>Infinity)) kept = sum > 0 ? (sizeof<V>() == 4 ? <V>f32.MAX_VALUE : <V>f64.MAX_VALUE) : (sizeof<V>() == 4 ? <V>-f32.MAX_VALUE : <V>-f64.MAX_VALUE)
      if (kept == 0) continue
      store<u32>(outIndices + (usize(entries) << 2), bucket)
      store<V>(outValues + usize(entries) * sizeof<V>(), kept)
      entries++
    }
  }
  finish(state, from, to, first, count, entries, sizeof<V>())
}
