// The bias of a model: a weight of its own, the last one, of a feature that every row has with the same value. A bias of 0 means
// that there is none.
import { PROBLEM_BIAS, PROBLEM_BIAS_FEATURE } from '../layouts'

/** What it adds to every score, by a vector of weights of type W. */
@inline
export function biasPartOf<W>(problem: usize, w: usize): f64 {
  const bias = load<f64>(problem, PROBLEM_BIAS)
  return bias == 0 ? 0 : bias * f64(load<W>(w + usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) * sizeof<W>()))
}

/** Adds a step along a row to the weight of the bias. */
@inline
export function addToBias<W>(biasAt: usize, bias: f64, step: f64): void {
  if (bias != 0) store<W>(biasAt, <W>(f64(load<W>(biasAt)) + step * bias))
}
