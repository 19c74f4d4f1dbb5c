// Problems on which coordinate descent stalls, and all others: does auto get there, whatever the data, the loss and the cost?
import { hardSection } from '../sections/hard.ts'
import type { Suite } from '../suite.ts'

const AS_PUBLISHED = ['a9a', 'w8a', 'dna', 'imdb-raw', 'news20bydate-raw', 'covtype-raw', 'mnist-raw', 'skin']
const SCALED = ['imdb', 'news20bydate', 'covtype', 'mnist', 'skin-scaled']

export const hard: Suite = {
  name: 'hard',
  summary: 'auto on every set, scaled or not, every loss and cost, beside the fastest solver of LIBLINEAR',
  sections: ['hard'],
  dataSets: [...AS_PUBLISHED, ...SCALED],
  options: ['losses', 'costs', 'fifth', 'seconds', 'resume'],
  async *run(context) {
    if (context.wants('hard')) yield* hardSection(context, [...AS_PUBLISHED, ...SCALED])
  },
}
