// Little memory: does a run crawl under a hard cap, or is it killed?
import { capSolvers, capsSection } from '../sections/caps.ts'
import type { Suite } from '../suite.ts'

/** Long rows of many features; 630 MB with a million features; many classes. */
const DATA = ['webspam-medium', 'words-million', 'visual-words']

export const caps: Suite = {
  name: 'caps',
  summary: 'hard memory caps from the least that is accepted on: never killed, never crawling',
  sections: ['caps'],
  dataSets: DATA,
  options: ['from', 'to', 'step', 'solvers', 'resume'],
  solvers: capSolvers,
  async *run(context) {
    if (context.wants('caps')) yield* capsSection(context, DATA)
  },
}
