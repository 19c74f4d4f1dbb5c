// Outliers of one binary model: which rows its truncated loss gives up, and what that does to the convex problem of the others.
//
//   T(w) = ½‖w‖² + Σ_i min(C_i loss(m_i), C_i loss(limit)),  m_i = y_i wᵀx_i          outliers: m_i < limit
//
// A look, one pass over all rows, finds T and the outliers at w. Nothing changes by it. Only when they are left out do dual
// variables move: those of new outliers are dropped, and what they have in w is taken out of it, so that w = Σ α y x holds
// for the rows that stay. See numeric/assembly/outliers.ts.
import { SUMS_BYTES, SUMS_COUNT } from '../../numeric/layouts.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import { onAnyRank, sumVectors } from '../../ranks/records.ts'
import type { Address } from '../../sizes.ts'
import { runLoop } from '../../threads/loop-task.ts'
import type { RowSource } from '../sources/row-source.ts'
import type { BinaryObjective } from './binary.ts'
import { addSums } from './certificate.ts'

/** What a look at all rows showed. */
export interface OutlierLook {
  /** T. */
  objective: number
  outliers: number
  /** Rows that are on the other side of the limit than the convex problem has them. */
  changed: number
  trainingAccuracy: number
}

/** Bytes that looks take for each row. Where w is Σ α y x they take another vector of weights, too. */
export const OUTLIER_BYTES = 1

/** Rows of a fold that a model does not see: the fold, and the address of each row's, u8 in the order of the source. */
export interface HeldOutRows {
  folds: number
  heldOut: number
}

/** Before a model is trained: leaves out the rows of a fold. */
export function leaveOutFold({ arena, alpha }: BinaryObjective, rows: number, { folds, heldOut }: HeldOutRows): void {
  const values = arena.f64(alpha, rows)
  for (const [row, fold] of arena.bytes(folds, rows).entries()) if (fold === heldOut) values[row] = -1
}

/** Room for the weights that said which rows are outliers, the anchor: a search for the other rows leaves out what lies beyond the
 *  limit by them. */
export function anchorRoom(source: RowSource, { weightCount, weightBytes }: BinaryObjective): Address {
  return source.room('weights that said who the outliers are', weightCount * weightBytes, false)
}

export class Outliers {
  readonly #objective: BinaryObjective
  readonly #source: RowSource
  readonly #dual: () => boolean
  /** Address of u8[rows], in the order of the source: whether a row is an outlier, by the last look. */
  readonly #marks: number
  /** What new outliers have in w, by the last look. */
  readonly #parts: number
  readonly #sums: number
  readonly #held: HeldOutRows | undefined
  readonly #ranks: Communicator
  /** What the weights were multiplied by in the last look. */
  #factor = 1
  /** Where the weights go that said who the outliers are; 0 when nobody asks for them. */
  #anchor = 0
  /** Whether they are there. A multiple of weights, the end of a sample that was not solved, is none to search by. */
  anchored = false

  /** `dual`: whether w is Σ α y x at present. Methods that follow a gradient have dual variables only to leave rows out. */
  constructor(
    objective: BinaryObjective,
    source: RowSource,
    dual: () => boolean,
    { held, ranks = alone }: { held?: HeldOutRows | undefined; ranks?: Communicator | undefined } = {},
  ) {
    this.#objective = objective
    this.#source = source
    this.#dual = dual
    this.#held = held
    this.#ranks = ranks
    this.#marks = source.room('outliers', Math.max(source.rows, 1))
    this.#parts = dual() ? source.room('what outliers have in w', objective.weightCount * objective.weightBytes) : 0
    this.#sums = source.room('sums over outliers', SUMS_BYTES)
  }

  /** From now on the weights are kept that say who the outliers are. */
  keepAnchor(): void {
    this.#anchor = anchorRoom(this.#source, this.#objective)
  }

  /** Looks at all rows of all ranks, with the weights times a factor. Undefined after an abort. */
  async look(factor: number, signal?: AbortSignal): Promise<OutlierLook | undefined> {
    const { arena, threads } = this.#source
    const objective = this.#objective
    const limit = objective.settings.outliersBelow!
    this.#factor = factor
    const loop = objective.narrow ? 'findOutliersF32' : 'findOutliersF64'
    const parts = this.#dual() ? this.#parts : 0
    if (parts) arena.bytes(this.#parts, objective.weightCount * objective.weightBytes).fill(0)
    const { folds, heldOut } = this.#held ?? { folds: 0, heldOut: 0 }
    const total = new Float64Array(SUMS_COUNT)
    let cutShort = false
    for await (const group of this.#source.pass(this.#source.groups(-1, { seed: 0, blockOrder: 'fixed' }))) {
      cutShort = signal?.aborted === true
      if (cutShort) break
      const problem = objective.of(group)
      let from = 0
      for (const part of group.parts) {
        const marks = this.#marks + part.firstRow
        const own = folds && folds + part.firstRow
        const rooms = [marks, parts, this.#sums, own, heldOut]
        await runLoop(threads, loop, problem, from, from + part.rows, limit, factor, ...rooms)
        addSums([total], [arena.f64(this.#sums, SUMS_COUNT)])
        from += part.rows
      }
    }
    if (await onAnyRank(this.#ranks, cutShort)) return undefined
    await sumVectors(this.#ranks, arena, parts ? [{ at: parts, count: objective.weightCount }] : [], [total])
    const penalty = 0.5 * factor ** 2 * objective.squaredLengths()[0]
    const [loss, outliers, changed, correct, seen] = total
    return { objective: penalty + loss, outliers, changed, trainingAccuracy: seen > 0 ? correct / seen : 1 }
  }

  /** Leaves out what the last look found, and nothing else. */
  leaveOut(): void {
    const { numeric } = this.#source.arena
    const { alpha, weights, weightCount, narrow } = this.#objective
    if (this.#anchor && this.#factor === 1) this.#dropAnchor()
    numeric.leaveOut(alpha, this.#marks, this.#source.rows)
    if (this.#dual()) (narrow ? numeric.takeOutF32 : numeric.takeOutF64)(weights, this.#parts, weightCount)
  }

  #dropAnchor(): void {
    const { arena, weights, weightCount, weightBytes } = this.#objective
    arena.bytes(this.#anchor, weightCount * weightBytes).set(arena.bytes(weights, weightCount * weightBytes))
    this.anchored = true
  }

  /** Before anything is trained: leaves out the rows that the model does not see, and all but these where some are named. */
  begin(rows?: Iterable<number>): void {
    const { arena, rows: all } = this.#source
    const marks = arena.bytes(this.#marks, all).fill(rows ? 1 : 0)
    for (const row of rows ?? []) marks[row] = 0
    if (this.#held) {
      const { folds, heldOut } = this.#held
      for (const [row, fold] of arena.bytes(folds, all).entries()) if (fold === heldOut) marks[row] = 1
    }
    arena.numeric.leaveOut(this.#objective.alpha, this.#marks, all)
  }
}
