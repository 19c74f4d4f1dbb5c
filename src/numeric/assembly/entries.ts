// What is done with every entry of a row, scale included, where dot and axpy are not enough. T says what: f64 adds squares to a
// vector, u32 writes the entries down. Binned rows have no entries of their own: they are left out.
import {
  ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32,
  ROW_KIND_F64, ROW_KIND_SCALED_DENSE, ROW_KIND_SCALED_F32, ROW_SCALE,
} from '../layouts'
import { wideValues } from './row'
import { factorsOfRows, scaledValue } from './scaled-row'

/** One entry, the k-th: `to` is a vector and `amount` a factor, or `to` takes indices and `values` values. */
@inline
export function meet<T>(index: u32, value: f64, k: usize, to: usize, values: usize, amount: f64): void {
  if (isFloat<T>()) {
    const at = to + (usize(index) << 3)
    store<f64>(at, load<f64>(at) + amount * value * value)
  } else {
    store<u32>(to + (k << 2), index)
    store<f64>(values + (k << 3), value)
  }
}

/** Every entry of a row; how many there are. */
@inline
function meetEntries<T>(row: usize, to: usize, values: usize, amount: f64): u32 {
  const n = load<u32>(row, ROW_COUNT)
  const kind = load<u32>(row, ROW_KIND)
  const scale = load<f64>(row, ROW_SCALE)
  const i = row + ROW_ENTRIES
  const v = i + (usize(n) << 2)
  if (kind == ROW_KIND_CONSTANT) {
    for (let k: usize = 0; k < usize(n); k++) meet<T>(load<u32>(i + (k << 2)), scale, k, to, values, amount)
  } else if (kind == ROW_KIND_CODED) {
    const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
    for (let k: usize = 0; k < usize(n); k++) {
      const x = f64(load<f32>(dictionary + (usize(load<u8>(v + k)) << 2)))
      meet<T>(load<u32>(i + (k << 2)), scale * x, k, to, values, amount)
    }
  } else if (kind == ROW_KIND_F32) {
    for (let k: usize = 0; k < usize(n); k++) {
      meet<T>(load<u32>(i + (k << 2)), scale * f64(load<f32>(v + (k << 2))), k, to, values, amount)
    }
  } else if (kind == ROW_KIND_DENSE) {
    for (let k: usize = 0; k < usize(n); k++) meet<T>(u32(k), scale * f64(load<f32>(i + (k << 2))), k, to, values, amount)
  } else if (kind == ROW_KIND_SCALED_F32) {
    const factors = factorsOfRows()
    for (let k: usize = 0; k < usize(n); k++) {
      const index = load<u32>(i + (k << 2))
      meet<T>(index, scale * scaledValue(v + (k << 2), factors, index), k, to, values, amount)
    }
  } else if (kind == ROW_KIND_SCALED_DENSE) {
    const factors = factorsOfRows()
    for (let k: usize = 0; k < usize(n); k++) {
      meet<T>(u32(k), scale * scaledValue(i + (k << 2), factors, u32(k)), k, to, values, amount)
    }
  } else if (kind == ROW_KIND_F64) {
    const wide = wideValues(i, n)
    for (let k: usize = 0; k < usize(n); k++) meet<T>(load<u32>(i + (k << 2)), scale * load<f64>(wide + (k << 3)), k, to, values, amount)
  } else {
    return 0
  }
  return n
}

/** to_j += amount · x_j² for every entry. */
export function addSquares(row: usize, to: usize, amount: f64): void { meetEntries<f64>(row, to, 0, amount) }

/** Writes indices (u32) and values (f64) down; how many there are. */
export function writeEntries(row: usize, indices: usize, values: usize): u32 { return meetEntries<u32>(row, indices, values, 0) }
