// What is made of a store's rows each time they come into memory: how features are scaled is learnt once, by a reading pass
// of its own, and readers are told everything.

import type { Arena } from '../numeric/arena.ts'
import { featuresOf } from '../numeric/feature-map.ts'
import type { BlockEngine } from '../optimise/sources/block-engine.ts'
import { learnRanges, placeSpace } from '../rows/place-space.ts'
import { learnFactors } from '../rows/scale.ts'
import { numberFeatures } from '../tables/schema.ts'
import type { ResolvedOptions } from './options.ts'
import type { RowsOfStore } from './rows-of-store.ts'

/** Of each feature there is a weight for: its scale factor, or the range of an additive kernel, two numbers; undefined when
 *  nothing is scaled. */
export async function prepareRows(
  engine: BlockEngine,
  options: ResolvedOptions,
  { weights, width }: Pick<RowsOfStore, 'weights' | 'width'>,
  map: number,
): Promise<Float64Array | undefined> {
  const { arena } = engine
  const { space, scale, expand, ranks } = options
  const features = weights / width
  const unit = options.normalize === 'unit'
  if (!space) {
    const numbers = weightsOfNumbers(arena, options, features, map)
    const factors = scale ? await learnFactors(engine, scale, features, map, { ranks, numbers }) : 0
    engine.transformBy({ expand, map, factors, unit, plain: false })
    return factors ? arena.f64(factors, features).slice() : undefined
  }
  const learnt = scale ? await learnRanges(engine, features, map, ranks) : undefined
  const signs = learnt?.signs ?? false
  placeSpace(arena, space, signs)
  const binning = { bins: space.bins, signs }
  engine.transformBy({ map, factors: learnt?.factors ?? 0, unit, plain: false, binning })
  return learnt?.ranges
}

/** The weights of a table's columns of numbers. */
function weightsOfNumbers(
  arena: Arena,
  { schema }: ResolvedOptions,
  weights: number,
  map: number,
): ReadonlySet<number> | undefined {
  const numbers = schema && numberFeatures(schema)
  if (!numbers || numbers.length === 0) return undefined
  if (!map) return new Set(numbers)
  const used = featuresOf(arena, map, weights)
  return new Set(numbers.map(feature => used.indexOf(feature)))
}
