// The reference optimum P*: what differences are measured from. Spillway is run to a relative gap of 1e-7, then the
// evaluator computes the primal of that model from the file; LIBLINEAR's printed dual objective, from another program,
// bounds the optimum from below. A run that takes too long is asked to end, and the gap that it has reached by then is how well
// P* is known: differences below it are not told apart. A reference belongs to the data, not to a version, so it is kept beside the data.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from './data.ts'
import { cacheFolder } from './data.ts'
import { type Evaluation, evaluateFiles, type LossName } from './evaluator.ts'
import { CommandFailed } from './measure.ts'
import { spillway } from './peers/spillway.ts'

export const REFERENCE_GAP = 1e-7
/** Seconds that the run has. */
export const REFERENCE_SECONDS = 300

export interface Reference {
  primal: number
  /** The gap that Spillway certifies; P* is not known better than this. */
  gap: number
  /** Where the run was asked to end: after so many seconds. */
  endedAfter?: number
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
  seconds = REFERENCE_SECONDS,
): Promise<Reference> {
  const key = await fileKey(data.file)
  const file = join(cacheFolder, `${data.name}-${loss}-${cost}-${key}.reference.json`)
  const kept = await readFile(file, 'utf8').then(
    text => JSON.parse(text) as Reference,
    () => undefined,
  )
  // One that had less time than there is now may be bettered.
  if (kept && (kept.endedAfter ?? seconds) >= seconds) return kept
  say(`reference optimum of ${data.name}, ${loss}: training to gap ${REFERENCE_GAP}, for ${seconds} s at most`)
  const model = join(workFolder, `${data.name}-${loss}-reference.model`)
  const request = { loss, cost, stop: REFERENCE_GAP, model }
  const run = await spillway.train(data.file, request, { interruptAfter: seconds }).catch(error => {
    // A run that has to end while it reads has no model, and says nothing.
    if (existsSync(model) || error instanceof CommandFailed) throw error
    throw new Error(`no reference optimum of ${data.name}, ${loss}: ${seconds} s were not enough to read it`)
  })
  const [judged] = await evaluateFiles(data.file, [await spillway.asLiblinear(model)], { loss, cost })
  const reference = referenceOf(run.told, judged, seconds)
  const { gap, endedAfter } = reference
  if (endedAfter !== undefined)
    say(`ended after ${seconds} s, at a gap of ${gap.toExponential(1)}: smaller differences are not told apart`)
  // One that fell short for another reason is used, and shown with its gap, but not kept.
  if (gap <= REFERENCE_GAP || endedAfter !== undefined) await writeFile(file, `${JSON.stringify(reference)}\n`)
  return reference
}

/** What is known of the optimum by a run that had so many seconds. */
export function referenceOf(
  told: Record<string, unknown> | undefined,
  { primal, accuracy, rows, nonzeros, features }: Evaluation,
  seconds: number,
): Reference {
  const isEnded = told?.['exitReason'] === 'interrupted'
  // Without a certificate nothing is known of the optimum but that it is not above this model.
  const gap = typeof told?.['gap'] === 'number' ? told['gap'] : 1
  return { primal, gap, ...(isEnded && { endedAfter: seconds }), accuracy, rows, nonzeros, features }
}

/** Tells one version of a file from the next without reading gigabytes: by size and time. */
async function fileKey(path: string): Promise<string> {
  const { size, mtimeMs } = await stat(path)
  return createHash('sha256').update(`${size} ${mtimeMs}`).digest('hex').slice(0, 12)
}
