// Interior points of the problems of the hinge and the squared hinge, for methods that look at all rows at once. The hinge first:
// of a row with bound U, m = y wᵀx, z = 1 − m:
//
//   s − ξ = −z,  s, ξ > 0        α + β = U,  α, β > 0        at the optimum α s = β ξ = 0,  w = Σ α y x
//
// Newton's step towards α s = β ξ = μ for all rows, with c = 1 / (s/α + ξ/β):
//
//   (I + Σ c x xᵀ) dw = Σ (α + c z) y x − w + μ Σ c (1/α − 1/β) y x
//   dα = c (μ/α − s − μ/β + ξ − dm),   ds = μ/α − s − s dα/α,   dξ = μ/β − ξ + ξ dα/β
//
// A row keeps two numbers: the smaller one of s and ξ, of which z tells the other; and the smaller one of α and β, β with a minus.
//
// The squared hinge has a diagonal D instead of the bound:
//
//   s − D α = −z,  s, α > 0       at the optimum α s = 0,  c = 1 / (s/α + D)
//   dα = c (μ/α − s − e − dm),   ds = μ/α − s − s dα/α,   with e = D α − s − z where that is not 0 yet
//
// Its rows keep s and α. Rows that a bold step holds back owe e for a while: were s raised, α would be by 1/D as much, and so
// Σ α y x would be far from w.
//
// Zeros say that the row was not met yet. Sums are added to what is there.
import {
  PROBLEM_ALPHA, PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_FOLDS, PROBLEM_HELD_OUT, PROBLEM_POSITIVE, PROBLEM_ROWS,
  PROBLEM_WEIGHTS, ROW_CLASS, ROW_NORM, SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT,
} from '../layouts'
import { addProducts, addRow } from './primal'
import { isLeftOut } from './outliers'
import { dotRow } from './row'
import { boxLoss } from './losses'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** What the matrix may lack, beside I. A step is then that much off at most, and the next one makes it good. */
const LACKING: f64 = 0.01
/** Of ‖x‖², by how much 1/c is more than it should be: so c ‖x‖² has a bound, which leaves the matrix some digits beside I. */
const SOFT: f64 = 1e-13
/** The smaller one of s and ξ where a row begins: far inside, so that the first steps are long. */
const FIRST_SLACK: f64 = 2

// The row that is looked at: what it has, and how it would move.
let s: f64 = 0, xi: f64 = 0, alpha: f64 = 0, beta: f64 = 0, owed: f64 = 0, c: f64 = 0
let dAlpha: f64 = 0, dS: f64 = 0, dXi: f64 = 0

/** What a row has, whose z is known. */
@inline
function readState(at: usize, z: f64, bound: f64, diagonal: f64, soft: f64): void {
  const slack = load<f64>(at)
  if (diagonal > 0) {
    s = slack == 0 ? FIRST_SLACK + max(0, -z) : slack
    alpha = slack == 0 ? (FIRST_SLACK + max(0, z)) / diagonal : load<f64>(at, 8)
    owed = diagonal * alpha - s - z
    c = 1 / (s / alpha + diagonal + soft)
    return
  }
  if (slack == 0) {
    s = FIRST_SLACK + max(0, -z)
    xi = FIRST_SLACK + max(0, z)
    alpha = (bound * xi) / (s + xi)
    beta = (bound * s) / (s + xi)
  } else {
    s = slack + max(0, -z)
    xi = slack + max(0, z)
    const less = load<f64>(at, 8)
    alpha = less > 0 ? less : bound + less
    beta = less > 0 ? bound - less : -less
  }
  c = 1 / (s / alpha + xi / beta + soft)
}

/** How the row would move towards μ, where its margin changes by dm. */
@inline
function findMove(mu: f64, dm: f64, diagonal: f64): void {
  if (diagonal > 0) {
    const wanted = mu / alpha - s
    dAlpha = c * (wanted - owed - dm)
    dS = wanted - s * (dAlpha / alpha)
    return
  }
  const ofAlpha = mu / alpha - s
  const ofBeta = mu / beta - xi
  dAlpha = c * (ofAlpha - ofBeta - dm)
  dS = ofAlpha - s * (dAlpha / alpha)
  dXi = ofBeta + xi * (dAlpha / beta)
}

/** The row goes a share of the way that findMove told, and keeps at least a share of what it has. z is the new one. */
@inline
function moveRow(at: usize, z: f64, share: f64, keep: f64, diagonal: f64): void {
  if (diagonal > 0) {
    store<f64>(at, max(s + share * dS, keep * s))
    store<f64>(at, max(alpha + share * dAlpha, keep * alpha), 8)
    return
  }
  let slack = z > 0 ? s + share * dS : xi + share * dXi
  let own = share
  if (keep > 0) {
    // s and ξ are raised together: z says by how much they differ.
    slack += max(0, max(keep * s - (s + dS), keep * xi - (xi + dXi)))
    if (-dAlpha > (1 - keep) * alpha) own = ((1 - keep) * alpha) / -dAlpha
    else if (dAlpha > (1 - keep) * beta) own = ((1 - keep) * beta) / dAlpha
  }
  alpha += own * dAlpha
  beta -= own * dAlpha
  store<f64>(at, slack)
  store<f64>(at, alpha < beta ? alpha : -beta, 8)
}

