// The words behind `npm run bench --`: options that all suites take and options of some, checked.
import { parseArgs } from 'node:util'
import type { Size } from './data.ts'
import { type LossName, lossNames } from './evaluator.ts'
import { readPeers } from './peers/all-given.ts'
import { LEAST_ROUNDS } from './rounds.ts'
import type { Suite, SuiteContext, SuiteOption } from './suite.ts'
import { allSuites } from './suites/all-suites.ts'

export const OPTIONS = `Options:
  --rounds N          times each peer is run (3)
  --size small|full   generated files of about 60 MB or 600 MB, 2.6 GB for budget (full)
  --only NAMES        data sets and sections to run, of indexed also methods and problems, separated by commas (all)
  --cold              drop the page cache before every timed run
  --limit M           a memory cap for every timed run, page cache included, e.g. 2G
  --losses NAMES      hard, second-order: hinge, squared-hinge, logistic, separated by commas (all that apply)
  --costs NUMBERS     hard, second-order, indexed: values of C, separated by commas (0.01,1,100; second-order 1,100)
  --fifth             hard: with memory for a fifth of the rows
  --seconds N         hard: a run that takes longer is stopped, and shown as "> N s" (900); serve: seconds of load (60);
                      second-order: a line ends with the first run that takes longer (60, small 10);
                      indexed: a run of growth that takes longer is given up (3600, small 120)
  --from M, --to M    caps: the least and the most cap, in MiB (112, 512)
  --step M            caps: from one cap to the next, in MiB (16, small 64)
  --solvers NAMES     caps: stream, selective, block, bundles, separated by commas (all)
  --simulate          cluster: predict times of 1 to 1,000 ranks, and check that at 1 to 4
  --network L,B       cluster --simulate: latency in seconds and bytes a second of a node (50e-6,1.25e9)
  --peer NAME=PATH    out-of-core: another program, cdblock=FOLDER or vw=PROGRAM; once for each
  --resume            caps, hard: go on with the results of the same command that broke off
  --keep              leave models, stores and labels in bench/data/work
  --out DIR           where the results go (bench/results)`

/** What a suite is told of the command line. */
export type Settings = Omit<SuiteContext, 'before' | 'workFolder' | 'say' | 'wants' | 'data' | 'skip'>

export interface Asked {
  suite: Suite
  only: string[]
  settings: Settings
  resume: boolean
  keep: boolean
  /** The folder of the results; undefined for the usual one. */
  out?: string
  /** Name of the files of the results, without an ending. */
  file: string
}

const ofSomeSuites: SuiteOption[] = [
  ...(['losses', 'costs', 'fifth', 'seconds', 'from', 'to', 'step', 'solvers'] as const),
  ...(['simulate', 'network', 'peer', 'resume'] as const),
]
const DEFAULT_NETWORK = { latency: 50e-6, bandwidth: 1.25e9 }

/** What was asked for; a sentence, where that cannot be; undefined where nothing was. */
export function readSettings(args: string[]): Asked | string | undefined {
  try {
    return checked(parse(args))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof OddOption || code?.startsWith('ERR_PARSE_ARGS')) return message
    throw error
  }
}

function parse(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: String(LEAST_ROUNDS) },
      size: { type: 'string', default: 'full' },
      only: { type: 'string' },
      cold: { type: 'boolean', default: false },
      limit: { type: 'string' },
      losses: { type: 'string' },
      costs: { type: 'string' },
      fifth: { type: 'boolean', default: false },
      seconds: { type: 'string' },
      from: { type: 'string' },
      to: { type: 'string' },
      step: { type: 'string' },
      solvers: { type: 'string' },
      simulate: { type: 'boolean', default: false },
      network: { type: 'string' },
      peer: { type: 'string', multiple: true },
      resume: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      out: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
}

function checked({ positionals, values }: ReturnType<typeof parse>): Asked | string | undefined {
  const [name] = positionals
  if (!name || values.help) return undefined
  const suite = allSuites.find(each => each.name === name)
  if (!suite) return `no suite "${name}"; there are ${allSuites.map(each => each.name).join(', ')}`
  const foreign = ofSomeSuites.find(option => values[option] && !suite.options?.includes(option))
  if (foreign) return `--${foreign} is not for ${suite.name}; it is for ${takersOf(foreign).join(', ')}`
  const list = (text: string | undefined): string[] | undefined => text?.split(',').filter(Boolean)
  const only = list(values.only) ?? []
  const known = [...suite.sections, ...suite.dataSets, ...(suite.choices ?? []).flat()]
  const strange = only.find(each => !known.includes(each))
  if (strange) return `--only names "${strange}"; ${suite.name} has ${known.join(', ')}`
  const losses = list(values.losses)
  const oddLoss = losses?.find(each => !lossNames.includes(each as LossName))
  if (oddLoss) return `--losses names "${oddLoss}"; expected ${lossNames.join(', ')}`
  const solvers = list(values.solvers)
  const oddSolver = solvers?.find(each => !suite.solvers?.includes(each))
  if (oddSolver) return `--solvers names "${oddSolver}"; expected ${suite.solvers?.join(', ')}`
  const costs = list(values.costs)
  const oddCost = costs?.find(each => !isPositive(Number(each)))
  if (oddCost) return `--costs has "${oddCost}"; expected numbers above 0`
  const peers = readPeers(values.peer ?? [])
  if (typeof peers === 'string') return peers
  if (values.size !== 'small' && values.size !== 'full') return `--size is "${values.size}"; expected small or full`
  const settings: Settings = {
    ...{ rounds: wholeFrom1('rounds', values.rounds)!, size: values.size as Size, cold: values.cold },
    ...{ limit: values.limit, fifth: values.fifth, losses: losses as LossName[] | undefined, solvers, peers },
    costs: costs?.map(Number),
    seconds: wholeFrom1('seconds', values.seconds),
    ...{ from: wholeFrom1('from', values.from), to: wholeFrom1('to', values.to) },
    step: wholeFrom1('step', values.step),
    ...{ simulate: values.simulate, network: networkOf(values.network) },
  }
  // A part of a suite, or a small one, must not pass for the whole.
  const parts = [
    ...(values.size === 'small' ? ['small'] : []),
    ...(values.simulate ? ['simulate'] : []),
    ...only,
    ...(losses ?? []),
    ...(solvers ?? []),
    ...(costs ?? []).map(cost => `c${cost}`),
    ...(values.fifth ? ['fifth'] : []),
    ...(values.step ? [`by-${values.step}`] : []),
    ...(values.from || values.to ? [`${values.from ?? 'least'}-to-${values.to ?? 'most'}`] : []),
  ]
  const { resume, keep, out } = values
  return { suite, only, settings, resume, keep, out, file: [suite.name, ...parts].join('-') }
}

class OddOption extends Error {}

const isPositive = (value: number): boolean => value > 0 && Number.isFinite(value)

function wholeFrom1(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new OddOption(`--${name} is "${text}"; expected a whole number from 1`)
  return value
}

function networkOf(text: string | undefined): SuiteContext['network'] {
  if (text === undefined) return DEFAULT_NETWORK
  const [latency, bandwidth, ...more] = text.split(',').map(Number)
  if (!isPositive(latency) || !isPositive(bandwidth) || more.length > 0)
    throw new OddOption(`--network is "${text}"; expected seconds and bytes a second, e.g. 50e-6,1.25e9`)
  return { latency, bandwidth }
}

const takersOf = (option: SuiteOption): string[] =>
  allSuites.filter(suite => suite.options?.includes(option)).map(({ name }) => name)
