// Of a truncated loss: where the run was after each of its convex problems. The objectives of these problems lack what
// outliers cost, and begin anew with each of them: they tell nothing of the run.
import { allLosses } from '../losses/all-losses.ts'
import { countedRecords } from './charts/passes.ts'
import type { RunRecords } from './records.ts'

export interface RelaxedPoint {
  seconds: number
  /** Over all problems of the run. */
  passes: number
  /** The truncated objective, over all rows. */
  objective: number
  outliers: number
  /** Rows that have become outliers, or are outliers no more. */
  changed: number
  relaxation: number
  /** Which of several models, one after the other, from 1 on. */
  problem: number
}

/** Nothing of a run whose loss is convex, nor of one that has not solved its first convex problem. */
export function relaxedPoints(run: RunRecords): RelaxedPoint[] {
  const counted = new Map(countedRecords(run).map(({ record, passes }) => [record, passes]))
  const points: RelaxedPoint[] = []
  let [passes, problem] = [0, 0]
  for (const record of run.progress) {
    if (record.stage === 'train') passes = counted.get(record) ?? passes
    if (record.stage !== 'relax') continue
    const { seconds, objective, outliers, changed, relaxation } = record
    // Each model begins with a problem of its own.
    if (relaxation === 0 || problem === 0) problem++
    points.push({ seconds, passes, objective, outliers, changed, relaxation, problem })
  }
  return points
}

/** Whether a run trains a truncated loss, told from its beginning on: before its first convex problem is solved, nothing is known of
 *  its objective. Folds tell nothing of their convex problems. */
export function isTruncated({ run, progress }: RunRecords): boolean {
  if (progress.some(({ stage }) => stage === 'relax')) return true
  const { loss } = run.settings
  return run.verb === 'train' && allLosses.some(({ name, truncates }) => name === loss && truncates !== undefined)
}
