// The tables of all structures that compiled loops and TypeScript share, by the file of constants that each makes.
import { along } from './along.ts'
import { ball } from './ball.ts'
import { bundle } from './bundle.ts'
import { common } from './common.ts'
import { crammerSinger } from './crammer-singer.ts'
import { featureMap } from './feature-map.ts'
import { generate } from './generate.ts'
import { l1 } from './l1.ts'
import { metricTree } from './metric-tree.ts'
import { segment } from './segment.ts'
import { isStructure, type LayoutFile, type Structure } from './structure.ts'
import { table } from './table.ts'
import { workingSet } from './working-set.ts'

export const allLayoutFiles: readonly LayoutFile[] = [
  common,
  along,
  ball,
  bundle,
  crammerSinger,
  featureMap,
  generate,
  l1,
  metricTree,
  segment,
  table,
  workingSet,
]

export const allStructures: readonly Structure[] = allLayoutFiles.flatMap(({ parts }) => parts.filter(isStructure))
