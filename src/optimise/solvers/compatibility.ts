// The one refusal of what does not go together: a solver says what it needs and what it knows, and is asked here, before any
// work starts.

import { UsageError } from '../../errors.ts'
import {
  isSparse,
  type MulticlassKind,
  type Regularizer,
  type TogetherKind,
  trainsByGradient,
  trainsTogether,
} from '../../losses/formulations.ts'
import { convexLoss, type Loss } from '../../losses/loss.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import { formatCount } from '../../sizes.ts'
import { secondDerivative } from './descent.ts'
import { type IndexMethod, regularizersOf, type Solver, solverOptions, stepsOnIndex } from './solver.ts'

/** Training options that have a meaning only where rows are in a store. */
const storeOptions = ['store', 'blocks', 'resume', 'cold', 'checkpointSeconds'] as const

/** `given` are the names of the options that were said. */
export function checkCompatible(
  solver: Solver,
  loss: Loss,
  options: { given: ReadonlySet<string>; solver?: string; folds?: number } & Partial<Record<string, unknown>>,
): void {
  const { given } = options
  checkRanks(solver, loss, options)
  const regularizer = (options['regularizer'] ?? 'l2') as Regularizer
  checkRegularizer(solver, loss, regularizer)
  // With solver auto these options are for the case that there is a store. Under l1 there never is one.
  const asked = solver.data === 'memory' && (options.solver === solver.name || isSparse(regularizer))
  const storeOption = asked && storeOptions.find(name => given.has(name) && options[name] !== false)
  if (storeOption) throw optionIgnored(storeOption, solver, ', which keeps all rows in memory')
  if (options['rowWeights'] !== undefined) checkGivenWeights(solver, options)
  const multiclass = options['multiclass'] as MulticlassKind | undefined
  if (multiclass && trainsTogether(multiclass)) checkAllClasses(solver, loss, multiclass, options)
  if (loss.truncates) checkTruncated(solver, loss, options)
  if (!solver.lossNeeds.has(convexLoss(loss))) throw lossLacks(loss, solver, `solver ${solver.name}`)
  if (given.has('shrinking') && !isSparse(regularizer)) {
    if (loss.entropicDual) {
      throw new UsageError(`the option shrinking is not compatible with the ${loss.name} loss: it would be ignored`)
    }
    // Of features, only those are shrunk whose weights are zero.
    if (hasColumns(solver)) throw optionIgnored('shrinking', solver, ` under the ${regularizer} regularizer`)
  }
  if (hasColumns(solver) && options['space']) {
    throw new UsageError(
      `a kernel is not compatible with solver ${solver.name}, which goes over features: rows of a kernel have none`,
      'leave the choice to --solver auto',
    )
  }
  if (solver.wideWeights && options['weights'] === 'f32') {
    throw new UsageError(
      `the option weights is not compatible with solver ${solver.name}, which keeps its weights as f64: f32 would be ignored`,
    )
  }
  if (solver.data === 'blocks' && solver.needsIndex) checkIndexed(solver, loss, options)
  const ignored = solverOptions.find(option => given.has(option) && !solver.options.includes(option))
  if (ignored) throw optionIgnored(ignored, solver)
}

/** What several ranks cannot do together. */
function checkRanks(solver: Solver, loss: Loss, options: Partial<Record<string, unknown>>): void {
  const { size } = (options['ranks'] ?? alone) as Communicator
  if (size === 1) return
  const refuse = (what: string, why: string, advice: string): UsageError =>
    new UsageError(`${what} not compatible with ${size} ranks: ${why}`, advice)
  const alternatives =
    'take --solver dual, block, stream, newton, lbfgs, average or admm, or leave the choice to --solver auto'
  if (!solver.overRanks && isSparse((options['regularizer'] ?? 'l2') as Regularizer))
    throw refuse(
      'the l1 regularizer is',
      `solver ${solver.name} needs all rows in one process`,
      'take --regularizer l2, or one rank',
    )
  if (!solver.overRanks)
    throw refuse(`solver ${solver.name} is`, 'missing a way to put together what ranks learn', alternatives)
  const given = options['given'] as ReadonlySet<string>
  if (loss.truncates && solver.data === 'blocks' && given.has('outlierStart') && options['outlierStart'] === 'sample') {
    const why = 'where rows are in blocks, the first convex problem is that of all rows'
    throw refuse('outlierStart sample is', why, 'leave out --outlier-start')
  }
  if (options['calibrate'] !== undefined && !(solver.startEach && solver.data === 'memory')) {
    const why = `solver ${solver.name} trains one model after the other there`
    throw refuse('the option calibrate is', why, 'take --solver newton or lbfgs, rows in memory, or one rank')
  }
  if (options['folds'] !== undefined)
    throw refuse('the option folds is', 'scores of held-out rows stay on their ranks', 'take one rank')
  if (options['weights'] === 'f32') throw refuse('weights f32 are', 'sums over ranks are f64', 'leave out --weights')
  if (options['keepNames'])
    throw refuse('the option keepNames is', 'each rank meets some of the names', 'leave out --keep-names')
  if (given.has('trainers'))
    throw refuse('the option trainers is', 'a rank has one trainer', 'start more ranks in place of trainers')
}

