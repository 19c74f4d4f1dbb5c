// The parallel parts of renumbering features: finding those that occur, and rewriting the rows.
import { windowFull } from '../numeric/arena.ts'
import type { TaskContext } from '../threads/task.ts'

export interface EnterFeaturesOptions {
  map: number
  table: number
  from: number
  to: number
}

/** Returns the length of the longest dense row. */
export function enterFeaturesTask({ arena }: TaskContext, options: EnterFeaturesOptions): number {
  const longest = arena.allocateZeroed(4, 'the feature map')
  const { map, table, from, to } = options
  if (!arena.numeric.enterRows(map, table, from, to, longest)) throw windowFull('the feature map')
  return arena.getU32(longest)
}

export interface RenumberRowsOptions extends EnterFeaturesOptions {
  places: number
}

/** Returns how many rows got new records. */
export function renumberRowsTask({ arena }: TaskContext, options: RenumberRowsOptions): number {
  const { map, places, table, from, to } = options
  const renewed = arena.numeric.renumberRows(map, places, table, from, to)
  if (renewed < 0) throw windowFull('the rows')
  return renewed
}
