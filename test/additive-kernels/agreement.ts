// How often a trained model has rows on the side where the exact kernel machine has them, on small histograms of three kinds.
import { rmSync, writeFileSync } from 'node:fs'
import { predictRows } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { against, asLibsvm, type Histograms, makeHistograms, seededNumbers } from './histograms.ts'
import { type ScalarKernel, solveKernelMachine } from './kernel-oracle.ts'

interface Shape {
  rows: number
  features: number
  classes: number
  seed: number
}

/** Values all over [0, 1]; the same with rows that sum to 1; and counts of 40 draws from a mixture of two classes. */
export const histogramKinds = {
  spread: makeHistograms,
  shares(shape: Shape): Histograms {
    const made = makeHistograms(shape)
    const ofOne = (row: Float64Array): Float64Array => {
      const sum = row.reduce((total, value) => total + value, 0)
      return sum === 0 ? row : row.map(value => Math.round((value / sum) * 65536) / 65536)
    }
    return { ...made, rows: made.rows.map(ofOne) }
  },
  counts({ rows, features, classes, seed }: Shape): Histograms {
    const random = seededNumbers(seed)
    const profiles = Array.from({ length: classes }, () => {
      const parts = Array.from({ length: features }, () => random() ** 2 + 0.05)
      const sum = parts.reduce((total, part) => total + part, 0)
      return parts.map(part => part / sum)
    })
    const draws = 40
    const made: Histograms = { rows: [], labels: [] }
    for (let i = 0; i < rows; i++) {
      const k = i < classes ? i : Math.floor(random() * classes)
      const other = profiles[Math.floor(random() * classes)]
      const share = 0.8 * random()
      const row = new Float64Array(features)
      for (let draw = 0; draw < draws; draw++) {
        const profile = random() < share ? other : profiles[k]
        let left = random()
        let j = 0
        while (j < features - 1 && left > profile[j]) left -= profile[j++]
        row[j]++
      }
      made.rows.push(row.map(count => Math.fround(count / draws)))
      made.labels.push(classes === 2 ? 1 - 2 * k : k + 1)
    }
    return made
  },
}

export interface AgreementCase extends Shape {
  kind: keyof typeof histogramKinds
  cost: number
}

/** Rows that were not trained on, in every case. */
const HELD_OUT = 200

export function agreementCases(seeds: number[], costs: number[]): AgreementCase[] {
  const kinds = Object.keys(histogramKinds) as AgreementCase['kind'][]
  const shapes = [
    { rows: 80, features: 8, classes: 2 },
    { rows: 120, features: 16, classes: 3 },
    { rows: 160, features: 24, classes: 2 },
  ]
  return kinds.flatMap(kind =>
    seeds.flatMap(seed =>
      shapes.flatMap(shape => costs.map(cost => ({ kind, cost, ...shape, seed: seed * 100 + shape.rows }))),
    ),
  )
}

/** The exact machine's answer for every row of a case: the one for each class whose decision is the largest. */
export function exactClasses(each: AgreementCase, kernel: ScalarKernel): number[] {
  const { rows, labels, classes } = dataOf(each)
  const known = classes === 2 ? [1] : Array.from({ length: classes }, (_, k) => k + 1)
  const decisions = known.map(label => {
    const task = { rows: rows.slice(0, each.rows), labels: against(labels.slice(0, each.rows), label), kernel }
    return rows.map(solveKernelMachine({ ...task, cost: each.cost, loss: 'hinge', gap: 1e-5 }).decision)
  })
  return rows.map((_, i) =>
    classes === 2 ? (decisions[0][i] > 0 ? 1 : -1) : largest(decisions.map(all => all[i])) + 1,
  )
}

/** The share of all rows, trained on or not, for which `train` gives the same answers. */
export async function agreement(
  each: AgreementCase,
  exact: number[],
  options: TrainOptions,
  scratch: string,
): Promise<number> {
  const { rows, labels } = dataOf(each)
  writeFileSync(scratch, asLibsvm({ rows: rows.slice(0, each.rows), labels: labels.slice(0, each.rows) }))
  const { model } = await train(scratch, { cost: each.cost, tolerance: 1e-5, maxPasses: 20000, threads: 1, ...options })
    .result
  writeFileSync(scratch, asLibsvm({ rows, labels }))
  let same = 0
  let row = 0
  for await (const { labels: found } of predictRows(scratch, model, { threads: 1 })) {
    for (const label of found) if (Number(label) === exact[row++]) same++
  }
  rmSync(scratch)
  return same / rows.length
}

function dataOf(each: AgreementCase): Histograms & { classes: number } {
  return { ...histogramKinds[each.kind]({ ...each, rows: each.rows + HELD_OUT }), classes: each.classes }
}

function largest(values: number[]): number {
  return values.reduce((best, value, k) => (value > values[best] ? k : best), 0)
}
