// The last line search. A run that ends short of its tolerance gives the best multiple of its weights:
//
//   min_{t ≥ 0}  φ(t) = ½t²‖w‖² + Σ C_i loss(t·m_i)            under l1: t‖w‖₁ + Σ C_i loss(t·m_i)
//
// One reading pass sums the losses at many t. 0 and 1 are among them, so what is returned is never worse than w = 0, nor than
// w. φ is convex and the t are a factor √2 apart, so at least 0.7 of what the best t would gain over w = 0 is gained. The dual
// variables stay as they are: their objective bounds that of any weights from below, so it is the dual of t·w as well. The
// solver's own w stays too, and t is applied where the model is made: a run that is resumed goes on from Σ α y x.
//
// Losses at nearly a hundred t cost far more than the dot product that they all need. Where all rows are in memory, some rows
// tell about where the best t is, and the pass over all rows tries the few around it. φ is convex: when it rises to both ends of
// those, the best of them is the best of all, and it is chosen by the same sums.
import { ALONG_BYTES, ALONG_FACTORS } from '../../numeric/along-layout.ts'
import type { Arena } from '../../numeric/arena.ts'
import { BUNDLE_LANES } from '../../numeric/bundle-layout.ts'
import { AlongFields } from '../../numeric/fields/along.ts'
import type { Communicator } from '../../ranks/communicator.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { type Certificate, type Piece, piecesOf } from './certificate.ts'

/** The multiples that are tried; the second is 2^-40. */
export const MULTIPLES = Float64Array.from({ length: ALONG_FACTORS }, (_, k) => (k === 0 ? 0 : 2 ** ((k - 81) / 2)))

const EVERY: readonly number[] = [...MULTIPLES.keys()]
const ONE = MULTIPLES.indexOf(1)
/** How much φ must rise to both ends of a window, as a share of its least value: far above what rounding does to sums. */
const CLEAR_RISE = 1e-9

/** The places of some neighbours among the multiples, and those of 0 and 1. */
function windowOf(from: number, to: number): number[] {
  return EVERY.filter(k => k === 0 || k === ONE || (k >= from && k <= to))
}

/** What a run that ended short knows of its weights and rows. */
export interface ShortEnd {
  /** What the weights are multiplied by. */
  factor: number
  /** The objective at w = 0. */
  atZero: number
  /** The smallest and the largest value as the solver saw them; null where rows have none but bins. */
  values: [number, number] | null
  /** The length of the shortest and of the longest row. */
  lengths: [number, number]
}

/** What is known of a model besides its losses: its lane, what t·w costs besides losses, and how many rows there are. Losses of
 *  rows that were not looked at are taken to be like the others'. */
export interface ModelAlong {
  lane: number
  penalty: (t: number) => number
  all?: number | undefined
  /** Weights that are better than w = 0 stay as they are. */
  onlyIfWorse?: boolean | undefined
}

/** Losses along the weights of up to eight models, over the rows that were looked at. */
export class LossesAlong {
  /** The first and the last of the neighbours that are tried, by their places among the multiples. */
  readonly #from: number
  readonly #to: number
  /** All that are tried: 0 and 1 as well. */
  readonly places: readonly number[]
  readonly #losses = new Float64Array(ALONG_FACTORS * BUNDLE_LANES)
  #values: [number, number] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  #lengths: [number, number] = [Number.POSITIVE_INFINITY, 0]
  /** Rows that were looked at. */
  rows = 0

