// Records of a run that never was, for tests of the studio's page: numbers that can be told apart, and as many as are asked for.
import type { RunLine } from '../../src/report/records.ts'

const MEGABYTE = 2 ** 20

export interface FakeRun {
  /** Records of training. */
  steps: number
  /** Records in each pass. */
  stepsPerPass?: number
  blocks?: number
  solver?: string
  /** Times the objective. */
  worse?: number
}

/** What comes before the first pass. */
export function firstRecords({ blocks = 0, solver = 'selective' }: FakeRun, command: string): RunLine[] {
  const plan = {
    parts: [
      { what: 'Node', bytes: 60 * MEGABYTE },
      { what: 'weights', bytes: 24 * MEGABYTE },
      { what: 'blocks in memory', bytes: 96 * MEGABYTE },
      { what: 'rows kept', bytes: 40 * MEGABYTE },
    ],
    allowed: 256 * MEGABYTE,
  }
  const sizes = Array.from({ length: blocks }, (_, k) => ({ rows: 1000 + k, bytes: 4 * MEGABYTE }))
  return [
    {
      ...{ record: 'run', format: 1, version: '0.1.0', command, verb: 'train', began: '2026-01-02T03:04:05.000Z' },
      ...{ data: ['news.svm'], settings: { loss: 'hinge', cost: 1, tolerance: 1e-3, memory: 256 * MEGABYTE }, seed: 1 },
    },
    {
      ...{ record: 'progress', stage: 'plan', solver, reason: 'the data is larger than the memory' },
      ...(blocks > 0 && {
        memory: plan,
        blocks: { count: blocks, groups: blocks, slots: 2, slotBytes: 4 * MEGABYTE, cacheBytes: 40 * MEGABYTE },
      }),
    },
    {
      ...{ record: 'progress', stage: 'read', seconds: 0.5, bytesRead: 500_000, bytesTotal: 1_000_000 },
      ...{ rows: 10_000, badRows: 0 },
    },
    {
      ...{ record: 'progress', stage: 'rows', seconds: 1, rows: 20_000, features: 5000, classes: 2 },
      labels: [
        { label: '+1', rows: 12_000 },
        { label: '-1', rows: 8000 },
      ],
      ...(blocks > 0 && { blocks: sizes }),
    },
  ]
}

/** One record of training, by its number from 1. */
export function stepRecord(run: FakeRun, step: number): RunLine {
  const { blocks = 0, stepsPerPass = 4, worse = 1 } = run
  const pass = step / stepsPerPass
  const gap = 0.5 * Math.exp((-6.5 * step) / run.steps)
  return {
    ...{ record: 'progress', stage: 'train', seconds: 1 + 0.05 * step, pass, primal: worse * 1234.5 * (1 + gap) },
    ...{ gap, certified: step === run.steps, memoryBytes: (150 + (step % 7)) * MEGABYTE },
    ...(blocks > 0 && {
      blocks: {
        ...{ read: step, bytesRead: 4 * MEGABYTE * step, bytesSkipped: 0 },
        inMemory: [(step + blocks - 1) % blocks, step % blocks],
      },
      time: { read: 0.02 * step, decode: 0.01 * step, wait: 0.005 * step },
      rows: { kept: 400 + (step % 100), left: 600 - (step % 100), evicted: 3 * step },
    }),
  }
}

export const CONFUSION = {
  labels: ['+1', '-1'],
  counts: [
    [1100, 100],
    [60, 740],
  ],
}

/** What comes after the last pass. */
export function lastRecords(run: FakeRun): RunLine[] {
  const { worse = 1, steps, stepsPerPass = 4, solver = 'selective' } = run
  const primal = worse * 1234.5
  const curve: [number, number][] = Array.from({ length: 21 }, (_, k) => [k / 20, Math.min(1, (k / 20) ** 0.3)])
  return [
    {
      ...{ record: 'data', rows: 20_000, features: 5000, nonzeros: 800_000 },
      labels: [
        { label: '+1', rows: 12_000 },
        { label: '-1', rows: 8000 },
      ],
      rowLengths: Array.from({ length: 12 }, (_, k) => ({ from: 5 * k, to: 5 * k + 5, count: 300 * (12 - k) })),
    },
    { record: 'test', seconds: 1 + 0.05 * steps, data: 'news-test.svm', rows: 2000, accuracy: 0.92 / worse },
    {
      ...{ record: 'evaluation', data: 'news-test.svm', rows: 2000, accuracy: 0.92, positive: '+1', rocArea: 0.97 },
      ...{ prArea: 0.96, logLoss: null, roc: curve, confusion: CONFUSION },
      precisionRecall: curve.map(([x, y]) => [y, 1 - 0.3 * x]),
    },
    {
      ...{ record: 'features', nonzero: 900_000, all: 1_000_000 },
      features: Array.from({ length: 20 }, (_, k) => ({
        ...{ name: `word${k}`, weight: (20 - k) * (k % 3 === 0 ? -0.1 : 0.1), label: k % 3 === 0 ? '-1' : '+1' },
      })),
    },
    {
      ...{ record: 'result', command: 'train', solver, primal, dual: primal * 0.9993, gap: 7e-4, rows: 20_000 },
      ...{
        features: 5000,
        passes: steps / stepsPerPass,
        seconds: { total: 1.5 + 0.05 * steps },
        exitReason: 'converged',
      },
      test: { accuracy: 0.92 / worse },
    },
  ]
}

/** All of them. */
export function allRecords(run: FakeRun, command = 'spillway train news.svm'): RunLine[] {
  const steps = Array.from({ length: run.steps }, (_, k) => stepRecord(run, k + 1))
  return [...firstRecords(run, command), ...steps, ...lastRecords(run)]
}
