// Words for values outside of [0, 1], which additive kernels have no bin for: they are refused, by where they stand.
import { SpillwayError } from '../errors.ts'
import type { BadRow, Place } from '../input-formats/input-format.ts'
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { Address } from '../sizes.ts'

/** No entry. */
const NONE = 0xffffffff

/** Refuses a batch with values that no bin is for. `where` names it. */
export function refuseOutside(arena: Arena, batch: Address, where: string, indexBase = 1): void {
  const entry = arena.numeric.findOutside(batch) >>> 0
  if (entry === NONE) return
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

/** A batch's first value that no bin is for, as a bad row; undefined when there is none. */
export function refusedValue(
  arena: Arena,
  batch: Address,
  indexBase: number,
  placeOf: (row: number) => Place,
): BadRow | undefined {
  const entry = arena.numeric.findOutside(batch) >>> 0
  if (entry === NONE) return undefined
  const fields = new BatchFields(arena, batch)
  const starts = arena.u32(fields.starts, fields.rows + 1)
  const row = starts.findLastIndex(start => start <= entry)
  return { ...placeOf(row), ...outsideWords(arena, batch, entry, indexBase) }
}
