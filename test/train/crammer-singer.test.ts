// Crammer and Singer's problem: LIBLINEAR's objective and accuracy, an optimum found by brute force, honest certificates.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { UsageError } from '../../src/errors.ts'
import { writeAtomically } from '../../src/files/atomic-file.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { writeLiblinear } from '../../src/model/liblinear-file.ts'
import { toDense } from '../../src/model/weights.ts'
import { predict } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { good } from '../cli/run.ts'
import { rowsOfSet } from '../data-sets/data-sets.ts'
import { type Row, unitLength, writeData } from '../data-sets/rows.ts'
import { fastFolder } from '../folders.ts'
import { bitsOf, close, randomNumbers } from '../numeric/reference.ts'
import { objective, objectiveOfModel, type Problem } from './crammer-singer-objective.ts'
import { noLiblinear } from './liblinear.ts'

const folder = fastFolder()

type Certified = TrainResult & { primal: number; dual: number; gap: number }

async function trained(path: string, o: Problem, more: TrainOptions = {}): Promise<Certified> {
  return (await train(path, { ...o, multiclass: 'crammer-singer', ...more }).result) as Certified
}

/** Trains with LIBLINEAR; its objective by the evaluator above, and where its model is. */
function peer(path: string, rows: Row[], o: Problem, epsilon = '1e-4'): { objective: number; model: string } {
  const model = `${path}.peer`
  const weights = Object.entries(o.classWeights ?? {}).flatMap(([label, weight]) => [`-w${label}`, String(weight)])
  const bias = o.bias ? ['-B', String(o.bias)] : []
  execFileSync('liblinear-train', ['-q', '-s', '4', '-c', `${o.cost}`, '-e', epsilon, ...bias, ...weights, path, model])
  const [head, body] = readFileSync(model, 'utf8').split(/^w\s*\n/m)
  const labels = /^label (.*)$/m.exec(head)![1].trim().split(/\s+/).map(Number)
  const w = Float64Array.from(body.trim().split(/\s+/), Number)
  const features = Number(/^nr_feature (\d+)$/m.exec(head)![1]) * labels.length
  return { objective: objective(rows, labels, w.subarray(0, features), w.subarray(features), o), model }
}

function peerLabels(path: string, model: string): number[] {
  execFileSync('liblinear-predict', ['-q', path, model, `${path}.labels`])
  return readFileSync(`${path}.labels`, 'utf8').trim().split('\n').map(Number)
}

const shareRight = (rows: Row[], labels: number[]): number =>
  rows.filter((row, k) => row.label === labels[k]).length / rows.length

/** Rows of as many classes, none of which a model tells apart fully; the same numbers every time. */
function someRows(count: number, classes: number, features: number, share = 0.3): Row[] {
  const random = randomNumbers(classes * 1000 + count)
  return Array.from({ length: count }, (_, i) => {
    const label = (i % classes) + 1
    const indices = Array.from({ length: features }, (_, j) => j + 1).filter(
      j => random() < (j % classes === label - 1 ? 0.7 : share),
    )
    return { label, indices, values: indices.map(() => Number((random() - 0.2).toFixed(3))) }
  })
}

/** The optimum by brute force: the dual's K variables of each row, two at a time, until nothing moves. */
function bruteForce(rows: Row[], classes: number, features: number, o: Problem): number {
  const bias = o.bias ?? 0
  const x = rows.map(row => {
    const dense = new Float64Array(features + 1)
    for (const [e, j] of row.indices.entries()) dense[j - 1] = row.values[e]
    dense[features] = bias
    return dense
  })
  const w = Array.from({ length: classes }, () => new Float64Array(features + 1))
  const cost = (row: Row): number => o.cost * (o.classWeights?.[String(row.label)] ?? 1)
  const b = rows.map(row => Float64Array.from({ length: classes }, (_, k) => (k === row.label - 1 ? cost(row) : 0)))
  for (let sweep = 0; sweep < 3000; sweep++) {
    let most = 0
    for (const [i, row] of rows.entries()) {
      const A = x[i].reduce((sum, value) => sum + value * value, 0)
      const G = w.map((v, k) => v.reduce((sum, value, j) => sum + value * x[i][j], k === row.label - 1 ? 0 : 1))
      let high = 0
      let low = -1
      for (let k = 0; k < classes; k++) {
        if (G[k] > G[high]) high = k
        if (b[i][k] > 0 && (low < 0 || G[k] < G[low])) low = k
      }
      const distance = G[high] - G[low]
      most = Math.max(most, distance)
      if (distance <= 0) continue
      const move = A > 0 ? Math.min(b[i][low], distance / (2 * A)) : b[i][low]
      b[i][low] = move === b[i][low] ? 0 : b[i][low] - move
      b[i][high] += move
      for (let j = 0; j <= features; j++) {
        w[low][j] += move * x[i][j]
        w[high][j] -= move * x[i][j]
      }
    }
    if (most < 1e-9) break
  }
  let dual = 0
  for (const [i, row] of rows.entries()) dual += cost(row) - b[i][row.label - 1]
  for (const v of w) dual -= 0.5 * v.reduce((sum, value) => sum + value * value, 0)
  return dual
}

