// The parallel parts of renumbering features: finding those that occur, and rewriting the rows.
import { windowFull } from '../numeric/arena.ts'
import type { Address } from '../sizes.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'

export interface EnterFeaturesOptions {
  map: number
  table: Address
  from: number
  to: number
}

export const enterFeaturesTask = declareTask(import.meta.url, 'enter-features', enterFeatures)

/** Returns the length of the longest dense row. */
function enterFeatures({ arena }: TaskContext, options: EnterFeaturesOptions): number {
  const longest = arena.allocateZeroed(4, 'the feature map')
  const { map, table, from, to } = options
  if (!arena.numeric.enterRows(map, table, from, to, longest)) throw windowFull('the feature map')
  return arena.getU32(longest)
}

export interface RenumberRowsOptions extends EnterFeaturesOptions {
  places: number
}

export const renumberRowsTask = declareTask(import.meta.url, 'renumber-rows', runRenumberRows)

/** Returns how many rows got new records. */
function runRenumberRows({ arena }: TaskContext, options: RenumberRowsOptions): number {
  const { map, places, table, from, to } = options
  const renewed = arena.numeric.renumberRows(map, places, table, from, to)
  if (renewed < 0) throw windowFull('the rows')
  return renewed
}
