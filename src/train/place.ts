// The one path from rows to models. A place has rows that are ready to be trained on, all in memory or in blocks, and says
// how many models it has room for at a time. What is trained over them, and how, is the same for both.
import type { LabelCount } from '../input-formats/label-numbers.ts'
import type { Arena } from '../numeric/arena.ts'
import type { DriverSettings, Driving } from '../optimise/driver/driving.ts'
import { type PassProgress, sum } from '../optimise/driver/progress.ts'
import type { Looked } from '../optimise/driver/relaxations.ts'
import type { AllClassesObjective, AllClassesSettings } from '../optimise/objectives/all-classes.ts'
import type { BinaryObjective } from '../optimise/objectives/binary.ts'
import { shortenScores } from '../optimise/objectives/line-search.ts'
import type { ManyModels, Objective } from '../optimise/objectives/objective.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import { LEAST_TO_HALVE } from '../optimise/solvers/dual-halves.ts'
import { LEAST_FOR_ROUGH } from '../optimise/solvers/rough-weights.ts'
import type { Solver } from '../optimise/solvers/solver.ts'
import type { RowSource, SourceCounts } from '../optimise/sources/row-source.ts'
import type { FoldedProblem } from './class-problems.ts'
import type { ResolvedOptions } from './options.ts'
import type { TrainingOutcome } from './outcome.ts'
import type { ProgressListener, RowsProgress, TrainProgress } from './progress.ts'

/** What is to be trained over the same rows. */
export interface Wanted {
  problems: FoldedProblem[]
  /** All classes at once, in place of the problems. */
  allClasses?: AllClassesSettings | undefined
  /** Rows are dealt into so many folds; problems that hold one out score its rows, into columns. */
  folds?: number
  /** Columns of scores, where some are those of other ranks' models. */
  columns?: number
  /** What is made of their scores takes so much for each row; of rows with weights, and without. */
  besidesPerRow?: ((weighted: boolean) => number) | undefined
  /** Other models are trained together even when there is but one of these. */
  together?: boolean
  /** All models are trained at a time, and again: there are no rounds. */
  atOnce?: boolean
}

/** Models that are trained at the same time: bundles, or all models as one, and a round of them. */
export type Round = FoldedProblem[][]

/** What is trained at the same time, on memory of its own. */
export interface Together {
  objective: ManyModels
  problems: FoldedProblem[]
}

/** What is known of a place before anything is trained. */
export interface PlaceFacts {
  arena: Arena
  solver: Solver
  options: ResolvedOptions
  wanted: Wanted
  tell: ProgressListener
  /** Since the work began. */
  seconds(): number
  rows: number
  features: number
  /** In the order of their class numbers. */
  labels: LabelCount[]
  /** Weights of a model, the bias not counted. */
  weights: number
  /** Of a store, in the order of their numbers. */
  blocks?: { rows: number; bytes: number }[]
}

export abstract class Place {
  readonly facts: Readonly<PlaceFacts>
  /** Rounds of models that are trained together, as many at a time as there is room for; undefined when each is alone. */
  abstract readonly rounds: Round[] | undefined

  /** The solver that the models come from in the end. */
  method: string
  /** Why it is another one than was chosen at first. */
  methodReason: string | undefined

  constructor(facts: PlaceFacts) {
    this.facts = facts
    this.method = facts.solver.name
    facts.tell(rowsRecord(facts))
  }

  /** Objectives, fresh. Those of a round may be several, which are then trained side by side. */
  abstract binary(problem: FoldedProblem): BinaryObjective
  abstract bundles(round: Round, folds: number): Together[]
  abstract allClasses(settings: AllClassesSettings): AllClassesObjective
  /** Trains an objective to its end. `held`: of models that are trained alone, and may not see the rows of a fold. */
  abstract solve(objective: Objective, problems: FoldedProblem[], tell: TellPass, held?: Held): Promise<Solution[]>
  /** The rows that an objective is trained on. */
  protected abstract sourceOf(objective: Objective): RowSource
  /** Scores of rows by the models that did not see them, into f32 columns of all rows. */
  async score(objective: ManyModels, scores: number): Promise<void> {
    const source = this.sourceOf(objective)
    const groups = source.groups(-1, this.facts.options)
    for await (const group of source.pass(groups)) await objective.score(source.threads, group, scores)
  }
  /** The same by a model that was trained alone. */
  async scoreAlone(
    objective: BinaryObjective,
    { heldOut, column = 0, bias }: FoldedProblem,
    held: Held,
  ): Promise<void> {
    const { arena, rows: all, weights: biasFeature } = this.facts
    const { narrow, weights } = objective
    const dot = narrow ? arena.numeric.dotF32 : arena.numeric.dotF64
    const folds = arena.bytes(held.folds, all)
    const scores = arena.f32(held.scores + column * all * 4, all)
    const biasPart = bias * objective.weightsInPlace()[biasFeature]
    const source = this.sourceOf(objective)
    for await (const { table, rows, parts } of source.pass(source.groups(-1, this.facts.options))) {
      const records = arena.u32(table, rows)
      let place = 0
      for (const { rows: count, firstRow } of parts) {
        for (let k = firstRow; k < firstRow + count; k++, place++)
          if (folds[k] === heldOut) scores[k] = dot(records[place], weights) + biasPart
      }
    }
  }
  /** The memory of the last objectives may be used again. */
  release(): void {}
  /** Bytes that are set aside for the run, where they are planned. */
  get planned(): number {
    return 0
  }
  /** Where weights are not to be copied: makes them final where they are, and gives that of the bias. */
  get lend(): ((solution: Solution) => number) | undefined {
    return undefined
  }
  /** What was read, and where the time went. */
  abstract account(): Account
  /** What the rows were read from, and how. */
  abstract data(): TrainingOutcome['data']
  /** What the place gives to the outcome of training, with so many weight vectors: numbers by the user's features. */
  abstract outcome(
    vectors: number,
    weights: Float64Array,
  ): Account & Pick<TrainingOutcome, 'data' | 'weights' | 'factors'>

