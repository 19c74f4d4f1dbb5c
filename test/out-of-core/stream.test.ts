// Solver `stream`: the optimum of the memory with room for few rows or for all, certificates that hold though blocks were
// left out, and the same bits however a run comes about.
import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it, type TestContext } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import type { TrainOptions } from '../../src/training/options.ts'
import { train } from '../../src/training/train.ts'
import type { TrainResult } from '../../src/training/training-run.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { findData, type LossName, type Row, readData, writeData } from '../training/liblinear.ts'
import { abortAfter, assertSameModel, copyStore, fastFolder, noisyStore, threeClasses, told } from './fixture.ts'
import { objectiveOfFile } from './model-objective.ts'
import { memoryForShare } from './stream-fixture.ts'

const folder = fastFolder()
const BLOCKS = 40
const losses: LossName[] = ['hinge', 'squared-hinge', 'logistic']
/** Of the bytes of all records: memory for few rows, for some, and for all of them. */
const shares: [number, string][] = [
  [0.05, '5 %'],
  [0.2, '20 %'],
  [1.25, 'all'],
]

/** The rows of a LIBSVM text. */
const rowsOf = (text: string): Row[] =>
  text
    .trim()
    .split('\n')
    .map(line => {
      const [label, ...entries] = line.split(' ')
      const pairs = entries.map(entry => entry.split(':').map(Number))
      return { label: Number(label), indices: pairs.map(([index]) => index), values: pairs.map(([, value]) => value) }
    })

interface Reference {
  primal: number
  dual: number
}

const references = new Map<string, Promise<Reference>>()
/** The optimum, by `dual` with all rows in memory, to a gap below the one that is asked of stream. */
function inMemory(data: string, options: TrainOptions): Promise<Reference> {
  const key = JSON.stringify([data, options])
  const found = references.get(key)
  if (found) return found
  const made = train(data, { tolerance: 2e-7, maxPasses: 20_000, ...options, solver: 'dual' }).result.then(result => ({
    primal: result.primal!,
    dual: result.dual!,
  }))
  references.set(key, made)
  return made
}

/** What the evaluator says is what the certificate says. Blocks that are left out may owe a thousandth of the tolerance,
 *  which the certificate counts as if they did. */
async function assertHonest(
  result: TrainResult,
  rows: Row[],
  options: TrainOptions,
  best: Reference,
  exact = 1e-9,
): Promise<void> {
  const { primal, dual, gap } = result as { primal: number; dual: number; gap: number }
  const mine = await objectiveOfFile(folder.path, result, rows, options)
  const unread = 1e-3 * (options.tolerance ?? 1e-3)
  assert.ok(primal >= mine * (1 - exact), `${primal} is less than the objective, ${mine}`)
  assert.ok(primal <= mine * (1 + Math.max(exact, unread)), `${primal} is more than the objective, ${mine}`)
  assert.ok(Math.abs(gap - (primal - dual) / primal) <= 1e-12, `gap ${gap}`)
  // No dual value is above any primal one.
  assert.ok(dual <= best.primal * (1 + exact), `dual ${dual} is above the primal ${best.primal} of the memory`)
  assert.ok(primal >= best.dual * (1 - exact), `primal ${primal} is below the dual ${best.dual} of the memory`)
}

async function converges(
  store: string,
  rows: Row[],
  best: Reference,
  options: TrainOptions,
  exact?: number,
): Promise<TrainResult> {
  const result = await train(store, { maxPasses: 3000, ...options, solver: 'stream' }).result
  assert.equal(result.solver, 'stream')
  assert.equal(result.exitReason, 'converged')
  assert.ok(result.gap! <= options.tolerance!, `gap ${result.gap}`)
  await assertHonest(result, rows, options, best, exact)
  return result
}

interface Data {
  path: string
  store: string
  rows: Row[]
}

const known = new Map<string, Promise<Data>>()
function dataOf(name: string, make: () => { path: string; rows: Row[] }): Promise<Data> {
  const found = known.get(name)
  if (found) return found
  const made = (async () => {
    const { path, rows } = make()
    const store = join(folder.path, `${name}.spill`)
    await ingest(path, store, { blocks: BLOCKS })
    return { path, rows, store }
  })()
  known.set(name, made)
  return made
}

function realData(t: TestContext, name: string): Promise<Data> | undefined {
  const data = findData(name)
  if ('why' in data) {
    t.skip(data.why)
    return undefined
  }
  return dataOf(name, () => ({ path: data.path, rows: readData(data.path) }))
}

/** A tenth of the rows of covtype. */
function covtype(t: TestContext): Promise<Data> | undefined {
  const data = findData('covtype.libsvm.binary')
  if ('why' in data) {
    t.skip(data.why)
    return undefined
  }
  return dataOf('covtype', () => {
    const random = randomNumbers(10)
    const rows = readData(data.path, () => random() < 0.1)
    return { path: folder.write('covtype.svm', writeData(rows)), rows }
  })
}

