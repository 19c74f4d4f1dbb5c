// Every suite, one file and one line each.
import type { Suite } from '../suite.ts'
import { additive } from './additive.ts'
import { caps } from './caps.ts'
import { inMemory } from './in-memory.ts'
import { outOfCore } from './out-of-core.ts'
import { start } from './start.ts'
import { stream } from './stream.ts'

export const allSuites: Suite[] = [inMemory, outOfCore, stream, additive, start, caps]
