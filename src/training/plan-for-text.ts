// The plan of a run before its text is read, by samples of the text: how many blocks to draw rows into, and whether there is any
// use in reading it.
import type { Manifest } from '../block-store/manifest.ts'
import { Store } from '../block-store/reader.ts'
import { SpillwayError } from '../errors.ts'
import type { BlockSolver } from '../solvers/solver.ts'
import { BlocksTooLarge } from './memory-plan.ts'
import type { ResolvedOptions } from './options.ts'
import { planRun } from './plan-for-blocks.ts'
import { rowsByNumbers } from './rows-of-store.ts'
import { estimateText, type TextEstimate } from './sample-text.ts'

/** Blocks that text is drawn into: as many as usual, or more where those would be too large. What cannot work is refused. */
export async function blocksForText(
  paths: string[],
  text: number | undefined,
  solver: BlockSolver,
  options: ResolvedOptions,
  usual: { blocks: number; chunk: number },
): Promise<number> {
  const estimate = text === undefined ? undefined : await estimateText(paths, text, options)
  if (!estimate) return usual.blocks
  const segments = Math.ceil(text! / usual.chunk)
  const planned = async (used: number): Promise<number> => {
    try {
      const store = new Store('', manifestOf(estimate, usual.blocks, segments, options))
      const rows = rowsByNumbers(estimate, used, usual.blocks, options)
      const models = estimate.classes > 2 && options.multiclass === 'one-vs-rest' ? estimate.classes : 1
      await planRun(store, solver, options, { fromText: true, rows, models })
      return usual.blocks
    } catch (error) {
      if (!(error instanceof BlocksTooLarge)) throw error
      return options.blocks ?? error.parts.reduce((sum, parts) => sum + parts, 0)
    }
  }
  try {
    return await planned(estimate.usedLeast)
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    // It cannot work with the fewest features that there can be. Advice is for as many as there may be.
    await planned(estimate.usedMost).catch((refusal: unknown) => {
      if (!(refusal instanceof SpillwayError)) throw refusal
      throw new SpillwayError(`judged by samples of the text, ${refusal.message}`, refusal.advice)
    })
    throw error
  }
}

/** What the manifest will say, about. */
function manifestOf(estimate: TextEstimate, blocks: number, segments: number, options: ResolvedOptions): Manifest {
  const rows = Math.ceil(estimate.rows / blocks)
  const nonzeros = Math.ceil(estimate.nonzeros / blocks)
  const block = { file: '', bytes: 0, rows, nonzeros, segments: Math.min(rows, segments), checksum: '' }
  return {
    format: 'spillway block store',
    version: 1,
    createdBy: '',
    rows: estimate.rows,
    nonzeros: estimate.nonzeros,
    features: estimate.features,
    usedFeatures: estimate.usedLeast,
    inputFormat: estimate.format,
    indexBase: 1,
    split: 'random',
    seed: options.seed,
    valueBits: options.values === 'f64' ? 64 : 32,
    compression: 'none',
    transforms: {},
    fingerprint: '',
    labels: Array.from({ length: Math.max(2, estimate.classes) }, (_, k) => ({ value: k, text: String(k), rows: 1 })),
    sources: [],
    blocks: Array.from({ length: blocks }, () => block),
  }
}
