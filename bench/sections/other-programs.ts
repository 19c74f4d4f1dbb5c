// Other programs for data larger than memory, where they are given by path: LIBLINEAR-cdblock and Vowpal Wabbit. Spillway runs
// beside each, inside the same cap.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { describe, evaluate, evaluateFiles, type LossName } from '../evaluator.ts'
import { canLimit, type Measured, type MeasureOptions, makeCold } from '../measure.ts'
import { givenNames, notGiven } from '../peers/all-given.ts'
import type { GivenPeer, GivenRequest } from '../peers/given.ts'
import { spillway } from '../peers/spillway.ts'
import { interleave, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { bytesOf } from './budget.ts'
import { COST, MEMORY } from './pass-series.ts'

const PASSES = 10
/** About what ten passes of the others come to. */
const GAP = 6e-3
/** So many blocks for each memory that the text would fill. */
const BLOCKS = 8
const SPILLWAY = 'Spillway'

export async function otherProgramsSection(context: SuiteContext, names: string[]): Promise<Section> {
  const cap = MEMORY[context.size]
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'peers',
    title: `Other programs inside ${cap}`,
    goal: 'none: how long each takes, and how far from the best of them its model is.',
    protocol: [
      `C = ${COST}. cdblock splits the text and makes ${PASSES} passes over its blocks; vw makes ${PASSES} passes, from the second on over its cache; Spillway runs from text to a relative gap of ${GAP}. Splits and caches count.`,
      `Everything runs inside a cap of ${cap} where \`limit\` is allowed. Without --cold the text is in the page cache, which is not charged to the cap.`,
      'Differences are (P − P*) / P*, where P* is the least objective of the problem in this table.',
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
  for (const name of givenNames) if (!context.peers.some(peer => peer.name === name)) context.skip(name, notGiven(name))
  if (context.peers.length === 0) return section
  const limit = (await canLimit()) ? cap : undefined
  for await (const data of context.data(names)) {
    const losses = [...new Set(context.peers.flatMap(peer => peer.losses))]
    const { rows, features } = await describe(data.file)
    for (const loss of losses) {
      const blocks = Math.ceil((BLOCKS * data.bytes) / bytesOf(cap))
      const request = { loss, cost: COST, passes: PASSES, rows, features, blocks, folder: context.workFolder }
      try {
        table.rows.push(...(await compare(context, data, request, { limit })))
      } catch (error) {
        context.skip(`peers, ${data.name}, ${loss}`, error)
      }
    }
  }
  return section
}

const columns: Table['columns'] = {
  data: { title: 'data' },
  loss: { title: 'loss' },
  who: { title: 'who' },
  steps: { title: 'steps, s' },
  seconds: { title: 's', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  peak: { title: 'peak MB', show: 'megabytes' },
  difference: { title: 'difference', show: 'difference' },
}

async function compare(
  context: SuiteContext,
  data: PreparedData,
  request: GivenRequest,
  options: MeasureOptions,
): Promise<Record<string, Cell>[]> {
  const { loss, cost } = request
  const primals = new Map<string, number>()
  const steps = new Map<string, string>()
  const files = new Map<string, string>()
  const peers = context.peers.filter(peer => peer.losses.includes(loss))
  for (const peer of peers) files.set(peer.name, await peer.prepare(data.file, request.folder))
  const contestant = (peer: GivenPeer) => ({
    name: peer.name,
    run: async (): Promise<Measured> => {
      if (context.cold) await makeCold(files.get(peer.name)!)
      const { steps: done, model } = await peer.train(files.get(peer.name)!, request, options)
      const [{ primal }] = await evaluate(data.file, [model], { loss, cost })
      primals.set(peer.name, primal)
      steps.set(peer.name, done.map(({ what, run }) => `${what} ${run.seconds.toFixed(2)}`).join(', '))
      return together(done.map(({ run }) => run))
    },
  })
  const ours = { name: SPILLWAY, run: () => runSpillway(context, data, loss, options, primals) }
  try {
    const runs = await interleave([ours, ...peers.map(contestant)], context.rounds, context.say)
    const best = Math.min(...primals.values())
    return [...runs].map(([who, list]) => {
      const { seconds, spread, peakMemoryBytes } = timingOf(list)
      const difference = (primals.get(who)! - best) / best
      return { data: data.name, loss, who, steps: steps.get(who), seconds, spread, peak: peakMemoryBytes, difference }
    })
  } finally {
    for (const file of files.values()) if (file !== data.file) await rm(file, { force: true })
  }
}

async function runSpillway(
  { workFolder, size, cold }: SuiteContext,
  data: PreparedData,
  loss: LossName,
  options: MeasureOptions,
  primals: Map<string, number>,
): Promise<Measured> {
  const [model, store] = [join(workFolder, 'peers.model'), join(workFolder, 'peers.spill')]
  if (cold) {
    await makeCold(data.file)
    // The program itself is warm.
    await spillway.help('train')
  }
  try {
    const words = ['--memory', MEMORY[size], '--store', store]
    const run = await spillway.train(data.file, { loss, cost: COST, stop: GAP, model, words }, options)
    const [{ primal }] = await evaluateFiles(data.file, [await spillway.asLiblinear(model)], { loss, cost: COST })
    primals.set(SPILLWAY, primal)
    return run
  } finally {
    for (const made of [model, `${model}.liblinear`, store]) await rm(made, { recursive: true, force: true })
  }
}

/** One run of several steps. */
function together(runs: Measured[]): Measured {
  const sum = (of: (run: Measured) => number): number => runs.reduce((total, run) => total + of(run), 0)
  return {
    ...{
      seconds: sum(run => run.seconds),
      cpuSeconds: sum(run => run.cpuSeconds),
      diskBytes: sum(run => run.diskBytes),
    },
    peakMemoryBytes: Math.max(...runs.map(run => run.peakMemoryBytes)),
    ...{ stdout: '', stderr: '' },
  }
}
