// Weights that a fresh model borrows from the memory of its training. Large ones are not copied: the memory plan has no room
// for it. Predicting with such a model works in the same memory.

import type { Arena } from '../numeric/arena.ts'
import type { FeatureBits } from '../numeric/feature-bits.ts'
import type { LentVectors } from './weights.ts'

/** Where lent weights are. */
export interface LentPlace {
  arena: Arena
  /** Address of f64[] or f32[]. */
  weights: number
  narrow: boolean
  /** Address of the map from features to weights, or 0. */
  map: number
}

// Kept apart from the model, which is plain data.
const places = new WeakMap<object, LentPlace>()

export function lendWeights(place: LentPlace, count: number, features: FeatureBits | undefined): LentVectors {
  const { arena, weights, narrow } = place
  const lent: LentVectors = {
    layout: 'lent',
    ...(features && { features }),
    values: narrow ? arena.f32(weights, count) : arena.f64(weights, count),
  }
  places.set(lent, place)
  return lent
}

/** Where a model's weights are, if they are lent. */
export function placeOfLent(weights: object): LentPlace | undefined {
  return places.get(weights)
}
