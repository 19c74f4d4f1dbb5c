// Losses along w: Σ loss at t·w for many t at once, so that a line search takes one reading pass. A row's margin at t·w is
// t times its margin at w. The same pass looks at what rows are like.
import {
  ALONG_DOTS, ALONG_LEAST, ALONG_LONGEST, ALONG_LOSSES, ALONG_MOST, ALONG_MULTIPLES, ALONG_SHORTEST, ALONG_TRIED,
} from '../along-layout'
import {
  BUNDLE_BIAS, BUNDLE_BIAS_FEATURE, BUNDLE_FOLDS, BUNDLE_HELD_OUT, BUNDLE_LOGISTIC, BUNDLE_MODELS, BUNDLE_POSITIVE, BUNDLE_ROWS,
  BUNDLE_WEIGHTS,
} from '../bundle-layout'
import {
  TOGETHER_BIAS, TOGETHER_BIAS_WEIGHTS, TOGETHER_CLASSES, TOGETHER_PLACES, TOGETHER_ROWS, TOGETHER_STRIDE,
  TOGETHER_WEIGHTS,
} from '../crammer-singer-layout'
import {
  PROBLEM_ALPHA, PROBLEM_FOLDS, PROBLEM_HELD_OUT, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS,
  ROW_CLASS, ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT,
  ROW_KIND_DENSE, ROW_KIND_F32, ROW_KIND_F64, ROW_NORM, ROW_SCALE,
} from '../layouts'
import { biasPartOf } from './bias'
import { at, dotLanes } from './lanes'
import { boxLoss, logisticLoss } from './losses'
import { isLeftOut } from './outliers'
import { dotRow, wideValues } from './row'
import {
  boundForNegative, boundForPositive, costsTogether, diagonalForNegative, diagonalForPositive, laneBound, laneDiagonal,
  rowBound, rowCostTogether, rowDiagonal, rowWeightsOf, rowWeightsOfBundle, rowWeightsTogether,
} from './row-costs'
import { scoreTogether } from './row-together'
import { highestOf } from './softmax'

/** Adds a row's losses at all multiples to one of the eight columns. */
export function addLosses(along: usize, column: usize, margin: f64, bound: f64, diagonal: f64, logistic: bool): void {
  let sum = along + ALONG_LOSSES + (column << 3)
  const end = along + ALONG_MULTIPLES + (usize(load<u32>(along, ALONG_TRIED)) << 3)
  for (let place = along + ALONG_MULTIPLES; place < end; place += 8, sum += 64) {
    const t = load<f64>(place)
    // A margin that has overflowed is 0 at w = 0 all the same.
    const m: f64 = t == 0 ? 0 : t * margin
    store<f64>(sum, load<f64>(sum) + (logistic ? bound * logisticLoss(m) : boxLoss(1 - m, bound, diagonal)))
  }
}

/** Losses of rows from..to are added to the first column; held-out rows count for nothing. */
export function alongF64(problem: usize, from: u32, to: u32, along: usize): void { lookAlong<f64>(problem, from, to, along) }
export function alongF32(problem: usize, from: u32, to: u32, along: usize): void { lookAlong<f32>(problem, from, to, along) }

@inline
function lookAlong<W>(problem: usize, from: u32, to: u32, along: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const biasPart = biasPartOf<W>(problem, w)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const folds = <usize>load<u32>(problem, PROBLEM_FOLDS)
  const heldOut = load<u32>(problem, PROBLEM_HELD_OUT)
  for (let i = from; i < to; i++) {
    if (isLeftOut(alpha, i) || (folds != 0 && u32(load<u8>(folds + usize(i))) == heldOut)) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const dot = dotRow<W>(row, w) + biasPart
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    addLosses(along, 0, isPositive ? dot : -dot, bound, diagonal, logistic)
  }
  lookAtRows(rows, from, to, along)
}

/** The same for a bundle, a column a model: held-out rows count for nothing. */
export function alongBundle2(bundle: usize, from: u32, to: u32, along: usize): void { alongBundle<u8>(bundle, from, to, along) }
export function alongBundle4(bundle: usize, from: u32, to: u32, along: usize): void { alongBundle<u16>(bundle, from, to, along) }
export function alongBundle8(bundle: usize, from: u32, to: u32, along: usize): void { alongBundle<u32>(bundle, from, to, along) }

@inline
function alongBundle<S>(bundle: usize, from: u32, to: u32, along: usize): void {
  const rows = <usize>load<u32>(bundle, BUNDLE_ROWS)
  const w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  const logistic = load<u32>(bundle, BUNDLE_LOGISTIC) != 0
  const models = load<u32>(bundle, BUNDLE_MODELS)
  const folds = <usize>load<u32>(bundle, BUNDLE_FOLDS)
  const bias = load<f64>(bundle, BUNDLE_BIAS)
  const biasAt = at<S>(w, load<u32>(bundle, BUNDLE_BIAS_FEATURE))
  const rowWeights = rowWeightsOfBundle(bundle)
  const dots = along + ALONG_DOTS
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    dotLanes<S>(row, w, dots)
    const itsClass = load<u32>(row, ROW_CLASS)
    const fold: u32 = folds == 0 ? 0xfffffffe : u32(load<u8>(folds + usize(i)))
    for (let k: u32 = 0; k < models; k++) {
      const word = bundle + (usize(k) << 2)
      const lane = bundle + (usize(k) << 3)
      if (load<u32>(word, BUNDLE_HELD_OUT) == fold) continue
      const isPositive = load<u32>(word, BUNDLE_POSITIVE) == itsClass
      let dot = load<f64>(dots + (usize(k) << 3))
      if (bias != 0) dot += bias * load<f64>(biasAt + (usize(k) << 3))
      const bound = laneBound(isPositive, lane, rowWeights, i)
      const diagonal = laneDiagonal(isPositive, lane, rowWeights, i)
      addLosses(along, usize(k), isPositive ? dot : -dot, bound, diagonal, logistic)
    }
  }
  lookAtRows(rows, from, to, along)
}

