// Rows of made-up data, written as LIBSVM text or as a table.
//
// The hidden model. Every row has a hidden class z = ±1. In sparse rows, features come in pairs of neighbouring ranks,
// equally frequent; a hash of (seed, pair) says whether the pair tells the classes apart, and which of the two leans to
// which class. A row of class z that draws the feature leaning away takes its twin with probability tilt. So a
// feature's log-odds are ± log((1 + tilt) / (1 − tilt)) or 0: the best classifier is linear, and its weights are a hash,
// not a table. In dense rows the hash is the weight and the row is noise + z · tilt · weights. Labels are z, some flipped.
// With more than two classes the hash knows the class, too: each has its own leanings, and any two share half of them.
// Drawn rows are pictures of their class: generate-drawn.ts. Rows of a table have cells in place of features: generate-table.ts.
//
// The cost of a nonzero is that of making it once: a draw is one random word and one look-up in the inverse of the
// distribution, rows are radix sorted, and a row's few distinct values are turned into text once each.
import {
  GENERATE_COUNTS, GROUP_BYTES, GROUP_CLUSTERS, GROUP_DRAWS, GROUP_FIRST, GROUP_KEY_BYTES, GROUP_RANKS, GROUP_RUN,
  GROUP_STRIDE, PLAN_CORRELATION, PLAN_COUNT_VALUES, PLAN_FEATURES, PLAN_GROUP_TABLE, PLAN_GROUPS, PLAN_HARDNESS,
  PLAN_BURST, PLAN_BY_LARGEST, PLAN_CLASSES, PLAN_INNOVATION, PLAN_KIND, PLAN_KIND_DENSE, PLAN_KIND_DRAWN,
  PLAN_KIND_TABLE, PLAN_LEVELS, PLAN_MOST, PLAN_NOISE, PLAN_NORMAL, PLAN_ONES,
  PLAN_POSITIVE, PLAN_SEED, PLAN_TELLING, PLAN_TILT, SLOT_ARRAYS, SLOT_DISTINCT, SLOT_HISTOGRAMS, SLOT_NONZEROS,
  SLOT_POSITIVE, SLOT_STAMPS, SLOT_TEXTS,
} from '../generate-layout'
import { writeDrawnRow } from './generate-drawn'
import { cellsFilled, writeTableRow } from './generate-table'
import { draw, hiddenWord, UNIT } from './hidden-model'
import { mix } from './random'
import { eightDigits, writeNumber, ZEROS } from './write-number'

const STEP: u64 = 0x9e3779b97f4a7c15
/** Tells the seed of the hidden model from that of the rows. */
const HIDDEN: u64 = 0x5851f42d4c957f2d
/** Shorter runs are sorted by insertion. */
const SHORT: u32 = 32
const SPACE: u8 = 32, LF: u8 = 10, COLON: u8 = 58, MINUS: u8 = 45
/** "+1 " and "-1 ", with a byte of padding that the row overwrites. */
const LABEL_POSITIVE: u32 = 0x20312b, LABEL_NEGATIVE: u32 = 0x20312d
/** "1" and "0", a tab behind them: labels of a table. */
const CELL_POSITIVE: u16 = 0x0931, CELL_NEGATIVE: u16 = 0x0930
/** ":1 " */
const TEXT_ONE: u32 = 0x20313a
/** "0." */
const TEXT_ZERO_POINT: u16 = 0x2e30

// The random stream and the counters of the chunk in the making. Globals belong to an instance, so to one thread.
let state: u64 = 0
let nonzeros: u32 = 0

@inline
function next(): u64 {
  state += STEP
  return mix(state)
}

/** A number in [0, 1). */
@inline
function uniform(): f64 {
  return f64(next() >> 32) * UNIT
}

/** Writes `:value ` for a value in (0, 1] with six significant digits, and its length in the sixteenth byte. */
function writeValueText(at: usize, value: f64): void {
  let p = at
  store<u8>(p++, COLON)
  if (value > 0.9999995) store<u8>(p++, 49)
  else {
    store<u16>(p, TEXT_ZERO_POINT)
    p += 2
    // At most four zeros after the point, so that the text fits in its sixteen bytes.
    for (let zeros = 0; zeros < 4 && value < 0.09999995; zeros++) {
      value *= 10
      store<u8>(p++, 48)
    }
    let digits = eightDigits(max(1, u32(value * 1e6 + 0.5))) >> 16
    for (; digits != 0; digits >>= 8) store<u8>(p++, u8(digits & 15) + 48)
  }
  store<u8>(p++, SPACE)
  store<u8>(at, u8(p - at), 15)
}

