// Which models are trained at the same time where rows are in memory: as many as there is room for beside the rows.
import { bundleBytes } from '../optimise/objectives/bundle.ts'
import { inBundles } from '../optimise/objectives/bundles.ts'
import type { MemorySolver } from '../optimise/solvers/solver.ts'
import type { FoldedProblem } from './class-problems.ts'
import type { PlaceFacts, Round } from './place.ts'

/** What a model takes besides its vectors. */
const BESIDES = 4096

/** Bundles of models, as many in each round as there is room for. */
export function bundlesOf(
  problems: FoldedProblem[],
  { rows, weights }: Pick<PlaceFacts, 'rows' | 'weights'>,
  room: number,
): Round[] {
  const entropic = problems[0].loss.entropicDual === true
  const rounds: Round[] = [[]]
  let left = room
  for (const bundle of inBundles(problems)) {
    const bytes = bundleBytes(bundle.length, rows, weights, entropic)
    if (bytes > left && rounds[rounds.length - 1].length > 0) {
      rounds.push([])
      left = room
    }
    rounds[rounds.length - 1].push(bundle)
    left -= bytes
  }
  return rounds
}

/** Models with vectors of their own, in groups of about one size. */
export function groupsOf(
  problems: FoldedProblem[],
  solver: MemorySolver,
  { weights }: Pick<PlaceFacts, 'weights'>,
  room: number,
  forRows = 0,
): Round[] {
  const groups = Math.ceil(problems.length / mostOf(problems.length, solver, weights, room, forRows))
  const size = Math.ceil(problems.length / groups)
  return Array.from({ length: Math.ceil(problems.length / size) }, (_, k) => [problems.slice(k * size, (k + 1) * size)])
}

/** How many of them there is room for at a time, at least one. `weights`: of a model, the bias not counted. `forRows`: bytes of each for
 *  all rows. */
export function mostOf(
  models: number,
  { extraBytes }: MemorySolver,
  weights: number,
  room: number,
  forRows = 0,
): number {
  const bytes = (count: number): number =>
    extraBytes!(weights + 1, count) + count * ((weights + 1) * 8 + BESIDES + forRows)
  let most = models
  while (most > 1 && bytes(most) > room) most--
  return most
}
