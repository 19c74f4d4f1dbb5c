// What a start takes: the program on work that takes no time itself, beside Node with nothing to do.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { processTable } from '../process-table.ts'
import { type Contestant, interleave } from '../rounds.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'

/** Starts are short and vary much: each is measured so many times a round. */
const TURNS_A_ROUND = 7
const TWO_ROWS = '+1 1:1 2:0.5\n-1 1:-1 3:2\n'

interface Start {
  words: string[]
  /** Most seconds it may take. */
  goal?: number
}

export async function startSection(context: SuiteContext): Promise<Section> {
  const { workFolder, rounds, limit } = context
  const [data, model, labels] = ['two-rows.svm', 'two-rows.model', 'two-rows.labels'].map(name =>
    join(workFolder, name),
  )
  await writeFile(data, TWO_ROWS)
  const starts: Record<string, Start> = {
    'spillway --version': { words: ['--version'] },
    'spillway --help': { words: ['--help'], goal: 0.06 },
    'spillway train --help': { words: ['train', '--help'] },
    'spillway train, two rows': { words: ['train', data, model, '-q'], goal: 0.12 },
    'spillway predict, two rows': { words: ['predict', data, model, labels, '-q'] },
    'spillway inspect, two rows': { words: ['inspect', data] },
  }
  // The model for `predict`; and the first run of all, whose compiled code the others find.
  for (const { words } of Object.values(starts)) await measure(spillway.command(...words))
  const contestants: Contestant[] = [
    { name: 'node alone', run: () => measure([process.execPath, '-e', '0'], { limit }) },
    ...Object.entries(starts).map(([name, { words }]) => ({
      name,
      run: () => measure(spillway.command(...words), { limit }),
    })),
  ]
  const runs = await interleave(contestants, rounds * TURNS_A_ROUND, context.say)
  const { table, details } = processTable(runs, columns, (name, { seconds }) => {
    const goal = starts[name]?.goal
    return { goal, reached: goal === undefined ? undefined : seconds <= goal }
  })
  return {
    name: 'start',
    title: 'Starting',
    goal: 'A training of two rows in 0.12 s, `spillway --help` in 0.06 s.',
    protocol: [
      `Whole processes, ${TURNS_A_ROUND} of each a round, in turns; every command was run once before, so that Node has its compiled code.`,
      'On a busy machine the computing, user and system time of all threads, tells more than the clock.',
    ],
    tables: [table],
    details,
    notes: [],
  }
}

const columns: Table['columns'] = {
  goal: { title: 'goal', show: 'seconds' },
  reached: { title: 'reached' },
}
