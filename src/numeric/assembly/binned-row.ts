// Rows whose values are bin numbers: a bin stands for a short vector of a table, the value of an additive kernel's map there.
// Such a row is the concatenation of those vectors, so feature j has `width` weights, from j · width on. To everything above
// it is a row like any other. There is one table at a time, at an address that the control page knows: records can be
// written down and read into another memory.
import {
  ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_BINS16, ROW_KIND_BINS8, ROW_KIND_DENSE_BINS16, ROW_KIND_DENSE_BINS8, ROW_KIND_SHORT_BINS16,
  ROW_KIND_SHORT_BINS8, ROW_SCALE, SPACE_TABLE,
  SPACE_WIDTH,
} from '../layouts'

/** From this width on, vectors are taken by pairs. */
const LONG: usize = 8

// B is the type of a bin number, u8 or u16; D that of an index, u32 or u16, or bool for rows without indices, whose absent
// entries are bin 0. V says what the width is: u8
// three, the usual one, u32 whatever the control page says.
@inline
function widthOf<V>(): usize {
  return sizeof<V>() == 1 ? 3 : <usize>load<u32>(SPACE_WIDTH)
}

/** Whether bin numbers take two bytes. */
@inline
export function hasWideBins(kind: u32): bool {
  return kind == ROW_KIND_BINS16 || kind == ROW_KIND_SHORT_BINS16 || kind == ROW_KIND_DENSE_BINS16
}

/** Bytes of an index; of a row without indices, 0. */
@inline
function indexBytes(kind: u32): usize {
  return kind == ROW_KIND_DENSE_BINS8 || kind == ROW_KIND_DENSE_BINS16 ? 0 : kind == ROW_KIND_SHORT_BINS8 || kind == ROW_KIND_SHORT_BINS16 ? 2 : 4
}

/** Σ w · vectors of the bins, scale included. One call a row. */
export function dotBinned<W>(row: usize, w: usize): f64 {
  const kind = load<u32>(row, ROW_KIND)
  const sum = kind == ROW_KIND_SHORT_BINS8 ? dotOf<W, u8, u16>(row, w)
    : kind == ROW_KIND_SHORT_BINS16 ? dotOf<W, u16, u16>(row, w)
    : kind == ROW_KIND_BINS8 ? dotOf<W, u8, u32>(row, w)
    : kind == ROW_KIND_BINS16 ? dotOf<W, u16, u32>(row, w)
    : kind == ROW_KIND_DENSE_BINS8 ? dotOf<W, u8, bool>(row, w)
    : dotOf<W, u16, bool>(row, w)
  return sum * load<f64>(row, ROW_SCALE)
}

@inline
function dotOf<W, B, D>(row: usize, w: usize): f64 {
  if (sizeof<W>() == 8 && load<u32>(SPACE_WIDTH) == 3) return dotBins<W, B, D, u8>(row, w)
  return dotBins<W, B, D, u32>(row, w)
}

function dotBins<W, B, D, V>(row: usize, w: usize): f64 {
  const width = widthOf<V>()
  const table = <usize>load<u32>(SPACE_TABLE)
  const n = load<u32>(row, ROW_COUNT)
  let i = row + ROW_ENTRIES
  let bins = isBoolean<D>() ? i : i + usize(n) * sizeof<D>()
  const end = bins + usize(n) * sizeof<B>()
  const step = width * sizeof<W>()
  let p = w
  let pairs = f64x2.splat(0)
  let a: f64 = 0
  for (; bins < end; bins += sizeof<B>()) {
    const bin = usize(load<B>(bins))
    let at = p
    if (isBoolean<D>()) {
      p += step
      if (bin == 0) continue
    } else {
      at = w + usize(load<D>(i)) * step
      i += sizeof<D>()
    }
    const t = table + bin * (width << 3)
    if (sizeof<V>() == 1) {
      pairs = f64x2.add(pairs, f64x2.mul(v128.load(at), v128.load(t)))
      a += load<f64>(at, 16) * load<f64>(t, 16)
    } else if (sizeof<W>() == 8 && width >= LONG) {
      let k: usize = 0
      for (; k + 1 < width; k += 2) {
        pairs = f64x2.add(pairs, f64x2.mul(v128.load(at + (k << 3)), v128.load(t + (k << 3))))
      }
      if (k < width) a += load<f64>(at + (k << 3)) * load<f64>(t + (k << 3))
    } else {
      for (let k: usize = 0; k < width; k++) a += f64(load<W>(at + k * sizeof<W>())) * load<f64>(t + (k << 3))
    }
  }
  return f64x2.extract_lane(pairs, 0) + f64x2.extract_lane(pairs, 1) + a
}

