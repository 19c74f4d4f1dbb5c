// What the studio of tests answers about its folder, its files and its models.
import type {
  CellRows,
  Choices,
  ExplainedRow,
  Folder,
  Plan,
  RunOptions,
  Summary,
} from '../../src/studio/page/api-types.ts'

const MEGABYTE = 2 ** 20
const modified = '2026-01-01T00:00:00.000Z'

export const folder: Folder = {
  folder: '/data/experiments',
  files: [
    { name: 'news.svm', bytes: 630 * MEGABYTE, modified, kind: 'data', format: 'libsvm' },
    { name: 'news-test.svm', bytes: 63 * MEGABYTE, modified, kind: 'data', format: 'libsvm' },
    { name: 'customers/churn.csv', bytes: 12 * MEGABYTE, modified, kind: 'data', format: 'csv', isTable: true },
    { name: 'broken.svm', bytes: 1200, modified, kind: 'data', format: 'libsvm' },
    { name: 'news.spill', bytes: 410 * MEGABYTE, modified, kind: 'store' },
    { name: 'a file with a very long name that has to be cut somewhere.svm', bytes: 5, modified, kind: 'data' },
    { name: 'old.model', bytes: 8 * MEGABYTE, modified, kind: 'model' },
  ],
  machine: { memoryBytes: 16 * 1024 * MEGABYTE, cores: 8 },
  version: '0.1.0',
}

const named = (...names: string[]): { name: string; summary: string }[] =>
  names.map(name => ({ name, summary: `what ${name} is about, in a few words` }))

export const choices: Choices = {
  losses: [...named('hinge', 'squared-hinge', 'logistic'), { name: 'ramp', truncates: true }],
  solvers: named('auto', 'dual', 'block', 'selective', 'stream'),
  kernels: named('linear', 'chi2', 'intersection'),
  scales: ['minmax', 'standard'],
  normalizes: ['unit'],
  multiclass: ['one-vs-rest', 'softmax'],
  defaults: {
    ...{
      loss: 'hinge',
      cost: 1,
      solver: 'auto',
      kernel: 'linear',
      tolerance: 1e-3,
      multiclass: 'one-vs-rest',
      seed: 1,
    },
  },
}

export function summaryOf(file: string, label: string | null): Summary {
  const table = file.endsWith('.csv')
  return {
    ...{ file, bytes: 630 * MEGABYTE, format: table ? 'csv' : 'libsvm', sampled: true, rows: 200_000, features: 5000 },
    nonzeros: {
      ...{ mean: 39.5, most: 240 },
      histogram: Array.from({ length: 20 }, (_, k) => ({
        ...{ from: 12 * k, to: 12 * k + 12, rows: Math.round(40_000 * Math.exp(-(((k - 3) / 3) ** 2))) },
      })),
    },
    values: { least: 0.0125, most: 7.5 },
    classes: table && label === null ? 0 : 2,
    labels:
      table && label === null
        ? []
        : [
            { label: '+1', rows: 120_000 },
            { label: '-1', rows: 80_000 },
          ],
    ...(table && {
      ...(label === null && { needsLabel: true }),
      columns: [
        { name: 'age', became: 'a number' },
        { name: 'country', became: '31 categories' },
        { name: 'churned', became: 'the label' },
      ],
    }),
    ...(file === 'broken.svm' && {
      bad: { rows: 2, first: 'broken.svm, line 3: found "x" where a feature was expected' },
    }),
    lines: ['+1 3:1 7:0.5 19:2.25', '-1 1:0.125 3:1', '+1 2:1 4:0.5 8:0.25'],
  }
}

const LEAST = 128 * MEGABYTE
const DATA = 420 * MEGABYTE

/** Less memory, fewer blocks in it. */
export function planOf(data: string, { memory, label, solver = 'auto' }: RunOptions): Plan {
  if (data.endsWith('.csv') && label === undefined) {
    const refused = 'which column is the label? the columns are "age", "country", "churned"; say --label NAME'
    return { solver: '', reason: '', seconds: null, refused }
  }
  if (memory !== undefined && memory < LEAST) {
    const refused = `${Math.round(memory / MEGABYTE)} MB of memory cannot work: give --memory 128M or more`
    const { seconds: _, ...withMore } = planOf(data, { memory: LEAST, solver })
    return { solver: '', reason: '', seconds: null, refused, withMore: { ...withMore, bytes: LEAST } }
  }
  const chosen = (fallback: string): string => (solver === 'auto' ? fallback : solver)
  const trial = { rows: 1800, passes: 14 }
  const seconds = { read: 4.2, pass: 0.8, passes: 12, all: 14, least: 9, most: 33, trial }
  if (memory === undefined || memory > 2 * DATA) {
    return { solver: chosen('dual'), reason: 'all rows fit in memory', seconds }
  }
  const room = memory - 100 * MEGABYTE
  const slots = Math.max(2, Math.floor((room * 0.7) / (8 * MEGABYTE)))
  return {
    ...{ solver: chosen('selective'), reason: 'the rows are larger than the memory', seconds: { ...seconds, all: 38 } },
    memory: {
      parts: [
        { what: 'Node', bytes: 60 * MEGABYTE },
        { what: 'weights', bytes: 24 * MEGABYTE },
        { what: 'blocks in memory', bytes: Math.round(room * 0.7) },
        { what: 'rows kept', bytes: Math.round(room * 0.2) },
      ],
      allowed: memory,
    },
    blocks: {
      ...{ count: 52, groups: 52, slots: Math.min(52, slots), slotBytes: 8 * MEGABYTE },
      ...{ cacheBytes: Math.round(room * 0.2), residentBytes: slots * 8 * MEGABYTE },
    },
  }
}

/** Three rows, the last of them too long to be shown whole in a list. */
export function rowsOfCell(truth: string, predicted: string, only: number | undefined): CellRows {
  const rows = [10, 11, 12].map((line, k) => ({
    ...{ line, truth, predicted, score: 0.25 * (k + 1) },
    text: `${truth} ${k + 1}:1 7:0.5${line === 12 && only === undefined ? '…' : ''}`,
  }))
  return only === undefined ? { rows, all: 100 } : { rows: rows.filter(({ line }) => line === only), all: 1 }
}

/** A row of many features; undefined for a text without any. */
export function explained(row: string): ExplainedRow | undefined {
  if (!/\d+:\S/.test(row)) return undefined
  const features = Array.from({ length: 400 }, (_, k) => ({
    ...{ index: k + 1, name: `word${k}`, value: 1, weight: (k % 2 === 0 ? 1 : -1) / (k + 1) },
    contribution: (k % 2 === 0 ? 1 : -1) / (k + 1),
  }))
  return { label: '+1', scores: [{ label: '+1', score: 0.75 }], features, others: 0, probability: 0.87 }
}
