// Truncated losses: what flipped labels do to them, and how support vectors, errors and times go with s and C.
import { costsSection, flippedSection, marginsSection } from '../sections/truncated.ts'
import type { Suite } from '../suite.ts'

const DATA = ['a9a', 'covtype-unit', 'mnist-1']

export const indexed: Suite = {
  name: 'indexed',
  summary: 'truncated losses beside convex ones: flipped labels, support vectors over s, costs',
  sections: ['flipped', 'margins', 'costs'],
  dataSets: DATA,
  options: ['costs'],
  async *run(context) {
    const names = DATA.filter(name => context.wants(name))
    if (context.wants('flipped')) yield flippedSection(context, names)
    if (context.wants('margins')) yield marginsSection(context, names)
    if (context.wants('costs')) yield costsSection(context, names)
  },
}
