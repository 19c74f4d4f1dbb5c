// Rows in the blocks of a store, ready to be trained on inside the memory that was named: text goes into a store first, then
// blocks are read again and again.
import { type AgreedStore, agreeOnStore, asAgreed } from '../block-store/agree-on-store.ts'
import { type Checkpoints, type RunState, requireRoomForState } from '../block-store/checkpoint.ts'
import { inputFormatOf } from '../block-store/manifest.ts'
import type { Store } from '../block-store/reader.ts'
import { lockStates } from '../block-store/state-locks.ts'
import { SpillwayError } from '../errors.ts'
import { findLoss } from '../losses/all-losses.ts'
import { lendWeights } from '../model/lent-weights.ts'
import { Arena } from '../numeric/arena.ts'
import { BUNDLE_LANES } from '../numeric/bundle-layout.ts'
import { bitsOfMap, featuresOf } from '../numeric/feature-map.ts'
import { Driver } from '../optimise/driver/driver.ts'
import { freshState, nowhere } from '../optimise/driver/driving.ts'
import type { AllClassesObjective } from '../optimise/objectives/all-classes.ts'
import { BinaryObjective } from '../optimise/objectives/binary.ts'
import { BundlesObjective, inBundles, lanesOf } from '../optimise/objectives/bundles.ts'
import { EachObjective } from '../optimise/objectives/each.ts'
import { shorten } from '../optimise/objectives/line-search.ts'
import type { ManyModels, Objective } from '../optimise/objectives/objective.ts'
import { leaveOutFold } from '../optimise/objectives/outliers.ts'
import { newAllClasses } from '../optimise/objectives/softmax.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import { checkRowWeights } from '../optimise/solvers/compatibility.ts'
import type { FirstPass } from '../optimise/solvers/first-pass.ts'
import { newton } from '../optimise/solvers/newton.ts'
import { type BlockSolver, trainsMany } from '../optimise/solvers/solver.ts'
import { BlockEngine } from '../optimise/sources/block-engine.ts'
import { BlocksBetterSplit } from '../optimise/sources/finer-blocks.ts'
import { groupsOf, type MemoryPlan } from '../optimise/sources/memory-plan.ts'
import type { SourceCounts } from '../optimise/sources/row-source.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { maxNumbers, onAnyRank } from '../ranks/records.ts'
import { classesOf, type LabelledRows } from '../rows/folds.ts'
import { inSpace } from '../rows/renumber-features.ts'
import { buildIndex } from '../sample-index/build-index.ts'
import { indexState, isAbsent } from '../sample-index/index-state.ts'
import { type Address, blocksText } from '../sizes.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { type BlockTraining, checkpointsOf } from './block-training.ts'
import { ChangeOver, mayChangeOver } from './change-over.ts'
import { columnsOf, type FoldedProblem, isTruncated, refuseUnlearnable } from './class-problems.ts'
import { surveyed, withFittingBlocks } from './fit-blocks.ts'
import type { HandOver } from './go-on-in-blocks.ts'
import { mayHandOver, NO_ROOM, NO_ROOM_BESIDE, STALLED } from './hand-over.ts'
import type { ResolvedOptions } from './options.ts'
import { countsOf, type RunStart, type TrainingOutcome } from './outcome.ts'
import { type Account, type Held, Place, type Round, type TellPass, type Together, type Wanted } from './place.ts'
import { alphaStride, bytesOfScores, hasDual } from './plan-for-blocks.ts'
import { type FoldsToPlan, modelsText, planRun, type RunPlan } from './plan-run.ts'
import { prepareRows } from './prepare-rows.ts'
import type { ProgressListener } from './progress.ts'
import { trainResumed } from './resume.ts'
import type { RowsOfStore } from './rows-of-store.ts'
import { forgetFirstPass, type StoreForTraining, theStore } from './store-for-training.ts'
import { trainTruncated } from './truncated-over-blocks.ts'

