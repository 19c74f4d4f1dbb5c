// Small stores whose rows a test knows in their order, and models trained on them.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { ingest } from '../../../src/block-store/ingest.ts'
import { openStore } from '../../../src/block-store/reader.ts'
import { toDense } from '../../../src/model/weights.ts'
import { findSolver } from '../../../src/optimise/solvers/all-solvers.ts'
import type { BlockSolver } from '../../../src/optimise/solvers/solver.ts'
import { groupsOf } from '../../../src/optimise/sources/memory-plan.ts'
import { PROGRAM_PAGES } from '../../../src/sizes.ts'
import { resolveOptions, type TrainOptions } from '../../../src/train/options.ts'
import { planFor } from '../../../src/train/plan-for-blocks.ts'
import { train } from '../../../src/train/train.ts'
import type { TrainResult } from '../../../src/train/training-run.ts'
import { noisyRows } from '../../contracts/small-problems.ts'
import { referenceParse } from '../../input-formats/reference-parser.ts'

export interface TestRow {
  indices: number[]
  values: number[]
  y: number
}

export interface TestStore {
  path: string
  features: number
  /** Rows that are in memory together under this memory, in stored order: those of a block, and of an empty one beside it. */
  blocks: TestRow[][]
  /** Bytes of memory that hold two blocks, one at work and one being read. */
  memory: number
  rows: TestRow[]
}

/** A store of noisy rows, in the order of the text. */
export async function makeStore(
  folder: { path: string; write(name: string, content: string): string },
  name: string,
  { rows = 200, features = 12, blocks = 4, seed = 3, noise = 0.15 } = {},
): Promise<TestStore> {
  const lines = noisyRows(rows, features, seed, noise).split('\n')
  const path = join(folder.path, `${name}.spill`)
  // A file for each block: text is cut into blocks between the pieces that it is read in.
  const size = Math.ceil(rows / blocks)
  const files = Array.from({ length: blocks }, (_, k) =>
    folder.write(`${name}-${k}.svm`, `${lines.slice(k * size, (k + 1) * size).join('\n')}\n`),
  )
  const { manifest } = await ingest(files, path, { blocks, split: 'sequential', threads: 1 })
  const text = lines.join('\n')
  const parsed = referenceParse(Buffer.from(text), 1, 32)
  const all = parsed.rows.map(({ label, indices, values }) => ({
    indices: [...indices],
    values: [...values],
    y: label > 0 ? 1 : -1,
  }))
  const solver = findSolver('pegasos') as BlockSolver
  const planned = async (options: TrainOptions) => planFor(await openStore(path), solver, resolveOptions(options))
  const loose = await planned({})
  const besides = loose.parts.slice(0, -1).reduce((sum, part) => sum + part.bytes, 0)
  const largest = Math.max(...loose.costs.map(cost => cost.bytes + 12 * cost.rows))
  const memory = besides + PROGRAM_PAGES + 2 * 1.5 * largest
  const order = manifest.blocks.map((_, k) => k)
  let from = 0
  const parts = groupsOf(await planned({ memory }), order).map(group => {
    const count = group.reduce((sum, k) => sum + manifest.blocks[k].rows, 0)
    from += count
    return all.slice(from - count, from)
  })
  assert.ok(parts.length > 2)
  return { path, features: parsed.features, memory, blocks: parts, rows: all }
}

export const dot = (row: TestRow, w: number[], bias: number): number =>
  row.indices.reduce((sum, index, k) => sum + w[index] * row.values[k], bias * w[w.length - 1])

/** w += step · row. */
export function add(row: TestRow, step: number, w: number[], bias: number): void {
  row.indices.forEach((index, k) => {
    w[index] += step * row.values[k]
  })
  w[w.length - 1] += step * bias
}

export const squared = (w: number[]): number => w.reduce((sum, x) => sum + x * x, 0)

/** The weights of a result, the bias last. */
export function weightsOf({ model }: TrainResult): number[] {
  return [...toDense(model.weights, model.features, 1), model.biasWeights[0] ?? 0]
}

function limits({ memory }: TestStore, { solver }: TrainOptions): TrainOptions {
  return { threads: 1, ...(solver !== 'dual' && { memory }) }
}

/** Trains on a store, blocks one at a time where the solver takes blocks. `own` are the weights that the method came to; where
 *  they are worse than weights of 0 the model has a multiple of them. */
export async function trained(
  store: TestStore,
  options: TrainOptions,
): Promise<{ result: TrainResult; w: number[]; own: number[] }> {
  const result = await train(store.path, { ...limits(store, options), ...options }).result
  const w = weightsOf(result)
  const factor = result.model.shortfall?.factors[0] ?? 1
  assert.ok(factor > 0, 'nothing is left of the weights')
  return { result, w, own: w.map(x => x / factor) }
}

/** Runs until some records were seen, and aborts. */
export async function interrupted(store: TestStore, options: TrainOptions, records: number): Promise<TrainResult> {
  const stop = new AbortController()
  const run = train(store.path, { ...limits(store, options), ...options, signal: stop.signal })
  let seen = 0
  for await (const record of run) if (record.stage === 'train' && ++seen === records) stop.abort()
  return run.result
}

/** Largest difference, relative to the largest weight. */
export function distance(got: number[], expected: number[]): number {
  const largest = Math.max(...expected.map(Math.abs))
  return Math.max(...got.map((x, j) => Math.abs(x - expected[j]))) / largest
}
