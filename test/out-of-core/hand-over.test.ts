// A run over blocks that `auto` chose, and that stalls: second-order steps go on from its weights, in few passes over the disk,
// inside the memory that was named, and with the same bits after a stop.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { newton } from '../../src/optimise/solvers/newton.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planFor } from '../../src/train/plan-for-blocks.ts'
import type { PlanProgress } from '../../src/train/progress.ts'
import { train } from '../../src/train/train.ts'
import { type Row, rowsOfText } from '../data-sets/rows.ts'
import { isSlow } from '../slow.ts'
import { unscaledRows } from '../train/unscaled-rows.ts'
import { abortAfter, assertSameModel, copyStore, fastFolder, memoryFor, type Told, told } from './fixture.ts'
import { objectiveOfFile } from './model-objective.ts'

const folder = fastFolder()
const BLOCKS = 5

interface Kind {
  /** Of the rows: features, classes, and how far a feature is from the one before it. */
  features: number
  classes: number
  apart: number
  options: TrainOptions
  /** What `auto` starts with, and passes over the disk of both together. Three classes go on one after the other. */
  first: string
  mostReads: number
  /** Whether there is room for one of the two at a time only. */
  changesOver?: boolean
}

const kinds: Record<string, Kind> = {
  'hinge, C = 100': { features: 20, classes: 2, apart: 90, options: { cost: 100 }, first: 'stream', mostReads: 120 },
  'squared hinge, bias': {
    ...{ features: 40, classes: 2, apart: 30, first: 'stream', mostReads: 20 },
    options: { loss: 'squared-hinge', bias: 1 },
  },
  'logistic, three classes': {
    features: 30,
    classes: 3,
    apart: 30,
    options: { loss: 'logistic' },
    first: 'selective',
    mostReads: 60,
  },
  'squared hinge, no room beside it': {
    ...{ features: 100, classes: 2, apart: 30, first: 'stream', mostReads: 180, changesOver: true },
    options: { loss: 'squared-hinge' },
  },
  'logistic, three classes, no room beside them': {
    ...{ features: 100, classes: 3, apart: 30, first: 'selective', mostReads: 100, changesOver: true },
    options: { loss: 'logistic' },
  },
}

/** The least memory in which second-order steps have room for their vectors and for two blocks. */
async function leastForNewton(store: string, options: TrainOptions): Promise<number> {
  const opened = await openStore(store)
  const enough = (memory: number): Promise<boolean> =>
    planFor(opened, newton.inBlocks!, resolveOptions({ ...options, memory })).then(
      () => true,
      () => false,
    )
  let [low, high] = [64 << 20, 1 << 30]
  while (high - low > 1 << 10) {
    const middle = Math.floor((low + high) / 2)
    if (await enough(middle)) high = middle
    else low = middle
  }
  return high
}

