// The driver: asks a method to visit group after group of rows, keeps checkpoints, asks the certificate for the truth, and
// decides when to stop. Rows in memory are a source of one group; one model and many, all of them go through here.
import type { RunState } from '../../block-store/checkpoint.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import { sumVectors } from '../../ranks/records.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { Certificate } from '../objectives/certificate.ts'
import type { Objective } from '../objectives/objective.ts'
import type { ExitReason, Solution } from '../objectives/solution.ts'
import type { FirstPass } from '../solvers/first-pass.ts'
import { type Run, type Seen, startRun } from '../solvers/solver.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import { countSkipped, type RowGroup, type RowSource } from '../sources/row-source.ts'
import { type Certified, certify } from './certify.ts'
import { type DriverSettings, type Driving, freshState, isSpent, nowhere, passesOf } from './driving.ts'
import { LastLook } from './last-look.ts'
import { PassEnd } from './pass-end.ts'
import { Progress, sum } from './progress.ts'
import { RunCheckpoints } from './run-checkpoints.ts'

/** A certificate that did not confirm an estimate makes the next one count for less: by as much as this one fell short of the truth
 *  and a little more, but by no more than DOUBT, for the next one may be nearer to it. */
const DOUBT = 0.7
const A_LITTLE_MORE = 0.98

export class Driver {
  readonly #source: RowSource
  readonly #dual: boolean
  readonly #objective: Objective
  readonly #settings: DriverSettings
  readonly #ranks: Communicator
  readonly #run: Run
  readonly #progress: Progress
  readonly #checkpoints: RunCheckpoints
  readonly #passEnd: PassEnd
  readonly #look: LastLook
  readonly #certified: Certified
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
    this.#ranks = settings.ranks ?? alone
    this.#state = state
    this.#stalls = driving.stalls
    const { series } = driving
    const before = series?.before ? series.before.#run : undefined
    // A method that goes on with the next problem keeps its rows in memory.
    this.#run = before?.nextProblem ? before : startRun(solver, objective, source, settings)
    if (series) this.#run.nextProblem?.(series.anchored)
    const run = this.#run
    const progress = new Progress(driving, run)
    const checkpoints = new RunCheckpoints({ source, objective, run, settings, keeper, dual: solver.dual })
    const look = new LastLook(objective, source, settings)
    this.#progress = progress
    this.#checkpoints = checkpoints
    this.#look = look
    this.#certified = { source, objective, run, settings, progress, look, dual: solver.dual }
    this.#passEnd = new PassEnd({ source, run, settings, progress, checkpoints })
  }

  /** Where the run stands. */
  get state(): Readonly<RunState> {
    return this.#state
  }

  /** Goes on from a checkpoint. */
  async restore(state: RunState): Promise<void> {
    this.#state = state
    const { saved } = this.#run
    if (this.#checkpoints.keepsRows && state.solver === undefined) {
      // Nothing is in memory, and nothing is known of any block, but dual variables and weights stand.
      this.#nextPass(null)
      // What a method knew of models that were done is gone, too: it looks at them again.
      if (this.#run.endPass) {
        state.resting = state.resting.map(() => false)
        state.solutions = state.solutions.map(() => null)
      }
    } else if (saved) {
      saved.restore(state.solver)
      if (this.#checkpoints.keepsRows) await this.#checkpoints.loadMemory()
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
    this.#checkpoints.touchAll()
    await this.#checkpoints.write(state)
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
      if (await this.#passEnd.isCheckpointDue()) await this.#checkpoints.write(this.#state)
      const done = await this.#decide()
      if (done) return done
      if (this.#hasStalled()) return this.#leave()
      await this.#settings.watcher?.passEnd(this.#objective)
      this.#run.nextPass?.()
      this.#nextPass(this.#run.ledger?.owing(this.#settings.tolerance * this.#state.primals[0]) ?? null)
    }
  }

  /** Visits what is left of a pass, and has ranks meet at its end; whether groups were left out. */
  async #makePass(): Promise<boolean> {
    const state = this.#state
    if (this.#ranks.size === 1) {
      const { work } = state
      const cutShort = await this.#passEnd.meet(state, await this.#visitAll(), work)
      if (cutShort) await this.#checkpoints.write(state)
      return cutShort
    }
    // A run that is resumed where ranks had met does not have them meet again.
    if (state.stockTaken) return false
    state.workBefore ??= state.work
    return this.#passEnd.meet(state, await this.#visitAll(), state.workBefore)
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
    const { signal } = this.#settings
    const state = this.#state
    // What was learnt while text was read may be all the passes there are.
    const groups = isSpent(state, this.#settings)
      ? []
      : this.#run.findsRows
        ? [[]]
        : this.#groups(state.pass, state.wanted)
    if (state.position === 0 && groups.length > 0) countSkipped(this.#source, state.wanted)
    for await (const group of this.#source.pass(groups, state.position)) {
      const seen = await this.#run.visit(group, this.#turn())
      state.position++
      this.#note(seen, group)
      this.#checkpoints.touch(group)
      this.#progress.tell(state, state.position / groups.length)
      if (signal?.aborted) break
      // Ranks are at different groups: their checkpoints are those of the ends of passes.
      const isDue =
        state.position < groups.length && this.#ranks.size === 1 && this.#checkpoints.isDue(group.packedBytes)
      if (isDue) await this.#checkpoints.write(state)
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
    const { tolerance, gradientTolerance } = this.#settings
    const state = this.#state
    const last = isSpent(state, this.#settings)
    const stopped = this.#passEnd.interrupted
    if (!this.#ready() && !last && !stopped) return undefined
    const certificates = await certify(this.#certified, this.#state, last)
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
    state.optimism = state.optimism.map((share, k) => (reached[k] ? share : this.#doubted(k, certificates[k])))
    state.primals = certificates.map(({ primal }) => primal)
    state.resting = reached
    const ends = certificates.map((certificate, k) => ({ certificate, done: done[k] }))
    this.#progress.certified(ends, passes)
    this.#objective.activate?.(done.map(is => !is))
    this.#run.notYet?.(done)
    return undefined
  }

  /** How much of an estimate counts from now on, of a model whose certificate did not confirm it. */
  #doubted(model: number, { primal, gap }: Certificate): number {
    const { optimism, gaps } = this.#state
    const share = optimism[model]
    if (gap === null) return share * DOUBT
    const truth = gaps[model] / (gap * primal)
    if (this.#run.isInProportion?.()) return Math.min(share, truth)
    return Math.min(share, Math.max(share * DOUBT, truth * A_LITTLE_MORE))
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
    if (!this.#look.hasSeenAll) await this.#look.atRows(this.#state, exitReason === 'interrupted')
    const { tolerance } = this.#settings
    return this.#look.solutions(known, certificates, {
      exitReason,
      tolerance,
      passes: this.#passes(),
      dual: this.#dual,
    })
  }

  #passes(): number {
    return passesOf(this.#state, this.#settings)
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

  /** Writes down how the run ended. One that reached its aim is seldom resumed, and then with another: the rows that it had
   *  in memory are not written for that, but read again. */
  async close(done: Solution[]): Promise<void> {
    this.#state.done = done
    await this.#checkpoints.write(
      this.#state,
      done.every(({ exitReason }) => exitReason === 'converged'),
    )
  }
}
