// Every loss, one line each.
import { UsageError } from '../errors.ts'
import { hinge } from './hinge.ts'
import { logistic } from './logistic.ts'
import type { Loss } from './loss.ts'
import { ramp } from './ramp.ts'
import { squaredHinge } from './squared-hinge.ts'
import { truncatedSquaredHinge } from './truncated-squared-hinge.ts'

export const allLosses: Loss[] = [hinge, squaredHinge, logistic, ramp, truncatedSquaredHinge]

export function findLoss(name: string): Loss {
  const found = allLosses.find(loss => loss.name === name)
  if (!found)
    throw new UsageError(`there is no loss "${name}"; expected one of ${allLosses.map(l => l.name).join(', ')}`)
  return found
}
