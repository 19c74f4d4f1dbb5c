// `inspect MODEL --top N --data FILE`: what a step of one standard deviation does, so that features of any scale compare.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { TopOfVector, TopWeight } from '../../src/cli/inspect-model.ts'
import { loadModel } from '../../src/index.ts'
import { denseScaleFactors, denseWeights } from '../../src/model/model.ts'
import { f8 } from '../input-formats/numpy-files.ts'
import { good, inFolder, run } from './run.ts'
import { asText, type SomeRow, someRows } from './some-data.ts'

/** Feature 1 is a hundred times as large as the others, feature 2 is nearly always 1. */
const uneven = (rows: SomeRow[]): SomeRow[] =>
  rows.map(({ label, entries }, r) => ({
    label,
    entries: [
      ...(r % 50 === 0 ? [] : [[2, 1] as [number, number]]),
      ...entries.filter(([j]) => j !== 2).map(([j, v]): [number, number] => [j, j === 1 ? v * 100 : v]),
    ].sort(([a], [b]) => a - b),
  }))
const two = uneven(someRows(400, 12))
const three = uneven(someRows(400, 12, { classes: 3 }))

/** The plain definition: of all rows, as the model takes them. */
function deviations(rows: SomeRow[], factors?: Float64Array, unit = false, read = Math.fround): number[] {
  const columns = Array.from({ length: 12 }, () => new Float64Array(rows.length))
  for (const [r, { entries }] of rows.entries()) {
    const scaled = entries.map(([j, v]) => [j - 1, read(v) * (factors?.[j - 1] ?? 1)])
    const length = unit ? Math.hypot(...scaled.map(([, v]) => v)) || 1 : 1
    for (const [j, v] of scaled) columns[j][r] = v / length
  }
  return columns.map(column => {
    const mean = column.reduce((sum, x) => sum + x, 0) / rows.length
    return Math.sqrt(column.reduce((sum, x) => sum + (x - mean) ** 2, 0) / rows.length)
  })
}

interface Shown {
  deviations: 'data' | 'scaling' | null
  topWeights: TopWeight[]
  top: TopOfVector[]
}
const shown = async (words: string[], cwd: string): Promise<Shown> =>
  JSON.parse((await good(['inspect', ...words, '--json'], { cwd })).stdout)
const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b))

