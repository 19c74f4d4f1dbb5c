// What is recorded at the end of a run: its data, tests, evaluation and weightiest features.
import { knownIndexBase, usualInputFormat } from '../input-formats/all-input-formats.ts'
import type { Model } from '../model/model.ts'
import { countNonzeros } from '../model/weights.ts'
import type { PredictResult } from '../predict/predict.ts'
import type { RowsToLookAt } from '../report/look-at-rows.ts'
import type { DataRecord, EvaluationRecord, FeaturesRecord, RunLine } from '../report/records.ts'
import type { RowsProgress } from '../train/progress.ts'
import type { TrainResult } from '../train/training-run.ts'
import type { CrossValidation } from '../train/validation.ts'
import { recordedName } from './format.ts'
import { topWeights } from './inspect-model.ts'

const MOST_FEATURES = 30
const MOST_LABELS = 50
/** A larger matrix is for nobody to look at. */
const MOST_IN_MATRIX = 40

/** Data that models were trained on. */
export type DataOfRun = Pick<CrossValidation, 'rows' | 'features' | 'data'>

/** A part of the records that cannot be had is left out: the run itself went well. */
export async function dataRecord(
  data: Pick<RowsToLookAt, 'paths' | 'labels'>,
  { rows, features, data: { nonzeros, format, indexBase, schema } }: DataOfRun,
  told: RowsProgress | undefined,
): Promise<DataRecord> {
  const { lookAtRows } = await import('../report/look-at-rows.ts')
  const look = { ...data, format, indexBase: knownIndexBase(format, indexBase), schema, rows }
  const looked = await lookAtRows(look).catch(() => ({}))
  return { ...balanceRecord({ rows, features }, told), nonzeros, ...looked }
}

/** The data of a model, as its training tells it. */
export function dataOfTraining({
  model: { inputFormat: format = usualInputFormat.name, indexBase, schema },
  rows,
  features,
  nonzeros,
}: Pick<TrainResult, 'model' | 'rows' | 'features' | 'nonzeros'>): DataOfRun {
  return { rows, features, data: { nonzeros, format, indexBase, ...(schema && { schema }) } }
}

/** How rows are shared out over labels, as far as that was told. */
export function balanceRecord(
  { rows, features }: Pick<DataRecord, 'rows' | 'features'>,
  told: Partial<Pick<RowsProgress, 'labels' | 'classes'>> | undefined,
): DataRecord {
  const labels = told?.labels ?? []
  const others = {
    labels: (told?.classes ?? 0) - labels.length,
    rows: rows - labels.reduce((sum, label) => sum + label.rows, 0),
  }
  return { ...{ record: 'data', rows, features, labels }, ...(others.labels > 0 && { otherLabels: others }) }
}

/** The data of predictions: its labels are known where they were compared, and stand for rows where these have no weights. */
export async function predictedDataRecord(
  { path, labels: file, format }: { path: string; labels: string | undefined; format: string | undefined },
  model: Model,
  { rows, evaluation }: PredictResult,
): Promise<DataRecord> {
  const { lookAtRows } = await import('../report/look-at-rows.ts')
  const found = evaluation && evaluation.weight === undefined ? evaluation.classes : []
  const labels = found.map(({ label, support }) => ({ label, rows: support })).filter(label => label.rows > 0)
  labels.sort((a, b) => b.rows - a.rows)
  const name = format ?? model.inputFormat ?? usualInputFormat.name
  const looked = await lookAtRows({
    ...{ paths: [path], labels: file, format: name, schema: model.schema, rows },
    indexBase: knownIndexBase(name, model.indexBase),
  }).catch(() => ({}))
  const told = { labels: labels.slice(0, MOST_LABELS), classes: labels.length }
  return { ...balanceRecord({ rows, features: model.features }, told), ...looked }
}

export function featuresRecord(model: Model): FeaturesRecord {
  const features = topWeights(model, MOST_FEATURES).map(({ feature, name, names, weight, label }) => ({
    ...{
      name: name ?? (names && names.length > 0 ? names.slice(0, 3).join(', ') : `feature ${feature}`),
      weight,
      label,
    },
  }))
  const all = model.features * model.vectors
  return { record: 'features', nonzero: countNonzeros(model.weights.values), all, features }
}

/** Undefined when labels were not compared. */
export function evaluationRecord(data: string, result: PredictResult): EvaluationRecord | undefined {
  const { evaluation, curves } = result
  if (!evaluation) return undefined
  const { rows, accuracy, positive, rocArea, prArea, logLoss, confusion } = evaluation
  const few = confusion && confusion.labels.length <= MOST_IN_MATRIX ? confusion : undefined
  return {
    ...{ record: 'evaluation', data: recordedName(data), rows, accuracy, positive, rocArea, prArea, logLoss },
    ...curves,
    ...(few && { confusion: few }),
  }
}

/** What the test at the end leaves. `seconds` and `pass`: of training, when the model was as it was tested. */
export function testRecords(
  data: string,
  result: PredictResult,
  { seconds, pass }: { seconds: number; pass: number },
): RunLine[] {
  const { rows, accuracy, seconds: took } = result
  const evaluation = evaluationRecord(data, result)
  const test: RunLine = { record: 'test', seconds, pass, data: recordedName(data), rows, accuracy, took }
  return [test, ...(evaluation ? [evaluation] : [])]
}
