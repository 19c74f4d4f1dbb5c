// Solver `stream` on text, whose first pass trains while the text goes into a store: the optimum of the memory, whatever the
// text is like, and the same bits however a run comes about.
import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { rowsOfText } from '../data-sets/rows.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { isSlow } from '../slow.ts'
import { abortAfter, assertSameModel, fastFolder, threeClasses, told } from './fixture.ts'
import { assertHonest, BLOCKS, inMemory, losses, memoryForShare, said, shares } from './stream-fixture.ts'

const folder = fastFolder()

describe('from text', () => {
  let count = 0
  /** Trains from text, certifies by the tests' own evaluator, and compares with the memory. */
  async function fromText(
    text: string,
    more: TrainOptions,
    { exact = 1e-9, converged = true }: { exact?: number; converged?: boolean } = {},
  ): Promise<TrainResult> {
    const name = `from-text-${++count}`
    const path = folder.write(`${name}.svm`, text)
    const base: TrainOptions = { cost: 0.1, tolerance: 1e-5, ...more }
    const result = await train(path, {
      ...{ solver: 'stream', blocks: 8, memory: '262M', store: join(folder.path, `${name}.spill`) },
      ...base,
    }).result
    if (converged) assert.equal(result.exitReason, 'converged')
    const { maxPasses: _, weights: __, shrinking: ___, ...others } = base
    const best = await inMemory(path, { ...others, tolerance: 1e-7 })
    await assertHonest(folder.path, result, rowsOfText(text), base, best, exact)
    return result
  }
  const plain = `${noisyRows(2000, 25, 11)}\n`

  for (const loss of losses)
    it(`${loss}: when all rows fit, no block is read`, async () => {
      const result = await fromText(plain, { loss })
      assert.equal(result.blocks!.read, 0)
      assert.equal(result.rows, 2000)
    })

  it('three classes: the first pass is given up, each class has its run', async () => {
    const result = await fromText(`${threeClasses(3000, 5)}\n`, { tolerance: 1e-4 })
    assert.equal(result.model.vectors, 3)
    assert.equal(result.model.classCertificates.length, 3)
    for (const { gap } of result.model.classCertificates) assert.ok(gap! <= 1e-4)
  })

  it('a third class in the last row of several chunks', async () => {
    const text = `${noisyRows(12_000, 25, 3)}\n5 1:1\n`
    const result = await fromText(text, { tolerance: 1e-3 })
    assert.equal(result.model.vectors, 3)
  })

  it('a scale: nothing is trained on before all values are known', async () => {
    for (const scale of ['minmax', 'standard'] as const) {
      const result = await fromText(plain, { scale, tolerance: 1e-4 }, { exact: 1e-6 })
      assert.ok(result.blocks!.read >= 2 * 8, 'the store is read for the factors and to train')
    }
  })

  it('unit length', async () => {
    assert.equal((await fromText(plain, { normalize: 'unit' })).blocks!.read, 0)
  })

  it('a text that is sorted by its labels, either label first', async () => {
    const lines = noisyRows(12_000, 25, 3).split('\n')
    for (const first of ['+1', '-1']) {
      const sorted = [...lines.filter(line => line.startsWith(first)), ...lines.filter(line => !line.startsWith(first))]
      await fromText(`${sorted.join('\n')}\n`, { tolerance: 1e-4 })
    }
  })

  it('labels of which the larger comes second, and labels of which it comes first', async () => {
    const lines = noisyRows(3000, 25, 3).split('\n')
    for (const [positive, negative] of [
      ['7', '3'],
      ['3', '7'],
    ]) {
      const text = lines.map(line => line.replace(/^\S+/, label => (label === '+1' ? positive : negative))).join('\n')
      const result = await fromText(`${negative} 1:1\n${text}\n`, { tolerance: 1e-4, bias: 1 })
      assert.deepEqual(
        result.model.labels.map(({ value }) => value),
        [7, 3],
      )
    }
  })

  it('a bias, and class weights', async () => {
    for (const loss of losses) {
      if (isSlow) await fromText(plain, { loss, bias: 1, tolerance: 1e-4 })
      await fromText(plain, { loss, bias: 2, classWeights: { '+1': 3, '-1': 0.5 }, tolerance: 1e-4 })
    }
  })

  it('f32 weights', async () => {
    for (const loss of losses) await fromText(plain, { loss, weights: 'f32', tolerance: 1e-4 }, { exact: 1e-6 })
  })

  it('f64 values', async () => {
    await fromText(plain, { values: 'f64' })
  })

  it('rows without entries, the first and the last among them', async () => {
    for (const [k, loss] of losses.entries())
      for (const bias of isSlow ? [0, 1] : [k % 2])
        await fromText(`-1\n+1\n${plain}-1\n`, { loss, tolerance: 1e-4, bias })
  })

  it('few features in use of very many', async () => {
    const far = plain.replaceAll(/(\d+):/g, (_, index) => `${Number(index) * 40_000}:`)
    for (const loss of losses) {
      const result = await fromText(far, { loss, tolerance: 1e-4 })
      assert.equal(result.blocks!.read, 0)
    }
  })

  it('features that are met in one chunk only, and new ones in the last', async () => {
    const lines = noisyRows(12_000, 25, 3).split('\n')
    const text = lines.map((line, k) =>
      line.replaceAll(
        /(\d+):/g,
        (_, index) => `${Number(index) + (k > 10_000 ? 300_000 : 25 * Math.floor(k / 3000))}:`,
      ),
    )
    await fromText(`${text.join('\n')}\n`, { tolerance: 1e-4 })
  })

  it('a single pass gives a model that is certified, and can be used', async () => {
    for (const loss of losses) {
      const result = await fromText(plain, { loss, maxPasses: 1 }, { converged: false })
      assert.equal(result.passes, 1)
      assert.ok(result.exitReason === 'max-passes' || result.exitReason === 'converged')
      assert.ok(result.gap! < 0.5, `gap ${result.gap}`)
      assert.ok(result.trainingAccuracy === null || result.trainingAccuracy > 0.6)
    }
  })

  it('counts rows on the right side as the memory does', async () => {
    // Rows without entries lie on neither side: they count for the smaller label.
    const name = 'counted'
    const text = `${plain}${'-1\n'.repeat(300)}`
    const path = folder.write(`${name}.svm`, text)
    const store = join(folder.path, `${name}.spill`)
    await ingest(path, store, { blocks: 12 })
    const options: TrainOptions = { loss: 'squared-hinge', cost: 0.1, tolerance: 1e-4 }
    const best = await train(store, { ...options, solver: 'dual' }).result
    for (const [share] of shares) {
      const memory = await memoryForShare(store, share, options)
      const { trainingAccuracy } = await train(store, { ...options, solver: 'stream', memory }).result
      assert.ok(trainingAccuracy !== null)
      assert.ok(
        Math.abs(trainingAccuracy - best.trainingAccuracy!) < 0.005,
        `${trainingAccuracy}, ${best.trainingAccuracy}`,
      )
    }
  })
})

