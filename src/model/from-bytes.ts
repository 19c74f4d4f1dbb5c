// `spillway/predict`: a model from the bytes of its file, to score rows where there is neither Node nor a file: in a browser, in
// a worker at the edge. Nothing that this file leads to needs more than the language itself.

import type { Model } from './model.ts'
import { decodeModel } from './own-file.ts'
import { type Predicts, withPredict } from './predict-row.ts'

export { SpillwayError, UsageError } from '../errors.ts'
export { calibrationsOf, classProbabilities } from './calibration.ts'
export { type Model, predictLabel, scoreRow } from './model.ts'
export { type NamedRow, type Predicts, predictRow, type RowPrediction, type RowToPredict } from './predict-row.ts'

/** A model of Spillway's own format; `name` is what complaints call it. */
export function loadModel(bytes: ArrayBuffer | Uint8Array, name = 'the model'): Model & Predicts {
  return withPredict(decodeModel(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes), name))
}
