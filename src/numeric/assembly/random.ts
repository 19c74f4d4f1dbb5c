// Seeded pseudo-random numbers: splitmix64 steps over a 64-bit state in memory.
import { swap } from './order'

@inline
export function mix(value: u64): u64 {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb
  return value ^ (value >> 31)
}

@inline
export function nextRandom(state: usize): u64 {
  const s = load<u64>(state) + 0x9e3779b97f4a7c15
  store<u64>(state, s)
  return mix(s)
}

/** A number from 0 up to but not including bound. The bias of the multiplication is below 2^-32. */
@inline
export function randomBelow(state: usize, bound: u32): u32 {
  return u32(((nextRandom(state) >> 32) * u64(bound)) >> 32)
}

/** Fisher and Yates' shuffle of count u32 numbers. */
export function shuffle(array: usize, count: u32, state: usize): void {
  for (let i = count; i > 1; i--) {
    swap(array, i - 1, randomBelow(state, i))
  }
}

/** Writes 0, 1, 2, … */
export function iota(array: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) store<u32>(array + (usize(i) << 2), i)
}

/** So many numbers make a piece, and so many a group of pieces, as powers of two. 64 short rows are two pages of memory; 2,048 fit
 *  in the second cache. */
const PIECE: u32 = 6
const GROUP: u32 = 11

/** Shuffles count different u32 numbers below `bound` so that near ones meet near in time. The numbers are sorted and cut into
 *  pieces; the pieces are shuffled, and then the numbers of each group of pieces. `marks` has a bit for each number below `bound`. */
export function shuffleNear(array: usize, count: u32, bound: u32, marks: usize, state: usize): void {
  sortByMarks(array, count, bound, marks)
  for (let k = count >> PIECE; k > 1; k--) {
    let a = array + (usize(k - 1) << (PIECE + 2))
    let b = array + (usize(randomBelow(state, k)) << (PIECE + 2))
    for (const end = a + (usize(1) << (PIECE + 2)); a < end; a += 16, b += 16) {
      const x = v128.load(a)
      v128.store(a, v128.load(b))
      v128.store(b, x)
    }
  }
  for (let from: u32 = 0; from < count; from += 1 << GROUP) shuffle(array + (usize(from) << 2), min(count - from, 1 << GROUP), state)
}

@inline
function sortByMarks(array: usize, count: u32, bound: u32, marks: usize): void {
  const bytes = usize((bound + 63) >> 6) << 3
  memory.fill(marks, 0, bytes)
  for (let at = array, end = array + (usize(count) << 2); at < end; at += 4) {
    const number = load<u32>(at)
    const word = marks + (usize(number >> 6) << 3)
    store<u64>(word, load<u64>(word) | (u64(1) << u64(number & 63)))
  }
  let at = array
  let first: u32 = 0
  for (let k: usize = 0; k < bytes; k += 8, first += 64) {
    for (let word = load<u64>(marks + k); word != 0; word &= word - 1, at += 4) store<u32>(at, first + u32(ctz(word)))
  }
}
