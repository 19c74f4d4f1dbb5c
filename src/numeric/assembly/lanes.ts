// Rows and the weights of up to eight models that lie side by side: one gather of a feature brings the weights of all of
// them, and SIMD runs across them. S says how many lanes there are: u8 two, u16 four, u32 eight.
import {
  ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32,
  ROW_KIND_F64, ROW_KIND_SCALED_DENSE, ROW_SCALE,
} from '../layouts'
import { axpyBinnedLanes, dotBinnedLanes } from './binned-row'
import { isScaled, wideValues } from './row'
import { factorsOfRows, scaledValue } from './scaled-row'

/** Bytes of a feature's weights, as a shift. */
@inline
export function shift<S>(): usize {
  return sizeof<S>() == 1 ? 4 : sizeof<S>() == 2 ? 5 : 6
}

@inline
export function at<S>(w: usize, index: u32): usize {
  return w + (usize(index) << shift<S>())
}

/** The dot product of a row with every lane, into `dots`. */
@inline
export function dotLanes<S>(row: usize, w: usize, dots: usize): void {
  const n = load<u32>(row, ROW_COUNT)
  const kind = load<u32>(row, ROW_KIND)
  let i = row + ROW_ENTRIES
  const end = i + (usize(n) << 2)
  let a = f64x2.splat(0), b = f64x2.splat(0), c = f64x2.splat(0), d = f64x2.splat(0)
  if (kind == ROW_KIND_CONSTANT) {
    for (; i < end; i += 4) {
      const p = at<S>(w, load<u32>(i))
      a = f64x2.add(a, v128.load(p))
      if (sizeof<S>() > 1) b = f64x2.add(b, v128.load(p, 16))
      if (sizeof<S>() > 2) {
        c = f64x2.add(c, v128.load(p, 32))
        d = f64x2.add(d, v128.load(p, 48))
      }
    }
  } else if (kind == ROW_KIND_CODED) {
    const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
    for (let v = end; i < end; i += 4, v++) {
      const p = at<S>(w, load<u32>(i))
      const x = f64x2.splat(f64(load<f32>(dictionary + (usize(load<u8>(v)) << 2))))
      a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
      if (sizeof<S>() > 1) b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
      if (sizeof<S>() > 2) {
        c = f64x2.add(c, f64x2.mul(x, v128.load(p, 32)))
        d = f64x2.add(d, f64x2.mul(x, v128.load(p, 48)))
      }
    }
  } else if (kind == ROW_KIND_F32) {
    for (let v = end; i < end; i += 4, v += 4) {
      const p = at<S>(w, load<u32>(i))
      const x = f64x2.splat(f64(load<f32>(v)))
      a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
      if (sizeof<S>() > 1) b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
      if (sizeof<S>() > 2) {
        c = f64x2.add(c, f64x2.mul(x, v128.load(p, 32)))
        d = f64x2.add(d, f64x2.mul(x, v128.load(p, 48)))
      }
    }
  } else if (kind == ROW_KIND_DENSE) {
    let p = w
    for (; i < end; i += 4, p += usize(1) << shift<S>()) {
      const x = f64x2.splat(f64(load<f32>(i)))
      a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
      if (sizeof<S>() > 1) b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
      if (sizeof<S>() > 2) {
        c = f64x2.add(c, f64x2.mul(x, v128.load(p, 32)))
        d = f64x2.add(d, f64x2.mul(x, v128.load(p, 48)))
      }
    }
  } else if (isScaled(kind)) {
    const factors = factorsOfRows()
    const dense = kind == ROW_KIND_SCALED_DENSE
    let v = dense ? i : end
    for (let k: u32 = 0; k < n; k++, v += 4) {
      const index = dense ? k : load<u32>(i + (usize(k) << 2))
      const p = at<S>(w, index)
      const x = f64x2.splat(scaledValue(v, factors, index))
      a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
      if (sizeof<S>() > 1) b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
      if (sizeof<S>() > 2) {
        c = f64x2.add(c, f64x2.mul(x, v128.load(p, 32)))
        d = f64x2.add(d, f64x2.mul(x, v128.load(p, 48)))
      }
    }
  } else if (kind != ROW_KIND_F64) {
    dotBinnedLanes<S>(row, w, dots)
    return
  } else {
    for (let v = wideValues(i, n); i < end; i += 4, v += 8) {
      const p = at<S>(w, load<u32>(i))
      const x = f64x2.splat(load<f64>(v))
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

/** Adds to the weights of one feature. */
@inline
function addLanes<S>(p: usize, x: v128, a: v128, b: v128, c: v128, d: v128): void {
  v128.store(p, f64x2.add(v128.load(p), f64x2.mul(x, a)))
  if (sizeof<S>() > 1) v128.store(p, f64x2.add(v128.load(p, 16), f64x2.mul(x, b)), 16)
  if (sizeof<S>() > 2) {
    v128.store(p, f64x2.add(v128.load(p, 32), f64x2.mul(x, c)), 32)
    v128.store(p, f64x2.add(v128.load(p, 48), f64x2.mul(x, d)), 48)
  }
}

/** w += step · row in every lane. */
@inline
export function axpyLanes<S>(row: usize, steps: usize, w: usize): void {
  const n = load<u32>(row, ROW_COUNT)
  const kind = load<u32>(row, ROW_KIND)
  let i = row + ROW_ENTRIES
  const end = i + (usize(n) << 2)
  const scale = f64x2.splat(load<f64>(row, ROW_SCALE))
  const a = f64x2.mul(v128.load(steps), scale)
  const b = f64x2.mul(v128.load(steps, 16), scale)
  const c = f64x2.mul(v128.load(steps, 32), scale)
  const d = f64x2.mul(v128.load(steps, 48), scale)
  if (kind == ROW_KIND_CONSTANT) {
    const one = f64x2.splat(1)
    for (; i < end; i += 4) addLanes<S>(at<S>(w, load<u32>(i)), one, a, b, c, d)
  } else if (kind == ROW_KIND_CODED) {
    const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
    for (let v = end; i < end; i += 4, v++) {
      addLanes<S>(at<S>(w, load<u32>(i)), f64x2.splat(f64(load<f32>(dictionary + (usize(load<u8>(v)) << 2)))), a, b, c, d)
    }
  } else if (kind == ROW_KIND_F32) {
    for (let v = end; i < end; i += 4, v += 4) addLanes<S>(at<S>(w, load<u32>(i)), f64x2.splat(f64(load<f32>(v))), a, b, c, d)
  } else if (kind == ROW_KIND_DENSE) {
    let p = w
    for (; i < end; i += 4, p += usize(1) << shift<S>()) addLanes<S>(p, f64x2.splat(f64(load<f32>(i))), a, b, c, d)
  } else if (isScaled(kind)) {
    const factors = factorsOfRows()
    const dense = kind == ROW_KIND_SCALED_DENSE
    let v = dense ? i : end
    for (let k: u32 = 0; k < n; k++, v += 4) {
      const index = dense ? k : load<u32>(i + (usize(k) << 2))
      addLanes<S>(at<S>(w, index), f64x2.splat(scaledValue(v, factors, index)), a, b, c, d)
    }
  } else if (kind != ROW_KIND_F64) {
    axpyBinnedLanes<S>(row, steps, w)
  } else {
    for (let v = wideValues(i, n); i < end; i += 4, v += 8) addLanes<S>(at<S>(w, load<u32>(i)), f64x2.splat(load<f64>(v)), a, b, c, d)
  }
}
