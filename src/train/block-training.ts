// What a run over blocks is, and where its states are kept.
import { spaceText } from '../additive-kernels/row-space.ts'
import { Checkpoints, type RunState, stateFolder } from '../block-store/checkpoint.ts'
import type { PassProgress } from '../optimise/driver/progress.ts'
import type { Looked } from '../optimise/driver/relaxations.ts'
import type { Objective } from '../optimise/objectives/objective.ts'
import type { FirstPass } from '../optimise/solvers/first-pass.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import type { BlockEngine } from '../optimise/sources/block-engine.ts'
import type { StartAfter } from './change-over.ts'
import { type FoldedProblem, isTruncated } from './class-problems.ts'
import type { HandOver } from './go-on-in-blocks.ts'
import type { ResolvedOptions } from './options.ts'
import type { RunStart } from './outcome.ts'

/** What a run over blocks is, from its beginning to its end. */
export interface BlockTraining {
  engine: BlockEngine
  solver: BlockSolver
  options: ResolvedOptions
  objective: Objective
  /** The models that it trains; of all classes at once, any. */
  problems: FoldedProblem[]
  allClasses: boolean
  /** What was learnt while text was read, and the map from features to weights. */
  first?: { pass: FirstPass; map: number } | undefined
  tell: (progress: PassProgress) => void
  say: (reason: string) => void
  began: (start: RunStart) => void
  /** Who goes on when it stalls, where that is left to us and there is room for it. */
  handOver?: HandOver | undefined
  /** Gives the room of the run up for the one who goes on, where there is none beside it. */
  changeOver?: ((state: Readonly<RunState>) => never) | undefined
  /** Tells that nobody can, for want of room. */
  lacksRoom?: (() => void) | undefined
  /** Of a run that goes on after another one has given its room up: where it starts. */
  after?: StartAfter | undefined
  /** Hears of every convex problem of a truncated loss. */
  looked: (looked: Looked) => void
}

type StateOf = Pick<BlockTraining, 'engine' | 'options' | 'objective' | 'problems' | 'allClasses' | 'after'>

/** Where the states of a training are kept: one place for each distinct problem. */
export function checkpointsOf(training: StateOf): Checkpoints {
  const { engine, options, objective } = training
  const { ranks } = options
  const folder = stateFolder(engine.store.folder, identityOf(training, ranks.size > 1))
  return new Checkpoints(engine.arena, objective, engine.store.manifest, folder, ranks)
}

/** What a problem is told by. A state of one of several ranks has the weights of all of them, and dual variables of its own rows. */
export function identityOf(
  { engine, options, problems, allClasses, after }: StateOf,
  overRanks: boolean,
): Record<string, unknown> {
  const { manifest } = engine.store
  const [first] = problems
  const many = problems.map(({ label, costPositive }) => `${label.text}:${costPositive}`).join(' ')
  return {
    ...(overRanks && { overRanks }),
    // The state of the run before it stays.
    ...(after && { after: true }),
    loss: options.loss,
    ...(isTruncated({ problems }) && { outlierMargin: options.outlierMargin }),
    costPositive: first.costPositive,
    costNegative: first.costNegative,
    bias: first.bias,
    positive: problems.length > 1 ? many : first.label.text,
    normalize: options.normalize ?? null,
    scale: options.scale ?? null,
    // States of version 0.1.0, whose scaled values were rounded to f32, are those of another problem.
    ...(options.scale && { scaled: 'f64' }),
    weights: options.weights,
    ...(allClasses && {
      multiclass: options.multiclass,
      labels: manifest.labels.filter(label => label.rows > 0).map(label => label.text),
      cost: options.cost,
      classWeights: options.classWeights,
    }),
    ...(options.expand !== undefined && { expand: options.expand }),
    ...(options.space && { space: spaceText(options.space) }),
  }
}

/** The pass that a run goes on with, counted from 1 and as progress counts it: by the work done, which for a run that works on
 *  rows in memory is more than the rounds over the blocks. */
export function nextPassOf({ work, handedOver }: RunState): number {
  const done = handedOver?.at?.state.work ?? Math.max(work, ...(handedOver?.work ?? []))
  return Math.floor(done + ALMOST) + 1
}

/** A pass ends within a row of its budget. */
const ALMOST = 1e-3
