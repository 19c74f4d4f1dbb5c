// The block that a row is drawn into: by the seed, the chunk of text and the row's number in it, so that any thread may draw
// for any chunk, and a second draw gives the same. Rows of a chunk go to `spread` neighbours among the blocks.
import { mix } from './random'

const STEP: u64 = 0x9e3779b97f4a7c15
/** Steps of the golden section: a chunk's blocks begin far from those of the chunks before it, and all get the same share. */
const GOLDEN: u32 = 0x9e3779b9

/** What draws of a seed have in common. */
@inline
export function seededDraw(seed: u64): u64 {
  return mix(seed + STEP)
}

/** The first block that rows of a chunk may go to. */
@inline
export function firstBlockOf(seeded: u64, chunk: u32, blocks: u32, spread: u32): u32 {
  return spread < blocks ? u32((u64(chunk * GOLDEN + u32(seeded)) * u64(blocks)) >> 32) : 0
}

@inline
export function drawnBlock(seeded: u64, chunk: u32, row: u32, first: u32, blocks: u32, spread: u32): u32 {
  const draw = mix(mix(seeded ^ (u64(chunk) << 32) ^ u64(row)) + STEP)
  const block = first + u32(((draw >> 32) * u64(spread)) >> 32)
  return block < blocks ? block : block - blocks
}
