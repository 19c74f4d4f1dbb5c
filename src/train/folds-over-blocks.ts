// Folds and costs over a store: all models are trained by each block that is read, and every row is scored by those that did
// not see it.
import type { LabelCount } from '../input-formats/label-numbers.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import { underLimits } from '../optimise/solvers/compatibility.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import { dealFolds } from '../rows/folds.ts'
import { unlessAborted } from '../threads/until-aborted.ts'
import type { FoldedProblem } from './class-problems.ts'
import { InBlocks, openBlocks } from './in-blocks.ts'
import type { ResolvedOptions } from './options.ts'
import { trainModels } from './place.ts'
import type { ProgressListener } from './progress.ts'

export interface FoldedBlocks {
  /** The store that the rows are in. */
  store: string
  rows: number
  features: number
  labels: LabelCount[]
  classes: Uint32Array
  folds: Uint8Array
  /** Columns of scores, and how each model ended. */
  scores: Float32Array[]
  solutions: Solution[]
  readSeconds: number
  bytesRead: number
  badRows: number
  badRowMessages: string[]
}

/** `problemsOf` makes the models, of the labels and the number of rows; each has its column of scores. An abort rejects. */
export async function scoreFoldsOverBlocks(
  paths: string[],
  solver: BlockSolver,
  given: ResolvedOptions,
  folds: number,
  problemsOf: (labels: LabelCount[], rows: number) => FoldedProblem[],
  tell: ProgressListener,
): Promise<FoldedBlocks> {
  const options = underLimits(solver, given)
  // No text is trained on while it is read: which rows are held out is not known before all are there.
  const { firstPass: _, ...later } = solver
  const opened = await openBlocks(paths, later, options, tell)
  const { rows, labels } = opened.found.store.manifest
  const problems = problemsOf(labels, rows)
  const columns = 1 + Math.max(...problems.map(({ column = 0 }) => column))
  const wanted = { problems, folds }
  await using place = await InBlocks.open(opened, later, options, wanted, tell, 4 * columns + 2)
  // Models that have not come to their end tell nothing of held-out rows, and nobody goes on with them: an abort ends the
  // threads in the midst of their work.
  return await unlessAborted(trainAndScore, options.signal)

  async function trainAndScore(): Promise<FoldedBlocks> {
    const { arena } = place
    const scores = arena.allocateZeroed(columns * rows * 4, 'scores of rows that were held out')
    const classes = await place.classes()
    const foldsAt = dealFolds(arena, classes, folds, options.seed)
    const solutions: Solution[] = []
    const take = (model: number, solution: Solution): void => {
      solutions[model] = solution
    }
    await trainModels(place, wanted, { take }, tell, opened.seconds, { folds: foldsAt, scores })
    const { data, blocks, readSeconds, bytesRead, badRows, badRowMessages } = place.outcome(new Float64Array(0))
    return {
      ...{ store: blocks!.store, rows, features: data.features, labels, classes, solutions },
      folds: arena.bytes(foldsAt, rows).slice(),
      scores: Array.from({ length: columns }, (_, k) => arena.f32(scores + k * rows * 4, rows).slice()),
      ...{ readSeconds, bytesRead, badRows, badRowMessages },
    }
  }
}
