// What follows when coordinate descent over blocks has stalled: models that are not done go on by second-order steps, one
// after the other, from the weights that they have. The state of the first run stays, and that of the second lies in it.
import type { Checkpoints, RunState } from '../block-store/checkpoint.ts'
import { Driver } from '../optimise/driver/driver.ts'
import { freshState, nowhere, type StateKeeper } from '../optimise/driver/driving.ts'
import type { BinaryObjective } from '../optimise/objectives/binary.ts'
import { BundlesObjective } from '../optimise/objectives/bundles.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import type { BlockTraining } from './block-training.ts'
import type { FoldedProblem } from './class-problems.ts'
import { lastGap, tellBestGap } from './hand-over.ts'

/** Who goes on with models. */
export interface HandOver {
  solver: BlockSolver
  /** An objective of its own for one of many models. */
  alone(problem: FoldedProblem): BinaryObjective
  /** Tells the user. */
  say(): void
}

type Handed = NonNullable<RunState['handedOver']>

/** Goes on with the models of a run, whose state is written into `checkpoints`. */
export async function goOnInBlocks(
  training: Omit<BlockTraining, 'solver'>,
  handOver: HandOver,
  checkpoints: Checkpoints,
  run: RunState,
): Promise<Solution[]> {
  const { objective, problems } = training
  // What the first run kept in memory is of no use any more.
  const state: RunState & { handedOver: Handed } = {
    ...{ ...run, solver: undefined },
    handedOver: structuredClone(run.handedOver) ?? { work: problems.map(() => run.work) },
  }
  const { handedOver } = state
  handOver.say()
  const solutions = [...(run.solutions as (Solution | null)[])]
  let interrupted = false
  for (const [model, known] of solutions.entries()) {
    if (known) continue
    const own = objective instanceof BundlesObjective ? handOver.alone(problems[model]) : (objective as BinaryObjective)
    if (objective instanceof BundlesObjective) own.weightsInPlace().set(objective.copyWeights(model))
    const at = { model, done: solutions.filter(solution => solution !== null).length }
    // What the model that was interrupted has come to must not be lost for one after it.
    const keeper = interrupted ? nowhere : keeperFor(checkpoints, state, own, { model, alone: own === objective })
    const next = { ...training, solver: handOver.solver, tell: tellBestGap(training.tell, lastGap(run)) }
    const solution = await goOnWith(own, next, handedOver, { ...at, keeper })
    solutions[model] = solution
    if (objective instanceof BundlesObjective) objective.setWeights(model, own.copyWeights())
    interrupted ||= solution.exitReason === 'interrupted'
    if (interrupted) continue
    handedOver.work[model] = solution.passes
    delete handedOver.at
    if (solution.exitReason === 'converged') state.solutions = state.solutions.with(model, solution)
    await checkpoints.save(state)
  }
  const done = solutions as Solution[]
  if (!interrupted) await checkpoints.save({ ...state, done })
  return done
}

/** Trains one model to its end, from its weights or from where a checkpoint left it. */
async function goOnWith(
  own: BinaryObjective,
  { engine, options, solver, tell }: BlockTraining,
  { work, at }: Handed,
  { model, done, keeper }: { model: number; done: number; keeper: StateKeeper },
): Promise<Solution> {
  const passes = work[model]
  const driver = new Driver({
    ...{ source: engine, solver, objective: own, keeper, tell: progress => tell({ ...progress, done }) },
    state: { ...freshState(1), pass: Math.ceil(passes), work: passes },
    // Nothing is known of the weights before all rows were met.
    settings: { ...options, maxPasses: Math.max(options.maxPasses, passes + 1), hasRoomForRows: true },
  })
  if (at?.model === model) await driver.restore(at.state)
  const [solution] = await driver.solve()
  return solution
}

/** Keeps the state of one model within that of the run. Weights of one of many models go with the memory of the method. */
function keeperFor(
  checkpoints: Checkpoints,
  state: RunState & { handedOver: Handed },
  own: BinaryObjective,
  { model, alone }: { model: number; alone: boolean },
): StateKeeper {
  const weights = alone ? [] : [{ at: own.weights, bytes: own.weightCount * own.weightBytes }]
  return {
    // Dual variables do not change any more.
    touch: () => {},
    save: (inner, memory = []) => {
      const handedOver = { ...state.handedOver, at: { model, state: inner } }
      return checkpoints.save({ ...state, handedOver }, [...memory, ...weights])
    },
    loadMemory: stretches => checkpoints.loadMemory([...stretches, ...weights]),
  }
}
