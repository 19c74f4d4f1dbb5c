// Feature numbers as intervals: the space of features is cut into intervals of about equal weight, narrow where
// features are frequent and wide where they are rare. A number is its interval, as a Huffman-coded step from the
// interval before it in the row, and its place within, as plain bits. Skewed data come near their entropy this way,
// which gaps alone do not: a gap that leads from one dense region to the next is long whatever is frequent.
import {
  CUT_BITS as BITS, CUT_BUCKETS as BUCKETS, CUT_CODES as CODES, CUT_HISTOGRAM as HISTOGRAM, CUT_SAMPLED as SAMPLED,
  CUT_SORTED as SORTED, CUT_STARTS as STARTS, CUT_WIDTHS as WIDTHS,
  ENCODE_INDICES, ENCODE_INTERVALS, ENCODE_LENGTHS, ENCODE_NONZEROS, ENCODE_ROWS, ENCODE_WORK,
  INDICES_INTERVALS, INTERVALS_HEADER_BYTES, INTERVALS_MOST, INTERVALS_MOST_CODE_BITS, SEGMENT_INDEX_CODEC,
} from '../segment-layout'

const SAMPLE: u32 = 4096
/** An interval with more than so many of the sample is cut in two; with fewer, chance would decide. */
const HEAVY: u32 = 16
/** Segments with fewer nonzeros would pay more for the tables than they gain. */
const LEAST: u32 = 2048

let base: usize = 0
let intervals: u32 = 0
/** Σ over the sample of the width of its interval. */
let sampleBits: u64 = 0

/** Writes the indices section as intervals; 0 when that is not clearly smaller than `direct` bytes. */
export function tryIntervals(state: usize, header: usize, direct: u64, width: u32, out: usize): usize {
  const n = load<u32>(state, ENCODE_NONZEROS)
  const rows = load<u32>(state, ENCODE_ROWS)
  if (n < LEAST) return 0
  base = <usize>load<u32>(state, ENCODE_INTERVALS)
  const indices = <usize>load<u32>(state, ENCODE_INDICES)
  const count = min(n >> 1, SAMPLE)
  const spaceBits = 32 - clz(width - 1)
  const sorted = sortSample(indices, n, count, spaceBits)
  intervals = 0
  sampleBits = 0
  cut(sorted, 0, spaceBits, 0, count)

  // Equal weights: log2 of their number for the interval, of which the order within a row of m saves log2(m / e).
  const perRow = max(n / rows, 1)
  const weights = count / HEAVY
  const guess = (sampleBits * 16) / count + 16 * 3 + u64(16 * (31 - clz(max(weights / perRow, 1))))
  if (guess * u64(n) * 6 > direct * 8 * 16 * 5) return 0

  const bits = assign(state, indices, rows)
  const used = makeCodes(n)
  const histogram = base + HISTOGRAM
  let total = bits
  for (let s: usize = 0; s < usize(used); s++) {
    total += u64(load<u32>(histogram + (s << 2))) * u64(load<u8>(base + BITS + s))
  }
  const bytes = u64(INTERVALS_HEADER_BYTES + intervals + ((used + 1) >> 1)) + ((total + 40) >> 3)
  // Decoding them takes half as long again as decoding gaps: a sixth must be gained.
  if (bytes * 6 > direct * 5) return 0
  store<u8>(header, INDICES_INTERVALS, SEGMENT_INDEX_CODEC)
  return write(state, n, used, spaceBits, out)
}

/** Every so manyth index, sorted: radix sort by bytes. Returns where the result is. */
function sortSample(indices: usize, n: u32, count: u32, bits: u32): usize {
  let from = base + SAMPLED
  let to = base + SORTED
  const buckets = base + BUCKETS
  for (let k: u32 = 0; k < count; k++) {
    const at = usize((u64(k) * u64(n)) / u64(count))
    store<u32>(from + (usize(k) << 2), load<u32>(indices + (at << 2)))
  }
  for (let shift: u32 = 0; shift < bits; shift += 8) {
    memory.fill(buckets, 0, 1024)
    const end = from + (usize(count) << 2)
    for (let p = from; p < end; p += 4) {
      const b = buckets + usize(((load<u32>(p) >> shift) & 255) << 2)
      store<u32>(b, load<u32>(b) + 1)
    }
    let sum: u32 = 0
    for (let b: usize = 0; b < 1024; b += 4) {
      const here = load<u32>(buckets + b)
      store<u32>(buckets + b, sum)
      sum += here
    }
    for (let p = from; p < end; p += 4) {
      const value = load<u32>(p)
      const b = buckets + usize(((value >> shift) & 255) << 2)
      const place = load<u32>(b)
      store<u32>(b, place + 1)
      store<u32>(to + (usize(place) << 2), value)
    }
    const swap = from
    from = to
    to = swap
  }
  return from
}

