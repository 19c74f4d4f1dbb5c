// Dual variables that belong to weights: at the optimum each of them is told by the margin of its row,
//
//   α_i = −C_i loss'(m_i)          m_i = y_i wᵀx_i,   w = Σ α_i y_i x_i
//
// Of weights that are near the optimum they are near the optimum, too, and w is made anew of them. The hinge has a kink at 1, where
// margins do not tell them: it is rounded. Whatever comes of it, the dual is concave, and 0 at α = 0: of all multiples tα the best is taken.
import { ROW_CLASS } from '../numeric/layouts.ts'
import type { BinaryObjective } from '../optimise/objectives/binary.ts'
import type { BlockOrder, RowSource } from '../optimise/sources/row-source.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { sumNumbers } from '../ranks/records.ts'

/** Over how much of the margin the kink is rounded. */
const KINK = 0.1

/** Of a box dual without its ½‖w‖²: what is linear in α, and what is quadratic. */
export interface DualSums {
  linear: number
  quadratic: number
}

/** Gives every row its dual variable; w is to be made of them afterwards. */
export async function dualFromWeights(
  objective: BinaryObjective,
  source: RowSource,
  order: BlockOrder,
): Promise<DualSums> {
  const { arena, settings, weights, narrow, alpha, alphaStride } = objective
  const { positive, bias, costPositive, costNegative } = settings
  const dot = narrow ? arena.numeric.dotF32 : arena.numeric.dotF64
  const biasPart = bias * objective.weightsInPlace()[objective.weightCount - 1]
  const ofPositive = dualOf(settings.loss, costPositive)
  const ofNegative = dualOf(settings.loss, costNegative)
  const sums = { linear: 0, quadratic: 0 }
  for await (const { table, rows, parts } of source.pass(source.groups(-1, order))) {
    const records = arena.u32(table, rows)
    let place = 0
    for (const { rows: count, firstRow } of parts) {
      const found = arena.f64(alpha + firstRow * alphaStride, count * (alphaStride / 8))
      for (let k = 0; k < count; k++, place++) {
        const isPositive = arena.getU32(records[place] + ROW_CLASS) === positive
        const score = dot(records[place], weights) + biasPart
        const { value, rest, diagonal } = (isPositive ? ofPositive : ofNegative)(isPositive ? score : -score)
        if (objective.logistic) found.set([value, rest], 2 * k)
        else found[k] = value
        sums.linear += value
        sums.quadratic += diagonal * value * value
      }
    }
  }
  return sums
}

/** A row's dual variable by its margin; of the entropic dual, what is left of its cost, too. */
function dualOf(
  loss: BinaryObjective['settings']['loss'],
  cost: number,
): (margin: number) => { value: number; rest: number; diagonal: number } {
  if (!loss.box) {
    // Both stay inside of the domain.
    const least = Number.MIN_VALUE * 2 ** 100
    return margin => {
      const value = Math.max(least, cost / (1 + Math.exp(margin)))
      const rest = Math.max(least, cost / (1 + Math.exp(-margin)))
      return { value, rest, diagonal: 0 }
    }
  }
  const { bound, diagonal } = loss.box(cost)
  const raw = (margin: number): number => (diagonal > 0 ? (1 - margin) / diagonal : bound * (0.5 + (1 - margin) / KINK))
  return margin => ({ value: Math.min(bound, Math.max(0, raw(margin))), rest: 0, diagonal })
}

/** Takes the best multiple of a box dual's variables, up to themselves, and of w, which was made of them. The entropic dual stays: its
 *  loss has no kink. */
export async function scaleDual(
  objective: BinaryObjective,
  rows: number,
  own: DualSums,
  ranks: Communicator,
): Promise<void> {
  if (objective.logistic) return
  const [linear, quadratic] = await sumNumbers(ranks, [own.linear, own.quadratic])
  const [length] = objective.squaredLengths()
  const factor = Math.min(1, linear / (quadratic + length))
  if (!(factor < 1)) return
  const dual = objective.arena.f64(objective.alpha, rows)
  for (let i = 0; i < rows; i++) dual[i] *= factor
  const weights = objective.weightsInPlace()
  for (let j = 0; j < weights.length; j++) weights[j] *= factor
}
