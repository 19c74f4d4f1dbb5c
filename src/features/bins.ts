// Words for values outside of [0, 1], which additive kernels have no bin for: they are refused, by where they stand.
import { SpillwayError } from '../errors.ts'
import type { BadRow } from '../input-formats/input-format.ts'
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { Address } from '../sizes.ts'

/** Refuses a batch with values that no bin is for. `where` names it. */
export function refuseOutside(arena: Arena, batch: Address, where: string, indexBase = 1): void {
  const entry = arena.numeric.findOutside(batch) >>> 0
  if (entry === 0xffffffff) return
  const { found, expected, advice } = outsideWords(arena, batch, entry, indexBase)
  throw new SpillwayError(`${where}: found ${found}, expected ${expected}`, advice)
}

/** The words for an entry whose value lies outside [0, 1]. */
export function outsideWords(
  arena: Arena,
  batch: Address,
  entry: number,
  indexBase: number,
): { found: string; expected: string; advice: string } {
  const { indices, values, valueBytes } = new BatchFields(arena, batch)
  const value = valueBytes === 8 ? arena.getF64(values + entry * 8) : arena.f32(values + entry * 4, 1)[0]
  const feature = arena.getU32(indices + entry * 4) + indexBase
  return {
    found: `the value ${Number(value.toPrecision(7))} of feature ${feature}`,
    expected: 'values from 0 to 1, which additive kernels are for',
    advice: 'scale the features: --scale minmax',
  }
}

/** Where a value stands that no bin is for; `at`: where the chunk's text begins. */
export function badValue(arena: Arena, batch: Address, entry: number, at: Address, indexBase: number): BadRow {
  const fields = new BatchFields(arena, batch)
  const starts = arena.u32(fields.starts, fields.rows + 1)
  const row = starts.findLastIndex(start => start <= entry)
  const labelAt = arena.getU32(fields.labelAt + row * 4)
  const line = arena.bytes(at, labelAt - at).reduce((lines, byte) => lines + (byte === 10 ? 1 : 0), 0)
  return { line, column: 1, ...outsideWords(arena, batch, entry, indexBase) }
}
