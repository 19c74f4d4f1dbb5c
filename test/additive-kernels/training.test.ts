// Additive kernels from text to predictions: the optimum of the polynomial kernel for every solver and loss, nearness to the
// exact kernel, stores of bins, ranges, and what is refused.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { scoreRow } from '../../src/model/model.ts'
import { predict, predictRows } from '../../src/predict/predict.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { good } from '../cli/run.ts'
import { abortAfter, assertSameModel, fastFolder, memoryFor, told } from '../out-of-core/fixture.ts'
import { isSlow, unlessSlow } from '../slow.ts'
import { against, asLibsvm, makeHistograms } from './histograms.ts'
import { chi2, jensenShannon, powerMean, type ScalarKernel, solveKernelMachine } from './kernel-oracle.ts'
import { adHocNodes, chebyshevNodes, evenNodes, inBothArguments, projected } from './polynomial-kernel.ts'

const folder = fastFolder()
const data = makeHistograms({ rows: 240, features: 12, seed: 3 })
const path = folder.write('two.svm', asLibsvm(data))
const three = makeHistograms({ rows: 300, features: 12, seed: 4, classes: 3 })
const threePath = folder.write('three.svm', asLibsvm(three))

async function storeOf(text: string, name: string, bins?: number): Promise<string> {
  const store = join(folder.path, `${name}.spill`)
  await ingest(text, store, { blocks: 6, ...(bins && { bins }) })
  return store
}

async function scoresOf(text: string, model: Parameters<typeof predictRows>[1]): Promise<number[]> {
  const scores: number[] = []
  for await (const piece of predictRows(text, model)) scores.push(...piece.scores)
  return scores
}

const near = (a: number, b: number, most: number, what: string): void =>
  assert.ok(Math.abs(a - b) <= most * Math.abs(b), `${what}: ${a} and ${b}`)

