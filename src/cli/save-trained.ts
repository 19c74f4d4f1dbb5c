// Where the model of a run goes. A model that is there is replaced only by a run that reached its aim; any other goes beside
// it, for the old one may well be better.
import { stat } from 'node:fs/promises'
import { saveModel } from '../model/files.ts'
import type { TrainResult } from '../train/training-run.ts'
import { checkOutputs } from './check-files.ts'

/** What is put behind the name of a model that is not replaced. */
export const BESIDE = '.unfinished'

export interface SavedModel {
  /** Where the model is. */
  model: string
  /** The model that was there and stays, when that is another place. */
  kept?: string
}

/** The aim is the tolerance, or as many passes as were asked for: said by `--max-passes`, or all that a method without a
 *  tolerance makes. */
export function reachedAim({ exitReason, model }: TrainResult, saidPasses: boolean): boolean {
  if (exitReason === 'interrupted') return false
  return exitReason === 'converged' || saidPasses || model.shortfall?.tolerance == null
}

export async function saveTrained(
  path: string,
  result: TrainResult,
  saidPasses: boolean,
  inputs: string[],
): Promise<SavedModel> {
  if (reachedAim(result, saidPasses) || !(await holdsSomething(path))) {
    await saveModel(path, result.model)
    return { model: path }
  }
  const beside = `${path}${BESIDE}`
  await checkOutputs({ reads: inputs, writes: [beside] })
  await saveModel(beside, result.model)
  return { model: beside, kept: path }
}

/** A file with bytes in it. Pipes, devices and empty files hold nothing that could be lost. */
async function holdsSomething(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() === true && found.size > 0
}

/** For the summary: why the model is not where it was meant to go. */
export function keptLines({ kept }: SavedModel): string[] {
  return kept === undefined ? [] : [`${kept} stays as it was: this run did not reach its aim`]
}

/** What a script learns: 130 for an interrupt, 1 when the model that was named is not the one of this run. */
export function exitCodeOf({ exitReason }: TrainResult, { kept }: SavedModel): number {
  return exitReason === 'interrupted' ? 130 : kept === undefined ? 0 : 1
}
