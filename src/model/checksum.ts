// Checksums of models by the compiled loop: where a model is a file, there is WebAssembly, too.
import { type TakeStripes, Xxh64 } from '../files/xxh64.ts'
import { Arena } from '../numeric/arena.ts'
import type { Address } from '../sizes.ts'

/** Bytes that are copied to the loop's memory at a time: they stay in the cache. */
const PIECE_BYTES = 1 << 18

let place: { arena: Arena; lanes: Address; piece: Address } | undefined

const takeStripes: TakeStripes = (lanes, stripes) => {
  // A memory of its own, made once: models come and go while rows fill the other ones.
  if (!place) {
    const arena = new Arena()
    place = { arena, lanes: arena.allocate(32, 'a checksum'), piece: arena.allocate(PIECE_BYTES, 'a checksum') }
  }
  const { arena, lanes: at, piece } = place
  const kept = arena.bytes(at, 32)
  const own = new Uint8Array(lanes.buffer, lanes.byteOffset, 32)
  kept.set(own)
  for (let k = 0; k < stripes.length; k += PIECE_BYTES) {
    const bytes = stripes.subarray(k, k + PIECE_BYTES)
    arena.bytes(piece, bytes.length).set(bytes)
    arena.numeric.xxh64Stripes(at, piece, bytes.length)
  }
  own.set(kept)
}

/** The checksum of any bytes, quick where they are many. */
export function newChecksum(): Xxh64 {
  return new Xxh64(takeStripes)
}