/** w += step · vectors of the bins. */
export function axpyBinned<W>(row: usize, step: f64, w: usize): void {
  const kind = load<u32>(row, ROW_KIND)
  const s = step * load<f64>(row, ROW_SCALE)
  if (kind == ROW_KIND_SHORT_BINS8) axpyOf<W, u8, u16>(row, s, w)
  else if (kind == ROW_KIND_SHORT_BINS16) axpyOf<W, u16, u16>(row, s, w)
  else if (kind == ROW_KIND_BINS8) axpyOf<W, u8, u32>(row, s, w)
  else if (kind == ROW_KIND_BINS16) axpyOf<W, u16, u32>(row, s, w)
  else if (kind == ROW_KIND_DENSE_BINS8) axpyOf<W, u8, bool>(row, s, w)
  else axpyOf<W, u16, bool>(row, s, w)
}

@inline
function axpyOf<W, B, D>(row: usize, s: f64, w: usize): void {
  if (sizeof<W>() == 8 && load<u32>(SPACE_WIDTH) == 3) axpyBins<W, B, D, u8>(row, s, w)
  else axpyBins<W, B, D, u32>(row, s, w)
}

function axpyBins<W, B, D, V>(row: usize, s: f64, w: usize): void {
  const width = widthOf<V>()
  const table = <usize>load<u32>(SPACE_TABLE)
  const n = load<u32>(row, ROW_COUNT)
  let i = row + ROW_ENTRIES
  let bins = isBoolean<D>() ? i : i + usize(n) * sizeof<D>()
  const end = bins + usize(n) * sizeof<B>()
  const step = width * sizeof<W>()
  let p = w
  const both = f64x2.splat(s)
  for (; bins < end; bins += sizeof<B>()) {
    const bin = usize(load<B>(bins))
    let at = p
    if (isBoolean<D>()) {
      p += step
      if (bin == 0) continue
    } else {
      at = w + usize(load<D>(i)) * step
      i += sizeof<D>()
    }
    const t = table + bin * (width << 3)
    if (sizeof<V>() == 1) {
      v128.store(at, f64x2.add(v128.load(at), f64x2.mul(v128.load(t), both)))
      store<f64>(at, load<f64>(at, 16) + load<f64>(t, 16) * s, 16)
    } else if (sizeof<W>() == 8 && width >= LONG) {
      let k: usize = 0
      for (; k + 1 < width; k += 2) {
        const place = at + (k << 3)
        v128.store(place, f64x2.add(v128.load(place), f64x2.mul(v128.load(t + (k << 3)), both)))
      }
      if (k < width) {
        const place = at + (k << 3)
        store<f64>(place, load<f64>(place) + load<f64>(t + (k << 3)) * s)
      }
    } else {
      for (let k: usize = 0; k < width; k++) {
        const place = at + k * sizeof<W>()
        store<W>(place, <W>(f64(load<W>(place)) + load<f64>(t + (k << 3)) * s))
      }
    }
  }
}

/** Σ of the squared lengths of the bins' vectors, without the scale. */
export function squaresBinned(row: usize): f64 {
  const kind = load<u32>(row, ROW_KIND)
  const width = <usize>load<u32>(SPACE_WIDTH)
  const table = <usize>load<u32>(SPACE_TABLE)
  const n = load<u32>(row, ROW_COUNT)
  const wide = hasWideBins(kind)
  const bins = row + ROW_ENTRIES + usize(n) * indexBytes(kind)
  let sum: f64 = 0
  for (let e: usize = 0; e < usize(n); e++) {
    const bin: usize = wide ? usize(load<u16>(bins + (e << 1))) : usize(load<u8>(bins + e))
    if (bin == 0) continue
    const t = table + bin * (width << 3)
    for (let k: usize = 0; k < width; k++) {
      const x = load<f64>(t + (k << 3))
      sum += x * x
    }
  }
  return sum
}

