// Many binary models over the same rows: classes, folds and costs, in bundles of up to eight. All models of a row have their
// dual variables side by side; each bundle has weights of its own. See bundle.ts.
import type { Arena } from '../../numeric/arena.ts'
import { BUNDLE_LANES } from '../../numeric/bundle-layout.ts'
import { SUMS_COUNT } from '../../numeric/layouts.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { Bundle, type BundledProblem, bundleSizes, lanesFor } from './bundle.ts'
import { type BundleGroup, type BundlePlace, type BundleRowsOptions, bundleRowsTask } from './bundle-rows-task.ts'
import { addSums, noSums, piecesOf } from './certificate.ts'
import { type LossesAlong, lookInPieces, roomForLook } from './line-search.ts'
import { allocatePlaces, type ManyModels } from './objective.ts'

/** Rows of a bundle that has all of them in memory are summed in so many pieces. */
const PIECES = 16
/** Eight of each sum, and room for eight numbers behind them. */
const PIECE_BYTES = (SUMS_COUNT + 1) * BUNDLE_LANES * 8

/** Lanes that so many models take. */
export function lanesOf(models: number, sizes = bundleSizes(models)): number {
  return sizes.reduce((sum, size) => sum + lanesFor(size), 0)
}

/** Models in bundles, as many in each as suits their number. */
export function inBundles<P extends BundledProblem>(problems: P[]): P[][] {
  let first = 0
  return bundleSizes(problems.length).map(size => {
    first += size
    return problems.slice(first - size, first)
  })
}

export interface BundlesPlaces {
  rows: number
  /** The bias not counted. */
  weights: number
  /** Address of the fold of each row in the order of the source, or 0. */
  folds: number
}

export class BundlesObjective implements ManyModels {
  readonly arena: Arena
  readonly weights: number
  readonly weightCount: number
  readonly weightBytes = 8
  readonly alpha: number
  readonly alphaStride: number
  bundles: { bundle: Bundle; place: BundlePlace }[] = []
  #places: BundlesPlaces
  readonly #sums: number
  #look = 0
  /** Room for the folds of a group and of rows beside it; the caller that brings groups makes it. */
  groupFolds = 0

  /** `problems`: bundle by bundle. `most`: of the lanes that there will be, when others follow these. */
  constructor(arena: Arena, places: BundlesPlaces, problems: BundledProblem[][], most?: number) {
    const sizes = problems.map(part => part.length)
    const lanes = most ?? lanesOf(0, sizes)
    this.arena = arena
    this.#places = places
    this.weightCount = (places.weights + 1) * lanes
    this.alphaStride = lanes * (problems[0][0].loss.entropicDual ? 16 : 8)
    ;({ weights: this.weights, alpha: this.alpha } = allocatePlaces(arena, this, places.rows))
    this.#sums = arena.allocate(PIECES * PIECE_BYTES, 'the certificate')
    this.#place(problems)
  }

  /** Everything back to zero, for other models over the same rows. */
  startOver(problems: BundledProblem[][], folds = this.#places.folds): void {
    this.#places = { ...this.#places, folds }
    this.arena.bytes(this.weights, this.weightCount * 8).fill(0)
    this.arena.bytes(this.alpha, this.#places.rows * this.alphaStride).fill(0)
    this.#place(problems)
  }

  #place(problems: BundledProblem[][]): void {
    const { weights: features, rows, folds } = this.#places
    let lanes = 0
    this.bundles = problems.map(part => {
      const places = { alpha: this.alpha, weights: this.weights + (features + 1) * lanes * 8 }
      const bundle = new Bundle(this.arena, { rows, weights: features }, part, folds, places)
      const { at, alphaStride } = bundle
      const alphaOffset = lanes * (alphaStride / bundle.lanes)
      lanes += bundle.lanes
      return { bundle, place: { at, lanes: bundle.lanes, alphaOffset, alphaStride } }
    })
  }

  get problems(): BundledProblem[] {
    return this.bundles.flatMap(({ bundle }) => bundle.problems)
  }

  get models(): number {
    return this.problems.length
  }

  get logistic(): boolean {
    return this.bundles[0].bundle.problems[0].loss.entropicDual === true
  }

  /** Address of the fold of each row, or 0. */
  get folds(): number {
    return this.#places.folds
  }

  get hasFolds(): boolean {
    return this.folds !== 0
  }

  get allRest(): boolean {
    return this.bundles.every(({ bundle }) => bundle.rests)
  }

  activate(models: boolean[]): void {
    const left = [...models]
    for (const { bundle } of this.bundles) bundle.activate(left.splice(0, bundle.problems.length))
  }

  /** Of one bundle: goes on to problems that differ in their costs, from the dual variables of these times a factor. */
  rescale(problems: BundledProblem[], factor: number): void {
    this.bundles[0].bundle.rescale(problems, factor)
  }

  squaredLengths(): number[] {
    return this.bundles.flatMap(({ bundle }) => bundle.squaredLengths())
  }

  /** A group of rows as the bundles see it. */
  groupOf({ table, rows, rowWeights, parts, alpha }: RowGroup): BundleGroup {
    return {
      ...{ table, rows, rowWeights, parts, groupAlpha: alpha, alpha: this.alpha, alphaStride: this.alphaStride },
      folds: this.#places.folds ? { all: this.#places.folds, group: this.groupFolds } : undefined,
    }
  }

  async evaluate(threads: ThreadPool, group: RowGroup): Promise<Float64Array[]> {
    const totals = noSums(this.models)
    for (const sums of await this.#run(threads, group, 'evaluate')) addSums(totals, sums)
    return totals
  }

  get looks(): { look: number; lane: number }[] {
    return this.bundles.flatMap(({ bundle }, look) => bundle.problems.map((_, lane) => ({ look, lane })))
  }

  async lookAlong(threads: ThreadPool, group: RowGroup, looks: LossesAlong[], most: number): Promise<void> {
    this.#look ||= roomForLook(this.arena, looks.length)
    await lookInPieces({ arena: this.arena, room: this.#look, most }, group, looks, ({ from, to, along }) =>
      threads.run(bundleRowsTask, this.#optionsFor(group, { work: { along }, from, to, sums: 0 })),
    )
  }

  async addDual(threads: ThreadPool, group: RowGroup): Promise<void> {
    await this.#run(threads, group, 'add-dual')
  }

  async score(threads: ThreadPool, group: RowGroup, scores: number): Promise<void> {
    await this.#run(threads, group, { scores, allRows: this.#places.rows })
  }

  #run(threads: ThreadPool, group: RowGroup, work: BundleRowsOptions['work']): Promise<number[][][]> {
    const pieces = piecesOf(group, work === 'add-dual' ? 1 : PIECES)
    return Promise.all(
      pieces.map(({ piece, from, to }) => {
        const options = this.#optionsFor(group, { work, from, to, sums: this.#sums + piece * PIECE_BYTES })
        return threads.run(bundleRowsTask, options)
      }),
    )
  }

  #optionsFor(group: RowGroup, what: Omit<BundleRowsOptions, 'bundles' | 'group'>): BundleRowsOptions {
    if (group.whole) for (const { bundle } of this.bundles) bundle.see(group)
    const bundles = this.bundles.map(({ place }) => place)
    return { ...what, bundles, group: group.whole ? undefined : this.groupOf(group) }
  }

  copyWeights(model: number): Float64Array {
    const { look, lane } = this.looks[model]
    return this.bundles[look].bundle.copyWeights(lane)
  }

  setWeights(model: number, own: Float64Array): void {
    const { look, lane } = this.looks[model]
    this.bundles[look].bundle.setWeights(lane, own)
  }
}
