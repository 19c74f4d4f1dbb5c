// What `train` would do with data and options, judged by samples before anything is read whole: the solver and the memory that it
// would have. What `train` would refuse for that is refused in the same words.
import { stat } from 'node:fs/promises'
import { openStore, Store } from '../block-store/reader.ts'
import type { ScaleKind } from '../features/scale-kinds.ts'
import { findLoss } from '../losses/all-losses.ts'
import { trainsTogether } from '../losses/formulations.ts'
import { checkCompatible, underLimits } from '../optimise/solvers/compatibility.ts'
import type { BlockSolver, Solver } from '../optimise/solvers/solver.ts'
import { afterSplit, BlocksTooLarge, groupsOf } from '../optimise/sources/memory-plan.ts'
import { learnSchema } from '../rows/learn-schema.ts'
import { NODE_BYTES } from '../sizes.ts'
import { checkCalibration } from './calibrate.ts'
import { allowedMemory, chooseSolver, inMemoryBytes } from './choose-solver.ts'
import { heedTable } from './heed-table.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import { planByText } from './plan-for-text.ts'
import { planRun, type RunPlan } from './plan-run.ts'
import type { PlanProgress } from './progress.ts'
import { refuseManyFeatures } from './refuse-many-features.ts'
import { rowsAfterSplit, rowsOfStore } from './rows-of-store.ts'
import { heedBinsOfStore, planIngest } from './store-for-training.ts'

export interface Foreseen extends Required<Pick<PlanProgress, 'solver' | 'reason'>> {
  memory: NonNullable<PlanProgress['memory']>
  /** Of a run over blocks. */
  blocks?: NonNullable<PlanProgress['blocks']>
  /** What is known of the solver that would run. */
  method: Solver
  tolerance: number
  /** Passes that it would make at most. */
  maxPasses: number
  /** How features would be scaled. */
  scale: ScaleKind | undefined
  /** Whether text would be read into a store first. */
  makesStore: boolean
}

const nobody = (): void => {}

/** `learn` learns what the columns of a table become: by the first rows, unless something else is said. */
export async function foresee(
  path: string,
  given: TrainOptions,
  learn: typeof learnSchema = (paths, options) => learnSchema(paths, { ...options, headOnly: true }),
): Promise<Foreseen> {
  const resolved = resolveOptions(given)
  const loss = findLoss(resolved.loss)
  await heedTable([path], resolved, nobody, learn)
  await heedBinsOfStore([path], resolved, nobody)
  const { solver, reason, fitsInMemory } = await chooseSolver([path], resolved)
  checkCompatible(solver, loss, { ...resolved })
  await refuseManyFeatures([path], solver, resolved)
  const options = { ...underLimits(solver, resolved), fitsInMemory }
  checkCalibration(options)
  const { tolerance, maxPasses, scale } = options
  if (solver.data === 'memory') {
    const memory = await memoryOfRows(path, options)
    return { solver: solver.name, reason, memory, method: solver, tolerance, maxPasses, scale, makesStore: false }
  }
  const isStore = (await stat(path).catch(() => undefined))?.isDirectory() === true
  const planned = await (isStore
    ? planOfStore(await openStore(path), solver, options)
    : planOfText(path, solver, options))
  const method = planned?.solver ?? solver
  const common = { solver: method.name, reason, method, tolerance, maxPasses, scale, makesStore: !isStore }
  if (!planned) return { ...common, memory: { parts: [], allowed: allowedMemory(options) } }
  const { parts, memory: allowed, slots, slotBytes, cacheBytes, costs } = planned.plan
  const groups = groupsOf(planned.plan, [...costs.keys()]).length
  return {
    ...common,
    memory: { parts, allowed },
    blocks: { count: costs.length, groups, slots, slotBytes, cacheBytes },
  }
}

async function memoryOfRows(path: string, options: ResolvedOptions): Promise<Foreseen['memory']> {
  const bytes = await inMemoryBytes([path], options)
  const rows = Number.isFinite(bytes) ? [{ what: 'rows, weights and reading', bytes: bytes - NODE_BYTES }] : []
  return { parts: [{ what: 'Node and the program', bytes: NODE_BYTES }, ...rows], allowed: allowedMemory(options) }
}

async function planOfText(path: string, solver: BlockSolver, options: ResolvedOptions): Promise<RunPlan | undefined> {
  return planByText([path], solver, options, await planIngest([path], solver, options))
}

/** The plan of a store; with the blocks that training would split it into first, where its own are too large. */
export async function planOfStore(
  store: Store,
  solver: BlockSolver,
  options: ResolvedOptions,
): Promise<RunPlan & { split?: number }> {
  const classes = store.manifest.labels.filter(label => label.rows > 0).length
  const models = classes > 2 && !trainsTogether(options.multiclass) ? classes : 1
  const found = await rowsOfStore(store, options)
  const planOf = (store: Store, rows = found, maySplit = false): Promise<RunPlan> =>
    planRun(store, solver, options, { fromText: false, rows, models, maySplit })
  const maySplit = options.blocks === undefined && !options.resume
  const planned = await planOf(store, found, maySplit).catch((error: unknown) => {
    if (!(error instanceof BlocksTooLarge)) throw error
    return { finer: error.parts }
  })
  if (!planned.finer) return planned as RunPlan
  const manifest = afterSplit(store.manifest, planned.finer)
  const smaller = await planOf(new Store(store.folder, manifest), rowsAfterSplit(found, planned.finer))
  return { ...smaller, split: manifest.blocks.length }
}
