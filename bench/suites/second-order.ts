// Second-order methods beside coordinate descent, over time: the comparison of the talk on large-scale linear classification.
import { secondOrderSection } from '../sections/second-order.ts'
import type { Suite } from '../suite.ts'

const DATA = ['a9a', 'imdb', 'covtype', 'covtype-raw', 'skin', 'mnist']

export const secondOrder: Suite = {
  name: 'second-order',
  summary: 'coordinate descent and second-order methods over time: how far from the optimum after how many seconds',
  sections: ['second-order'],
  dataSets: DATA,
  options: ['losses', 'costs', 'seconds'],
  async *run(context) {
    for (const name of DATA) if (context.wants(name)) yield secondOrderSection(context, name)
  },
}
