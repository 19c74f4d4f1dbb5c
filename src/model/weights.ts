// Numbers per feature, kept the smaller of two ways: every feature in order, or only the features that differ from a fill
// value. With K vectors the K numbers of a feature stand together, w[j*K + k], as in LIBLINEAR's files and in the solvers.
import type { FeatureBits } from '../numeric/feature-bits.ts'

export interface DenseVectors {
  layout: 'dense'
  /** features × vectors numbers. */
  values: Float64Array
}

export interface SparseVectors {
  layout: 'sparse'
  /** The features that are used, counted from 0, increasing. */
  indices: Uint32Array
  /** indices.length × vectors numbers. */
  values: Float64Array
}

/** Numbers where training left them, in the memory it shared with its threads, because there is no room for a copy. Files are
 *  written from here piece by piece, dense or sparse; a reader of the file gets the layouts above. */
export interface LentVectors {
  layout: 'lent'
  /** The features that are used; every feature in order when not given. */
  features?: FeatureBits
  values: Float64Array | Float32Array
}

export type WeightVectors = DenseVectors | SparseVectors | LentVectors

const BYTES_PER_INDEX = 4
const BYTES_PER_VALUE = 8

export function denseBytes(features: number, vectors: number): number {
  return features * vectors * BYTES_PER_VALUE
}

export function sparseBytes(used: number, vectors: number): number {
  return used * (BYTES_PER_INDEX + vectors * BYTES_PER_VALUE)
}

/** The same numbers in whichever layout takes fewer bytes. A feature is left out when all its numbers are the fill. */
export function smallerLayout(
  features: number,
  vectors: number,
  given: Float64Array | WeightVectors,
  fill = 0,
  inPlace = false,
): WeightVectors {
  const from: WeightVectors = given instanceof Float64Array ? { layout: 'dense', values: given } : given
  if (from.layout === 'lent') return from
  if (inPlace && from.layout === 'sparse') {
    const kept = gather(from, vectors, fill, from.indices.length, inPlace)
    const smaller = sparseBytes(kept.indices.length, vectors) < denseBytes(features, vectors)
    return smaller ? kept : scatter(kept, features, vectors, fill)
  }
  const used = countUsed(from, vectors, fill)
  if (sparseBytes(used, vectors) < denseBytes(features, vectors)) {
    if (from.layout === 'sparse' && from.indices.length === used) return from
    return gather(from, vectors, fill, used, inPlace)
  }
  return from.layout === 'dense' ? from : scatter(from, features, vectors, fill)
}

/** Whether a feature's numbers, from a place on, are not all the fill. −0 counts: a file that says −0 is written back so. */
export function differs(values: Float64Array | Float32Array, at: number, vectors: number, fill: number): boolean {
  for (let k = 0; k < vectors; k++) if (isOther(values[at + k], fill)) return true
  return false
}

function isOther(value: number, fill: number): boolean {
  return value !== fill || (value === 0 && !Object.is(value, fill))
}

function countUsed({ values }: WeightVectors, vectors: number, fill: number): number {
  let used = 0
  // One number a feature is what most models have, and there may be millions.
  if (vectors === 1) {
    for (let at = 0; at < values.length; at++) if (isOther(values[at], fill)) used++
    return used
  }
  for (let at = 0; at < values.length; at += vectors) if (differs(values, at, vectors, fill)) used++
  return used
}

/** `used` is how many features to expect, or more than that in place, where what is gathered is written over what it comes from:
 *  it never gets ahead of it. */
function gather(
  from: DenseVectors | SparseVectors,
  vectors: number,
  fill: number,
  used: number,
  inPlace: boolean,
): SparseVectors {
  const indices = inPlace && from.layout === 'sparse' ? from.indices.subarray(0, used) : new Uint32Array(used)
  const values = inPlace ? from.values.subarray(0, used * vectors) : new Float64Array(used * vectors)
  const features = from.layout === 'sparse' ? from.indices : undefined
  let to = 0
  if (vectors === 1) {
    const given = from.values
    for (let at = 0; at < given.length; at++) {
      const value = given[at]
      if (!isOther(value, fill)) continue
      indices[to] = features ? features[at] : at
      values[to++] = value
    }
    return { layout: 'sparse', indices: indices.subarray(0, to), values: values.subarray(0, to) }
  }
  for (let at = 0, row = 0; at < from.values.length; at += vectors, row++) {
    if (!differs(from.values, at, vectors, fill)) continue
    indices[to] = features ? features[row] : row
    for (let k = 0; k < vectors; k++) values[to * vectors + k] = from.values[at + k]
    to++
  }
  return { layout: 'sparse', indices: indices.subarray(0, to), values: values.subarray(0, to * vectors) }
}

function scatter(from: SparseVectors, features: number, vectors: number, fill: number): DenseVectors {
  const values = new Float64Array(features * vectors)
  scatterInto(values, from, vectors, fill)
  return { layout: 'dense', values }
}