/** An index holds rows as they are in the store. Unit length is a matter of angles, which it knows. */
function checkIndexed({ name }: Solver, loss: Loss, options: Partial<Record<string, unknown>>): void {
  const method = options['indexMethod'] as IndexMethod | undefined
  if (stepsOnIndex({ indexMethod: method })) {
    const refuse = (what: string, why: string): UsageError =>
      new UsageError(`${what} not compatible with indexMethod ${method}: ${why}`, 'leave out --index-method')
    if (!secondDerivative.has(convexLoss(loss)))
      throw refuse(`the ${loss.name} loss is`, `missing ${secondDerivative.what}`)
    if (options['weights'] === 'f32') throw refuse('weights f32 are', 'it keeps its weights as f64')
  }
  const changed = ['scale', 'expand', 'space'].find(option => options[option] !== undefined)
  if (!changed) return
  const what = changed === 'space' ? 'a kernel' : `the option ${changed}`
  throw new UsageError(
    `${what} is not compatible with solver ${name}, whose index holds rows as they are in the store`,
    changed === 'scale' ? 'scale the data before it is read, or take another solver' : 'take another solver',
  )
}

function optionIgnored(option: string, { name }: Solver, which = ''): UsageError {
  return new UsageError(`the option ${option} is not compatible with solver ${name}${which}: it would be ignored`)
}

function lossLacks(loss: Loss, { lossNeeds }: Solver, what: string, advice?: string): UsageError {
  return new UsageError(`the ${loss.name} loss is not compatible with ${what}: missing ${lossNeeds.what}`, advice)
}

/** The refusal of features that are too many for a solver, or of a kernel in their place. */
export function tooManyFeatures(
  { name }: Pick<Solver, 'name'>,
  loss: Pick<Loss, 'name'>,
  most: number,
  found: string,
): UsageError {
  return new UsageError(
    `solver ${name} trains the ${loss.name} loss with up to ${formatCount(most)} features, without a kernel, and ${found}`,
    'take --solver auto, or --loss squared-hinge or logistic',
  )
}

/** Of a problem of all classes: its loss, and the solvers for it. */
const problemsTogether: Record<TogetherKind, { loss: string; solvers: string }> = {
  'crammer-singer': { loss: 'hinge', solvers: 'dual or block' },
  softmax: { loss: 'logistic', solvers: 'newton or lbfgs' },
}

function checkAllClasses(
  solver: Solver,
  loss: Loss,
  multiclass: TogetherKind,
  { given, weights }: { given: ReadonlySet<string>; weights?: unknown },
): void {
  const refuse = (what: string, why: string, advice?: string): UsageError =>
    new UsageError(`${what} not compatible with multiclass ${multiclass}${why}`, advice)
  const { loss: own, solvers } = problemsTogether[multiclass]
  if (given.has('trainers')) throw refuse('the option trainers is', ', which has one trainer')
  if (loss.allClasses !== multiclass) {
    const advice = `take --loss ${own}, or --multiclass one-vs-rest`
    throw refuse(`the ${loss.name} loss is`, `, which is a problem of the ${own} loss`, advice)
  }
  const byGradient = trainsByGradient(multiclass)
  if (!solver.startAllClasses || solver.dual === byGradient) {
    const why = !solver.startAllClasses
      ? 'it trains one class after the other'
      : byGradient
        ? 'it moves dual variables, and this problem is solved by its gradient'
        : 'it follows a gradient, and this problem is solved by its dual variables'
    throw refuse(`solver ${solver.name} is`, `: ${why}`, `take --solver ${solvers}, or --multiclass one-vs-rest`)
  }
  if (weights === 'f32') throw refuse('weights f32 are', ': its weights are f64')
}

