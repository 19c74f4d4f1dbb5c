// How a run over blocks begins: from a checkpoint, from the dual variables of rows that stayed, from what was learnt while
// text was read, or from zero.
import { join } from 'node:path'
import type { Checkpoints, RunState } from '../block-store/checkpoint.ts'
import { UNSAVED_MARKER } from '../block-store/file-layout.ts'
import { removeFile } from '../block-store/store-folder.ts'
import { SpillwayError } from '../errors.ts'
import { Driver } from '../optimise/driver/driver.ts'
import { freshState } from '../optimise/driver/driving.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import { sizeText } from '../sizes.ts'
import { type BlockTraining, checkpointsOf, nextPassOf } from './block-training.ts'
import type { StartAfter } from './change-over.ts'
import { isTruncated } from './class-problems.ts'
import { goOnInBlocks } from './go-on-in-blocks.ts'
import { patienceInBlocks, tellBestGap, tellOnce } from './hand-over.ts'
import type { ResolvedOptions } from './options.ts'
import { startElsewhere } from './resume-elsewhere.ts'
import { type SeriesStart, trainTruncated } from './truncated-over-blocks.ts'

/** Trains from wherever the run can begin. */
export async function trainResumed(training: BlockTraining): Promise<Solution[]> {
  const { engine, solver, options, objective, handOver, changeOver, lacksRoom, after } = training
  const fresh = freshStateOf(training)
  const checkpoints = checkpointsOf(training)
  const judge = patienceInBlocks(options, objective)
  const stalls = handOver || changeOver ? judge : lacksRoom && tellOnce(judge, lacksRoom)
  const driver = new Driver({
    ...{ source: engine, solver, objective, keeper: checkpoints, state: fresh },
    // Nothing is known of the weights before all rows were met.
    settings: after ? { ...options, maxPasses: Math.max(options.maxPasses, after.work + 1) } : options,
    tell: after ? tellBestGap(training.tell, after.gap) : training.tell,
    ...(stalls && { stalls }),
  })
  const ended = await begin(training, { driver, checkpoints, fresh })
  if (ended) return ended
  const solutions = await driver.solve()
  if (driver.stalled && changeOver) {
    // What it kept in memory is of no use any more.
    await checkpoints.save({ ...driver.state, solver: undefined, left: true })
    changeOver(driver.state)
  }
  if (driver.stalled) return goOnInBlocks(training, handOver!, checkpoints, driver.state)
  await driver.close(solutions)
  return solutions
}

/** The state of a run that has done nothing yet. */
function freshStateOf(training: BlockTraining): RunState {
  const { engine, solver, options, objective, after } = training
  const { seed, shrinking, innerPasses, innerTolerance = null, blockOrder, batch } = options
  const { slotBytes, cacheBytes, spareBytes } = engine.plan
  const course = {
    ...{ solver: solver.name, seed, shrinking, innerPasses, innerTolerance, blockOrder, batch, slotBytes, cacheBytes },
    spareBytes,
    memory: options.memory ?? null,
    ...(options.ranks.size > 1 && { allRows: engine.all.rows }),
    ...(isTruncated(training) && { outlierStart: options.outlierStart }),
    ...(after && { from: after.from }),
  }
  const fresh = freshState(objective.models, course, engine.store.manifest.fingerprint)
  if (after) Object.assign(fresh, { work: after.work, pass: Math.ceil(after.work) })
  return fresh
}

interface Beginning {
  driver: Driver
  checkpoints: Checkpoints
  fresh: RunState
}

/** Puts in place what there is to begin with; how the models ended, where the driver is not needed for that. */
async function begin(
  training: BlockTraining,
  { driver, checkpoints, fresh }: Beginning,
): Promise<Solution[] | undefined> {
  const { engine, solver, options, say, began, first, handOver, changeOver, after } = training
  const series = (start: SeriesStart): Promise<Solution[]> => trainTruncated(training, checkpoints, fresh, start)
  const isAlone = options.ranks.size === 1
  if (isAlone && solver.dual && !options.cold && (await startWarm(driver, checkpoints, say))) {
    began({ start: 'warm' })
    return isTruncated(training) ? series({ kind: 'warm' }) : undefined
  }
  const found = options.resume ? await stateToResume(checkpoints, after) : undefined
  if (found) {
    refuseOtherCourse(found, fresh)
    if (found.left && changeOver) changeOver(found)
    const done = found.done as Solution[] | undefined
    const ended = done && reaches(done, found, options)
    const resumedAtPass = nextPassOf(found)
    began({ start: 'resumed', resumedAtPass })
    say(`resumed at pass ${resumedAtPass}${ended ? ', which is not needed: the run had reached its aim' : ''}`)
    if (found.left || (found.handedOver && !handOver)) throw handedOverBefore()
    if (ended && found.handedOver) handOver!.say()
    if (ended) return done
    // A run that was stopped by its own limits may go on under wider ones.
    const state = goOn(found, options)
    if (isTruncated(training)) return series({ kind: 'resumed', state })
    if (state.handedOver) return goOnInBlocks(training, handOver!, checkpoints, state)
    await driver.restore(state)
  } else if (after) {
    after.begin()
    began(options.resume ? { start: 'resumed', resumedAtPass: nextPassOf(fresh) } : { start: 'cold' })
    if (options.resume) say(`resumed at pass ${nextPassOf(fresh)}`)
    else await checkpoints.clear()
  } else if (options.resume && !first && (await startElsewhere(training, checkpoints, driver, fresh))) {
    began({ start: 'resumed', resumedAtPass: nextPassOf(fresh) })
  } else {
    began({ start: 'cold' })
    await checkpoints.clear()
    if (isTruncated(training)) return series({ kind: 'cold' })
  }
  if (first && !found) {
    await driver.startFrom(first.pass, engine, first.map)
    // From here on a run that is killed resumes; before, it makes the store anew, and so ends in the same model.
    await removeFile(join(engine.store.folder, UNSAVED_MARKER))
  }
  return undefined
}

