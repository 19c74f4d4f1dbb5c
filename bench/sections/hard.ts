// Every problem that the data sets make, with the solver that auto takes: to a gap of 1e-3, beside the fastest of LIBLINEAR's
// solvers for the same problem. A run that stops short is judged by its advice, which is followed.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { evaluateFiles, type LossName, lossNames } from '../evaluator.ts'
import { CommandFailed, type MeasureOptions, makeCold, warm } from '../measure.ts'
import { liblinear } from '../peers/liblinear.ts'
import type { TrainRun } from '../peers/peer.ts'
import { type SpillwayTrainRequest, spillway } from '../peers/spillway.ts'
import { reachedOf, rowBefore } from '../results.ts'
import { type Contestant, interleave, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { memoryHolding } from './memory-words.ts'

const GAP = 1e-3
const MOST = 3
const COSTS = [0.01, 1, 100]
const FIFTH = 0.2
/** LIBLINEAR's solvers for a loss: dual ones, and those that work on the primal. */
const DUAL: Record<LossName, number> = { hinge: 3, 'squared-hinge': 1, logistic: 7 }
const PRIMAL: Partial<Record<LossName, number>> = { 'squared-hinge': 2, logistic: 0 }
/** Their -e, from the default on; the first that comes within GAP counts. */
const EPSILONS = { dual: [0.1, 0.01, 0.001], primal: [0.01, 0.001, 1e-4, 1e-5, 1e-6] }
/** Seconds after which a run is given up. LIBLINEAR needs no more than Spillway takes: what is slower is not the fastest. */
const PATIENCE = { spillway: 900, least: 20, times: 2, reference: 60 }
/** In place of a memory: no --memory is given. */
const PLENTY = 'plenty'
/** What the best objective is looked for with, untimed. */
const CLOSE = 1e-6

/** One table for all data sets. The section grows: it comes again after each problem, so that a run that breaks off leaves what
 *  it has, and one that goes on begins there. */
export async function* hardSection(context: SuiteContext, names: string[]): AsyncGenerator<Section> {
  const table: Table = { columns, rows: [] }
  const section = emptySection(context, table)
  const withPeer = await peersThere(context)
  if (withPeer === undefined) {
    yield section
    return
  }
  for await (const data of context.data(names)) {
    const problems = problemsOf(context, data.name)
    // Of a set that is done, no memory is looked for.
    const isKnown = problems.every(problem => knownProblem(context.before, problem))
    if (!isKnown) await warm(data.file)
    const memory = context.fifth && !isKnown ? await fifthOf(context, data).catch(error => ({ error })) : PLENTY
    if (typeof memory === 'object') {
      context.skip(`hard, ${data.name}, a fifth of the memory`, memory.error)
      continue
    }
    for (const problem of problems) {
      const done = knownProblem(context.before, problem) ?? (await runProblem(context, data, problem, memory, withPeer))
      if (!done) continue
      table.rows.push(done.row)
      section.details.push(done.details)
      section.notes = [`reached: ${reachedOf(table.rows, 'reached')}.`]
      yield section
    }
  }
  yield section
}

function emptySection(context: SuiteContext, table: Table): Section {
  const most = context.seconds ?? PATIENCE.spillway
  return {
    name: 'hard',
    title: 'Every data set, loss and cost',
    goal: `a relative gap of ${GAP} in at most ${MOST} times the time of LIBLINEAR's fastest solver for the same problem, or advice that, when followed, does.`,
    protocol: [
      `\`spillway train --tolerance ${GAP}\` with no solver named, whole processes, from text${context.fifth ? ', with --memory for a fifth of the decoded rows, or the least that is accepted' : ''}; no bias.`,
      `LIBLINEAR: -s 3, or 1 and 2, or 0 and 7, each with the loosest -e of ${EPSILONS.dual.join(', ')} (dual) or ${EPSILONS.primal.join(', ')} (primal) that comes within ${GAP}, with all the memory; given up after ${PATIENCE.times} times as long as Spillway, and at least ${PATIENCE.least} s.`,
      `No run takes more than ${most} s: "> N s" is one that was stopped after N seconds. A stopped run of LIBLINEAR decides nothing where Spillway took more than ${MOST} times as long.`,
      `Gaps are (P − P*) / P*, where the evaluator computes P, and P* is the least objective of all models of that problem, among them one of Spillway to ${CLOSE}, which has ${PATIENCE.reference} s. How well P* is known is what Spillway certifies of that. A run of LIBLINEAR that reached its limit of steps does not count.`,
      'Advice is followed one by one, in the order in which it is printed; "followed" is the time of the first that ends with the gap asked for.',
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
}

/** Whether LIBLINEAR is there; undefined where there is nothing to measure. */
async function peersThere(context: SuiteContext): Promise<boolean | undefined> {
  if (!(await spillway.version())) {
    context.skip('hard', `not measured: ${spillway.howToInstall}`)
    return undefined
  }
  const withPeer = (await liblinear.version()) !== undefined
  if (!withPeer) context.skip('hard, LIBLINEAR', `not measured: ${liblinear.howToInstall}`)
  return withPeer
}

interface Problem {
  data: string
  loss: LossName
  cost: number
}

interface Done {
  row: Record<string, Cell>
  details: unknown
}

function problemsOf({ losses = lossNames, costs = COSTS }: SuiteContext, data: string): Problem[] {
  return losses.flatMap(loss => costs.map(cost => ({ data, loss, cost })))
}

/** What a run that broke off has measured of a problem. */
export function knownProblem(before: Section[], problem: Problem): Done | undefined {
  const row = rowBefore(before, { ...problem })
  if (!row) return undefined
  const { data, loss, cost } = problem
  const details = before.flatMap(section => section.details as Partial<Problem>[])
  return { row, details: details.find(each => each.data === data && each.loss === loss && each.cost === cost) }
}

async function runProblem(
  context: SuiteContext,
  data: PreparedData,
  { loss, cost }: Problem,
  memory: string,
  withPeer: boolean,
): Promise<Done | undefined> {
  const problem = new HardProblem(context, data, loss, cost, memory)
  try {
    return await problem.run(withPeer)
  } catch (error) {
    context.skip(`hard, ${data.name}, ${loss}, C = ${cost}`, error)
    return undefined
  } finally {
    await problem.end()
  }
}

const columns = {
  data: { title: 'data' },
  loss: { title: 'loss' },
  cost: { title: 'C' },
  memory: { title: '--memory' },
  solver: { title: 'solver' },
  passes: { title: 'passes', show: 'count' },
  seconds: { title: 'Spillway s', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  gap: { title: 'gap', show: 'difference' },
  peer: { title: 'LIBLINEAR' },
  peerSeconds: { title: 's', show: 'seconds' },
  peerGap: { title: 'gap', show: 'difference' },
  ratio: { title: 'Spillway / LIBLINEAR', show: 'ratio' },
  known: { title: 'P* known to', show: 'difference' },
  advice: { title: 'advice' },
  followed: { title: 'followed, s', show: 'seconds' },
  reached: { title: `reached: ≤ ${MOST}?` },
} as const

/** A run of LIBLINEAR, with what the evaluator says of it. */
interface PeerRun {
  name: string
  solver: number
  epsilon: number
  seconds: number
  primal: number
  /** It stopped because of its limit of steps, so that it does not claim to be there. */
  reachedLimit: boolean
}

class HardProblem {
  readonly #context: SuiteContext
  readonly #data: PreparedData
  readonly #loss: LossName
  readonly #cost: number
  readonly #memory: string
  /** The least objective so far. */
  #best = Number.POSITIVE_INFINITY
  readonly #model: string
  readonly #store: string

  constructor(context: SuiteContext, data: PreparedData, loss: LossName, cost: number, memory: string) {
    this.#context = context
    this.#data = data
    this.#loss = loss
    this.#cost = cost
    this.#memory = memory
    this.#model = join(context.workFolder, 'hard.model')
    this.#store = join(context.workFolder, 'hard.spill')
  }

  /** Seconds that a run has at most. */
  get #most(): number {
    return this.#context.seconds ?? PATIENCE.spillway
  }

  async run(withPeer: boolean): Promise<Done> {
    const { say, rounds } = this.#context
    const problem = { data: this.#data.name, loss: this.#loss, cost: this.#cost }
    say(`hard ${this.#data.name}, ${this.#loss}, C = ${this.#cost}`)
    const first = await this.#spillway({}, { timeout: this.#most }).catch(error => {
      if (isStopped(error)) return undefined
      throw error
    })
    if (!first) {
      say(`Spillway: > ${this.#most} s`)
      const row = { ...problem, memory: this.#memory, seconds: `> ${this.#most} s`, reached: false }
      return { row, details: { ...problem, memory: this.#memory, stoppedAfter: this.#most } }
    }
    say(`Spillway: ${first.seconds.toFixed(3)} s, ${first.told?.['exitReason']}`)
    const primal = await this.#judge(await spillway.asLiblinear(this.#model))
    const converged = first.told?.['exitReason'] === 'converged'
    const known = Math.min(await this.#lookCloser(), Number(first.told?.['gap']))
    const { runs: peers, stopped } = withPeer ? await this.#peers(first.seconds) : { runs: [] }
    const fastest = peers
      .filter(run => !run.reachedLimit && this.#gapOf(run.primal) <= GAP)
      .reduce<PeerRun | undefined>((best, run) => (best && best.seconds <= run.seconds ? best : run), undefined)
    const contestants: Contestant[] = [
      { name: 'Spillway', run: () => this.#spillway({}) },
      ...(fastest ? [{ name: fastest.name, run: () => this.#liblinear(fastest.solver, fastest.epsilon) }] : []),
    ]
    const more = await interleave(contestants, rounds - 1, say)
    const timing = timingOf([first, ...more.get('Spillway')!])
    const peerSeconds = fastest && Math.min(fastest.seconds, ...more.get(fastest.name)!.map(run => run.seconds))
    const advice = converged ? [] : adviceOf(first.told)
    const followed = converged ? undefined : await this.#follow(advice)
    const counts = converged ? timing.seconds : followed?.seconds
    const fastEnough = isFastEnough(counts, peerSeconds, stopped?.seconds)
    const gap = this.#gapOf(primal)
    const isThere = counts !== undefined && (!converged || gap <= GAP)
    const row: Record<string, Cell> = {
      ...problem,
      ...{ memory: this.#memory, seconds: timing.seconds, spread: timing.spread, gap },
      ...{ solver: String(first.told?.['solver']), passes: Number(first.told?.['passes']) },
      peer: fastest?.name ?? stopped?.name ?? (withPeer ? 'does not get there' : undefined),
      peerSeconds: peerSeconds ?? (stopped && `> ${stopped.seconds} s`),
      peerGap: fastest && this.#gapOf(fastest.primal),
      ratio: peerSeconds && timing.seconds / peerSeconds,
      advice: converged ? undefined : advice.map(each => `\`${each}\``).join(', ') || 'none',
      known: Number.isFinite(known) ? known : 'not',
      followed: followed?.seconds,
      reached: isThere ? fastEnough : false,
    }
    const { told } = first
    const details = { ...problem, memory: this.#memory, best: this.#best, timing, told, peers, stopped, followed }
    return { row, details }
  }

  /** Models to a closer gap, if that does not take too long: they are only there to know the optimum. Returns the gap. */
  async #lookCloser(): Promise<number> {
    const gaps = [Number.POSITIVE_INFINITY]
    // A loss with a second derivative has a method that does not stall.
    for (const solver of PRIMAL[this.#loss] === undefined ? ['auto'] : ['newton', 'auto']) {
      try {
        const request = { stop: CLOSE, words: ['--solver', solver], maxPasses: undefined }
        // One that takes too long is asked to end, and what it has counts.
        const limits = { interruptAfter: PATIENCE.reference, timeout: 2 * PATIENCE.reference }
        const run = await this.#spillway(request, limits, PLENTY)
        await this.#judge(await spillway.asLiblinear(this.#model))
        const gap = run.told?.['gap']
        if (typeof gap === 'number') gaps.push(Math.max(0, gap))
        if (run.told?.['exitReason'] === 'converged') break
      } catch (error) {
        if (!(error instanceof CommandFailed)) throw error
      }
    }
    return Math.min(...gaps)
  }

  /** Each of LIBLINEAR's solvers, down its ladder until it is close enough; and the last run that was stopped. */
  async #peers(seconds: number): Promise<{ runs: PeerRun[]; stopped?: { name: string; seconds: number } }> {
    const runs: PeerRun[] = []
    const timeout = Math.min(this.#most, Math.ceil(Math.max(PATIENCE.least, PATIENCE.times * seconds)))
    let stopped: { name: string; seconds: number } | undefined
    for (const kind of ['dual', 'primal'] as const) {
      const solver = kind === 'dual' ? DUAL[this.#loss] : PRIMAL[this.#loss]
      if (solver === undefined) continue
      for (const epsilon of EPSILONS[kind]) {
        const name = `-s ${solver} -e ${epsilon}`
        try {
          const run = await this.#liblinear(solver, epsilon, { timeout })
          const primal = await this.#judge(run.modelFile)
          const reachedLimit = run.told?.['reachedLimit'] === true
          runs.push({ name, solver, epsilon, seconds: run.seconds, primal, reachedLimit })
          this.#context.say(`${name}: ${run.seconds.toFixed(3)} s, gap ${this.#gapOf(primal).toExponential(1)}`)
          if (reachedLimit || this.#gapOf(primal) <= GAP) break
        } catch (error) {
          if (!(error instanceof CommandFailed)) throw error
          if (isStopped(error)) stopped = { name, seconds: timeout }
          this.#context.say(`${name}: ${error.message}`)
          break
        }
      }
    }
    return { runs, stopped }
  }

  /** The first piece of advice that ends with the gap asked for. */
  async #follow(advice: string[]): Promise<{ words: string; seconds: number } | undefined> {
    for (const words of advice) {
      try {
        const run = await this.#spillway({ words: words.split(' ') }, { timeout: this.#most })
        if (run.told?.['exitReason'] === 'converged') return { words, seconds: run.seconds }
      } catch (error) {
        if (!(error instanceof CommandFailed)) throw error
      }
    }
    return undefined
  }

  async #spillway(
    request: Partial<SpillwayTrainRequest>,
    options: MeasureOptions = {},
    memory = this.#memory,
  ): Promise<TrainRun> {
    await rm(this.#store, { recursive: true, force: true })
    const { cold, limit } = this.#context
    if (cold) await makeCold(this.#data.file)
    const within = memory !== PLENTY ? ['--memory', memory, '--store', this.#store] : []
    const problem = { loss: this.#loss, cost: this.#cost, stop: GAP, model: this.#model, maxPasses: 'its own' as const }
    const words = [...within, ...(request.words ?? [])]
    return spillway.train(this.#data.file, { ...problem, ...request, words }, { limit, ...options })
  }

  async #liblinear(solver: number, epsilon: number, options: MeasureOptions = {}): Promise<TrainRun> {
    const { cold, limit } = this.#context
    if (cold) await makeCold(this.#data.file)
    const request = { loss: this.#loss, cost: this.#cost, solver, stop: epsilon, model: `${this.#model}.peer` }
    return liblinear.train(this.#data.file, request, { limit, ...options })
  }

  async #judge(model: string): Promise<number> {
    const [{ primal }] = await evaluateFiles(this.#data.file, [model], { loss: this.#loss, cost: this.#cost })
    this.#best = Math.min(this.#best, primal)
    return primal
  }

  #gapOf(primal: number): number {
    return (primal - this.#best) / this.#best
  }

  async end(): Promise<void> {
    for (const file of [this.#model, `${this.#model}.liblinear`, `${this.#model}.peer`]) await rm(file, { force: true })
    await rm(this.#store, { recursive: true, force: true })
  }
}

const isStopped = (error: unknown): boolean =>
  error instanceof CommandFailed && error.message.startsWith('stopped after')

/** Whether a time is at most MOST times that of LIBLINEAR; undefined where that was stopped too early to tell. */
export function isFastEnough(own: number | undefined, peer: number | undefined, stopped?: number): boolean | undefined {
  if (own === undefined) return false
  if (peer !== undefined) return own <= MOST * peer
  return stopped === undefined || own <= MOST * stopped ? true : undefined
}

/** What a run that ends short says one could type: for the same problem first, then for another one. */
export function adviceOf(told: Record<string, unknown> | undefined): string[] {
  const shortfall = told?.['shortfall'] as { advice?: string[]; otherwise?: string[] } | undefined
  return [...(shortfall?.advice ?? []), ...(shortfall?.otherwise ?? [])]
}

/** The memory whose plan holds a fifth of the rows, or the least that is accepted. */
async function fifthOf({ workFolder, say }: SuiteContext, data: PreparedData): Promise<string> {
  const [model, store] = [join(workFolder, 'fifth.model'), join(workFolder, 'fifth.spill')]
  const request = { loss: 'hinge' as const, cost: 1, model, maxPasses: 1, talk: true }
  try {
    const memory = await memoryHolding(FIFTH, async each => {
      await rm(store, { recursive: true, force: true })
      return spillway.train(data.file, { ...request, words: ['--memory', each, '--store', store] })
    })
    say(`a fifth of ${data.name}: --memory ${memory}`)
    return memory
  } finally {
    await rm(store, { recursive: true, force: true })
    await rm(model, { force: true })
  }
}