describe('the optimum of what stands for the kernel', () => {
  const cases: [string, ScalarKernel, Partial<TrainOptions>][] = [
    ['chi2', chi2, {}],
    ['chi2', chi2, { approximation: 'polynomial', degree: 5 }],
    ['intersection', powerMean(-8), { degree: 4 }],
    ['intersection', powerMean(-8), { degree: 8 }],
    ['intersection', powerMean(-8), { approximation: 'polynomial' }],
    ['jensen-shannon', jensenShannon, { degree: 3, bins: 200 }],
    ['power-mean:-2', powerMean(-2), { nodes: 'ad-hoc', bins: 64, approximation: 'polynomial' }],
    ['power-mean:0', powerMean(0), { bins: 256 }],
  ]
  for (const [k, [kernel, scalar, settings]] of cases.entries()) {
    for (const [l, loss] of (['hinge', 'squared-hinge'] as const).entries()) {
      // Every case and every loss is always there, all pairs of them with SPILLWAY_SLOW=1.
      const skip = k % 2 !== l && unlessSlow
      const name = `${kernel}, ${Object.values(settings).join(' ')}, ${loss}: solvers come to it, to 1e-6`
      it(name, { skip }, async () => {
        const { degree = 2, bins = 1000, nodes, approximation } = settings
        const at = nodes === 'ad-hoc' ? adHocNodes : degree > 5 ? evenNodes(degree) : chebyshevNodes(degree)
        const stand = (approximation === 'polynomial' ? inBothArguments : projected)(scalar, at, bins)
        const cost = 0.5
        // A byte has room for 255 of 256 bins.
        const rows = bins === 256 ? data.rows.map(row => row.map(x => Math.min(x, 255 / 256))) : data.rows
        const exact = solveKernelMachine({ rows, labels: data.labels, kernel: stand, cost, loss })
        const options: TrainOptions = { kernel, ...settings, loss, cost, tolerance: 1e-7, maxPasses: 20000 }
        const store = await storeOf(path, [kernel.replace(':', ''), ...Object.values(settings), loss].join('-'))
        // Each of these is always there for several kernels, all of them for each kernel with SPILLWAY_SLOW=1.
        const overBlocks = ['block', 'selective', 'stream']
        for (const [solver, from] of [
          ['dual', path],
          ['dual', store],
          ...(isSlow ? overBlocks : [overBlocks[k % 3]]).map(solver => [solver, store]),
        ]) {
          const { primal, gap } = await train(from, { ...options, solver, ...(solver !== 'dual' && { cold: true }) })
            .result
          near(primal!, exact.primal, 1e-6, `${solver}, ${from === path ? 'text' : 'store'}`)
          assert.ok(gap! <= 1e-7)
        }
      })
    }
  }

  it('rows of bins are what the explicit expansion makes, also of unit length and with a bias', async () => {
    const options: TrainOptions = {
      tolerance: 1e-7,
      maxPasses: 20000,
      normalize: 'unit',
      bias: 1,
      loss: 'squared-hinge',
    }
    const compact = await train(path, { ...options, kernel: 'chi2', bins: 300 }).result
    const wide = await train(path, { ...options, expand: 'additive-kernel:chi2:projection:2:chebyshev:300' }).result
    near(compact.primal!, wide.primal!, 3e-7, 'primal')
    assert.equal(compact.model.features, wide.model.features)
    const [a, b] = [await scoresOf(path, compact.model), await scoresOf(path, wide.model)]
    for (const [k, score] of a.entries()) assert.ok(Math.abs(score - b[k]) < 1e-2)
  })

  it('feature numbers of any size: rows with small ones only, with large ones only, and with both', async () => {
    // Feature 1 to 6 stay, 7 to 9 go far out, 10 to 12 further; a row lacks some of them.
    const far = data.rows.map((row, i) =>
      row.map((x, j) => ((i % 3 === 0 && j >= 6) || (i % 3 === 1 && j < 6) ? 0 : x)),
    )
    const text = asLibsvm({ rows: far, labels: data.labels })
    const wide = text.replace(/ (7|8|9):/g, ' 7000$1:').replace(/ (10|11|12):/g, ' 40000$1:')
    const options: TrainOptions = { kernel: 'chi2', tolerance: 1e-7, maxPasses: 20000 }
    const near12 = await train(folder.write('near.svm', text), options).result
    const path = folder.write('far.svm', wide)
    const store = await storeOf(path, 'far')
    for (const bins of [1000, 100]) {
      const expected = bins === 1000 ? near12 : await train(folder.write('near.svm', text), { ...options, bins }).result
      for (const [from, solver] of [
        [path, 'dual'],
        [store, 'dual'],
        [store, 'stream'],
      ]) {
        const { primal, model } = await train(from, { ...options, bins, solver }).result
        near(primal!, expected.primal!, 3e-7, `${solver}, ${bins} bins`)
        const [a, b] = [await scoresOf(path, model), await scoresOf(folder.write('near.svm', text), expected.model)]
        for (const [k, score] of a.entries()) assert.ok(Math.abs(score - b[k]) < 1e-2)
      }
    }
  })

  it('weights in f32 come close', async () => {
    const options: TrainOptions = { kernel: 'chi2', tolerance: 1e-4, maxPasses: 5000 }
    const wide = await train(path, options).result
    const narrow = await train(path, { ...options, weights: 'f32' }).result
    near(narrow.primal!, wide.primal!, 3e-4, 'primal')
  })

  it('several classes, in memory and over blocks with a cache that has to choose', async () => {
    const options: TrainOptions = { kernel: 'chi2', tolerance: 1e-7, maxPasses: 20000, cost: 0.5 }
    const stand = projected(chi2, chebyshevNodes(2), 1000)
    const store = await storeOf(threePath, 'three')
    const results = [await train(threePath, options).result]
    for (const solver of ['block', 'selective', 'stream']) {
      results.push(await train(store, { ...options, solver, cold: true }).result)
    }
    for (const label of [1, 2, 3]) {
      const labels = against(three.labels, label)
      const exact = solveKernelMachine({ rows: three.rows, labels, kernel: stand, cost: 0.5, loss: 'hinge' })
      for (const { model, solver } of results) {
        const k = model.labels.findIndex(({ value }) => value === label)
        near(model.classCertificates[k].primal!, exact.primal, 1e-6, `${solver}, class ${label}`)
      }
    }
  })
})