describe('the optimum', () => {
  for (const [classes, o] of [
    [2, { cost: 1 }],
    [3, { cost: 0.5, bias: 1 }],
    [5, { cost: 2, bias: 0.5, classWeights: { '1': 3, '4': 0.2 } }],
  ] as [number, Problem][]) {
    it(`${classes} classes: what brute force finds, with and without shrinking`, async () => {
      const rows = someRows(60, classes, 8)
      // A row without entries owes its cost whatever the weights are.
      rows.push({ label: 1, indices: [], values: [] })
      const path = folder.write(`brute-${classes}.svm`, writeData(rows))
      const optimum = bruteForce(rows, classes, 8, o)
      for (const shrinking of [true, false]) {
        const result = await trained(path, o, { tolerance: 1e-8, maxPasses: 20_000, shrinking, values: 'f64' })
        assert.equal(result.exitReason, 'converged')
        close(result.primal, optimum, 1e-7)
        close(result.dual, optimum, 1e-7)
        close(objectiveOfModel(rows, result.model, o), result.primal, 1e-10)
        assert.equal(result.model.vectors, classes)
        assert.equal(result.model.multiclass, 'crammer-singer')
      }
      // A certificate of a run that stops early holds what it says.
      for (const tolerance of [0.3, 0.03, 0.003]) {
        const { primal, dual, gap } = await trained(path, o, { tolerance, values: 'f64' })
        assert.ok(gap <= tolerance && dual <= optimum * (1 + 1e-9) && optimum <= primal * (1 + 1e-9))
        close(gap, (primal - dual) / primal, 1e-9)
      }
    })
  }

  it('hundreds of classes, where single classes are shrunk', async t => {
    const rows = someRows(1500, 150, 300, 0.05)
    const path = folder.write('many.svm', writeData(rows))
    const o = { cost: 0.5 }
    const fast = await trained(path, o, { tolerance: 1e-6, maxPasses: 5000, values: 'f64' })
    const plain = await trained(path, o, { tolerance: 1e-6, maxPasses: 5000, values: 'f64', shrinking: false })
    close(fast.primal, plain.primal, 2e-6)
    close(objectiveOfModel(rows, fast.model, o), fast.primal, 1e-10)
    if (noLiblinear) return t.diagnostic(noLiblinear)
    close(fast.primal, peer(path, rows, o).objective, 1e-4)
  })

  it('a class with one row', async () => {
    const rows = [...someRows(40, 3, 6), { label: 9, indices: [2, 5], values: [1, -1] }]
    const o = { cost: 1 }
    const path = folder.write('lonely.svm', writeData(rows))
    const result = await trained(path, o, { tolerance: 1e-6, maxPasses: 5000 })
    assert.equal(result.exitReason, 'converged')
    assert.equal(result.classes, 4)
    close(objectiveOfModel(rows, result.model, o), result.primal, 1e-6)
  })

  it('is the same to the bit for the same seed, whatever the threads', async () => {
    const path = folder.write('seeds.svm', writeData(someRows(400, 7, 30)))
    const bits = async (more: TrainOptions): Promise<bigint[]> => {
      const { model } = await trained(path, { cost: 1, bias: 1 }, more)
      return bitsOf([...toDense(model.weights, model.features, model.vectors), ...model.biasWeights])
    }
    const first = await bits({ threads: 1 })
    assert.deepEqual(await bits({ threads: 3 }), first)
    assert.deepEqual(await bits({}), first)
    assert.notDeepEqual(await bits({ seed: 2 }), first)
  })
})

/** A part of a data set, trained by both and tested on another part. */
async function compare(
  t: TestContext,
  name: 'dna.scale' | 'mnist' | 'news20bydate',
  o: Problem,
  step = 1,
  make: (row: Row) => Row = row => row,
): Promise<void> {
  const rows = rowsOfSet(name, k => k % step === 0).map(make)
  const testRows = rowsOfSet(`${name}.t`).map(make)
  const path = folder.write(`${name}.svm`, writeData(rows))
  const testPath = folder.write(`${name}.t.svm`, writeData(testRows))
  const result = await trained(path, o, { tolerance: 5e-5, maxPasses: 20_000 })
  assert.equal(result.exitReason, 'converged')
  assert.ok(result.gap <= 5e-5 && result.gap >= 0)
  close(objectiveOfModel(rows, result.model, o), result.primal, 1e-6)
  const own = (await predict(testPath, result.model)).accuracy
  if (noLiblinear) return t.diagnostic(noLiblinear)
  const theirs = peer(path, rows, o)
  close(result.primal, theirs.objective, 1e-4)
  assert.ok(result.dual <= theirs.objective * (1 + 1e-6), 'the dual is above what LIBLINEAR reaches')
  const accuracy = shareRight(testRows, peerLabels(testPath, theirs.model))
  assert.ok(Math.abs(own - accuracy) <= 0.002, `accuracy ${own}, LIBLINEAR has ${accuracy}`)
}