/** A thousand rows of a9a. */
function thousand(t: TestContext): Promise<Data> | undefined {
  const data = findData('a9a')
  if ('why' in data) {
    t.skip(data.why)
    return undefined
  }
  return dataOf('thousand', () => {
    const rows = readData(data.path, line => line % 32 === 0)
    return { path: folder.write('thousand.svm', writeData(rows)), rows }
  })
}

const said = (result: TrainResult): string =>
  `gap ${result.gap?.toExponential(1)} after ${result.passes} passes, ${result.blocks?.read} blocks read`

describe('the optimum of the memory, whatever share of the rows stays', () => {
  const sets: [string, (t: TestContext) => Promise<Data> | undefined, TrainOptions, number][] = [
    ['a9a', t => realData(t, 'a9a'), {}, 1e-9],
    ['imdb', t => realData(t, 'imdb'), { normalize: 'unit' }, 1e-9],
    // Scaled values are kept in f32.
    ['covtype', covtype, { scale: 'minmax' }, 1e-6],
  ]
  for (const [name, find, more, exact] of sets) {
    for (const loss of losses) {
      it(`${name}, ${loss}`, async t => {
        const data = await find(t)
        if (!data) return
        const best = await inMemory(data.path, { loss, ...more, ...(name === 'covtype' && { indexBase: 1 }) })
        for (const [share, words] of shares) {
          const options: TrainOptions = { loss, ...more, tolerance: 1e-6 }
          const memory = await memoryForShare(data.store, share, options)
          const result = await converges(data.store, data.rows, best, { ...options, memory }, exact)
          t.diagnostic(`room for ${words}: ${said(result)}`)
        }
      })
    }
  }
})

describe('a hundred passes', () => {
  for (const cost of [1e-4, 1e-2, 1, 1e2, 1e3]) {
    it(`at C = ${cost}: an honest gap, whatever it is`, async t => {
      const data = await thousand(t)
      if (!data) return
      for (const loss of losses) {
        // Beyond C = 1 the memory has its troubles too: what is known of the optimum lies between its two values.
        const best = await inMemory(data.path, { loss, cost, maxPasses: 300, tolerance: 1e-6 })
        const options: TrainOptions = { loss, cost, tolerance: 1e-6, maxPasses: 100 }
        options.memory = await memoryForShare(data.store, 0.2, options)
        const result = await train(data.store, { ...options, solver: 'stream' }).result
        assert.ok(result.passes <= 100)
        assert.ok(result.exitReason === 'max-passes' || result.gap! <= 1e-6)
        await assertHonest(result, data.rows, options, best)
        const memory = (best.primal - best.dual) / best.primal
        t.diagnostic(`${loss}: ${said(result)}; 300 passes in memory: gap ${memory.toExponential(1)}`)
      }
    })
  }
})

/** LIBSVM text of rows most of which, as pages of two kinds, are far from mattering once the first few are known. */
function dividedRows(): string {
  const random = randomNumbers(31)
  return Array.from({ length: 6000 }, () => {
    const positive = random() < 0.5
    const hard = random() < 0.04
    const entries: string[] = []
    for (let j = 1; j <= 60; j++) {
      if (random() > 0.3) continue
      const own = j <= 30 === positive
      if (!hard && !own && random() < 0.9) continue
      entries.push(`${j}:${Math.fround(random())}`)
    }
    return [positive !== (hard && random() < 0.4) ? '+1' : '-1', ...entries].join(' ')
  }).join('\n')
}

describe('blocks that are left out', () => {
  it('imdb, hinge, a fifth of the rows: fewer blocks are read than there were passes over them', async t => {
    const data = await realData(t, 'imdb')
    if (!data) return
    const options: TrainOptions = { normalize: 'unit', tolerance: 1e-6 }
    const best = await inMemory(data.path, { loss: 'hinge', normalize: 'unit' })
    options.memory = await memoryForShare(data.store, 0.2, options)
    const result = await converges(data.store, data.rows, best, options)
    const { read, count } = result.blocks!
    assert.equal(count, BLOCKS)
    assert.ok(read < result.passes * count, `${read} of ${result.passes * count} were read`)
    assert.ok(result.trainingAccuracy === null || result.trainingAccuracy > 0.9)
  })

  it('rows that a wide margin divides: the certificate holds though few blocks were read for it', async t => {
    const text = dividedRows()
    const path = folder.write('margin.svm', `${text}\n`)
    const store = join(folder.path, 'margin.spill')
    await ingest(path, store, { blocks: BLOCKS })
    const rows = rowsOf(text)
    for (const loss of ['hinge', 'squared-hinge'] as const) {
      const options: TrainOptions = { loss, bias: 1, tolerance: 1e-6 }
      const best = await inMemory(path, { loss, bias: 1 })
      options.memory = await memoryForShare(store, 0.2, options)
      const result = await converges(store, rows, best, options)
      t.diagnostic(`${loss}: ${said(result)}`)
      assert.ok(result.blocks!.read < 0.7 * result.passes * BLOCKS, said(result))
    }
  })
})