/** The state that a run resumes from. One that another method left its weights to resumes what it made of these. */
async function stateToResume(checkpoints: Checkpoints, after: StartAfter | undefined): Promise<RunState | undefined> {
  const found = await checkpoints.load()
  return after && found?.settings['from'] !== after.from ? undefined : found
}

function handedOverBefore(): SpillwayError {
  return new SpillwayError(
    'the checkpoint is one of --solver auto, after coordinate descent has handed its weights over to another solver',
    'give the same options as before, or train again without --resume',
  )
}

/** A state that goes on, perhaps with another tolerance: models that are not as close as is asked for now wake up. */
function goOn({ done: _, ...state }: RunState, { tolerance }: ResolvedOptions): RunState {
  const solutions = (state.solutions as (Solution | null)[]).map(solution =>
    typeof solution?.certificate?.gap === 'number' && solution.certificate.gap <= tolerance ? solution : null,
  )
  const woken = state.solutions.map((before, k) => before !== null && solutions[k] === null)
  return { ...state, solutions, resting: state.resting.map((rests, k) => rests && !woken[k]) }
}

/** Whether a finished run is as close to the optimum as is asked for now. */
function reaches(done: Solution[], state: RunState, { tolerance, gradientTolerance }: ResolvedOptions): boolean {
  if (done.some(({ exitReason }) => exitReason !== 'converged')) return false
  if (gradientTolerance !== undefined) return state.spread <= gradientTolerance
  return done.every(({ certificate }) => typeof certificate?.gap === 'number' && certificate.gap <= tolerance)
}

/** After rows were added to the store or removed: starts from the dual variables of those that stayed. */
async function startWarm(driver: Driver, checkpoints: Checkpoints, say: (reason: string) => void): Promise<boolean> {
  try {
    const carried = await checkpoints.loadCarried()
    if (!carried) return false
    say(
      `started from the last training (${carried.passes} ${carried.passes === 1 ? 'pass' : 'passes'}): from its dual variables of the rows that stayed`,
    )
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    say(`started from zero: ${error.message}`)
    checkpoints.forgetAlpha()
    return false
  }
  await driver.rebuildWeights()
  return true
}

/** Blocks and cache have another size than they had: by the memory that was named, or by what else was in it. */
function otherRoom(before: number | null, now: number | null): SpillwayError {
  const named = (memory: number | null): string => (memory === null ? 'no --memory' : `--memory ${sizeText(memory)}`)
  if (before !== now) {
    return new SpillwayError(
      `the checkpoint was written with ${named(before)}, this run has ${named(now)}`,
      `say ${before === null ? 'no --memory' : named(before)} again, or train again without --resume`,
    )
  }
  return new SpillwayError(
    'the checkpoint was written by a run that had other room for rows: text and its store leave different room in the same memory',
    'name the data as before, the text or its store, or train again without --resume',
  )
}

/** A run resumes as it was begun, or not at all. */
export function refuseOtherCourse(found: RunState, fresh: RunState): void {
  if (found.fingerprint !== fresh.fingerprint) {
    throw new SpillwayError(
      'the store has changed since the checkpoint was written; the run cannot be resumed',
      'train again without --resume',
    )
  }
  const { slotBytes, cacheBytes, spareBytes, memory, ...settings } = fresh.settings
  for (const [name, value] of Object.entries(settings)) {
    const before = found.settings[name]
    if (before !== value) {
      throw new SpillwayError(
        `the checkpoint was written with ${name} ${JSON.stringify(before)}, this run has ${JSON.stringify(value)}`,
        'give the same options as before, or train again without --resume',
      )
    }
  }
  const { slotBytes: slot, cacheBytes: cache, spareBytes: spare = spareBytes } = found.settings
  if (slot !== slotBytes || cache !== cacheBytes || spare !== spareBytes) {
    // Checkpoints of earlier versions do not say which memory was named.
    throw otherRoom((found.settings['memory'] ?? null) as number | null, memory as number | null)
  }
}
