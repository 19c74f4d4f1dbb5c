// The driver: asks a method to visit group after group of rows, keeps checkpoints, asks the certificate for the truth, and
// decides when to stop. Rows in memory are a source of one group; one model and many, all of them go through here.
import type { RunState, Stretch } from '../../block-store/checkpoint.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import { onAnyRank, sumNumbers, sumVectors } from '../../ranks/records.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { addSums, type Certificate, certificateOf, noSums } from '../objectives/certificate.ts'
import type { Objective } from '../objectives/objective.ts'
import type { ExitReason, Solution } from '../objectives/solution.ts'
import type { FirstPass } from '../solvers/first-pass.ts'
import { type Account, type Run, type Seen, startRun } from '../solvers/solver.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import { type RowGroup, type RowSource, reads } from '../sources/row-source.ts'
import { type DriverSettings, type Driving, freshState, nowhere, type StateKeeper } from './driving.ts'
import { LastLook } from './last-look.ts'
import { Progress, sum } from './progress.ts'

/** A certificate that did not confirm an estimate makes the next one count for less. */
const DOUBT = 0.7
/** A run overshoots its budget by at most a row, which does not make a pass. */
const ALMOST = 1e-3
/** Weights and the rows that a method keeps are written with every checkpoint. While they are small beside a block, one after
 *  every block costs little. */
const CHEAP_SHARE = 0.1
/** After an interrupt, rows are looked at for so long: all of a small store, a sample of a large one. */
const BRIEF_SECONDS = 2

export class Driver {
  readonly #source: RowSource
  readonly #dual: boolean
  readonly #objective: Objective
  readonly #settings: DriverSettings
  readonly #keeper: StateKeeper
  readonly #ranks: Communicator
  /** Over ranks: whether one of them was interrupted, as all of them know; and whether within a pass, so that the last checkpoint
   *  stands. */
  #heard = false
  #torn = false
  readonly #run: Run
  readonly #progress: Progress
  #lastCheckpoint = performance.now()
  readonly #look: LastLook
  #state: RunState
  readonly #stalls: Driving['stalls']
  /** Whether it was left for another method. */
  stalled = false

  constructor(driving: Driving) {
    const { source, solver, objective, settings, keeper = nowhere, state = freshState(objective.models) } = driving
    this.#source = source
    this.#dual = solver.dual
    this.#objective = objective
    this.#settings = settings
    this.#keeper = keeper
    this.#ranks = settings.ranks ?? alone
    this.#look = new LastLook(objective, source)
    this.#state = state
    this.#stalls = driving.stalls
    const { series } = driving
    const before = series?.before ? series.before.#run : undefined
    // A method that goes on with the next problem keeps its rows in memory.
    this.#run = before?.nextProblem ? before : startRun(solver, objective, source, settings)
    if (series) this.#run.nextProblem?.(series.anchored)
    this.#progress = new Progress(driving, this.#run)
  }

  /** Where the run stands. */
  get state(): Readonly<RunState> {
    return this.#state
  }

