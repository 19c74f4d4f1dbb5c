// `chi2`: 2xy / (x + y), the χ² kernel.
import { namedPowerMean } from './power-mean.ts'

export const chi2 = namedPowerMean('chi2', '2xy / (x + y), the χ² kernel', -1)
