// Every expansion, one line each.
import type { Expansion } from './expansion.ts'
import { hash } from './hash.ts'
import { polynomial } from './polynomial.ts'
import { weightedDegree } from './weighted-degree.ts'

export const allExpansions: Expansion[] = [weightedDegree, polynomial, hash]
