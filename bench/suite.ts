// What a suite is, and what a section of its results holds. A suite yields sections as they are done, so that a long run
// that breaks off leaves what it had measured.
import type { Chart } from './chart.ts'
import type { PreparedData, Size } from './data.ts'
import type { LossName } from './evaluator.ts'
import type { GivenPeer } from './peers/given.ts'

export interface SuiteContext {
  rounds: number
  size: Size
  /** Drop the page cache before every timed run; otherwise files are read once before, and stay warm. */
  cold: boolean
  /** A memory cap for every timed run, e.g. 2G. */
  limit?: string
  /** Of suites that take these options: the losses and costs to run, all where none is named; and whether memory is to hold a
   *  fifth of the rows. */
  losses?: LossName[]
  costs?: number[]
  fifth: boolean
  /** Seconds after which a run is stopped, or seconds of load, where --seconds says so. */
  seconds?: number
  /** MiB of the least and of the most cap and between two of them, and solvers, of a suite that climbs. */
  from?: number
  to?: number
  step?: number
  solvers?: string[]
  /** Whether times of many ranks are predicted, and for which network between nodes. */
  simulate: boolean
  network: { latency: number; bandwidth: number }
  /** Programs that --peer names. */
  peers: GivenPeer[]
  /** With --resume: what the run that broke off had measured. */
  before: Section[]
  /** Models, stores and labels go here; removed at the end unless --keep. */
  workFolder: string
  /** Progress, on stderr. */
  say(text: string): void
  /** Whether --only lets this section, this data set or this method through. */
  wants(name: string): boolean
  /** The wanted ones among these data sets, on disk; one that cannot be had is said and left out. */
  data(names: string[]): AsyncGenerator<PreparedData>
  /** What could not be measured, and why: it ends up in the results. */
  skip(what: string, why: unknown): void
}

export type Cell = string | number | boolean | undefined

export interface Column {
  title: string
  /** How a number is shown; the JSON keeps it in full. */
  show?: 'seconds' | 'bytes' | 'megabytes' | 'ratio' | 'times' | 'difference' | 'fixed2' | 'count' | 'share' | 'share2'
}

export interface Table {
  title?: string
  columns: Record<string, Column>
  rows: Record<string, Cell>[]
}

export interface Section {
  name: string
  title: string
  /** The goal in words. */
  goal: string
  /** How it was measured, one sentence each. */
  protocol: string[]
  tables: Table[]
  /** Lines over time: all charts of a run become one picture, SUITE.svg. */
  charts?: Chart[]
  /** Every round of every peer, and whatever else a reader may want to check. */
  details: unknown[]
  notes: string[]
}

/** Options that only some suites know. */
export type SuiteOption =
  | 'losses'
  | 'costs'
  | 'fifth'
  | 'seconds'
  | 'from'
  | 'to'
  | 'step'
  | 'solvers'
  | 'simulate'
  | 'network'
  | 'peer'
  | 'resume'

export interface Suite {
  name: string
  summary: string
  sections: string[]
  dataSets: string[]
  /** What else --only names, in groups such as methods that a suite compares. Of a group that nobody names all is run. */
  choices?: string[][]
  options?: SuiteOption[]
  /** Names that --solvers takes. */
  solvers?: string[]
  /** Yields sections as they are done, and one that grows each time that it has grown. */
  run(context: SuiteContext): AsyncGenerator<Section>
}
