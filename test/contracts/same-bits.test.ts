// The same seed gives the same model, bit by bit, across versions of the program: over solvers, losses, rows in memory and in
// blocks, classes, kernels, expansions, scaling, bias and class weights. A change that means to change bits records them
// anew (SPILLWAY_RECORD=1) and says why.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { crossValidate, ingest, type Model, type TrainOptions, train, tune } from '../../src/index.ts'
import { encodeModel } from '../../src/model/own-file.ts'
import { asLibsvm, makeHistograms } from '../additive-kernels/histograms.ts'
import { fastFolder, memoryFor, threeClasses } from '../out-of-core/fixture.ts'
import { asStrings, motifStrings } from '../train/letters.ts'
import { noisyRows } from './small-problems.ts'

const recorded = new URL('../fixtures/same-bits.json', import.meta.url)
const folder = fastFolder().path

const texts: Record<string, string> = {
  two: `${noisyRows(600, 25, 7)}\n`,
  three: `${threeClasses(450, 5)}\n`,
  histograms: asLibsvm(makeHistograms({ rows: 300, features: 12, classes: 2, seed: 3 })),
  'three-histograms': asLibsvm(makeHistograms({ rows: 300, features: 10, classes: 3, seed: 4 })),
  letters: asStrings(motifStrings(300, 30, 6)),
}

type Data = keyof typeof texts

interface Case {
  name: string
  data: Data
  options: TrainOptions
  /** Train on a store of so many blocks, with memory for so many of them at a time, or without a limit. */
  blocks?: number
  together?: number
}

const losses = ['hinge', 'squared-hinge', 'logistic']
const common: TrainOptions = { seed: 1, threads: 1 }

function* cases(): Generator<Case> {
  const one = (name: string, data: Data, options: TrainOptions, blocks?: number, together?: number): Case => ({
    name: `${data} ${name}`,
    data,
    options: { ...common, ...options },
    ...(blocks !== undefined && { blocks }),
    ...(together !== undefined && { together }),
  })
  for (const loss of losses) {
    yield one(`dual ${loss}`, 'two', { loss, solver: 'dual', tolerance: 1e-5 })
    yield one(`dual ${loss} f32 weights`, 'two', { loss, solver: 'dual', weights: 'f32' })
    yield one(`dual ${loss} short`, 'two', { loss, solver: 'dual', tolerance: 1e-9, maxPasses: 3 })
    yield one(`dual ${loss} bias weights`, 'two', {
      loss,
      solver: 'dual',
      bias: 1,
      classWeights: { '+1': 3 },
      cost: 0.1,
    })
    yield one(`dual ${loss}`, 'three', { loss, solver: 'dual', tolerance: 1e-4 })
    yield one(`dual ${loss} bias scale`, 'three', { loss, solver: 'dual', bias: 2, scale: 'standard' })
    for (const solver of ['block', 'selective', 'stream']) {
      yield one(`${solver} ${loss}`, 'two', { loss, solver, tolerance: 1e-4 }, 6)
      yield one(`${solver} ${loss} little memory`, 'two', { loss, solver, tolerance: 1e-3, bias: 1 }, 8, 2)
      yield one(`${solver} ${loss}`, 'three', { loss, solver, tolerance: 1e-3, classWeights: { 1: 2 } }, 6)
    }
  }
  for (const scale of ['minmax', 'standard'] as const) {
    yield one(`dual ${scale}`, 'two', { solver: 'dual', scale })
    yield one(`dual ${scale} unit`, 'two', { solver: 'dual', scale, normalize: 'unit', values: 'f64' })
    yield one(`block ${scale}`, 'two', { solver: 'block', scale }, 5)
  }
  yield one('dual no shrinking', 'two', { solver: 'dual', shrinking: false })
  yield one('dual large cost', 'two', { solver: 'dual', cost: 100, maxPasses: 40 })
  yield one('block inner tolerance', 'two', { solver: 'block', innerTolerance: 0.1, blockOrder: 'fixed' }, 6)
  yield one('stream gradient tolerance', 'two', { solver: 'stream', gradientTolerance: 0.1 }, 6)
  yield one('pegasos', 'two', { solver: 'pegasos', maxPasses: 3 }, 4)
  yield one('pegasos by block', 'two', { solver: 'pegasos', batch: 'block', maxPasses: 3 }, 4)
  yield one('one-pass', 'two', { solver: 'one-pass', loss: 'squared-hinge' }, 4)
  for (const loss of ['squared-hinge', 'logistic']) yield one(`l1 ${loss}`, 'two', { regularizer: 'l1', loss, bias: 1 })
  yield one('crammer-singer', 'three', { solver: 'dual', multiclass: 'crammer-singer' })
  yield one('crammer-singer bias weights', 'three', {
    ...{ solver: 'dual', multiclass: 'crammer-singer' },
    ...{ bias: 1, classWeights: { 2: 3 } },
  })
  yield one('crammer-singer block', 'three', { solver: 'block', multiclass: 'crammer-singer', tolerance: 1e-2 }, 4)
  yield one('softmax newton', 'three', { solver: 'newton', multiclass: 'softmax', loss: 'logistic', tolerance: 1e-6 })
  for (const solver of ['newton', 'lbfgs']) {
    const softmax: TrainOptions = { solver, multiclass: 'softmax', loss: 'logistic', bias: 1, classWeights: { 2: 3 } }
    yield one(`softmax ${solver} bias weights`, 'three', softmax)
    yield one(`softmax ${solver} block`, 'three', { ...softmax, tolerance: 1e-4 }, 4)
    for (const loss of solver === 'newton' ? losses : ['squared-hinge', 'logistic']) {
      yield one(`${solver} ${loss}`, 'two', { loss, solver, tolerance: 1e-5, bias: 1, classWeights: { '+1': 3 } })
      yield one(`${solver} ${loss}`, 'three', { loss, solver, tolerance: 1e-5 })
      yield one(`${solver} ${loss} block`, 'three', { loss, solver, tolerance: 1e-4, bias: 1 }, 6)
    }
    yield one(`${solver} squared-hinge chi2`, 'three-histograms', { kernel: 'chi2', solver, loss: 'squared-hinge' })
  }
  yield one('calibrated', 'two', { solver: 'dual', calibrate: 'sigmoid' })
  yield one('calibrated', 'three', { solver: 'dual', calibrate: 'isotonic' })
  yield one('calibrated block', 'two', { solver: 'block', calibrate: 'sigmoid' }, 4)
  for (const kernel of ['chi2', 'intersection', 'jensen-shannon', 'power-mean:-4']) {
    yield one(`${kernel} dual`, 'histograms', { kernel, solver: 'dual' })
    yield one(`${kernel} block`, 'histograms', { kernel, solver: 'block' }, 4)
  }
  yield one('chi2 stream', 'histograms', { kernel: 'chi2', solver: 'stream', loss: 'logistic' }, 4)
  yield one('chi2', 'three-histograms', { kernel: 'chi2', solver: 'dual', bias: 1 })
  yield one('chi2 minmax', 'two', { kernel: 'chi2', scale: 'minmax', solver: 'dual' })
  yield one('chi2 polynomial', 'histograms', { kernel: 'chi2', approximation: 'polynomial', bins: 200 })
  yield one('weighted degree', 'letters', { expand: 'weighted-degree:3', solver: 'dual' })
  yield one('weighted degree block', 'letters', { expand: 'weighted-degree:3', solver: 'block' }, 4)
  yield one('plain', 'letters', { solver: 'dual' })
  yield one('polynomial', 'two', { expand: 'polynomial:2', solver: 'dual', normalize: 'unit' })
  yield one('polynomial hash', 'two', { expand: 'polynomial:2+hash:6', keepNames: true, solver: 'dual' })
  yield one('hash block', 'two', { expand: 'hash:4', solver: 'block' }, 4)
  yield one('chi2 map', 'histograms', { expand: 'chi2-map', solver: 'dual' })
}

