// Scores of a batch's rows, straight from the compressed sparse rows that a parser left.
import {
  BATCH_INDICES, BATCH_ROWS, BATCH_STARTS, BATCH_VALUE_BYTES,BATCH_VALUES, 
} from '../layouts'
import { isSound, towardsOne } from './row'

/** scores[r·K + k] = scale_r Σ_j w[j·K + k] x_rj + bias_k. Features beyond `features` count nothing. `factors` (f64 a
 *  feature) may be 0; `unit` divides a row by its length after scaling. Weights are f64, or f32 when narrow. */
export function scoreBatch(batch: usize, weights: usize, features: u32, models: u32, bias: usize, factors: usize, unit: bool, scores: usize, narrow: bool): void {
  const wide = load<u32>(batch, BATCH_VALUE_BYTES) == 8
  if (narrow) {
    if (wide) score<f64, f32>(batch, weights, features, models, bias, factors, unit, scores)
    else score<f32, f32>(batch, weights, features, models, bias, factors, unit, scores)
  } else if (wide) score<f64, f64>(batch, weights, features, models, bias, factors, unit, scores)
  else score<f32, f64>(batch, weights, features, models, bias, factors, unit, scores)
}

/** A value, scaled: in f64, as training has it. */
@inline
function valueOf<V>(values: usize, indices: usize, e: u32, factors: usize, features: u32): f64 {
  const x = f64(load<V>(values + usize(e) * sizeof<V>()))
  if (factors == 0) return x
  const index = load<u32>(indices + (usize(e) << 2))
  return index < features ? x * load<f64>(factors + (usize(index) << 3)) : x
}

@inline
function squaresOf<V>(values: usize, indices: usize, from: u32, to: u32, factors: usize, features: u32, before: f64): f64 {
  let squares: f64 = 0
  for (let e = from; e < to; e++) {
    const x = valueOf<V>(values, indices, e, factors, features) * before
    squares += x * x
  }
  return squares
}

@inline
function score<V, W>(batch: usize, weights: usize, features: u32, models: u32, bias: usize, factors: usize, unit: bool, scores: usize): void {
  const rows = load<u32>(batch, BATCH_ROWS)
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  for (let r: u32 = 0; r < rows; r++) {
    const from = load<u32>(starts + (usize(r) << 2))
    const to = load<u32>(starts + (usize(r) << 2), 4)
    const out = scores + usize(r) * (usize(models) << 3)
    let before: f64 = 1
    let scale: f64 = 1
    if (unit) {
      let squares = squaresOf<V>(values, indices, from, to, factors, features, 1)
      if (!isSound(squares)) {
        let largest: f64 = 0
        for (let e = from; e < to; e++) largest = max(largest, abs(valueOf<V>(values, indices, e, factors, features)))
        if (largest > 0) before = towardsOne(largest)
        squares = squaresOf<V>(values, indices, from, to, factors, features, before)
      }
      if (squares > 0) scale = 1 / Math.sqrt(squares)
    }
    if (models == 1) {
      let sum: f64 = 0
      for (let e = from; e < to; e++) {
        const index = load<u32>(indices + (usize(e) << 2))
        if (index < features) sum += f64(load<W>(weights + usize(index) * sizeof<W>())) * (valueOf<V>(values, indices, e, factors, features) * before)
      }
      store<f64>(out, sum * scale + load<f64>(bias))
    } else {
      for (let k: u32 = 0; k < models; k++) store<f64>(out + (usize(k) << 3), 0)
      for (let e = from; e < to; e++) {
        const index = load<u32>(indices + (usize(e) << 2))
        if (index >= features) continue
        const x = valueOf<V>(values, indices, e, factors, features) * before
        const w = weights + usize(index) * usize(models) * sizeof<W>()
        for (let k: u32 = 0; k < models; k++) {
          const at = out + (usize(k) << 3)
          store<f64>(at, load<f64>(at) + f64(load<W>(w + usize(k) * sizeof<W>())) * x)
        }
      }
      for (let k: u32 = 0; k < models; k++) {
        const at = out + (usize(k) << 3)
        store<f64>(at, load<f64>(at) * scale + load<f64>(bias + (usize(k) << 3)))
      }
    }
  }
}
