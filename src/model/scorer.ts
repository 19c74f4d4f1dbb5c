// A model's weights in the shared memory, as the scoring loops want them: every feature in order when that is small,
// else only the features that the model knows, behind a map.
import { spaceOf } from '../features/additive-kernel.ts'
import { type Arena, windowFull } from '../numeric/arena.ts'
import { placeOfLent } from './lent-weights.ts'
import { inputFeatures, type Model } from './model.ts'
import { positionOf, scatterInto, toDense, type WeightVectors } from './weights.ts'

/** Plain data: it crosses to worker threads. */
export interface ScorerMemory {
  /** Address of f64[features × vectors], or of f32[] when narrow. */
  weights: number
  narrow: boolean
  features: number
  vectors: number
  /** Address of f64[vectors]: what the bias adds to each score. */
  bias: number
  /** Address of f64[features], or 0. */
  factors: number
  unit: boolean
  /** Of an additive kernel: values are cut off and binned before they are expanded, by ranges (an address, or 0) of so many features. */
  fit?: { ranges: number; features: number; bins: number }
  /** Address of the feature map's top table, or 0 when features keep their numbers. */
  map: number
}

/** Above so many bytes of weights a sparse model is kept sparse: the map costs a look-up, a cache miss costs more. */
const DENSE_BYTES = 32 * 1024 * 1024

/** With `sparing`, a sparse model takes no more than it must. */
export function placeModel(arena: Arena, model: Model, sparing = false): ScorerMemory {
  const { vectors, weights, transforms } = model
  const factors = transforms.scale?.factors
  const sparse = weights.layout === 'sparse' && (sparing || model.features * vectors * 8 > DENSE_BYTES)
  const place = (values: Float64Array, what: string): number => {
    const at = arena.allocate(Math.max(values.length, 1) * 8, what)
    arena.f64(at, values.length).set(values)
    return at
  }
  const space = spaceOf(transforms.expand?.steps)
  const biasParts = Float64Array.from({ length: vectors }, (_, k) => (model.biasWeights[k] ?? 0) * model.bias)
  const common = {
    ...{ vectors, narrow: false, bias: place(biasParts, 'the bias'), unit: transforms.normalize === 'unit' },
    ...(space && { fit: placeRanges(model, place, space.bins) }),
  }
  const lent = placeOfLent(weights)
  if (lent?.arena === arena) {
    const features = weights.values.length / vectors
    return { ...common, weights: lent.weights, narrow: lent.narrow, features, factors: 0, map: lent.map }
  }
  if (!sparse) {
    // Sparse ones are spread out where they are to be: a model may have millions, and another copy of them takes its time.
    const spread = (from: WeightVectors, width: number, fill: number, what: string): number => {
      if (from.layout !== 'sparse') return place(toDense(from, model.features, width, fill), what)
      const count = model.features * width
      const at = arena.allocate(Math.max(count, 1) * 8, what)
      scatterInto(arena.f64(at, count), from, width, fill)
      return at
    }
    return {
      ...common,
      weights: spread(weights, vectors, 0, 'the weights'),
      features: model.features,
      factors: factors ? spread(factors, 1, 1, 'the scale factors') : 0,
      map: 0,
    }
  }
  const map = arena.allocateZeroed(65536 * 4, 'the feature map')
  const list = arena.allocate(Math.max(weights.indices.length, 1) * 4, 'the feature map')
  arena.u32(list, weights.indices.length).set(weights.indices)
  if (!arena.numeric.enterFeatures(map, list, weights.indices.length)) throw windowFull('the feature map')
  arena.numeric.finishMap(map)
  return {
    ...common,
    weights: place(weights.values, 'the weights'),
    features: weights.indices.length,
    factors: factors ? place(factorsOf(factors, weights.indices), 'the scale factors') : 0,
    map,
  }
}

/** Factors of some features; 1 for those that have none. */
function factorsOf(factors: WeightVectors, features: Uint32Array): Float64Array {
  const found = new Float64Array(features.length)
  features.forEach((feature, k) => {
    const at = positionOf(factors, 1, feature)
    found[k] = at < 0 ? 1 : factors.values[at]
  })
  return found
}

function placeRanges(
  model: Model,
  place: (values: Float64Array, what: string) => number,
  bins: number,
): ScorerMemory['fit'] {
  const { ranges } = model.transforms
  const features = inputFeatures(model)
  return { ranges: ranges ? place(toDense(ranges, features, 2), 'the ranges') : 0, features, bins }
}
