// Maps from features to weights in the arena: a table of pages, a bit for each feature that occurs and counts between them.
// The compiled look-ups are in assembly/feature-map.ts.
import type { Arena } from './arena.ts'
import { FeatureBits, type FeaturePage } from './feature-bits.ts'
import { MAP_TOP_BYTES, PAGE_BITS, PAGE_BYTES, TOP_ENTRIES } from './feature-map-layout.ts'
import { MapTopFields } from './fields/map-top.ts'
import { PageFields } from './fields/page.ts'

/** An empty map that may take so many pages. */
export function newFeatureMap(arena: Arena, mostPages: number): number {
  const top = arena.allocateZeroed(MAP_TOP_BYTES, 'the feature map')
  new MapTopFields(arena, top).left = mostPages
  return top
}

/** The pages of a map, each with its number before it. */
export function mapBits(arena: Arena, top: number): Buffer {
  const pages: number[] = []
  const table = new MapTopFields(arena, top).pages
  for (let p = 0; p < TOP_ENTRIES; p++) if (table[p] !== 0) pages.push(p)
  const payload = Buffer.alloc(pages.length * (PAGE_BITS + 4))
  pages.forEach((page, k) => {
    payload.writeUInt32LE(page, k * (PAGE_BITS + 4))
    payload.set(arena.bytes(table[page], PAGE_BITS), k * (PAGE_BITS + 4) + 4)
  })
  return payload
}

/** Pages of several maps as those of one. */
export function mapOfAll(payloads: readonly Uint8Array[]): Buffer {
  const pages = new Map<number, Buffer>()
  for (const payload of payloads.map(bytes => Buffer.from(bytes))) {
    for (let from = 0; from < payload.length; from += PAGE_BITS + 4) {
      const piece = payload.subarray(from, from + PAGE_BITS + 4)
      const known = pages.get(piece.readUInt32LE(0))
      if (!known) pages.set(piece.readUInt32LE(0), piece)
      else for (let k = 4; k < piece.length; k++) known[k] |= piece[k]
    }
  }
  return Buffer.concat([...pages].sort(([a], [b]) => a - b).map(([, page]) => page))
}

/** Bytes that a map of such pages takes in memory. */
export function mapBytes(payload: Buffer): number {
  return MAP_TOP_BYTES + (payload.length / (PAGE_BITS + 4)) * PAGE_BYTES
}

/** A map of such pages, ready for look-ups. `wrong` is told of a page number that cannot be. */
export function placeMap(
  arena: Arena,
  payload: Buffer,
  wrong: (page: number) => Error = page => new Error(`a map has a page ${page}`),
): { top: number; features: number } {
  const top = newFeatureMap(arena, 0)
  for (let from = 0; from < payload.length; from += PAGE_BITS + 4) {
    const number = payload.readUInt32LE(from)
    if (number >= TOP_ENTRIES) throw wrong(number)
    const page = arena.allocateZeroed(PAGE_BYTES, 'the feature map')
    arena.bytes(page, PAGE_BITS).set(payload.subarray(from + 4, from + 4 + PAGE_BITS))
    arena.setU32(top + number * 4, page)
  }
  return { top, features: arena.numeric.finishMap(top) >>> 0 }
}

/** The features of a map that is ready for look-ups, where they are. */
export function bitsOfMap(arena: Arena, top: number): FeatureBits {
  const table = new MapTopFields(arena, top).pages
  const pages: FeaturePage[] = []
  for (let number = 0; number < TOP_ENTRIES; number++) {
    const at = table[number]
    if (at === 0) continue
    const { words, before } = new PageFields(arena, at)
    pages.push({ number, bits: words, before })
  }
  return new FeatureBits(pages)
}

/** The features of a map in rising order. */
export function featuresOf(arena: Arena, top: number, count: number): Uint32Array {
  const mark = arena.mark()
  const list = arena.allocate(Math.max(count, 1) * 4, 'the feature map')
  arena.numeric.listFeatures(top, list)
  const result = arena.u32(list, count).slice()
  arena.release(mark)
  return result
}
