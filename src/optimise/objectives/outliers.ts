// Outliers of one binary model: which rows its truncated loss gives up, and what that does to the convex problem of the others.
//
//   T(w) = ½‖w‖² + Σ_i min(C_i loss(m_i), C_i loss(limit)),  m_i = y_i wᵀx_i          outliers: m_i < limit
//
// A look, one pass over all rows, finds T and the outliers at w. Nothing changes by it. Only when they are left out do dual
// variables move: those of new outliers are dropped, and what they have in w is taken out of it, so that w = Σ α y x holds
// for the rows that stay. See numeric/assembly/outliers.ts.
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import { runLoop } from '../../threads/loop-task.ts'
import type { RowSource } from '../sources/row-source.ts'
import type { BinaryObjective } from './binary.ts'

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

export class Outliers {
  readonly #objective: BinaryObjective
  readonly #source: RowSource
  readonly #dual: () => boolean
  /** Address of u8[rows], in the order of the source: whether a row is an outlier, by the last look. */
  readonly #marks: number
  /** What new outliers have in w, by the last look. */
  readonly #parts: number
  readonly #sums: number

  /** `dual`: whether w is Σ α y x at present. Methods that follow a gradient have dual variables only to leave rows out. */
  constructor(objective: BinaryObjective, source: RowSource, dual: () => boolean) {
    this.#objective = objective
    this.#source = source
    this.#dual = dual
    this.#marks = source.room('outliers', Math.max(source.rows, 1))
    this.#parts = dual() ? source.room('what outliers have in w', objective.weightCount * objective.weightBytes) : 0
    this.#sums = source.room('sums over outliers', SUMS_BYTES)
  }

  /** Looks at all rows, with the weights times a factor. Undefined after an abort. */
  async look(factor: number, signal?: AbortSignal): Promise<OutlierLook | undefined> {
    const { arena, threads, rows } = this.#source
    const objective = this.#objective
    const limit = objective.settings.outliersBelow!
    const loop = objective.narrow ? 'findOutliersF32' : 'findOutliersF64'
    const parts = this.#dual() ? this.#parts : 0
    if (parts) arena.bytes(this.#parts, objective.weightCount * objective.weightBytes).fill(0)
    let [loss, outliers, changed, correct] = [0, 0, 0, 0]
    for await (const group of this.#source.pass(this.#source.groups(-1, { seed: 0, blockOrder: 'fixed' }))) {
      if (signal?.aborted) return undefined
      const problem = objective.of(group)
      let from = 0
      for (const part of group.parts) {
        const marks = this.#marks + part.firstRow
        await runLoop(threads, loop, problem, from, from + part.rows, limit, factor, marks, parts, this.#sums)
        const sums = arena.f64(this.#sums, 4)
        loss += sums[0]
        outliers += sums[1]
        changed += sums[2]
        correct += sums[3]
        from += part.rows
      }
    }
    const penalty = 0.5 * factor ** 2 * objective.squaredLengths()[0]
    return { objective: penalty + loss, outliers, changed, trainingAccuracy: rows > 0 ? correct / rows : 1 }
  }

  /** Leaves out what the last look found, and nothing else. */
  leaveOut(): void {
    const { numeric } = this.#source.arena
    const { alpha, weights, weightCount, narrow } = this.#objective
    numeric.leaveOut(alpha, this.#marks, this.#source.rows)
    if (this.#dual()) (narrow ? numeric.takeOutF32 : numeric.takeOutF64)(weights, this.#parts, weightCount)
  }

  /** Leaves out every row but these, before anything is trained. */
  keepOnly(rows: Iterable<number>): void {
    const { arena, rows: all } = this.#source
    const marks = arena.bytes(this.#marks, all).fill(1)
    for (const row of rows) marks[row] = 0
    arena.numeric.leaveOut(this.#objective.alpha, this.#marks, all)
  }

  /** The outliers of the last look, in the order of the source. */
  get marks(): Uint8Array {
    return this.#source.arena.bytes(this.#marks, this.#source.rows)
  }
}
