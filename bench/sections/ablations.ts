// Figures 3 and 4 and section 7.6 of the block minimisation paper: what the random split, the random order of blocks, their
// number and compression each do, on rows sorted by label, the worst order there is.
import type { Chart } from '../chart.ts'
import { referenceFor } from '../reference.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'
import {
  COST,
  knownSolvers,
  passSeries,
  pointCells,
  pointColumns,
  type StoreSpec,
  type Variant,
} from './pass-series.ts'

const PASSES = [1, 2, 4, 8]
const BASE: StoreSpec = { blocks: 40, split: 'random', compress: 'none' }
const BLOCK_L_D = ['--solver', 'block', '--inner-tolerance', '0.1']

const variant = (name: string, store: Partial<StoreSpec> = {}, words: string[] = []): Variant => ({
  ...{ name, loss: 'hinge', words: [...BLOCK_L_D, ...words], store: { ...BASE, ...store }, passes: PASSES },
  memory: 'block',
})

const FIXED = ['--block-order', 'fixed']
const base = variant('random split, random order, 40 blocks, not compressed')
const VARIANTS: Variant[] = [
  base,
  variant('fixed order', {}, FIXED),
  variant('sequential split', { split: 'sequential' }),
  variant('sequential split, fixed order', { split: 'sequential' }, FIXED),
  variant('5 blocks', { blocks: 5 }),
  variant('200 blocks', { blocks: 200 }),
  variant('zstd', { compress: 'zstd' }),
]
const QUESTIONS: { title: string; variants: string[] }[] = [
  {
    title: 'split and order (Figure 3)',
    variants: ['fixed order', 'sequential split', 'sequential split, fixed order'],
  },
  { title: 'number of blocks (Figure 4)', variants: ['5 blocks', '200 blocks'] },
  { title: 'compression (7.6)', variants: ['zstd'] },
]

export async function ablationsSection(context: SuiteContext, names: string[]): Promise<Section> {
  const charts: Chart[] = []
  const tables: Table[] = []
  const section: Section = {
    name: 'ablations',
    title: 'What each part of the block method does',
    goal: 'the comparisons of Figures 3 and 4 and of section 7.6 of the block minimisation paper; shown, not judged.',
    protocol: [
      `BLOCK-L-D (--inner-tolerance 0.1), hinge loss, C = ${COST}; the rows of the file are sorted by label.`,
      `The first line of each table is the base, ${base.name}; the others differ from it as their names say.`,
      'Blocks that fit in memory together are solved together, so each variant runs with the least memory that Spillway accepts: one block at a time, as in the paper. Pieces: sub-problems in a pass; where they are fewer than the blocks, blocks were joined all the same.',
      'Each point is a run of its own from a ready-made store, ended by --max-passes. Difference: (P − P*) / P*, by the evaluator.',
      ...(context.cold ? [] : ['The page cache is warm, so compression has no disk to save time on: use --cold.']),
    ],
    ...{ tables, charts, details: [], notes: [] },
  }
  if (!(await knownSolvers()).includes('block')) {
    context.skip('ablations', 'not measured: this build has no solver block')
    return section
  }
  for await (const data of context.data(names)) {
    try {
      context.say(`ablations ${data.name}`)
      const points = await passSeries(context, data, VARIANTS, 'ablations', false)
      const reference = await referenceFor(data, { loss: 'hinge', cost: COST }, context.workFolder, context.say)
      const best = Math.min(reference.primal, ...points.map(({ training }) => training.primal))
      const rows = points.map(point => ({
        ...{ variant: point.variant.name, passes: point.shownPasses, ...pointCells(point) },
        bytesRead: point.told?.['bytesRead'] as number | undefined,
        difference: (point.training.primal - best) / best,
      }))
      for (const { title, variants } of QUESTIONS) {
        const shown = [base.name, ...variants]
        const chosen = rows.filter(row => shown.includes(row.variant))
        tables.push({ title: `${data.name}: ${title}`, columns, rows: chosen })
        charts.push({
          title: `${data.name}: ${title}`,
          ...{ xLabel: 'seconds, store included', yLabel: '(P − P*) / P*', yScale: 'log' },
          series: shown.map(name => ({
            name: name === base.name ? 'base' : name,
            points: chosen
              .filter(row => row.variant === name)
              .map(row => ({ x: row.seconds, y: Math.max(row.difference, reference.gap) })),
          })),
        })
      }
      section.details.push({ data: data.name, reference, best, points })
    } catch (error) {
      context.skip(`ablations, ${data.name}`, error)
    }
  }
  return section
}

const columns = {
  variant: { title: 'variant' },
  passes: { title: 'passes' },
  ...pointColumns,
  bytesRead: { title: 'read MB', show: 'megabytes' },
  difference: { title: 'difference', show: 'difference' },
} as const
