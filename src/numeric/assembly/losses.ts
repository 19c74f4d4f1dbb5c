// Losses as functions of a margin, for sweeps and certificates alike.

/** The loss whose dual is the box 0 ≤ a ≤ bound with diagonal D: max_a a·slack − ½ D a².
 *  Hinge: bound C, D 0. Squared hinge: bound ∞, D 1/(2C). Finite bound and D: the smoothed hinge. */
@inline
export function boxLoss(slack: f64, bound: f64, diagonal: f64): f64 {
  if (slack <= 0) return 0
  if (diagonal == 0) return bound * slack
  const a = min(slack / diagonal, bound)
  return a * slack - 0.5 * diagonal * a * a
}

/** log(1 + e^−m) without overflow. */
@inline
export function logisticLoss(margin: f64): f64 {
  return margin > 0 ? Math.log1p(Math.exp(-margin)) : Math.log1p(Math.exp(margin)) - margin
}

/** 1 / (1 + e^m): minus the derivative of the logistic loss. */
@inline
export function wrongness(m: f64): f64 {
  const e = Math.exp(-Math.abs(m))
  return m > 0 ? e / (1 + e) : 1 / (1 + e)
}

/** −(a log a + r log r − C log C) with r = C − a: the separable part of the logistic dual. */
@inline
export function negativeEntropy(a: f64, rest: f64, bound: f64): f64 {
  return -(a > 0 ? a * Math.log(a / bound) : 0) - (rest > 0 ? rest * Math.log(rest / bound) : 0)
}
