// Feature scaling, `--scale minmax|standard`: every feature is multiplied by a factor learnt from the training data.
// Nothing is shifted, so that zeros stay zeros and sparse data stays sparse.
//
//   minmax    1 / max|x|: values end in [−1, 1], or in [0, 1] where none is negative
//   standard  1 / σ, σ² = Σx²/l − (Σx/l)² over all rows, absent entries counted as zeros

import type { Arena } from '../numeric/arena.ts'
import type { BlockEngine } from '../training/block-engine.ts'
import type { RowSet } from '../training/row-set.ts'

export const scaleKinds = ['minmax', 'standard'] as const
export type ScaleKind = (typeof scaleKinds)[number]

/** Learns the factors of rows in memory, one a weight, and applies them; rows end unit length if asked. Rows must be
 *  packed plain. */
export function scaleInMemory(arena: Arena, rows: RowSet, kind: ScaleKind, unit: boolean): Float64Array {
  const mark = arena.mark()
  const bytes = Math.max(rows.weights, 1) * 8
  const first = arena.allocateZeroed(bytes, 'feature statistics')
  const second = kind === 'standard' ? arena.allocateZeroed(bytes, 'feature statistics') : 0
  // One thread, in the order of the rows: sums come out the same bits however the text was parsed.
  if (kind === 'minmax') arena.numeric.gatherStatistics(rows.table, 0, rows.rows, first, 0, 0)
  else arena.numeric.gatherStatistics(rows.table, 0, rows.rows, 0, first, second)
  const factors = arena.f64(first, rows.weights)
  toFactors(factors, second ? arena.f64(second, rows.weights) : undefined, rows.rows)
  arena.numeric.scaleRows(rows.table, 0, rows.rows, first, unit)
  const result = factors.slice()
  arena.release(mark)
  return result
}

/** Learns the factors of rows that come in blocks, by a reading pass of its own; the address of f64[weights]. */
export async function learnFactors(
  engine: BlockEngine,
  kind: ScaleKind,
  weights: number,
  map: number,
): Promise<number> {
  const { arena } = engine
  const bytes = Math.max(weights, 1) * 8
  const first = arena.allocateZeroed(bytes, 'feature statistics')
  const second = kind === 'standard' ? arena.allocateZeroed(bytes, 'feature statistics') : 0
  engine.transformBy({ map, factors: 0, unit: false, plain: true })
  const blocks = engine.store.manifest.blocks.map((_, k) => [k])
  for await (const { table, rows } of engine.pass(blocks)) {
    if (kind === 'minmax') arena.numeric.gatherStatistics(table, 0, rows, first, 0, 0)
    else arena.numeric.gatherStatistics(table, 0, rows, 0, first, second)
  }
  toFactors(arena.f64(first, weights), second ? arena.f64(second, weights) : undefined, engine.store.manifest.rows)
  return first
}

/** Largest values, or sums and sums of squares, become factors in place. */
function toFactors(first: Float64Array, squares: Float64Array | undefined, rows: number): void {
  for (let j = 0; j < first.length; j++) {
    first[j] = squares ? standardFactor(first[j], squares[j], rows) : minmaxFactor(first[j])
  }
}

/** A feature that never occurs keeps its values. */
function minmaxFactor(largest: number): number {
  return largest > 0 ? 1 / largest : 1
}

function standardFactor(sum: number, squares: number, rows: number): number {
  const mean = sum / rows
  const variance = squares / rows - mean * mean
  // A constant feature has no spread to divide by: it is brought to 1 instead. Rounding can leave a tiny variance.
  if (variance > 1e-12 * (squares / rows)) return 1 / Math.sqrt(variance)
  return squares > 0 ? 1 / Math.sqrt(squares / rows) : 1
}
