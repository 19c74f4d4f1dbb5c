// The one path from rows to models. A place has rows that are ready to be trained on, all in memory or in blocks, and says
// how many models it has room for at a time. What is trained over them, and how, is the same for both.
import type { Arena } from '../numeric/arena.ts'
import type { PassProgress } from '../optimise/driver/progress.ts'
import type { BinaryObjective } from '../optimise/objectives/binary.ts'
import type { BundlesObjective } from '../optimise/objectives/bundles.ts'
import type { CrammerSingerObjective, CrammerSingerSettings } from '../optimise/objectives/crammer-singer.ts'
import { shortenScores } from '../optimise/objectives/line-search.ts'
import type { Objective } from '../optimise/objectives/objective.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import type { FoldedProblem } from './class-problems.ts'
import type { ProgressListener, TrainProgress } from './progress.ts'

/** What is to be trained over the same rows. */
export interface Wanted {
  problems: FoldedProblem[]
  /** All classes at once, in place of the problems. */
  allClasses?: CrammerSingerSettings | undefined
  /** Rows are dealt into so many folds; problems that hold one out score its rows, into columns. */
  folds?: number
  /** Other models are trained together even when there is but one of these. */
  together?: boolean
}

/** Models that are trained at the same time: bundles, and a round of them. */
export type Round = FoldedProblem[][]

export interface Place {
  readonly arena: Arena
  readonly rows: number
  /** Weights of a model, the bias not counted. */
  readonly weights: number
  /** Rounds of models that are trained together, as many at a time as there is room for; undefined when each is alone. */
  readonly rounds: Round[] | undefined
  /** Objectives, fresh. Those of a round may be several, which are then trained side by side. */
  binary(problem: FoldedProblem): BinaryObjective
  bundles(round: Round, folds: number): { objective: BundlesObjective; problems: FoldedProblem[] }[]
  allClasses(settings: CrammerSingerSettings): CrammerSingerObjective
  /** Trains an objective to its end. */
  solve(objective: Objective, problems: FoldedProblem[], tell: (progress: PassProgress) => void): Promise<Solution[]>
  /** Scores of rows by the models that did not see them, into f32 columns of all rows. */
  score(objective: BundlesObjective, scores: number): Promise<void>
  /** The memory of the last objectives may be used again. */
  release(): void
}

/** Where models go as they are ready. */
export interface Taker {
  /** One model: its solution, and its weights, the bias last. */
  take(model: number, solution: Solution, weights: () => Float64Array): void
  /** All classes at once. */
  takeAll?(solution: Solution, objective: CrammerSingerObjective): void
}

/** Trains all that is wanted. `folds`: address of each row's fold; `scores`: of the columns. */
export async function trainModels(
  place: Place,
  wanted: Wanted,
  taker: Taker,
  tell: ProgressListener,
  seconds: () => number,
  held: { folds: number; scores: number } = { folds: 0, scores: 0 },
): Promise<void> {
  if (wanted.allClasses) {
    const objective = place.allClasses(wanted.allClasses)
    const alone = tellAlone(tell, seconds, place.rows, 1, 1)
    const [solution] = await place.solve(objective, wanted.problems, alone)
    taker.takeAll!(solution, objective)
    return
  }
  if (place.rounds) {
    await trainRounds(place, place.rounds, wanted.problems.length, taker, tell, seconds, held)
    return
  }
  for (const [k, problem] of wanted.problems.entries()) {
    const objective = place.binary(problem)
    const alone = tellAlone(tell, seconds, place.rows, k + 1, wanted.problems.length)
    const [solution] = await place.solve(objective, [problem], alone)
    taker.take(k, solution, () => objective.copyWeights())
    place.release()
  }
}

async function trainRounds(
  place: Place,
  rounds: Round[],
  all: number,
  taker: Taker,
  tell: ProgressListener,
  seconds: () => number,
  { folds, scores }: { folds: number; scores: number },
): Promise<void> {
  let first = 0
  for (const round of rounds) {
    const done: number[] = []
    let begin = first
    await Promise.all(
      place.bundles(round, folds).map(async ({ objective, problems }, b) => {
        const from = begin
        begin += problems.length
        const solutions = await place.solve(objective, problems, progress => {
          done[b] = progress.done
          const models = { done: first + done.reduce((sum, count) => sum + (count ?? 0), 0), all }
          tell({ ...trainRecord(progress, place.rows, seconds()), certified: false, models })
        })
        done[b] = problems.length
        if (scores) {
          await place.score(objective, scores)
          shortenScores(place.arena, problems, solutions, { at: scores, rows: place.rows, folds })
        }
        for (const [k, solution] of solutions.entries()) taker.take(from + k, solution, () => objective.copyWeights(k))
      }),
    )
    first += round.reduce((sum, bundle) => sum + bundle.length, 0)
    place.release()
  }
}

function tellAlone(
  tell: ProgressListener,
  seconds: () => number,
  rows: number,
  problem: number,
  problems: number,
): (progress: PassProgress) => void {
  return progress => {
    const { primal, certified } = progress
    tell({ ...trainRecord(progress, rows, seconds()), primal, certified, problem, problems })
  }
}

/** What every record of training has. */
export function trainRecord(
  { pass, gap, counts, rowsKept }: PassProgress,
  rows: number,
  seconds: number,
): Omit<TrainProgress, 'certified'> {
  const { blocksRead: read, bytesRead, bytesSkipped } = counts
  return {
    ...{ stage: 'train', seconds, pass, gap, memoryBytes: process.memoryUsage.rss() },
    ...(read > 0 && { blocks: { read, bytesRead, bytesSkipped } }),
    ...(rowsKept !== undefined && { rows: { kept: rowsKept, left: rows - rowsKept } }),
  }
}
