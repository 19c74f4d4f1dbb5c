// node bench/main.ts SUITE: runs a suite and writes bench/results/SUITE.json and SUITE.md. Without a suite, lists them.
import { rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cacheFolder, DataMissing, type PreparedData, prepareData, type Size } from './data.ts'
import { type LossName, lossNames } from './evaluator.ts'
import { describeMachine } from './machine.ts'
import { readPeers } from './peers/all-given.ts'
import { liblinear } from './peers/liblinear.ts'
import { spillway } from './peers/spillway.ts'
import { type Results, writeResults } from './results.ts'
import { LEAST_ROUNDS } from './rounds.ts'
import type { Suite, SuiteContext, SuiteOption } from './suite.ts'
import { allSuites } from './suites/all-suites.ts'

const OPTIONS = `Options:
  --rounds N          times each peer is run (3)
  --size small|full   generated files of about 60 MB or 600 MB, 2.6 GB for budget (full)
  --only NAMES        data sets and sections to run, separated by commas (all)
  --cold              drop the page cache before every timed run
  --limit M           a memory cap for every timed run, page cache included, e.g. 2G
  --losses NAMES      hard, second-order: hinge, squared-hinge, logistic, separated by commas (all that apply)
  --costs NUMBERS     hard, second-order, indexed: values of C, separated by commas (0.01,1,100; second-order 1,100)
  --fifth             hard: with memory for a fifth of the rows
  --seconds N         serve: seconds of load for each kind of request (60; small: 2)
  --peer NAME=PATH    out-of-core: another program, cdblock=FOLDER or vw=PROGRAM; once for each
  --keep              leave models, stores and labels in bench/data/work
  --out DIR           where the results go (bench/results)`

const root = fileURLToPath(new URL('../', import.meta.url))

