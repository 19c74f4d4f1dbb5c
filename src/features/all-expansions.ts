// Every expansion, one line each.

import { additiveKernel } from './additive-kernel.ts'
import { chi2Map } from './chi2-map.ts'
import type { Expansion } from './expansion.ts'
import { hash } from './hash.ts'
import { intersectionMap } from './intersection-map.ts'
import { polynomial } from './polynomial.ts'
import { weightedDegree } from './weighted-degree.ts'

export const allExpansions: Expansion[] = [weightedDegree, polynomial, chi2Map, intersectionMap, hash, additiveKernel]
