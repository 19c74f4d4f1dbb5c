// The data fits in memory: LIBLINEAR's home ground. Text file to model, text to store, text to labels.
import { ingestSection } from '../sections/ingest.ts'
import { predictSection } from '../sections/predict.ts'
import { trainSection } from '../sections/train.ts'
import type { Suite } from '../suite.ts'

const GENERATED = ['webspam', 'yahoo-korea', 'words-million', 'epsilon', 'kddb', 'clicks', 'connections']
/** Short rows in random order: what a sweep waits for is memory. */
const SHORT = ['clicks', 'connections']
const REAL = ['a9a', 'w8a', 'imdb', 'news20bydate-11', 'news20bydate', 'covtype']
const ALL = [...GENERATED, ...REAL]

export const inMemory: Suite = {
  name: 'in-memory',
  summary: 'text file to model, to store and to labels, beside LIBLINEAR, with memory to spare (goals 1, 6, 7, 12)',
  sections: ['train', 'ingest', 'predict'],
  dataSets: ALL,
  async *run(context) {
    if (context.wants('train')) {
      yield trainSection(context, [
        // LIBLINEAR's default, and the stricter setting that people use when they care.
        { loss: 'hinge', dataSets: ALL, epsilons: [undefined, 0.01] },
        { loss: 'squared-hinge', dataSets: [...SHORT, ...REAL], epsilons: [undefined] },
        { loss: 'logistic', dataSets: [...SHORT, ...REAL], epsilons: [undefined] },
      ])
    }
    if (context.wants('ingest')) yield ingestSection(context, ALL)
    if (context.wants('predict')) yield predictSection(context, ALL)
  },
}
