// Figures 2, 3 and 4 of the paper on dual cached loops: the distance from the optimum over time, for costs and for sizes of
// memory.
import type { Chart } from '../chart.ts'
import type { Size } from '../data.ts'
import { type Reference, referenceFor } from '../reference.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'
import { COST, knownSolvers, passSeries, type SeriesPoint, type StoreSpec, type Variant } from './pass-series.ts'

const SOLVERS = ['stream', 'selective', 'block']
/** Small runs show that the harness works: fewer of everything, for judging a model takes longer than training it. */
const COSTS: Record<Size, number[]> = { small: [1e-2, 1e2], full: [1e-4, 1e-2, 1, 1e2, 1e3] }
const PASSES: Record<Size, number[]> = { small: [1, 4], full: [1, 2, 4, 8] }
const TENTH = 0.1
const SHARES: Record<Size, number[]> = { small: [0.2, 1], full: [0.05, 0.2, 0.5, 1] }
/** Small enough for two of them to leave room for a cache in a twentieth of the rows. */
const STORE: StoreSpec = { blocks: 100, split: 'random', compress: 'auto' }

const PROTOCOL = [
  'Hinge loss. Each point is a run of its own from a ready-made store, ended by --max-passes; its time is that of the whole process, the store not counted. Reading that Spillway needs at the end to certify counts.',
  'Difference: (P − P*) / P*, by the evaluator; the paper shows that of the dual, which a model file does not have. P* is the lowest of the reference and of all points. Points nearer than the certified gap of the reference are drawn at that gap.',
]

/** Lines that share a problem and a memory. */
interface Panel {
  title: string
  cost: number
  share: number
}

/** `solver` at C and memory of a panel. */
const variantOf = (solver: string, { title, cost, share }: Panel, passes: number[]): Variant => ({
  ...{ name: `${solver}, ${title}`, loss: 'hinge', cost, words: ['--solver', solver], store: STORE, passes },
  memory: { share },
})

export function costsSection(context: SuiteContext, names: string[]): Promise<Section> {
  const panels = COSTS[context.size].map(cost => ({ title: `C = ${cost}`, cost, share: TENTH }))
  return figureSection(context, names, panels, {
    name: 'costs',
    title: 'Costs: distance from the optimum over time',
    goal: 'the comparison of Figures 2 and 3 of the paper on dual cached loops; shown, not judged.',
    protocol: [
      ...PROTOCOL,
      `--memory, the same for all solvers, is what gives stream's plan room for ${100 * TENTH} % of the decoded rows besides Node, weights and buffers, or the least that works.`,
    ],
  })
}

export function memorySection(context: SuiteContext, names: string[]): Promise<Section> {
  const panels = SHARES[context.size].map(share => ({ title: `room for ${100 * share} %`, cost: COST, share }))
  return figureSection(context, names, panels, {
    name: 'memory',
    title: `Memory: distance from the optimum over time, C = ${COST}`,
    goal: 'the comparison of Figure 4 of the paper on dual cached loops; shown, not judged.',
    protocol: [
      ...PROTOCOL,
      "--memory, the same for all solvers, is what gives stream's plan room for so many of the decoded rows besides Node, weights and buffers, or the least that works; rows held: by each solver's own plan, loaded blocks and cache.",
    ],
  })
}

async function figureSection(
  context: SuiteContext,
  names: string[],
  panels: Panel[],
  words: Pick<Section, 'name' | 'title' | 'goal' | 'protocol'>,
): Promise<Section> {
  const [tables, charts]: [Table[], Chart[]] = [[], []]
  const section: Section = { ...words, tables, charts, details: [], notes: [] }
  const known = await knownSolvers()
  const solvers = SOLVERS.filter(solver => known.includes(solver))
  for (const solver of SOLVERS.filter(each => !known.includes(each)))
    context.skip(`${words.name}, ${solver}`, `not measured: this build has no solver ${solver}`)
  if (solvers.length === 0) return section
  for await (const data of context.data(names)) {
    try {
      context.say(`${words.name} ${data.name}`)
      const variants = panels.flatMap(panel => solvers.map(solver => variantOf(solver, panel, PASSES[context.size])))
      const points = await passSeries(context, data, variants, words.name, false)
      for (const panel of panels) {
        const own = new Map(solvers.map(solver => [variantOf(solver, panel, PASSES[context.size]).name, solver]))
        const chosen = points.filter(({ variant }) => own.has(variant.name))
        const { cost } = panel
        const reference = await referenceFor(data, { loss: 'hinge', cost }, context.workFolder, context.say)
        const rows = rowsOf(chosen, own, reference)
        const title = `${data.name}, ${panel.title}`
        tables.push({ title, columns, rows })
        charts.push({
          ...{ title, xLabel: 'seconds, from a ready-made store', yLabel: '(P − P*) / P*', yScale: 'log' },
          series: solvers.map(solver => ({
            name: solver,
            points: rows
              .filter(row => row.solver === solver)
              .map(row => ({ x: row.seconds, y: Math.max(row.difference, reference.gap) })),
          })),
        })
        section.details.push({ data: data.name, ...panel, reference, points: chosen })
      }
    } catch (error) {
      context.skip(`${words.name}, ${data.name}`, error)
    }
  }
  return section
}

function rowsOf(points: SeriesPoint[], solverOf: Map<string, string>, reference: Reference) {
  const best = Math.min(reference.primal, ...points.map(({ training }) => training.primal))
  return points.map(({ variant, shownPasses, memory, held, run, training, told }) => ({
    ...{ solver: solverOf.get(variant.name)!, passes: shownPasses, memory, held },
    ...{ seconds: run.seconds, spread: run.spread, bytesRead: told?.['bytesRead'] as number | undefined },
    difference: (training.primal - best) / best,
  }))
}

const columns = {
  solver: { title: 'solver' },
  passes: { title: 'passes' },
  memory: { title: '--memory' },
  held: { title: 'rows held', show: 'share' },
  seconds: { title: 's', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  bytesRead: { title: 'read MB', show: 'megabytes' },
  difference: { title: 'difference', show: 'difference' },
} as const