  /** What a driver is told; `limits` are other ones than those of the options. */
  protected driving(objective: Objective, tell: TellPass, limits: Partial<DriverSettings> = {}): Driving {
    const { solver, options } = this.facts
    // In memory, threads that were named are for reading: the bits of a model do not depend on them.
    const alone = solver.data === 'memory' && !options.given.has('trainers')
    const rough = options.given.has('weights') ? {} : { rough: LEAST_FOR_ROUGH }
    const settings = alone ? { ...options, ...rough, trainers: 1, halves: LEAST_TO_HALVE } : options
    return { source: this.sourceOf(objective), solver, objective, settings: { ...settings, ...limits }, tell }
  }

  /** Tells how far a truncated loss has come. */
  protected readonly looked = (looked: Looked): void => {
    this.facts.tell({ stage: 'relax', seconds: this.facts.seconds(), ...looked })
  }

  /** Says once that another solver is taken, and why. */
  protected takes(solver: string, why: string): void {
    if (this.method === solver) return
    this.method = solver
    this.methodReason = why
    this.say(why)
  }

  /** Tells the user what was decided. */
  say(reason: string): void {
    this.facts.tell({ stage: 'plan', solver: this.method, reason })
  }
}

export type TellPass = (progress: PassProgress) => void

export type Account = Pick<
  TrainingOutcome,
  'readSeconds' | 'bytesRead' | 'badRows' | 'badRowMessages' | 'blocks' | 'start'
>

/** Where models go as they are ready. */
export interface Taker {
  /** One model: its solution, and its weights, the bias last. */
  take(model: number, solution: Solution, weights: () => Float64Array): void
  /** All classes at once. */
  takeAll?(solution: Solution, objective: AllClassesObjective): void
}

/** Addresses of each row's fold, and of the columns of scores; 0 for none. */
export interface Held {
  folds: number
  scores: number
}

/** Of a model that has not come to its end. */
const SO_FAR: Solution = { certificate: undefined, passes: 0, exitReason: 'interrupted' }

/** Trains all that is wanted of a place. */
export async function trainModels(place: Place, taker: Taker, held: Held = { folds: 0, scores: 0 }): Promise<void> {
  const { problems, allClasses } = place.facts.wanted
  const { watcher } = place.facts.options
  if (allClasses) {
    const objective = place.allClasses(allClasses)
    watcher?.watch([objective], taker => taker.takeAll!(SO_FAR, objective))
    const [solution] = await place.solve(objective, problems, tellAlone(place, 1, 1))
    taker.takeAll!(solution, objective)
    return
  }
  if (place.rounds) return trainRounds(place, place.rounds, taker, held)
  if (problems.length > 1) watcher?.stop(ONE_BY_ONE)
  for (const [k, problem] of problems.entries()) {
    const objective = place.binary(problem)
    watcher?.watch([objective], taker => taker.take(0, SO_FAR, () => objective.copyWeights()))
    const [solution] = await place.solve(objective, [problem], tellAlone(place, k + 1, problems.length), held)
    if (problem.heldOut !== undefined) {
      await place.scoreAlone(objective, problem, held)
      const { arena, rows } = place.facts
      shortenScores(arena, [problem], [solution], { at: held.scores, rows, folds: held.folds })
    }
    taker.take(k, solution, () => objective.copyWeights())
    place.release()
  }
}

/** Why there are no tests on the way. */
const ONE_BY_ONE = 'its classes are trained one after the other, and there is none before the last one is done'

async function trainRounds(place: Place, rounds: Round[], taker: Taker, held: Held): Promise<void> {
  const all = place.facts.wanted.problems.length
  const { watcher } = place.facts.options
  if (rounds.length > 1) watcher?.stop(ONE_BY_ONE)
  let done = 0
  for (const round of rounds) {
    const together = place.bundles(round, held.folds)
    const objectives = together.map(({ objective }) => objective)
    watcher?.watch(objectives, tested => giveTogether(together, tested))
    const solutions = await solveTogether(place, together, held, { done, all })
    done = giveTogether(together, taker, done, solutions)
    place.release()
  }
}

