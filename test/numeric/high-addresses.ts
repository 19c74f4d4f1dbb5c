// Arenas whose free room begins far up, where addresses no longer fit a signed 32-bit number. Nobody touches what lies below,
// so it takes no memory.
import { Arena } from '../../src/numeric/arena.ts'
import { ARENA_START } from '../../src/numeric/layouts.ts'

/** Where free room begins: below 2 GiB, above it, and so near the end of the window that `left` bytes are left of it. */
export const ABOVE = 2 ** 31 + 4096 * 64
export const nearTheEnd = (left: number): number => 2 ** 32 - 2 ** 16 - left

export function arenaFrom(start: number): Arena {
  const arena = new Arena()
  if (start > ARENA_START) arena.allocate(start - ARENA_START, 'what lies below')
  return arena
}

/** Every arena that this thread makes meanwhile begins at an address. */
export async function withArenasFrom<T>(start: number, work: () => Promise<T>): Promise<T> {
  const { allocate } = Arena.prototype
  const seen = new WeakSet<object>()
  let lowest = Number.POSITIVE_INFINITY
  Arena.prototype.allocate = function (bytes, purpose) {
    if (!seen.has(this.share)) {
      seen.add(this.share)
      const mark = this.mark()
      if (start > mark) allocate.call(this, start - mark, 'what lies below')
    }
    const at = allocate.call(this, bytes, purpose)
    lowest = Math.min(lowest, at)
    return at
  }
  try {
    const result = await work()
    if (lowest < start || lowest === Number.POSITIVE_INFINITY) throw new Error(`an arena began at ${lowest}`)
    return result
  } finally {
    Arena.prototype.allocate = allocate
  }
}
