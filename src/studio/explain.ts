// POST /api/runs/ID/explain: a row of text, the label that the model of a run gives it, and the features that made its score.
import { findInputFormat, usualInputFormat } from '../input-formats/all-input-formats.ts'
import { csv } from '../input-formats/csv.ts'
import type { InputFormat } from '../input-formats/input-format.ts'
import { calibrationsOf, classProbabilities } from '../model/calibration.ts'
import { explainRow } from '../model/explain-row.ts'
import { type Model, predictClass, scoreRow } from '../model/model.ts'
import { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { RequestError } from '../serve/request-error.ts'
import { PlacedSchema } from '../tables/place-schema.ts'

export interface ExplainedRow {
  label: string
  scores: { label: string; score: number }[]
  /** Those that add most, whatever their sign; `index` is that of the data, and missing for the bias. */
  features: { index?: number; name: string; value: number; weight: number; contribution: number }[]
  /** What all other features add. */
  others: number
  /** Of the label, where scores can be turned into probabilities. */
  probability?: number
}

const MOST_FEATURES = 50

export function explainText(model: Model, row: string): ExplainedRow {
  const { indices, values } = rowOf(model, row)
  const scores = scoreRow(model, indices, values)
  const { label, contributions, others } = explainRow(model, indices, values, MOST_FEATURES)
  const calibrations = calibrationsOf(model)
  const probabilities = new Float64Array(model.labels.length)
  if (calibrations) classProbabilities(calibrations, model.labels.length, scores, 0, probabilities)
  return {
    label,
    // Two classes share one score.
    scores: model.labels.map(({ text }, k) => ({ label: text, score: k < model.vectors ? scores[k] : -scores[0] })),
    features: contributions.map(({ name, feature, value, weight, adds }) => ({
      ...(feature >= 0 && { index: feature + model.indexBase }),
      ...{ name, value, weight, contribution: adds },
    })),
    others,
    ...(calibrations && { probability: probabilities[predictClass(model, scores)] }),
  }
}

interface Entries {
  indices: Uint32Array
  values: Float64Array
}

/** What is wrong with a row, and how far it was read. */
interface Complaint {
  message: string
  column: number
}

/** What stands for a label that is not known. */
const NO_LABEL = '? '
const LABEL_AND_ENTRIES = /^\S+( \d+:\S+)+$/

/** The entries of one row. Nobody has to type a label: that is what is asked for. */
function rowOf(model: Model, given: string): Entries {
  const row = given.trim()
  if (row === '') throw new RequestError(400, `found no row, expected one such as ${formatFor(model).row}`)
  // Of a table, a cell may have several lines, and the names of the columns may come first.
  if (row.includes('\n') && !model.schema) throw new RequestError(400, 'found several lines, expected one row')
  // Rows of a store have no cells any more: those of a table, too, are shown as features and values.
  const plain = parseRow(model, row, model.schema && LABEL_AND_ENTRIES.test(row) ? usualInputFormat : formatFor(model))
  if ('indices' in plain) return plain
  const labelled = model.schema ? plain : parseRow(model, NO_LABEL + row)
  if ('indices' in labelled) return labelled
  // The one that has come further is the one that was meant.
  throw new RequestError(400, (labelled.column - NO_LABEL.length >= plain.column ? labelled : plain).message)
}

/** Reads a row in the format of the data that the model was trained on. */
function parseRow(model: Model, row: string, format = formatFor(model)): Entries | Complaint {
  const arena = new Arena()
  const text = Buffer.from(`${row}\n`)
  const at = arena.allocate(text.length + TEXT_PADDING, 'a row')
  arena.bytes(at, text.length).set(text)
  const { cut } = format
  const placed = model.schema && new PlacedSchema(arena, model.schema)
  const table = { name: 'the row', placed, needsLabel: false, header: undefined }
  const about = cut.by === 'lines' ? cut.about?.(text, table) : undefined
  const parser = format.newParser(arena)
  const settings = { indexBase: model.indexBase, skipBad: false, valueBits: model.values === 'f64' ? 64 : 32 } as const
  for (const { batch, rows, nonzeros } of parser.parse({ at, bytes: text.length, first: true, about }, settings)) {
    if (rows > 1) throw new RequestError(400, `found ${rows} rows, expected one`)
    if (rows === 0) continue
    const fields = new BatchFields(arena, batch)
    const values = fields.valueBytes === 8 ? arena.f64(fields.values, nonzeros) : arena.f32(fields.values, nonzeros)
    return { indices: arena.u32(fields.indices, nonzeros).slice(), values: Float64Array.from(values) }
  }
  const [bad] = parser.bad
  if (!bad) return { message: `found no row, expected one such as ${format.row}`, column: 0 }
  return { message: `the row: found ${bad.found}, expected ${bad.expected}`, column: bad.column ?? 0 }
}

/** Parsers may look a little behind the end. */
const TEXT_PADDING = 64

/** Rows of data that is no text are written as a line: cells of a table, or features and values. */
function formatFor({ inputFormat, schema }: Model): InputFormat {
  const format = inputFormat === undefined ? usualInputFormat : findInputFormat(inputFormat)
  if (format.cut.by === 'lines') return format
  return schema ? csv : usualInputFormat
}
