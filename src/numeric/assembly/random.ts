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
