// Solvers of losses with second derivatives, on data sets, real or likenesses: LIBLINEAR's optimum to 1e-6, certified.
import { describe, it } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { rowsOfSet } from '../data-sets/data-sets.ts'
import { type Row, unitLength, writeData } from '../data-sets/rows.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { unlessSlow } from '../slow.ts'
import { compare } from './compare.ts'
import type { Objective } from './liblinear.ts'

const folder = testFolder()
const solvers = ['newton', 'lbfgs', 'primal-coordinate']

interface Case {
  name: string
  rows: () => { ours: Row[]; theirs: Row[] }
  more?: TrainOptions
  /** Only with SPILLWAY_SLOW=1. */
  long?: boolean
}

/** Every k-th row as it is, or with every feature divided by its largest value. */
function covtype(every: number, scaled: boolean) {
  const rows = rowsOfSet('covtype.libsvm.binary', line => line % every === 0)
  if (!scaled) return { ours: rows, theirs: rows }
  const largest = new Map<number, number>()
  for (const { indices, values } of rows)
    for (const [k, j] of indices.entries()) largest.set(j, Math.max(largest.get(j) ?? 0, Math.abs(values[k])))
  const divided = rows.map(row => ({
    ...row,
    values: row.values.map((x, k) => Math.fround(x / largest.get(row.indices[k])!)),
  }))
  return { ours: divided, theirs: divided }
}

const asItIs = (rows: Row[]) => ({ ours: rows, theirs: rows })
const unit = (rows: Row[]) => ({ ours: rows, theirs: rows.map(unitLength) })

const cases: Case[] = [
  { name: 'a9a', rows: () => asItIs(rowsOfSet('a9a')) },
  { name: 'w8a', rows: () => asItIs(rowsOfSet('w8a')) },
  {
    ...{ name: 'imdb of unit length, every eighth row', more: { normalize: 'unit' } },
    rows: () => unit(rowsOfSet('imdb', line => line % 8 === 0)),
  },
  { name: 'covtype, every 40th row', rows: () => covtype(40, false) },
  { name: 'covtype scaled, every 40th row', rows: () => covtype(40, true) },
  {
    ...{ name: 'imdb of unit length', more: { normalize: 'unit' }, long: true },
    rows: () => unit(rowsOfSet('imdb')),
  },
  { name: 'covtype', rows: () => covtype(1, false), long: true },
  { name: 'covtype scaled', rows: () => covtype(1, true), long: true },
]

const objectives: Omit<Objective, 'classWeights'>[] = [
  { loss: 'squared-hinge', cost: 1, bias: 0 },
  { loss: 'logistic', cost: 1, bias: 0 },
  { loss: 'squared-hinge', cost: 0.1, bias: 1 },
  { loss: 'logistic', cost: 0.1, bias: 1 },
]

for (const { name, rows, more = {}, long } of cases)
  describe(name, { skip: long && unlessSlow }, () => {
    let made: { ours: string; theirs: string; rows: Row[] } | undefined
    const make = () => {
      const { ours, theirs } = rows()
      const path = folder.write('ours.svm', writeData(ours))
      return {
        ours: path,
        theirs: ours === theirs ? path : folder.write('theirs.svm', writeData(theirs)),
        rows: theirs,
      }
    }
    for (const objective of objectives)
      for (const solver of solvers) {
        const { loss, cost, bias } = objective
        // The bias comes with class weights.
        const text = `${solver}, ${loss}, C = ${cost}, ${bias ? 'bias and class weights' : 'neither bias nor class weights'}`
        it(text, async t => {
          made ??= make()
          const [label] = made.rows.map(row => row.label)
          const classWeights = bias ? { [String(label)]: 2.5 } : {}
          const settings = { solver, indexBase: 1, ...more } as const
          await compare(t, made.ours, made.theirs, made.rows, { ...objective, classWeights }, settings)
        })
      }
  })
