// What a row costs, in one place: the cost of its class times its own weight. Loops ask here and pick nothing themselves.
//
// A box dual has a bound U and a diagonal D for each side of the problem, an entropic dual its cost C, which stands where the
// bound does. A row whose loss counts c times has the bound c U and the diagonal D / c: that holds for C loss(m) whatever U
// and D are. Weights are f64[], by the number of the row in its problem; the address 0 says that there are none, and then a
// row costs one branch that always goes the same way. Loops read the numbers of both sides before they begin.
import {
  BUNDLE_BOUND_NEGATIVE, BUNDLE_BOUND_POSITIVE, BUNDLE_DIAGONAL_NEGATIVE, BUNDLE_DIAGONAL_POSITIVE, BUNDLE_ROW_WEIGHTS,
} from '../bundle-layout'
import { TOGETHER_COSTS, TOGETHER_ROW_WEIGHTS } from '../crammer-singer-layout'
import {
  PROBLEM_BOUND_NEGATIVE, PROBLEM_BOUND_POSITIVE, PROBLEM_DIAGONAL_NEGATIVE, PROBLEM_DIAGONAL_POSITIVE, PROBLEM_ROW_WEIGHTS,
} from '../layouts'

@inline
function weighted(cost: f64, rowWeights: usize, i: u32): f64 {
  return rowWeights == 0 ? cost : cost * load<f64>(rowWeights + (usize(i) << 3))
}

@inline
function eased(diagonal: f64, rowWeights: usize, i: u32): f64 {
  return rowWeights == 0 ? diagonal : diagonal / load<f64>(rowWeights + (usize(i) << 3))
}

// --- One model: numbers of a PROBLEM_ structure

@inline
export function boundForPositive(problem: usize): f64 { return load<f64>(problem, PROBLEM_BOUND_POSITIVE) }
@inline
export function boundForNegative(problem: usize): f64 { return load<f64>(problem, PROBLEM_BOUND_NEGATIVE) }
@inline
export function diagonalForPositive(problem: usize): f64 { return load<f64>(problem, PROBLEM_DIAGONAL_POSITIVE) }
@inline
export function diagonalForNegative(problem: usize): f64 { return load<f64>(problem, PROBLEM_DIAGONAL_NEGATIVE) }
@inline
export function rowWeightsOf(problem: usize): usize { return <usize>load<u32>(problem, PROBLEM_ROW_WEIGHTS) }

/** The bound of row i, of those for both sides. */
@inline
export function rowBound(isPositive: bool, positive: f64, negative: f64, rowWeights: usize, i: u32): f64 {
  return weighted(isPositive ? positive : negative, rowWeights, i)
}

/** The diagonal of row i, of those for both sides. */
@inline
export function rowDiagonal(isPositive: bool, positive: f64, negative: f64, rowWeights: usize, i: u32): f64 {
  return eased(isPositive ? positive : negative, rowWeights, i)
}

// --- Models side by side: `lane` is the address of a BUNDLE_ structure and 8 bytes for each lane before this one

@inline
export function rowWeightsOfBundle(bundle: usize): usize { return <usize>load<u32>(bundle, BUNDLE_ROW_WEIGHTS) }

@inline
export function laneBound(isPositive: bool, lane: usize, rowWeights: usize, i: u32): f64 {
  return weighted(isPositive ? load<f64>(lane, BUNDLE_BOUND_POSITIVE) : load<f64>(lane, BUNDLE_BOUND_NEGATIVE), rowWeights, i)
}

@inline
export function laneDiagonal(isPositive: bool, lane: usize, rowWeights: usize, i: u32): f64 {
  return eased(isPositive ? load<f64>(lane, BUNDLE_DIAGONAL_POSITIVE) : load<f64>(lane, BUNDLE_DIAGONAL_NEGATIVE), rowWeights, i)
}

// --- All classes at once: numbers of a TOGETHER_ structure

@inline
export function costsTogether(problem: usize): usize { return <usize>load<u32>(problem, TOGETHER_COSTS) }
@inline
export function rowWeightsTogether(problem: usize): usize { return <usize>load<u32>(problem, TOGETHER_ROW_WEIGHTS) }

/** The cost of row i, whose class has place y. */
@inline
export function rowCostTogether(y: u32, costs: usize, rowWeights: usize, i: u32): f64 {
  return weighted(load<f64>(costs + (usize(y) << 3)), rowWeights, i)
}