/** Sorts count keys of so many bytes at a; returns a or b, where the result is. */
function sortKeys(a: usize, b: usize, count: u32, bytes: u32, histograms: usize): usize {
  if (count <= SHORT) {
    for (let i: u32 = 1; i < count; i++) {
      const key = load<u32>(a + (usize(i) << 2))
      let at = a + (usize(i) << 2)
      for (; at > a && load<u32>(at - 4) > key; at -= 4) store<u32>(at, load<u32>(at - 4))
      store<u32>(at, key)
    }
    return a
  }
  memory.fill(histograms, 0, usize(bytes) << 10)
  for (let p = a, end = a + (usize(count) << 2); p < end; p += 4) {
    let key = load<u32>(p)
    for (let h = histograms, last = histograms + (usize(bytes) << 10); h < last; h += 1024) {
      const at = h + (usize(key & 255) << 2)
      store<u32>(at, load<u32>(at) + 1)
      key >>= 8
    }
  }
  for (let pass: u32 = 0; pass < bytes; pass++) {
    const histogram = histograms + (usize(pass) << 10)
    let sum = u32(b)
    for (let h = histogram; h < histogram + 1024; h += 4) {
      const size = load<u32>(h) << 2
      store<u32>(h, sum)
      sum += size
    }
    const shift = pass << 3
    for (let p = a, end = a + (usize(count) << 2); p < end; p += 4) {
      const key = load<u32>(p)
      const h = histogram + (usize((key >> shift) & 255) << 2)
      const to = load<u32>(h)
      store<u32>(to, key)
      store<u32>(h, to + 4)
    }
    const t = a
    a = b
    b = t
  }
  return a
}

/** Draws a group's features into keys: within the group, unsorted, with repetitions. */
function drawMany(
  group: usize, keys: usize, count: u32, salt: u32, telling: u32, positive: u32, tilt: u32, burst: u32,
): void {
  const ranks = <usize>load<u32>(group, GROUP_RANKS)
  const clusters = <u64>load<u32>(group, GROUP_CLUSTERS)
  const stride = load<u32>(group, GROUP_STRIDE)
  const run = <u64>load<u32>(group, GROUP_RUN)
  let s = state
  for (let p = keys, end = keys + (usize(count) << 2); p < end; p += 4) {
    s += STEP
    if (burst != 0 && p > keys) {
      // Any earlier draw, so that what was drawn often is drawn more often.
      const again = mix(s)
      s += STEP
      if ((u32(again) & 0xffff) < burst) {
        const place = ((again >> 32) * u64((p - keys) >> 2)) >> 32
        store<u32>(p, load<u32>(keys + (usize(place) << 2)))
        continue
      }
    }
    let key = draw(mix(s), ranks, salt, telling, positive, tilt)
    if (clusters != 0) {
      // A multiplication by the golden ratio spreads neighbouring ranks far and evenly; two ranks may now and then
      // share a feature, as words share a hash.
      const place = u64((key + 1) * 0x9e3779b1) * clusters
      key = u32(place >> 32) * stride + u32((u64(u32(place)) * run) >> 32)
    }
    store<u32>(p, key)
  }
  state = s
}

