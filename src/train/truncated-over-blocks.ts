// A truncated loss over blocks: each convex problem of the series goes on from where the last one ended, and a run that is
// killed goes on with the convex problem that it was at.
import type { RunState } from '../block-store/checkpoint.ts'
import { Driver } from '../optimise/driver/driver.ts'
import { nowhere, type StateKeeper } from '../optimise/driver/driving.ts'
import { type Course, relax, SAMPLE_ROWS, startOfCourse } from '../optimise/driver/relaxations.ts'
import type { BinaryObjective } from '../optimise/objectives/binary.ts'
import { type HeldOutRows, Outliers } from '../optimise/objectives/outliers.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import { block } from '../optimise/solvers/block.ts'
import { type Solver, stepsOnIndex } from '../optimise/solvers/solver.ts'
import { drawBlocks, SomeBlocks } from '../optimise/sources/some-blocks.ts'
import type { BlockTraining } from './block-training.ts'

/** How the series begins: with a fresh state, with dual variables of the rows that stayed, or from a checkpoint. */
export type SeriesStart = { kind: 'cold' | 'warm' } | { kind: 'resumed'; state: RunState }

/** Solves the convex problem of some blocks, to go on from there with all of them. */
async function solveSample(
  {
    engine,
    solver,
    options,
    objective,
    tell,
  }: Pick<BlockTraining, 'engine' | 'solver' | 'options' | 'objective' | 'tell'>,
  blocks: number[],
  tolerance: number,
): Promise<Solution> {
  // A method that keeps rows in memory would wait for the others.
  const by: Solver = solver.dual ? block : solver
  const source = new SomeBlocks(engine, blocks)
  // Its passes are short ones, and are not counted.
  const most = Math.ceil((options.maxPasses * engine.rows) / source.rows)
  const settings = { ...options, tolerance, maxPasses: most }
  const [solution] = await new Driver({ source, solver: by, objective, settings, tell, keeper: nowhere }).solve()
  return solution
}

/** `fresh`: the state of a run that has not begun. `unseen`: rows of a fold that the model may not see. */
export async function trainTruncated(
  training: Pick<BlockTraining, 'engine' | 'solver' | 'options' | 'objective' | 'tell' | 'looked'>,
  checkpoints: StateKeeper,
  fresh: RunState,
  start: SeriesStart,
  unseen?: HeldOutRows,
): Promise<Solution[]> {
  const { engine, solver, options, tell, looked } = training
  const objective = training.objective as BinaryObjective
  const { tolerance, signal, seed, maxPasses, ranks } = options
  const isDual = (): boolean => solver.dual && !stepsOnIndex(options)
  const outliers = new Outliers(objective, engine, isDual, { held: unseen, ranks })
  if (unseen) outliers.begin()
  if (solver.needsIndex) outliers.keepAnchor()
  // Ranks begin with all rows: what they keep for meetings is of all rows of a rank.
  const startsWithAll = options.outlierStart === 'full' || ranks.size > 1
  const sample = startsWithAll ? undefined : drawBlocks(engine, SAMPLE_ROWS, seed)
  const resumed = start.kind === 'resumed' ? start.state : undefined
  let driver: Driver | undefined

  const solve = async (course: Course): Promise<Solution> => {
    if (course.relaxation === 0 && sample) return solveSample(training, sample, course.tolerance)
    const before = driver?.state
    // Passes are counted from the first problem to the last. All dual variables may have changed.
    const state = { ...fresh, ...(before && { pass: before.pass + 1, work: before.work }), series: course }
    const settings = { ...options, tolerance: course.tolerance }
    const series = { before: driver, anchored: outliers.anchored }
    const keeping = { keeper: checkpoints, state, series }
    const next = new Driver({ source: engine, solver, objective, settings, tell, ...keeping })
    if (!driver && resumed) await next.restore({ ...resumed, series: course })
    else checkpoints.touch([...engine.blockBytes.keys()])
    driver = next
    const [solution] = await driver.solve()
    return solution
  }
  const course: Course = resumed
    ? courseOf(resumed, tolerance)
    : { ...startOfCourse(tolerance), ...(start.kind === 'warm' && { relaxation: 1 }) }
  const solution = await relax({
    ...{ outliers, tolerance, signal, course, solve, looked, startsWithAll: sample === undefined, reads: true },
    isSpent: () => driver !== undefined && driver.state.work >= maxPasses,
  })
  await driver?.close([solution])
  return [solution]
}

/** Where a run stood, perhaps with a smaller tolerance than it had. */
function courseOf({ series }: RunState, tolerance: number): Course {
  const course = series as Course
  return { ...course, tolerance: Math.min(course.tolerance, tolerance) }
}
