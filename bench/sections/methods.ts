// Figure 2 of the block minimisation paper: six methods over time, by their distance from the optimum and from the best
// accuracy; LIBLINEAR in memory beside them.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chart, Series } from '../chart.ts'
import type { PreparedData } from '../data.ts'
import { evaluateFiles } from '../evaluator.ts'
import { makeCold, warm } from '../measure.ts'
import { liblinear } from '../peers/liblinear.ts'
import type { TrainRun } from '../peers/peer.ts'
import { referenceFor } from '../reference.ts'
import { interleave, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext } from '../suite.ts'
import { COST, knownSolvers, MEMORY, passSeries, pointCells, pointColumns, type Variant } from './pass-series.ts'

const PASSES = [1, 2, 4, 8, 16]
/** As in the paper. */
const BLOCKS: Record<string, number> = { 'yahoo-korea': 5, webspam: 40, epsilon: 30 }
const EPSILONS = [1, 0.1, 0.01]

type Method = Pick<Variant, 'name' | 'words'> & Partial<Pick<Variant, 'loss' | 'passes' | 'memory'>>

const METHODS: Method[] = [
  { name: 'BLOCK-L-1', words: ['--solver', 'block', '--inner-passes', '1'] },
  { name: 'BLOCK-L-10', words: ['--solver', 'block', '--inner-passes', '10'] },
  { name: 'BLOCK-L-D', words: ['--solver', 'block', '--inner-tolerance', '0.1'] },
  { name: 'BLOCK-P-B', words: ['--solver', 'pegasos', '--batch', 'block'] },
  { name: 'BLOCK-P-I', words: ['--solver', 'pegasos', '--batch', 'row'] },
  // Its problem of balls needs the squared slack; the paper, too, shows its accuracy alone.
  { name: 'one-pass', words: ['--solver', 'one-pass'], loss: 'squared-hinge', passes: [1] },
  // What it is about is a cache of rows, for which the least memory has no room.
  { name: 'selective', words: ['--solver', 'selective'], memory: 'cap' },
]

/** One point of the figure, whoever made it. */
interface Point {
  method: string
  /** Passes, or LIBLINEAR's epsilon. */
  setting: string
  memory?: string
  pieces?: number
  storeSeconds?: number
  runSeconds: number
  spread: number
  seconds: number
  /** Of the hinge problem; missing for a method that solves another one. */
  primal?: number
  accuracy?: number
  details: unknown
}

export async function methodsSection(context: SuiteContext, names: string[]): Promise<Section> {
  const charts: Chart[] = []
  const section: Section = {
    name: 'methods',
    title: 'Methods over time',
    goal: 'the comparison of Figure 2 of the block minimisation paper; shown, not judged.',
    protocol: [
      `Hinge loss, C = ${COST}; blocks as in the paper: ${names.map(name => `${BLOCKS[name]} for ${name}`).join(', ')}.`,
      `Each point is a run of its own from a ready-made store, ended by --max-passes; its time is store and run together. Spillway reads the data once more at the end, to certify: that counts.`,
      `Blocks that fit in memory together are solved together, so Spillway runs with the least memory it accepts, one block at a time as in the paper; selective, which needs a cache, with ${MEMORY[context.size]}, or the least it accepts where that is more. Pieces: sub-problems in a pass, as Spillway tells its plan.`,
      "LIBLINEAR: in memory, from text, with -e 1, 0.1 and 0.01; no store. one-pass: the squared hinge loss, so its distance from the hinge problem's optimum is left out.",
      'Difference: (P − P*) / P* on the training file; below best: test accuracy under the best of all points, in percentage points. Both by the evaluator.',
    ],
    tables: [],
    charts,
    details: [],
    notes: [],
  }
  const solvers = await knownSolvers()
  const methods = METHODS.filter(({ name, words }) => {
    const there = solvers.includes(words[1])
    if (!there) context.skip(`methods, ${name}`, `not measured: this build has no solver ${words[1]}`)
    return there
  })
  const withLiblinear = (await liblinear.version()) !== undefined
  if (!withLiblinear) context.skip('methods, LIBLINEAR', `not measured: ${liblinear.howToInstall}`)
  for await (const data of context.data(names)) {
    if (solvers.length === 0) break
    try {
      context.say(`methods ${data.name}`)
      const points = await blockPoints(context, data, methods)
      if (withLiblinear) points.push(...(await liblinearPoints(context, data)))
      const reference = await referenceFor(data, { loss: 'hinge', cost: COST }, context.workFolder, context.say)
      const best = Math.min(reference.primal, ...points.map(({ primal }) => primal ?? Infinity))
      const bestAccuracy = Math.max(...points.map(({ accuracy }) => accuracy ?? 0))
      const rows = points.map(({ details: _, primal, accuracy, ...shown }) => ({
        ...{ ...shown, accuracy },
        difference: primal === undefined ? undefined : (primal - best) / best,
        belowBest: accuracy === undefined ? undefined : 100 * (bestAccuracy - accuracy),
      }))
      section.tables.push({ title: data.name, columns, rows })
      charts.push(...chartsOf(data.name, rows, reference.gap))
      section.details.push({ data: data.name, reference, best, bestAccuracy, points })
    } catch (error) {
      context.skip(`methods, ${data.name}`, error)
    }
  }
  return section
}

