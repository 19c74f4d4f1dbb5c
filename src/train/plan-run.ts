// The plan of a whole run over blocks: with which solver, how many models at a time, and whether its blocks had better be smaller.

import { Store } from '../block-store/reader.ts'
import { SpillwayError } from '../errors.ts'
import { lanesOf } from '../optimise/objectives/bundles.ts'
import { askedSolver } from '../optimise/solvers/all-solvers.ts'
import { block } from '../optimise/solvers/block.ts'
import { selective } from '../optimise/solvers/selective.ts'
import { type BlockSolver, trainsMany } from '../optimise/solvers/solver.ts'
import { hasPairs, partsForPairs, partsOf } from '../optimise/sources/finer-blocks.ts'
import { afterSplit, BlocksTooLarge, GOOD_BLOCK, LEAST_BLOCK, PAIR } from '../optimise/sources/memory-plan.ts'
import type { ByteCount } from '../sizes.ts'
import { DEFAULTS, type ResolvedOptions } from './options.ts'
import { bytesOfScores, isTruncatedLoss, planFor, type StorePlan, type ToPlan } from './plan-for-blocks.ts'
import { type RowsOfStore, rowsAfterSplit } from './rows-of-store.ts'

/** How many models there are, and how many of them the memory has room for. */
export function modelsText(models: number, size: number): string {
  return size < models ? `for ${models} models, ${size} at a time` : `for ${models} models together`
}

/** So many models are trained at a time, by this plan. */
interface ModelsAtATime {
  models: number
  plan: StorePlan
}

/** How many models are trained at a time, all that the memory has room for, and the plan for them; undefined where each is
 *  trained alone. */
async function planTogether(
  store: Store,
  solver: BlockSolver,
  options: ResolvedOptions,
  { models, must = false, most: limit = models, maySplit: _, ...run }: RunToPlan,
): Promise<ModelsAtATime | undefined> {
  const single =
    options.innerTolerance !== undefined || options.gradientTolerance !== undefined || isTruncatedLoss(options)
  // Over ranks, models whose dual variables are moved are trained one after the other.
  const trains = options.ranks.size > 1 ? solver.startEach !== undefined : trainsMany(solver)
  const can = models > 1 && trains && options.weights === 'f64' && !single
  if (!must && (!can || options.expand)) return undefined
  const lanes = (size: number): number => (solver.startEach ? size : lanesOf(size))
  const planOf = (size: number) => planFor(store, solver, options, { ...run, folds: must, lanes: lanes(size) })
  const fits = (size: number): Promise<StorePlan | undefined> =>
    planOf(size).catch((error: unknown) => {
      if (!(error instanceof SpillwayError)) throw error
      return undefined
    })
  const least = must ? 1 : 2
  if (Math.min(models, limit) < least) return undefined
  let found = await mostModels(least, Math.min(models, limit), fits)
  if (!found) return must ? { models: 1, plan: await planOf(1) } : undefined
  if (mustMeet(solver, options) && !hasPairs(found.plan)) {
    const paired = await mostModels(least, found.models, async size => {
      const plan = await fits(size)
      return plan && hasPairs(plan) ? plan : undefined
    })
    if (paired && WORTH_PAIRS * paired.models >= found.models) found = paired
  }
  // Groups of about one size: no fewer of them, and none with a model or two.
  const size = Math.ceil(models / Math.ceil(models / found.models))
  return { models: size, plan: size === found.models ? found.plan : await planOf(size) }
}

/** So many times fewer models at a time are worth it where blocks meet in pairs: 100 classes of 20,942 rows in 13 blocks took 247 passes
 *  where each was met alone, and 23 in 27 blocks, two at a time. */
const WORTH_PAIRS = 4
/** Blocks of these sizes leave room for many models. The larger ones are fewer. */
const FINE_BLOCKS = [GOOD_BLOCK / PAIR, LEAST_BLOCK]
/** Smaller blocks are made for so many times more models at a time. */
const WORTH_SPLITTING = 2

/** The largest number of models that has a plan, by halves. */
async function mostModels(
  least: number,
  most: number,
  planOf: (models: number) => Promise<StorePlan | undefined>,
): Promise<ModelsAtATime | undefined> {
  let found = await planOf(most)
  if (found) return { models: most, plan: found }
  let [low, high] = [least - 1, most]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const plan = await planOf(middle)
    if (plan) [low, found] = [middle, plan]
    else high = middle
  }
  return found && { models: low, plan: found }
}

