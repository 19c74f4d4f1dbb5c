// The fields of the structure Segment, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class SegmentFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 80)
  }

  /** u32: SEGMENT_MAGIC_VALUE, "SPSG" as bytes. */
  get magic(): number {
    return this.#view.getUint32(0, true)
  }
  set magic(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u16: SEGMENT_VERSION_VALUE, or SEGMENT_VERSION_WEIGHTED where rows have weights. */
  get version(): number {
    return this.#view.getUint16(4, true)
  }
  set version(value: number) {
    this.#view.setUint16(4, value, true)
  }

  /** u16: SEGMENT_ORDER_VALUE; bytes 02 01 when written little-endian. */
  get order(): number {
    return this.#view.getUint16(6, true)
  }
  set order(value: number) {
    this.#view.setUint16(6, value, true)
  }

  /** u8: SEGMENT_FLAG_ bits. */
  get flags(): number {
    return this.#view.getUint8(8)
  }
  set flags(value: number) {
    this.#view.setUint8(8, value)
  }

  /** u8: codec of row lengths: one of the LENGTHS_ constants. */
  get lengthCodec(): number {
    return this.#view.getUint8(9)
  }
  set lengthCodec(value: number) {
    this.#view.setUint8(9, value)
  }

  /** u8: codec of positions: one of the POSITIONS_ constants. */
  get positionCodec(): number {
    return this.#view.getUint8(10)
  }
  set positionCodec(value: number) {
    this.#view.setUint8(10, value)
  }

  /** u8: codec of labels: one of the LABELS_ constants. */
  get labelCodec(): number {
    return this.#view.getUint8(11)
  }
  set labelCodec(value: number) {
    this.#view.setUint8(11, value)
  }

  /** u8: codec of feature numbers: one of the INDICES_ constants. */
  get indexCodec(): number {
    return this.#view.getUint8(12)
  }
  set indexCodec(value: number) {
    this.#view.setUint8(12, value)
  }

  /** u8: codec of values: one of the VALUES_ constants. */
  get valueCodec(): number {
    return this.#view.getUint8(13)
  }
  set valueCodec(value: number) {
    this.#view.setUint8(13, value)
  }

  /** u8: bytes of a value in the batch that went in, 4 or 8. */
  get valueBytes(): number {
    return this.#view.getUint8(14)
  }
  set valueBytes(value: number) {
    this.#view.setUint8(14, value)
  }

  /** u8: bytes of a value in the payload: 4 where f32 holds every value of an f64 batch exactly. */
  get storedBytes(): number {
    return this.#view.getUint8(15)
  }
  set storedBytes(value: number) {
    this.#view.setUint8(15, value)
  }

  /** u32: rows, at least 1. */
  get rows(): number {
    return this.#view.getUint32(16, true)
  }
  set rows(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: features of the batch, one more than its largest feature number. */
  get features(): number {
    return this.#view.getUint32(20, true)
  }
  set features(value: number) {
    this.#view.setUint32(20, value, true)
  }

  /** u64: nonzeros. */
  get nonzeros(): bigint {
    return this.#view.getBigUint64(24, true)
  }
  set nonzeros(value: bigint) {
    this.#view.setBigUint64(24, value, true)
  }

  /** u64: number, in the whole input, of the row that position 0 stands for. */
  get basePosition(): bigint {
    return this.#view.getBigUint64(32, true)
  }
  set basePosition(value: bigint) {
    this.#view.setBigUint64(32, value, true)
  }

  /** u64: bytes of payload that follow this header. */
  get payloadBytes(): bigint {
    return this.#view.getBigUint64(40, true)
  }
  set payloadBytes(value: bigint) {
    this.#view.setBigUint64(40, value, true)
  }

  /** u64: bytes of payload before compression; the same as above when there is none. */
  get rawBytes(): bigint {
    return this.#view.getBigUint64(48, true)
  }
  set rawBytes(value: bigint) {
    this.#view.setBigUint64(48, value, true)
  }

  /** u32: number of the block that this segment belongs to. */
  get block(): number {
    return this.#view.getUint32(56, true)
  }
  set block(value: number) {
    this.#view.setUint32(56, value, true)
  }

  /** u8: codec of the weights of rows, where there are any: one of the LABELS_ constants. */
  get weightCodec(): number {
    return this.#view.getUint8(60)
  }
  set weightCodec(value: number) {
    this.#view.setUint8(60, value)
  }

  /** u64: XXH64 of the payload as stored. The three bytes before it are zero. */
  get payloadHash(): bigint {
    return this.#view.getBigUint64(64, true)
  }
  set payloadHash(value: bigint) {
    this.#view.setBigUint64(64, value, true)
  }

  /** u64: XXH64 of the header's bytes before this one. */
  get headerHash(): bigint {
    return this.#view.getBigUint64(72, true)
  }
  set headerHash(value: bigint) {
    this.#view.setBigUint64(72, value, true)
  }
}
