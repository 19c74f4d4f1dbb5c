// The data is larger than the memory allowed: the ground of the block minimisation papers.
import { ablationsSection } from '../sections/ablations.ts'
import { budgetSection } from '../sections/budget.ts'
import { methodsSection } from '../sections/methods.ts'
import { otherProgramsSection } from '../sections/other-programs.ts'
import type { Suite } from '../suite.ts'

const LARGE = ['webspam-large']
const PAPER = ['yahoo-korea', 'webspam', 'epsilon']
const SORTED = ['webspam-sorted']

export const outOfCore: Suite = {
  name: 'out-of-core',
  summary: 'text to model inside a memory cap; the methods of the papers over time; ablations (goals 2, 4, 15)',
  sections: ['budget', 'methods', 'ablations', 'peers'],
  options: ['peer'],
  dataSets: [...LARGE, ...PAPER, ...SORTED],
  async *run(context) {
    if (context.wants('budget')) yield budgetSection(context, LARGE)
    if (context.wants('methods')) yield methodsSection(context, PAPER)
    if (context.wants('ablations')) yield ablationsSection(context, SORTED)
    if (context.wants('peers')) yield otherProgramsSection(context, LARGE)
  },
}
