// The public API: what `import … from 'spillway'` gives. Nothing here prints.
export { type AddOptions, type AddResult, addRows } from './block-store/add.ts'
export { type IngestOptions, type IngestProgress, type IngestResult, ingest } from './block-store/ingest.ts'
export type { Manifest } from './block-store/manifest.ts'
export { openStore } from './block-store/reader.ts'
export {
  type RemoveOptions,
  type RemoveProgress,
  type RemoveResult,
  type RowsToRemove,
  removeRows,
} from './block-store/remove.ts'
export { SpillwayError, UsageError } from './errors.ts'
export { type EvaluatedRows, Evaluation, type EvaluationReport } from './evaluation/evaluation.ts'
export { type GenerateOptions, generate } from './generate/generate.ts'
export type { CsrRows } from './input-formats/csr-rows.ts'
export type { DataFor, LabelledRow, RowFeatures, RowToRead } from './input-formats/given-rows.ts'
export type { SqlQuery } from './input-formats/stand-ins.ts'
export {
  type Calibration,
  type CalibrationKind,
  type Calibrations,
  calibrationsOf,
  classProbabilities,
  fitCalibration,
  probabilityOf,
} from './model/calibration.ts'
export { type Contribution, type Explanation, explainRow } from './model/explain-row.ts'
export { loadModel, saveModel } from './model/files.ts'
export { type Model, predictLabel, scoreRow } from './model/model.ts'
export { type NamedRow, type Predicts, predictRow, type RowPrediction, type RowToPredict } from './model/predict-row.ts'
export { type Shortfall, type ShortfallWords, shortfallWords } from './model/shortfall.ts'
export { findOutliers, type Outlier, type OutlierOptions } from './predict/outliers.ts'
export {
  type PredictedRows,
  type PredictOptions,
  type PredictResult,
  predict,
  predictRows,
} from './predict/predict.ts'
export { buildIndex, type IndexOptions, type IndexProgress, type IndexResult } from './sample-index/build-index.ts'
export type { Column, Schema } from './tables/schema.ts'
export type { TableOptions } from './tables/table-options.ts'
export { type CrossValidateOptions, crossValidate } from './train/cross-validate.ts'
export type { TrainOptions } from './train/options.ts'
export type {
  PlanProgress,
  Progress,
  ReadProgress,
  RelaxProgress,
  RowsProgress,
  TestProgress,
  TrainProgress,
} from './train/progress.ts'
export type { Tester } from './train/tests-on-the-way.ts'
export { train } from './train/train.ts'
export { type TrainedModel, TrainingRun, type TrainResult } from './train/training-run.ts'
export { type TuneOptions, type Tuning, tune } from './train/tune.ts'
export type { CostResult, CrossValidation, FoldResult } from './train/validation.ts'
export { version } from './version.ts'
