// Every suite, one file and one line each. To come: out-of-core, stream, additive.
import type { Suite } from '../suite.ts'
import { inMemory } from './in-memory.ts'

export const allSuites: Suite[] = [inMemory]
