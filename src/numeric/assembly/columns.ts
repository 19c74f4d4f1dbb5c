// Rows turned into columns, for coordinate descent over features: each entry with its row's number, and a value times whatever
// its row is multiplied by. Then sums over columns, and of columns.
import {
  PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, ROW_CLASS, ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES,
  ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32, ROW_KIND_SCALED_DENSE,
  ROW_KIND_SCALED_F32, ROW_SCALE,
} from '../layouts'
import { L1_COSTS, L1_ENTRIES, L1_FEATURES, L1_MOST, L1_STARTS, L1_VALUES } from '../l1-layout'
import { isDense, wideValues } from './row'
import { rowWeightsOf } from './row-costs'
import { factorsOfRows, scaledValue } from './scaled-row'

/** Counts the nonzeros of each feature into u32[], which holds zeros; how many there are in all. */
export function countColumns(table: usize, rows: u32, counts: usize): f64 {
  let all: f64 = 0
  for (let r: u32 = 0; r < rows; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const entries = row + ROW_ENTRIES
    if (isDense(row)) {
      for (let j: usize = 0; j < usize(n); j++) {
        if (load<f32>(entries + (j << 2)) == 0) continue
        const at = counts + (j << 2)
        store<u32>(at, load<u32>(at) + 1)
        all += 1
      }
    } else {
      for (let k: usize = 0; k < usize(n); k++) {
        const at = counts + (usize(load<u32>(entries + (k << 2))) << 2)
        store<u32>(at, load<u32>(at) + 1)
      }
      all += f64(n)
    }
  }
  return all
}

/** Counts of columns become their starts, in place; the end of all behind them. */
export function startColumns(counts: usize, columns: u32): void {
  let next: u32 = 0
  for (let j: u32 = 0; j < columns; j++) {
    const at = counts + (usize(j) << 2)
    const count = load<u32>(at)
    store<u32>(at, next)
    next += count
  }
  store<u32>(counts + (usize(columns) << 2), next)
}

@inline
function put(next: usize, entries: usize, values: usize, j: u32, row: u32, value: f64): void {
  const at = next + (usize(j) << 2)
  const place = load<u32>(at)
  store<u32>(at, place + 1)
  store<u32>(entries + (usize(place) << 2), row)
  store<f64>(values + (usize(place) << 3), value)
}

/** What the cost of a row is multiplied by. Under the square a cost is its root, and so is the row's weight. */
@inline
function ownShare(weights: usize, r: u32, root: bool): f64 {
  if (weights == 0) return 1
  const weight = load<f64>(weights + (usize(r) << 3))
  return root ? Math.sqrt(weight) : weight
}

/** Puts every entry into its column, rows rising. `next` is a copy of the starts and is used up. A row's values are
 *  multiplied by its scale, by `positive` or `negative`, and, under the square, by the root of the row's weight. A bias column, when there is one, comes behind the features. */