describe('beside the exact kernel', () => {
  for (const [kernel, scalar, degree, most] of [
    ['chi2', chi2, 2, 0.03],
    ['chi2', chi2, 5, 0.01],
    ['jensen-shannon', jensenShannon, 2, 0.01],
    ['intersection', powerMean(-8), 5, 0.1],
  ] as const) {
    it(`${kernel} of degree ${degree}: decision values within ${most} of their size, 99 % of the labels`, async () => {
      const exact = solveKernelMachine({ ...data, kernel: scalar, cost: 0.2, loss: 'hinge' })
      const test = makeHistograms({ rows: 1000, features: 12, seed: 5 })
      // The classes of the training data, other rows.
      const rows = [...data.rows, ...test.rows]
      const { model } = await train(path, { kernel, degree, cost: 0.2, tolerance: 1e-6, maxPasses: 5000 }).result
      const first = model.labels[0].value!
      const scores = rows.map(row => scoreRow(model, [...row.keys()], row)[0] * first)
      const decisions = rows.map(exact.decision)
      const size = Math.max(...decisions.map(Math.abs))
      const off = Math.max(...scores.map((score, i) => Math.abs(score - decisions[i]))) / size
      assert.ok(off <= most, `off by ${off}`)
      const same = scores.filter((score, i) => score > 0 === decisions[i] > 0).length / rows.length
      assert.ok(same >= 0.99, `same labels on ${same}`)
    })
  }
})

describe('stores of bins', () => {
  it('keep the bins, serve training as the text does, and take more rows', async () => {
    const options: TrainOptions = { kernel: 'chi2', bins: 100, tolerance: 1e-7, maxPasses: 20000 }
    const store = await storeOf(path, 'binned', 100)
    const { manifest } = await openStore(store)
    assert.deepEqual(manifest.transforms, { bins: 100 })
    const text = await train(path, options).result
    // The store's own bins are taken when none are asked for.
    const { bins: _, ...others } = options
    const blocks = await train(store, { ...others, solver: 'block' }).result
    near(blocks.primal!, text.primal!, 3e-7, 'primal')
    assert.deepEqual(blocks.model.transforms, text.model.transforms)
    const plain = await storeOf(path, 'plain')
    const bytes = async (folder: string): Promise<number> =>
      (await openStore(folder)).manifest.blocks.reduce((sum, block) => sum + block.bytes, 0)
    assert.ok((await bytes(store)) < (await bytes(plain)))
    const more = folder.write('more.svm', asLibsvm(makeHistograms({ rows: 60, features: 12, seed: 9 })))
    await addRows(more, store, {})
    assert.deepEqual((await openStore(store)).manifest.transforms, { bins: 100 })
    const together = await train([path, more], options).result
    const added = await train(store, { ...others, solver: 'stream' }).result
    near(added.primal!, together.primal!, 3e-7, 'primal after add')
  })

  it('are made when text does not fit, and not taken for another run', async () => {
    const store = join(folder.path, 'made.spill')
    const options: TrainOptions = { solver: 'block', store, blocks: 4, tolerance: 1e-3 }
    await train(path, { ...options, kernel: 'chi2' }).result
    assert.deepEqual((await openStore(store)).manifest.transforms, { bins: 1000 })
    await train(path, options).result
    assert.deepEqual((await openStore(store)).manifest.transforms, {})
    // Values as they came serve any bins.
    const { records } = await told(path, { ...options, kernel: 'chi2', bins: 50 })
    assert.ok(records.some(record => record.stage === 'plan' && /already/.test(record.reason)))
  })

  it('a run that is stopped and resumed gives the same model', async () => {
    for (const solver of ['selective', 'stream', 'block']) {
      const options: TrainOptions = { solver, kernel: 'chi2', checkpointSeconds: 0, tolerance: 1e-5, maxPasses: 3000 }
      const [a, b] = [await storeOf(path, `whole-${solver}`), await storeOf(path, `part-${solver}`)]
      const memory = await memoryFor(a, 2, options)
      const whole = await told(a, { ...options, memory })
      const first = await abortAfter(b, { ...options, memory }, 3)
      assert.equal(first.result.exitReason, 'interrupted')
      assertSameModel((await told(b, { ...options, memory, resume: true })).result, whole.result)
    }
  })
})

