// Passes over the data in all: a run may solve several problems one after the other, and each counts its own.
import { type RunRecords, stageOf } from '../records.ts'

export interface CountedRecord {
  record: ReturnType<typeof stageOf<'train'>>[number]
  /** Over all problems so far. */
  passes: number
  /** Which of several problems, or rounds of models, from 1 on. */
  problem: number
}

/** What was told while training. Models that are trained together are one problem; the next round of them is another. */
export function countedRecords(run: RunRecords): CountedRecord[] {
  let [before, last, named, problem, over] = [0, 0, 1, 1, false]
  return stageOf(run, 'train').map(record => {
    const { pass, models } = record
    const name = models ? 1 : (record.problem ?? 1)
    if (name !== named || (over && models?.training)) {
      before += last
      problem++
    }
    ;[named, last, over] = [name, pass, models?.training === 0]
    return { record, passes: before + pass, problem }
  })
}
