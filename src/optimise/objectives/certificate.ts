// The certificate: primal, dual and their gap over all rows, by a reading pass of its own. A solver never marks its own
// work: it only hands over α and w.
import type { Arena } from '../../numeric/arena.ts'
import { SUMS_BYTES, SUMS_COUNT } from '../../numeric/layouts.ts'
import type { RowGroup } from '../sources/row-source.ts'

export interface Certificate {
  primal: number
  /** Null for methods without dual variables, and so the gap. */
  dual: number | null
  /** (primal − dual) / primal. */
  gap: number | null
  supportVectors: number | null
  /** Share of training rows on the right side; null when rows were left unread that cannot owe anything to the gap. */
  trainingAccuracy: number | null
  /** Of a truncated loss: its outliers, and the convex problems that were solved one after the other. The primal is the
   *  truncated problem's, the gap is that of the last convex one. */
  outliers?: number
  relaxations?: number
}

/** Rows summed apart where all are in memory: the pieces are the same for any number of threads, so the sums are the same
 *  bits. */
export const PIECES = 32

/** Where the sums of the pieces go. It is taken once: while rows are read, other threads take memory, too, and none can be
 *  given back. */
export function roomForSums(arena: Arena): number {
  return arena.allocate(PIECES * SUMS_BYTES, 'the certificate')
}

export interface Piece {
  /** Its number. */
  piece: number
  from: number
  to: number
}

/** The pieces that a group's rows are summed in. Rows of blocks are one piece. */
export function piecesOf({ rows, whole }: Pick<RowGroup, 'rows' | 'whole'>, pieces = PIECES): Piece[] {
  const count = whole ? pieces : 1
  const bound = (k: number): number => Math.floor((rows * k) / count)
  return Array.from({ length: count }, (_, k) => ({ piece: k, from: bound(k), to: bound(k + 1) }))
}

/** Sums of no rows, for each of some models; and sums of some rows added to those of others. */
export function noSums(models: number): Float64Array[] {
  return Array.from({ length: models }, () => new Float64Array(SUMS_BYTES / 8))
}

export function addSums(totals: Float64Array[], sums: ArrayLike<number>[]): void {
  for (const [k, total] of totals.entries()) for (let s = 0; s < total.length; s++) total[s] += sums[k][s]
}

/** Has the sums of every piece made, side by side, and adds them up in order. */
export async function sumInPieces(
  arena: Arena,
  room: number,
  pieces: Piece[],
  evaluate: (piece: Piece & { sums: number }) => Promise<void>,
): Promise<Float64Array> {
  await Promise.all(pieces.map(piece => evaluate({ ...piece, sums: room + piece.piece * SUMS_BYTES })))
  return addPieces(arena, room, pieces.length)
}

/** The sums of pieces that stand one after the other, added up in order. */
export function addPieces(arena: Arena, room: number, pieces: number): Float64Array {
  const total = new Float64Array(SUMS_COUNT)
  arena.f64(room, pieces * total.length).forEach((part, k) => {
    total[k % total.length] += part
  })
  return total
}

/** The certificate that the sums over all rows make, in the order of the SUMS_ layout. */
export function certificateOf(sums: Float64Array, squaredLength: number, rows: number, dual: boolean): Certificate {
  const [loss, dualPart, alphaMargin, correct, support] = sums
  const primal = 0.5 * squaredLength + loss
  // With v = Σ α y x: ½‖v‖² = wᵀv − ½‖w‖² + ½‖v − w‖², and the last term is of second order in the rounding of w.
  const dualValue = dualPart - (alphaMargin - 0.5 * squaredLength)
  return {
    primal,
    dual: dual ? dualValue : null,
    gap: dual ? (primal > 0 ? (primal - dualValue) / primal : 0) : null,
    supportVectors: dual ? support : null,
    trainingAccuracy: rows > 0 ? correct / rows : 1,
  }
}
