// Rows in memory as a place for models: objectives, the room that is left for them, and the methods that solve them.
import { widthOf } from '../additive-kernels/row-space.ts'
import { SpillwayError } from '../errors.ts'
import { findLoss } from '../losses/all-losses.ts'
import { trainsByGradient } from '../losses/formulations.ts'
import { convexLoss } from '../losses/loss.ts'
import { formatBytes } from '../numeric/arena.ts'
import { drawSome } from '../numeric/draw.ts'
import { Driver } from '../optimise/driver/driver.ts'
import type { DriverSettings } from '../optimise/driver/driving.ts'
import { type Course, relax, SAMPLE_ROWS, startOfCourse } from '../optimise/driver/relaxations.ts'
import {
  type AllClassesObjective,
  type AllClassesSettings,
  weightsTogether,
} from '../optimise/objectives/all-classes.ts'
import type { BinaryObjective } from '../optimise/objectives/binary.ts'
import { BundlesObjective, inBundles } from '../optimise/objectives/bundles.ts'
import { crammerSingerBytes } from '../optimise/objectives/crammer-singer.ts'
import { EachObjective } from '../optimise/objectives/each.ts'
import { allBinaryObjectives } from '../optimise/objectives/l1.ts'
import type { Objective } from '../optimise/objectives/objective.ts'
import { Outliers } from '../optimise/objectives/outliers.ts'
import { newAllClasses } from '../optimise/objectives/softmax.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import { checkRowWeights } from '../optimise/solvers/compatibility.ts'
import { newton } from '../optimise/solvers/newton.ts'
import { type MemorySolver, trainsMany } from '../optimise/solvers/solver.ts'
import { planLines } from '../optimise/sources/memory-plan.ts'
import { RowsInMemory } from '../optimise/sources/rows-in-memory.ts'
import { byFeature, inSpace } from '../rows/renumber-features.ts'
import { memoryThatWouldDo } from '../rows/too-little-memory.ts'
import { NODE_BYTES } from '../sizes.ts'
import { allowedMemory, pagesBeside, roomForModels } from './choose-solver.ts'
import { type FoldedProblem, isTruncated } from './class-problems.ts'
import {
  hasSecondOrder,
  lastGap,
  patienceInMemory,
  patienceWithSteps,
  STALLED,
  startsDense,
  startsSecondOrder,
  successors,
  tellBestGap,
} from './hand-over.ts'
import type { LoadedRows } from './load-in-memory.ts'
import { DEFAULTS, type ResolvedOptions } from './options.ts'
import { countsOf, type TrainingOutcome } from './outcome.ts'
import { type Account, type Held, Place, type Round, type TellPass, type Together, type Wanted } from './place.ts'
import { bundlesOf, groupsOf, mostOf } from './rounds.ts'

/** How models go on by other methods: why, and from which gap. */
interface GoingOn {
  why: string
  tell: TellPass
  limits?: Partial<DriverSettings>
  gap?: number
}

/** A method that goes on where another one stalled. */
interface Successor {
  solver: MemorySolver
  /** Whether nobody comes after it. */
  isLast: boolean
  tell: TellPass
  limits: Partial<DriverSettings>
}

interface Ended {
  solutions: Solution[]
  stalled: boolean
  /** The last gap of the models that are not done. */
  gap: number
}

/** Rows in memory as a place for models. */
export class InMemory extends Place {
  override readonly rounds: Round[] | undefined
  readonly #loaded: LoadedRows
  readonly #mark: number
  readonly #secondOrder: boolean
  readonly #few: boolean
  /** Whether the one model begins with steps on the primal. */
  readonly #dense: boolean
  /** The solver that gives models vectors of their own, where models are trained by one. */
  readonly #each: MemorySolver | undefined
  /** How many of the methods that go on have been left. */
  #left = 0
  /** What goes on with bundles that coordinate descent has left. */
  readonly #successors = new Map<Objective, { objective: EachObjective; most: number }>()
  /** Whether a second-order method has gone on with the last problem. */
  #handedOver = false
  /** Sources of the objectives that are being trained. */
  readonly #sources = new Map<Objective, RowsInMemory>()

