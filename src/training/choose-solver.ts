// Which solver runs: the one that was asked for, or the one that suits the data and the memory.
import { stat } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { openStore } from '../block-store/reader.ts'
import { UsageError } from '../errors.ts'
import { formatBytes } from '../numeric/arena.ts'
import { findSolver } from '../solvers/all-solvers.ts'
import type { Solver } from '../solvers/solver.ts'
import { decodedBound, NODE_BYTES } from './memory-plan.ts'
import type { ResolvedOptions } from './options.ts'

/** What a WebAssembly memory can hold, less what solvers add to the rows. */
const WINDOW_BYTES = 3.5 * 2 ** 30
/** Row records take at most about as much as the text they come from, and dual variables and order a little more. */
const BYTES_PER_TEXT_BYTE = 1.1
/** Buffers for reading and parsing. */
const PARSER_BYTES = 48 << 20
/** How much larger compressed text is taken to be. */
const EXPANSION = 4

export interface Choice {
  solver: Solver
  /** In a few words, for the user. */
  reason: string
}

/** Memory that the run may take: what was said, or most of what the machine has. */
export function allowedMemory(options: Pick<ResolvedOptions, 'memory'>): number {
  if (options.memory !== undefined) return options.memory
  // Of what the machine has, not of what happens to be free: the same run on the same machine goes the same way.
  const limit = process.constrainedMemory()
  return Math.floor(0.7 * (limit > 0 ? Math.min(limit, totalmem()) : totalmem()))
}

export async function chooseSolver(paths: string[], options: ResolvedOptions): Promise<Choice> {
  const allowed = allowedMemory(options)
  if (options.solver !== 'auto') {
    const solver = findSolver(options.solver)
    if (solver.data === 'memory' && options.memory !== undefined) {
      const needed = await inMemoryBytes(paths, options)
      if (needed > allowed) {
        throw new UsageError(
          `solver ${solver.name} keeps all rows in memory: about ${formatBytes(needed)}, and --memory allows ${formatBytes(allowed)}`,
          'leave the choice to --solver auto, or take --solver stream, selective or block',
        )
      }
    }
    return { solver, reason: 'as asked for' }
  }
  const needed = await inMemoryBytes(paths, options)
  const fits = needed <= Math.min(allowed, WINDOW_BYTES)
  const need = Number.isFinite(needed)
    ? `the data takes about ${formatBytes(needed)} in memory`
    : 'how much the data takes cannot be known'
  // How a store would be made and kept is said for the case that there is one; these two are about one that there was.
  const wish = options.resume ? 'resume' : options.cold ? 'cold' : undefined
  if (fits && wish) return { solver: findSolver('stream'), reason: `${need}, which fits, but ${wish} asks for a store` }
  if (fits) return { solver: findSolver('dual'), reason: `${need}, which fits` }
  const limit = allowed < WINDOW_BYTES ? formatBytes(allowed) : `the ${formatBytes(WINDOW_BYTES)} of one memory`
  return { solver: findSolver('stream'), reason: Number.isFinite(needed) ? `${need}, more than ${limit}` : need }
}

/** What training in memory would take, as far as sizes tell before anything is read. */
async function inMemoryBytes(paths: string[], options: ResolvedOptions): Promise<number> {
  let text = 0
  for (const path of paths) {
    const found = path === '-' ? undefined : await stat(path).catch(() => undefined)
    if (found?.isDirectory()) {
      const { manifest } = await openStore(path)
      const rows = manifest.blocks.reduce((sum, block) => sum + decodedBound(block, manifest.valueBits), 0)
      const perRow = manifest.rows * (options.loss === 'logistic' ? 24 : 16)
      return NODE_BYTES + PARSER_BYTES + rows + perRow + (manifest.usedFeatures || manifest.features) * 16
    }
    // A pipe may bring anything: under a limit it is taken for too much.
    if (!found?.isFile() && options.memory !== undefined) return Number.POSITIVE_INFINITY
    if (found?.isFile()) text += /\.(gz|zst)$/.test(path) ? found.size * EXPANSION : found.size
  }
  return NODE_BYTES + PARSER_BYTES + text * BYTES_PER_TEXT_BYTE * (options.values === 'f64' ? 1.5 : 1)
}
