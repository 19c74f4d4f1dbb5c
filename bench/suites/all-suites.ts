// Every suite, one file and one line each. To come: stream, additive.
import type { Suite } from '../suite.ts'
import { inMemory } from './in-memory.ts'
import { outOfCore } from './out-of-core.ts'

export const allSuites: Suite[] = [inMemory, outOfCore]