for (const [kind, [name, shape]] of Object.entries(kinds).entries()) {
  const { features, classes, apart, options: given, first, mostReads, changesOver = false } = shape
  describe(`over blocks, ${name}`, () => {
    let store = ''
    let options: TrainOptions = {}
    let rows: Row[] = []
    let copies = 0
    let whole: Told
    const fresh = (): string => copyStore(store, join(folder.path, `${first}-${features}-${++copies}.spill`))

    before(async () => {
      const text = unscaledRows(1500, features, classes, 21, apart)
      rows = rowsOfText(text)
      store = join(folder.path, `${first}-${features}.spill`)
      await ingest(folder.write(`${first}-${features}.svm`, text), store, { blocks: BLOCKS, threads: 1 })
      // A fifth of the rows at a time. That a run resumes makes it one over blocks.
      options = { ...given, resume: true, checkpointSeconds: 0, memory: 0 }
      if (changesOver) {
        options.memory = await leastForNewton(store, options)
      } else {
        const rooms = await memoryFor(store, 1, { ...given, solver: first })
        // Beside them is room for the other solver's vectors, and for those of several models.
        options.memory = rooms + (classes > 2 ? 1 << 20 : 24 * features ** 2 + (1 << 12))
      }
      whole = await told(fresh(), options)
    })

    it('hands its weights over, says so once, and gets there', async () => {
      const { result, records } = whole
      const plans = records.filter((record): record is PlanProgress => record.stage === 'plan')
      assert.ok(plans.some(({ solver }) => solver === first))
      const ofNewton = plans.filter(({ solver }) => solver === 'newton')
      assert.deepEqual(
        ofNewton.map(({ memory }) => memory !== undefined),
        changesOver ? [false, true] : [false],
      )
      assert.equal(result.solver, 'newton')
      assert.match(result.solverReason!, /coordinate descent would take many more passes/)
      assert.equal(result.exitReason, 'converged')
      const mine = await objectiveOfFile(folder.path, result, rows, options)
      assert.ok(Math.abs(result.primal! - mine) <= 1e-8 * mine, `certified ${result.primal}, computed ${mine}`)
      assert.ok(result.gap! <= 1e-3 && result.dual! <= mine)
    })

    it('takes few passes over the disk', () => {
      const { blocks } = whole.result
      assert.equal(blocks!.count, BLOCKS)
      assert.ok(blocks!.read <= mostReads * BLOCKS, `${blocks!.read} blocks were read`)
    })

    it('the plan has room for what the other solver needs', async () => {
      const plan = whole.records.find(record => record.stage === 'plan' && record.memory !== undefined) as PlanProgress
      if (changesOver) {
        const later = whole.records.findLast(record => record.stage === 'plan' && record.memory !== undefined)
        const planned = (later as PlanProgress).memory!.parts.reduce((sum, { bytes }) => sum + bytes, 0)
        assert.ok(planned <= plan.memory!.allowed)
        return
      }
      const asked = await told(fresh(), { ...options, solver: first, maxPasses: 1 })
      const askedPlan = asked.records.find(record => record.stage === 'plan' && record.memory !== undefined)
      const weightsOf = ({ memory }: PlanProgress): number =>
        memory!.parts.find(({ what }) => what.startsWith('weights'))!.bytes
      const more = weightsOf(plan) - weightsOf(askedPlan as PlanProgress)
      // The matrix, and that of the rows that are summed.
      assert.ok(more >= 2 * 8 * features ** 2, `${more} bytes more`)
    })

    it('gives the same bits when it is stopped and resumed', async () => {
      const began = whole.train.findIndex(({ pass }) => pass > 20)
      const after = whole.train.length - began
      const stops = [began - 5, began + 2, began + Math.ceil(0.6 * after)]
      // Every moment is always there, all of them for each kind with SPILLWAY_SLOW=1.
      for (const records of isSlow ? stops : [stops[kind % stops.length]]) {
        const path = fresh()
        const stopped = await abortAfter(path, options, records)
        assert.equal(stopped.result.exitReason, 'interrupted')
        const rest = await told(path, options)
        assertSameModel(rest.result, whole.result)
        assert.equal(rest.result.solver, 'newton')
        assert.equal(rest.result.passes, whole.result.passes)
      }
    })

    it('a run that has reached its aim is not made again, and goes on to a smaller gap', async () => {
      const path = fresh()
      await told(path, options)
      const again = await told(path, options)
      assert.equal(again.train.length, 0)
      assertSameModel(again.result, whole.result)
      // The hinge takes long for the last digits.
      const tolerance = isSlow || given.loss ? 1e-5 : 3e-4
      const closer = await told(path, { ...options, tolerance })
      assert.equal(closer.result.exitReason, 'converged')
      assert.ok(closer.result.gap! <= tolerance)
      assert.equal(closer.result.solver, 'newton')
      await assert.rejects(
        async () => train(path, { ...options, solver: first, tolerance: tolerance / 10 }).result,
        /the checkpoint (is one of --solver auto|was written)/,
      )
    })
  })
}

it('a memory in which nobody could go on is said once, and the run goes on', async () => {
  const store = join(folder.path, 'no-room.spill')
  const options: TrainOptions = { loss: 'squared-hinge', resume: true, maxPasses: 30 }
  await ingest(folder.write('no-room.svm', unscaledRows(1500, 140, 2, 21, 30)), store, { blocks: BLOCKS, threads: 1 })
  const memory = (await leastForNewton(store, options)) - (64 << 10)
  const { result, records } = await told(store, { ...options, memory })
  assert.deepEqual([result.solver, result.exitReason], ['stream', 'max-passes'])
  const said = records.filter(record => record.stage === 'plan' && /it needs more --memory$/.test(record.reason))
  assert.equal(said.length, 1)
})