  constructor(from = 1, to = ALONG_FACTORS - 1) {
    this.#from = Math.max(from, 1)
    this.#to = Math.min(to, ALONG_FACTORS - 1)
    this.places = windowOf(this.#from, this.#to)
  }

  /** Adds what a loop along the weights has found in some rows. */
  add(arena: Arena, at: number, rows: number): void {
    const fields = new AlongFields(arena, at)
    const found = fields.losses
    for (const [k, place] of this.places.entries()) {
      for (let lane = 0; lane < BUNDLE_LANES; lane++) {
        this.#losses[place * BUNDLE_LANES + lane] += found[k * BUNDLE_LANES + lane]
      }
    }
    this.#values = [Math.min(this.#values[0], fields.least), Math.max(this.#values[1], fields.most)]
    this.#lengths = [
      Math.min(this.#lengths[0], Math.sqrt(fields.shortest)),
      Math.max(this.#lengths[1], Math.sqrt(fields.longest)),
    ]
    this.rows += rows
  }

  /** Adds what other ranks have found. */
  async addOthers(ranks: Communicator): Promise<void> {
    if (ranks.size === 1) return
    const rows = Float64Array.of(this.rows)
    const ends = Float64Array.of(-this.#values[0], this.#values[1], -this.#lengths[0], this.#lengths[1])
    await ranks.sum(this.#losses)
    await ranks.sum(rows)
    await ranks.max(ends)
    this.rows = rows[0]
    this.#values = [-ends[0], ends[1]]
    this.#lengths = [-ends[2], ends[3]]
  }

  /** φ at a multiple. */
  #primal(place: number, { lane, penalty, all = this.rows }: ModelAlong): number {
    const share = all / Math.max(this.rows, 1)
    return penalty(MULTIPLES[place]) + share * this.#losses[place * BUNDLE_LANES + lane]
  }

  #bestPlace(model: ModelAlong): number {
    let best = ONE
    if (model.onlyIfWorse && this.#primal(ONE, model) <= this.#primal(0, model)) return best
    // What has overflowed is no number, and worse than any.
    const better = (a: number, b: number): boolean => a < b || Number.isNaN(b)
    for (const k of this.places) if (better(this.#primal(k, model), this.#primal(best, model))) best = k
    return best
  }

  /** The best of the multiples that were tried, and the objective there. */
  best(model: ModelAlong): ShortEnd & { primal: number } {
    const best = this.#bestPlace(model)
    const [least, most] = this.#values
    return {
      factor: MULTIPLES[best],
      primal: this.#primal(best, model),
      atZero: this.#primal(0, model),
      values: least <= most ? [least, most] : null,
      lengths: [Math.min(...this.#lengths), this.#lengths[1]],
    }
  }

  /** Whether no multiple that was not tried is better for any of the models. */
  isCertain(models: ModelAlong[]): boolean {
    const [from, to] = [this.#from, this.#to]
    return models.every(model => {
      const primals = this.places.map(place => this.#primal(place, model))
      if (!primals.every(Number.isFinite)) return this.places.length === ALONG_FACTORS
      const least = Math.min(...primals.filter((_, k) => this.places[k] >= from && this.places[k] <= to))
      const rises = (end: number): boolean => this.#primal(end, model) > least + CLEAR_RISE * Math.abs(least)
      return (from === 1 || rises(from)) && (to === ALONG_FACTORS - 1 || rises(to))
    })
  }

  /** Losses to be summed at so many neighbours on both sides of what is best for the models so far. */
  around(models: ModelAlong[], neighbours: number): LossesAlong {
    const best = models.map(model => this.#bestPlace(model))
    return new LossesAlong(Math.min(...best) - neighbours, Math.max(...best) + neighbours)
  }
}

/** What t·w costs besides losses, for weights of a length. */
export function penaltyOf(squaredLength: number): (t: number) => number {
  return t => 0.5 * t * t * squaredLength
}

/** The certificate of the weights times a factor. */
export function certificateAt(
  certificate: Certificate,
  { factor, primal }: { factor: number; primal: number },
): Certificate {
  if (factor === 1) return certificate
  const { dual } = certificate
  return {
    ...certificate,
    primal,
    gap: dual === null ? null : primal > 0 ? (primal - dual) / primal : 0,
    // Weights of 0 take no side.
    trainingAccuracy: factor > 0 ? certificate.trainingAccuracy : null,
  }
}

/** Multiplies weights that are nobody else's by what the run's end asks for. */
export function shorten(weights: Float64Array | Float32Array, { short }: { short?: ShortEnd | undefined }): void {
  if (short === undefined || short.factor === 1) return
  // No −0 among weights of 0.
  if (short.factor === 0) weights.fill(0)
  else for (let k = 0; k < weights.length; k++) weights[k] *= short.factor
}

/** Scores of held-out rows are those of the weights that models end with. `folds`: address of each row's fold. */
export function shortenScores(
  arena: Arena,
  models: { heldOut?: number; column?: number }[],
  solutions: { short?: ShortEnd | undefined }[],
  { at, rows, folds }: { at: number; rows: number; folds: number },
): void {
  for (const [k, { heldOut, column = 0 }] of models.entries()) {
    const factor = solutions[k].short?.factor ?? 1
    if (factor === 1 || heldOut === undefined) continue
    const scores = arena.f32(at + column * rows * 4, rows)
    const foldOf = arena.bytes(folds, rows)
    for (let i = 0; i < rows; i++) if (foldOf[i] === heldOut) scores[i] *= factor
  }
}

/** Makes a place for what rows show ready. */
function startAlong(arena: Arena, at: number, { places }: LossesAlong): void {
  arena.bytes(at, ALONG_BYTES).fill(0)
  const fields = new AlongFields(arena, at)
  fields.multiples.set(places.map(place => MULTIPLES[place]))
  fields.tried = places.length
  fields.least = Number.POSITIVE_INFINITY
  fields.most = Number.NEGATIVE_INFINITY
  fields.shortest = Number.POSITIVE_INFINITY
}

/** Rows in memory are looked at in so many pieces. */
const PIECES = 16

/** Room for a look. It is taken once: while rows are read, other threads take memory, too. `looks`: side by side. */
export function roomForLook(arena: Arena, looks = 1): number {
  return arena.allocate(PIECES * looks * ALONG_BYTES, 'the line search')
}

/** Where loops along the weights of a group's rows write what they find, and how many rows of each piece they look at. */
export interface RoomForLook {
  arena: Arena
  room: number
  most: number
}

/** Looks at the rows of a group, in pieces, and adds what they show; `looks` at a piece are side by side in the room. */
export async function lookInPieces(
  { arena, room, most }: RoomForLook,
  group: RowGroup,
  looks: LossesAlong[],
  look: (piece: Piece & { along: number }) => Promise<unknown>,
): Promise<void> {
  const bytes = looks.length * ALONG_BYTES
  const pieces = piecesOf(group, PIECES).map(({ piece, from, to }) => {
    return { piece, from, to: Math.min(to, from + most), along: room + piece * bytes }
  })
  for (const { along } of pieces) {
    for (const [k, found] of looks.entries()) startAlong(arena, along + k * ALONG_BYTES, found)
  }
  await Promise.all(pieces.map(look))
  for (const { from, to, along } of pieces) {
    for (const [k, found] of looks.entries()) found.add(arena, along + k * ALONG_BYTES, to - from)
  }
}
