// How soon the program is there: help, and commands on two rows.
import { startSection } from '../sections/start.ts'
import type { Suite } from '../suite.ts'

export const start: Suite = {
  name: 'start',
  summary: 'what a start takes: help, and training, predicting and inspecting two rows',
  sections: ['start'],
  dataSets: [],
  async *run(context) {
    if (context.wants('start')) yield startSection(context)
  },
}
