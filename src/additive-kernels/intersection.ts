// `intersection`: nearly the smaller of two values, as the papers have it: a power mean with p = −8, which polynomials follow
// better than the minimum with its bend.
import { namedPowerMean } from './power-mean.ts'

export const intersection = namedPowerMean('intersection', 'about min(x, y): the power mean with P = -8', -8)
