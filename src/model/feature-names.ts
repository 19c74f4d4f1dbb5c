// What the user knows the features of a model by: numbers, names, columns of a table, or what they are made of.
import { parseExpansion } from '../features/expansion-steps.ts'
import { featureName as nameInTable } from '../tables/schema.ts'
import type { Model } from './model.ts'

/** The number by which the user knows a feature. */
export function userFeature(model: Model, feature: number): number {
  return feature + model.indexBase
}

/** What the user knows a feature of the data by: its number, its name, or its column in a table. */
function inputName(model: Model, feature: number): string {
  const name = hashedName(model, feature)
  if (model.schema) return nameInTable(model.schema, feature, name) ?? String(userFeature(model, feature))
  return name ?? String(userFeature(model, feature))
}

/** The kept name of a feature that was hashed. */
function hashedName({ hashedNames }: Model, feature: number): string | undefined {
  if (!hashedNames) return undefined
  const { features, names } = hashedNames
  let [low, high] = [0, features.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (features[middle] < feature) low = middle + 1
    else high = middle
  }
  return features[low] === feature ? names[low] : undefined
}

/** What the user knows a feature by: its number, or of what it is made; of a hashed one, its place among 2^BITS. */
export function featureName(model: Model, feature: number): string {
  const first = (input: number): string => inputName(model, input)
  const { expand } = model.transforms
  return expand ? parseExpansion(expand.steps).nameOf(feature, first) : first(feature)
}

/** The kept names of features before they were hashed, for some of the places they fell on. */
export function namesBeforeHash(model: Model, places: ReadonlySet<number>): Map<number, string[]> {
  const found = new Map<number, string[]>()
  const { expand } = model.transforms
  if (!expand?.names || places.size === 0) return found
  const steps = parseExpansion(expand.steps)
  for (const feature of expand.names) {
    const place = steps.placeOf(feature)
    if (!places.has(place)) continue
    const name = steps.nameBeforeHash(feature, input => inputName(model, input))
    found.set(place, [...(found.get(place) ?? []), name])
  }
  return found
}