/** A loss that gives outliers up needs a method that can leave rows out. */
function checkTruncated(
  solver: Solver,
  loss: Loss,
  { folds, calibrate }: { folds?: number; calibrate?: unknown },
): void {
  const what = folds !== undefined ? 'folds' : calibrate !== undefined ? 'calibrate' : undefined
  // Each model has outliers of its own, and is trained alone, without the rows of a fold: dual variables say which those are.
  if (what !== undefined && !solver.dual) {
    throw new UsageError(
      `the ${loss.name} loss is not compatible with ${what} by solver ${solver.name}: missing dual variables, which say what rows a model may not see`,
      `take --solver dual, or block where rows do not fit in memory, or --loss ${convexLoss(loss).name}`,
    )
  }
  if (solver.leavesOut) return
  throw new UsageError(
    `the ${loss.name} loss is not compatible with solver ${solver.name}: missing a way to leave outliers out`,
    `take --solver dual, block, selective, stream, newton or indexed, or --loss ${convexLoss(loss).name}`,
  )
}

/** Refuses weights of rows that came with the data, where the solver does not heed them. */
export function checkRowWeights({ rowWeights, name }: Solver, { solver }: { solver?: string }): void {
  if (rowWeights) return
  const found = solver !== name ? `solver ${name}, which was chosen for this data` : `solver ${name}`
  throw new UsageError(
    `weights of rows are not compatible with ${found}: it knows one cost for all rows`,
    'take another solver, or leave the weights out',
  )
}

/** The option names weights by the order of the text, which rows have in memory alone. */
function checkGivenWeights(solver: Solver, options: { solver?: string }): void {
  checkRowWeights(solver, options)
  if (solver.data === 'memory') return
  throw new UsageError(
    `the option rowWeights is not compatible with solver ${solver.name}: it goes by the order of rows in the text, and blocks have another`,
    'take --solver dual, or have the weights in the data: a column of a table that --weight names, or Vowpal Wabbit text',
  )
}

const hasColumns = (solver: Solver): boolean => solver.data === 'memory' && solver.columns === true

function checkRegularizer(solver: Solver, loss: Loss, asked: Regularizer): void {
  const known = regularizersOf(solver)
  if (!known.includes(asked)) {
    throw new UsageError(
      `the ${asked} regularizer is not compatible with solver ${solver.name}, which is for ${known.join(' and ')}`,
      'leave the choice to --solver auto',
    )
  }
  if (isSparse(asked) && !loss.truncates && !solver.lossNeeds.has(loss))
    throw lossLacks(loss, solver, `the ${asked} regularizer`, 'take --loss squared-hinge or --loss logistic')
}

/** The options as this solver takes them: its own number of passes unless one was said, and none that it cannot follow. */
export function underLimits<
  O extends {
    maxPasses: number
    innerPasses: number
    classWeights: Record<string, number>
    given: ReadonlySet<string>
  },
>(solver: Solver, options: O): O {
  const { defaultPasses, defaultInnerPasses, mostPasses, oneCost, name } = solver
  if (mostPasses !== undefined && options.given.has('maxPasses') && options.maxPasses > mostPasses) {
    throw new UsageError(
      `maxPasses is ${options.maxPasses}, and solver ${name} makes ${mostPasses === 1 ? 'a single pass' : `at most ${mostPasses} passes`}: more would be ignored`,
    )
  }
  if (oneCost && Object.values(options.classWeights).some(weight => weight !== 1)) {
    throw new UsageError(
      `class weights are not compatible with solver ${name}: it knows one cost for all rows`,
      'take another solver, or leave the class weights away',
    )
  }
  return {
    ...options,
    ...(defaultPasses !== undefined && !options.given.has('maxPasses') && { maxPasses: defaultPasses }),
    ...(defaultInnerPasses !== undefined && !options.given.has('innerPasses') && { innerPasses: defaultInnerPasses }),
  }
}