/** Whether rows meet none but those that are loaded with them: a method that keeps no others, on the dual. */
const mustMeet = ({ dual, cacheShare }: BlockSolver, { memory }: ResolvedOptions): boolean =>
  dual && cacheShare === 0 && memory !== undefined

/** Into how many blocks each is to be split so that blocks meet in pairs, or twice as many models are trained at a time; undefined
 *  where they are small enough. */
async function finerBlocks(
  store: Store,
  solver: BlockSolver,
  options: ResolvedOptions,
  run: RunToPlan,
  together: ModelsAtATime | undefined,
): Promise<number[] | undefined> {
  if (!mustMeet(solver, options) || run.models === 1) return undefined
  let best = together && hasPairs(together.plan) ? together.models : 0
  let finer: number[] | undefined
  for (const bytes of FINE_BLOCKS) {
    const parts = partsOf(store.manifest, run.rows, bytes)
    if (parts.every(count => count === 1)) continue
    const split = new Store(store.folder, afterSplit(store.manifest, parts))
    const found = await planTogether(split, solver, options, { ...run, rows: rowsAfterSplit(run.rows, parts) })
    if (!found || !hasPairs(found.plan) || found.models < WORTH_SPLITTING * best) continue
    best = found.models
    finer = partsForPairs(found.plan, parts)
  }
  return finer?.some(count => count > 1) ? finer : undefined
}

/** How a run over blocks goes: with which solver and options, with how many models together, in what memory. */
export interface RunPlan {
  solver: BlockSolver
  options: ResolvedOptions
  together: { models: number } | undefined
  plan: StorePlan
  /** Into how many blocks each is better split. */
  finer?: number[]
}

export interface RunToPlan extends Omit<ToPlan, 'lanes'> {
  rows: RowsOfStore
  models: number
  /** Of models of folds: they are always trained together. */
  must?: boolean
  /** How many are trained together at most: what other ranks have room for. */
  most?: number
  /** Whether blocks may still be split. */
  maySplit?: boolean
}

/** Models of folds that are trained, for each class. */
export interface FoldsToPlan {
  folds: number
  /** How many costs are tried. */
  costs: number
  /** What is made of their scores takes so much for each row. */
  besidesPerRow?: ((weighted: boolean) => ByteCount) | undefined
  /** Whether they are trained where the text was read, or after other models; they are if not said. */
  fromText?: boolean
}

/** What is planned for models of folds: of so many classes, at so many costs. */
export function runOfFolds(
  solver: BlockSolver,
  classes: number,
  { folds, costs, besidesPerRow, fromText = true }: FoldsToPlan,
  options: ResolvedOptions,
  weighted: boolean,
): Omit<RunToPlan, 'rows'> {
  const bytesPerRow = bytesOfScores(classes * costs) + (besidesPerRow?.(weighted) ?? 0)
  const must = trainsMany(solver) && !isTruncatedLoss(options)
  return { models: classes * costs * folds, bytesPerRow, must, folds: true, fromText }
}

/** The plan of a whole run, for `train` and for `inspect`. */
export async function planRun(
  store: Store,
  solver: BlockSolver,
  options: ResolvedOptions,
  run: RunToPlan,
): Promise<RunPlan> {
  const { models, must = false, most: _, maySplit = false, ...alone } = run
  // Several models share what is read, and need rows of other blocks beside those at hand: `block` alone may take hundreds of
  // passes where these are few (10,000 digits in two blocks: short of 1e-3 after 300, where `selective` takes 5).
  const isOurs = !askedSolver(options.solver) && !isTruncatedLoss(options)
  const ours = models > 1 && !must && isOurs && solver.firstPass === true && options.ranks.size === 1
  if (ours) {
    options = { ...options, innerPasses: DEFAULTS.innerPasses }
    solver = selective
  }
  let together = await planTogether(store, solver, options, run)
  if (ours && !together) {
    solver = block
    together = await planTogether(store, solver, options, run)
  }
  const finer = maySplit ? await finerBlocks(store, solver, options, run, together) : undefined
  try {
    const plan = together?.plan ?? (await planFor(store, solver, options, alone))
    return { solver, options, together, plan, ...(finer && { finer }) }
  } catch (error) {
    // They are split once, then.
    throw finer && error instanceof BlocksTooLarge ? error.into(finer) : error
  }
}