function writeSparseRow(plan: usize, slot: usize, p: usize, positive: u32, tilt: f64, salt: u32, stamp: u32): usize {
  const room = (usize(load<u32>(plan, PLAN_MOST)) + 4) << 2
  const keys = slot + SLOT_ARRAYS
  const other = keys + room
  const features = other + room
  const ends = features + room
  const telling = load<u32>(plan, PLAN_TELLING)
  const swap = u32(tilt * 65536)
  const burst = load<u32>(plan, PLAN_BURST)
  const groups = load<u32>(plan, PLAN_GROUPS)
  let group = <usize>load<u32>(plan, PLAN_GROUP_TABLE)
  // features[k] is the row's k-th feature, ends[k] how many draws went to the features up to it. Entry 0 is below all.
  let last: usize = 0
  let drawn: u32 = 0
  store<u32>(ends, 0)
  for (let g: u32 = 0; g < groups; g++, group += GROUP_BYTES) {
    const lengths = <usize>load<u32>(group, GROUP_DRAWS)
    const first = load<u32>(group, GROUP_FIRST) + 1
    const groupSalt = salt + g * 0x7f4a7c15
    if (lengths == 0) {
      const ranks = <usize>load<u32>(group, GROUP_RANKS)
      last += 4
      store<u32>(features + last, first + draw(next(), ranks, groupSalt, telling, positive, swap))
      store<u32>(ends + last, ++drawn)
      continue
    }
    const count = load<u32>(lengths + (usize(next() >> 56) << 2))
    drawMany(group, keys, count, groupSalt, telling, positive, swap, burst)
    const sorted = sortKeys(keys, other, count, load<u32>(group, GROUP_KEY_BYTES), slot + SLOT_HISTOGRAMS)
    let previous: u32 = 0xffffffff
    for (let i: u32 = 0; i < count; i++) {
      // Without a branch: whether a feature was drawn before is anybody's guess.
      const key = load<u32>(sorted + (usize(i) << 2))
      last += usize(key != previous) << 2
      store<u32>(features + last, first + key)
      store<u32>(ends + last, drawn + i + 1)
      previous = key
    }
    drawn += count
  }
  nonzeros += u32(last >> 2)
  if (load<u32>(plan, PLAN_ONES)) {
    for (let at: usize = 4; at <= last; at += 4) {
      p = writeNumber(p, load<u32>(features + at))
      store<u32>(p, TEXT_ONE)
      p += 3
    }
    return p
  }
  // The row's length, and which counts it has.
  const values = <usize>load<u32>(plan, PLAN_COUNT_VALUES)
  const stamps = slot + SLOT_STAMPS
  let distinct = slot + SLOT_DISTINCT
  let squares: f64 = 0
  let largest: f64 = 0
  for (let at: usize = 4, before: u32 = 0; at <= last; at += 4) {
    const end = load<u32>(ends + at)
    const count = usize(min(end - before, GENERATE_COUNTS - 1))
    before = end
    store<u32>(ends + at, u32(count))
    const value = load<f64>(values + (count << 3))
    squares += value * value
    largest = max(largest, value)
    if (load<u32>(stamps + (count << 2)) != stamp) {
      store<u32>(stamps + (count << 2), stamp)
      store<u32>(distinct, u32(count))
      distinct += 4
    }
  }
  const scale = 1 / (load<u32>(plan, PLAN_BY_LARGEST) ? largest : Math.sqrt(squares))
  const texts = slot + SLOT_TEXTS
  for (let at = slot + SLOT_DISTINCT; at < distinct; at += 4) {
    const count = <usize>load<u32>(at)
    writeValueText(texts + (count << 4), load<f64>(values + (count << 3)) * scale)
  }
  for (let at: usize = 4; at <= last; at += 4) {
    p = writeNumber(p, load<u32>(features + at))
    const text = texts + (<usize>load<u32>(ends + at) << 4)
    v128.store(p, v128.load(text))
    p += <usize>load<u8>(text, 15)
  }
  return p
}

/** A draw from the normal distribution, cut off at its outermost quantile, from 32 random bits. */
@inline
function normal(table: usize, random: u32): f32 {
  const piece = table + (usize(random >> 22) << 2)
  const low = load<f32>(piece)
  return low + (load<f32>(piece, 4) - low) * (f32(i32(random & 0x3fffff)) * <f32>(1.0 / 4194304.0))
}

/** The salt of the hidden model. */
@inline
function hiddenSalt(seed: u64): u32 {
  return u32(mix(seed ^ HIDDEN) >> 32)
}

/** How far a dense row of tilt 1 is moved, in standard deviations along the direction that tells the classes apart best:
 *  √(sᵀ Σ⁻¹ s) of the shift s, where Σ is the matrix of the correlations. */
export function hiddenLength(plan: usize): f64 {
  const count = load<u32>(plan, PLAN_FEATURES)
  const salt = hiddenSalt(load<u64>(plan, PLAN_SEED))
  const correlation = load<f64>(plan, PLAN_CORRELATION)
  const innovation = load<f64>(plan, PLAN_INNOVATION)
  let squares: f64 = 0
  let before: f64 = 0
  for (let j: u32 = 0; j < count; j++) {
    const weight = f64(i32(hiddenWord(j, salt))) / 2147483648.0
    const own = j == 0 ? weight : (weight - correlation * before) / innovation
    squares += own * own
    before = weight
  }
  return Math.sqrt(squares * 3.0 / f64(count))
}