  /** Goes on from a checkpoint. */
  async restore(state: RunState): Promise<void> {
    this.#state = state
    const { saved } = this.#run
    if (this.#keepsRows && state.solver === undefined) {
      // Nothing is in memory, and nothing is known of any block, but dual variables and weights stand.
      this.#nextPass(null)
      // What a method knew of models that were done is gone, too: it looks at them again.
      if (this.#run.endPass) {
        state.resting = state.resting.map(() => false)
        state.solutions = state.solutions.map(() => null)
      }
    } else if (saved) {
      saved.restore(state.solver)
      if (this.#keepsRows) await this.#keeper.loadMemory(this.#stretches)
      saved.restored?.()
    }
    this.#objective.activate?.(state.resting.map(rests => !rests))
    // Rows in memory are not met again: what the others show is not all. The last stock stands, if there was one.
    const [primal] = state.primals
    if (this.#run.ledger && primal > 0 && primal < Number.MAX_VALUE)
      this.#progress.know(primal, state.stockTaken ? state.gaps[0] : Number.MAX_VALUE)
  }

  /** Starts from what was learnt while the text was read: that was the first pass. */
  async startFrom(first: FirstPass, engine: BlockEngine, map: number): Promise<void> {
    const objective = this.#objective as BinaryObjective
    first.move(engine.store, engine.firstRows, objective, map, (...rows) => this.#run.adopt?.(...rows))
    engine.reuse(first.region)
    const state = this.#state
    state.pass = 1
    state.work = 1
    state.wanted = this.#run.ledger?.owing(0) ?? null
    const { loss, gap } = first.owed
    this.#progress.know(0.5 * objective.squaredLengths()[0] + loss, gap)
    this.#keeper.touch([...this.#source.blockBytes.keys()])
    await this.#checkpoint()
  }

  /** Starts from dual variables that are in place already: w = Σ α y x, by one reading pass. */
  async rebuildWeights(): Promise<void> {
    const { arena, weights, weightCount, weightBytes } = this.#objective
    arena.bytes(weights, weightCount * weightBytes).fill(0)
    for await (const group of this.#source.pass(this.#groups(-1)))
      await this.#objective.addDual!(this.#source.threads, group)
    await sumVectors(this.#ranks, arena, [{ at: weights, count: weightCount }])
  }

  async solve(): Promise<Solution[]> {
    for (;;) {
      const cutShort = await this.#makePass()
      if (cutShort) return this.#end(this.#known, undefined, 'interrupted')
      if (!this.#state.stockTaken) await this.#takeStock()
      // Until it is decided how to go on, the run stands at the end of this pass: one that is resumed decides the same.
      if (await this.#checkpointNow()) await this.#checkpoint()
      const done = await this.#decide()
      if (done) return done
      if (this.#hasStalled()) return this.#leave()
      this.#nextPass(this.#run.ledger?.owing(this.#settings.tolerance * this.#state.primals[0]) ?? null)
    }
  }

  /** Visits what is left of a pass, and has ranks meet at its end; whether groups were left out. */
  async #makePass(): Promise<boolean> {
    const state = this.#state
    if (this.#ranks.size === 1) {
      const { work } = state
      const cutShort = await this.#meet(await this.#visitAll(), work)
      if (cutShort) await this.#checkpoint()
      return cutShort
    }
    // A run that is resumed where ranks had met does not have them meet again.
    if (state.stockTaken) return false
    state.workBefore ??= state.work
    return this.#meet(await this.#visitAll(), state.workBefore)
  }

  /** Whether a checkpoint is written at the end of a pass. Ranks write theirs together. */
  async #checkpointNow(): Promise<boolean> {
    const isDue = this.#interrupted || this.#checkpointDue(this.#allBytes)
    if (this.#ranks.size === 1) return isDue
    return this.#keeper !== nowhere && onAnyRank(this.#ranks, isDue)
  }

  /** Whether the run is to end: ranks decide together. */
  get #interrupted(): boolean {
    return this.#ranks.size > 1 ? this.#heard : this.#settings.signal?.aborted === true
  }

  /** The end of a pass over this rank's rows. What ranks have found is put together, so that all of them know the same, and decide
   *  the same; whether one of them had to leave groups out. `before`: the work before this pass. */
  async #meet(cutShort: boolean, before: number): Promise<boolean> {
    const state = this.#state
    const { settings, run, ranks, source } = {
      settings: this.#settings,
      run: this.#run,
      ranks: this.#ranks,
      source: this.#source,
    }
    if (ranks.size === 1) {
      const last = cutShort || settings.signal?.aborted === true || state.work >= settings.maxPasses - ALMOST
      state.work += (await run.meet?.(last)) ?? 0
      return cutShort
    }
    const { losses, gaps, ready } = state
    const share = source.rows / Math.max(source.all.rows, 1)
    const aborted = settings.signal?.aborted === true
    const flags = [cutShort, aborted, ready === false, this.#progress.partial].map(Number)
    const sums = await sumNumbers(ranks, [...flags, (state.work - before) * share, ...losses, ...gaps])
    const [left, stopped, notReady, partial, work] = sums.splice(0, flags.length + 1)
    // A run that goes on finishes this pass first: what each rank has found in it so far is written before ranks put it together.
    if (left > 0) {
      await this.#checkpoint()
      this.#torn = true
    }
    state.work = before + work
    state.losses = sums.splice(0, losses.length)
    state.gaps = sums
    if (ready !== undefined) state.ready = notReady === 0
    this.#progress.partial = partial > 0
    this.#heard = stopped > 0
    state.work += (await run.meet?.(this.#heard || state.work >= settings.maxPasses - ALMOST)) ?? 0
    return left > 0
  }

  /** Whether it will not get there in reasonable time. The gap is the worst of the models that are not done; while rows are left
   *  out, it is not that of the models. */
  #hasStalled(): boolean {
    if (!this.#stalls) return false
    const { work, primals, gaps, resting } = this.#state
    const gap = Math.max(0, ...gaps.map((gap, k) => (resting[k] ? 0 : gap / primals[k])))
    this.#state.trail ??= []
    if (!this.#progress.partial) this.#state.trail.push({ work, gap: Math.min(gap, Number.MAX_VALUE) })
    return this.#stalls(work, this.#state.trail)
  }

  /** Ends for another method, which goes on with the models that are not done. */
  #leave(): Solution[] {
    this.stalled = true
    const passes = this.#passes()
    return this.#known.map(solution => solution ?? { certificate: undefined, passes, exitReason: 'max-passes' })
  }

  /** Visits the groups of a pass that are left; whether an abort came before all were visited. */
  async #visitAll(): Promise<boolean> {
    const { signal, maxPasses } = this.#settings
    const state = this.#state
    // What was learnt while text was read may be all the passes there are.
    const groups =
      state.work >= maxPasses - ALMOST ? [] : this.#run.findsRows ? [[]] : this.#groups(state.pass, state.wanted)
    if (state.position === 0 && groups.length > 0) this.#countSkipped(state.wanted)
    for await (const group of this.#source.pass(groups, state.position)) {
      const seen = await this.#run.visit(group, this.#turn())
      state.position++
      this.#note(seen, group)
      // Rows that stay in memory belong to any block.
      this.#keeper.touch(this.#keepsRows ? [...this.#source.blockBytes.keys()] : group.parts.map(part => part.block))
      this.#progress.tell(state, state.position / groups.length)
      if (signal?.aborted) break
      // Ranks are at different groups: their checkpoints are those of the ends of passes.
      const isDue = state.position < groups.length && this.#ranks.size === 1 && this.#checkpointDue(group.packedBytes)
      if (isDue) await this.#checkpoint()
    }
    return signal?.aborted === true && state.position < groups.length
  }

  #turn() {
    const { tolerance, maxPasses, signal } = this.#settings
    const { pass, work, primals, optimism } = this.#state
    const left = maxPasses - work
    const targets = optimism.map(share => tolerance * share)
    const tick = (done: number, gap: number, partial: boolean): void => {
      this.#progress.partial = partial
      this.#progress.tick(this.#state, work + done, gap)
    }
    return { pass, most: Math.min(1, left), left, primals, targets, signal, tick }
  }

  #note({ losses, gaps, primals, work, ready, partial = false }: Seen, group: RowGroup): void {
    const state = this.#state
    state.work += work ?? group.rows / Math.max(this.#source.rows, 1)
    state.losses = state.losses.map((loss, k) => loss + losses[k])
    state.gaps = state.gaps.map((gap, k) => gap + gaps[k])
    if (primals) state.known = [...primals]
    if (ready !== undefined) state.ready = ready
    this.#progress.partial = partial
  }

  /** At the end of a pass: what primals and gaps are, by what the rows showed as they were met. */
  async #takeStock(): Promise<void> {
    const { tolerance, maxPasses, gradientTolerance } = this.#settings
    const state = this.#state
    state.stockTaken = true
    if (this.#run.endPass) {
      const { primals, gaps, done } = await this.#run.endPass(tolerance)
      Object.assign(state, { primals, gaps, ready: done.every(is => is) })
      if (this.#objective.activate) await this.#noteDone(done)
      this.#progress.know(sum(primals), sum(primals) * Math.max(...gaps.map((gap, k) => gap / primals[k] || 0)))
      this.#progress.tell(state, 1)
      return
    }
    if (this.#run.settle) {
      // New weights have a new primal; the last one will do to say how exact the rows in memory are to be.
      const before = sum(state.primals) || 0.5 * sum(this.#objective.squaredLengths()) + sum(state.losses)
      // By the paper's rule the rows in memory are worked on as long as they move.
      const target = gradientTolerance === undefined ? 0.5 * tolerance * before * Math.min(...state.optimism) : 0
      state.work += await this.#run.settle(target, maxPasses - state.work)
    }
    const { ledger } = this.#run
    if (ledger) {
      const { dual, owed, spread } = await ledger.account()
      ledger.endRound()
      // Nothing is known of a block that was never met: a number that JSON can hold says so.
      state.primals = [Math.min(dual + owed, Number.MAX_VALUE)]
      state.gaps = [Math.min(owed, Number.MAX_VALUE)]
      state.spread = spread
      this.#progress.know(state.primals[0], state.gaps[0])
      this.#progress.tell(state, 1)
      return
    }
    const lengths = state.known ? [] : this.#objective.squaredLengths()
    state.primals = state.primals.map((before, k) => {
      // A model that rests was not looked at.
      if (state.resting[k] && state.solutions[k]) return before
      return state.known?.[k] ?? 0.5 * lengths[k] + state.losses[k]
    })
    if (this.#objective.activate && state.ready === undefined) this.#rest()
    this.#progress.stock(state)
  }

  /** Models that are where they should be end here; the others go on. */
  async #noteDone(done: boolean[]): Promise<void> {
    const certificates = await this.#run.certificates?.()
    const passes = this.#passes()
    const state = this.#state
    state.solutions = this.#known.map((solution, k): Solution | null =>
      solution || !done[k] ? solution : { certificate: certificates?.[k], passes, exitReason: 'converged' },
    )
    state.resting = done
    this.#objective.activate!(done.map(is => !is))
  }

  /** Models that have come close rest until the others have, too. */
  #rest(): void {
    const { tolerance } = this.#settings
    const { primals, gaps, optimism } = this.#state
    this.#state.resting = this.#state.resting.map(
      (rests, k) => rests || gaps[k] <= tolerance * optimism[k] * primals[k],
    )
    this.#objective.activate!(this.#state.resting.map(rests => !rests))
  }

  /** Whether certificates are worth asking for. */
  #ready(): boolean {
    const { tolerance, gradientTolerance } = this.#settings
    const { primals, gaps, optimism, resting, spread, ready } = this.#state
    // By the paper's rule a run is stopped by gradients, not by the gap.
    if (gradientTolerance !== undefined) return spread <= gradientTolerance
    if (ready !== undefined) return ready
    if (!this.#dual) return false
    return primals.every((primal, k) => resting[k] || gaps[k] <= tolerance * primal * optimism[k])
  }

  /** At the end of a pass: how the models ended, if they have. */
  async #decide(): Promise<Solution[] | undefined> {
    const { tolerance, gradientTolerance, maxPasses } = this.#settings
    const state = this.#state
    const last = state.work >= maxPasses - ALMOST
    const stopped = this.#interrupted
    if (!this.#ready() && !last && !stopped) return undefined
    const certificates = await this.certify(last)
    if (!certificates) return this.#end(this.#known, undefined, 'interrupted')
    const passes = this.#passes()
    const reached = certificates.map(({ gap }) => gap !== null && gap <= tolerance)
    const known = this.#known.map((solution, k): Solution | null =>
      solution || !reached[k] ? solution : { certificate: certificates[k], passes, exitReason: 'converged' },
    )
    // A run by the paper's rule ends where its gradients say so.
    const settled =
      (gradientTolerance !== undefined && state.spread <= gradientTolerance) || this.#run.endsByItself?.() === true
    if (known.every(solution => solution !== null) || settled || last || stopped) {
      // The state stays as it was before: a run that goes on from here, under other limits, decides by itself.
      const exitReason = settled ? 'converged' : last ? 'max-passes' : 'interrupted'
      const solutions = await this.#end(known, certificates, exitReason)
      this.#progress.certified(solutions, passes)
      return solutions
    }
    const done = known.map(solution => solution !== null)
    state.solutions = known
    state.primals = certificates.map(({ primal }) => primal)
    state.optimism = state.optimism.map((share, k) => (reached[k] ? share : share * DOUBT))
    state.resting = reached
    const ends = certificates.map((certificate, k) => ({ certificate, done: done[k] }))
    this.#progress.certified(ends, passes)
    this.#objective.activate?.(done.map(is => !is))
    this.#run.notYet?.(done)
    return undefined
  }

  /** How models ended so far; null as long as they have not. */
  get #known(): (Solution | null)[] {
    return this.#state.solutions as (Solution | null)[]
  }

  /** Models that did not get there end by the best multiple of their weights. */
  async #end(
    known: (Solution | null)[],
    certificates: Certificate[] | undefined,
    exitReason: ExitReason,
  ): Promise<Solution[]> {
    if (known.every(solution => solution !== null)) return known
    if (!this.#look.hasSeenAll) await this.#lookAtRows(exitReason === 'interrupted')
    const { tolerance } = this.#settings
    return this.#look.solutions(known, certificates, {
      exitReason,
      tolerance,
      passes: this.#passes(),
      dual: this.#dual,
    })
  }

