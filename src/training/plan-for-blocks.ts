// The memory of a run over blocks: the plan of a store under a solver's needs, and what reading text takes before it and
// leaves behind.
import { inputFormatOf } from '../block-store/manifest.ts'
import { LEAST_BUFFERS } from '../block-store/read-into-blocks.ts'
import type { Store } from '../block-store/reader.ts'
import { SpillwayError } from '../errors.ts'
import { scalingBytes } from '../features/scale.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { findLoss } from '../losses/all-losses.ts'
import { bytesForTrainers } from '../solvers/parallel-sweeps.ts'
import type { BlockSolver } from '../solvers/solver.ts'
import { allowedMemory } from './choose-solver.ts'
import { even } from './crammer-singer-problem.ts'
import { type MemoryPlan, NODE_BYTES, planMemory } from './memory-plan.ts'
import type { ResolvedOptions } from './options.ts'
import { type RowsOfStore, rowsOfStore } from './rows-of-store.ts'

/** The plan of a store under a solver's needs. `lanes`: of many models that are trained together, weights and dual variables
 *  of each; `bytesPerRow`: what else there is for each row. */
export async function planFor(
  store: Store,
  solver: BlockSolver,
  options: ResolvedOptions,
  fromText = false,
  rows?: RowsOfStore,
  lanes = 1,
  bytesPerRow = 0,
): Promise<MemoryPlan> {
  const { manifest } = store
  const { weights, entryBytes, mapBytes, expanded } = rows ?? (await rowsOfStore(store, options))
  const classes = manifest.labels.filter(label => label.rows > 0).length
  const together = options.multiclass === 'crammer-singer'
  const needs = {
    alphaBytes: together ? classes * 8 : solver.dual ? alphaStride(options) * lanes : 0,
    mapBytes,
    weights,
    entryBytes,
    expanded,
    // The model at the end is a copy of the weights, in a list of its own when few features are in use. Weights of expanded
    // features are lent to the model, unless there are several vectors to put together.
    perWeight:
      expanded && classes === 2 && !together
        ? 0
        : (mapBytes > 0 ? 12 : 8) * (classes === 2 && !together ? 1 : classes) +
          (options.scale ? scalingBytes(options.scale) : 0),
    // Bits of the classes in play, of a loaded block's rows; all rows at most.
    perRow: (solver.extra?.perRow ?? 0) + bytesPerRow + (together ? Math.ceil(classes / 64) * 8 : 0),
    slots: 2,
    cacheShare: solver.cacheShare,
    // A run that goes on with the store is planned for alike.
    firstPass: mayTrainWhileReading(solver, options),
  }
  // Without a limit to fill, blocks are what the user made them.
  const memory = allowedMemory(options)
  const limited = options.memory !== undefined
  const reserve = (bytes: number): number =>
    limited
      ? forFilePages(bytes) +
        (fromText ? ingestRemains(bytes, growing(options, inputFormatOf(manifest))) : 0) +
        (classes > 2 ? forManyModels(bytes) : 0)
      : 0
  const planned = (weights: ResolvedOptions['weights']): MemoryPlan => {
    const weightBytes = together ? even(classes) * 8 : (weights === 'f32' ? 4 : 8) * lanes
    const perWeight =
      needs.perWeight +
      (weights === 'f32' ? 0 : (solver.extra?.perWeight ?? 0)) +
      (solver.severalTrainers ? bytesForTrainers(options.trainers, weightBytes, options.scale !== undefined) : 0)
    return planMemory(manifest, memory, { ...needs, perWeight, weightBytes, reserve }, limited)
  }
  if (!expanded || together || options.given.has('weights')) return planned(options.weights)
  // Expanded features are so many that f32 may be all there is room for.
  try {
    return planned('f64')
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    return planned('f32')
  }
}

/** Started from a cold disk, some 65 MB of Node's own file count against a cap, of which NODE_BYTES holds the smallest part
 *  that works: where there is memory for it, more of them stay, for reading them again and again is what makes a run crawl. */
export function forFilePages(memory: number): number {
  return Math.min(32 << 20, Math.max(0, Math.floor((memory - (104 << 20)) / 5)))
}

/** Heaps of threads grow further while many models are trained: with 100 classes under 256M the run had 236 MB of its own
 *  without this, 207 MB with twice as much. Where there is little memory, heaps stay small. */
export function forManyModels(memory: number): number {
  return Math.min(12 << 20, Math.max(0, Math.floor((memory - (128 << 20)) / 12)))
}

/** What an ingest leaves behind in the same process: heap and allocator keep what its buffers took, the more the larger
 *  they were. Measured: 26 MB under 256M. A store that was made before is planned for alike, so that a run can be resumed. */
export function afterIngest(memory: number): number {
  return Math.min(32 << 20, Math.max(0, Math.floor((memory - (128 << 20)) / 4)))
}

/** What an ingest is given. Where rows become larger than their text, small buffers read it as well, and leave less behind;
 *  and they must not take more than training takes afterwards, for that is not given back. */
export function ingestMemory(memory: number, grows: boolean): number {
  return grows ? Math.min(memory, NODE_BYTES + Math.max(LEAST_BUFFERS, Math.floor((memory - NODE_BYTES) / 4))) : memory
}

/** What it leaves behind. Where rows become larger than their text: 17 MB were measured under 256M, 12 MB under 128M. */
export function ingestRemains(memory: number, grows: boolean): number {
  return grows ? Math.max(12 << 20, Math.min(20 << 20, afterIngest(memory))) : afterIngest(memory)
}

/** Whether rows become larger than their text: letters, and what is expanded. */
function growing(options: ResolvedOptions, format: string): boolean {
  return options.expand !== undefined || findInputFormat(format).letters
}

/** Whether training can begin while the text is read: values that will be scaled are not known before all have been read. */
export function mayTrainWhileReading(solver: BlockSolver, { scale, expand, space }: ResolvedOptions): boolean {
  return solver.firstPass === true && !scale && !expand && !space
}

/** Bytes of dual variable for each row. */
export function alphaStride(options: ResolvedOptions): number {
  return findLoss(options.loss).entropicDual ? 16 : 8
}
