// The last look at rows: the losses along the weights of models that did not get to their aim, which end by the best multiple of
// their weights.
import type { RunState } from '../../block-store/checkpoint.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import type { Certificate } from '../objectives/certificate.ts'
import { certificateAt, LossesAlong, type ModelAlong, penaltyOf } from '../objectives/line-search.ts'
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

/** Rows of each piece that tell where the best multiple is, and from how many rows on it is worth asking them. */
const SAMPLE_OF_PIECE = 256
const LEAST_ROWS = 16_384
/** Neighbours on both sides of the best multiple of a sample that are tried at first, and after that. */
const NEIGHBOURS = [2, 8]

/** What it needs to know of a run. */
type LookSettings = Pick<DriverSettings, 'ranks' | 'seed' | 'blockOrder'>

export class LastLook {
  readonly #objective: Objective
  readonly #source: RowSource
  readonly #settings: LookSettings
  #looks: LossesAlong[] = []

  constructor(objective: Objective, source: RowSource, settings: LookSettings) {
    this.#objective = objective
    this.#source = source
    this.#settings = settings
  }

  /** Whether no other rank has rows. */
  get #alone(): boolean {
    return (this.#settings.ranks ?? alone).size === 1
  }

  get hasSeenAll(): boolean {
    return this.#looks.length > 0 && this.#looks[0].rows >= this.#source.all.rows
  }

  forget(): void {
    this.#looks = []
  }

  begin(): void {
    this.#looks = this.#newLooks()
  }

  #newLooks(): LossesAlong[] {
    const looks = 1 + Math.max(...this.#objective.looks.map(({ look }) => look))
    return Array.from({ length: looks }, () => new LossesAlong())
  }

  /** Looks at the rows of a group. With `evaluates`, the sums of the certificate over them, where these came along with it. */
  async at(group: RowGroup, evaluates = false): Promise<Float64Array[] | undefined> {
    // What other ranks find is added at every multiple, and blocks are not read again.
    if (!this.#alone || !group.whole || group.rows < LEAST_ROWS) {
      await this.#lookAlong(group, this.#looks)
      return undefined
    }
    const { sums, isCertain } = await this.#tryFew(group, evaluates)
    if (!isCertain) await this.#lookAlong(group, this.#looks)
    return sums
  }

  #lookAlong(group: RowGroup, looks: LossesAlong[], most = group.rows): Promise<void> {
    return this.#objective.lookAlong(this.#source.threads, group, looks, most)
  }

  /** Looks at all rows at the multiples around the best ones of a sample; whether these are certain to hold the best ones. */
  async #tryFew(
    group: RowGroup,
    evaluates: boolean,
  ): Promise<{ sums: Float64Array[] | undefined; isCertain: boolean }> {
    const { threads } = this.#source
    let looks = this.#newLooks()
    await this.#lookAlong(group, looks, SAMPLE_OF_PIECE)
    let sums: Float64Array[] | undefined
    for (const neighbours of NEIGHBOURS) {
      looks = looks.map((found, look) => found.around(this.#modelsOf(look), neighbours))
      const both = evaluates && !sums ? await this.#objective.evaluateAlong?.(threads, group, looks) : undefined
      if (!both) await this.#lookAlong(group, looks)
      sums ??= both
      if (!looks.every((found, look) => found.isCertain(this.#modelsOf(look)))) continue
      this.#looks = looks
      return { sums, isCertain: true }
    }
    return { sums, isCertain: false }
  }

  /** The models of a look. */
  #modelsOf(wanted: number): ModelAlong[] {
    const { rows: all } = this.#source.all
    const penalties = this.#penalties()
    return this.#objective.looks.flatMap(({ look, lane }, k) =>
      look === wanted ? [{ lane, penalty: penalties[k], all }] : [],
    )
  }

  #penalties(): ((t: number) => number)[] {
    return this.#objective.penalties?.() ?? this.#objective.squaredLengths().map(penaltyOf)
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

  /** Methods that know no tolerance, and the paper's rule, end where they meant to. Their weights stay as they are, unless w = 0 is
   *  better; so do those of methods that go down on the primal. */
  solutions(
    known: (Solution | null)[],
    certificates: Certificate[] | undefined,
    { exitReason, passes, tolerance, dual }: End,
  ): Solution[] {
    const { rows: all } = this.#source.all
    const onlyIfWorse = !dual || exitReason === 'converged'
    const penalties = this.#penalties()
    const places = this.#objective.looks
    return known.map((solution, k): Solution => {
      if (solution) return solution
      const certificate = certificates?.[k]
      const { look, lane } = places[k]
      const { primal, ...short } = this.#looks[look].best({ lane, penalty: penalties[k], all, onlyIfWorse })
      // A method without dual variables may have a gap all the same, and have fallen short of its tolerance.
      const meant = exitReason === 'converged' || (!dual && certificate?.gap === null)
      if (meant && short.factor === 1 && certificate) return { certificate, passes, exitReason }
      // A sample tells which multiple is better, not what its objective is.
      const exact = short.factor === 1 || this.#looks[look].rows >= all ? certificate : undefined
      const found = exact && certificateAt(exact, { ...short, primal })
      const close = found !== undefined && found.gap !== null && found.gap <= tolerance
      return { certificate: found, passes, exitReason: close ? 'converged' : exitReason, short }
    })
  }
}
