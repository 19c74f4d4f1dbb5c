// Parts of data sets for runs over ranks, and the objective of what they end with.
import assert from 'node:assert/strict'
import { writeJson } from '../../src/model/json-file.ts'
import type { Model } from '../../src/model/model.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { dataSet } from '../data-sets/data-sets.ts'
import { readLines } from '../data-sets/rows.ts'
import { exactObjective, type JsonModel } from '../train/exact-objective.ts'

export const isSlow = process.env['SPILLWAY_SLOW'] === '1'
export const jsonOf = (model: Model): JsonModel => JSON.parse(Buffer.concat([...writeJson(model)]).toString())

/** Every so many rows of a set; of slow runs `slowEvery`. */
export function textOf(name: Parameters<typeof dataSet>[0], every: number, slowEvery = every): string {
  const lines = readLines(dataSet(name).path).filter((_, k) => k % (isSlow ? slowEvery : every) === 0)
  return `${lines.join('\n')}\n`
}

/** Five of the groups of 20 newsgroups. */
export function fiveGroups(): string {
  return textOf('news20bydate', 1)
    .split('\n')
    .filter((line, k) => k % (isSlow ? 1 : 8) === 0 && Number.parseInt(line, 10) <= 5)
    .join('\n')
}

export function objective(text: string, { model, loss, cost }: TrainResult, options: TrainOptions = {}): number {
  const { classWeights = {}, multiclass } = options
  return exactObjective(text, jsonOf(model), {
    ...{ loss, cost, classWeights, values: 'f32' },
    ...(multiclass && { multiclass }),
  })
}

export const near = (found: number, expected: number, most: number, what: string): void =>
  assert.ok(Math.abs(found - expected) <= most * Math.abs(expected), `${what}: ${found}, expected ${expected}`)

/** Whether results of ranks tell of the same model, and of the same data as one process. */
export function sameAsAlone(results: TrainResult[], alone: TrainResult): void {
  const [first] = results
  for (const field of ['rows', 'features', 'nonzeros', 'classes'] as const)
    assert.equal(first[field], alone[field], field)
  assert.deepEqual(
    first.model.labels.map(({ text }) => text),
    alone.model.labels.map(({ text }) => text),
  )
  for (const other of results) assert.deepEqual(jsonOf(other.model).weights, jsonOf(first.model).weights)
}
