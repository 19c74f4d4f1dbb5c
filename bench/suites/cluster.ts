// Ranks of mpirun: how they scale, what they send, what averaging costs, and how long a thousand of them would take.
import { averagingSection } from '../sections/averaging.ts'
import { scalingSection } from '../sections/scaling.ts'
import { simulateSection } from '../sections/simulate.ts'
import { windowSection } from '../sections/window.ts'
import type { Suite } from '../suite.ts'

const SCALING = ['epsilon', 'webspam', 'epsilon-large']
const AVERAGING = ['a9a', 'imdb', 'covtype-unit', 'news20bydate']
const SIMULATED = ['clicks', 'epsilon', 'webspam']
const WINDOW = { large: 'epsilon-window', small: 'epsilon' }

export const cluster: Suite = {
  name: 'cluster',
  summary: 'ranks of mpirun: 1 to 4 of them, bytes sent, averaging and ADMM, more rows than a process holds (goal 13)',
  sections: ['scaling', 'averaging', 'window'],
  dataSets: [...new Set([...SCALING, ...AVERAGING, ...SIMULATED, ...Object.values(WINDOW)])],
  options: ['simulate', 'network'],
  async *run(context) {
    if (context.simulate) {
      yield* simulateSection(context, SIMULATED)
      return
    }
    if (context.wants('scaling')) yield* scalingSection(context, SCALING)
    if (context.wants('averaging')) yield* averagingSection(context, AVERAGING)
    if (context.wants('window')) yield windowSection(context, WINDOW.large, WINDOW.small)
  },
}
