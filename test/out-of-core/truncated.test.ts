// Truncated losses over blocks: the same kind of end as in memory, and the same bits however often a run is stopped.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import type { RelaxProgress } from '../../src/train/progress.ts'
import { train } from '../../src/train/train.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { isSlow } from '../slow.ts'
import { limitOf, marginsOf, rowsOf, type TruncatedTask, truncatedObjective } from '../train/truncated-objective.ts'
import {
  abortAfter,
  assertSameModel,
  copyStore,
  fastFolder,
  memoryFor,
  noisyStore,
  type Told,
  threeClasses,
  told,
} from './fixture.ts'

const folder = fastFolder()
const losses = ['ramp', 'truncated-squared-hinge'] as const
const convex = { ramp: 'hinge', 'truncated-squared-hinge': 'squared-hinge' }
const solvers = ['block', 'selective', 'stream', 'newton']
/** Each solver runs with one loss; all with SPILLWAY_SLOW=1. */
const usual = ['ramp stream', 'ramp block', 'truncated-squared-hinge newton', 'truncated-squared-hinge selective']
const isUsual = (loss: string, solver: string): boolean => isSlow || usual.includes(`${loss} ${solver}`)
let store = ''
let count = 0
const fresh = (from = store, states = false): string =>
  copyStore(from, join(folder.path, `copy-${++count}.spill`), states)
const looksOf = ({ records }: Told): RelaxProgress[] => records.filter(record => record.stage === 'relax')
const textOf = (name: string): string => readFileSync(join(folder.path, `${name}.svm`), 'utf8')
const near = (found: number, expected: number, precision: number): void =>
  assert.ok(Math.abs(found - expected) <= precision * Math.abs(expected), `${found}, expected ${expected}`)

before(async () => {
  store = await noisyStore(folder, 'rows')
})

async function optionsFor(path: string, more: TrainOptions): Promise<TrainOptions> {
  const options: TrainOptions = { cost: 0.1, ...more }
  return { ...options, memory: await memoryFor(path, 1, options) }
}

