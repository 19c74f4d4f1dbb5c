// The last look at rows: the losses along the weights of models that did not get to their aim, which end by the best multiple of
// their weights.
import type { Communicator } from '../../ranks/communicator.ts'
import type { Certificate } from '../objectives/certificate.ts'
import { certificateAt, LossesAlong, penaltyOf } from '../objectives/line-search.ts'
import type { Objective } from '../objectives/objective.ts'
import type { ExitReason, Solution } from '../objectives/solution.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'

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
  #looks: LossesAlong[] = []

  constructor(objective: Objective, source: RowSource) {
    this.#objective = objective
    this.#source = source
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