  constructor(loaded: LoadedRows, solver: MemorySolver, options: ResolvedOptions, wanted: Wanted) {
    const { arena, seconds, tell } = loaded
    const { rows, features, labels, weights } = loaded.rows
    super({ arena, solver, options, wanted, tell, seconds, rows, features, labels, weights })
    if (loaded.rows.rowWeights) checkRowWeights(solver, options)
    this.#loaded = loaded
    // The choice was auto's: where coordinate descent is slow, another method may be taken.
    const sizes = { ...loaded.rows, rows: loaded.all.rows, nonzeros: loaded.all.nonzeros }
    this.#secondOrder =
      hasSecondOrder({ ...this.facts, rows: sizes.rows }) &&
      newton.extraBytes!(weights + 1) + this.#stateBytes(newton) <= this.#room
    const loss = convexLoss(findLoss(options.loss))
    const isOne = wanted.problems.length === 1 && !wanted.together && !isTruncated(wanted)
    const what = options.ranks.size > 1 ? 'overRanks' : isOne ? 'oneInMemory' : 'otherwise'
    this.#few = this.#secondOrder && startsSecondOrder(loss, sizes, what)
    this.#dense = this.#secondOrder && isOne && startsDense(loss, sizes)
    this.#each = this.#few ? newton : solver.startEach ? solver : undefined
    // Weights in f32 are trained one vector after the other.
    const isMany = (wanted.problems.length > 1 || wanted.together) && trainsMany(solver) && options.weights === 'f64'
    // Over ranks, models whose dual variables are moved are trained one after the other.
    const many = isMany && (options.ranks.size === 1 || this.#each !== undefined)
    if (many && !wanted.allClasses && !wanted.atOnce && !isTruncated(wanted)) {
      this.rounds = this.#roundsOf(wanted.problems)
    }
    this.#mark = arena.mark()
  }

  /** Bytes that models may take besides the rows. */
  get #room(): number {
    // Over ranks, what the one has that has the least: all of them take the same models at a time.
    if (this.facts.options.ranks.size > 1) return this.#loaded.all.room
    return roomForModels(this.facts.arena, this.#loaded.rows.packedBytes, this.facts.options)
  }

  /** Bytes that a solver keeps for the rows of a model, beside dual variables. */
  #stateBytes({ rowBytes, spareRowBytes }: MemorySolver, withSpare = false): number {
    const { options, rows, weights } = this.facts
    const loss = convexLoss(findLoss(options.loss))
    const each = (rowBytes?.(loss, weights + 1) ?? 0) + (withSpare ? (spareRowBytes?.(loss, weights + 1) ?? 0) : 0)
    return options.ranks.size > 1 ? 0 : rows * each
  }

  #roundsOf(problems: FoldedProblem[]): Round[] {
    const room = this.#room
    const rounds = this.#each
      ? groupsOf(problems, this.#each, this.facts, room, this.#stateBytes(this.#each, true))
      : bundlesOf(problems, this.facts, room)
    if (rounds.length > 1) {
      const most = Math.max(...rounds.map(round => round.flat().length))
      const what = this.#each ? 'weights and gradients' : 'weights and dual variables'
      this.say(
        `${problems.length} models in ${rounds.length} groups of at most ${most}: ${formatBytes(room)} are left for ${what}`,
      )
    }
    return rounds
  }

  /** Models that are trained at the same time, whatever room there is. */
  asRound(problems: FoldedProblem[]): Round {
    return this.#each ? [problems] : inBundles(problems)
  }

  binary(problem: FoldedProblem): BinaryObjective {
    return new allBinaryObjectives[problem.regularizer ?? DEFAULTS.regularizer](this.facts.arena, this.facts, problem)
  }