describe('a truncated loss over blocks', () => {
  for (const loss of losses) {
    for (const solver of solvers.filter(solver => isUsual(loss, solver))) {
      it(`reports its objective, never rises, and ends at the optimum of the rows left: ${loss}, ${solver}`, async () => {
        const task: TruncatedTask = { loss, outlierMargin: 1, cost: 0.1 }
        const run = await told(fresh(), await optionsFor(store, { ...task, solver, tolerance: 1e-4 }))
        const { result } = run
        assert.equal(result.exitReason, 'converged')
        assert.ok(result.blocks!.read > 16, 'rows were read again and again')
        const rows = rowsOf(textOf('rows'))
        const { objective, outliers } = truncatedObjective(result.model, rows, task)
        near(result.primal!, objective, 1e-12)
        assert.equal(result.outliers, outliers)
        assert.ok(outliers > 0)
        const looks = looksOf(run)
        for (const [k, look] of looks.entries())
          if (k > 0) assert.ok(look.objective <= looks[k - 1].objective * (1 + 1e-7), `${k}`)
        const margins = marginsOf(result.model, rows)
        const left = textOf('rows')
          .trim()
          .split('\n')
          .filter((_, i) => margins[i] >= limitOf(task))
        const plain = await train(folder.write(`left-${++count}.svm`, `${left.join('\n')}\n`), {
          ...{ loss: convex[loss], cost: 0.1, solver: 'dual', threads: 1, tolerance: 1e-8 },
        }).result
        // The set may have changed by some rows at the very end.
        near(result.primal!, plain.primal! + outliers * 0.1 * 2, 1e-3)
        const inMemory = await train(join(folder.path, 'rows.svm'), { ...task, threads: 1, tolerance: 1e-5 }).result
        near(result.primal!, inMemory.primal!, 0.01)
      })

      it(`gives the same model however often it is stopped: ${loss}, ${solver}`, async () => {
        const options = await optionsFor(store, { loss, solver, tolerance: 0.01, checkpointSeconds: 0 })
        const whole = await told(fresh(), options)
        assert.ok(looksOf(whole).length > 2)
        const path = fresh()
        let stops = 0
        for (; ; stops++) {
          const records = 2 + ((7 * stops) % Math.max(5, Math.floor(whole.train.length / 2)))
          const last = await abortAfter(path, { ...options, resume: true }, records)
          if (last.result.exitReason !== 'interrupted') {
            assertSameModel(last.result, whole.result)
            break
          }
          assert.ok(stops < 200, 'it never ends')
        }
        assert.ok(stops > 1, `${stops} stops`)
      })
    }
  }

  it('starts from the blocks of a sample, and gives the same bits from there', async () => {
    const large = await noisyStore(folder, 'large', { rows: 12_000, features: 6, blocks: 12 })
    for (const solver of ['stream', 'newton']) {
      const options = await optionsFor(large, { loss: 'truncated-squared-hinge', solver, tolerance: 0.01 })
      const one = await told(fresh(large), options)
      if (isSlow) assertSameModel((await told(fresh(large), options)).result, one.result)
      if (isSlow || solver === 'newton') {
        const full = await told(fresh(large), { ...options, outlierStart: 'full' })
        near(one.result.primal!, full.result.primal!, 0.02)
      }
      const stopped = fresh(large)
      const first = await abortAfter(stopped, { ...options, checkpointSeconds: 0 }, Math.ceil(one.train.length * 0.7))
      assert.equal(first.result.exitReason, 'interrupted')
      const rest = await told(stopped, { ...options, resume: true, checkpointSeconds: 0 })
      assertSameModel(rest.result, one.result)
    }
  })

  it('goes on from a finished run when less is tolerated', async () => {
    for (const solver of ['block', 'stream']) {
      const options = await optionsFor(store, { loss: 'ramp', solver, tolerance: 0.01 })
      const path = fresh()
      const rough = await told(path, options)
      const again = await told(path, { ...options, resume: true })
      assertSameModel(again.result, rough.result)
      const finer = await told(path, { ...options, tolerance: 1e-4, resume: true })
      assert.equal(finer.result.exitReason, 'converged')
      assert.ok(finer.result.gap! <= 1e-4)
      assert.ok(finer.result.primal! <= rough.result.primal!)
      near(
        finer.result.primal!,
        truncatedObjective(finer.result.model, rowsOf(textOf('rows')), { loss: 'ramp', outlierMargin: 1, cost: 0.1 })
          .objective,
        1e-12,
      )
    }
  })

  it('goes on with the rows that stayed when others are added', async () => {
    const path = fresh()
    const options = await optionsFor(store, { loss: 'ramp', solver: 'stream', tolerance: 1e-3 })
    await told(path, options)
    const more = noisyRows(300, 25, 8)
    await addRows(folder.write('more.svm', `${more}\n`), path, { threads: 1 })
    const { memory: _, ...others } = options
    const warm = await told(path, { ...others, memory: await memoryFor(path, 1, others) })
    assert.equal(warm.result.start, 'warm')
    assert.equal(warm.result.exitReason, 'converged')
    const rows = rowsOf(`${textOf('rows').trim()}\n${more}`)
    near(
      warm.result.primal!,
      truncatedObjective(warm.result.model, rows, { loss: 'ramp', outlierMargin: 1, cost: 0.1 }).objective,
      1e-12,
    )
  })

  it('of several classes trains one after the other, and resumes', async () => {
    const three = threeClasses(450, 5)
    const text = folder.write('three.svm', `${three}\n`)
    const path = join(folder.path, 'three.spill')
    await ingest(text, path, { blocks: 3, threads: 1 })
    const task: TruncatedTask = { loss: 'ramp', outlierMargin: 0.5, cost: 0.1 }
    for (const solver of ['block', 'stream']) {
      const options = await optionsFor(path, { ...task, solver, tolerance: 1e-2, checkpointSeconds: 0 })
      const whole = await told(fresh(path), options)
      for (const [k, certificate] of whole.result.model.classCertificates.entries()) {
        const { objective, outliers } = truncatedObjective(whole.result.model, rowsOf(three), task, k)
        near(certificate.primal!, objective, 1e-12)
        assert.equal(certificate.outliers, outliers)
      }
      const stopped = fresh(path)
      await abortAfter(stopped, options, Math.ceil(whole.train.length / 2))
      const rest = await told(stopped, { ...options, resume: true })
      assertSameModel(rest.result, whole.result)
    }
  })
})
