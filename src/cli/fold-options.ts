// Options of the commands that train on folds: those of train that make sense there, and how costs are written.
import { UsageError } from '../errors.ts'
import { allSolvers, solverChoices } from '../optimise/solvers/all-solvers.ts'
import { trainsFolds } from '../optimise/solvers/solver.ts'
import type { OptionSpec } from './command.ts'
import { tableOptions } from './table-options.ts'
import { optionsOfTrain } from './train-options.ts'

const SHARED = [
  ...['loss', 'solver', 'bias', 'class-weight', 'tolerance', 'max-passes', 'seed', 'no-shrinking', 'memory'],
  ...[
    'outlier-margin',
    'outlier-start',
    'format',
    'index-base',
    'on-bad-row',
    'normalize',
    'scale',
    'kernel',
    'approximation',
    'degree',
    'nodes',
    'bins',
    'expand',
    'values',
    'sql',
    'labels',
    ...Object.keys(tableOptions),
    'record',
    'report',
    'json',
    'verbose',
    'quiet',
  ],
]

export const foldOptions: Record<string, OptionSpec> = {
  folds: {
    value: 'N',
    short: 'v',
    help: 'number of parts that the rows are dealt into; each part is scored by models that were not trained on it',
    fallback: '5',
    group: 'The folds',
  },
  ...Object.fromEntries(SHARED.map(name => [name, optionsOfTrain[name]])),
  solver: {
    ...optionsOfTrain['solver'],
    choices: solverChoices(allSolvers.filter(trainsFolds)),
  },
  'max-passes': { ...optionsOfTrain['max-passes'], fallback: '1000; indexed and truncated losses 10000' },
  threads: { value: 'N', help: 'number of threads', fallback: 'as many as there are cores', group: 'The data' },
}

/** `0.1,1,10`, `2^-6..2^6` (by factors of 2), `0.01..100` (by factors of 10), and lists of these. */
export function parseCosts(text: string): number[] {
  const costs = text.split(',').flatMap(part => {
    const ends = part.split('..')
    if (ends.length > 2) throw wrong(part)
    const [first, last = first] = ends.map(end => parseCost(end, part))
    if (last < first) throw new UsageError(`--cost has the range "${part}", whose end is below its beginning`)
    const factor = /\^/.test(part) || !isPowerOfTen(last / first) ? 2 : 10
    const range: number[] = []
    for (let cost = first; cost <= last * (1 + 1e-9); cost *= factor) range.push(cost)
    return range
  })
  if (costs.length > 1000) throw new UsageError(`--cost names ${costs.length} costs; at most 1000 are tried`)
  return costs
}

function parseCost(text: string, part: string): number {
  const [base, exponent, ...more] = text.trim().split('^')
  const cost = exponent === undefined ? Number(base) : Number(base) ** Number(exponent)
  const complete = more.length === 0 && base !== '' && exponent !== ''
  if (!complete || !(cost > 0) || !Number.isFinite(cost)) throw wrong(part)
  return cost
}

const wrong = (part: string): UsageError =>
  new UsageError(`--cost has "${part}"; expected numbers above 0 as in 0.1,1,10, or a range such as 2^-6..2^6`)

function isPowerOfTen(ratio: number): boolean {
  const digits = Math.log10(ratio)
  return Math.abs(digits - Math.round(digits)) < 1e-9
}

/** 0.015625 → "2^-6", 0.1 → "0.1". */
export function formatCost(cost: number): string {
  const power = Math.log2(cost)
  return Number.isInteger(power) && (cost >= 16 || cost < 0.25) ? `2^${power}` : String(Number(cost.toPrecision(6)))
}