/** Cuts [start, start + 2^width), which holds the sample's entries from lo to hi, in halves until none is too heavy. */
function cut(sorted: usize, start: u32, width: u32, lo: u32, hi: u32): void {
  // Each level that is still open may leave one more interval: 33 are kept in reserve.
  if (width == 0 || hi - lo <= HEAVY || intervals + 34 > u32(INTERVALS_MOST)) {
    store<u32>(base + STARTS + (usize(intervals) << 2), start)
    store<u8>(base + WIDTHS + usize(intervals), u8(width))
    intervals++
    sampleBits += u64(hi - lo) * u64(width)
    return
  }
  const middle = start + (u32(1) << (width - 1))
  let a = lo, b = hi
  while (a < b) {
    const k = (a + b) >> 1
    if (load<u32>(sorted + (usize(k) << 2)) < middle) a = k + 1
    else b = k
  }
  cut(sorted, start, width - 1, lo, a)
  cut(sorted, middle, width - 1, a, hi)
}

/** Finds every index's interval: ENCODE_WORK receives interval << 16 | step. Counts the steps; returns Σ widths. */
function assign(state: usize, indices: usize, rows: u32): u64 {
  const starts = base + STARTS
  const widths = base + WIDTHS
  const histogram = base + HISTOGRAM
  const lengths = <usize>load<u32>(state, ENCODE_LENGTHS)
  let work = <usize>load<u32>(state, ENCODE_WORK)
  // No index is as large as what fills the table up, so the search needs no test of its end.
  memory.fill(starts + (usize(intervals) << 2), 0xff, usize(INTERVALS_MOST - intervals) << 2)
  memory.fill(histogram, 0, usize(INTERVALS_MOST) << 2)
  const longest: u32 = intervals < 2 ? 0 : (u32(1) << 31) >> clz(intervals - 1)
  let bits: u64 = 0
  let p = indices
  for (let r: u32 = 0; r < rows; r++) {
    let before: u32 = 0
    for (const stop = p + (usize(load<u32>(lengths + (usize(r) << 2))) << 2); p < stop; p += 4, work += 4) {
      const index = load<u32>(p)
      let at: u32 = 0
      // Without branches: neighbouring searches overlap.
      for (let step = longest; step > 0; step >>= 1) {
        at = select<u32>(at + step, at, load<u32>(starts + (usize(at + step) << 2)) <= index)
      }
      const move = at - before
      before = at
      const h = histogram + (usize(move) << 2)
      store<u32>(h, load<u32>(h) + 1)
      store<u32>(work, (at << 16) | move)
      bits += u64(load<u8>(widths + usize(at)))
    }
  }
  return bits
}

/** Canonical code lengths of at most INTERVALS_MOST_CODE_BITS from the histogram, and the codes, lowest bit first.
 *  Rounded logarithms, then as few changes as make the code complete; a hundredth worse than Huffman's own. Returns
 *  one more than the largest step. */