// The same for models side by side. S says how many lanes there are, as in bundle.ts: u8 two, u16 four, u32 eight.
@inline
function shift<S>(): usize {
  return sizeof<S>() == 1 ? 4 : sizeof<S>() == 2 ? 5 : 6
}

/** The dot product with every lane, into `dots`, scale included. */
export function dotBinnedLanes<S>(row: usize, w: usize, dots: usize): void {
  const width = <usize>load<u32>(SPACE_WIDTH)
  const table = <usize>load<u32>(SPACE_TABLE)
  const n = usize(load<u32>(row, ROW_COUNT))
  const kind = load<u32>(row, ROW_KIND)
  const wide = hasWideBins(kind)
  const each = indexBytes(kind)
  const entries = row + ROW_ENTRIES
  const bins = entries + n * each
  let a = f64x2.splat(0), b = f64x2.splat(0), c = f64x2.splat(0), d = f64x2.splat(0)
  for (let e: usize = 0; e < n; e++) {
    const bin: usize = wide ? usize(load<u16>(bins + (e << 1))) : usize(load<u8>(bins + e))
    if (bin == 0) continue
    const index = each == 2 ? usize(load<u16>(entries + (e << 1))) : each == 4 ? usize(load<u32>(entries + (e << 2))) : e
    let p = w + ((index * width) << shift<S>())
    let t = table + bin * (width << 3)
    for (const end = t + (width << 3); t < end; t += 8, p += usize(1) << shift<S>()) {
      const x = v128.load64_splat(t)
      a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
      if (sizeof<S>() > 1) b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
      if (sizeof<S>() > 2) {
        c = f64x2.add(c, f64x2.mul(x, v128.load(p, 32)))
        d = f64x2.add(d, f64x2.mul(x, v128.load(p, 48)))
      }
    }
  }
  const scale = f64x2.splat(load<f64>(row, ROW_SCALE))
  v128.store(dots, f64x2.mul(a, scale))
  if (sizeof<S>() > 1) v128.store(dots, f64x2.mul(b, scale), 16)
  if (sizeof<S>() > 2) {
    v128.store(dots, f64x2.mul(c, scale), 32)
    v128.store(dots, f64x2.mul(d, scale), 48)
  }
}

/** w += step · vectors of the bins in every lane. */
export function axpyBinnedLanes<S>(row: usize, steps: usize, w: usize): void {
  const width = <usize>load<u32>(SPACE_WIDTH)
  const table = <usize>load<u32>(SPACE_TABLE)
  const n = usize(load<u32>(row, ROW_COUNT))
  const kind = load<u32>(row, ROW_KIND)
  const wide = hasWideBins(kind)
  const each = indexBytes(kind)
  const entries = row + ROW_ENTRIES
  const bins = entries + n * each
  const scale = f64x2.splat(load<f64>(row, ROW_SCALE))
  const a = f64x2.mul(v128.load(steps), scale)
  const b = f64x2.mul(v128.load(steps, 16), scale)
  const c = f64x2.mul(v128.load(steps, 32), scale)
  const d = f64x2.mul(v128.load(steps, 48), scale)
  for (let e: usize = 0; e < n; e++) {
    const bin: usize = wide ? usize(load<u16>(bins + (e << 1))) : usize(load<u8>(bins + e))
    if (bin == 0) continue
    const index = each == 2 ? usize(load<u16>(entries + (e << 1))) : each == 4 ? usize(load<u32>(entries + (e << 2))) : e
    let p = w + ((index * width) << shift<S>())
    let t = table + bin * (width << 3)
    for (const end = t + (width << 3); t < end; t += 8, p += usize(1) << shift<S>()) {
      const x = v128.load64_splat(t)
      v128.store(p, f64x2.add(v128.load(p), f64x2.mul(x, a)))
      if (sizeof<S>() > 1) v128.store(p, f64x2.add(v128.load(p, 16), f64x2.mul(x, b)), 16)
      if (sizeof<S>() > 2) {
        v128.store(p, f64x2.add(v128.load(p, 32), f64x2.mul(x, c)), 32)
        v128.store(p, f64x2.add(v128.load(p, 48), f64x2.mul(x, d)), 48)
      }
    }
  }
}
