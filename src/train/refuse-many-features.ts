// Features that a solver cannot train a loss with are refused before rows are read, wherever they are known by then. Where they are not,
// the solver refuses them as it starts, in the same words.
import { Store } from '../block-store/reader.ts'
import { parseExpansion } from '../features/expansion-steps.ts'
import { findLoss } from '../losses/all-losses.ts'
import { convexLoss } from '../losses/loss.ts'
import { tooManyFeatures } from '../optimise/solvers/compatibility.ts'
import type { Solver } from '../optimise/solvers/solver.ts'
import { MOST_KEPT_AS_THEY_ARE } from '../rows/renumber-features.ts'
import { estimateText } from '../rows/sample-text.ts'
import { formatCount } from '../sizes.ts'
import { sizeOf } from './choose-solver.ts'
import type { ResolvedOptions } from './options.ts'
import { rowsOfStore } from './rows-of-store.ts'

export async function refuseManyFeatures(paths: string[], solver: Solver, options: ResolvedOptions): Promise<void> {
  const loss = convexLoss(findLoss(options.loss))
  const most = solver.mostFeatures?.(loss) ?? Number.POSITIVE_INFINITY
  if (most === Number.POSITIVE_INFINITY) return
  const refuse = (found: string): Error => tooManyFeatures(solver, loss, most, found)
  if (options.space) throw refuse('there is a kernel')
  const { least, exact } = await leastFeatures(paths, solver, options)
  if (least > most) throw refuse(`the data has ${exact ? '' : 'at least '}${formatCount(least)}`)
}

interface Least {
  least: number
  /** Whether there are no more of them. */
  exact: boolean
}

const NOTHING_KNOWN: Least = { least: 0, exact: false }

/** Features that have a weight: so many for certain. */
async function leastFeatures(paths: string[], solver: Solver, options: ResolvedOptions): Promise<Least> {
  const { expand, schema } = options
  const { manifest, text, pipes, folder } = await sizeOf(paths)
  // Numbers of features count by themselves where all rows are in one memory, and the features few.
  const byNumbers = solver.data === 'memory' && options.ranks.size === 1
  const expanded = (features: number): number =>
    expand === undefined ? features : parseExpansion(expand).features(features)
  if (manifest && folder !== undefined) {
    const features = expanded(manifest.features)
    const used = manifest.usedFeatures || manifest.features
    if (byNumbers && features <= MOST_KEPT_AS_THEY_ARE) return { least: features, exact: true }
    if (expand !== undefined) return NOTHING_KNOWN
    if (solver.data === 'memory' || options.ranks.size > 1) return { least: used, exact: options.ranks.size === 1 }
    return { least: (await rowsOfStore(new Store(folder, manifest), options)).weights, exact: true }
  }
  if (pipes) return NOTHING_KNOWN
  const hashed = expand !== undefined && parseExpansion(expand).hashes
  if (byNumbers && (schema || hashed)) {
    // A hash fixes how many there are, whatever it is given.
    const features = expanded(schema?.features ?? 1)
    if (features <= MOST_KEPT_AS_THEY_ARE) return { least: features, exact: true }
  }
  const estimate = await estimateText(paths, text, options)
  if (!estimate || (estimate.letters && expand === undefined)) return NOTHING_KNOWN
  return { least: estimate.usedSeen, exact: false }
}
