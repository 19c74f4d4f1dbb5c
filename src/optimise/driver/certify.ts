// The certificate of a run's models: primal, dual and gap over all rows.
import type { RunState } from '../../block-store/checkpoint.ts'
import { alone } from '../../ranks/communicator.ts'
import { onAnyRank, sumVectors } from '../../ranks/records.ts'
import { addSums, type Certificate, certificateOf, noSums } from '../objectives/certificate.ts'
import type { Objective } from '../objectives/objective.ts'
import type { Account, Run } from '../solvers/solver.ts'
import { countSkipped, type RowSource, reads } from '../sources/row-source.ts'
import type { DriverSettings } from './driving.ts'
import type { LastLook } from './last-look.ts'
import type { Progress } from './progress.ts'

/** What a certificate is made of. */
export interface Certified {
  source: RowSource
  objective: Objective
  run: Run
  settings: DriverSettings
  progress: Progress
  look: LastLook
  /** Whether the method moves dual variables. */
  dual: boolean
}

/** Primal, dual and gap of each model over all rows, by a reading pass; undefined when it was interrupted. With `alongWeights`,
 *  the losses along the weights are summed as well. A method with a ledger knows all rows, once those have been read of which
 *  it does not know enough. */
export async function certify(
  { source, objective, run, settings, progress, look, dual }: Certified,
  state: RunState,
  alongWeights: boolean,
): Promise<Certificate[] | undefined> {
  const { threads } = source
  const ranks = settings.ranks ?? alone
  look.forget()
  const known = await run.certificates?.()
  if (known) return known
  if (objective.certify) return objective.certify(source)
  // With narrow weights, w is not quite Σ α y x, and nothing is certain without reading.
  const ledger = objective.weightBytes === 8 ? run.ledger : undefined
  const blocks = ledger?.owing(settings.tolerance * state.primals[0])
  if (ledger) countSkipped(source, blocks)
  // Where every block is read here, once is enough for the line search.
  const leavesOut = blocks !== undefined && blocks.length < source.blockBytes.length
  const looks = alongWeights && !(await onAnyRank(ranks, leavesOut))
  if (looks) look.begin()
  const totals = noSums(objective.models)
  const groups = source.groups(-1, settings, blocks)
  let [looked, cutShort] = [0, false]
  // In the order of the source, whatever order the method took: the sums are the same bits for the same weights.
  for await (const group of source.pass(groups)) {
    progress.certifying(state, looked++ / groups.length)
    cutShort = settings.signal?.aborted === true && reads(source)
    if (cutShort) break
    // Before the method looks: it may leave rows out of the group's table that it has elsewhere.
    const sums = looks ? await look.at(group, ledger === undefined) : undefined
    if (ledger) await ledger.evaluate(group)
    else addSums(totals, sums ?? (await objective.evaluate(threads, group)))
  }
  if (await onAnyRank(ranks, cutShort)) {
    look.forget()
    return undefined
  }
  await look.addOthers(ranks)
  if (ledger) return [certificateOfAccount(await ledger.account(), source.all.rows)]
  await sumVectors(ranks, objective.arena, [], totals)
  const lengths = objective.squaredLengths()
  return totals.map((sums, k) => certificateOf(sums, lengths[k], source.all.rows, dual))
}

function certificateOfAccount({ dual, certain, supportVectors, correct }: Account, rows: number): Certificate {
  const primal = dual + certain
  const trainingAccuracy = correct === null ? null : correct / rows
  return { primal, dual, gap: primal > 0 ? certain / primal : 0, supportVectors, trainingAccuracy }
}
