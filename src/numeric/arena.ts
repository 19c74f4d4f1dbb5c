// The arena: typed views and room in the one shared memory. Addresses are plain numbers below 2^32.
import { SpillwayError } from '../errors.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { ARENA_NEXT, ARENA_START } from './layouts.ts'
import { instantiateNumeric, type NumericFunctions, type NumericShare, newNumericShare } from './numeric.ts'
import { CACHE_LINE, roundUp } from './rounding.ts'

export class Arena {
  readonly numeric: NumericFunctions
  readonly share: NumericShare
  #buffer: ArrayBufferLike

  /** Without a share: a memory of its own. With one: this thread's instance over a memory that others use too. */
  constructor(share?: NumericShare) {
    this.share = share ?? newNumericShare()
    this.numeric = instantiateNumeric(this.share)
    this.#buffer = this.share.memory.buffer
    if (!share) this.u32(ARENA_NEXT, 1)[0] = ARENA_START
  }

  /** Room for bytes, aligned to a cache line, contents unspecified. Throws when the 4 GiB window is full. */
  allocate(bytes: ByteCount, purpose: string): Address {
    // A negative size would be taken for a huge one, or, rounded up by the caller, for a tiny one that is written beyond.
    if (!(bytes >= 0)) throw new Error(`${bytes} bytes were asked for: ${purpose}`)
    const size = roundUp(bytes, CACHE_LINE)
    const at = size > 0xffff0000 ? 0 : this.numeric.allocate(size) >>> 0
    if (at === 0) throw windowFull(`${purpose} (${formatBytes(bytes)})`)
    return at
  }

  /** The same, filled with zeros: released room may have been used before. */
  allocateZeroed(bytes: ByteCount, purpose: string): Address {
    const at = this.allocate(bytes, purpose)
    this.bytes(at, bytes).fill(0)
    return at
  }

  /** Where the arena ends now; release(mark) gives back all that was allocated since. */
  mark(): Address {
    return Atomics.load(this.u32(ARENA_NEXT, 1), 0)
  }

  release(mark: Address): void {
    Atomics.store(this.u32(ARENA_NEXT, 1), 0, mark)
  }

  // A memory that has grown in another thread shows its new length only through a new buffer object.
  #reach(end: Address): ArrayBufferLike {
    if (end > this.#buffer.byteLength) this.#buffer = this.share.memory.buffer
    return this.#buffer
  }

  bytes(at: Address, count: ByteCount): Uint8Array {
    return new Uint8Array(this.#reach(at + count), at, count)
  }
  /** Of the fields of a structure, which the classes in fields/ read and write by name. */
  view(at: Address, bytes: ByteCount): DataView {
    return new DataView(this.#reach(at + bytes), at, bytes)
  }
  u32(at: Address, count: number): Uint32Array {
    return new Uint32Array(this.#reach(at + count * 4), at, count)
  }
  f32(at: Address, count: number): Float32Array {
    return new Float32Array(this.#reach(at + count * 4), at, count)
  }
  f64(at: Address, count: number): Float64Array {
    return new Float64Array(this.#reach(at + count * 8), at, count)
  }
  u64(at: Address, count: number): BigUint64Array {
    return new BigUint64Array(this.#reach(at + count * 8), at, count)
  }

  getU32(at: Address): number {
    return this.u32(at, 1)[0]
  }
  setU32(at: Address, value: number): void {
    this.u32(at, 1)[0] = value
  }
  getF64(at: Address): number {
    return this.f64(at, 1)[0]
  }
  setF64(at: Address, value: number): void {
    this.f64(at, 1)[0] = value
  }
}

export function windowFull(what: string): SpillwayError {
  return new SpillwayError(
    `the data does not fit in the 4 GiB window that WebAssembly can address: no room left for ${what}`,
    'train on fewer rows or features',
  )
}

/** 1536 → "1.5 KiB". */
export function formatBytes(bytes: ByteCount): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let k = 0
  let value = bytes
  while (value >= 1024 && k < units.length - 1) {
    value /= 1024
    k++
  }
  return `${k === 0 || value >= 100 ? Math.round(value) : value.toPrecision(3)} ${units[k]}`
}
