// The last look at rows: the losses along the weights of models that did not get to their aim, which end by the best multiple of
// their weights.
import type { RunState } from '../../block-store/checkpoint.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import type { Certificate } from '../objectives/certificate.ts'
import { certificateAt, LossesAlong, penaltyOf } from '../objectives/line-search.ts'
import type { Objective } from '../objectives/objective.ts'
import type { ExitReason, Solution } from '../objectives/solution.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import type { DriverSettings } from './driving.ts'

/** After an interrupt, rows are looked at for so long: all of a small store, a sample of a large one. */
const BRIEF_SECONDS = 2

/** How a run ended. */
interface End {
  exitReason: ExitReason
  passes: number
  tolerance: number
  /** Whether its method moves dual variables. */
  dual: boolean
}

export class LastLook {
  readonly #objective: Objective
  readonly #source: RowSource
  readonly #settings: DriverSettings
  #looks: LossesAlong[] = []

  constructor(objective: Objective, source: RowSource, settings: DriverSettings) {
    this.#objective = objective
    this.#source = source
    this.#settings = settings
  }

  get hasSeenAll(): boolean {
    return this.#looks.length > 0 && this.#looks[0].rows >= this.#source.all.rows
  }

  forget(): void {
    this.#looks = []
  }

  begin(): void {
    const looks = 1 + Math.max(...this.#objective.looks.map(({ look }) => look))
    this.#looks = Array.from({ length: looks }, () => new LossesAlong())
  }

  async at(group: RowGroup): Promise<void> {
    await this.#objective.lookAlong(this.#source.threads, group, this.#looks)
  }

  /** Sums losses along the weights over all rows; after an interrupt over as many as a short time allows, those first that
   *  would have been next. Blocks are drawn at random, so some stand for all. */
  async atRows({ pass, position, wanted }: RunState, briefly: boolean): Promise<void> {
    const began = performance.now()
    this.begin()
    const groups = this.#source.groups(briefly ? pass : -1, this.#settings)
    const next = briefly && !wanted ? position % Math.max(groups.length, 1) : 0
    for await (const group of this.#source.pass([...groups.slice(next), ...groups.slice(0, next)])) {
      await this.at(group)
      if (briefly && performance.now() - began > BRIEF_SECONDS * 1000) break
    }
    await this.addOthers(this.#settings.ranks ?? alone)
  }

  /** What the rows of all ranks showed. */
  async addOthers(ranks: Communicator): Promise<void> {
    for (const look of this.#looks) await look.addOthers(ranks)
  }

  /** Methods that know no tolerance, and the paper's rule, end where they meant to: their weights stay as they are, unless w = 0 is
   *  better. */
  solutions(
    known: (Solution | null)[],
    certificates: Certificate[] | undefined,
    { exitReason, passes, tolerance, dual }: End,
  ): Solution[] {
    const { rows: all } = this.#source.all
    const onlyIfWorse = !dual || exitReason === 'converged'
    const penalties = this.#objective.penalties?.() ?? this.#objective.squaredLengths().map(penaltyOf)
    const places = this.#objective.looks
    return known.map((solution, k): Solution => {
      if (solution) return solution
      const certificate = certificates?.[k]
      const { look, lane } = places[k]
      const { primal, ...short } = this.#looks[look].best(lane, penalties[k], { all, onlyIfWorse })
      if (onlyIfWorse && short.factor === 1 && certificate) return { certificate, passes, exitReason }
      // A sample tells which multiple is better, not what its objective is.
      const exact = short.factor === 1 || this.#looks[look].rows >= all ? certificate : undefined
      const found = exact && certificateAt(exact, { ...short, primal })
      const close = found !== undefined && found.gap !== null && found.gap <= tolerance
      return { certificate: found, passes, exitReason: close ? 'converged' : exitReason, short }
    })
  }
}
