// The reference optimum P*: what differences are measured from. Spillway is run to a relative gap of 1e-7, then the
// evaluator computes the primal of that model from the file; LIBLINEAR's printed dual objective, from another program,
// bounds the optimum from below. A reference belongs to the data, not to a version, so it is kept beside the data.
import { createHash } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from './data.ts'
import { cacheFolder } from './data.ts'
import { evaluateFiles, type LossName } from './evaluator.ts'
import { spillway } from './peers/spillway.ts'

export const REFERENCE_GAP = 1e-7

export interface Reference {
  primal: number
  /** The gap that Spillway certifies; P* is not known better than this. */
  gap: number
  accuracy: number
  rows: number
  nonzeros: number
  features: number
}

export async function referenceFor(
  data: PreparedData,
  { loss, cost }: { loss: LossName; cost: number },
  workFolder: string,
  say: (text: string) => void,
): Promise<Reference> {
  const key = await fileKey(data.file)
  const file = join(cacheFolder, `${data.name}-${loss}-${cost}-${key}.reference.json`)
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch {
    // Not made yet.
  }
  say(`reference optimum of ${data.name}, ${loss}: training to gap ${REFERENCE_GAP}`)
  const model = join(workFolder, `${data.name}-${loss}-reference.model`)
  const run = await spillway.train(data.file, { loss, cost, stop: REFERENCE_GAP, model })
  const gap = Number(run.told?.['gap'])
  const [judged] = await evaluateFiles(data.file, [await spillway.asLiblinear(model)], { loss, cost })
  const { primal, accuracy, rows, nonzeros, features } = judged
  const reference = { primal, gap, accuracy, rows, nonzeros, features }
  // One that fell short is used, and shown with its gap, but not kept.
  if (gap <= REFERENCE_GAP) await writeFile(file, `${JSON.stringify(reference)}\n`)
  return reference
}

/** Tells one version of a file from the next without reading gigabytes: by size and time. */
async function fileKey(path: string): Promise<string> {
  const { size, mtimeMs } = await stat(path)
  return createHash('sha256').update(`${size} ${mtimeMs}`).digest('hex').slice(0, 12)
}
