// From scores to probabilities: plain data that a model keeps for each of its weight vectors. Nothing here needs Node.

import { SpillwayError } from '../errors.ts'
import { fitIsotonic } from '../evaluation/isotonic.ts'
import { fitSigmoid } from '../evaluation/sigmoid.ts'
import { allLosses } from '../losses/all-losses.ts'
import { multiclassKinds } from '../losses/formulations.ts'
import type { Model } from './model.ts'

export const calibrationKinds = ['sigmoid', 'isotonic'] as const
export type CalibrationKind = (typeof calibrationKinds)[number]

export type Calibration =
  /** 1 / (1 + e^−(slope · score + offset)). */
  | { kind: 'sigmoid'; slope: number; offset: number }
  /** Straight lines between these points, the scores increasing; beyond them the outermost probability. */
  | { kind: 'isotonic'; scores: number[]; probabilities: number[] }

/** Learns how often a score is right, from rows that the scores were not trained on: `positive` is 1 for rows of the class
 *  that a score above 0 speaks for, else 0. A row of weight 2 counts as two rows. */
export function fitCalibration(
  kind: CalibrationKind,
  scores: Float64Array,
  positive: Uint8Array,
  weights?: Float64Array,
): Calibration {
  if (!calibrationKinds.includes(kind)) {
    throw new SpillwayError(`there is no calibration "${kind}"; expected one of ${calibrationKinds.join(', ')}`)
  }
  if (scores.length === 0 || scores.length !== positive.length) {
    throw new SpillwayError(
      `calibration has ${scores.length} scores and ${positive.length} rows; expected as many of both, and at least one`,
    )
  }
  const wrong = scores.findIndex(score => !Number.isFinite(score))
  if (wrong >= 0) throw new SpillwayError(`score ${wrong + 1} is ${scores[wrong]}; calibration needs finite numbers`)
  return kind === 'sigmoid'
    ? { kind, ...fitSigmoid(scores, positive, weights) }
    : { kind, ...fitIsotonic(scores, positive, weights) }
}

export function probabilityOf(calibration: Calibration, score: number): number {
  if (calibration.kind === 'sigmoid') return 1 / (1 + Math.exp(-(calibration.slope * score + calibration.offset)))
  const { scores, probabilities } = calibration
  if (Number.isNaN(score)) return score
  // The first point that is not below the score.
  let [low, high] = [0, scores.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (scores[middle] < score) low = middle + 1
    else high = middle
  }
  if (low === scores.length) return probabilities[low - 1]
  if (low === 0 || scores[low] === score) return probabilities[low]
  const [s0, s1] = [scores[low - 1], scores[low]]
  const [p0, p1] = [probabilities[low - 1], probabilities[low]]
  // The distance of the two largest numbers is beyond the largest number; half of it is not.
  const share = Number.isFinite(s1 - s0) ? (score - s0) / (s1 - s0) : (score / 2 - s0 / 2) / (s1 / 2 - s0 / 2)
  return Math.min(p1, p0 + share * (p1 - p0))
}

/** How the scores of a row become probabilities: each by a calibration of its own, or all of them by their softmax,
 *  e^score divided by the sum of those. */
export type Calibrations = Calibration[] | 'softmax'

/** How a model's scores become probabilities; undefined when it cannot say. Logistic regression is trained for it: its
 *  probability is 1 / (1 + e^−score), or the softmax of the scores where all classes were one problem. */
export function calibrationsOf(model: Model): Calibrations | undefined {
  if (model.calibrations) return model.calibrations
  if (multiclassKinds[model.multiclass].probability) return 'softmax'
  if (!allLosses.some(({ name, probability }) => name === model.loss && probability)) return undefined
  return Array.from({ length: model.vectors }, () => ({ kind: 'sigmoid', slope: 1, offset: 0 }))
}

/** The same for a model that has to have them. */
export function requireCalibrations(model: Model): Calibrations {
  const found = calibrationsOf(model)
  if (found) return found
  throw new SpillwayError(
    `this model's scores are not probabilities: its loss is ${model.loss}, and it was not calibrated`,
    'train it again with train --calibrate, or with --loss logistic',
  )
}

/** The probabilities of all classes for one row, in the order of the labels, from its scores at scores[at…] to out[to…]:
 *  of two classes p and 1 − p, of more each class's own divided by their sum; or the softmax of a score for each class. */
export function classProbabilities(
  calibrations: readonly Calibration[] | 'softmax',
  classes: number,
  scores: ArrayLike<number>,
  at: number,
  out: Float64Array,
  to = 0,
): void {
  if (typeof calibrations === 'string') {
    softmax(classes, scores, at, out, to)
    return
  }
  if (classes === 2) {
    const p = probabilityOf(calibrations[0], scores[at])
    out[to] = p
    out[to + 1] = 1 - p
    return
  }
  let sum = 0
  for (let k = 0; k < classes; k++) {
    const p = probabilityOf(calibrations[k], scores[at + k])
    out[to + k] = p
    sum += p
  }
  // No class is likely at all: none is likelier than another.
  for (let k = 0; k < classes; k++) out[to + k] = sum > 0 ? out[to + k] / sum : 1 / classes
}

/** Powers are taken from the highest score down: none overflows. */
function softmax(classes: number, scores: ArrayLike<number>, at: number, out: Float64Array, to: number): void {
  let highest = scores[at]
  for (let k = 1; k < classes; k++) highest = Math.max(highest, scores[at + k])
  let sum = 0
  for (let k = 0; k < classes; k++) {
    out[to + k] = Math.exp(scores[at + k] - highest)
    sum += out[to + k]
  }
  for (let k = 0; k < classes; k++) out[to + k] /= sum
}

/** What is wrong with a model's calibrations, in words, or undefined. */
export function calibrationsComplaint(calibrations: readonly Calibration[], vectors: number): string | undefined {
  if (calibrations.length !== vectors) {
    return `it has ${calibrations.length} calibrations for ${vectors} weight vectors`
  }
  for (const [k, calibration] of calibrations.entries()) {
    const complaint = calibrationComplaint(calibration)
    if (complaint) return `calibration ${k + 1} ${complaint}`
  }
  return undefined
}

function calibrationComplaint(calibration: Calibration): string | undefined {
  if (calibration.kind === 'sigmoid') {
    const { slope, offset } = calibration
    return Number.isFinite(slope) && Number.isFinite(offset) ? undefined : 'has a number that is not finite'
  }
  const { scores, probabilities } = calibration
  if (scores.length === 0 || scores.length !== probabilities.length) {
    return `has ${scores.length} scores and ${probabilities.length} probabilities; expected as many of both, and at least one`
  }
  for (let k = 0; k < scores.length; k++) {
    if (!Number.isFinite(scores[k])) return `has the score ${scores[k]}; expected a finite number`
    if (!(probabilities[k] >= 0 && probabilities[k] <= 1)) {
      return `has the probability ${probabilities[k]}; expected a number from 0 to 1`
    }
    if (k === 0) continue
    if (!(scores[k] > scores[k - 1])) return `has scores that do not increase: ${scores[k - 1]}, then ${scores[k]}`
    if (!(probabilities[k] >= probabilities[k - 1])) {
      return `has probabilities that fall: ${probabilities[k - 1]}, then ${probabilities[k]}`
    }
  }
  return undefined
}
