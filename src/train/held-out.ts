// Rows dealt into folds, and scored by the models that did not see them.
import type { LabelCount } from '../input-formats/label-numbers.ts'
import type { Arena } from '../numeric/arena.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import { underLimits } from '../optimise/solvers/compatibility.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import { alone, type Communicator } from '../ranks/communicator.ts'
import { dealFolds, type LabelledRows } from '../rows/folds.ts'
import { unlessAborted } from '../threads/until-aborted.ts'
import { columnsOf, type FoldedProblem } from './class-problems.ts'
import { InBlocks, openBlocks } from './in-blocks.ts'
import { collectModels, modelsOfRank, refuseOtherOrder, storeOfRank } from './models-of-ranks.ts'
import type { ResolvedOptions } from './options.ts'
import { type Held, type Place, trainModels } from './place.ts'
import type { FoldsToPlan } from './plan-run.ts'
import type { ProgressListener } from './progress.ts'

export class HeldOut implements Held {
  /** Class number of each row. */
  readonly classes: Uint32Array
  /** Weight of each row, where they have any. */
  readonly weights: Float64Array | undefined
  readonly folds: number
  readonly scores: number
  readonly #arena: Arena
  readonly #columns: number

  constructor(
    arena: Arena,
    { classes, weights }: LabelledRows,
    { problems, folds, seed }: FoldedModels & { seed: number },
  ) {
    this.#arena = arena
    this.#columns = columnsOf(problems)
    this.classes = classes
    this.weights = weights
    this.folds = dealFolds(arena, classes, folds, seed)
    const bytes = this.#columns * Math.max(classes.length, 1) * 4
    this.scores = arena.allocateZeroed(bytes, 'scores of rows that were held out')
  }

  /** Forgets all scores. */
  clear(): void {
    for (const column of this.columns()) column.fill(0)
  }

  foldOfRows(): Uint8Array {
    return this.#arena.bytes(this.folds, this.classes.length)
  }

  columns(): Float32Array[] {
    const rows = this.classes.length
    return Array.from({ length: this.#columns }, (_, k) => this.#arena.f32(this.scores + k * rows * 4, rows))
  }

  /** Trains the models of a place, and gives how each ended. */
  async train(place: Place): Promise<Solution[]> {
    const solutions: Solution[] = []
    const take = (model: number, solution: Solution): void => {
      solutions[model] = solution
    }
    await trainModels(place, { take }, this)
    return solutions
  }
}

export interface FoldedModels {
  problems: FoldedProblem[]
  folds: number
}

/** What is trained over a store. */
export interface FoldsOverBlocks extends FoldsToPlan {
  paths: string[]
  solver: BlockSolver
  options: ResolvedOptions
  /** The models, of the labels and the number of rows; each has its column of scores. */
  problemsOf(labels: LabelCount[], rows: number): FoldedProblem[]
  /** Ranks that share the models out. */
  ranks?: Communicator
  tell: ProgressListener
}

/** Has all models trained by each block that is read, and makes something of what they told. An abort rejects. */
export async function heldOutOverBlocks<T>(
  {
    paths,
    solver,
    options: given,
    folds,
    costs,
    besidesPerRow,
    fromText,
    problemsOf,
    ranks = alone,
    tell,
  }: FoldsOverBlocks,
  make: (held: HeldOut, solutions: Solution[], place: InBlocks) => T | Promise<T>,
): Promise<T> {
  const options = underLimits(solver, given)
  // No text is trained on while it is read: which rows are held out is not known before all are there.
  const { firstPass: _, ...later } = solver
  const store = storeOfRank(paths, options.store, ranks)
  const ofRank = { ...options, ...(store !== undefined && { store }) }
  const found = await openBlocks(paths, later, ofRank, tell, { folds, costs, besidesPerRow })
  const opened = { ...found, fromText: fromText === true || found.fromText }
  const { rows, labels } = opened.found.store.manifest
  const problems = problemsOf(labels, rows)
  const own = modelsOfRank(problems, ranks)
  // A rank without a model has something to put in their place, and waits.
  const wanted = { problems: own.length > 0 ? own : problems, folds, columns: columnsOf(problems), besidesPerRow }
  await using place = await InBlocks.open(opened, wanted)
  await refuseOtherOrder(place, ranks)
  // Models that have not come to their end tell nothing of held-out rows, and nobody goes on with them: an abort ends the
  // threads in the midst of their work.
  return await unlessAborted(async () => {
    const held = new HeldOut(place.facts.arena, await place.labelledRows(), { problems, folds, seed: options.seed })
    const solutions = own.length > 0 ? await held.train(place) : []
    return await make(held, await collectModels(held, solutions, ranks), place)
  }, options.signal)
}
