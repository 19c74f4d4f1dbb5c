// Against the real programs: liblinear-predict runs our models, we run liblinear-train's, and the labels agree.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { writeAtomically } from '../../src/files/atomic-file.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { writeLiblinear } from '../../src/model/liblinear-file.ts'
import { type Model, makeModel, predictLabel, scoreRow } from '../../src/model/model.ts'
import { noLiblinear } from '../train/liblinear.ts'

interface Row {
  label: string
  indices: number[]
  values: number[]
}

/** Rows that no weight vector separates; the same numbers every time. */
function someRows(labels: string[], rows: number, features: number): Row[] {
  let state = 12345
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  return Array.from({ length: rows }, (_, i) => {
    const indices = Array.from({ length: features }, (_, j) => j).filter(() => random() < 0.4)
    const values = indices.map(j =>
      Number((random() - 0.5 + (j % labels.length === i % labels.length ? 0.2 : 0)).toFixed(3)),
    )
    return { label: labels[i % labels.length], indices, values }
  })
}

const asText = (rows: Row[]): string =>
  rows
    .map(({ label, indices, values }) => `${label} ${indices.map((j, k) => `${j + 1}:${values[k]}`).join(' ')}\n`)
    .join('')

describe('LIBLINEAR itself', { skip: noLiblinear }, () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'spillway-model-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  const at = (name: string): string => join(folder, name)
  const theirLabels = (rows: Row[], modelPath: string): number[] => {
    writeFileSync(at('test.svm'), asText(rows))
    execFileSync('liblinear-predict', ['-q', at('test.svm'), modelPath, at('labels')])
    return readFileSync(at('labels'), 'utf8').trim().split('\n').map(Number)
  }
  const ourLabels = (rows: Row[], model: Model): number[] =>
    rows.map(({ indices, values }) => predictLabel(model, scoreRow(model, indices, values)).value!)

  for (const solver of [0, 1, 2, 3, 4, 5, 6, 7]) {
    for (const labels of [
      ['+1', '-1'],
      ['4', '-1', '2'],
    ]) {
      for (const bias of ['-1', '1', '2.5', '0']) {
        it(`-s ${solver} -B ${bias}, ${labels.length} classes`, async () => {
          const rows = someRows(labels, 120, 30)
          // More features than the model has: both sides pass over them.
          const unseen = someRows(labels, 200, 40)
          writeFileSync(at('train.svm'), asText(rows))
          execFileSync('liblinear-train', ['-q', '-s', `${solver}`, '-B', bias, at('train.svm'), at('theirs')])
          const model = await loadModel(at('theirs'))
          const expected = theirLabels(unseen, at('theirs'))
          assert.deepEqual(ourLabels(unseen, model), expected)

          await saveModel(at('ours'), model)
          await writeAtomically(at('again'), writeLiblinear(await loadModel(at('ours'))))
          assert.equal(readFileSync(at('again'), 'utf8'), readFileSync(at('theirs'), 'utf8'))
          assert.deepEqual(theirLabels(unseen, at('again')), expected)
        })
      }
    }
  }

  it('runs a model of ours: sparse, scaled, with a bias, for each loss', async () => {
    for (const loss of ['hinge', 'squared-hinge', 'logistic', 'ramp']) {
      for (const labels of [
        ['+1', '-1'],
        ['4', '-1', '2'],
      ]) {
        const vectors = labels.length === 2 ? 1 : 3
        const model = makeModel({
          labels: labels.map(text => ({ value: Number(text), text })),
          features: 40,
          weights: Float64Array.from({ length: 40 * vectors }, (_, k) => (k % 7 < 3 ? 0 : Math.sin(k))),
          bias: 1,
          biasWeights: Float64Array.from({ length: vectors }, (_, k) => 0.1 * Math.cos(k)),
          // Powers of two: folding them rounds nothing, so that even the scores are the same.
          transforms: { scale: { kind: 'minmax', factors: Float64Array.from({ length: 40 }, (_, j) => 2 ** (j % 5)) } },
          loss,
          solver: 'dual',
        })
        const rows = someRows(labels, 200, 45)
        await writeAtomically(at('ours'), writeLiblinear(model))
        assert.deepEqual(theirLabels(rows, at('ours')), ourLabels(rows, model))
      }
    }
  })

  it('agrees on a model of one class, and on two vectors for two classes', async () => {
    const rows = someRows(['5'], 30, 10)
    writeFileSync(at('train.svm'), asText(rows))
    execFileSync('liblinear-train', ['-q', at('train.svm'), at('theirs')])
    assert.deepEqual(ourLabels(rows, await loadModel(at('theirs'))), theirLabels(rows, at('theirs')))
    // By hand: the second vector is not the first one's opposite, and LIBLINEAR looks at the first alone.
    writeFileSync(at('theirs'), 'solver_type MCSVM_CS\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n1 3 \n-1 3 \n')
    const two = someRows(['+1', '-1'], 60, 2)
    assert.deepEqual(ourLabels(two, await loadModel(at('theirs'))), theirLabels(two, at('theirs')))
  })
})
