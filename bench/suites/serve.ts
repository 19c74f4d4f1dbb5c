// How many rows a second `spillway serve` answers, and how long requests take.
import { serveSection } from '../sections/serve.ts'
import type { Suite } from '../suite.ts'

export const serve: Suite = {
  name: 'serve',
  summary: 'requests and rows a second of `spillway serve`, the slowest of a hundred requests, errors and memory',
  sections: ['serve'],
  dataSets: [],
  options: ['seconds'],
  async *run(context) {
    if (context.wants('serve')) yield serveSection(context)
  },
}