describe('inspect --top N --data FILE', { concurrency: 2 }, () => {
  for (const [rows, ...options] of [
    [two],
    [two, '--scale', 'minmax', '--bias', '1'],
    [two, '--normalize', 'unit'],
    [two, '--scale', 'standard', '--normalize', 'unit'],
    [three],
    [three, '--scale', 'standard', '--values', 'f64'],
  ] as [SomeRow[], ...string[]][]) {
    const name = `${rows === two ? 'two' : 'three'} classes ${options.join(' ')}`
    it(`tells weight × deviation, the largest first: ${name}`, () =>
      inFolder(async cwd => {
        writeFileSync(join(cwd, 'a.svm'), asText(rows))
        await good(['train', 'a.svm', 'm', '-q', ...options], { cwd })
        const exact = options.includes('f64') ? ['--values', 'f64'] : []
        await good(['ingest', 'a.svm', 'a.spill', '--blocks', '3', '-q', ...exact], { cwd })
        const model = await loadModel(join(cwd, 'm'))
        const weights = denseWeights(model)
        const unit = options.includes('unit')
        const spread = deviations(rows, denseScaleFactors(model), unit, exact.length > 0 ? Number : Math.fround)
        for (const data of ['a.svm', 'a.spill']) {
          const { top, topWeights, deviations: from } = await shown(['m', '--top', '12', '--data', data], cwd)
          assert.equal(from, 'data')
          for (const [k, { features }] of top.entries()) {
            assert.equal(features.length, 12)
            for (const [n, { feature, weight, deviation, step }] of features.entries()) {
              assert.equal(weight, weights[(feature - 1) * model.vectors + k])
              assert.ok(near(deviation!, spread[feature - 1]), `${deviation} and ${spread[feature - 1]} of ${feature}`)
              assert.equal(step, weight * deviation!)
              if (n > 0) assert.ok(Math.abs(step) <= Math.abs(features[n - 1].step!))
            }
          }
          assert.equal(
            Math.abs(topWeights[0].step!),
            Math.max(...top.map(({ features: [first] }) => Math.abs(first.step!))),
          )
        }
      }))
  }

  it('shows the steps as text, and the features that they are largest of', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(two))
      await good(['train', 'a.svm', 'm', '-q', '--bias', '1'], { cwd })
      const { stdout } = await good(['inspect', 'm', '--top', '3', '--data', 'a.svm', '-q'], { cwd })
      assert.match(
        stdout,
        /\nLargest steps:\n +feature +weight +deviation +step +speaks for\n( +\d+( +-?[\d.e-]+){3} +-?1\n){3}/,
      )
      assert.match(
        stdout,
        /\nA step is what one standard deviation more of its feature adds to the score\. Steps .* can be compared\.\n$/,
      )
      // By its weight the feature with the large values is the last one.
      const byWeight = await shown(['m', '--top', '12'], cwd)
      assert.equal(byWeight.topWeights[11].feature, 1)
      const bySteps = await shown(['m', '--top', '12', '--data', 'a.svm'], cwd)
      assert.ok(bySteps.topWeights.findIndex(({ feature }) => feature === 1) < 11)
    }))

  it('says without data what a weight means, and names the option', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(two))
      await good(['train', 'a.svm', 'm', '-q'], { cwd })
      const plain = (await good(['inspect', 'm', '--top', '3'], { cwd })).stdout
      assert.match(
        plain,
        /\nA weight is what a step of 1 in its feature adds to the score\. .* add --data FILE:\nit shows /,
      )
      const none = await shown(['m', '--top', '3'], cwd)
      assert.equal(none.deviations, null)
      assert.ok(none.topWeights.every(weight => !('step' in weight)))
      await good(['train', 'a.svm', 's', '-q', '--scale', 'standard'], { cwd })
      const scaled = (await good(['inspect', 's', '--top', '3'], { cwd })).stdout
      assert.match(
        scaled,
        /\nFeatures are scaled to a standard deviation of 1: weights of different features can be compared\.\n$/,
      )
      const { topWeights, deviations: from } = await shown(['s', '--top', '3'], cwd)
      assert.equal(from, 'scaling')
      assert.ok(topWeights.every(({ weight, deviation, step }) => deviation === 1 && step === weight))
    }))

  it('looks at few features among many', () =>
    inFolder(async cwd => {
      const far = two.map(({ label, entries }) => ({
        label,
        entries: entries.map(([j, v]): [number, number] => [j * 1_000_000, v]),
      }))
      writeFileSync(join(cwd, 'a.svm'), asText(far))
      await good(['train', 'a.svm', 'm', '-q'], { cwd })
      const spread = deviations(two)
      const { topWeights } = await shown(['m', '--top', '12', '--data', 'a.svm'], cwd)
      assert.equal(topWeights.length, 12)
      for (const { feature, deviation } of topWeights) assert.ok(near(deviation!, spread[feature / 1_000_000 - 1]))
    }))

  it('takes labels that are in a file of their own', () =>
    inFolder(async cwd => {
      const values = two.flatMap(({ entries }) => [1, 2, 3].map(j => entries.find(([k]) => k === j)?.[1] ?? 0))
      writeFileSync(join(cwd, 'x.npy'), f8(values, [two.length, 3]))
      writeFileSync(join(cwd, 'y.npy'), f8(two.map(({ label }) => label)))
      await good(['train', 'x.npy', 'm', '-q', '--labels', 'y.npy'], { cwd })
      const spread = deviations(two)
      const { topWeights } = await shown(['m', '--data', 'x.npy', '--labels', 'y.npy'], cwd)
      assert.equal(topWeights.length, 3)
      for (const { feature, deviation } of topWeights) assert.ok(near(deviation!, spread[feature - 1]), `${feature}`)
      const data = JSON.parse((await good(['inspect', 'x.npy', '--labels', 'y.npy', '--json'], { cwd })).stdout)
      assert.deepEqual([data.features, data.labels.length], [3, 2])
      await good(['ingest', 'x.npy', 'x.spill', '--labels', 'y.npy', '-q'], { cwd })
      for (const [words, message] of [
        [['m', '--labels', 'y.npy'], /--labels is for a file of data, and this is a model/],
        [['x.spill', '--labels', 'y.npy'], /--labels is for a file of data, and this is a store/],
        [['m', '--data', 'x.spill', '--labels', 'y.npy'], /--labels is for arrays, and --data names a store/],
      ] as [string[], RegExp][]) {
        const { status, stderr } = await run(['inspect', ...words], { cwd })
        assert.deepEqual([status, message.test(stderr)], [2, true], stderr)
      }
    }))

  it('refuses what it would ignore or cannot do', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(two))
      await good(['train', 'a.svm', 'm', '-q'], { cwd })
      await good(['train', 'a.svm', 'p', '-q', '--expand', 'polynomial:2'], { cwd })
      for (const [words, message] of [
        [['a.svm', '--data', 'a.svm'], /--data is for a model, and this is a file of data/],
        [['m', '--index-base', '1'], /--index-base is for a file of data, and this is a model/],
        [['p', '--data', 'a.svm'], /this model's are made by polynomial:2/],
        [['m', '--data', 'm'], /m is a model; data was expected/],
        [['m', '--data', 'gone.svm'], /gone\.svm/],
      ] as [string[], RegExp][]) {
        const { status, stdout, stderr } = await run(['inspect', ...words], { cwd })
        assert.deepEqual([status === 0, stdout], [false, ''])
        assert.match(stderr, message)
      }
      writeFileSync(join(cwd, 'bad.svm'), `${asText(two)}1 1:x\n`)
      const skipped = ['m', '--data', 'bad.svm', '--on-bad-row', 'skip']
      assert.deepEqual((await shown(skipped, cwd)).topWeights, (await shown(['m', '--data', 'a.svm'], cwd)).topWeights)
    }))
})