/** A store that is to be trained on, its memory not yet planned. */
export interface OpenedStore {
  arena: Arena
  found: StoreForTraining
  /** What ranks know together of their stores. */
  agreed: AgreedStore | undefined
  /** Whether it was made of text in this process. */
  fromText: boolean
  readSeconds: number
  seconds(): number
  solver: BlockSolver
  options: ResolvedOptions
  tell: ProgressListener
  /** Where the arena is empty. */
  empty: Address
  /** Where another solver has given its room up: what goes on from it, what it has read, and where it began. */
  after?: ChangeOver
  before?: { counts: SourceCounts; start: RunStart | undefined }
}

/** Finds the store, or makes it of text. `folded`: the models are of folds. */
export async function openBlocks(
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  tell: ProgressListener,
  folded?: FoldsToPlan,
): Promise<OpenedStore> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000 - (options.watcher?.seconds ?? 0)
  const arena = new Arena()
  const empty = arena.mark()
  const found = await theStore(arena, paths, solver, options, { tell, seconds, folded })
  const agreed = await agreeOnStore(arena, options.ranks, found.store, found.read.badRows)
  found.store = asAgreed(found.store, agreed)
  const { folder, manifest } = found.store
  refuseUnlearnable({ ...manifest, ...agreed?.all, format: inputFormatOf(manifest) }, folder)
  if (manifest.rowWeights) checkRowWeights(solver, options)
  const fromText = folder !== paths[0]
  return { arena, empty, found, agreed, fromText, readSeconds: seconds(), seconds, solver, options, tell }
}

/** A store whose blocks fit, with the plan of the run over it. */
type Fitted = RunPlan & { store: Store; rows: RowsOfStore; readers: ThreadPool }

/** Blocks as a place for models. */
export class InBlocks extends Place {
  override readonly rounds: Round[] | undefined
  readonly #opened: OpenedStore
  readonly #fitted: Fitted
  /** What was learnt while text was read. */
  #first: FirstPass | undefined
  /** Who goes on with all the memory, where coordinate descent stalls and there is no room beside it. */
  #next: BlockSolver | undefined
  /** Whether somebody would, but has no room even so. */
  #lacksRoom = false
  /** Weights of models that are done, or left. */
  readonly #ended = new Map<FoldedProblem, Float64Array>()
  #locks: AsyncDisposable | undefined
  readonly #lanes: number
  readonly #engine: BlockEngine
  readonly #map: number
  /** One objective's memory serves all of them in turn. */
  readonly #objective: BinaryObjective | BundlesObjective | EachObjective | AllClassesObjective
  readonly #besidesWeights: number
  /** That of a model which was trained with others, and goes on alone. */
  #alone: BinaryObjective | undefined
  #factors: Float64Array | undefined
  /** Where the run began; of several classes, the first. */
  #start: RunStart | undefined