  /** Threads take a bundle each. */
  bundles(round: Round, folds: number): Together[] {
    const { arena, rows, weights } = this.facts
    const places = { rows, weights, folds }
    return round.map(problems => {
      const objective = this.#each
        ? new EachObjective(arena, places, problems)
        : new BundlesObjective(arena, places, [problems])
      return { objective, problems }
    })
  }

  allClasses(settings: AllClassesSettings): AllClassesObjective {
    this.#refuseTooLarge(settings.classes.length)
    const { arena, rows, weights } = this.facts
    return newAllClasses(arena, { rows, weights, groupRows: rows }, settings)
  }

  async solve(objective: Objective, problems: FoldedProblem[], tell: TellPass, held?: Held): Promise<Solution[]> {
    const solutions = isTruncated({ problems })
      ? [await this.#relax(objective as BinaryObjective, problems, tell, held!)]
      : await this.#solveConvex(objective, problems, tell)
    return this.#loaded.all.cutShort
      ? solutions.map(solution => ({ ...solution, exitReason: 'interrupted' }))
      : solutions
  }

  /** The convex problems of a truncated one. Once a second-order method has taken over, it goes on with the others. */
  async #relax(objective: BinaryObjective, problems: FoldedProblem[], tell: TellPass, held: Held): Promise<Solution> {
    const { source, solver, settings } = this.driving(objective, tell)
    const { seed, outlierStart, ranks } = this.facts.options
    const { tolerance, maxPasses, signal } = settings
    let [passes, handedOver] = [0, false]
    const [{ heldOut }] = problems
    const unseen = heldOut === undefined ? undefined : { folds: held.folds, heldOut }
    const isDual = (): boolean => solver.dual && !this.#few && !handedOver
    const outliers = new Outliers(objective, source, isDual, { held: unseen, ranks })
    const { rows } = source.all
    const startsWithAll = outlierStart === 'full' || rows <= SAMPLE_ROWS
    // Each rank draws its share.
    const own = Math.round((SAMPLE_ROWS * source.rows) / rows)
    outliers.begin(startsWithAll ? undefined : drawSome(source.rows, own, seed))
    const solve = async ({ tolerance }: Course): Promise<Solution> => {
      const before = passes
      const limits = { tolerance, maxPasses: Math.max(1, maxPasses - before) }
      const later: TellPass = progress => tell({ ...progress, pass: progress.pass + before })
      const [solution] = handedOver
        ? await new Driver({ ...this.driving(objective, later, limits), solver: newton }).solve()
        : await this.#solveConvex(objective, problems, later, limits)
      handedOver ||= this.#handedOver
      passes += solution.passes
      return { ...solution, passes }
    }
    const course = startOfCourse(tolerance)
    const isSpent = (): boolean => passes >= maxPasses
    return relax({
      ...{ outliers, tolerance, signal, course, startsWithAll, solve, isSpent, looked: this.looked },
      reads: false,
    })
  }

