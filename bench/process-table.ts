// Tables with a row for each of several processes: what each took, and what a section makes of it.
import type { Measured } from './measure.ts'
import { type Timing, timingOf } from './rounds.ts'
import type { Cell, Table } from './suite.ts'

const columns: Table['columns'] = {
  name: { title: 'what' },
  seconds: { title: 'time', show: 'seconds' },
  cpuSeconds: { title: 'computing', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  memory: { title: 'memory', show: 'megabytes' },
}

/** A row for each process, with the cells that a section has for its own columns; and every round of each. */
export function processTable(
  runs: Iterable<[name: string, measured: Measured[]]>,
  added: Table['columns'],
  more: (name: string, timing: Timing) => Record<string, Cell>,
): { table: Table; details: ({ name: string } & Timing)[] } {
  const details = [...runs].map(([name, measured]) => ({ name, ...timingOf(measured) }))
  const rows = details.map(({ name, ...timing }) => {
    const { seconds, cpuSeconds, spread, peakMemoryBytes } = timing
    return { name, seconds, cpuSeconds, spread, memory: peakMemoryBytes, ...more(name, timing) }
  })
  return { table: { columns: { ...columns, ...added }, rows }, details }
}