  private constructor(opened: OpenedStore, wanted: Wanted, fitted: Fitted, map: number) {
    const { arena, agreed, tell, seconds } = opened
    const { solver, plan, store, readers } = fitted
    const { features, weights } = fitted.rows
    const { rows, labels } = store.manifest
    const together = fitted.together?.models
    // Expanded features may be so many that there is room for f32 only.
    const narrow = together === undefined && plan.weightBytes === 4
    const options: ResolvedOptions = narrow ? { ...fitted.options, weights: 'f32' } : fitted.options
    const blocks = store.manifest.blocks.map(({ rows, bytes }) => ({ rows, bytes }))
    super({ arena, solver, options, wanted, tell, seconds, rows, features, labels, weights, blocks })
    this.#opened = opened
    this.#fitted = fitted
    this.#map = map
    this.#lanes = together === undefined ? 1 : lanesOf(together)
    if (together !== undefined && !wanted.allClasses) this.rounds = roundsOf(wanted.problems, together)
    this.#objective = this.#newObjective(plan)
    this.#besidesWeights = arena.mark()
    const { allClasses } = wanted
    const stride = allClasses
      ? allClasses.classes.length * 8
      : alphaStride(options) * Math.min(this.#lanes, BUNDLE_LANES)
    const trainers = solver.severalTrainers ? options.trainers : 1
    const classNumbers = agreed?.classNumbers && [...agreed.classNumbers]
    const ofRanks = { all: agreed?.all, classNumbers }
    const settings = { alphaStride: hasDual(solver, options) ? stride : 0, trainers, reader: readers, ...ofRanks }
    this.#engine = new BlockEngine(arena, store, plan, settings)
    if (opened.before) {
      Object.assign(this.#engine.counts, opened.before.counts)
      this.#start = opened.before.start
      this.methodReason = STALLED
    }
  }

  static async open(opened: OpenedStore, wanted: Wanted): Promise<InBlocks> {
    const { arena, found, agreed, fromText, solver, options, tell } = opened
    // Models of folds are scored and forgotten: nobody goes on with them.
    if (!wanted.folds) await requireRoomForState(found.store.folder)
    const models = wanted.allClasses ? 1 : wanted.problems.length
    const columns = wanted.columns ?? columnsOf(wanted.problems)
    const bytesPerRow = bytesOfScores(columns) + (wanted.besidesPerRow?.(found.store.manifest.rowWeights === true) ?? 0)
    const folds = wanted.folds ? { bytesPerRow, must: trainsMany(solver) && !isTruncated(wanted), folds: true } : {}
    const planned = (
      store: Store,
      rows: RowsOfStore,
      { most = models, maySplit = false, by = solver } = {},
    ): Promise<RunPlan> =>
      planRun(asAgreed(store, agreed), by, options, { fromText, rows, models, most, maySplit, ...folds })
    const own = await withFittingBlocks(found, options, tell, async (store, maySplit) => {
      if (options.expand)
        tell({ stage: 'plan', solver: '', reason: `a first look at what ${options.expand} makes of the rows` })
      return surveyed(
        arena,
        asAgreed(store, agreed),
        options,
        rows => orSplit(planned(store, rows, { maySplit })),
        agreed,
      )
    })
    const fitted = await asAllRanks({ ...own, store: asAgreed(own.store, agreed) }, options.ranks, most =>
      planned(own.store, own.rows, { most }),
    )
    if (solver.needsIndex) await indexFor(fitted.store, options, tell)
    const first = fitted.plan.firstPass ? found.first : undefined
    // A few huge blocks need the room of what was learnt while the text was read: it is given up.
    if (found.first && !first) {
      arena.release(found.first.region.at)
      await forgetFirstPass(found)
    }
    if (opened.after) tell({ stage: 'plan', solver: solver.name, reason: STALLED })
    tellPlan(fitted, models, wanted, tell)
    const map = await fitted.rows.placeMap(arena)
    const place = new InBlocks(opened, wanted, fitted, map)
    try {
      place.#first = first
      place.#next = await place.#nextSolver(next => planned(fitted.store, fitted.rows, { by: next }))
      // Two runs of one problem would write the same files.
      const folders = wanted.folds ? [] : place.#states().map(({ folder }) => folder)
      if (!wanted.folds) place.#locks = await lockStates(fitted.store.folder, folders)
      place.#factors = await prepareRows(place.#engine, place.facts.options, fitted.rows, map)
      // Classes go one after the other: a later resume of this run must not meet the states that an earlier run has left.
      if (!place.rounds && !options.resume && !wanted.folds)
        for (const state of place.#states()) await state.clearFinished()
      return place
    } catch (error) {
      await place[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Where states of the models are kept. */
  #states(): Checkpoints[] {
    const { problems, allClasses } = this.facts.wanted
    const alone = allClasses ? [problems.slice(0, 1)] : problems.map(problem => [problem])
    const groups = this.rounds?.map(round => round.flat()) ?? alone
    const after = (group: FoldedProblem[]) => this.#opened.after?.startOf(this.#objective, group)
    return groups.map(group => checkpointsOf({ ...this.#training(this.#objective, group), after: after(group) }))
  }

  #newObjective(plan: MemoryPlan): BinaryObjective | BundlesObjective | EachObjective | AllClassesObjective {
    const { arena, rows, weights, solver, wanted } = this.facts
    const { allClasses, problems } = wanted
    if (allClasses) return newAllClasses(arena, { rows, weights, groupRows: plan.slotRows }, allClasses)
    const places = { rows, weights, folds: 0 }
    if (this.rounds && solver.startEach) return new EachObjective(arena, places, this.rounds[0].flat())
    if (this.rounds) return new BundlesObjective(arena, places, this.rounds[0], this.#lanes)
    const weightBits = this.facts.options.weights === 'f32' ? 32 : 64
    return new BinaryObjective(
      arena,
      { rows, weights },
      { ...problems[0], weightBits },
      { dual: hasDual(solver, this.facts.options) },
    )
  }

  binary(problem: FoldedProblem): BinaryObjective {
    const objective = this.#objective as BinaryObjective
    objective.startOver({ ...problem, weightBits: objective.settings.weightBits })
    return objective
  }

  /** Every block that is read serves all bundles. */
  bundles(round: Round, folds: number): Together[] {
    const objective = this.#objective as BundlesObjective | EachObjective
    const problems = round.flat()
    if (objective instanceof EachObjective) objective.startOver(problems, folds)
    else objective.startOver(round, folds)
    return [{ objective, problems }]
  }

  allClasses(): AllClassesObjective {
    return this.#objective as AllClassesObjective
  }

  #training(objective: Objective, problems: FoldedProblem[]) {
    const allClasses = this.facts.wanted.allClasses !== undefined
    return { engine: this.#engine, options: this.facts.options, objective, problems, allClasses }
  }

  async solve(objective: Objective, problems: FoldedProblem[], tell: TellPass, held?: Held): Promise<Solution[]> {
    const { solver } = this.#fitted
    const { wanted } = this.facts
    // Models of folds are scored and forgotten: nobody goes on with them.
    if (wanted.folds && this.rounds) return new Driver(this.driving(objective, tell)).solve()
    if (wanted.folds) return this.#solveFold(objective as BinaryObjective, problems, tell, held!)
    const first = this.#first && wanted.problems.length === 1 ? { pass: this.#first, map: this.#map } : undefined
    // Of several classes each says the same, or nearly.
    const start = this.#start
    const say = (reason: string): void => {
      if (!start) this.say(reason)
    }
    const began = (found: RunStart): void => {
      this.#start ??= found
    }
    const solutions = await trainResumed({
      ...this.#training(objective, wanted.allClasses ? problems.slice(0, 1) : problems),
      ...{
        solver,
        tell,
        say,
        began,
        first,
        looked: this.looked,
        handOver: this.#handOver(),
        after: this.#opened.after?.startOf(objective, problems),
        ...this.#withoutRoom(objective, problems),
      },
    })
    if (this.#next) this.#keep(objective, problems)
    return solutions
  }

  /** A model that is trained alone, without the rows of a fold. */
  async #solveFold(
    objective: BinaryObjective,
    problems: FoldedProblem[],
    tell: TellPass,
    { folds }: Held,
  ): Promise<Solution[]> {
    const [{ heldOut }] = problems
    const unseen = heldOut === undefined ? undefined : { folds, heldOut }
    const { solver } = this.#fitted
    if (isTruncated({ problems })) {
      const training = { ...this.#training(objective, problems), solver, tell, looked: this.looked }
      return trainTruncated(training, nowhere, freshState(1), { kind: 'cold' }, unseen)
    }
    if (unseen) leaveOutFold(objective, this.facts.rows, unseen)
    return new Driver({ ...this.driving(objective, tell), series: { anchored: false } }).solve()
  }

  /** Who goes on with models on which coordinate descent stalls, where there is room for it. */
  #handOver(): HandOver | undefined {
    if (!this.#fitted.plan.handsOver) return undefined
    return {
      solver: newton.inBlocks!,
      alone: problem => {
        const { arena, rows, weights } = this.facts
        const settings = { ...problem, weightBits: 64 as const }
        this.#alone ??= new BinaryObjective(arena, { rows, weights }, settings, { dual: false })
        this.#alone.startOver(settings)
        return this.#alone
      },
      say: () => this.takes(newton.name, STALLED),
    }
  }

  /** Who would go on if there was room, and has it with a plan of its own. */
  async #nextSolver(planned: (solver: BlockSolver) => Promise<RunPlan>): Promise<BlockSolver | undefined> {
    const { options, wanted, rows, weights } = this.facts
    const { plan, solver } = this.#fitted
    const isOther = solver.dual && !plan.handsOver && !wanted.folds && !findLoss(options.loss).truncates
    if (!isOther || !mayHandOver(options, { rows, weights })) return undefined
    const next = newton.inBlocks!
    const alone = await planned(next).catch((error: unknown) => {
      if (!(error instanceof SpillwayError)) throw error
      return undefined
    })
    this.#lacksRoom = !alone
    return alone && next
  }

  /** What is done where coordinate descent stalls, and somebody would go on who has no room. */
  #withoutRoom(objective: Objective, problems: FoldedProblem[]): Pick<BlockTraining, 'changeOver' | 'lacksRoom'> {
    const next = this.#next
    if (this.#lacksRoom) return { lacksRoom: () => this.say(NO_ROOM) }
    if (!next) return {}
    const { wanted, options, weights } = this.facts
    // Ranks would have to agree on a plan anew.
    const isAlone = options.ranks.size === 1
    if (!isAlone || !mayChangeOver(wanted.problems.length, weights))
      return { lacksRoom: () => this.say(NO_ROOM_BESIDE) }
    const changeOver = (state: Readonly<RunState>): never => {
      this.#keep(objective, problems)
      throw new ChangeOver(next, state, this.#ended)
    }
    return { changeOver }
  }

  /** The same store for the one who goes on, once this place is closed. */
  reopened(after: ChangeOver): OpenedStore {
    const { found, tell } = this.#opened
    return {
      ...this.#opened,
      found: { ...found, store: this.#fitted.store, first: undefined },
      ...{ solver: after.solver, after },
      before: { counts: this.#engine.counts, start: this.#start },
      // Its rows are the same.
      tell: record => record.stage === 'rows' || tell(record),
    }
  }

  #keep(objective: Objective, problems: FoldedProblem[]): void {
    for (const [k, problem] of problems.entries()) this.#ended.set(problem, (objective as ManyModels).copyWeights(k))
  }

  protected override sourceOf(): BlockEngine {
    return this.#engine
  }

  /** Class numbers of all rows, and their weights if they have any, by a reading pass. */
  async labelledRows(): Promise<LabelledRows> {
    const { arena, rows: all, options } = this.facts
    const classes = new Uint32Array(all)
    const engine = this.#engine
    const weights = engine.weighted ? new Float64Array(all) : undefined
    for await (const { table, rowWeights, parts } of engine.pass(engine.groups(-1, options))) {
      let before = 0
      for (const { rows, firstRow } of parts) {
        classes.set(classesOf(arena, { table: table + before * 4, rows }), firstRow)
        weights?.set(arena.f64(rowWeights! + before * 8, rows), firstRow)
        before += rows
      }
    }
    return { classes, weights }
  }

  /** One vector of expanded features is not copied: the memory plan has no room for it. The state of the run is on the disk by
   *  the time it is lent. */
  override get lend(): ((solution: Solution) => number) | undefined {
    const objective = this.#objective
    const alone = objective instanceof BinaryObjective && this.facts.wanted.problems.length === 1
    if (!alone || !this.#fitted.rows.expanded) return undefined
    return solution => {
      const weights = objective.weightsInPlace()
      shorten(weights, solution)
      return weights[weights.length - 1]
    }
  }

  override get planned(): number {
    return this.#fitted.plan.parts.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  account(): Account & Required<Pick<Account, 'blocks'>> {
    const { readSeconds, found, agreed } = this.#opened
    const { blocksRead: read, bytesRead, lastBlocks: _, ...counts } = this.#engine.counts
    const { manifest, folder: store } = this.#fitted.store
    return {
      ...{ readSeconds, ...found.read, bytesRead: found.read.bytesRead + bytesRead },
      ...(agreed && { badRows: agreed.all.badRows }),
      blocks: { count: manifest.blocks.length, read, ...counts, store },
      ...(this.#start && { start: this.#start }),
    }
  }

  data(): TrainingOutcome['data'] {
    const { store, rows } = this.#fitted
    const { agreed } = this.#opened
    const { manifest } = store
    return {
      ...{ ...manifest, features: rows.features, nonzeros: rows.nonzeros, format: inputFormatOf(manifest) },
      fingerprint: `xxh64:${manifest.fingerprint}`,
      ...(agreed && countsOf(agreed.all)),
      ...(rows.names && { names: rows.names }),
    }
  }

  outcome(_vectors: number, weights: Float64Array): ReturnType<Place['outcome']> {
    const { rows } = this.#fitted
    const { arena, weights: count } = this.facts
    const lends = this.lend !== undefined
    const features = this.#map && !lends ? featuresOf(arena, this.#map, count / rows.width) : undefined
    const byFeature = (values: Float64Array) =>
      features ? { layout: 'sparse' as const, indices: features, values } : values
    return {
      data: this.data(),
      weights: lends ? this.#lent() : inSpace(byFeature(weights), rows.width),
      factors: this.#factors && byFeature(this.#factors),
      ...this.account(),
    }
  }

  #lent() {
    const { arena, weights, narrow } = this.#objective as BinaryObjective
    const bits = this.#map ? bitsOfMap(arena, this.#map) : undefined
    return lendWeights({ arena, weights, narrow, map: this.#map }, this.facts.weights, bits)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine.close()
    await this.#locks?.[Symbol.asyncDispose]()
    // The memory besides weights and map is free for the next work with the model.
    this.facts.arena.release(this.#besidesWeights)
  }
}

function tellPlan(
  { plan, together, store, solver }: Fitted,
  models: number,
  { folds }: Wanted,
  tell: ProgressListener,
): void {
  const groups = groupsOf(plan, [...plan.costs.keys()]).length
  const pieces = folds ? '' : `, read in ${groups} ${groups === 1 ? 'piece' : 'pieces'} a pass`
  const many = together ? `, ${modelsText(models, together.models)}` : ''
  const { slots, slotBytes, cacheBytes } = plan
  tell({
    ...{ stage: 'plan', solver: solver.name },
    reason: `${blocksText(store.manifest.blocks.length)}${pieces}${many}`,
    memory: { parts: plan.parts, allowed: plan.memory },
    blocks: { count: plan.costs.length, groups, slots, slotBytes, cacheBytes },
    ...(together && { models: { all: models, together: together.models } }),
  })
}

/** A plan whose blocks are small enough. */
async function orSplit(planning: Promise<RunPlan>): Promise<RunPlan> {
  const plan = await planning
  if (plan.finer) throw new BlocksBetterSplit(plan.finer)
  return plan
}

/** Ranks train the same models at a time, and hand them over alike: as the one can that has the least room. */
async function asAllRanks(
  fitted: Fitted,
  ranks: Communicator,
  replan: (most: number) => Promise<RunPlan>,
): Promise<Fitted> {
  if (ranks.size === 1) return fitted
  const own = fitted.together?.models ?? 1
  const [fewest] = await maxNumbers(ranks, [-own])
  const planned = -fewest === own ? fitted : { ...fitted, ...(await replan(-fewest)) }
  const handsOver = !(await onAnyRank(ranks, !planned.plan.handsOver))
  return { ...planned, plan: { ...planned.plan, handsOver } }
}

/** Builds what is missing of the store's index, in a memory of its own. */
async function indexFor(store: Store, options: ResolvedOptions, tell: ProgressListener): Promise<void> {
  const state = await indexState(store, { damagedIsMissing: true })
  const missing = state.blocks.filter(({ facts }) => !facts).length
  if (missing === 0) return
  const what = isAbsent(state) ? 'building the index' : `building the index of ${missing} blocks that have none`
  tell({ stage: 'plan', solver: '', reason: `${what} of ${store.folder}; it serves every later run` })
  const { memory, threads, signal } = options
  await buildIndex(store.folder, { memory, threads, signal })
  if (memory !== undefined) collectGarbage()
}

function roundsOf(problems: FoldedProblem[], size: number): Round[] {
  const rounds: Round[] = []
  for (let from = 0; from < problems.length; from += size) rounds.push(inBundles(problems.slice(from, from + size)))
  return rounds
}