function writeDenseRow(plan: usize, slot: usize, p: usize, positive: u32, tilt: f64, salt: u32): usize {
  const count = load<u32>(plan, PLAN_FEATURES)
  const table = <usize>load<u32>(plan, PLAN_NORMAL)
  const values = slot + SLOT_ARRAYS
  const correlation = f32(load<f64>(plan, PLAN_CORRELATION))
  const innovation = f32(load<f64>(plan, PLAN_INNOVATION))
  // Weights are uniform in ±1; the shift of the whole row is tilt standard deviations.
  const push = f32((positive ? tilt : -tilt) * Math.sqrt(3.0 / f64(count)) / 2147483648.0)
  let walk = normal(table, u32(next()))
  let squares: f64 = 0
  let s = state
  let random: u64 = 0
  for (let j: u32 = 0; j < count; j++) {
    if (j & 1) random >>= 32
    else {
      s += STEP
      random = mix(s)
    }
    walk = correlation * walk + innovation * normal(table, u32(random))
    const value = walk + push * f32(i32(hiddenWord(j, salt)))
    store<f32>(values + (usize(j) << 2), value)
    squares += f64(value * value)
  }
  state = s
  nonzeros += count
  const levels = <usize>load<u32>(plan, PLAN_LEVELS)
  if (levels) {
    for (let j: u32 = 0; j < count; j++) {
      p = writeNumber(p, j + 1)
      // 128 ± 56 a standard deviation; never level 0, which would be no entry at all.
      const level = i32(<f32>128.0 + <f32>56.0 * load<f32>(values + (usize(j) << 2)))
      const text = load<u64>(levels + (usize(max(1, min(255, level))) << 3))
      store<u64>(p, text)
      p += usize(text >> 56)
    }
    return p
  }
  const scale = f32(1e7 / Math.sqrt(squares))
  for (let j: u32 = 0; j < count; j++) {
    p = writeNumber(p, j + 1)
    const value = load<f32>(values + (usize(j) << 2)) * scale
    const digits = max(1, min(9999999, u32(abs(value) + <f32>0.5)))
    store<u16>(p, u16(COLON) | (u16(MINUS) << 8))
    p += 1 + usize(value < 0)
    store<u16>(p, TEXT_ZERO_POINT)
    store<u64>(p, (eightDigits(digits) | ZEROS) >> 8, 2)
    store<u8>(p, SPACE, 9)
    p += 10
  }
  return p
}

/** Writes rows as text at out and returns the bytes. They depend on the plan, stream and chunk number alone. */
export function generateRows(plan: usize, slot: usize, out: usize, rows: u32, chunk: u32, stream: u32): u32 {
  const seed = load<u64>(plan, PLAN_SEED)
  const hidden = seed ^ HIDDEN
  let salt = hiddenSalt(seed)
  state = mix(mix(seed + STEP) ^ ((u64(stream) << 32) | u64(chunk)))
  nonzeros = 0
  const share = load<f64>(plan, PLAN_POSITIVE)
  const noise = load<f64>(plan, PLAN_NOISE)
  const hardness = load<f64>(plan, PLAN_HARDNESS)
  const fullTilt = load<f64>(plan, PLAN_TILT)
  const kind = load<u32>(plan, PLAN_KIND)
  const classes = load<u32>(plan, PLAN_CLASSES)
  memory.fill(slot + SLOT_STAMPS, 0, GENERATE_COUNTS * 4)
  let positives: u32 = 0
  let p = out
  for (let row: u32 = 0; row < rows; row++) {
    let positive: u32 = 1
    let drawn: u32 = 0
    let tilt: f64
    if (classes == 0) {
      positive = u32(uniform() < share)
      tilt = fullTilt * (1 - hardness * uniform())
      const label = positive ^ u32(uniform() < noise)
      positives += label
      if (kind == PLAN_KIND_TABLE) {
        store<u16>(p, label ? CELL_POSITIVE : CELL_NEGATIVE)
        p += 2
      } else {
        store<u32>(p, label ? LABEL_POSITIVE : LABEL_NEGATIVE)
        p += 3
      }
    } else {
      let label = u32(uniform() * f64(classes))
      drawn = label
      salt = u32(mix(hidden + u64(label + 1) * STEP) >> 32)
      tilt = fullTilt * (1 - hardness * uniform())
      // A wrong label is any of the others.
      if (uniform() < noise) label = (label + 1 + u32(uniform() * f64(classes - 1))) % classes
      p = writeNumber(p, label + 1)
      store<u8>(p++, SPACE)
    }
    if (kind == PLAN_KIND_DENSE) p = writeDenseRow(plan, slot, p, positive, tilt, salt)
    else if (kind == PLAN_KIND_DRAWN) {
      const end = writeDrawnRow(plan, slot, p, drawn, tilt, next())
      nonzeros += load<u32>(slot, SLOT_NONZEROS)
      p = end
    } else if (kind == PLAN_KIND_TABLE) {
      p = writeTableRow(plan, p, positive, tilt, salt, next())
      nonzeros += cellsFilled
    } else p = writeSparseRow(plan, slot, p, positive, tilt, salt, row + 1)
    // The blank after the last entry, or the tab after the last cell, becomes the end of the line.
    store<u8>(p - 1, LF)
  }
  store<u32>(slot, nonzeros, SLOT_NONZEROS)
  store<u32>(slot, positives, SLOT_POSITIVE)
  return u32(p - out)
}
