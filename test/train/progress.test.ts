// What records of progress say between two certificates.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { crossValidate } from '../../src/train/cross-validate.ts'
import type { Progress, TrainProgress } from '../../src/train/progress.ts'
import { train } from '../../src/train/train.ts'
import { tune } from '../../src/train/tune.ts'
import { inFolder } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'

const withData = (rows: number, check: (path: string) => Promise<void>): Promise<void> =>
  inFolder(async cwd => {
    const path = join(cwd, 'a.svm')
    writeFileSync(path, asText(someRows(rows, 40)))
    await check(path)
  })

const ofTraining = (records: Progress[]): TrainProgress[] => records.filter(record => record.stage === 'train')

describe('progress', () => {
  it('keeps the primal of the last sweep over all rows while rows are shrunk', () =>
    withData(2000, async path => {
      const run = train(path, { solver: 'dual', tolerance: 1e-6, cost: 10 })
      const records: Progress[] = []
      for await (const record of run) records.push(record)
      const told = ofTraining(records)
      const first = told.findIndex(({ partial }) => partial)
      assert.ok(first > 0, 'rows were shrunk, after a sweep over all of them')
      for (const [k, { partial, primal }] of told.entries())
        if (partial) assert.equal(primal, told.findLast((record, before) => before < k && !record.partial)!.primal)
      const certificates = told.filter(({ certificate }) => certificate !== undefined)
      assert.ok(certificates.length > 0 && certificates.every(({ certified }) => !certified))
      assert.ok(told.at(-1)!.certified && !told.at(-1)!.partial)
    }))

  it('of a resumed run that keeps rows tells the last stock until the next, not what single blocks show', () =>
    withData(20_000, async path => {
      const options = { solver: 'stream', memory: '154M', blocks: 8, store: `${path}.spill`, cost: 10 }
      await train(path, { ...options, maxPasses: 3 }).result
      const run = train(path, { ...options, maxPasses: 4, resume: true })
      const records: Progress[] = []
      for await (const record of run) records.push(record)
      const [first, ...others] = ofTraining(records)
      assert.ok(first.rows!.left > 0, 'some rows are not in memory')
      assert.ok(others.length >= 7)
      for (const { primal, gap } of others.slice(0, 6)) assert.deepEqual([primal, gap], [first.primal, first.gap])
    }))

  for (const [where, options] of [
    ['in memory', { solver: 'dual' }],
    ['in blocks', { solver: 'block', memory: '158M' }],
  ] as const) {
    it(`of many models ${where} has the worst gap of those that are not done, or none`, () =>
      withData(2000, async path => {
        const records: Progress[] = []
        const result = await crossValidate(path, {
          ...{ ...options, folds: 3, cost: 10, tolerance: 1e-6 },
          ...(options.solver === 'block' && { store: `${path}.spill` }),
          progress: record => records.push(record),
        })
        const told = ofTraining(records)
        for (const { gap, models } of told) {
          assert.equal(models!.all, result.models)
          assert.equal(models!.done + models!.training!, result.models)
          if (models!.done < result.models) assert.ok(gap === null || (gap > 0 && gap < 10), `a gap of ${gap}`)
        }
        assert.ok(told[0].gap === null || told[0].gap > 1e-2)
        assert.ok(told.some(({ certificate }) => certificate !== undefined))
        assert.equal(told.at(-1)!.models!.done, result.models)
      }))
  }

  it('tells steps from inner passes', () =>
    withData(2000, async path => {
      for (const [loss, solver] of [
        ['hinge', 'newton'],
        ['logistic', 'newton'],
        ['squared-hinge', 'lbfgs'],
      ]) {
        const run = train(path, { loss, solver, cost: 10, tolerance: 1e-5 })
        const records: Progress[] = []
        for await (const record of run) records.push(record)
        const told = ofTraining(records)
        const steps = told.map(record => record.steps!)
        for (const [k, { outer, inner }] of steps.entries()) {
          assert.ok(k === 0 || outer >= steps[k - 1].outer, 'steps are counted')
          assert.ok(outer + inner <= told[k].pass, 'each takes a pass at least')
        }
        assert.ok(steps.at(-1)!.outer >= 2)
      }
    }))

  it('of costs that are found on the way says how many models there will be at least', () =>
    withData(600, async path => {
      const records: Progress[] = []
      const result = await tune(path, { folds: 3, final: 'none', progress: record => records.push(record) })
      const told = ofTraining(records).map(({ models }) => models!)
      assert.equal(told[0].least, 4 * 3)
      for (const { least, done, training, all } of told) {
        assert.equal(all, undefined)
        assert.ok(least! >= done + training! && least! <= result.models)
      }
      assert.equal(told.at(-1)!.least, result.models)
    }))
})
