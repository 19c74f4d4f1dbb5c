// Training while text is read, and going on from what is in memory: the ground of the paper on dual cached loops.
import { autoSection } from '../sections/auto.ts'
import { budgetSection } from '../sections/budget.ts'
import { slowDiskSection } from '../sections/slow-disk.ts'
import { costsSection, memorySection } from '../sections/stream-figures.ts'
import { trainersSection } from '../sections/trainers.ts'
import type { Suite } from '../suite.ts'

const FIGURES = ['webspam-medium']
const LARGE = ['webspam-large']
const ALL = ['webspam-medium', 'yahoo-korea-medium', 'epsilon-medium', 'kddb-medium']
const TRAINERS = ['yahoo-korea-medium', 'kddb-medium']

export const stream: Suite = {
  name: 'stream',
  summary: 'solver stream over time, on a slow disk and on two threads; the choice of auto (goals 4, 5, 15)',
  sections: ['costs', 'memory', 'slow-disk', 'auto', 'trainers', 'budget'],
  dataSets: [...ALL, ...LARGE],
  async *run(context) {
    if (context.wants('costs')) yield costsSection(context, FIGURES)
    if (context.wants('memory')) yield memorySection(context, FIGURES)
    if (context.wants('slow-disk')) yield slowDiskSection(context, LARGE)
    if (context.wants('auto')) yield autoSection(context, ALL)
    if (context.wants('trainers')) yield trainersSection(context, TRAINERS)
    if (context.wants('budget')) yield budgetSection(context, LARGE, { withLiblinear: false })
  },
}
