// Indexed learning beside solvers that look at every row, and truncated losses: what flipped labels do to them, and how support vectors, errors and times go with s and C.
import { growthChoices, growthSections } from '../sections/growth.ts'
import { costsSection, flippedSection, marginsSection } from '../sections/truncated.ts'
import type { Suite } from '../suite.ts'

const DATA = ['a9a', 'covtype-unit', 'mnist-1']
const GROWTH = [
  'covtype-unit',
  'mnist-1',
  'digits-100k',
  'digits-300k',
  'digits-1m',
  'apart-100k',
  'apart-300k',
  'apart-1m',
  'apart-10m',
]

export const indexed: Suite = {
  name: 'indexed',
  summary: 'truncated losses: flipped labels, support vectors over s, costs; solver indexed over numbers of rows',
  sections: ['flipped', 'margins', 'costs', 'growth'],
  dataSets: [...new Set([...DATA, ...GROWTH])],
  choices: growthChoices,
  options: ['costs', 'seconds'],
  async *run(context) {
    const names = DATA.filter(name => context.wants(name))
    if (context.wants('flipped')) yield flippedSection(context, names)
    if (context.wants('margins')) yield marginsSection(context, names)
    if (context.wants('costs')) yield costsSection(context, names)
    if (context.wants('growth')) yield* growthSections(context, GROWTH)
  },
}
