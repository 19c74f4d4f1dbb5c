// Models that go down side by side, one or many: every pass over the rows serves all that are not there yet. Each has vectors
// of its own and does what it would do alone, bit by bit.
import type { Stretch } from '../../block-store/checkpoint.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import { sumVectors } from '../../ranks/records.ts'
import { runLoops, runOverRows } from '../../threads/loop-task.ts'
import type { Certificate } from '../objectives/certificate.ts'
import type { EachObjective } from '../objectives/each.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import { type Ground, viewsAtATime } from '../objectives/primal-view.ts'
import { type RowGroup, type RowSource, reads } from '../sources/row-source.ts'
import type { WholePasses } from './descent.ts'
import type { PassEnd, Run, Saved, Seen, SolverSettings, Start, Steps } from './solver.ts'

type NewDescent = (objective: OneProblem, source: Ground, settings: SolverSettings) => WholePasses

/** How a method starts whose models go down this way. */
export function startDescents(newDescent: NewDescent) {
  const start: Start<OneProblem> = (objective, source, settings) =>
    new DescentsRun(source, [newDescent(objective, source, settings)], settings)
  const startEach: Start<EachObjective> = (objective, source, settings) => {
    const shared = new SharedRooms(source)
    objective.prepare(source)
    const descents = objective.members.map((member, k) => newDescent(member, shared.groundOf(k), settings))
    return new DescentsRun(source, descents, settings, objective, shared)
  }
  return { start, startEach, startAllClasses: start }
}

/** Rooms of many models over one source: each has its own, but for what a visit leaves free. */
class SharedRooms {
  readonly #source: RowSource
  /** Models that have rooms for a visit at the same time. */
  atATime = Number.POSITIVE_INFINITY

  constructor(source: RowSource) {
    this.#source = source
  }

  groundOf(model: number): Ground {
    const source = this.#source
    const { all, blockBytes } = source
    return {
      ...{ all, blockBytes },
      room: (name, bytes) => source.room(`${name}, model ${model + 1}`, bytes),
      spare: (name, bytes) => source.spare?.(`${name}, model ${model + 1}`, bytes),
      passing: (name, bytes) => {
        this.atATime = viewsAtATime(bytes)
        return source.room(`${name}, place ${(model % this.atATime) + 1}`, bytes)
      },
    }
  }

  /** Models that are visited together, by their numbers. */
  turnOf(model: number): number {
    return Math.floor(model / this.atATime)
  }
}

export class DescentsRun implements Run, Saved {
  readonly saved: Saved = this
  readonly #source: RowSource
  readonly #descents: WholePasses[]
  readonly #ranks: Communicator
  readonly #many: EachObjective | undefined
  readonly #shared: SharedRooms | undefined

  constructor(
    source: RowSource,
    descents: WholePasses[],
    { ranks = alone }: SolverSettings,
    many?: EachObjective,
    shared?: SharedRooms,
  ) {
    this.#source = source
    this.#ranks = ranks
    this.#descents = descents
    this.#many = many
    this.#shared = shared
  }

  /** Numbers of the models that are not done, those together that have room at the same time. */
  get #turns(): number[][] {
    const active = [...this.#descents.keys()].filter(k => this.#many?.active[k] ?? true)
    return [...Map.groupBy(active, k => this.#shared?.turnOf(k) ?? 0).values()]
  }

  async visit(group: RowGroup): Promise<Seen> {
    const { threads } = this.#source
    const folded = this.#many?.folded(group) ?? group
    const losses = this.#descents.map(() => 0)
    for (const turn of this.#turns) {
      const calls = turn.flatMap(k => this.#descents[k].calls(folded))
      await runOverRows(threads, group, calls)
      for (const k of turn) losses[k] = this.#descents[k].met()
      // All rows have been visited: the next turn may use the same rooms.
      if (!reads(this.#source)) await this.#close(turn)
    }
    return { losses, gaps: losses.map(() => 0) }
  }

  async endPass(target: number): Promise<PassEnd> {
    const active = this.#turns.flat()
    if (reads(this.#source)) await this.#close(active)
    for (const k of active) this.#descents[k].endPass(target)
    const certificates = this.#descents.map(({ certificate }) => certificate!)
    return {
      primals: certificates.map(({ primal }) => primal),
      gaps: certificates.map(({ primal, dual }) => primal - dual!),
      done: certificates.map(({ gap }) => gap! <= target),
    }
  }

  async #close(models: number[]): Promise<void> {
    const { threads, arena } = this.#source
    const descents = models.map(k => this.#descents[k])
    await Promise.all(descents.map(descent => runLoops(threads, descent.closing())))
    if (this.#ranks.size > 1) {
      const shared = descents.map(descent => descent.shared())
      const numbers = shared.flatMap(one => one.numbers)
      await sumVectors(
        this.#ranks,
        arena,
        shared.flatMap(one => one.vectors),
        numbers,
      )
    }
    await Promise.all(descents.map(descent => runLoops(threads, descent.settling())))
  }

  /** Of many models that which has come the least far. */
  steps(): Steps {
    const active = this.#turns.flat()
    const all = (active.length > 0 ? active : [0]).map(k => this.#descents[k].steps())
    return all.reduce((least, steps) => (steps.outer < least.outer ? steps : least))
  }

  certificates(): Certificate[] | undefined {
    const known = this.#descents.flatMap(({ certificate }) => certificate ?? [])
    return known.length === this.#descents.length ? known : undefined
  }

  state(): unknown {
    return this.#descents.map(descent => descent.state())
  }

  restore(state: unknown): void {
    for (const [k, own] of (state as unknown[]).entries()) this.#descents[k].restore(own)
  }

  stretches(): Stretch[] {
    return this.#descents.flatMap(descent => descent.stretches?.() ?? [])
  }
}
