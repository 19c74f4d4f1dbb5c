// What a file holds, in a few numbers: by its beginning, or by the manifest of a store and some of its rows.
import { stat } from 'node:fs/promises'
import { inputFormatOf } from '../block-store/manifest.ts'
import { openStore, type Store } from '../block-store/reader.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { openSource } from '../input-formats/byte-source.ts'
import { becomes } from '../tables/describe-schema.ts'
import type { Schema } from '../tables/schema.ts'
import type { Samples } from './sample.ts'

export interface Summary {
  file: string
  bytes: number
  format: string
  /** Whether numbers are judged by the beginning of the file. */
  sampled: boolean
  /** Of a store: rows whose lengths and values were looked at, where those are not all. */
  sampledRows?: number
  rows: number
  features: number
  nonzeros: { mean: number; most: number; histogram: { from: number; to: number; rows: number }[] }
  values?: { least: number; most: number }
  /** Labels that rows have; `labels` has those of the most rows. */
  classes: number
  labels: { label: string; rows: number }[]
  columns?: { name: string; became: string }[]
  /** Of a table: there when somebody has to say which column is the label. */
  needsLabel?: true
  /** Rows among those looked at that could not be read, and what is wrong with the first; there when there are any. */
  bad?: { rows: number; first: string }
  lines: string[]
}

const MOST_LABELS = 100
const MOST_COLUMNS = 500
const MOST_BINS = 24
const HEAD_BYTES = 1 << 16
const FIRST_LINES = 5
const MOST_LINE = 300

export interface FileToSum {
  /** What the user calls it, and where it is. */
  name: string
  path: string
  /** Of a table: the column that holds the labels. */
  label: string | undefined
}

export async function summarise({ name, path, label }: FileToSum, samples: Samples): Promise<Summary> {
  const found = await stat(path)
  if (found.isDirectory()) return ofStore(name, await openStore(path), samples)
  const sample = await samples.get(path, label)
  const { rows, nonzeros, lengths, least, most, schema, whole, badRows, firstBad } = sample
  const times = whole || sample.sampledBytes === 0 ? 1 : sample.textBytes / sample.sampledBytes
  const isText = findInputFormat(sample.format).cut.by === 'lines'
  return {
    ...{ file: name, bytes: found.size, format: sample.format, sampled: !whole },
    ...{ rows: Math.round(rows * times), features: sample.features },
    nonzeros: lengthsOf(lengths, nonzeros / Math.max(rows, 1), times),
    ...(Number.isFinite(least) && { values: { least, most } }),
    ...labelsOf(sample.labelUnknown ? [] : sample.labels, times),
    ...(schema && { columns: columnsOf(schema) }),
    ...(sample.labelUnknown && { needsLabel: true as const }),
    // Pages know the names of files, not where they are.
    ...(firstBad !== undefined && { bad: { rows: badRows, first: firstBad.replace(path, name) } }),
    lines: isText ? await firstLines(path) : sample.firstRows,
  }
}

async function ofStore(name: string, store: Store, samples: Samples): Promise<Summary> {
  const { manifest } = store
  const { rows, nonzeros, features, labels, blocks, schema } = manifest
  const { lengths, least, most, firstRows } = await samples.ofStore(store)
  const times = lengths.length === 0 ? 1 : rows / lengths.length
  return {
    ...{ file: name, bytes: blocks.reduce((sum, block) => sum + block.bytes, 0), format: inputFormatOf(manifest) },
    ...{ sampled: false, rows, features, ...(lengths.length < rows && { sampledRows: lengths.length }) },
    nonzeros: lengthsOf(lengths, nonzeros / Math.max(rows, 1), times),
    ...(Number.isFinite(least) && { values: { least, most } }),
    ...labelsOf(labels, 1),
    ...(schema && { columns: columnsOf(schema) }),
    lines: firstRows,
  }
}

/** `times`: how many rows a row that was looked at stands for. */
function lengthsOf(lengths: readonly number[], mean: number, times: number): Summary['nonzeros'] {
  return {
    ...{ mean, most: lengths.reduce((a, b) => Math.max(a, b), 0) },
    histogram: histogramOf(lengths).map(bin => ({ ...bin, rows: Math.round(bin.rows * times) })),
  }
}

/** Rows may have been removed until a label had none. */
function labelsOf(
  labels: readonly { text: string; rows: number }[],
  times: number,
): Pick<Summary, 'classes' | 'labels'> {
  const found = labels.filter(({ rows }) => rows > 0).sort((a, b) => b.rows - a.rows)
  return {
    classes: found.length,
    labels: found.slice(0, MOST_LABELS).map(({ text, rows }) => ({ label: text, rows: Math.round(rows * times) })),
  }
}

function columnsOf({ columns }: Schema): NonNullable<Summary['columns']> {
  return columns.slice(0, MOST_COLUMNS).map(column => ({ name: column.name, became: becomes(column) }))
}

/** Bins of whole numbers, each from its first number on and below its second. */
export function histogramOf(lengths: readonly number[]): Summary['nonzeros']['histogram'] {
  if (lengths.length === 0) return []
  const least = lengths.reduce((a, b) => Math.min(a, b))
  const most = lengths.reduce((a, b) => Math.max(a, b))
  const width = Math.ceil((most - least + 1) / MOST_BINS)
  const bins = Array.from({ length: Math.ceil((most - least + 1) / width) }, (_, k) => ({
    from: least + k * width,
    to: least + (k + 1) * width,
    rows: 0,
  }))
  for (const length of lengths) bins[Math.floor((length - least) / width)].rows++
  return bins
}

/** The first lines of text that have something in them. */
async function firstLines(path: string): Promise<string[]> {
  const source = await openSource(path)
  try {
    const head = new Uint8Array(HEAD_BYTES)
    const filled = await source.read(head)
    const lines = Buffer.from(head.subarray(0, filled)).toString().split(/\r?\n/)
    const shown = lines.filter(line => line.trim() !== '').slice(0, FIRST_LINES)
    return shown.map(line => (line.length > MOST_LINE ? `${line.slice(0, MOST_LINE - 1)}…` : line))
  } finally {
    await source.close()
  }
}