/** Pixels from 0 to 1. */
const brightness = (row: Row): Row => ({ ...row, values: row.values.map(x => x / 255) })

describe('data sets, against LIBLINEAR -s 4', () => {
  it('dna.scale', t => compare(t, 'dna.scale', { cost: 0.1 }))
  it('dna.scale, bias and class weights', t =>
    compare(t, 'dna.scale', { cost: 0.05, bias: 1, classWeights: { '1': 2, '3': 0.5 } }))
  it('mnist, every 20th row', t => compare(t, 'mnist', { cost: 0.1 }, 20, brightness))
  it('news20, every 4th row', t => compare(t, 'news20bydate', { cost: 1 }, 4, unitLength))

  it('two classes: the same objective, and a model that liblinear-predict reads the same', async t => {
    if (noLiblinear) return t.skip(noLiblinear)
    const rows = someRows(300, 2, 12).map(row => ({ ...row, label: row.label === 1 ? -1 : 1 }))
    const path = folder.write('two.svm', writeData(rows))
    const o = { cost: 0.7, bias: 1 }
    const result = await trained(path, o, { tolerance: 1e-6, maxPasses: 5000 })
    const theirs = peer(path, rows, o)
    close(result.primal, theirs.objective, 1e-4)
    assert.equal(result.model.vectors, 2)
    const converted = `${path}.converted`
    await writeAtomically(converted, writeLiblinear(result.model))
    assert.match(readFileSync(converted, 'utf8'), /^solver_type MCSVM_CS\nnr_class 2\n/)
    const labels = peerLabels(path, converted)
    close((await predict(path, result.model)).accuracy, shareRight(rows, labels), 1e-12)
    close((await predict(path, await loadModel(converted))).accuracy, shareRight(rows, labels), 1e-12)
    close(result.trainingAccuracy!, shareRight(rows, labels), 1e-12)
    // Ours and theirs may differ on rows that lie on the border.
    const differ = peerLabels(path, theirs.model).filter((label, k) => label !== labels[k]).length
    assert.ok(differ <= 3, `${differ} rows differ`)
  })

  it('-s 4 on the command line, saved, loaded and converted', async () => {
    folder.write('line.svm', writeData(someRows(90, 3, 9)))
    const cwd = folder.path
    const { stdout } = await good(['train', '-s', '4', '-c', '0.5', 'line.svm', 'line.model', '--json', '-q'], { cwd })
    const record = JSON.parse(stdout)
    assert.equal(record.exitReason, 'converged')
    const model = await loadModel(`${cwd}/line.model`)
    assert.equal(model.multiclass, 'crammer-singer')
    await saveModel(`${cwd}/again.model`, model)
    await good(['convert', 'line.model', 'line.liblinear', '--to', 'liblinear'], { cwd })
    assert.match(readFileSync(`${cwd}/line.liblinear`, 'utf8'), /^solver_type MCSVM_CS\nnr_class 3\nlabel 1 2 3\n/)
  })
})

describe('what does not go together', () => {
  const path = folder.write('refused.svm', writeData(someRows(30, 3, 6)))
  const refused = async (more: TrainOptions, message: RegExp): Promise<void> => {
    await assert.rejects(trained(path, { cost: 1 }, more), (error: Error) => {
      assert.ok(error instanceof UsageError, String(error))
      assert.match(error.message, message)
      return true
    })
  }
  it('is refused before anything is read', async () => {
    await refused({ loss: 'logistic' }, /the logistic loss is not compatible with multiclass crammer-singer/)
    await refused({ loss: 'squared-hinge' }, /the squared-hinge loss is not compatible with multiclass crammer-singer/)
    await refused({ solver: 'stream' }, /solver stream is not compatible with multiclass crammer-singer/)
    await refused({ solver: 'pegasos' }, /solver pegasos is not compatible with multiclass crammer-singer/)
    await refused({ weights: 'f32' }, /weights f32 are not compatible with multiclass crammer-singer/)
    assert.throws(
      () => train(path, { multiclass: 'one-vs-one' as never }),
      /multiclass is "one-vs-one"; expected one of/,
    )
  })
  it('one class', async () => {
    const one = folder.write('one.svm', '1 1:1\n1 2:1\n')
    await assert.rejects(trained(one, { cost: 1 }), /all 2 rows of .* have the label 1: there is nothing to tell apart/)
  })
  it('dual variables that do not fit', async () => {
    const many = folder.write('wide.svm', Array.from({ length: 4000 }, (_, k) => `${k} ${(k % 7) + 1}:1\n`).join(''))
    await assert.rejects(
      trained(many, { cost: 1 }, { memory: '200M' }),
      /4000 classes do not fit:[\s\S]*dual variables of 4000 rows × 4000 classes/,
    )
  })
})
