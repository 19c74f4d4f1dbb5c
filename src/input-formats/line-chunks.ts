// Cuts a byte source into chunks of whole lines, each in a slot. Where a chunk ends depends on the bytes alone, never on timing
// or threads: everything seeded by chunk stays the same.
import { SpillwayError } from '../errors.ts'
import { scarceMemory } from '../machine-memory.ts'
import { formatBytes } from '../numeric/arena.ts'
import { type ByteCount, NODE_BYTES } from '../sizes.ts'
import type { ChunkSlots, Slot } from './chunk-slots.ts'

/** A longer line is taken for a file that is not text. */
const LONGEST_LINE: ByteCount = 256 * 1024 * 1024
/** Of memory that is scarce, and is not Node's, the share that a line may have: it lies there several times over. */
const SHARE_OF_LINE = 1 / 8
const LEAST_LONGEST: ByteCount = 1 << 20

/** The longest line that is read in so much memory, by default in what there is. */
export function longestLine(memory = scarceMemory()): ByteCount {
  if (memory === undefined) return LONGEST_LINE
  const share = Math.floor((memory - NODE_BYTES) * SHARE_OF_LINE)
  return Math.min(LONGEST_LINE, Math.max(LEAST_LONGEST, share))
}
export const LINE_FEED = 10

export interface LinesToCut {
  /** For messages. */
  name: string
  chunkBytes: number
  /** The most bytes of a line; `longestLine()` when not given. */
  longest?: ByteCount | undefined
  /** Fills as much of the target as there is; less than all of it only at the end. */
  read(target: Uint8Array): Promise<number>
  /** Sees the beginning before anything is cut. */
  begins(head: Uint8Array): void
  /** Where the last whole row ends, given whole lines and all that was read; 0 when none does. */
  endOfRows(lines: Uint8Array, text: Uint8Array): number
}

export async function* cutLines(slots: ChunkSlots, source: LinesToCut): AsyncGenerator<{ slot: Slot; bytes: number }> {
  const { arena } = slots
  const { chunkBytes } = source
  let slot = await slots.take()
  let filled = 0
  // How far a slot is filled before it is cut; only a row longer than that raises it, whatever the slot could hold.
  let limit = chunkBytes
  let opening = true
  let before = 0
  for (;;) {
    slots.enlarge(slot, limit, filled)
    filled += await source.read(arena.bytes(slot.at + filled, limit - filled))
    if (opening) {
      source.begins(arena.bytes(slot.at, filled))
      if (filled >= 3) blankByteOrderMark(arena.bytes(slot.at, 3))
    }
    opening = false
    if (filled < limit) {
      // The end: a last line without a line feed gets one.
      if (filled > 0 && arena.bytes(slot.at + filled - 1, 1)[0] !== LINE_FEED) {
        arena.bytes(slot.at + filled, 1)[0] = LINE_FEED
        filled++
      }
      if (filled > 0) yield { slot, bytes: filled }
      else slots.give(slot)
      return
    }
    const text = arena.bytes(slot.at, filled)
    const lines = lastLineEnd(text)
    const end = lines === 0 ? 0 : source.endOfRows(text.subarray(0, lines), text)
    if (end === 0) {
      const longest = source.longest ?? longestLine()
      if (limit >= longest) throw tooLong(source.name, before, longest)
      limit = Math.min(limit * 4, longest)
      continue
    }
    const next = await slots.take()
    const carry = filled - end
    limit = chunkBytes
    // What is carried over may itself be longer than a chunk.
    while (limit <= carry) limit *= 4
    slots.enlarge(next, limit, 0)
    arena.bytes(next.at, carry).set(text.subarray(end))
    const full = slot
    slot = next
    filled = carry
    before += end
    yield { slot: full, bytes: end }
  }
}

function tooLong(name: string, before: number, longest: ByteCount): SpillwayError {
  const where = before === 0 ? '' : `, from byte ${before} of the text on`
  return new SpillwayError(
    `${name}: a line is longer than ${formatBytes(longest)}${where}; is this text?`,
    longest < LONGEST_LINE
      ? 'every row ends with a line feed; if rows are that long, they need more --memory'
      : 'every row ends with a line feed',
  )
}

/** Whole lines of text that begins within one, unless it begins with the file: the first and the last may be in part. */
export function linesWithin(text: Uint8Array, fromStart: boolean): { first: number; bytes: number } {
  const first = fromStart ? 0 : text.indexOf(LINE_FEED) + 1
  return { first, bytes: !fromStart && first === 0 ? 0 : Math.max(0, lastLineEnd(text) - first) }
}

function lastLineEnd(text: Uint8Array): number {
  return Buffer.from(text.buffer, text.byteOffset, text.length).lastIndexOf(LINE_FEED) + 1
}

/** Some editors open UTF-8 text with a mark; to a parser it is a blank. */
export function blankByteOrderMark(head: Uint8Array): void {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) head.fill(0x20)
}