  /** Sums losses along the weights over all rows; after an interrupt over as many as a short time allows, those first that
   *  would have been next. Blocks are drawn at random, so some stand for all. */
  async #lookAtRows(briefly: boolean): Promise<void> {
    const began = performance.now()
    this.#look.begin()
    const { pass, position, wanted } = this.#state
    const groups = this.#groups(briefly ? pass : -1)
    const next = briefly && !wanted ? position % Math.max(groups.length, 1) : 0
    for await (const group of this.#source.pass([...groups.slice(next), ...groups.slice(0, next)])) {
      await this.#look.at(group)
      if (briefly && performance.now() - began > BRIEF_SECONDS * 1000) break
    }
    await this.#look.addOthers(this.#ranks)
  }

  /** Passes so far. A run that leaves blocks out, or works on rows in memory, makes them in parts. */
  #passes(): number {
    return Math.min(this.#settings.maxPasses, Math.max(1, Math.ceil(this.#state.work - ALMOST)))
  }

  /** Primal, dual and gap of each model over all rows, by a reading pass; undefined when it was interrupted. With `look`, the
   *  losses along the weights are summed as well. A method with a ledger knows all rows, once those have been read of which it
   *  does not know enough. */
  async certify(look = false): Promise<Certificate[] | undefined> {
    const source = this.#source
    const objective = this.#objective
    const { threads } = source
    this.#look.forget()
    const known = await this.#run.certificates?.()
    if (known) return known
    if (objective.certify) return objective.certify(source)
    // With narrow weights, w is not quite Σ α y x, and nothing is certain without reading.
    const ledger = objective.weightBytes === 8 ? this.#run.ledger : undefined
    const blocks = ledger?.owing(this.#settings.tolerance * this.#state.primals[0])
    if (ledger) this.#countSkipped(blocks)
    // Where every block is read here, once is enough for the line search.
    const leavesOut = blocks !== undefined && blocks.length < source.blockBytes.length
    const looks = look && !(await onAnyRank(this.#ranks, leavesOut))
    if (looks) this.#look.begin()
    const totals = noSums(objective.models)
    const groups = this.#groups(-1, blocks)
    let [looked, cutShort] = [0, false]
    // In the order of the source, whatever order the method took: the sums are the same bits for the same weights.
    for await (const group of source.pass(groups)) {
      this.#progress.certifying(this.#state, looked++ / groups.length)
      cutShort = this.#settings.signal?.aborted === true && reads(source)
      if (cutShort) break
      // Before the method looks: it may leave rows out of the group's table that it has elsewhere.
      if (looks) await this.#look.at(group)
      if (ledger) await ledger.evaluate(group)
      else addSums(totals, await objective.evaluate(threads, group))
    }
    if (await onAnyRank(this.#ranks, cutShort)) {
      this.#look.forget()
      return undefined
    }
    await this.#look.addOthers(this.#ranks)
    if (ledger) return [certificateOfAccount(await ledger.account(), source.all.rows)]
    await sumVectors(this.#ranks, objective.arena, [], totals)
    const lengths = objective.squaredLengths()
    return totals.map((sums, k) => certificateOf(sums, lengths[k], source.all.rows, this.#dual))
  }

  #nextPass(wanted: number[] | null): void {
    const state = this.#state
    state.pass++
    state.position = 0
    state.stockTaken = false
    state.losses = state.losses.map(() => 0)
    state.gaps = state.gaps.map(() => 0)
    delete state.known
    delete state.ready
    delete state.workBefore
    state.wanted = wanted
  }

  #groups(pass: number, wanted?: number[] | null): number[][] {
    return this.#source.groups(pass, this.#settings, wanted)
  }

  /** Memory that a checkpoint holds besides weights and dual variables. */
  get #stretches(): Stretch[] {
    return this.#run.saved?.stretches?.() ?? []
  }

  get #keepsRows(): boolean {
    return this.#stretches.length > 0
  }

  get #allBytes(): number {
    return sum(this.#source.blockBytes)
  }

  #countSkipped(wanted: number[] | null | undefined): void {
    if (!wanted) return
    const { blockBytes, counts } = this.#source
    counts.bytesSkipped += wanted.reduce((left, block) => left - blockBytes[block], this.#allBytes)
  }

  #checkpointDue(blockBytes: number): boolean {
    const { weightCount, weightBytes } = this.#objective
    const kept = sum(this.#stretches.map(({ bytes }) => bytes))
    // A run that finds its rows makes short passes.
    if (!this.#run.findsRows && weightCount * weightBytes + kept <= CHEAP_SHARE * blockBytes) return true
    return performance.now() - this.#lastCheckpoint >= this.#settings.checkpointSeconds * 1000
  }

  async #checkpoint(finished = false): Promise<void> {
    if (this.#torn || this.#run.saved?.isTorn?.()) return
    const kept = this.#stretches
    const forgets = finished && kept.length > 0
    this.#state.bytesRead = this.#source.counts.bytesRead
    this.#state.solver = forgets ? undefined : this.#run.saved?.state()
    await this.#keeper.save(this.#state, forgets || kept.length === 0 ? undefined : kept)
    this.#lastCheckpoint = performance.now()
  }

  /** Writes down how the run ended. One that reached its aim is seldom resumed, and then with another: the rows that it had
   *  in memory are not written for that, but read again. */
  async close(done: Solution[]): Promise<void> {
    this.#state.done = done
    await this.#checkpoint(done.every(({ exitReason }) => exitReason === 'converged'))
  }
}

function certificateOfAccount({ dual, certain, supportVectors, correct }: Account, rows: number): Certificate {
  const primal = dual + certain
  const trainingAccuracy = correct === null ? null : correct / rows
  return { primal, dual, gap: primal > 0 ? certain / primal : 0, supportVectors, trainingAccuracy }
}
