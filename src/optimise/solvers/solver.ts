// What a solver is to the rest of the program. Its run moves models when it visits a group of rows; the driver owns passes,
// timing, stopping, certificates, checkpoints and abort. What a solver needs is declared here and checked in one place
// (compatibility.ts) before any work starts.
import type { Stretch } from '../../block-store/checkpoint.ts'
import type { Regularizer } from '../../losses/formulations.ts'
import type { Loss } from '../../losses/loss.ts'
import type { Communicator } from '../../ranks/communicator.ts'
import { AllClassesObjective } from '../objectives/all-classes.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { BundlesObjective } from '../objectives/bundles.ts'
import type { Certificate } from '../objectives/certificate.ts'
import { EachObjective } from '../objectives/each.ts'
import type { Objective } from '../objectives/objective.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import type { LeastToHalve } from './dual-halves.ts'
import type { LeastForRough } from './rough-weights.ts'
import type { WorkingSet } from './working-set.ts'

export interface SolverSettings {
  seed: number
  /** Processes that train together; this one alone when not said. */
  ranks?: Communicator
  shrinking: boolean
  /** Threads that train at the same time, for a solver that can have several. */
  trainers: number
  /** From which size on two share out the weights, which gives the same bits every time; not said where the user said how many train. */
  halves?: LeastToHalve
  /** From which size on first sweeps are on weights in f32; not said where the user said what weights are. */
  rough?: LeastForRough
  /** Rows from which on sweeps over all of them go by the rules of many-rows.ts; as many as are named there unless said. */
  many?: number
  /** Sweeps over a block each time it is in memory. */
  innerPasses: number
  /** Or sweeps until the projected gradients of a block lie within so much of each other. */
  innerTolerance?: number | undefined
  /** What a primal method takes for one step. */
  batch: 'block' | 'row'
  /** Whether there is room for what a solver keeps for rows and can do without; it asks for spare room unless said. */
  hasRoomForRows?: boolean
  /** What an additive kernel makes of rows, where there is one: they are binned then. */
  space?: unknown
  /** Whether rows are made unit length. */
  normalize?: 'unit' | undefined
  /** Of a solver that asks an index for rows: how much of it is searched before it says that no row is missing; and how many
   *  rows may be missing. */
  indexStop?: 'sampled' | 'exact' | undefined
  indexLeft?: number | undefined
  /** And how the rows that it gave are trained on. */
  indexMethod?: IndexMethod | undefined
}

/** How rows that an index gave are trained on: by coordinate descent on the dual, or by second-order steps on the primal. */
export const indexMethods = { dual: { secondOrder: false }, newton: { secondOrder: true } }
export type IndexMethod = keyof typeof indexMethods

/** Whether rows that an index gave are trained on by second-order steps. */
export function stepsOnIndex({ indexMethod }: Pick<SolverSettings, 'indexMethod'>): boolean {
  return indexMethod !== undefined && indexMethods[indexMethod].secondOrder
}

/** What the driver tells a run when it has a group of rows for it. */
export interface Turn {
  /** Passes before this one. */
  pass: number
  /** Work allowed, in passes over all nonzeros; at least one sweep's share. For a run that decides itself how long it stays. */
  most: number
  /** Passes left in all. Up to one, no other pass follows unless this one ends early: work under way is to be put into w. */
  left: number
  /** Of each model: its primal objective as far as it is known, 0 when it is not; and the relative gap to come back at. */
  primals: readonly number[]
  targets: readonly number[]
  signal: AbortSignal | undefined
  /** Tells how it goes: work of this turn so far, the largest relative gap, infinite when it is not known, and whether that
   *  is of part of the rows. */
  tick(work: number, gap: number, partial: boolean): void
}

/** What a visit showed. */
export interface Seen {
  /** Of each model: losses and debts to the gap of the group's rows as they were met: estimates. */
  losses: number[]
  gaps: number[]
  /** Of each model: its primal objective, where the run knows it better than by those losses. */
  primals?: number[]
  /** Work done, in passes over all nonzeros; the group's share of the rows when not said. */
  work?: number
  /** Of a run that decides itself how long it stays: whether it thinks that its target is met. */
  ready?: boolean
  /** Whether rows that hardly move were left out: then the gap is of the others alone. */
  partial?: boolean
}

/** What a method that keeps rows in memory knows of all rows. */
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

/** Of a method that can say of rows that it does not see what they may owe. */
export interface Ledger {
  account(): Promise<Account>
  /** Blocks that may owe something to the gap that matters beside so much, most first; undefined for all of them. */
  owing(gap: number): number[] | undefined
  /** For the certificate: looks at a group's rows, w as it is. */
  evaluate(group: RowGroup): Promise<void>
  endRound(): void
}