function makeCodes(n: u32): u32 {
  const most: u32 = INTERVALS_MOST_CODE_BITS
  const full: u32 = 1 << most
  const histogram = base + HISTOGRAM
  const lengths = base + BITS
  let used: u32 = 0
  let sum: u32 = 0
  for (let s: u32 = 0; s < u32(INTERVALS_MOST); s++) {
    const c = u64(load<u32>(histogram + (usize(s) << 2)))
    let length: u32 = 0
    if (c > 0) {
      used = s + 1
      length = 1
      while (length < most && (c << u64(length)) * 256 < u64(n) * 181) length++
      sum += full >> length
    }
    store<u8>(lengths + usize(s), u8(length))
  }
  // Too much: make the longest codes longer, they are the rarest.
  for (let length = most - 1; sum > full && length > 0; length--) {
    let changed = false
    for (let s: usize = 0; s < usize(used) && sum > full; s++) {
      if (<u32>load<u8>(lengths + s) != length) continue
      store<u8>(lengths + s, u8(length + 1))
      sum -= full >> (length + 1)
      changed = true
    }
    // What has become longer may have to become longer still.
    if (changed && length < most - 1) length += 2
  }
  // Too little: make codes shorter, the most frequent first, while they fit.
  for (let length: u32 = 2; length <= most; length++) {
    for (let s: usize = 0; s < usize(used); s++) {
      if (<u32>load<u8>(lengths + s) != length || sum + (full >> length) > full) continue
      store<u8>(lengths + s, u8(length - 1))
      sum += full >> length
    }
  }
  let code: u32 = 0
  for (let length: u32 = 1; length <= most; length++) {
    for (let s: usize = 0; s < usize(used); s++) {
      if (<u32>load<u8>(lengths + s) != length) continue
      store<u16>(base + CODES + (s << 1), u16(reverse(code, length)))
      code++
    }
    code <<= 1
  }
  return used
}

@inline
export function reverse(code: u32, bits: u32): u32 {
  let result: u32 = 0
  for (let k: u32 = 0; k < bits; k++) result |= ((code >> k) & 1) << (bits - 1 - k)
  return result
}

function write(state: usize, n: u32, used: u32, spaceBits: u32, out: usize): usize {
  const work = <usize>load<u32>(state, ENCODE_WORK)
  store<u8>(out, u8(spaceBits))
  store<u16>(out, u16(intervals), 1)
  store<u16>(out, u16(used), 3)
  let to = out + INTERVALS_HEADER_BYTES
  memory.copy(to, base + WIDTHS, usize(intervals))
  to += usize(intervals)
  for (let s: usize = 0; s < usize(used); s += 2) {
    const high = s + 1 < usize(used) ? <u32>load<u8>(base + BITS + s, 1) : 0
    store<u8>(to++, u8(u32(load<u8>(base + BITS + s)) | (high << 4)))
  }
  // Four quarters of the steps as four streams: the decoder walks all at once.
  const quarter = n >> 2
  for (let k: u32 = 0; k < 4; k++) {
    const count = k < 3 ? quarter : n - 3 * quarter
    const after = writeSteps(work + (usize(k * quarter) << 2), count, to)
    store<u32>(out + usize(k << 2), u32(after - to), 5)
    to = after
  }
  const places = to
  let acc: u64 = 0
  let filled: u64 = 0
  let p = places
  const indices = <usize>load<u32>(state, ENCODE_INDICES)
  for (let k: usize = 0; k < usize(n); k++) {
    const at = usize(load<u32>(work + (k << 2)) >> 16)
    acc |= u64(load<u32>(indices + (k << 2)) - load<u32>(base + STARTS + (at << 2))) << filled
    filled += u64(load<u8>(base + WIDTHS + at))
    store<u32>(p, u32(acc))
    const whole = filled >> 5
    p += usize(whole << 2)
    acc >>= whole << 5
    filled &= 31
  }
  store<u32>(p, u32(acc))
  p += usize((filled + 7) >> 3)
  store<u32>(out, u32(p - places), 21)
  return p
}

function writeSteps(work: usize, count: u32, out: usize): usize {
  let acc: u64 = 0
  let filled: u64 = 0
  for (const end = work + (usize(count) << 2); work < end; work += 4) {
    const s = usize(load<u32>(work) & 0xffff)
    acc |= u64(load<u16>(base + CODES + (s << 1))) << filled
    filled += u64(load<u8>(base + BITS + s))
    store<u32>(out, u32(acc))
    const whole = filled >> 5
    out += usize(whole << 2)
    acc >>= whole << 5
    filled &= 31
  }
  store<u32>(out, u32(acc))
  return out + usize((filled + 7) >> 3)
}
