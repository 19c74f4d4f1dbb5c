// When `auto` takes a second-order method: at once where features are few, and later where coordinate descent will not get
// there in reasonable time, by the gaps that it has come through. The weights that it has are where the other one starts.
import type { RunState } from '../block-store/checkpoint.ts'
import { findLoss } from '../losses/all-losses.ts'
import { isSparse, trainsTogether } from '../losses/formulations.ts'
import { convexLoss, isSmooth, type Loss } from '../losses/loss.ts'
import type { Driving } from '../optimise/driver/driving.ts'
import { askedSolver } from '../optimise/solvers/all-solvers.ts'
import { lbfgs } from '../optimise/solvers/lbfgs.ts'
import { newton } from '../optimise/solvers/newton.ts'
import type { MemorySolver } from '../optimise/solvers/solver.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import type { PlaceFacts, TellPass } from './place.ts'

/** With fewer rows a pass takes no time: coordinate descent below the first is left only when it has made nearly all the passes
 *  that a run makes unless told otherwise, and over blocks never. Nothing begins otherwise below the last. */
const SOME_ROWS = 1000
const NEARLY_ALL_PASSES = 990
/** Over ranks a step together counts for dozens of passes, and may not go past the last one. */
const NEARLY_ALL_OVER_RANKS = 900
const LEAST_ROWS = 10_000
/** Where factoring a matrix takes many multiplications for each nonzero that a pass meets, coordinate descent is judged when it has
 *  had the passes that some fifty matrices are worth: so many for each of these multiplications. Where rows are few beside the
 *  features it learns late, and newton is slow, for rows can be told apart without an error. 3,000 digits as published, ten classes,
 *  hinge and squared hinge, C = 1: 341 and 128 passes; newton was not done after 1,000. */
const DEAR_FACTORS = 32
const WORTH_OF_FACTORS = 6
/** Features up to which second-order steps are the better ones whatever the data is: of the hinge, whose kink takes some more
 *  steps, and of other losses. In memory, by newton and by coordinate descent, C = 0.01, 1, 100: w8a, 300 features, squared
 *  hinge, 0.10, 0.11, 0.15 s and 0.12, 0.43, 1.6 s; covtype, 54 features, hinge, 0.9, 2.0, 4.1 s and 0.5, 3.2, 15 s. Where many
 *  models share a pass, or passes are read from disk, they pay less. */
const FEW = {
  oneInMemory: { hinge: 64, smooth: 400 },
  otherwise: { hinge: 16, smooth: 128 },
  // Coordinate descent on the hinge takes thousands of passes wherever features are few beside the rows, and steps on the primal
  // take as many as on one rank.
  overRanks: { hinge: 1023, smooth: 128 },
}
/** Features up to which they are better than coordinate descent that stalls: what has a matrix. */
const MOST = 1023
/** Nonzeros of a row up to which a matrix of second derivatives costs little. */
const MOST_NONZEROS = 64
/** Features up to which it costs little with rows of any length. */
const CHEAP_MATRIX = 128
/** Passes after which a method is judged, and those that it may still take: of coordinate descent some more than a second-order
 *  method takes, which is about fifty. A pass of lbfgs is by all threads. */
const LEAST_PASSES = 20
const MOST_PASSES = 80
/** The same for one model of the hinge with few features over blocks, where a pass of `stream` costs as much as five or six of
 *  newton. With memory for a fifth of covtype's rows, CPU: scaled, C = 0.01, `stream` is done after 3 passes and 4.0 s, newton
 *  after 25 and 8.4 s; as published, C = 1, `stream` has a gap of 1 after 7 passes and is not done after 12 and 15 s, newton is
 *  done after 59 and 13 s. */
const SOON = { least: 4, most: 20 }
const LBFGS_PASSES = { least: 60, most: 300 }
/** Without a gap of all rows to judge by, so many passes are enough. */
const UNJUDGED = 100

/** Whether a problem that is left to `auto` has a second-order method that is worth while. */
export function hasSecondOrder({ options, wanted, ...sizes }: PlaceFacts): boolean {
  const folds = wanted.folds || wanted.problems.some(({ heldOut }) => heldOut !== undefined)
  return (
    hasSteps(options, sizes) &&
    !wanted.allClasses &&
    // Models of a truncated loss that leave out a fold are trained by their dual variables.
    !(folds && findLoss(options.loss).truncates)
  )
}

/** The same by the options and the sizes of the data, where few rows are not worth a change of the method. */
export function mayHandOver(options: ResolvedOptions, sizes: { rows: number; weights: number }): boolean {
  return sizes.rows >= SOME_ROWS && hasSteps(options, sizes)
}

/** The same whatever the rows are. */
function hasSteps(options: ResolvedOptions, { weights }: { weights: number }): boolean {
  const loss = convexLoss(findLoss(options.loss))
  return (
    askedSolver(options.solver) === undefined &&
    options.weights === 'f64' &&
    options.gradientTolerance === undefined &&
    !isSparse(options.regularizer) &&
    !trainsTogether(options.multiclass) &&
    !options.space &&
    newton.lossNeeds.has(loss) &&
    weights <= MOST
  )
}

export interface Sizes {
  rows: number
  nonzeros: number
  weights: number
}

/** Whether it is the better one from the start. */
export function startsSecondOrder(loss: Loss, { rows, nonzeros, weights }: Sizes, what: keyof typeof FEW): boolean {
  const few = FEW[what][isSmooth(loss) ? 'smooth' : 'hinge']
  const least = what === 'overRanks' && !isSmooth(loss) ? SOME_ROWS : LEAST_ROWS
  return rows >= least && weights <= few && nonzeros <= MOST_NONZEROS * rows
}

