// Every suite, one file and one line each.
import type { Suite } from '../suite.ts'
import { additive } from './additive.ts'
import { caps } from './caps.ts'
import { cluster } from './cluster.ts'
import { hard } from './hard.ts'
import { inMemory } from './in-memory.ts'
import { indexed } from './indexed.ts'
import { outOfCore } from './out-of-core.ts'
import { secondOrder } from './second-order.ts'
import { serve } from './serve.ts'
import { start } from './start.ts'
import { stream } from './stream.ts'
import { tables } from './tables.ts'

export const allSuites: Suite[] = [
  inMemory,
  outOfCore,
  stream,
  hard,
  secondOrder,
  additive,
  indexed,
  start,
  serve,
  tables,
  caps,
  cluster,
]
