// What a solver is to the rest of the program. It owns one pass; the driver in training/ owns passes, timing, stopping,
// certificates and abort. What a solver needs is declared here and checked in one place before any work starts.

import type { Stretch } from '../../block-store/checkpoint.ts'
import { UsageError } from '../../errors.ts'
import type { Loss } from '../../losses/loss.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { ExitReason, Solution } from '../driver/driver.ts'
import type { BlockProblem } from '../objectives/block-problem.ts'
import type { CrammerSingerProblem } from '../objectives/crammer-singer-problem.ts'
import type { BinaryProblem } from '../objectives/problem.ts'
import type { BlockEngine, LoadedBlock } from '../sources/block-engine.ts'
import type { WorkingSet } from './working-set.ts'

export interface SolverSettings {
  seed: number
  shrinking: boolean
}

/** What the driver tells a solver before a pass. */
export interface PassOrder {
  /** Work allowed, in passes over all nonzeros; at least one sweep's share. */
  most: number
  /** The gap (absolute) at which the solver should come back early and be certified. */
  targetGap: number
  /** Passes left in all. Up to one, no other pass follows unless this one ends early: work under way is to be put into w. */
  left?: number
  signal: AbortSignal | undefined
}

export interface PassReport {
  /** Work done, in passes over all nonzeros. */
  passes: number
  /** What the solver believes: an estimate, no certificate. */
  estimate: { primal: number; gap: number }
  /** True when the solver thinks the target is met. */
  ready: boolean
}

export interface SolverRun {
  pass(order: PassOrder): Promise<PassReport>
  /** The certificate did not confirm what the solver believed. */
  notYet(): void
}

interface AnySolver {
  name: string
  summary: string
  /** What a loss must have. */
  lossNeeds: { what: string; has(loss: Loss): boolean }
  /** The options, of those that only some solvers understand, that it does; others are refused. */
  options: readonly SolverOption[]
  /** Passes when the user does not say how many: for methods that know no gap to stop at, or whose passes are short. */
  defaultPasses?: number
  /** Passes after which it has nothing more to learn; more are refused. */
  mostPasses?: number
  /** Sweeps over a block, or visits in memory for each row that is read, when the user does not say how many. */
  defaultInnerPasses?: number
  /** What it minimises beside the losses; ½‖w‖² when not said. */
  regularizer?: 'l1'
  /** Whether it keeps weights as f64 only. */
  wideWeights?: true
  /** Whether it knows a single cost for all rows; class weights are refused. */
  oneCost?: true
  /** Whether it can train all classes at once. */
  crammerSinger?: true
}

/** A solver of rows that are all in memory. */
export interface MemorySolver extends AnySolver {
  data: 'memory'
  start(pool: ThreadPool, problem: BinaryProblem, settings: SolverSettings): SolverRun
  /** Whether many models can be trained together. */
  manyModels?: true
  /** The same for all classes at once. */
  startCrammerSinger?(pool: ThreadPool, problem: CrammerSingerProblem, settings: SolverSettings): SolverRun
}

/** A solver of rows that come in blocks. */
export interface BlockSolver extends AnySolver {
  data: 'blocks'
  /** Whether it keeps dual variables, and so can be certified by a duality gap. */
  dual: boolean
  /** Share of the memory for blocks that it wants for a cache of rows. */
  cacheShare: number
  /** Bytes that it needs besides, for each weight and for each row. */
  extra?: { perWeight: number; perRow: number }
  /** Whether several threads can train at the same time. */
  severalTrainers?: true
  /** How it trains many models with every block that is read: with the block alone, with rows of a cache among the block's,
   *  or with those in turns with the block's. */
  manyModels?: 'alone' | 'among' | 'in-turns'
  /** Whether it can train on text while that is being read into a store. */
  firstPass?: true
  start(engine: BlockEngine, problem: BlockProblem, settings: BlockSettings): BlockRun
}

export type Solver = MemorySolver | BlockSolver

/** Whether many models can be trained together with it. */
export function trainsManyModels(solver: Solver): boolean {
  return solver.manyModels !== undefined
}

/** Names of training options that only some solvers understand. */
export const solverOptions = [
  'innerPasses',
  'innerTolerance',
  'blockOrder',
  'batch',
  'shrinking',
  'tolerance',
  'gradientTolerance',
] as const
export type SolverOption = (typeof solverOptions)[number]

/** Training options that have a meaning only where rows are in a store. */
const storeOptions = ['store', 'blocks', 'resume', 'cold', 'checkpointSeconds'] as const

export interface BlockSettings extends SolverSettings {
  /** Threads that train at the same time, for a solver that can have several. */
  trainers: number
  /** Sweeps over a block each time it is in memory. */
  innerPasses: number
  /** Or sweeps until the projected gradients of a block lie within so much of each other. */
  innerTolerance?: number | undefined
  /** What a primal method takes for one step. */
  batch: 'block' | 'row'
}

/** What working on a block showed. */
export interface VisitReport {
  /** Losses and debts to the gap of the block's rows as they were first met: estimates. */
  loss: number
  gap: number
}

/** What a solver that keeps rows in memory knows of all rows. */
export interface Account {
  dual: number
  /** What all rows owe to the gap, those that are not in memory as they were last met: an estimate. */
  owed: number
  /** The most that all rows can owe: what a certificate rests on. Infinite when nothing is known of some. */
  certain: number
  supportVectors: number
  /** Rows on the right side; null when that would have to be read. */
  correct: number | null
  /** Distance between the largest and the smallest projected gradient met in the last round. */
  spread: number
}

