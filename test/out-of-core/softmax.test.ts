// Multinomial logistic regression over blocks: the optimum of the same rows in memory, under a memory that was named, stopped
// and resumed.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { newton } from '../../src/optimise/solvers/newton.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planFor } from '../../src/train/plan-for-blocks.ts'
import { train } from '../../src/train/train.ts'
import { type Row, rowsOfText } from '../data-sets/rows.ts'
import { close } from '../numeric/reference.ts'
import { objectives, weightsOf } from '../train/softmax-objective.ts'
import {
  abortAfter,
  assertSameModel,
  copyStore,
  fastFolder,
  padded,
  threeClasses,
  threeClassStore,
  told,
} from './fixture.ts'

const folder = fastFolder()
const multiclass = 'softmax' as const
const problem = { cost: 0.3, bias: 1, classWeights: { '0': 2, '2': 0.5 } }

function assertCertified(rows: Row[], result: Awaited<ReturnType<typeof told>>['result']): void {
  const found = objectives(rows, weightsOf(result.model), problem)
  close(found.primal, result.primal!, 1e-9)
  assert.ok(Math.abs(found.dual - result.dual!) <= 1e-9 * result.primal!)
}

describe('the softmax of all classes, over blocks', () => {
  it('is what it is in memory, and certified', async () => {
    const { text, path, store } = await threeClassStore(folder, 'same', 1500, 3)
    for (const more of [{}, { scale: 'standard' }, { normalize: 'unit' }] as TrainOptions[]) {
      const options = { ...problem, ...more, multiclass, tolerance: 1e-9 }
      const memory = await train(path, options).result
      const name = Object.keys(more)[0] ?? 'plain'
      const { result } = await told(path, { ...options, store: join(folder.path, `${name}.spill`), blocks: 8 })
      assert.deepEqual([result.solver, result.exitReason, result.blocks!.count], ['newton', 'converged', 8])
      assert.ok(result.gap! <= 1e-9)
      close(result.primal!, memory.primal!, 2e-9)
      const [ours, theirs] = [weightsOf(result.model).w, weightsOf(memory.model).w]
      for (let k = 0; k < ours.length; k++) assert.ok(Math.abs(ours[k] - theirs[k]) <= 1e-3)
      // One pass over the blocks for each product and each gradient, and no other.
      assert.equal(result.blocks!.read, 8 * (result.passes + (more.scale ? 1 : 0)))
      if (name === 'plain') assertCertified(rowsOfText(text), result)
    }
    const stored = await train(store, { ...problem, multiclass, tolerance: 1e-6, resume: true }).result
    assertCertified(rowsOfText(text), stored)
  })

  it('is chosen for text that does not fit in the memory', async () => {
    const text = threeClasses(600, 4)
    const path = folder.write('text.svm', padded(text, 10e6))
    const store = join(folder.path, 'made.spill')
    const { result, records } = await told(path, { ...problem, multiclass, memory: '156M', store, tolerance: 1e-4 })
    assert.deepEqual([result.solver, result.exitReason], ['newton', 'converged'])
    assert.ok(
      records.some(record => record.stage === 'plan' && /softmax of all classes, block by block/.test(record.reason)),
    )
    assertCertified(rowsOfText(text), result)
  })

  it('has weights and vectors of all classes in its memory plan, and no dual variables', async () => {
    const random = (k: number): string => `${k % 9} ${1 + (k % 5000)}:1 ${5001 + ((k * 7) % 5000)}:${k % 3}.5`
    const path = folder.write('planned.svm', `${Array.from({ length: 6000 }, (_, k) => random(k)).join('\n')}\n`)
    const store = join(folder.path, 'planned.spill')
    await ingest(path, store, { blocks: 4, threads: 1 })
    const bytesOf = async (options: TrainOptions): Promise<number> => {
      const plan = await planFor(
        await openStore(store),
        newton.inBlocks!,
        resolveOptions({ memory: '400M', ...options }),
      )
      const counted = plan.parts.filter(({ what }) => !/blocks|cache|Node/.test(what))
      assert.ok(!counted.some(({ what, bytes }) => /dual/.test(what) && bytes > 0))
      return counted.reduce((sum, { bytes }) => sum + bytes, 0)
    }
    // Ten numbers of a feature where there was one: nine classes, two to a vector.
    const [all, one] = [await bytesOf({ multiclass }), await bytesOf({ loss: 'logistic' })]
    // The weight; point, sum, diagonal, direction; a piece's sum and diagonal; gradient, step and residual.
    const perWeight = 8 * (1 + 4 + 2 + 3)
    const more = 10_001 * 9 * perWeight
    assert.ok(Math.abs(all - one - more) <= 0.02 * more, `${all} and ${one}, ${more} more expected`)
    await assert.rejects(train(store, { multiclass, memory: '90M' }).result, /memory cannot work|does not fit|needs/)
  })

  it('goes on after it was stopped, to the same bits', async () => {
    const { store } = await threeClassStore(folder, 'stopped', 800, 5)
    const options = { ...problem, multiclass, tolerance: 1e-5, checkpointSeconds: 0, solver: 'newton' }
    const whole = await told(copyStore(store, join(folder.path, 'whole.spill')), { ...options, cold: true })
    let last = await abortAfter(store, { ...options, cold: true }, 3)
    for (let stops = 0; last.result.exitReason === 'interrupted'; stops++) {
      assert.ok(stops < 300, 'it never ends')
      last = await abortAfter(store, { ...options, resume: true }, 11)
    }
    assertSameModel(last.result, whole.result)
  })
})
