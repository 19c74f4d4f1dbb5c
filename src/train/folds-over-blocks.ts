// Folds and costs over a store: all models are trained by each block that is read, and every row is scored by those that did
// not see it.
import { inputFormatOf } from '../block-store/manifest.ts'
import type { LabelCount } from '../input-formats/label-numbers.ts'
import { Arena } from '../numeric/arena.ts'
import { BUNDLE_LANES } from '../numeric/bundle-layout.ts'
import type { Solution } from '../optimise/driver/driver.ts'
import { nowhere, OutOfCoreDriver } from '../optimise/driver/out-of-core.ts'
import { BlockProblem } from '../optimise/objectives/block-problem.ts'
import type { BundledProblem } from '../optimise/objectives/bundle.ts'
import { shortenScores } from '../optimise/objectives/line-search.ts'
import { forManyModels, lanesOf } from '../optimise/solvers/block-bundles.ts'
import { type BlockSolver, underLimits } from '../optimise/solvers/solver.ts'
import { BlockEngine } from '../optimise/sources/block-engine.ts'
import { groupsOf, planLines } from '../optimise/sources/memory-plan.ts'
import { classesOf, dealFolds } from '../rows/folds.ts'
import { blocksText } from '../sizes.ts'
import { unlessAborted } from '../threads/until-aborted.ts'
import { refuseUnlearnable } from './class-problems.ts'
import { surveyed, withFittingBlocks } from './fit-blocks.ts'
import type { ResolvedOptions } from './options.ts'
import { alphaStride, modelsText, planTogether } from './plan-for-blocks.ts'
import { prepareRows } from './prepare-rows.ts'
import type { ProgressListener } from './progress.ts'
import { theStore } from './store-for-training.ts'
import { freshState } from './train-from-blocks.ts'

export interface FoldedBlocks {
  /** The store that the rows are in. */
  store: string
  rows: number
  features: number
  labels: LabelCount[]
  classes: Uint32Array
  folds: Uint8Array
  /** Columns of scores, and how each model ended. */
  scores: Float32Array[]
  solutions: Solution[]
  readSeconds: number
  bytesRead: number
  badRows: number
  badRowMessages: string[]
}

/** `problems` makes the models, of the labels and the number of rows; each has its column of scores. An abort rejects. */
export async function trainFoldsOverBlocks(
  paths: string[],
  solver: BlockSolver,
  given: ResolvedOptions,
  folds: number,
  problems: (labels: FoldedBlocks['labels'], rows: number) => BundledProblem[],
  tell: ProgressListener,
): Promise<FoldedBlocks> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  // No text is trained on while it is read: which rows are held out is not known before all are there.
  const { firstPass: _, ...later } = solver
  const options = underLimits(solver, given)
  const arena = new Arena()
  const found = await theStore(arena, paths, later, options, tell, seconds)
  const { read } = found
  const readSeconds = seconds()
  const { manifest: made } = found.store
  refuseUnlearnable({ ...made, format: inputFormatOf(made) }, found.store.folder)
  const models = problems(found.store.manifest.labels, found.store.manifest.rows)
  const columns = 1 + Math.max(...models.map(({ column = 0 }) => column))
  const fromText = found.store.folder !== paths[0]
  const fitted = await withFittingBlocks(found, options, tell, store =>
    surveyed(arena, store, options, async rows => {
      const more = { bytesPerRow: 4 * columns + 2, must: true }
      return (await planTogether(store, solver, options, fromText, rows, models.length, more))!
    }),
  )
  await using readers = fitted.readers
  const { store, rows, models: size, plan } = fitted
  const { manifest } = store
  const lanes = lanesOf(size)
  const reason = `${blocksText(manifest.blocks.length)}, ${modelsText(models.length, size)}`
  tell({ stage: 'plan', solver: solver.name, reason, lines: planLines(plan.parts, plan.memory) })
  const map = await rows.placeMap(arena)
  const each = { perFeature: lanes, perRow: (alphaStride(options) / 8) * lanes }
  const problem = new BlockProblem({ arena, store }, models[0], rows.weights, true, each)
  const stride = alphaStride(options) * Math.min(lanes, BUNDLE_LANES)
  const engine = new BlockEngine(arena, store, plan, stride, 1, readers)
  // Models that have not come to their end tell nothing of held-out rows, and nobody goes on with them: an abort ends the
  // threads in the midst of their work.
  const trainAndScore = async (): Promise<FoldedBlocks> => {
    await prepareRows(engine, options, rows, map)
    const scores = arena.allocateZeroed(columns * manifest.rows * 4, 'scores of rows that were held out')
    const inOrder = groupsOf(
      plan,
      manifest.blocks.map((_, k) => k),
    )
    const classes = new Uint32Array(manifest.rows)
    for await (const loaded of engine.pass(inOrder)) {
      let before = 0
      for (const { rows, firstRow } of loaded.parts) {
        classes.set(classesOf(arena, { table: loaded.table + before * 4, rows }), firstRow)
        before += rows
      }
    }
    const foldsAt = dealFolds(arena, classes, folds, options.seed)
    const solutions: Solution[] = []
    for (let from = 0; from < models.length; from += size) {
      const some = models.slice(from, from + size)
      problem.startOver(some[0])
      const many = forManyModels(solver, {
        ...{ problems: some, features: rows.weights, tolerance: options.tolerance },
        folds: foldsAt,
      })
      const driver = new OutOfCoreDriver(
        engine,
        many.solver,
        problem,
        options,
        nowhere,
        freshState({}, manifest.fingerprint),
        ({ pass, gap }) => {
          const done = { done: from + many.run().modelsDone(), all: models.length }
          tell({ stage: 'train', seconds: seconds(), pass, gap, certified: false, models: done })
        },
      )
      const solution = await driver.solve()
      solutions.push(...(solution.models ?? some.map(() => solution)))
      for await (const loaded of engine.pass(inOrder)) await many.run().score(loaded, scores)
      const ended = solutions.slice(from, from + size)
      shortenScores(arena, some, ended, { at: scores, rows: manifest.rows, folds: foldsAt })
    }
    return {
      store: store.folder,
      rows: manifest.rows,
      features: rows.features,
      labels: manifest.labels,
      classes,
      folds: arena.bytes(foldsAt, manifest.rows).slice(),
      scores: Array.from({ length: columns }, (_, k) =>
        arena.f32(scores + k * manifest.rows * 4, manifest.rows).slice(),
      ),
      solutions,
      readSeconds,
      bytesRead: read.bytesRead + engine.counts.bytesRead,
      badRows: read.badRows,
      badRowMessages: read.badRowMessages,
    }
  }
  try {
    return await unlessAborted(trainAndScore, options.signal)
  } finally {
    await engine.close()
  }
}