export interface BlockRun {
  visit(block: LoadedBlock, pass: number): Promise<VisitReport>
  /** What a checkpoint must hold besides weights and dual variables: small plain data. */
  state?(): unknown
  /** Rows kept in memory and the like: a checkpoint holds them, so that they need not be read again. */
  memory?(): Stretch[]
  /** Goes on from a state; what `memory` names then is filled in afterwards. */
  restore?(state: unknown): void
  /** The memory has been filled in. */
  restored?(): void
  /** True when it puts dual variables into their places itself, and the copies beside a block's rows are not used. */
  keepsAlpha?: boolean
  /** Works on the rows in memory alone, towards a gap; how much and at most how much, in passes over all nonzeros. */
  settle?(gap: number, most: number): Promise<number>
  account?(): Promise<Account>
  /** Blocks that may owe something to the gap that matters beside so much, most first; undefined for all of them. */
  owing?(gap: number): number[] | undefined
  /** For the certificate: looks at a block's rows, w as it is. */
  evaluate?(block: LoadedBlock): Promise<void>
  endRound?(): void
  /** Takes over rows that were trained on while text was being read. */
  adopt?(rows: WorkingSet, places: number, features: number, map: number): void
  /** Of many models that are trained together: how each of them ended, when the run ends for a reason; `certified` unless it
   *  was interrupted before that. */
  models?(passes: number, exitReason: ExitReason, certified?: boolean): Solution[]
  /** Of many models: looks at losses of a block's rows along the weights of each, for the last line search; undefined begins
   *  anew. */
  lookAlong?(block: LoadedBlock | undefined): Promise<void>
  /** Adds what a block's dual variables give to the weights, where the problem does not know how. */
  addDual?(block: LoadedBlock): Promise<void>
  /** How many of them are done. */
  modelsDone?(): number
  /** The weights are final: brings them into their place if the method kept them otherwise. */
  finish?(): void
}

/** The one refusal of what does not go together. `given` are the names of the options that were said. */
export function checkCompatible(
  solver: Solver,
  loss: Loss,
  options: { given: ReadonlySet<string>; solver?: string } & Partial<Record<string, unknown>>,
): void {
  const { given } = options
  checkRegularizer(solver, loss, String(options['regularizer'] ?? 'l2'))
  // Whoever leaves the choice to us says them for the case that there is a store, which there never is under l1.
  const asked = solver.data === 'memory' && (options.solver === solver.name || solver.regularizer === 'l1')
  const storeOption = asked && storeOptions.find(name => given.has(name) && options[name] !== false)
  if (storeOption) {
    throw new UsageError(
      `the option ${storeOption} is not compatible with solver ${solver.name}, which keeps all rows in memory: it would be ignored`,
    )
  }
  if (options['multiclass'] === 'crammer-singer') checkCrammerSinger(solver, loss, options['weights'])
  if (!solver.lossNeeds.has(loss)) {
    throw new UsageError(
      `the ${loss.name} loss is not compatible with solver ${solver.name}: missing ${solver.lossNeeds.what}`,
    )
  }
  if (loss.entropicDual && !solver.regularizer && given.has('shrinking')) {
    throw new UsageError(`the option shrinking is not compatible with the ${loss.name} loss: it would be ignored`)
  }
  if (solver.wideWeights && options['weights'] === 'f32') {
    throw new UsageError(
      `the option weights is not compatible with solver ${solver.name}, which keeps its weights as f64: f32 would be ignored`,
    )
  }
  for (const option of solverOptions) {
    if (given.has(option) && !solver.options.includes(option)) {
      throw new UsageError(`the option ${option} is not compatible with solver ${solver.name}: it would be ignored`)
    }
  }
}

function checkCrammerSinger(solver: Solver, loss: Loss, weights: unknown): void {
  if (!loss.allClasses) {
    throw new UsageError(
      `the ${loss.name} loss is not compatible with multiclass crammer-singer, which is a problem of the hinge loss`,
      'take --loss hinge, or --multiclass one-vs-rest',
    )
  }
  if (!solver.crammerSinger) {
    throw new UsageError(
      `solver ${solver.name} is not compatible with multiclass crammer-singer: it trains one class after the other`,
      'take --solver dual or block, or --multiclass one-vs-rest',
    )
  }
  if (weights === 'f32') {
    throw new UsageError('weights f32 are not compatible with multiclass crammer-singer: its weights are f64')
  }
}

function checkRegularizer(solver: Solver, loss: Loss, asked: string): void {
  const own = solver.regularizer ?? 'l2'
  if (own !== asked) {
    throw new UsageError(
      `the ${asked} regularizer is not compatible with solver ${solver.name}, which is for ${own}`,
      asked === 'l1'
        ? 'leave the choice to --solver auto'
        : `say --regularizer ${own}, or leave the choice to --solver auto`,
    )
  }
  if (own === 'l1' && !solver.lossNeeds.has(loss)) {
    throw new UsageError(
      `the ${loss.name} loss is not compatible with the l1 regularizer: missing ${solver.lossNeeds.what}`,
      'take --loss squared-hinge or --loss logistic',
    )
  }
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
