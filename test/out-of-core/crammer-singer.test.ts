// Crammer and Singer's problem over blocks: the optimum of the same rows in memory, stopped and resumed, rows added.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { rowsOfText } from '../data-sets/rows.ts'
import { close } from '../numeric/reference.ts'
import { isSlow } from '../slow.ts'
import { objectiveOfModel } from '../train/crammer-singer-objective.ts'
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
const multiclass = 'crammer-singer' as const

describe('all classes at once, over blocks', () => {
  const problem = { cost: 0.3, bias: 1, classWeights: { '0': 2, '2': 0.5 } }
  it('reaches the optimum of the rows in memory, and certifies it', async () => {
    const { text, path, store } = await threeClassStore(folder, 'same', 500, 3)
    const rows = rowsOfText(text)
    const memory = await train(path, { ...problem, multiclass, tolerance: 1e-6, maxPasses: 5000 }).result
    const others = isSlow ? [{ innerTolerance: 0.01 }] : []
    for (const more of [{}, ...others, { shrinking: false }] as TrainOptions[]) {
      const tolerance = isSlow ? 1e-5 : 1e-4
      const options = { ...problem, ...more, multiclass, solver: 'block', tolerance, maxPasses: 5000 }
      const { result } = await told(copyStore(store, join(folder.path, `same-${Object.keys(more)[0]}.spill`)), options)
      assert.equal(result.exitReason, 'converged')
      assert.ok(result.blocks!.count === 8 && result.gap! <= tolerance)
      close(result.primal!, memory.primal!, 1.2 * tolerance)
      assert.ok(result.dual! <= memory.primal! * (1 + 1e-9) && memory.dual! <= result.primal! * (1 + 1e-9))
      close(objectiveOfModel(rows, result.model, problem), result.primal!, 1e-9)
      assert.equal(result.model.vectors, 3)
      assert.ok(result.trainingAccuracy! > 0.7)
    }
  })

  it('is chosen for text that does not fit in the memory', async () => {
    const text = threeClasses(600, 4)
    const path = folder.write('text.svm', padded(text, 10e6))
    const store = join(folder.path, 'made.spill')
    const { result } = await told(path, { ...problem, multiclass, memory: '156M', store, tolerance: 1e-4 })
    assert.equal(result.solver, 'block')
    assert.equal(result.exitReason, 'converged')
    close(objectiveOfModel(rowsOfText(text), result.model, problem), result.primal!, 1e-9)
  })

  it('goes on after it was stopped, to the same bits', async () => {
    const { store } = await threeClassStore(folder, 'stopped', 400, 5)
    const options = { ...problem, multiclass, solver: 'block', tolerance: 1e-2, checkpointSeconds: 0 }
    const whole = await told(copyStore(store, join(folder.path, 'whole.spill')), options)
    // An odd number of records, so that stops fall within passes and at their ends.
    const every = Math.floor(whole.train.length / (isSlow ? 20 : 5)) | 1
    let last = await abortAfter(store, options, every)
    for (let stops = 0; last.result.exitReason === 'interrupted'; stops++) {
      assert.ok(stops < 300, 'it never ends')
      last = await abortAfter(store, { ...options, resume: true }, every)
    }
    assertSameModel(last.result, whole.result)
  })

  it('starts from its dual variables after rows were added, and from zero after a class was', async () => {
    const { text, store } = await threeClassStore(folder, 'grown', 400, 6)
    const options = { ...problem, multiclass, solver: 'block', tolerance: 1e-4, maxPasses: 5000 }
    await train(store, options).result
    const more = threeClasses(60, 8)
    await addRows(folder.write('more.svm', `${more}\n`), store, { threads: 1 })
    const cold = await train(copyStore(store, join(folder.path, 'cold.spill')), options).result
    const warm = await told(store, options)
    assert.ok(
      warm.records.some(record => record.stage === 'plan' && /started from the last training/.test(record.reason)),
    )
    assert.equal(warm.result.exitReason, 'converged')
    close(warm.result.primal!, cold.primal!, 1.2e-4)
    const rows = [...rowsOfText(text), ...rowsOfText(more)]
    close(objectiveOfModel(rows, warm.result.model, problem), warm.result.primal!, 1e-9)

    await addRows(folder.write('class.svm', '7 1:0.5 3:-1\n'), store, { threads: 1 })
    const four = await train(store, options).result
    assert.equal(four.exitReason, 'converged')
    rows.push({ label: 7, indices: [1, 3], values: [0.5, -1] })
    close(objectiveOfModel(rows, four.model, problem), four.primal!, 1e-9)
  })
})
