// Which features made a row's score: what each adds to the score of the label that is predicted, largest first. Nothing here
// needs Node.
import { featureName } from './feature-names.ts'
import { expandRow, fitRow, type Model, predictClass, scoreRow, transformRow } from './model.ts'
import { positionOf } from './weights.ts'

export interface Contribution {
  /** What the user knows the feature by. */
  name: string
  /** Its number, counted from 0; −1 for the bias. */
  feature: number
  /** As it is multiplied by its weight, and that weight: of the label that is predicted. */
  value: number
  weight: number
  /** What it adds to the score of the label: above 0 it speaks for it. */
  adds: number
}

export interface Explanation {
  label: string
  /** How much speaks for the label: of two classes, the score or its opposite. */
  score: number
  /** The largest, whatever their sign. */
  contributions: Contribution[]
  /** What all others add. */
  others: number
}

/** Features count from 0 and rise. */
export function explainRow(
  model: Model,
  givenIndices: ArrayLike<number>,
  givenValues: ArrayLike<number>,
  most: number,
): Explanation {
  const scores = scoreRow(model, givenIndices, givenValues)
  const place = predictClass(model, scores)
  const { vectors, weights, bias, biasWeights, labels } = model
  // Two classes share one vector.
  const [vector, sign] = vectors === 1 ? [0, place === 0 ? 1 : -1] : [place, 1]
  const { indices, values } = expandRow(model, givenIndices, fitRow(model, givenIndices, givenValues))
  const x = transformRow(model, indices, values)
  const found: Omit<Contribution, 'name'>[] = []
  const note = (feature: number, weight: number, value: number): void => {
    const adds = weight * value
    if (adds !== 0) found.push({ feature, value, weight, adds })
  }
  for (let i = 0; i < indices.length; i++) {
    const at = positionOf(weights, vectors, indices[i])
    if (at >= 0) note(indices[i], sign * weights.values[at + vector], x[i])
  }
  // The bias has no number.
  if (bias !== 0) note(-1, sign * biasWeights[vector], bias)
  found.sort((a, b) => Math.abs(b.adds) - Math.abs(a.adds) || a.feature - b.feature)
  const nameOf = (feature: number): string => (feature < 0 ? 'the bias' : featureName(model, feature))
  return {
    label: labels[place].text,
    score: sign * scores[vector],
    contributions: found.slice(0, most).map(each => ({ name: nameOf(each.feature), ...each })),
    others: found.slice(most).reduce((sum, { adds }) => sum + adds, 0),
  }
}
