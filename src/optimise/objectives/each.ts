// Many binary models over the same rows: classes, folds and costs, each with weights of its own and no dual variables. Methods
// that look at all rows before they move share passes among them.
import type { Arena } from '../../numeric/arena.ts'
import { runLoop } from '../../threads/loop-task.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import { type RowGroup, type RowSource, reads } from '../sources/row-source.ts'
import { BinaryObjective } from './binary.ts'
import type { BundledProblem } from './bundle.ts'
import type { BundlesPlaces } from './bundles.ts'
import { roomForSums } from './certificate.ts'
import { type LossesAlong, roomForLook } from './line-search.ts'
import { allocatePlaces, type ManyModels } from './objective.ts'

export class EachObjective implements ManyModels {
  readonly arena: Arena
  readonly weights: number
  readonly weightCount: number
  readonly weightBytes = 8
  readonly alpha = 0
  readonly alphaStride = 0
  problems: BundledProblem[] = []
  members: BinaryObjective[] = []
  /** Which models are trained. */
  active: boolean[] = []
  #places: BundlesPlaces
  /** Rooms that the models have in common: one after the other they are looked at. */
  readonly #sums: number
  readonly #look: number
  /** Room for the folds of a group, where rows come in groups. */
  #groupFolds = 0

  /** `most`: of the models that there will be, when others follow these. */
  constructor(arena: Arena, places: BundlesPlaces, problems: BundledProblem[], most = problems.length) {
    this.arena = arena
    this.#places = places
    this.weightCount = (places.weights + 1) * most
    this.weights = allocatePlaces(arena, this, places.rows).weights
    this.#sums = roomForSums(arena)
    this.#look = roomForLook(arena)
    this.#place(problems)
  }

  /** Everything back to zero, for other models over the same rows. */
  startOver(problems: BundledProblem[], folds = this.#places.folds): void {
    this.#places = { ...this.#places, folds }
    this.arena.bytes(this.weights, this.weightCount * 8).fill(0)
    this.#place(problems)
  }

  #place(problems: BundledProblem[]): void {
    const { rows, weights: features } = this.#places
    this.problems = problems
    this.members = problems.map((problem, k) => {
      const at = { weights: this.weights + k * (features + 1) * 8, sums: this.#sums, look: this.#look }
      return new BinaryObjective(this.arena, { rows, weights: features }, problem, { dual: false, at })
    })
    this.active = problems.map(() => true)
  }

  get models(): number {
    return this.members.length
  }

  activate(models: boolean[]): void {
    this.active = [...models]
  }

  rescale(problems: BundledProblem[]): void {
    // The weights are where the next models start, as they are.
    this.#place(problems)
  }

  /** Makes room for what rows that come in groups need besides. */
  prepare(source: RowSource): void {
    if (this.#places.folds && reads(source)) this.#groupFolds = source.room('folds of a group', source.rows, false)
  }

  /** A group whose rows know their folds. */
  folded(group: RowGroup): RowGroup {
    const { folds: all } = this.#places
    if (all === 0) return group
    if (group.whole) return { ...group, folds: all }
    let to = this.#groupFolds
    for (const { rows, firstRow } of group.parts) {
      this.arena.bytes(to, rows).set(this.arena.bytes(all + firstRow, rows))
      to += rows
    }
    return { ...group, folds: this.#groupFolds }
  }

  squaredLengths(): number[] {
    return this.members.flatMap(member => member.squaredLengths())
  }

  async evaluate(threads: ThreadPool, group: RowGroup): Promise<Float64Array[]> {
    const sums: Float64Array[] = []
    for (const member of this.members) sums.push(...(await member.evaluate(threads, this.folded(group))))
    return sums
  }

  get looks(): { look: number; lane: number }[] {
    return this.members.map((_, look) => ({ look, lane: 0 }))
  }

  async lookAlong(threads: ThreadPool, group: RowGroup, looks: LossesAlong[], most: number): Promise<void> {
    const folded = this.folded(group)
    for (const [k, member] of this.members.entries()) await member.lookAlong(threads, folded, [looks[k]], most)
  }

  async score(threads: ThreadPool, group: RowGroup, scores: number): Promise<void> {
    const folded = this.folded(group)
    for (const [k, { heldOut, column = 0 }] of this.problems.entries()) {
      if (heldOut === undefined) continue
      const problem = this.members[k].of(folded)
      let before = 0
      for (const { rows, firstRow } of group.parts) {
        // The rows of a part stand together in a column, too.
        const first = scores + (column * this.#places.rows + firstRow - before) * 4
        await runLoop(threads, 'scoreHeldOutRows', problem, before, before + rows, first)
        before += rows
      }
    }
  }

  copyWeights(model: number): Float64Array {
    return this.members[model].copyWeights()
  }

  setWeights(model: number, own: Float64Array): void {
    this.members[model].weightsInPlace().set(own)
  }
}