describe('the same seed', () => {
  const text = `${noisyRows(2000, 25, 7)}\n`
  let count = 0

  it('gives the same model from text, for any number of threads', async () => {
    // Several chunks: each is a visit of the first pass, whenever it comes.
    const path = folder.write('several-chunks.svm', `${noisyRows(12_000, 25, 7)}\n`)
    for (const loss of losses) {
      const results: TrainResult[] = []
      for (const threads of isSlow || loss === 'hinge' ? [undefined, undefined, 2] : [undefined, undefined]) {
        const to = join(folder.path, `text-${++count}.spill`)
        const options: TrainOptions = { solver: 'stream', loss, cost: 0.1, blocks: 8, memory: '270M', store: to }
        if (threads) options.threads = threads
        results.push((await told(path, options)).result)
        rmSync(to, { recursive: true })
      }
      for (const result of results.slice(1, 2)) assertSameModel(result, results[0])
      // How many rooms for chunks there are follows from the threads, and so does what is left for the first pass.
      for (const result of results.slice(2)) {
        assert.equal(result.exitReason, 'converged')
        assert.ok(Math.abs(result.primal! - results[0].primal!) <= 1e-3 * results[0].primal!)
      }
    }
  })

  it('gives the same model to a run from text that is stopped and resumed', async () => {
    const path = folder.write('to-resume.svm', text)
    const options = (): TrainOptions => ({
      ...{ solver: 'stream', checkpointSeconds: 0, cost: 0.1, tolerance: 1e-5, blocks: 8, memory: '262M' },
      store: join(folder.path, `text-${++count}.spill`),
    })
    const whole = await told(path, options())
    for (let records = 1; records < whole.train.length; records++) {
      const again = options()
      const first = await abortAfter(path, again, records)
      const rest = first.result.exitReason === 'interrupted' ? await told(path, { ...again, resume: true }) : first
      assertSameModel(rest.result, whole.result)
    }
  })

  it('gives the same model to a run from text that was killed before its first checkpoint', async () => {
    const path = folder.write('killed.svm', text)
    const to = join(folder.path, `text-${++count}.spill`)
    const options: TrainOptions = { solver: 'stream', cost: 0.1, blocks: 8, memory: '262M', store: to }
    const whole = await told(path, options)
    // What a kill just after the store was finished leaves behind: the store, marked, and no state.
    writeFileSync(join(to, 'first-pass-unsaved'), '')
    for (const name of readdirSync(to).filter(file => file.startsWith('state-')))
      rmSync(join(to, name), { recursive: true })
    assertSameModel((await told(path, { ...options, resume: true })).result, whole.result)
  })
})

describe('memory for fewer rows than there are', () => {
  it('from text, no more passes are made than were allowed', async t => {
    // Rows enough that they do not fit beside the text that is being read.
    const random = randomNumbers(5)
    const lines = Array.from({ length: 36_000 }, () => {
      let text = random() < 0.5 ? '1' : '-1'
      for (let j = 1 + Math.floor(random() * 4); j <= 400; j += 1 + Math.floor(random() * 7)) {
        text += ` ${j}:0.${100 + Math.floor(random() * 900)}`
      }
      return text
    })
    const path = folder.write('large.svm', `${lines.join('\n')}\n`)
    const to = join(folder.path, 'large.spill')
    const options: TrainOptions = {
      solver: 'stream',
      memory: '265M',
      blocks: BLOCKS,
      store: to,
      cost: 0.01,
      maxPasses: 1,
    }
    const { result } = await told(path, options)
    t.diagnostic(said(result))
    assert.equal(result.passes, 1)
    // The pass over the text was the one; what is read besides is read for the certificate.
    assert.ok(result.blocks!.read > 0 && result.blocks!.read <= BLOCKS, `${result.blocks!.read} blocks were read`)
  })
})