  async #solveConvex(
    objective: Objective,
    problems: FoldedProblem[],
    tell: TellPass,
    limits: Partial<DriverSettings> = {},
  ): Promise<Solution[]> {
    const driving = this.driving(objective, tell, limits)
    if (!this.#secondOrder) return new Driver(driving).solve()
    if (this.#few) {
      this.takes(newton.name, 'there are few features')
      return new Driver({ ...driving, solver: newton }).solve()
    }
    const bundle = objective instanceof BundlesObjective ? objective : undefined
    if (bundle && this.#successors.has(bundle)) {
      // Coordinate descent left these models at a smaller cost. Their dual variables say nothing any more.
      const fresh = problems.map((): Solution => ({ certificate: undefined, passes: 0, exitReason: 'max-passes' }))
      return this.#goOn(bundle, problems, fresh, { why: STALLED, tell })
    }
    if (this.#dense) {
      const fresh: Solution = { certificate: undefined, passes: 0, exitReason: 'max-passes' }
      return this.#goOn(objective, problems, [fresh], { why: 'rows fill much of few features', tell })
    }
    const { rows, nonzeros } = this.#loaded.all
    const sizes = { rows, nonzeros, weights: this.facts.weights }
    const { tolerance, maxPasses } = driving.settings
    const stalls = patienceInMemory(sizes, {
      ...{ tolerance, maxPasses, isLimited: this.#isLimited(limits), ranks: this.facts.options.ranks.size },
    })
    const driver = new Driver({ ...driving, ...(stalls && { stalls }) })
    const solutions = await driver.solve()
    this.#handedOver = driver.stalled
    if (!driver.stalled) return solutions
    return this.#goOn(objective, problems, solutions, { why: STALLED, tell, limits, gap: lastGap(driver.state) })
  }

  /** Goes on with models that are not done, by one method after the other. */
  async #goOn(
    objective: Objective,
    problems: FoldedProblem[],
    solutions: Solution[],
    { why, tell, limits = {}, gap = Number.POSITIVE_INFINITY }: GoingOn,
  ): Promise<Solution[]> {
    const methods = successors(findLoss(this.facts.options.loss), {
      ...this.#loaded.rows,
      ...this.#loaded.all,
    })
    let [ends, known] = [solutions, gap]
    for (const [k, solver] of methods.entries()) {
      // What was slow with one model is not tried with the next.
      if (k < this.#left) continue
      this.takes(solver.name, k === 0 ? why : `${why}; ${methods[k - 1].name} would take many, too`)
      const step = { solver, isLast: k === methods.length - 1, tell: tellBestGap(tell, known), limits }
      const { solutions, stalled, gap } =
        objective instanceof BundlesObjective
          ? await this.#goOnWithMany(objective, problems, ends, step)
          : await this.#goOnWithOne(objective, ends[0].passes, step)
      ends = solutions
      known = Math.min(known, gap)
      if (!stalled) break
      this.#left = k + 1
    }
    return ends
  }

  /** Goes on with the models of a bundle that are not done, as many at a time as there is room for. */
  async #goOnWithMany(
    bundle: BundlesObjective,
    problems: FoldedProblem[],
    solutions: Solution[],
    step: Successor,
  ): Promise<Ended> {
    const { objective, most } = this.#successorOf(bundle)
    const left = [...solutions.keys()].filter(k => !solutions[k].certificate)
    let [stalled, gap] = [false, 0]
    for (let first = 0; first < left.length; first += most) {
      const group = left.slice(first, first + most)
      objective.startOver(group.map(k => problems[k]))
      for (const [m, k] of group.entries()) objective.setWeights(m, bundle.copyWeights(k))
      const before = solutions.length - left.length + first
      const tell: TellPass = progress => step.tell({ ...progress, done: before + progress.done })
      const ended = await this.#goOnWithOne(objective, solutions[group[0]].passes, { ...step, tell })
      stalled ||= ended.stalled
      gap = Math.max(gap, ended.gap)
      for (const [m, k] of group.entries()) {
        solutions[k] = ended.solutions[m]
        bundle.setWeights(k, objective.copyWeights(m))
      }
    }
    return { solutions, stalled, gap }
  }

  /** What second-order steps go on with where coordinate descent leaves a bundle: as many of its models as there is room for. */
  #successorOf(bundle: BundlesObjective): { objective: EachObjective; most: number } {
    const known = this.#successors.get(bundle)
    if (known) return known
    const { arena, rows, weights } = this.facts
    // Other bundles may need as much at the same time.
    const most = mostOf(
      bundle.models,
      newton,
      weights,
      this.#room / Math.max(1, this.#sources.size),
      this.#stateBytes(newton),
    )
    const places = { rows, weights, folds: bundle.folds }
    const successor = { objective: new EachObjective(arena, places, bundle.problems.slice(0, most)), most }
    this.#successors.set(bundle, successor)
    return successor
  }

  /** Goes on by another method from the weights that an objective has. */
  async #goOnWithOne(
    objective: Objective,
    passes: number,
    { solver, isLast, tell, limits }: Successor,
  ): Promise<Ended> {
    const driving = this.driving(objective, progress => tell({ ...progress, pass: progress.pass + passes }), limits)
    const maxPasses = Math.max(1, driving.settings.maxPasses - (this.#isLimited(limits) ? passes : 0))
    const driver = new Driver({
      ...driving,
      settings: { ...driving.settings, maxPasses },
      solver,
      ...(!isLast && { stalls: patienceWithSteps(driving.settings.tolerance) }),
    })
    const solutions = await driver.solve()
    return {
      solutions: solutions.map(solution => ({ ...solution, passes: solution.passes + passes })),
      stalled: driver.stalled,
      gap: lastGap(driver.state),
    }
  }

  /** A limit that was named is one for all methods together. Else each has its own. */
  #isLimited(limits: Partial<DriverSettings>): boolean {
    return limits.maxPasses !== undefined || this.facts.options.given.has('maxPasses')
  }

  protected override sourceOf(objective: Objective): RowsInMemory {
    const known = this.#sources.get(objective)
    if (known) return known
    const most = this.facts.arena.mark() + this.#room
    const source = new RowsInMemory(this.facts.arena, this.#loaded.pool, this.#loaded.rows, this.#loaded.all, most)
    this.#sources.set(objective, source)
    return source
  }

  override release(): void {
    this.#sources.clear()
    this.#successors.clear()
    this.facts.arena.release(this.#mark)
  }

  /** Only once the rows are read is it known how many classes there are. */
  #refuseTooLarge(classes: number): void {
    const { arena, rows, weights: features, solver, options } = this.facts
    const { ranks } = options
    const memory = allowedMemory(options)
    const weights = weightsTogether(features, classes)
    const byGradient = trainsByGradient(options.multiclass)
    const own = byGradient
      ? {
          what: `gradients and steps of solver ${solver.name}`,
          bytes: (solver as MemorySolver).extraBytes?.(weights) ?? 0,
        }
      : { what: `dual variables of ${rows} rows × ${classes} classes`, bytes: crammerSingerBytes(rows, classes) }
    const parts = [
      { what: 'Node and the program', bytes: NODE_BYTES + pagesBeside(this.#loaded.rows.packedBytes, options) },
      { what: 'rows, as they are in memory now', bytes: arena.mark() },
      own,
      { what: `weights of ${features} features × ${classes} classes, and the model`, bytes: weights * 16 },
      ...(ranks.size > 1 && !byGradient
        ? [{ what: 'what a pass over ranks began with', bytes: rows * classes * 8 + weights * 8 }]
        : []),
    ]
    const total = parts.reduce((sum, part) => sum + part.bytes, 0)
    if (total <= memory) return
    const problem = byGradient
      ? `The ${options.multiclass} of all classes keeps vectors as long as the weights of all classes`
      : "Crammer and Singer's problem keeps a dual variable for every row and class"
    const blocks = byGradient ? '--store DIR' : '--solver block'
    throw new SpillwayError(
      `${problem}, and ${classes} classes do not fit:\n  ${planLines(parts, memory).join('\n  ')}`,
      `what would help: ${memoryThatWouldDo(total)}, ${blocks}, which keeps no rows in memory, or --multiclass one-vs-rest, which trains one class after the other`,
    )
  }

  account(): Account {
    const { readSeconds, read } = this.#loaded
    const { bytesRead, badRowMessages } = read
    const { badRows } = this.#loaded.all
    return { readSeconds, bytesRead, badRows, badRowMessages }
  }

  data(): TrainingOutcome['data'] {
    return { ...this.#loaded.rows, ...countsOf(this.#loaded.all) }
  }

  outcome(vectors: number, weights: Float64Array) {
    const { rows, factors } = this.#loaded
    const { space } = this.facts.options
    const width = space ? widthOf(space) : 1
    return {
      data: this.data(),
      weights: inSpace(byFeature(rows, vectors * width, weights), width),
      factors: factors && byFeature(rows, space ? 2 : 1, factors),
      ...this.account(),
    }
  }
}
