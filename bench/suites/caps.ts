// Little memory: does a run crawl under a hard cap, or is it killed?
import { capsSection } from '../sections/caps.ts'
import type { Suite } from '../suite.ts'

const DATA = ['webspam-medium', 'yahoo-korea-medium', 'visual-words']

export const caps: Suite = {
  name: 'caps',
  summary: 'hard memory caps from the least that is accepted on: never killed, never crawling',
  sections: ['caps'],
  dataSets: DATA,
  async *run(context) {
    if (context.wants('caps')) yield capsSection(context, DATA)
  },
}