const say = (text: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${text}\n`)
}

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
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
      peer: { type: 'string', multiple: true },
      keep: { type: 'boolean', default: false },
      out: { type: 'string', default: fileURLToPath(new URL('./results', import.meta.url)) },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const [name] = positionals
  if (!name || values.help) {
    const list = allSuites.map(suite => `  ${suite.name.padEnd(14)} ${suite.summary}`).join('\n')
    console.log(`npm run bench -- SUITE [options]\n\nSuites:\n${list}\n\n${OPTIONS}`)
    return 0
  }
  const suite = allSuites.find(each => each.name === name)
  if (!suite) return usage(`no suite "${name}"; there are ${allSuites.map(each => each.name).join(', ')}`)
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1)
    return usage(`--rounds is "${values.rounds}"; expected a whole number from 1`)
  if (values.size !== 'small' && values.size !== 'full')
    return usage(`--size is "${values.size}"; expected small or full`)
  const only = values.only?.split(',').filter(Boolean) ?? []
  const known = [...suite.sections, ...suite.dataSets]
  const foreign = (['losses', 'costs', 'fifth', 'peer', 'seconds'] as const).find(
    option => values[option] && !suite.options?.includes(option),
  )
  if (foreign) return usage(`--${foreign} is not for ${suite.name}; it is for ${takersOf(foreign).join(', ')}`)
  const losses = values.losses?.split(',').filter(Boolean)
  const oddLoss = losses?.find(each => !lossNames.includes(each as LossName))
  if (oddLoss) return usage(`--losses names "${oddLoss}"; expected ${lossNames.join(', ')}`)
  const costs = values.costs?.split(',').filter(Boolean)
  const oddCost = costs?.find(each => !(Number(each) > 0 && Number.isFinite(Number(each))))
  if (oddCost) return usage(`--costs has "${oddCost}"; expected numbers above 0`)
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds)
  if (seconds !== undefined && !(seconds > 0 && Number.isFinite(seconds))) {
    return usage(`--seconds is "${values.seconds}"; expected a number above 0`)
  }
  const peers = readPeers(values.peer ?? [])
  if (typeof peers === 'string') return usage(peers)
  const strange = only.find(each => !known.includes(each))
  if (strange) return usage(`--only names "${strange}"; ${suite.name} has ${known.join(', ')}`)

  const machine = await describeMachine()
  for (const [peer, version] of [[spillway, machine.spillway] as const, [liblinear, machine.liblinear] as const]) {
    if (!version) say(`${peer.name} is not there, so it is left out; to have it: ${peer.howToInstall}`)
  }
  if (machine.spillway && machine.spillwayBuild === 'sources')
    say('dist/ is missing or older than src/: starts are slower; npm run build first')
  if (machine.loadAverage[0] > 0.5)
    say(`the load average is ${machine.loadAverage[0]}: others are at work on this machine`)
  const results: Results = {
    suite: suite.name,
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    complete: false,
    size: values.size,
    rounds,
    pageCache: values.cold
      ? 'cold: dropped before every timed run'
      : 'warm: the file was read once before (ingest, budget: cold)',
    limit: values.limit,
    machine,
    sections: [],
    skipped: [],
  }
  const settings: Settings = {
    ...{ rounds, size: values.size as Size, cold: values.cold, limit: values.limit, fifth: values.fifth },
    losses: losses as LossName[] | undefined,
    costs: costs?.map(Number),
    seconds,
    peers,
  }
  const context = makeContext(suite, only, settings, results)
  // A part of a suite, or a small one, must not pass for the whole.
  const parts = [
    ...only,
    ...(losses ?? []),
    ...(costs ?? []).map(cost => `c${cost}`),
    ...(values.fifth ? ['fifth'] : []),
    ...(seconds === undefined ? [] : [`${seconds}s`]),
  ]
  const file = [suite.name, ...(values.size === 'small' ? ['small'] : []), ...parts].join('-')
  await mkdir(context.workFolder, { recursive: true })
  const tidy = (): void => {
    if (!values.keep) rmSync(context.workFolder, { recursive: true, force: true })
  }
  process.once('SIGINT', () => {
    tidy()
    process.exit(130)
  })
  try {
    for await (const section of suite.run(context)) {
      results.sections.push(section)
      await writeResults(values.out, file, results)
    }
    results.complete = true
    await writeResults(values.out, file, results)
  } finally {
    tidy()
  }
  say(`${join(values.out, file)}.md`)
  return 0
}

type Settings = Pick<
  SuiteContext,
  'rounds' | 'size' | 'cold' | 'limit' | 'losses' | 'costs' | 'seconds' | 'fifth' | 'peers'
>

const takersOf = (option: SuiteOption): string[] =>
  allSuites.filter(suite => suite.options?.includes(option)).map(({ name }) => name)

function makeContext(suite: Suite, only: string[], settings: Settings, results: Results): SuiteContext {
  const wants = (name: string): boolean => {
    const group = suite.sections.includes(name) ? suite.sections : suite.dataSets
    const named = only.filter(each => group.includes(each))
    return named.length === 0 || named.includes(name)
  }
  const skip = (what: string, why: unknown): void => {
    const text = why instanceof Error ? why.message : String(why)
    // Results are published: commands in them read as one would type them in the project's folder.
    const reason = text.replaceAll(process.execPath, 'node').replaceAll(root, '')
    say(`skipped ${what}: ${reason}`)
    if (!results.skipped.some(each => each.what === what && each.why === reason))
      results.skipped.push({ what, why: reason })
  }
  async function* data(names: string[]): AsyncGenerator<PreparedData> {
    for (const name of names.filter(wants)) {
      let prepared: PreparedData
      try {
        prepared = await prepareData(name, settings.size)
      } catch (error) {
        if (!(error instanceof DataMissing)) say(`could not make ${name}`)
        skip(`data set ${name}`, error)
        continue
      }
      yield prepared
    }
  }
  const workFolder = join(cacheFolder, 'work', String(process.pid))
  return { ...settings, workFolder, say, wants, data, skip }
}

function usage(text: string): number {
  process.stderr.write(`${text}\n\n${OPTIONS}\n`)
  return 2
}

process.exitCode = await main()
