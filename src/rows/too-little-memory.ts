// Refusals of a memory, in one wording: what takes how much of it, and what would do. Advice that the machine or its container has no room
// for says so.
import { SpillwayError } from '../errors.ts'
import { wholeMemory } from '../machine-memory.ts'
import { formatBytes } from '../numeric/arena.ts'
import { type ByteCount, NODE_BYTES } from '../sizes.ts'

/** What takes memory, as in `buffers for reading at least 16.0 MiB`. */
export type MemoryPart = [what: string, bytes: ByteCount]

/** `--memory 203M`, or where there is not so much: `--memory 203M in a larger container (this one has 160 MiB)`. `more` follows the
 *  memory. */
export function memoryThatWouldDo(enough: ByteCount, { more = '', whole = wholeMemory() } = {}): string {
  const text = `--memory ${Math.ceil(enough / 2 ** 20)}M${more}`
  if (enough <= whole.bytes) return text
  const where = whole.of === 'container' ? 'in a larger container' : 'on a larger machine'
  return `${text} ${where} (this one has ${formatBytes(whole.bytes)})`
}

/** The refusal of a memory that has no room for Node and these. `others`: what would help besides more of it. */
export function cannotWork(memory: ByteCount, parts: MemoryPart[], others: string[] = []): SpillwayError {
  const all: MemoryPart[] = [['Node takes', NODE_BYTES], ...parts]
  const sum = all.reduce((total, [, bytes]) => total + bytes, 0)
  return new SpillwayError(
    `${formatBytes(memory)} of memory cannot work: ${all.map(([what, bytes]) => `${what} ${formatBytes(bytes)}`).join(', ')}`,
    [`give ${memoryThatWouldDo(sum, { more: ' or more' })}`, ...others].join(', or '),
  )
}