/** Writes every feature of sparse vectors into one flat array, which holds them all. */
export function scatterInto(values: Float64Array, from: SparseVectors, vectors: number, fill: number): void {
  values.fill(fill)
  const { indices, values: given } = from
  if (vectors === 1) {
    for (let row = 0; row < indices.length; row++) values[indices[row]] = given[row]
    return
  }
  for (let row = 0; row < indices.length; row++) {
    const at = indices[row] * vectors
    for (let k = 0; k < vectors; k++) values[at + k] = given[row * vectors + k]
  }
}

/** Every feature as one flat array. The caller has made sure that features × vectors numbers fit in memory. */
export function toDense(from: WeightVectors, features: number, vectors: number, fill = 0): Float64Array {
  if (from.layout === 'dense') return from.values
  if (from.layout === 'sparse') return scatter(from, features, vectors, fill).values
  if (!from.features) return Float64Array.from(from.values)
  const values = new Float64Array(features * vectors).fill(fill)
  for (const { features: list, first } of lentPieces(from, vectors)) {
    list.forEach((feature, k) => {
      const at = (first + k) * vectors
      values.set(from.values.subarray(at, at + vectors), feature * vectors)
    })
  }
  return values
}

/** The layout in which lent numbers take fewer bytes in a file, and how many features it lists. */
export function fileShape(
  weights: WeightVectors,
  features: number,
  vectors: number,
): { layout: 'dense' | 'sparse'; count: number } {
  if (weights.layout === 'dense') return { layout: 'dense', count: features }
  if (weights.layout === 'sparse') return { layout: 'sparse', count: weights.indices.length }
  const used = countUsed(weights, vectors, 0)
  const sparse = weights.features !== undefined || sparseBytes(used, vectors) < denseBytes(features, vectors)
  return sparse ? { layout: 'sparse', count: used } : { layout: 'dense', count: features }
}

const PIECE_FEATURES = 1 << 15

/** The features of lent numbers, some at a time, and the place of the first of them; each list is there until the next. */
export function* lentPieces(
  { features, values }: LentVectors,
  vectors: number,
): Generator<{ features: Uint32Array; first: number }> {
  const list = new Uint32Array(PIECE_FEATURES)
  const count = values.length / vectors
  for (let first = 0; first < count; first += list.length) {
    const piece = list.subarray(0, Math.min(list.length, count - first))
    if (features) features.copy(first, piece)
    else for (let k = 0; k < piece.length; k++) piece[k] = first + k
    yield { features: piece, first }
  }
}

/** Where the numbers of a feature start in `values`, or -1 when it has none. */
export function positionOf(weights: WeightVectors, vectors: number, feature: number): number {
  if (weights.layout === 'lent' && weights.features) {
    const place = weights.features.placeOf(feature)
    return place < 0 ? -1 : place * vectors
  }
  if (weights.layout !== 'sparse') {
    const at = feature * vectors
    return at < weights.values.length ? at : -1
  }
  const { indices } = weights
  let low = 0
  let high = indices.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (indices[middle] < feature) low = middle + 1
    else high = middle
  }
  return low < indices.length && indices[low] === feature ? low * vectors : -1
}

/** How many features are listed: all of them when dense. */
export function listedFeatures(weights: WeightVectors, vectors: number): number {
  return weights.values.length / vectors
}

/** The feature at a place in the list. */
export function featureAt(weights: WeightVectors, place: number): number {
  if (weights.layout === 'sparse') return weights.indices[place]
  return weights.layout === 'lent' && weights.features ? weights.features.at(place) : place
}

export function countNonzeros(values: Float64Array | Float32Array): number {
  let count = 0
  for (let at = 0; at < values.length; at++) if (values[at] !== 0) count++
  return count
}

/** How many features a layout lists on its own account. */
function listedIn(weights: WeightVectors): number | undefined {
  if (weights.layout === 'sparse') return weights.indices.length
  return weights.layout === 'lent' ? weights.features?.size : undefined
}

/** What is wrong with the arrays, in words, or undefined. */
export function vectorsComplaint(
  what: string,
  weights: WeightVectors,
  features: number,
  vectors: number,
): string | undefined {
  const rows = listedIn(weights) ?? features
  if (weights.values.length !== rows * vectors) {
    return `${what} hold ${weights.values.length} numbers; expected ${rows * vectors} (${rows} features × ${vectors})`
  }
  if (weights.layout === 'sparse') {
    let last = -1
    const { indices } = weights
    for (let row = 0; row < indices.length; row++) {
      const feature = indices[row]
      if (feature >= features) return `${what} name feature ${feature}; there are ${features}, counted from 0`
      if (feature <= last) return `${what} name feature ${feature} after ${last}; expected increasing numbers`
      last = feature
    }
  }
  const { values } = weights
  for (let at = 0; at < values.length; at++) {
    if (!Number.isFinite(values[at])) {
      return `${what} hold ${values[at]} for feature ${featureAt(weights, Math.floor(at / vectors))}; expected finite numbers`
    }
  }
  return undefined
}