/** What a checkpoint must hold besides weights and dual variables. */
export interface Saved {
  /** Small plain data. */
  state(): unknown
  /** Rows kept in memory and the like, so that they need not be read again. */
  stretches?(): Stretch[]
  /** Goes on from a state; what `stretches` names then is filled in afterwards. */
  restore(state: unknown): void
  /** The stretches have been filled in. */
  restored?(): void
  /** Whether an interrupt has left it where a run that goes on would do otherwise: then the last checkpoint stands. */
  isTorn?(): boolean
}

/** What a method that looks at all rows before it moves knows at the end of a pass: of each model its primal objective and gap,
 *  and whether it is where it should be. */
export interface PassEnd {
  primals: number[]
  gaps: number[]
  done: boolean[]
}

/** How far a method has come that looks at all rows before it moves. */
export interface Steps {
  /** Steps that were found so far, and passes for the next one besides that of its gradient: products with second derivatives,
   *  looks along the step, and shorter ones. */
  outer: number
  inner: number
  /** Of a method that solves smoother problems first: which of them this is, counted from 1, and how many there will be, if
   *  that can be told. */
  stage?: number
  stages?: number
}

export interface Run {
  /** Whether it finds its rows by itself: a pass then is one visit, of a group without rows. */
  findsRows?: true
  /** Whether it is at its end by a rule of its own, whatever the gap. */
  endsByItself?(): boolean
  visit(group: RowGroup, turn: Turn): Promise<Seen>
  /** All ranks have visited their groups of this pass: what they found is put together. `last`: no other pass follows. Gives the
   *  work that it took, in passes over all rows. */
  meet?(last: boolean): Promise<number>
  /** Works on rows that stay in memory, between two passes, towards a gap; how much, and at most how much, in passes. */
  settle?(gap: number, most: number): Promise<number>
  /** Of a method that looks at all rows before it moves: the pass is over. `target` is the relative gap to reach. */
  endPass?(target: number): Promise<PassEnd>
  /** Of a method with dual variables: whether visits leave them as they are, so that a checkpoint need not write them. */
  readonly leavesDual?: boolean
  /** A pass has ended, and another one follows. */
  nextPass?(): void
  /** Of a method that is not certified by dual variables of its own: the certificates of the weights as they are. */
  certificates?(): Certificate[] | undefined | Promise<Certificate[] | undefined>
  ledger?: Ledger
  saved?: Saved
  /** Of a method that keeps rows in memory: how many are there. */
  rowsKept?(): number
  /** Of one that lets them go again: how many have left so far. */
  rowsEvicted?(): number
  /** Of a method whose steps take several passes. */
  steps?(): Steps
  /** Whether what rows owe as they are met is about in proportion, from pass to pass, to what all owe together: then a certificate
   *  tells how much of it is to be believed. */
  isInProportion?(): boolean
  /** Certificates did not confirm what was believed of the models that are not done. */
  notYet?(done: boolean[]): void
  /** A convex problem of a series begins: of the rows that are not left out now. What the run has in memory stays, if it had
   *  another of them before. `anchored`: whether the weights are known that said who is left out. */
  nextProblem?(anchored: boolean): void
  /** Takes over rows that were trained on while text was being read. */
  adopt?(rows: WorkingSet, places: number, features: number, map: number): void
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
  'trainers',
  'indexStop',
  'indexLeft',
  'indexMethod',
] as const
export type SolverOption = (typeof solverOptions)[number]

interface AnySolver {
  name: string
  summary: string
  /** What a loss must have. */
  lossNeeds: { what: string; has(loss: Loss): boolean }
  /** The options, of those that only some solvers understand, that it does; others are refused. */
  options: readonly SolverOption[]
  /** Whether it keeps dual variables, and so can be certified by a duality gap. */
  dual: boolean
  /** Passes when the user does not say how many: for methods that know no gap to stop at, or whose passes are short. */
  defaultPasses?: number
  /** Passes after which it has nothing more to learn; more are refused. */
  mostPasses?: number
  /** Sweeps over a block, or visits in memory for each row that is read, when the user does not say how many. */
  defaultInnerPasses?: number
  /** What it can minimise beside the losses; ½‖w‖² when not said. */
  regularizers?: readonly Regularizer[]
  /** Whether it keeps weights as f64 only. */
  wideWeights?: true
  /** Whether it knows a single cost for all rows; class weights are refused. */
  oneCost?: true
  /** Whether it knows a weight for each row; others refuse them. */
  rowWeights?: true
  /** Whether it passes over rows that are left out, the outliers of a truncated loss; others refuse such a loss. */
  leavesOut?: true
  /** Features up to which it trains a loss, without a kernel; infinite where any number will do, and with a kernel, too. */
  mostFeatures?(loss: Loss): number
  /** Bytes that it keeps for each row and model beside dual variables, by the loss and the number of weights; over ranks nothing. */
  rowBytes?(loss: Loss, weights: number): number
  /** The same of what it can do without, if it has to: then it takes more passes. */
  spareRowBytes?(loss: Loss, weights: number): number
  /** Whether several ranks can train by it, each on its rows. */
  overRanks?: true
}