const columns = {
  method: { title: 'method' },
  setting: { title: 'passes or -e' },
  ...pointColumns,
  difference: { title: 'difference', show: 'difference' },
  accuracy: { title: 'test accuracy', show: 'share' },
  belowBest: { title: 'below best', show: 'fixed2' },
} as const

async function blockPoints(context: SuiteContext, data: PreparedData, methods: Method[]): Promise<Point[]> {
  const variants = methods.map(
    (method): Variant => ({
      ...{ loss: 'hinge', passes: PASSES, memory: 'block', ...method },
      store: { blocks: BLOCKS[data.name] ?? 40, split: 'random', compress: 'auto' },
    }),
  )
  const points = await passSeries(context, data, variants, 'methods', true)
  return points.map(point => {
    const { variant, shownPasses, store, run, training, test, told } = point
    return {
      ...{ method: variant.name, setting: shownPasses, ...pointCells(point) },
      ...{ primal: variant.loss === 'hinge' ? training.primal : undefined, accuracy: test?.accuracy },
      details: { store, run, training, test, told },
    }
  })
}

async function liblinearPoints(context: SuiteContext, data: PreparedData): Promise<Point[]> {
  const { workFolder, cold, limit, rounds, say } = context
  const modelOf = (epsilon: number): string => join(workFolder, `methods-LIBLINEAR-${epsilon}.model`)
  if (!cold) await warm(data.file)
  const contestants = EPSILONS.map(epsilon => ({
    name: `LIBLINEAR -e ${epsilon}`,
    run: async (): Promise<TrainRun> => {
      if (cold) await makeCold(data.file)
      const request = { loss: 'hinge' as const, cost: COST, stop: epsilon, model: modelOf(epsilon) }
      return liblinear.train(data.file, request, { limit })
    },
  }))
  try {
    const runs = await interleave(contestants, rounds, say)
    const objective = { loss: 'hinge' as const, cost: COST }
    const models = EPSILONS.map(modelOf)
    const training = await evaluateFiles(data.file, models, objective)
    const test = data.testFile ? await evaluateFiles(data.testFile, models, objective) : []
    for (const model of models) await rm(model, { force: true })
    return EPSILONS.map((epsilon, k) => {
      const run = timingOf(runs.get(contestants[k].name)!)
      return {
        ...{ method: 'LIBLINEAR', setting: `-e ${epsilon}`, runSeconds: run.seconds, spread: run.spread },
        ...{ seconds: run.seconds, primal: training[k].primal, accuracy: test[k]?.accuracy },
        details: { run, training: training[k], test: test[k] },
      }
    })
  } catch (error) {
    context.skip(`methods, ${data.name}, LIBLINEAR`, error)
    return []
  }
}

/** Both halves of the figure; `floor` is how well P* is known: nearer than that is drawn there. */
function chartsOf(name: string, rows: Record<string, Cell>[], floor: number): Chart[] {
  const methods = [...new Set(rows.map(row => String(row['method'])))]
  const lines = (key: string, least: number): Series[] =>
    methods.map(method => ({
      name: method,
      points: rows
        .filter(row => row['method'] === method && typeof row[key] === 'number')
        .map(row => ({ x: row['seconds'] as number, y: Math.max(row[key] as number, least) })),
    }))
  const storeSeconds = rows.find(row => typeof row['storeSeconds'] === 'number')?.['storeSeconds']
  const mark = typeof storeSeconds === 'number' ? { x: storeSeconds, label: 'store made' } : undefined
  const xLabel = 'seconds, store included'
  return [
    {
      ...{ title: `${name}: distance from the optimum`, xLabel, yLabel: '(P − P*) / P*', yScale: 'log', mark },
      series: lines('difference', floor),
    },
    {
      ...{ title: `${name}: distance from the best accuracy`, xLabel, yLabel: 'percentage points', mark },
      ...{ yScale: 'linear', series: lines('belowBest', 0) },
    },
  ]
}
