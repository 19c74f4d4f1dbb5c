// When `auto` takes a second-order method: at once where features are few, and later where coordinate descent will not get
// there in reasonable time, by the gaps that it has come through. The weights that it has are where the other one starts.
import { findLoss } from '../losses/all-losses.ts'
import { isSparse } from '../losses/formulations.ts'
import { convexLoss, isSmooth, type Loss } from '../losses/loss.ts'
import type { Driving } from '../optimise/driver/driver.ts'
import { askedSolver } from '../optimise/solvers/all-solvers.ts'
import { newton } from '../optimise/solvers/newton.ts'
import type { PlaceFacts } from './place.ts'

/** With fewer rows any method is done at once: nothing is handed over below the first, nothing begins otherwise below the
 *  second. */
const SOME_ROWS = 1000
const LEAST_ROWS = 10_000
/** Features up to which second-order steps are the better ones whatever the data is: of the hinge, whose kink takes some more
 *  steps, and of other losses. Up to which they are better than coordinate descent that stalls: the second derivative of
 *  the logistic loss is smooth, those of the others jump, which matters with many features. */
const FEW = { hinge: 16, smooth: 128 }
const MOST = { hinge: 128, squared: 256, logistic: 1023 }
/** Nonzeros of a row up to which a matrix of second derivatives costs little. */
const MOST_NONZEROS = 64
/** Passes after which coordinate descent is judged, and those that it may still take. A second-order method takes some fifty. */
const LEAST_PASSES = 20
const MOST_PASSES = 80
/** Without a gap of all rows to judge by, so many passes are enough. */
const UNJUDGED = 200

/** Whether a problem that is left to `auto` has a second-order method that is worth while. */
export function hasSecondOrder({ options, wanted, rows, weights }: PlaceFacts): boolean {
  const loss = convexLoss(findLoss(options.loss))
  const most = loss.entropicDual ? MOST.logistic : isSmooth(loss) ? MOST.squared : MOST.hinge
  return (
    askedSolver(options.solver) === undefined &&
    options.weights === 'f64' &&
    !isSparse(options.regularizer) &&
    !options.space &&
    weights <= most &&
    rows >= SOME_ROWS &&
    !wanted.allClasses &&
    // Models that leave out a fold have no second-order method; of those that come later nothing is known.
    !wanted.folds &&
    wanted.problems.length > 0 &&
    wanted.problems.every(({ loss, heldOut }) => newton.lossNeeds.has(loss) && heldOut === undefined)
  )
}

interface Sizes {
  rows: number
  nonzeros: number
  weights: number
}

/** Whether it is the better one from the start. */
export function startsSecondOrder(loss: Loss, { rows, nonzeros, weights }: Sizes): boolean {
  const few = isSmooth(loss) ? FEW.smooth : FEW.hinge
  return rows >= LEAST_ROWS && weights <= few && nonzeros <= MOST_NONZEROS * rows
}

/** Judges coordinate descent by its gaps: whether it should be left. */
export function patience(tolerance: number): NonNullable<Driving['stalls']> {
  const seen: { work: number; gap: number }[] = []
  return (work, gap, partial) => {
    // While rows are left out, the gap is not that of the model.
    if (!partial) seen.push({ work, gap })
    if (work < LEAST_PASSES) return false
    const before = seen.findLast(past => past.work <= work / 2)
    const last = seen.at(-1)
    if (!before || !last || last.work <= before.work) return work > UNJUDGED
    const rate = Math.log(before.gap / last.gap) / (last.work - before.work)
    return !(Math.log(last.gap / tolerance) <= rate * MOST_PASSES)
  }
}
