// A run that goes on where others stopped: with another number of ranks, or after some of them have lost their disks. Rows are dealt out
// anew, so what a rank knew of its own rows is of no use. But every rank's checkpoint has the weights, and any one of them will do.
// Methods that follow a gradient go on from the weights. Dual methods make dual variables of them: see dual-from-weights.ts.
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Checkpoints, type RunState, stateFolder } from '../block-store/checkpoint.ts'
import { readManifest } from '../block-store/manifest.ts'
import { CHECKPOINT_FILE, readState } from '../block-store/run-state.ts'
import type { Driver } from '../optimise/driver/driver.ts'
import { BinaryObjective } from '../optimise/objectives/binary.ts'
import { gatherRecords } from '../ranks/records.ts'
import { sharesOf } from '../ranks/shares.ts'
import { type BlockTraining, identityOf, nextPassOf } from './block-training.ts'
import { isTruncated } from './class-problems.ts'
import { dualFromWeights, scaleDual } from './dual-from-weights.ts'

/** A checkpoint that has weights of the same problem. */
interface Elsewhere {
  folder: string
  /** Passes that they took. */
  passes: number
  /** Of the run that wrote it. */
  ranks: number
}

/** Puts weights in place that another number of ranks has come to, and what a dual method needs with them; whether there were any.
 *  `fresh` is the state of the run, which goes on counting passes from there. */
export async function startElsewhere(
  training: BlockTraining,
  checkpoints: Checkpoints,
  driver: Driver,
  fresh: RunState,
): Promise<boolean> {
  const { engine, solver, objective, options, say } = training
  const { ranks } = options
  const isFit = !isTruncated(training) && (!solver.dual || objective instanceof BinaryObjective)
  const best = isFit ? await bestHere(training) : undefined
  const all = await gatherRecords(ranks, best ? { passes: best.passes, ranks: best.ranks } : null)
  const root = all.reduce((top, found, rank) => ((found?.passes ?? -1) > (all[top]?.passes ?? -1) ? rank : top), 0)
  const found = all[root]
  if (!found) return false
  if (ranks.rank === root) await checkpoints.loadWeights(best!.folder)
  const { arena, weights, weightCount, weightBytes } = objective
  const sent = arena.bytes(weights, weightCount * weightBytes).slice()
  await ranks.broadcast(sent, root)
  arena.bytes(weights, sent.length).set(sent)
  // The last pass of those that are allowed is left: nothing is known of the weights before all rows were met.
  const work = Math.min(found.passes, options.maxPasses - 1)
  Object.assign(fresh, { work, pass: Math.ceil(work) })
  const from = found.ranks === 1 ? 'a run on one rank' : `a run on ${found.ranks} ranks`
  say(`resumed at pass ${nextPassOf(fresh)}, from the weights of ${from}`)
  if (solver.dual) {
    const sums = await dualFromWeights(objective as BinaryObjective, engine, options)
    await driver.rebuildWeights()
    await scaleDual(objective as BinaryObjective, engine.rows, sums, ranks)
    checkpoints.touch([...engine.blockBytes.keys()])
  }
  return true
}

/** Of the stores on this disk that hold shares of the same data, the state that took the most passes. */
async function bestHere(training: BlockTraining): Promise<Elsewhere | undefined> {
  const { engine } = training
  const { folder } = engine.store
  const places = new Set([dirname(folder), '.'])
  let best: Elsewhere | undefined
  for (const place of places) {
    const names = await readdir(place).catch(() => [])
    for (const { name, size } of sharesOf(basename(folder), names)) {
      const found = await stateIn(join(place, name), size, training)
      if (found && found.passes > (best?.passes ?? -1)) best = found
    }
  }
  return best
}

/** The state of this problem in a store. Whether the data is the same is told by its rows: weights are a place to start from,
 *  and what the run ends with is certified by the rows that there are. */
async function stateIn(store: string, size: number, training: BlockTraining): Promise<Elsewhere | undefined> {
  const { engine, objective } = training
  const folder = stateFolder(store, identityOf(training, size > 1))
  const state = await readState(join(folder, CHECKPOINT_FILE)).catch(() => undefined)
  if (!state || state.carried) return undefined
  const isAlike = state.weightCount === objective.weightCount && state.weightBytes === objective.weightBytes
  const rows = size > 1 ? state.settings['allRows'] : (await readManifest(store)).rows
  if (!isAlike || rows !== engine.all.rows) return undefined
  return { folder, passes: nextPassOf(state) - 1, ranks: state.ranks?.size ?? 1 }
}
