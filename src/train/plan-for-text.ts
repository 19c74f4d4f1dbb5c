// The plan of a run before its text is read, by samples of the text: how many blocks to draw rows into, and whether there is any
// use in reading it.

import type { Manifest } from '../block-store/manifest.ts'
import { Store } from '../block-store/reader.ts'
import { SpillwayError } from '../errors.ts'
import { trainsTogether } from '../losses/formulations.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import { BlocksTooLarge, TooLittleMemory } from '../optimise/sources/memory-plan.ts'
import { estimateText, type TextEstimate } from '../rows/sample-text.ts'
import { hasWeights } from '../tables/schema.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import type { ResolvedOptions } from './options.ts'
import { type FoldsToPlan, planRun, type RunPlan, runOfFolds } from './plan-run.ts'
import { rowsByNumbers } from './rows-of-store.ts'

/** Counts of blocks that are tried: with the blocks the room for their dictionaries does not become smaller. */
const MOST_TRIES = 4
/** So many times more blocks are tried where several classes would have no cache beside blocks of the usual size. */
const FINER = [2, 3, 4]
/** Parts of a block that is too large for certain, however rough an estimate is. */
const MANY_PARTS = 4

/** Blocks that text is drawn into: as many as usual, or more where those would be too large. What cannot work is refused. */
export async function blocksForText(
  paths: string[],
  text: number | undefined,
  solver: BlockSolver,
  options: ResolvedOptions,
  { folded, ...usual }: { blocks: number; chunk: number; folded?: FoldsToPlan | undefined },
): Promise<number> {
  const estimate = text === undefined ? undefined : await estimateText(paths, text, options)
  if (options.memory !== undefined) collectGarbage()
  if (!estimate) return usual.blocks
  const segments = Math.ceil(text! / usual.chunk)
  const tooLarge = async (
    used: number,
    blocks: number,
    maySplit = false,
  ): Promise<Pick<BlocksTooLarge, 'parts'> | undefined> => {
    try {
      const { finer } = await planOfEstimate(estimate, solver, options, { used, blocks, segments, folded, maySplit })
      return finer && { parts: finer }
    } catch (error) {
      if (error instanceof BlocksTooLarge) return error
      throw error
    }
  }
  const bySamples = (refusal: SpillwayError): SpillwayError => {
    const message = `judged by samples of the text, ${refusal.message}`
    return refusal instanceof TooLittleMemory ? refusal.reworded(message) : new SpillwayError(message, refusal.advice)
  }
  let { blocks } = usual
  // Solvers that keep rows get smaller blocks for those: see withRoomForCache.
  const mayBeFiner = solver.cacheShare === 0 && options.blocks === undefined
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const maySplit = tries === 0 && mayBeFiner
    const found = await tooLarge(estimate.usedLeast, blocks, maySplit).catch(async (refusal: unknown) => {
      if (!(refusal instanceof SpillwayError)) throw refusal
      // More blocks do not help. If those at hand turn out too large, they will be split.
      if (tries > 0) return undefined
      // It cannot work with the fewest features that there can be. Advice is for as many as there may be.
      const more = await tooLarge(estimate.usedMost, blocks).catch((error: unknown) => error)
      throw bySamples(more instanceof SpillwayError ? more : refusal)
    })
    if (!found) break
    if (options.blocks !== undefined) {
      if (found instanceof BlocksTooLarge && Math.max(...found.parts) >= MANY_PARTS)
        throw bySamples(orOtherBlocks(found))
      break
    }
    blocks = found.parts.reduce((sum, parts) => sum + parts, 0)
  }
  if (options.blocks !== undefined) return blocks
  const planWith = (count: number): Promise<RunPlan | undefined> =>
    planOfEstimate(estimate, solver, options, { used: estimate.usedLeast, blocks: count, segments, folded }).catch(
      (error: unknown) => {
        if (error instanceof SpillwayError) return undefined
        throw error
      },
    )
  return withRoomForCache(solver, blocks, planWith)
}

/** More blocks where a solver that keeps rows would give way to one that does not, for want of room beside two blocks. */
async function withRoomForCache(
  solver: BlockSolver,
  blocks: number,
  planWith: (blocks: number) => Promise<RunPlan | undefined>,
): Promise<number> {
  const keepsNothing = (plan: RunPlan | undefined): boolean => plan?.solver.cacheShare === 0
  if (solver.cacheShare === 0 || !keepsNothing(await planWith(blocks))) return blocks
  for (const times of FINER) {
    const plan = await planWith(times * blocks)
    if (plan && !keepsNothing(plan)) return times * blocks
  }
  return blocks
}

/** The plan of a run over so many blocks of text that has these numbers. */
function planOfEstimate(
  estimate: TextEstimate,
  solver: BlockSolver,
  options: ResolvedOptions,
  {
    used,
    blocks,
    segments,
    folded,
    maySplit = false,
  }: { used: number; blocks: number; segments: number; folded?: FoldsToPlan | undefined; maySplit?: boolean },
): Promise<RunPlan> {
  const problems = estimate.classes > 2 && !trainsTogether(options.multiclass) ? estimate.classes : 1
  const store = new Store('', manifestOf(estimate, blocks, segments, options))
  const run = folded
    ? runOfFolds(solver, problems, folded, options, options.schema !== undefined && hasWeights(options.schema))
    : { models: problems }
  const rows = rowsByNumbers(estimate, used, blocks, options)
  return planRun(store, solver, options, { fromText: true, rows, maySplit, ...run })
}

/** The plan of a run over text that is to be drawn into so many blocks, judged by samples; undefined where there are no rows to
 *  judge by, or where blocks are only known to fit once they are there. */
export async function planByText(
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  { text, blocks, chunk }: { text: number | undefined; blocks: number; chunk: number },
): Promise<RunPlan | undefined> {
  const estimate = text === undefined ? undefined : await estimateText(paths, text, options)
  if (!estimate) return undefined
  const segments = Math.ceil(text! / chunk)
  try {
    return await planOfEstimate(estimate, solver, options, { used: estimate.usedLeast, blocks, segments })
  } catch (error) {
    if (error instanceof SpillwayError) return undefined
    throw error
  }
}

/** The refusal of a number of blocks that the user has named. */
export function orOtherBlocks(refusal: BlocksTooLarge): SpillwayError {
  return new SpillwayError(refusal.message, `${refusal.advice}, or smaller blocks: leave out --blocks`)
}

/** What the manifest will say, about. */
function manifestOf(estimate: TextEstimate, blocks: number, segments: number, options: ResolvedOptions): Manifest {
  const rows = Math.ceil(estimate.rows / blocks)
  const nonzeros = Math.ceil(estimate.nonzeros / blocks)
  const block = { file: '', bytes: 0, rows, nonzeros, segments: Math.min(rows, segments), checksum: '' }
  return {
    format: 'spillway block store',
    version: 1,
    createdBy: '',
    rows: estimate.rows,
    nonzeros: estimate.nonzeros,
    features: estimate.features,
    usedFeatures: estimate.usedLeast,
    inputFormat: estimate.format,
    indexBase: 1,
    split: 'random',
    seed: options.seed,
    valueBits: options.values === 'f64' ? 64 : 32,
    compression: 'none',
    transforms: {},
    fingerprint: '',
    labels: Array.from({ length: Math.max(2, estimate.classes) }, (_, k) => ({ value: k, text: String(k), rows: 1 })),
    sources: [],
    blocks: Array.from({ length: blocks }, () => block),
  }
}