/** Over rows from..to, w being the new point: each row goes a share of the way that the last step asks for, `moved` being the
 *  whole change of w, if there was one. Where `keep` is not 0, a row goes at most so far that this share of what it has is left.
 *  Then v += Σ α y x, affine += Σ c z y x, centring += Σ c (1/α − 1/β) y x (squared hinge: c (z − D α), c/α), an n × n matrix += half of Σ c x xᵀ (see slopeRows),
 *  and sums of a certificate; where that has Σ α m, Σ α s + β ξ. */
export function interiorRows(
  problem: usize, from: u32, to: u32, state: usize, moved: usize, share: f64, keep: f64, mu: f64, v: usize, affine: usize,
  centring: usize, matrix: usize, n: u32, scratch: usize, sums: usize, allRows: f64,
): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const outliers = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasFeature = load<u32>(problem, PROBLEM_BIAS_FEATURE)
  const biasAt = usize(biasFeature) << 3
  const biasPart = bias == 0 ? 0 : bias * load<f64>(w + biasAt)
  const biasStep = moved == 0 || bias == 0 ? 0 : bias * load<f64>(moved + biasAt)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const folds = <usize>load<u32>(problem, PROBLEM_FOLDS)
  const heldOut = load<u32>(problem, PROBLEM_HELD_OUT)
  const least = LACKING / allRows
  let loss = load<f64>(sums, SUMS_LOSS), dual = load<f64>(sums, SUMS_DUAL), off = load<f64>(sums, SUMS_ALPHA_MARGIN)
  let correct = load<f64>(sums, SUMS_CORRECT), support = load<f64>(sums, SUMS_SUPPORT)
  for (let i = from; i < to; i++) {
    if (folds != 0 && u32(load<u8>(folds + usize(i))) == heldOut) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const dot = dotRow<f64>(row, w) + biasPart
    if (isPositive ? dot > 0 : dot <= 0) correct += 1
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    if (!(bound > 0) || isLeftOut(outliers, i)) continue
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    const at = state + (usize(i) << 4)
    const norm = load<f64>(row, ROW_NORM) + bias * bias
    const soft = SOFT * norm
    const z = 1 - y * dot
    if (moved != 0) {
      const dm = y * (dotRow<f64>(row, moved) + biasStep)
      readState(at, z + share * dm, bound, diagonal, soft)
      findMove(mu, dm, diagonal)
      moveRow(at, z, share, keep, diagonal)
    }
    readState(at, z, bound, diagonal, soft)
    addRow(row, alpha * y, v, bias, biasAt)
    if (diagonal > 0) {
      loss += boxLoss(z, bound, diagonal)
      dual += alpha - 0.5 * diagonal * alpha * alpha
      off += alpha * s
      if (s < diagonal * alpha) support += 1
      addRow(row, c * (z - diagonal * alpha) * y, affine, bias, biasAt)
      addRow(row, (c / alpha) * y, centring, bias, biasAt)
    } else {
      loss += bound * max(0, z)
      dual += alpha
      off += alpha * s + beta * xi
      if (bound * s < alpha) support += 1
      addRow(row, c * z * y, affine, bias, biasAt)
      addRow(row, c * (1 / alpha - 1 / beta) * y, centring, bias, biasAt)
    }
    // What is left out of the matrix is together less than such a share of I.
    if (c * norm > least) addProducts(row, c, bias, biasFeature, matrix, n, scratch)
  }
  store<f64>(sums, loss, SUMS_LOSS)
  store<f64>(sums, dual, SUMS_DUAL)
  store<f64>(sums, off, SUMS_ALPHA_MARGIN)
  store<f64>(sums, correct, SUMS_CORRECT)
  store<f64>(sums, support, SUMS_SUPPORT)
}

/** Over rows from..to: how far they let a step go before one of s, ξ, α and β is 0, for each μ of `count` (f64 at `aims`), where
 *  the change of w is affine + μ centring. The least share for each μ goes to `shares`. */
export function reachRows(
  problem: usize, from: u32, to: u32, state: usize, affine: usize, centring: usize, aims: usize, count: u32, shares: usize,
): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const outliers = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3
  const biasPart = bias == 0 ? 0 : bias * load<f64>(w + biasAt)
  const affineBias = bias == 0 ? 0 : bias * load<f64>(affine + biasAt)
  const centringBias = bias == 0 ? 0 : bias * load<f64>(centring + biasAt)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const folds = <usize>load<u32>(problem, PROBLEM_FOLDS)
  const heldOut = load<u32>(problem, PROBLEM_HELD_OUT)
  for (let i = from; i < to; i++) {
    if (folds != 0 && u32(load<u8>(folds + usize(i))) == heldOut) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    if (!(bound > 0) || isLeftOut(outliers, i)) continue
    const y: f64 = isPositive ? 1 : -1
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    const z = 1 - y * (dotRow<f64>(row, w) + biasPart)
    readState(state + (usize(i) << 4), z, bound, diagonal, SOFT * (load<f64>(row, ROW_NORM) + bias * bias))
    const ofAffine = y * (dotRow<f64>(row, affine) + affineBias)
    const ofCentring = y * (dotRow<f64>(row, centring) + centringBias)
    for (let k: usize = 0; k < usize(count) << 3; k += 8) {
      const mu = load<f64>(aims + k)
      findMove(mu, ofAffine + mu * ofCentring, diagonal)
      let share = load<f64>(shares + k)
      // −d > x / share says that the way ends before that share.
      if (-dAlpha * share > alpha) share = -alpha / dAlpha
      if (-dS * share > s) share = -s / dS
      if (diagonal == 0) {
        if (dAlpha * share > beta) share = beta / dAlpha
        if (-dXi * share > xi) share = -xi / dXi
      }
      store<f64>(shares + k, share)
    }
  }
}