describe('values that a store has rounded', () => {
  it('have no finer bins than the store', async () => {
    const store = join(folder.path, 'coarse.spill')
    await ingest(path, store, { bins: 20, blocks: 2, threads: 1 })
    const words = /bins is 1000, and the values of .*coarse.spill were rounded to 20 bins when it was made/
    for (const solver of ['dual', 'block']) {
      const finer = { kernel: 'chi2', bins: 1000, solver }
      await assert.rejects(train(store, finer).result, words)
      await assert.rejects(crossValidate(store, finer), words)
      const { model, roundedToBins } = await train(store, { kernel: 'chi2', solver, bins: 10 }).result
      assert.match(model.transforms.expand!.steps, /:10$/)
      assert.equal(roundedToBins, undefined)
    }
  })

  it('are told of when they are trained on or scaled', async () => {
    const store = join(folder.path, 'rounded.spill')
    await ingest(path, store, { bins: 20, blocks: 2, threads: 1 })
    const plain = await storeOf(path, 'unrounded')
    for (const options of [{ solver: 'dual' }, { solver: 'block' }, { kernel: 'chi2', scale: 'minmax' }] as const) {
      for (const [from, bins] of [
        [store, 20],
        [plain, undefined],
      ] as const) {
        const run = train(from, options)
        const said: string[] = []
        for await (const record of run) if (record.stage === 'plan') said.push(record.reason)
        assert.equal(said.filter(reason => /rounded to 20 bins, and used so/.test(reason)).length, bins ? 1 : 0)
        assert.equal((await run.result).roundedToBins, bins)
      }
    }
    const { stdout } = await good(['train', store, 'rounded.model', '-q'], { cwd: folder.path })
    assert.match(stdout, /^the store has its values rounded to 20 bins: those were trained on$/m)
  })
})