export function fillColumns(problem: usize, rows: u32, next: usize, entries: usize, values: usize, positive: f64, negative: f64): void {
  const table = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positiveClass = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasFeature = load<u32>(problem, PROBLEM_BIAS_FEATURE)
  const weights: usize = load<u32>(problem, PROBLEM_LOGISTIC) != 0 ? 0 : rowWeightsOf(problem)
  for (let r: u32 = 0; r < rows; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const kind = load<u32>(row, ROW_KIND)
    const side = (load<u32>(row, ROW_CLASS) == positiveClass ? positive : negative) * ownShare(weights, r, true)
    const factor = side * load<f64>(row, ROW_SCALE)
    let i = row + ROW_ENTRIES
    const end = i + (usize(n) << 2)
    if (kind == ROW_KIND_CONSTANT) {
      for (; i < end; i += 4) put(next, entries, values, load<u32>(i), r, factor)
    } else if (kind == ROW_KIND_CODED) {
      const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
      for (let v = end; i < end; i += 4, v++) {
        put(next, entries, values, load<u32>(i), r, factor * f64(load<f32>(dictionary + (usize(load<u8>(v)) << 2))))
      }
    } else if (kind == ROW_KIND_F32) {
      for (let v = end; i < end; i += 4, v += 4) put(next, entries, values, load<u32>(i), r, factor * f64(load<f32>(v)))
    } else if (kind == ROW_KIND_DENSE) {
      for (let j: u32 = 0; j < n; j++, i += 4) {
        const x = load<f32>(i)
        if (x != 0) put(next, entries, values, j, r, factor * f64(x))
      }
    } else if (kind == ROW_KIND_SCALED_F32) {
      const factors = factorsOfRows()
      for (let v = end; i < end; i += 4, v += 4) {
        const index = load<u32>(i)
        put(next, entries, values, index, r, factor * scaledValue(v, factors, index))
      }
    } else if (kind == ROW_KIND_SCALED_DENSE) {
      const factors = factorsOfRows()
      for (let j: u32 = 0; j < n; j++, i += 4) {
        if (load<f32>(i) != 0) put(next, entries, values, j, r, factor * scaledValue(i, factors, j))
      }
    } else {
      for (let v = wideValues(i, n); i < end; i += 4, v += 8) put(next, entries, values, load<u32>(i), r, factor * load<f64>(v))
    }
    if (bias != 0) put(next, entries, values, biasFeature, r, side * bias)
  }
}

/** Costs for each row (f64), by its side and its weight. */
export function rowCosts(problem: usize, rows: u32, costs: usize, positive: f64, negative: f64): void {
  const table = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positiveClass = load<u32>(problem, PROBLEM_POSITIVE)
  const weights = rowWeightsOf(problem)
  const root = load<u32>(problem, PROBLEM_LOGISTIC) == 0
  for (let r: u32 = 0; r < rows; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const cost = load<u32>(row, ROW_CLASS) == positiveClass ? positive : negative
    store<f64>(costs + (usize(r) << 3), cost * ownShare(weights, r, root))
  }
}

/** For each column Σ v², or Σ C v² when `weighted`: second derivatives are below it, but for a factor. */
export function columnBounds(l1: usize, weighted: bool): void {
  const starts = <usize>load<u32>(l1, L1_STARTS)
  const entries = <usize>load<u32>(l1, L1_ENTRIES)
  const values = <usize>load<u32>(l1, L1_VALUES)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const most = <usize>load<u32>(l1, L1_MOST)
  const columns = load<u32>(l1, L1_FEATURES)
  for (let j: u32 = 0; j < columns; j++) {
    let k = load<u32>(starts + (usize(j) << 2))
    const end = load<u32>(starts + (usize(j) << 2), 4)
    let sum: f64 = 0
    for (; k < end; k++) {
      const x = load<f64>(values + (usize(k) << 3))
      sum += x * x * (weighted ? load<f64>(costs + (usize(load<u32>(entries + (usize(k) << 2))) << 3)) : 1)
    }
    store<f64>(most + (usize(j) << 3), sum)
  }
}

/** out_i += Σ_j w_j v_ij over all columns with a weight. */
export function addColumns(l1: usize, w: usize, sign: f64, out: usize): void {
  const columns = load<u32>(l1, L1_FEATURES)
  for (let j: u32 = 0; j < columns; j++) {
    const x = load<f64>(w + (usize(j) << 3))
    if (x != 0) addColumn(l1, j, sign * x, out)
  }
}

@inline
export function addColumn(l1: usize, j: u32, step: f64, out: usize): u32 {
  const starts = <usize>load<u32>(l1, L1_STARTS) + (usize(j) << 2)
  const from = load<u32>(starts)
  const to = load<u32>(starts, 4)
  let e = <usize>load<u32>(l1, L1_ENTRIES) + (usize(from) << 2)
  const end = <usize>load<u32>(l1, L1_ENTRIES) + (usize(to) << 2)
  let v = <usize>load<u32>(l1, L1_VALUES) + (usize(from) << 3)
  for (; e < end; e += 4, v += 8) {
    const at = out + (usize(load<u32>(e)) << 3)
    store<f64>(at, load<f64>(at) + step * load<f64>(v))
  }
  return to - from
}
