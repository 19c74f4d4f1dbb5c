// The arena: a bump pointer that threads share. Nothing is freed one by one; TypeScript resets the pointer to a mark.
import { ARENA_NEXT } from '../layouts'

/** Takes bytes (rounded up to 64, a cache line), growing the memory; 0 when the 4 GiB window is full. */
export function allocate(bytes: u32): usize {
  const size = (u64(bytes) + 63) & ~63
  // Two threads may pass the end together, so the pointer is moved by compare and swap, never beyond the window.
  while (true) {
    const at = atomic.load<u32>(ARENA_NEXT)
    const end = u64(at) + size
    if (end > 0xffff0000) return 0
    if (atomic.cmpxchg<u32>(ARENA_NEXT, at, u32(end)) != at) continue
    while (true) {
      const have = u64(memory.size()) << 16
      if (have >= end) return at
      const missing = i32((end - have + 65535) >> 16)
      // Growing in steps of 1 MiB keeps the number of system calls small; untouched pages cost nothing.
      const room = i32(65536) - memory.size()
      if (memory.grow(min(max(missing, 16), room)) < 0 && u64(memory.size()) << 16 < end) return 0
    }
  }
}