describe('the same seed', () => {
  let store = ''
  const text = `${noisyRows(2000, 25, 7)}\n`
  let count = 0
  const fresh = (from = store): string => copyStore(from, join(folder.path, `copy-${++count}.spill`))
  before(async () => {
    store = await noisyStore(folder, 'noisy', { rows: 2000, blocks: 12 })
  })

  it('gives the same model from a store, another seed another one', async () => {
    for (const loss of losses) {
      const options: TrainOptions = { solver: 'stream', loss, cost: 0.1, tolerance: 1e-3 }
      options.memory = await memoryForShare(store, 0.2, options)
      const one = await told(fresh(), options)
      assertSameModel((await told(fresh(), options)).result, one.result)
      const other = await told(fresh(), { ...options, seed: 5 })
      assert.notDeepEqual(other.result.model.weights, one.result.model.weights)
    }
  })

  it('gives the same model from text, for any number of threads', async () => {
    // Several chunks: each is a visit of the first pass, whenever it comes.
    const path = folder.write('several-chunks.svm', `${noisyRows(12_000, 25, 7)}\n`)
    for (const loss of losses) {
      const results: TrainResult[] = []
      for (const threads of [undefined, undefined, 2]) {
        const to = join(folder.path, `text-${++count}.spill`)
        const options: TrainOptions = { solver: 'stream', loss, cost: 0.1, blocks: 8, memory: '200M', store: to }
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

  const ways: [string, TrainOptions, number][] = [
    ['hinge', {}, 0.05],
    ['hinge, all rows', { tolerance: 1e-4 }, 1.25],
    ['squared hinge, without shrinking', { loss: 'squared-hinge', shrinking: false }, 0.2],
    ['logistic', { loss: 'logistic' }, 0.2],
    ['f32 weights, bias, class weights', { weights: 'f32', bias: 1, classWeights: { '+1': 2 } }, 0.2],
    ['fixed order, minmax, unit length', { blockOrder: 'fixed', scale: 'minmax', normalize: 'unit' }, 0.2],
  ]
  for (const [name, more, share] of ways) {
    it(`gives the same model to a run that is stopped and resumed: ${name}`, async () => {
      const options: TrainOptions = { solver: 'stream', checkpointSeconds: 0, cost: 0.1, tolerance: 3e-3, ...more }
      options.memory = await memoryForShare(store, share, options)
      const whole = await told(fresh(), options)
      assert.equal(whole.result.exitReason, 'converged')
      // Every few records, an odd number of them, so that stops fall within passes and at their ends.
      const path = fresh()
      const every = Math.max(1, Math.floor(whole.train.length / 4)) | 1
      for (let stops = 0; ; stops++) {
        assert.ok(stops < 100, 'it never ends')
        const part = await abortAfter(path, { ...options, resume: true }, every)
        if (part.result.exitReason === 'interrupted') continue
        assert.ok(stops > 1 || whole.train.length < 3)
        assertSameModel(part.result, whole.result)
        break
      }
    })
  }

  it('gives the same model wherever a run is stopped', async () => {
    const options: TrainOptions = { solver: 'stream', checkpointSeconds: 0, cost: 0.1, tolerance: 0.01 }
    options.memory = await memoryForShare(store, 0.1, options)
    const whole = await told(fresh(), options)
    const step = Math.max(1, Math.floor(whole.train.length / 6))
    for (let records = 1; records < whole.train.length; records += step) {
      const path = fresh()
      const first = await abortAfter(path, options, records)
      const rest = first.result.exitReason === 'interrupted' ? await told(path, { ...options, resume: true }) : first
      assertSameModel(rest.result, whole.result)
      rmSync(path, { recursive: true })
    }
  })

  it('of three classes gives the same model to a run that is stopped and resumed', async () => {
    const three = join(folder.path, 'three-to-resume.spill')
    await ingest(folder.write('three-to-resume.svm', `${threeClasses(1200, 5)}\n`), three, { blocks: 8 })
    const options: TrainOptions = { solver: 'stream', checkpointSeconds: 0, cost: 0.1, tolerance: 0.01 }
    options.memory = await memoryForShare(three, 0.2, options)
    const whole = await told(fresh(three), options)
    for (const part of [0.2, 0.5, 0.8]) {
      const path = fresh(three)
      const first = await abortAfter(path, options, Math.floor(part * whole.train.length))
      assert.equal(first.result.exitReason, 'interrupted')
      assertSameModel((await told(path, { ...options, resume: true })).result, whole.result)
    }
  })

  it('gives the same model to a run from text that is stopped and resumed', async () => {
    const path = folder.write('to-resume.svm', text)
    const options = (): TrainOptions => ({
      ...{ solver: 'stream', checkpointSeconds: 0, cost: 0.1, tolerance: 1e-5, blocks: 8, memory: '180M' },
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
    const options: TrainOptions = { solver: 'stream', cost: 0.1, blocks: 8, memory: '180M', store: to }
    const whole = await told(path, options)
    // What a kill just after the store was finished leaves behind: the store, marked, and no state.
    writeFileSync(join(to, 'first-pass-unsaved'), '')
    for (const name of readdirSync(to).filter(file => file.startsWith('state-')))
      rmSync(join(to, name), { recursive: true })
    assertSameModel((await told(path, { ...options, resume: true })).result, whole.result)
  })
})

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
      ...{ solver: 'stream', blocks: 8, memory: '180M', store: join(folder.path, `${name}.spill`) },
      ...base,
    }).result
    if (converged) assert.equal(result.exitReason, 'converged')
    const { maxPasses: _, weights: __, shrinking: ___, ...others } = base
    const best = await inMemory(path, { ...others, tolerance: 1e-7 })
    await assertHonest(result, rowsOf(text), base, best, exact)
    return result
  }
  const plain = `${noisyRows(5000, 25, 11)}\n`

  for (const loss of losses)
    it(`${loss}: when all rows fit, no block is read`, async () => {
      const result = await fromText(plain, { loss })
      assert.equal(result.blocks!.read, 0)
      assert.equal(result.rows, 5000)
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
      await fromText(plain, { loss, bias: 1, tolerance: 1e-4 })
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
    for (const loss of losses) await fromText(`-1\n+1\n${plain}-1\n`, { loss, tolerance: 1e-4 })
    for (const loss of losses) await fromText(`-1\n+1\n${plain}-1\n`, { loss, tolerance: 1e-4, bias: 1 })
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
    await ingest(path, store, { blocks: BLOCKS })
    const options: TrainOptions = { loss: 'squared-hinge', cost: 0.1, tolerance: 1e-5 }
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

describe('memory for fewer rows than there are', () => {
  it('f32 weights come to the tolerance, with a certificate of all rows', async () => {
    const store = await noisyStore(folder, 'narrow', { rows: 2000, blocks: 20, seed: 9 })
    const rows = rowsOf(noisyRows(2000, 25, 9))
    const path = join(folder.path, 'narrow.svm')
    for (const loss of losses) {
      const options: TrainOptions = { loss, cost: 0.1, weights: 'f32', tolerance: 1e-3, maxPasses: 300 }
      const best = await inMemory(path, { loss, cost: 0.1 })
      for (const share of [0.05, 0.3]) {
        const memory = await memoryForShare(store, share, options)
        await converges(store, rows, best, { ...options, memory }, 1e-6)
      }
    }
  })

  it('f32 weights: a block whose rows did not move once is looked at again when w has moved', async () => {
    const path = folder.write('divided.svm', `${dividedRows()}\n`)
    const store = join(folder.path, 'divided.spill')
    await ingest(path, store, { blocks: BLOCKS })
    const base: TrainOptions = { cost: 0.01, bias: 1 }
    const options: TrainOptions = { ...base, weights: 'f32', tolerance: 1e-5, maxPasses: 60 }
    const memory = await memoryForShare(store, 0.05, options)
    await converges(store, rowsOf(dividedRows()), await inMemory(path, base), { ...options, memory }, 1e-6)
  })

  it('after a stop, a run reads again what had been read ahead, and no more', async () => {
    const store = await noisyStore(folder, 'ahead', { rows: 2000, blocks: 12, seed: 9 })
    const options: TrainOptions = { solver: 'stream', checkpointSeconds: 0, cost: 0.1, tolerance: 1e-3 }
    options.memory = await memoryForShare(store, 0.1, options)
    const whole = await told(copyStore(store, join(folder.path, 'ahead-0.spill')), options)
    const all = whole.result.blocks!.read
    for (const records of [1, 4, 9]) {
      const path = copyStore(store, join(folder.path, `ahead-${records}.spill`))
      const first = await abortAfter(path, options, records)
      assert.equal(first.result.exitReason, 'interrupted')
      const rest = await told(path, { ...options, resume: true })
      const twice = first.result.blocks!.read + rest.result.blocks!.read - all
      // A group has at most half of the blocks; at the end of a pass the certificate may have begun.
      assert.ok(twice >= 0 && twice <= 12, `stopped after ${records} records: ${twice} blocks were read twice`)
    }
  })

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
      memory: '150M',
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