describe('ranges', () => {
  // Signed values of very different sizes.
  const signed = data.rows.map(row => row.map((x, j) => (j % 3 === 0 ? (x - 0.5) * 40 : x * (j + 1))))
  const signedPath = folder.write('signed.svm', asLibsvm({ rows: signed, labels: data.labels }))

  it('are learnt, kept and applied, in memory and over blocks', async () => {
    const options: TrainOptions = { kernel: 'chi2', scale: 'minmax', tolerance: 1e-7, maxPasses: 20000 }
    const memory = await train(signedPath, options).result
    const store = await storeOf(signedPath, 'signed')
    for (const solver of ['block', 'stream']) {
      const { primal, model } = await train(store, { ...options, solver, cold: true }).result
      near(primal!, memory.primal!, 3e-7, solver)
      assert.deepEqual(model.transforms, memory.model.transforms)
    }
    // By hand: x / max|x|, and the map of a negative value is the negative of its opposite's.
    const largest = signed[0].map((_, j) => Math.max(...signed.map(row => Math.abs(row[j]))))
    const stand = projected(chi2, chebyshevNodes(2), 1000)
    const kernel: ScalarKernel = (x, y) => Math.sign(x) * Math.sign(y) * stand(Math.abs(x), Math.abs(y))
    const rows = signed.map(row => row.map((x, j) => Math.fround(Math.fround(x) / largest[j])))
    const exact = solveKernelMachine({ rows, labels: data.labels, kernel, cost: 1, loss: 'hinge' })
    near(memory.primal!, exact.primal, 1e-6, 'the optimum')
    const file = join(folder.path, 'signed.model')
    await saveModel(file, memory.model)
    const loaded = await loadModel(file)
    assert.deepEqual(loaded.transforms, memory.model.transforms)
    const scores = await scoresOf(signedPath, loaded)
    signed.forEach((row, i) => {
      assert.ok(Math.abs(scores[i] - scoreRow(loaded, [...row.keys()], row)[0]) < 1e-5)
    })
  })

  it('cut values off where training ended', async () => {
    const { model } = await train(signedPath, { kernel: 'chi2', scale: 'minmax' }).result
    const [lowest, highest] = [0, 1].map(j => [Math.min, Math.max].map(pick => pick(...signed.map(row => row[j]))))
    const scored = (values: number[]): Float64Array => scoreRow(model, [0, 1], values)
    assert.deepEqual(scored([lowest[0] * 5, highest[1] * 5]), scored([lowest[0], highest[1]]))
    // Feature 2 was never negative.
    assert.deepEqual(scored([lowest[0], -3]), scored([lowest[0], 0]))
    // A feature that reaches further below 0 than above it is cut off at both of its ends, too.
    const skewed = folder.write('skewed.svm', '1 1:-5 2:1\n-1 1:3 2:3\n1 1:-2 2:0.3\n-1 1:1 2:0.7\n')
    const ends = folder.write('ends.svm', '1 1:3\n1 1:5\n1 1:2.9\n1 1:-5\n1 1:-9\n1 1:-4.8\n')
    const ours = (await train(skewed, { kernel: 'chi2', scale: 'minmax' }).result).model
    const [three, five, less, minusFive, minusNine, minusLess] = await scoresOf(ends, ours)
    assert.equal(five, three)
    assert.equal(minusNine, minusFive)
    assert.ok(less !== three && minusLess !== minusFive)
    assert.deepEqual(scoreRow(ours, [0], [5]), scoreRow(ours, [0], [3]))
    const json = JSON.parse(Buffer.concat([...writeJson(ours)]).toString())
    assert.deepEqual([json.rangeLowest['1'], json.rangeLowest['2'], json.rangeHighest['2']], [-1, 0, 1])
    assert.ok(Math.abs(json.rangeHighest['1'] - 0.6) < 1e-15)
    const beyond = folder.write('beyond.svm', `1 1:${lowest[0] * 5} 2:-3\n1 1:${lowest[0]}\n`)
    const [a, b] = await scoresOf(beyond, model)
    assert.equal(a, b)
  })

  it('values outside of 0 and 1 are refused by line without them, and so are bins and more', async () => {
    await assert.rejects(
      train(signedPath, { kernel: 'chi2' }).result,
      /signed\.svm, line \d+, .*value -?[\d.]+ of feature \d+/,
    )
    const late = folder.write('late.svm', `${asLibsvm(data)}\n\n1 1:0.5 3:-0.25\n`)
    const line = data.rows.length + 3
    const error = await train(late, { kernel: 'chi2' }).result.catch(error => error)
    assert.match(error.message, new RegExp(`late\\.svm, line ${line}, .*the value -0\\.25 of feature 3`))
    assert.match(error.advice, /--scale minmax/)
    await assert.rejects(ingest(late, join(folder.path, 'late.spill'), { bins: 10 }), /the value -0\.25 of feature 3/)
    const store = await storeOf(late, 'late-plain')
    await assert.rejects(train(store, { kernel: 'chi2', solver: 'block' }).result, /the value -0\.25 of feature 3/)
    for (const [options, words] of [
      [{ kernel: 'rbf' }, /there is no kernel "rbf"/],
      [{ kernel: 'power-mean:2' }, /power-mean:P with a P from -64 to 0/],
      [{ kernel: 'chi2', degree: 64 }, /degree is 64; expected a whole number from 2 to 63 for the projection/],
      [{ kernel: 'chi2', degree: 7, approximation: 'polynomial' }, /degree is 7; .* 2 to 5 for the polynomial/],
      [{ kernel: 'intersection', nodes: 'even', approximation: 'polynomial' }, /even nodes are for the projection/],
      [{ kernel: 'chi2', degree: 3, nodes: 'ad-hoc' }, /degree 2/],
      [{ kernel: 'chi2', bins: 1 }, /bins is 1/],
      [{ bins: 100 }, /none is named/],
      [{ kernel: 'chi2', scale: 'standard' }, /scale standard/],
      [{ kernel: 'chi2', expand: 'polynomial:2' }, /do not go together/],
      [{ kernel: 'chi2', multiclass: 'crammer-singer' }, /crammer-singer/],
      [{ kernel: 'chi2', regularizer: 'l1', loss: 'logistic' }, /l1/],
    ] as [TrainOptions, RegExp][]) {
      assert.throws(() => train(path, options), words)
    }
  })
})

describe('many models of a kernel', () => {
  it('folds give the same in memory and over blocks', async () => {
    const options = { kernel: 'chi2', folds: 3, tolerance: 1e-5 }
    const memory = await crossValidate(threePath, options)
    const store = await storeOf(threePath, 'folds')
    const blocks = await crossValidate(store, { ...options, solver: 'selective' })
    assert.equal(blocks.models, 9)
    assert.ok(Math.abs(blocks.costs[0].accuracy - memory.costs[0].accuracy) < 0.06)
  })

  it('probabilities and the logistic loss work as for any rows', async () => {
    const { model } = await train(threePath, { kernel: 'jensen-shannon', calibrate: 'sigmoid' }).result
    const { evaluation } = await predict(threePath, model, { evaluate: true, probability: true })
    assert.ok(evaluation!.logLoss! < 1)
    const logistic = await train(path, { kernel: 'chi2', loss: 'logistic', tolerance: 1e-5 }).result
    assert.ok(logistic.gap! <= 1e-5)
  })
})
