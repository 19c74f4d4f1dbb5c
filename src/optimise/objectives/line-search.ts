// The last line search. A run that ends short of its tolerance gives the best multiple of its weights:
//
//   min_{t ≥ 0}  φ(t) = ½t²‖w‖² + Σ C_i loss(t·m_i)            under l1: t‖w‖₁ + Σ C_i loss(t·m_i)
//
// One reading pass sums the losses at many t. 0 and 1 are among them, so what is returned is never worse than w = 0, nor than
// w. φ is convex and the t are a factor √2 apart, so at least 0.7 of what the best t would gain over w = 0 is gained. The dual
// variables stay as they are: their objective bounds that of any weights from below, so it is the dual of t·w as well. The
// solver's own w stays too, and t is applied where the model is made: a run that is resumed goes on from Σ α y x.
import { ALONG_BYTES, ALONG_FACTORS } from '../../numeric/along-layout.ts'
import type { Arena } from '../../numeric/arena.ts'
import { BUNDLE_LANES } from '../../numeric/bundle-layout.ts'
import { AlongFields } from '../../numeric/fields/along.ts'
import type { Communicator } from '../../ranks/communicator.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { type Certificate, type Piece, piecesOf } from './certificate.ts'

/** The multiples that are tried; the second is 2^-40. */
export const MULTIPLES = Float64Array.from({ length: ALONG_FACTORS }, (_, k) => (k === 0 ? 0 : 2 ** ((k - 81) / 2)))

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

/** Losses along the weights of up to eight models, over the rows that were looked at. */
export class LossesAlong {
  readonly #losses = new Float64Array(ALONG_FACTORS * BUNDLE_LANES)
  #values: [number, number] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  #lengths: [number, number] = [Number.POSITIVE_INFINITY, 0]
  /** Rows that were looked at. */
  rows = 0

  /** Adds what a loop along the weights has found in some rows. */
  add(arena: Arena, at: number, rows: number): void {
    const fields = new AlongFields(arena, at)
    const found = fields.losses
    for (let k = 0; k < found.length; k++) this.#losses[k] += found[k]
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

  /** The best multiple of a model's weights, and the objective there. `penalty` is what t·w costs besides losses; `all`, the
   *  rows there are: losses of those that were not looked at are taken to be like the others'. With `onlyIfWorse`, weights that
   *  are better than w = 0 stay as they are. */
  best(
    model: number,
    penalty: (t: number) => number,
    { all = this.rows, onlyIfWorse = false } = {},
  ): ShortEnd & { primal: number } {
    const share = all / Math.max(this.rows, 1)
    const primals = Array.from(MULTIPLES, (t, k) => penalty(t) + share * this.#losses[k * BUNDLE_LANES + model])
    const one = MULTIPLES.indexOf(1)
    let best = one
    // What has overflowed is no number, and worse than any.
    const better = (a: number, b: number): boolean => a < b || Number.isNaN(b)
    if (!onlyIfWorse || !(primals[one] <= primals[0])) {
      for (let k = 0; k < primals.length; k++) if (better(primals[k], primals[best])) best = k
    }
    const [least, most] = this.#values
    return {
      factor: MULTIPLES[best],
      primal: primals[best],
      atZero: primals[0],
      values: least <= most ? [least, most] : null,
      lengths: [Math.min(...this.#lengths), this.#lengths[1]],
    }
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
function startAlong(arena: Arena, at: number): void {
  arena.bytes(at, ALONG_BYTES).fill(0)
  const fields = new AlongFields(arena, at)
  fields.multiples.set(MULTIPLES)
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

/** Looks at the rows of a group, in pieces, and adds what they show; `looks` at a piece are side by side in the room. */
export async function lookInPieces(
  arena: Arena,
  room: number,
  group: RowGroup,
  looks: LossesAlong[],
  look: (piece: Piece & { along: number }) => Promise<unknown>,
): Promise<void> {
  const bytes = looks.length * ALONG_BYTES
  const pieces = piecesOf(group, PIECES).map(piece => ({ ...piece, along: room + piece.piece * bytes }))
  for (let k = 0; k < pieces.length * looks.length; k++) startAlong(arena, room + k * ALONG_BYTES)
  await Promise.all(pieces.map(look))
  for (const { from, to, along } of pieces) {
    for (const [k, found] of looks.entries()) found.add(arena, along + k * ALONG_BYTES, to - from)
  }
}