/** Gives the models of objectives to a taker, from a number on: as they ended, or as they are. Gives the number behind the last. */
function giveTogether(together: Together[], taker: Taker, first = 0, solutions?: Solution[][]): number {
  let model = first
  for (const [b, { objective, problems }] of together.entries()) {
    for (const k of problems.keys()) {
      taker.take(model++, solutions?.[b][k] ?? SO_FAR, () => objective.copyWeights(k))
    }
  }
  return model
}

/** Models that were done before, and how many there will be: in all, if that is known, or at least. */
interface ModelsBefore {
  done: number
  all?: number
  least?: number
}

/** Trains objectives side by side, and has their models score the rows that they did not see. */
export async function solveTogether(
  place: Place,
  together: Together[],
  { folds, scores }: Held,
  models: ModelsBefore,
): Promise<Solution[][]> {
  const { arena, rows, tell, options } = place.facts
  const told: PassProgress[] = []
  const solve = async ({ objective, problems }: Together, b: number): Promise<Solution[]> => {
    const solutions = await place
      .solve(objective, problems, progress => {
        told[b] = progress
        tell({ ...trainRecord(place, progress), ...togetherRecord(told, together, models) })
      })
      .finally(() => options.watcher?.leave(objective))
    if (told[b]) told[b] = { ...told[b], done: problems.length }
    if (scores) {
      await place.score(objective, scores)
      shortenScores(arena, problems, solutions, { at: scores, rows, folds })
    }
    return solutions
  }
  if (options.ranks.size === 1) return Promise.all(together.map(solve))
  // Ranks meet at the same objective.
  const ends: Solution[][] = []
  for (const [b, one] of together.entries()) ends.push(await solve(one, b))
  return ends
}

/** What is told of models side by side, by what each objective told last. */
function togetherRecord(
  told: PassProgress[],
  together: Together[],
  models: ModelsBefore,
): Pick<TrainProgress, 'primal' | 'gap' | 'certified' | 'problem' | 'problems' | 'models'> {
  const known = told.filter(each => each !== undefined)
  const finished = sum(known.map(each => each.done))
  const done = models.done + finished
  const training = sum(together.map(({ problems }) => problems.length)) - finished
  // Of those that are not done; one that nothing is known of may be the worst.
  const gaps = together.flatMap(({ problems }, b) => (told[b]?.done === problems.length ? [] : [told[b]?.gap ?? null]))
  return {
    primal: sum(known.map(({ primal }) => primal)),
    gap: gaps.every(gap => gap !== null) ? Math.max(0, ...gaps) : null,
    certified: known.length === together.length && known.every(({ certified }) => certified),
    ...(models.all !== undefined && { problem: Math.min(done + 1, models.all), problems: models.all }),
    models: { ...models, done, training },
  }
}

function tellAlone(place: Place, problem: number, problems: number): TellPass {
  return progress => {
    const { primal, certified } = progress
    place.facts.tell({ ...trainRecord(place, progress), primal, certified, problem, problems })
  }
}

/** What every record of training has. */
function trainRecord(
  place: Place,
  { pass, gap, counts, rowsKept, rowsEvicted: evicted, ...progress }: PassProgress,
): Omit<TrainProgress, 'certified' | 'primal'> {
  const { blocksRead: read, bytesRead, bytesSkipped, lastBlocks, waitSeconds } = counts
  return {
    ...{ stage: 'train', seconds: place.facts.seconds(), pass, gap, memoryBytes: process.memoryUsage.rss() },
    ...(progress.partial && { partial: true }),
    ...(progress.certificate !== undefined && { certificate: progress.certificate }),
    ...(read > 0 && { blocks: { read, bytesRead, bytesSkipped, ...(lastBlocks && { inMemory: lastBlocks }) } }),
    ...(waitSeconds !== undefined && { time: timeOf(counts) }),
    ...(rowsKept !== undefined && {
      rows: { kept: rowsKept, left: place.facts.rows - rowsKept, ...(evicted !== undefined && { evicted }) },
    }),
    ...(progress.steps && { steps: progress.steps }),
  }
}

function timeOf({ readSeconds: read = 0, decodeSeconds: decode = 0, waitSeconds: wait = 0 }: SourceCounts) {
  return { read, decode, wait }
}

/** Labels that are told of one by one. */
const MOST_LABELS = 50

/** What there is to train on. */
function rowsRecord({ seconds, rows, features, labels, blocks }: PlaceFacts): RowsProgress {
  const found = labels.filter(label => label.rows > 0).sort((a, b) => b.rows - a.rows)
  const told = found.slice(0, MOST_LABELS).map(({ text: label, rows }) => ({ label, rows }))
  const about = { rows, features, classes: found.length, labels: told }
  return { stage: 'rows', seconds: seconds(), ...about, ...(blocks && { blocks }) }
}
