// Stores in a folder that goes away, for tests that add rows to them, remove rows, and train on what is left.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type IngestOptions, ingest } from '../../src/block-store/ingest.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { asText, type SomeRow } from '../cli/some-data.ts'
import { fastFolder } from '../folders.ts'

export const root = fastFolder().path
let count = 0
export const newPath = (end: string): string => join(root, `${count++}${end}`)

export function textFile(rows: SomeRow[]): string {
  const path = newPath('.svm')
  writeFileSync(path, asText(rows))
  return path
}

export async function newStore(rows: SomeRow[] | string[], options: IngestOptions = {}): Promise<string> {
  const folder = newPath('.spill')
  const paths = rows.map(row => (typeof row === 'string' ? row : ''))
  await ingest(typeof rows[0] === 'string' ? paths : textFile(rows as SomeRow[]), folder, {
    blocks: 4,
    threads: 1,
    ...options,
  })
  return folder
}

/** Solved to the last digits in a few passes. */
const OPTIONS: TrainOptions = { solver: 'block', tolerance: 1e-6, cost: 0.01, bias: 1 }

export async function trained(folder: string, options: TrainOptions = {}) {
  const work = train(folder, { ...OPTIONS, ...options })
  const reasons: string[] = []
  for await (const progress of work) if (progress.stage === 'plan') reasons.push(progress.reason)
  const result = await work.result
  assert.equal(result.exitReason, 'converged')
  return { ...result, warm: reasons.some(reason => reason.startsWith('started from the last training')) }
}
