// node bench/main.ts SUITE: runs a suite and writes bench/results/SUITE.json and SUITE.md. Without a suite, lists them.
import { rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, DataMissing, type PreparedData, prepareData } from './data.ts'
import { describeMachine } from './machine.ts'
import { liblinear } from './peers/liblinear.ts'
import { spillway } from './peers/spillway.ts'
import { earlierResults, type Results, writeResults } from './results.ts'
import { type Asked, OPTIONS, readSettings } from './settings.ts'
import type { Section, SuiteContext } from './suite.ts'
import { allSuites } from './suites/all-suites.ts'

const resultsFolder = fileURLToPath(new URL('./results', import.meta.url))
const root = fileURLToPath(new URL('../', import.meta.url))

const say = (text: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${text}\n`)
}

async function main(): Promise<number> {
  const asked = readSettings(process.argv.slice(2))
  if (asked === undefined) {
    const list = allSuites.map(suite => `  ${suite.name.padEnd(14)} ${suite.summary}`).join('\n')
    console.log(`npm run bench -- SUITE [options]\n\nSuites:\n${list}\n\n${OPTIONS}`)
    return 0
  }
  if (typeof asked === 'string') {
    process.stderr.write(`${asked}\n\n${OPTIONS}\n`)
    return 2
  }
  const { suite, settings, keep, file, out = resultsFolder } = asked
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
    size: settings.size,
    rounds: settings.rounds,
    pageCache: settings.cold
      ? 'cold: dropped before every timed run'
      : 'warm: the file was read once before (ingest, budget: cold)',
    limit: settings.limit,
    machine,
    sections: [],
    skipped: [],
  }
  const before = asked.resume ? await earlierResults(out, file, results) : undefined
  if (typeof before === 'string') say(`nothing to go on with: ${before}`)
  const context = makeContext(asked, results, typeof before === 'object' ? before.sections : [])
  await mkdir(context.workFolder, { recursive: true })
  const tidy = (): void => {
    if (!keep) rmSync(context.workFolder, { recursive: true, force: true })
  }
  process.once('SIGINT', () => {
    tidy()
    process.exit(130)
  })
  try {
    for await (const section of suite.run(context)) {
      // A section that grows comes again and again.
      if (!results.sections.includes(section)) results.sections.push(section)
      await writeResults(out, file, results)
    }
    results.complete = true
    await writeResults(out, file, results)
  } finally {
    tidy()
  }
  say(`${join(out, file)}.md`)
  return 0
}

function makeContext({ suite, only, settings }: Asked, results: Results, before: Section[]): SuiteContext {
  const wants = (name: string): boolean => {
    const groups = [suite.sections, ...(suite.choices ?? []), suite.dataSets]
    const group = groups.find(each => each.includes(name)) ?? []
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
  return { ...settings, before, workFolder, say, wants, data, skip }
}

process.exitCode = await main()