const digest = (...parts: (string | Uint8Array)[]): string =>
  parts
    .reduce((hash, part) => hash.update(part), createHash('sha256'))
    .digest('hex')
    .slice(0, 16)

/** Of everything but the names of files and the program's version. */
function hashOf(model: Model): string {
  return digest(encodeModel({ ...model, createdBy: '', data: { ...model.data!, sources: [] } }))
}

const stores = new Map<string, string>()

async function placeOf({ data, blocks, options }: Case): Promise<string> {
  const text = join(folder, `${data}.txt`)
  writeFileSync(text, texts[data])
  if (blocks === undefined) return text
  const kept = options.values === 'f64' ? ' f64' : ''
  const key = `${data} ${blocks}${kept}`
  let store = stores.get(key)
  if (!store) {
    store = join(folder, `${stores.size}.spill`)
    await ingest(text, store, { blocks, threads: 1 })
    stores.set(key, store)
  }
  return store
}

async function trained(each: Case): Promise<string> {
  const place = await placeOf(each)
  const memory = each.together === undefined ? undefined : await memoryFor(place, each.together, each.options)
  const cold = each.blocks === undefined ? {} : { cold: true }
  const run = train(place, { ...each.options, ...cold, ...(memory !== undefined && { memory }) })
  return hashOf((await run.result).model)
}

async function folded(): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const place = (data: Data, blocks?: number): Promise<string> =>
    placeOf({ name: '', data, options: {}, ...(blocks !== undefined && { blocks }) })
  for (const data of ['two', 'three'] as const) {
    const inMemory = await crossValidate(await place(data), { ...common, folds: 3 })
    found[`${data} cross-validate`] = digest(JSON.stringify(inMemory.costs))
    const overBlocks = await crossValidate(await place(data, 4), { ...common, folds: 3, solver: 'block' })
    found[`${data} cross-validate block`] = digest(JSON.stringify(overBlocks.costs))
    for (const solver of ['newton', 'lbfgs']) {
      const options = { ...common, folds: 3, solver, loss: 'logistic', bias: 1 }
      const { costs } = await crossValidate(await place(data), options)
      found[`${data} cross-validate ${solver}`] = digest(JSON.stringify(costs))
      const { costs: over } = await crossValidate(await place(data, 4), { ...options, cold: true })
      found[`${data} cross-validate ${solver} block`] = digest(JSON.stringify(over))
    }
  }
  const { final, costs } = await tune(await place('two'), { ...common, folds: 3, costs: [0.1, 1] })
  found['two tune'] = digest(JSON.stringify(costs), hashOf(final!.model))
  return found
}

test('models are the same, bit by bit, as those of the last version', { timeout: 600_000 }, async () => {
  const found: Record<string, string> = {}
  for (const each of cases()) {
    assert.ok(!(each.name in found), `two cases are named ${each.name}`)
    found[each.name] = await trained(each)
  }
  Object.assign(found, await folded())
  if (process.env['SPILLWAY_RECORD']) writeFileSync(recorded, `${JSON.stringify(found, null, 1)}\n`)
  assert.ok(Object.keys(found).length >= 60)
  const expected = JSON.parse(readFileSync(recorded, 'utf8')) as Record<string, string>
  assert.deepEqual(found, expected)
})
