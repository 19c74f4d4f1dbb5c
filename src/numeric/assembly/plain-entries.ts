// Plain entries of LIBSVM text, as most are: `index:value` and one blank. The index has up to eight digits, the value has few and
// no exponent. Where an entry ends is found by one comparison of 32 bytes, before its numbers are read. The next entry waits for
// that alone, so the processor works on several at a time. Index and value become numbers together, in one vector.
import { BATCH_INDICES, BATCH_NONZERO_CAPACITY, BATCH_VALUES } from '../layouts'
import { DOT, eightDigits, LF, MINUS, notDigits, POWERS, SPACE, WHOLE_POWERS, ZEROS } from './parse-number'

const ONE_AND_SPACE: u32 = 0x2031
/** One digit before the point and so many behind it are a whole number that a double holds exactly. */
const MOST_DECIMALS: u32 = 14
/** The last bytes of eight, as many as the place in the list. */
const LAST_BYTES: StaticArray<u64> = [
  0, 0xff00000000000000, 0xffff000000000000, 0xffffff0000000000, 0xffffffff00000000, 0xffffffffff000000, 0xffffffffffff0000,
  0xffffffffffffff00, 0xffffffffffffffff,
]
/** What vectors are filled with. It is read from memory, so that it stays in registers: constants are made anew in each turn. */
const FILLS: StaticArray<u32> = [0x21212121, 0x3a3a3a3a, 0x30303030, 0x09090909, 0x0a010a01, 0x00010064, 0x00012710]

// What plainEntries leaves behind: how many entries the batch has, and the last feature, or −1.
export let plainCount: u32 = 0
export let plainLast: i64 = 0

@inline
function fill(place: usize): v128 {
  return v128.load32_splat(changetype<usize>(FILLS) + (place << 2))
}

/** Two masks of the last bytes of eight. */
@inline
function lastBytes(first: usize, second: usize): v128 {
  const table = changetype<usize>(LAST_BYTES)
  return v128.load64_lane(table + (second << 3), v128.load64_zero(table + (first << 3)), 1)
}

/** Reads entries from the blank at p on. Returns where it stops: at the line feed behind the last entry, or at the blank before
 *  an entry that must be read with more care. Features, which are indices less `base`, have to rise above `last`. */
export function plainEntries<V>(p: usize, last: i64, entries: u32, batch: usize, base: i64): usize {
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const room = load<u32>(batch, BATCH_NONZERO_CAPACITY)
  const aboveBlank = fill(0), colons = fill(1), zeros = fill(2), nines = fill(3), tens = fill(4), hundreds = fill(5), myriads = fill(6)
  let c = <u32>load<u8>(p)
  while (c == SPACE) {
    if (entries >= room) break
    // Bytes beyond ASCII count as blanks here, too: what stands at the end is looked at below.
    const near = v128.load(p, 1)
    const far = <u32>i8x16.bitmask(i8x16.lt_s(v128.load(p, 17), aboveBlank))
    const next = p + 1 + <usize>ctz<u32>(<u32>i8x16.bitmask(i8x16.lt_s(near, aboveBlank)) | (far << 16))
    const length = <usize>ctz<u32>(<u32>i8x16.bitmask(i8x16.eq(near, colons)))
    if (length - 1 > 7) break
    let v = p + 2 + length
    let head = <u32>load<u16>(v)
    const one = head == ONE_AND_SPACE
    let negative = false
    let whole: u64 = 0
    let decimals: usize = 0
    if (!one) {
      if ((head & 0xff) == MINUS) {
        negative = true
        head = <u32>load<u16>(++v)
      }
      if (head >> 8 == DOT) {
        whole = u64(head & 0xff) - 48
        v += 2
        decimals = next - v
        if (whole > 9 || decimals - 1 >= usize(MOST_DECIMALS)) break
        if (whole != 0) whole *= unchecked(WHOLE_POWERS[u32(decimals)])
        if (decimals > 8) {
          const word = (load<u64>(v) ^ ZEROS) << (128 - (u64(decimals) << 3))
          if (notDigits(word) != 0) break
          whole += eightDigits(word) * 100000000
          v = next - 8
        }
      }
    }
    const digits = next - v
    if (digits - 1 > 7) break
    // Eight bytes up to the colon, and eight up to the end.
    let x = v128.load64_lane(next - 8, v128.load64_zero(p + length - 7), 1)
    x = v128.and(i8x16.sub(x, zeros), lastBytes(length, digits))
    if (v128.any_true(i8x16.sub_sat_u(x, nines))) break
    x = i32x4.dot_i16x8_s(i16x8.shr_u(i16x8.mul(x, tens), 8), hundreds)
    x = i32x4.dot_i16x8_s(i16x8.narrow_i32x4_u(x, x), myriads)
    const both = u64(i64x2.extract_lane(x, 0))
    const index = i64(both & 0xffffffff) - base
    if (index <= last) break
    store<u32>(indices + (usize(entries) << 2), u32(index))
    if (one) store<V>(values + usize(entries) * sizeof<V>(), <V>1)
    else {
      whole += both >> 32
      // Zeros are not kept.
      if (whole == 0) break
      const signed = negative ? -i64(whole) : i64(whole)
      store<V>(values + usize(entries) * sizeof<V>(), <V>(f64(signed) / unchecked(POWERS[u32(decimals)])))
    }
    c = <u32>load<u8>(next)
    if (c != SPACE) {
      if (c != LF) break
    }
    entries++
    last = index
    p = next
  }
  plainCount = entries
  plainLast = last
  return p
}