/** The same for Crammer and Singer's problem: a row's margin is its score less the best other one. */
export function alongTogether(problem: usize, from: u32, to: u32, scores: usize, along: usize): void {
  const rows = <usize>load<u32>(problem, TOGETHER_ROWS)
  const classes = load<u32>(problem, TOGETHER_CLASSES)
  const stride = load<u32>(problem, TOGETHER_STRIDE)
  const w = <usize>load<u32>(problem, TOGETHER_WEIGHTS)
  const biasWeights = <usize>load<u32>(problem, TOGETHER_BIAS_WEIGHTS)
  const places = <usize>load<u32>(problem, TOGETHER_PLACES)
  const costs = costsTogether(problem)
  const rowWeights = rowWeightsTogether(problem)
  const bias = load<f64>(problem, TOGETHER_BIAS)
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const y = load<u32>(places + (usize(load<u32>(row, ROW_CLASS)) << 2))
    scoreTogether(row, w, stride, biasWeights, bias, scores)
    let other = -Infinity
    for (let k: u32 = 0; k < classes; k++) if (k != y) other = max(other, load<f64>(scores + (usize(k) << 3)))
    addLosses(along, 0, load<f64>(scores + (usize(y) << 3)) - other, rowCostTogether(y, costs, rowWeights, i), 0, false)
  }
  lookAtRows(rows, from, to, along)
}

/** The same for the softmax of all classes: log Σ e^(t s_k) − t s_y. */
export function alongSoftmax(problem: usize, from: u32, to: u32, scores: usize, along: usize): void {
  const rows = <usize>load<u32>(problem, TOGETHER_ROWS)
  const classes = load<u32>(problem, TOGETHER_CLASSES)
  const stride = load<u32>(problem, TOGETHER_STRIDE)
  const w = <usize>load<u32>(problem, TOGETHER_WEIGHTS)
  const biasWeights = <usize>load<u32>(problem, TOGETHER_BIAS_WEIGHTS)
  const places = <usize>load<u32>(problem, TOGETHER_PLACES)
  const costs = costsTogether(problem)
  const rowWeights = rowWeightsTogether(problem)
  const bias = load<f64>(problem, TOGETHER_BIAS)
  const end = along + ALONG_MULTIPLES + (usize(load<u32>(along, ALONG_TRIED)) << 3)
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const y = load<u32>(places + (usize(load<u32>(row, ROW_CLASS)) << 2))
    const cost = rowCostTogether(y, costs, rowWeights, i)
    scoreTogether(row, w, stride, biasWeights, bias, scores)
    const best = highestOf(scores, classes)
    const highest = load<f64>(scores + (usize(best) << 3))
    const below = highest - load<f64>(scores + (usize(y) << 3))
    let sum = along + ALONG_LOSSES
    for (let place = along + ALONG_MULTIPLES; place < end; place += 8, sum += 64) {
      const t = load<f64>(place)
      let others: f64 = 0
      for (let k: u32 = 0; k < classes; k++) {
        // Scores that have overflowed are 0 at w = 0 all the same.
        if (k != best) others += t == 0 ? 1 : Math.exp(t * (load<f64>(scores + (usize(k) << 3)) - highest))
      }
      store<f64>(sum, load<f64>(sum) + cost * (Math.log1p(others) + (t == 0 ? 0 : t * below)))
    }
  }
  lookAtRows(rows, from, to, along)
}

/** Values and lengths of rows. Those in bins have lengths alone. */
export function lookAtRows(rows: usize, from: u32, to: u32, along: usize): void {
  let least = load<f64>(along, ALONG_LEAST), most = load<f64>(along, ALONG_MOST)
  let shortest = load<f64>(along, ALONG_SHORTEST), longest = load<f64>(along, ALONG_LONGEST)
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const norm = load<f64>(row, ROW_NORM)
    shortest = min(shortest, norm)
    longest = max(longest, norm)
    const n = load<u32>(row, ROW_COUNT)
    const kind = load<u32>(row, ROW_KIND)
    const scale = load<f64>(row, ROW_SCALE)
    const entries = row + ROW_ENTRIES
    const behind = entries + (usize(n) << 2)
    if (kind == ROW_KIND_CONSTANT) {
      if (n == 0) continue
      least = min(least, scale)
      most = max(most, scale)
    } else if (kind == ROW_KIND_CODED) {
      const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
      for (let k: u32 = 0; k < n; k++) {
        const x = scale * f64(load<f32>(dictionary + (usize(load<u8>(behind + k)) << 2)))
        least = min(least, x)
        most = max(most, x)
      }
    } else if (kind == ROW_KIND_F32 || kind == ROW_KIND_DENSE) {
      let v = kind == ROW_KIND_DENSE ? entries : behind
      for (const end = v + (usize(n) << 2); v < end; v += 4) {
        const x = scale * f64(load<f32>(v))
        least = min(least, x)
        most = max(most, x)
      }
    } else if (kind == ROW_KIND_F64) {
      let v = wideValues(entries, n)
      for (const end = v + (usize(n) << 3); v < end; v += 8) {
        const x = scale * load<f64>(v)
        least = min(least, x)
        most = max(most, x)
      }
    }
  }
  store<f64>(along, least, ALONG_LEAST)
  store<f64>(along, most, ALONG_MOST)
  store<f64>(along, shortest, ALONG_SHORTEST)
  store<f64>(along, longest, ALONG_LONGEST)
}