/** The same for rows in memory that nobody has read yet: by the options, and by the sizes that the data is thought to have. */
export function wouldStartSecondOrder(given: TrainOptions, sizes: Sizes, models: number): boolean {
  const options = resolveOptions(given)
  const loss = convexLoss(findLoss(options.loss))
  const what = models === 1 ? 'oneInMemory' : 'otherwise'
  return mayHandOver(options, sizes) && startsSecondOrder(loss, sizes, what)
}

/** Why it is taken later. */
export const STALLED = 'coordinate descent would take many more passes'

/** Who goes on, one after the other: the next where this one will not get there in reasonable time, either. The matrix of
 *  long rows is dear, so steps without one are tried first. */
export function successors(loss: Loss, { rows, nonzeros, weights }: Sizes): MemorySolver[] {
  const dear = weights > CHEAP_MATRIX && nonzeros > MOST_NONZEROS * rows
  return dear && lbfgs.lossNeeds.has(loss) ? [lbfgs, newton] : [newton]
}

/** Whether a model that is trained alone begins with them: rows fill much of few features, so that what one feature tells,
 *  others tell, too. Many models together read each row once by coordinate descent. */
export const startsDense = (loss: Loss, sizes: Sizes): boolean =>
  sizes.rows >= LEAST_ROWS && successors(loss, sizes).length > 1

/** What is told where it cannot be taken: the memory has no room for it beside the blocks. */
export const NO_ROOM_BESIDE = `${STALLED}; ${newton.name} would take few, but has no room beside it here: --solver ${newton.name} has the whole memory`

/** And where it has no room at all. */
export const NO_ROOM = `${STALLED}; ${newton.name} would take few, but has no room here: it needs more --memory`

/** Judges without an end: tells once that a run should be left. */
export function tellOnce(judge: NonNullable<Driving['stalls']>, tell: () => void): NonNullable<Driving['stalls']> {
  let told = false
  return (work, trail) => {
    if (!told && judge(work, trail)) {
      told = true
      tell()
    }
    return false
  }
}

/** The last gap that a run has come to, of the models that are not done. */
export const lastGap = ({ trail }: Readonly<Pick<RunState, 'trail'>>): number =>
  trail?.at(-1)?.gap ?? Number.POSITIVE_INFINITY

/** Tells of a method that goes on from the weights of another. A second-order step has dual variables of its own, and at first
 *  their gap is larger. The one that is known already is told as long as it is the smaller one. */
export function tellBestGap(tell: TellPass, known: number): TellPass {
  // Of some rows nothing may be known.
  if (!(known < 1)) return tell
  return progress => tell(progress.certified ? progress : { ...progress, gap: Math.min(progress.gap ?? known, known) })
}

/** Judges coordinate descent by its gaps: whether it should be left. */
export function patience(tolerance: number, most = MOST_PASSES, least = LEAST_PASSES): NonNullable<Driving['stalls']> {
  return (work, trail) => {
    if (work < least) return false
    const before = trail.findLast(past => past.work <= work / 2)
    const last = trail.at(-1)
    if (!before || !last || last.work <= before.work) return work > Math.max(UNJUDGED, most)
    const rate = Math.log(before.gap / last.gap) / (last.work - before.work)
    return !(Math.log(last.gap / tolerance) <= rate * most)
  }
}

/** What a run may do: whether its passes are limited by what was asked for, and over how many ranks it goes. */
interface Limits {
  tolerance: number
  maxPasses: number
  isLimited: boolean
  ranks: number
}

/** Judges coordinate descent in memory, for a run that may make so many passes; undefined where the limit that was asked for leaves
 *  no room for another method. */
export function patienceInMemory(
  { rows, nonzeros, weights }: Sizes,
  { tolerance, maxPasses, isLimited, ranks }: Limits,
): Driving['stalls'] {
  const dear = weights ** 3 / 6 / Math.max(nonzeros, 1)
  if (rows >= SOME_ROWS && dear <= DEAR_FACTORS) return patience(tolerance)
  const nearlyAll = ranks > 1 ? NEARLY_ALL_OVER_RANKS : NEARLY_ALL_PASSES
  const least = rows < SOME_ROWS ? nearlyAll : Math.min(WORTH_OF_FACTORS * dear, nearlyAll)
  if (isLimited && maxPasses < 2 * least) return undefined
  const left = maxPasses - least
  return patience(tolerance, rows < SOME_ROWS ? left : Math.min(MOST_PASSES, left), least)
}

/** Judges coordinate descent over blocks: sooner where second-order passes are cheap beside its own. */
export function patienceInBlocks(
  { loss: name, tolerance }: Pick<ResolvedOptions, 'loss' | 'tolerance'>,
  { models, weightCount }: { models: number; weightCount: number },
): NonNullable<Driving['stalls']> {
  const loss = convexLoss(findLoss(name))
  const cheap = models === 1 && !isSmooth(loss) && weightCount <= FEW.oneInMemory.hinge + 1
  return cheap ? patience(tolerance, SOON.most, SOON.least) : patience(tolerance)
}

/** Judges lbfgs the same way. Its gaps jump at first. */
export const patienceWithSteps = (tolerance: number): NonNullable<Driving['stalls']> =>
  patience(tolerance, LBFGS_PASSES.most, LBFGS_PASSES.least)
