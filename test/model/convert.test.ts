import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseArguments } from '../../src/cli/command.ts'
import { convertCommand } from '../../src/cli/convert.ts'
import { helpPage } from '../../src/cli/help-page.ts'
import { describeModel, topWeights } from '../../src/cli/inspect-model.ts'
import { allModelFormats } from '../../src/model/all-model-formats.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { good, type Outcome } from '../cli/run.ts'
import { goldenModel, smallModel } from './some-models.ts'

describe('spillway convert', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'spillway-convert-'))
  })
  after(() => rmSync(folder, { recursive: true }))
  const at = (name: string): string => join(folder, name)
  const convert = (...words: string[]): Promise<Outcome> => good(['convert', ...words], { cwd: folder })
  const refused = (...words: string[]): Promise<number> =>
    convertCommand.run({ ...parseArguments(convertCommand, words), signal: new AbortController().signal })

  it('takes a LIBLINEAR model in and gives it back unchanged', async () => {
    const text = 'solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n0.5 \n-0.25 \n'
    writeFileSync(at('theirs'), text)
    const { stdout } = await convert(at('theirs'), at('ours'), '--to', 'spillway')
    assert.equal(stdout, `${at('theirs')} (liblinear) → ${at('ours')} (spillway)\n`)
    assert.equal((await loadModel(at('ours'))).loss, 'squared-hinge')
    await convert(at('ours'), at('again'), '--to', 'liblinear')
    assert.equal(readFileSync(at('again'), 'utf8'), text)
  })

  it('asks for --force where the reader has to normalise rows, and leaves no file before', async () => {
    await saveModel(at('unit'), smallModel({ transforms: { normalize: 'unit' } }))
    await assert.rejects(refused(at('unit'), at('unit.txt'), '--to', 'liblinear'), {
      name: 'SpillwayError',
      message: /rows of unit length/,
      advice: /add --force/,
    })
    assert.deepEqual(
      readdirSync(folder).filter(name => name.includes('unit')),
      ['unit'],
    )
    const { stderr } = await convert(at('unit'), at('unit.txt'), '--to', 'liblinear', '--force')
    assert.match(stderr, /^note: rows must be brought to unit length/)
  })

  it('offers the formats of the list', () => {
    const help = helpPage(convertCommand, '')
    for (const { name, summary } of allModelFormats) assert.ok(help.includes(name) && help.includes(summary))
    assert.throws(() => parseArguments(convertCommand, ['a', 'b', '--to', 'onyx']), /"onyx"; expected one of spillway/)
  })

  it('needs --to', async () => {
    await assert.rejects(refused('a', 'b'), { name: 'UsageError', message: /needs --to; expected one of/ })
  })

  it('writes JSON that holds everything, by the numbers of the user', () => {
    const json = JSON.parse(Buffer.concat([...writeJson(goldenModel())]).toString())
    assert.equal(json.format, 'spillway-model')
    assert.deepEqual(json.labels, goldenModel().labels)
    assert.deepEqual(json.certificate, goldenModel().certificate)
    assert.deepEqual(json.scaleFactors, { 40: 0.5 })
    assert.deepEqual(json.transforms, { scale: 'standard', normalize: 'unit' })
    assert.deepEqual(json.weights, [
      { label: '3', biasWeight: 0.5, weights: { 2: 0.1, 40: 1e-300, 99: -1 } },
      { label: '1.50', biasWeight: -0.5, weights: { 2: -0.2, 40: 5, 99: 2 } },
      { label: 'zwei', biasWeight: 0.25, weights: { 40: 7, 99: 0.3 } },
    ])
    const counted = JSON.parse(Buffer.concat([...writeJson(smallModel())]).toString())
    assert.deepEqual(counted.weights, [{ label: '+1', weights: { 1: 0.5, 2: -0.25, 4: 2 } }])
  })
})

describe('what inspect shows of a model', () => {
  it('lists what the model says, and its largest weights by the numbers of the user', () => {
    const { lines, json } = describeModel(smallModel(), 'my.model', { top: 2 })
    assert.deepEqual(lines, [
      'model        my.model',
      'labels       +1, -1 (a score above 0 means +1)',
      'features     4, counted from 1',
      'weights      3 nonzero of 4 (75.0 %), kept dense',
      'bias         none',
      'loss         hinge, l2 regularised, cost 1',
      'solver       dual, seed 1',
      'made by      spillway 0.1.0',
      'certificate  none',
      '',
      'Largest weights:',
      '  feature  weight  speaks for',
      '        4       2  +1',
      '        1     0.5  +1',
      '',
      'A weight is what a step of 1 in its feature adds to the score. To compare features of different scales, add --data FILE:',
      'it shows what a step of one standard deviation adds.',
    ])
    assert.equal(json['nonzeroWeights'], 3)
    assert.deepEqual(json['topWeights'], [
      { feature: 4, weight: 2, label: '+1' },
      { feature: 1, weight: 0.5, label: '+1' },
    ])
  })

  it('shows certificate, data and transforms, one certificate for each class', () => {
    const lines = describeModel(goldenModel(), 'g', { top: 1 }).lines.join('\n')
    assert.match(lines, /certificate {2}primal 10, dual 9\.999, gap 0\.0001, 12 passes, 40 support vectors, converged/)
    assert.match(lines, / {2}zwei +primal 3, 3 passes, max-passes/)
    assert.match(lines, /prepared +standard scaling, then rows of unit length/)
    assert.match(lines, /data +200 rows, 1,000 nonzeros; heart\.svm/)
    assert.match(lines, /fingerprint +44bc2cf5ad770999/)
    assert.match(
      lines,
      /nonzero weights of label zwei \(of scaled features\):\n +feature +weight +speaks\n +40 +7 +for it/,
    )
    const few = describeModel(goldenModel(), 'g').lines.join('\n')
    assert.match(few, /Largest weights \(of scaled features\):\n +feature +weight +label\n +40 +7 +zwei\n/)
  })

  it('sorts by size, and takes no more than asked', () => {
    const weights = Float64Array.from({ length: 500 }, (_, j) => Math.sin(j * 7))
    const model = smallModel({ features: 500, weights })
    const expected = [...weights.keys()].sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a])).slice(0, 50)
    assert.deepEqual(
      topWeights(model, 50).map(({ feature }) => feature - 1),
      expected,
    )
    assert.deepEqual(topWeights(model, 0), [])
  })
})
