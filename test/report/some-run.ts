// Runs to test reports with: records as a run would write them, of any length, and with names that are up to no good.
import type { EvaluationRecord, ProgressRecord, RunLine, RunRecord } from '../../src/report/records.ts'

export const HOSTILE = `</script><img src=x onerror="window.hacked=1">'"&<!--`

export function runLine(fields: Partial<RunRecord> = {}): RunRecord {
  return {
    ...{ record: 'run', format: 1, version: '0.1.0', command: 'spillway train a.svm', verb: 'train' },
    ...{ began: '2026-01-02T03:04:05.000Z', data: ['a.svm'], seed: 1 },
    settings: { loss: 'hinge', cost: 1, tolerance: 1e-3, memory: 300 * 2 ** 20 },
    ...fields,
  }
}

/** A record of training: the gap falls by a tenth each pass. */
export function trainLine(pass: number, fields: object = {}): ProgressRecord {
  const gap = 0.9 ** pass
  return {
    ...{ record: 'progress', stage: 'train', seconds: 1 + pass / 10, pass, primal: 100 / (1 - gap / 2), gap },
    ...{ certified: false, memoryBytes: (100 + (pass % 7)) * 2 ** 20 },
    ...fields,
  }
}

/** Numbers of a run over blocks: so many seconds, rows and bytes a pass. */
export function blocksLine(pass: number): ProgressRecord {
  return trainLine(pass, {
    blocks: { read: 4 * pass, bytesRead: pass * 2 ** 22, bytesSkipped: pass * 2 ** 20, inMemory: [pass % 4] },
    time: { read: 0.02 * pass, decode: 0.05 * pass, wait: 0.04 * pass },
    rows: { kept: 200 + pass, left: 800 - pass, evicted: 3 * pass },
  })
}

export const evaluation: EvaluationRecord = {
  ...{ record: 'evaluation', data: 'a.t.svm', rows: 100, accuracy: 0.9, positive: '+1', logLoss: 0.3 },
  ...{ rocArea: 0.95, prArea: 0.94 },
  roc: [
    [0, 0],
    [0.1, 0.8],
    [1, 1],
  ],
  precisionRecall: [
    [0.2, 1],
    [1, 0.5],
  ],
  calibration: [
    { predicted: 0.1, observed: 0.12, rows: 40 },
    { predicted: 0.9, observed: 0.85, rows: 60 },
  ],
  confusion: {
    labels: ['+1', '-1'],
    counts: [
      [45, 5],
      [5, 45],
    ],
  },
}

/** Every kind of record, with so many passes; `label` and `name` stand wherever a user's text may. */
export function wholeRun(passes: number, { label = '+1', name = 'feature 7' } = {}): RunLine[] {
  return [
    runLine({ command: `spillway train '${name}'`, data: [`${name}.svm`] }),
    { record: 'progress', stage: 'plan', solver: 'stream', reason: name },
    {
      ...{ record: 'progress', stage: 'plan', solver: 'stream', reason: '4 blocks' },
      memory: { parts: [{ what: 'weights', bytes: 2 ** 20 }], allowed: 300 * 2 ** 20 },
    },
    { record: 'progress', stage: 'read', seconds: 0.5, bytesRead: 100, bytesTotal: 200, rows: 10, badRows: 0 },
    {
      ...{ record: 'progress', stage: 'rows', seconds: 1, rows: 1000, features: 50, classes: 2 },
      labels: [{ label, rows: 600 }],
    },
    ...Array.from({ length: passes }, (_, k) => blocksLine(k + 1)),
    trainLine(passes, { certified: true, gap: 5e-4, primal: 100, seconds: 1.2 + passes / 10 }),
    {
      ...{ record: 'data', rows: 1000, features: 50, nonzeros: 9000 },
      labels: [
        { label, rows: 600 },
        { label: '-1', rows: 400 },
      ],
      rowLengths: [
        { from: 1, to: 8, count: 300 },
        { from: 8, to: 16, count: 700 },
      ],
      values: { smallest: -1, largest: 3, bins: [{ from: -1, to: 3, count: 9000 }] },
    },
    { record: 'test', seconds: 0.5, data: 'a.t.svm', rows: 100, accuracy: 0.8 },
    { record: 'test', seconds: 1 + passes / 10, data: 'a.t.svm', rows: 100, accuracy: 0.9 },
    {
      ...evaluation,
      ...{ positive: label, confusion: { ...evaluation.confusion!, labels: [label, '-1'] } },
    },
    {
      ...{ record: 'features', nonzero: 40, all: 50 },
      features: [
        { name, weight: 2.5, label },
        { name: 'feature 8', weight: -1.25, label },
      ],
    },
    {
      ...{ record: 'result', command: 'train', solver: 'stream', rows: 1000, features: 50, nonzeros: 9000, passes },
      ...{ primal: 100, dual: 99.95, gap: 5e-4, exitReason: 'converged', peakMemoryBytes: 120 * 2 ** 20 },
      seconds: { total: 2 + passes / 10, read: 1, compute: 1, write: 0 },
    },
  ]
}

export const asText = (lines: readonly object[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('')