export type Start<O, Source = RowSource> = (objective: O, source: Source, settings: SolverSettings) => Run

/** How a solver starts on what it can train: one binary model, many of them together, all classes at once. Many are bundles,
 *  or have vectors of their own and share passes alone. */
interface Starts<Source> {
  start: Start<BinaryObjective, Source>
  startMany?: Start<BundlesObjective, Source>
  startEach?: Start<EachObjective, Source>
  startAllClasses?: Start<AllClassesObjective, Source>
}

/** What most dual methods need of a loss. */
export const anyDual: Solver['lossNeeds'] = {
  what: 'a dual (box or entropic)',
  has: loss => loss.box !== undefined || loss.entropicDual === true,
}

/** A solver of rows that are all in memory. */
export interface MemorySolver extends AnySolver, Starts<RowSource> {
  data: 'memory'
  /** The same method where rows come in blocks. */
  inBlocks?: BlockSolver
  /** Bytes that it needs beside rows, weights and dual variables, for so many weights of each of some models. */
  extraBytes?(weights: number, models?: number): number
  /** Whether it needs the rows as columns, too. */
  columns?: true
}

/** What the memory of a solver depends on besides its sizes. */
export interface RunWithExtra extends Pick<SolverSettings, 'indexMethod'> {
  /** Whether the weights are those of all classes at once. */
  together: boolean
}

/** A solver of rows that come in blocks. */
export interface BlockSolver extends AnySolver, Starts<BlockEngine> {
  data: 'blocks'
  /** Share of the memory for blocks that it wants for a cache of rows. */
  cacheShare: number
  /** The least that the cache must have, by all rows and the bytes of a row's record on average. */
  leastCache?: (rows: number, recordBytes: number) => number
  /** Bytes that it needs besides, for each weight and for each row. */
  extra?: { perWeight: number | ((weights: number, run: RunWithExtra) => number); perRow: number }
  /** The same where there are several ranks. */
  extraOverRanks?: { perWeight: number; perRow: number }
  /** Whether it carries dual variables on, where there is room for weights and dual variables of before. */
  momentum?: true
  /** Whether several threads can train at the same time. */
  severalTrainers?: true
  /** Whether it can train on text while that is being read into a store. */
  firstPass?: true
  /** Whether it needs the index of the store (sample-index/), which holds rows as they are in the store. */
  needsIndex?: true
}

export type Solver = MemorySolver | BlockSolver

/** Whether a solver trains many models together. */
export const trainsMany = ({ startMany, startEach }: Pick<Solver, 'startMany' | 'startEach'>): boolean =>
  startMany !== undefined || startEach !== undefined

/** Whether a solver trains models of folds: together, or, over blocks, one after the other, each without the rows that it may not
 *  see. */
export const trainsFolds = (solver: Solver): boolean =>
  trainsMany(solver) || (solver.data === 'blocks' && solver.dual && solver.leavesOut === true)

/** Bytes that a solver of blocks has besides for each of so many weights. */
export function extraPerWeight({ extra }: BlockSolver, weights: number, run: RunWithExtra): number {
  const perWeight = extra?.perWeight ?? 0
  return typeof perWeight === 'number' ? perWeight : perWeight(weights, run)
}

/** What a solver can minimise beside the losses. */
export const regularizersOf = ({ regularizers = ['l2'] }: Pick<Solver, 'regularizers'>): readonly Regularizer[] =>
  regularizers

/** Starts a solver on an objective. What the solver is not fit for was refused before. */
export function startRun(solver: Solver, objective: Objective, source: RowSource, settings: SolverSettings): Run {
  // A solver of blocks is only ever given blocks.
  const { start, startMany, startEach, startAllClasses } = solver as Starts<RowSource>
  if (objective instanceof EachObjective) return startEach!(objective, source, settings)
  if (objective instanceof BundlesObjective) return startMany!(objective, source, settings)
  if (objective instanceof AllClassesObjective) return startAllClasses!(objective, source, settings)
  return start(objective as BinaryObjective, source, settings)
}
