// docs/model-json.md: its Python is run and held against `predict`, and it names every field that a JSON model has.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { good, inFolder, run } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'

const page = readFileSync(new URL('../../docs/model-json.md', import.meta.url), 'utf8')
const [, python] = /```python\n([\s\S]*?)```/.exec(page)!

function writeData(cwd: string): void {
  writeFileSync(join(cwd, 'two.svm'), asText(someRows(300, 20)))
  writeFileSync(join(cwd, 'three.svm'), asText(someRows(300, 20, { classes: 3 })))
  const words = asText(someRows(300, 20, { classes: 4, seed: 3 })).replace(/^(\d)/gm, 'class-$1')
  writeFileSync(join(cwd, 'words.svm'), words)
}

describe('the Python of docs/model-json.md', {
  skip: spawnSync('python3', ['-V']).status !== 0 && 'no python3',
}, () => {
  it('has at most fifteen lines', () => {
    assert.ok(python.trim().split('\n').length <= 15)
  })

  for (const [data, ...options] of [
    ['two.svm'],
    ['two.svm', '--bias', '2', '--scale', 'standard', '--loss', 'logistic'],
    ['two.svm', '--normalize', 'unit', '--bias', '1'],
    ['three.svm', '--bias', '1', '--scale', 'minmax', '--normalize', 'unit'],
    ['words.svm', '--multiclass', 'crammer-singer', '--bias', '1'],
    ['words.svm', '--scale', 'standard', '--values', 'f64'],
    ['two.svm', '--scale', 'idf', '--normalize', 'unit'],
    ['three.svm', '--scale', 'log-odds', '--calibrate', 'sigmoid'],
  ]) {
    it(`scores as predict does: ${[data, ...options].join(' ')}`, () =>
      inFolder(async cwd => {
        writeData(cwd)
        writeFileSync(join(cwd, 'score.py'), python)
        await good(['train', data, 'm', '-q', ...options], { cwd })
        await good(['convert', 'm', 'model.json', '--to', 'json'], { cwd })
        const { stdout } = await good(['predict', data, 'm', '--scores', '-q'], { cwd })
        const theirs = spawnSync('python3', ['score.py', 'model.json', data], { cwd, encoding: 'utf8' })
        assert.deepEqual([theirs.status, theirs.stderr], [0, ''])
        const [ours, python3] = [stdout, theirs.stdout].map(text => text.trimEnd().split('\n'))
        assert.equal(ours.length, 300)
        assert.equal(python3.length, 300)
        for (const [k, line] of ours.entries()) {
          const [[label, ...scores], [other, ...others]] = [line.split(' '), python3[k].split(' ')]
          assert.equal(scores.length, others.length)
          for (const [v, score] of scores.entries()) assert.ok(Math.abs(Number(score) - Number(others[v])) < 1e-6, line)
          if (scores.every(score => Math.abs(Number(score)) > 1e-6)) assert.equal(other, label)
        }
      }))
  }
})

it('docs/model-json.md names every field', () =>
  inFolder(async cwd => {
    writeData(cwd)
    writeFileSync(join(cwd, 'strings.txt'), '1 ACGT\n-1 TTGA\n1 ACGA\n-1 TTTT\n')
    writeFileSync(join(cwd, 'shares.svm'), '1 1:0.5 2:3\n-1 1:0.1 3:0.4\n1 1:0.6\n-1 3:0.9\n')
    const [, fields] = page.split('## Fields')
    const documented = new Set([...fields.matchAll(/`(\w+)`/g)].map(([, name]) => name))
    const found = new Set<string>()
    // What stands inside these is by feature.
    const byFeature = ['scaleFactors', 'rangeFactors', 'rangeLowest', 'rangeHighest']
    const look = (what: unknown, within: string): void => {
      if (Array.isArray(what)) for (const each of what) look(each, within)
      else if (typeof what === 'object' && what !== null) {
        for (const [name, value] of Object.entries(what)) {
          found.add(name)
          if (!byFeature.includes(name) && !(within === 'weights' && name === 'weights')) look(value, name)
        }
      }
    }
    for (const words of [
      ['two.svm', '--bias', '1', '--scale', 'standard', '--calibrate', 'sigmoid', '--class-weight', '1=2'],
      ['three.svm', '--normalize', 'unit', '--calibrate', 'isotonic', '--values', 'f64'],
      ['two.svm', '--cost', '1000', '--max-passes', '1'],
      ['strings.txt', '--expand', 'weighted-degree:2'],
      ['shares.svm', '--kernel', 'intersection', '--scale', 'minmax'],
    ]) {
      const { stderr } = await run(['train', words[0], 'm', '-q', ...words.slice(1)], { cwd })
      const { stdout } = await good(['convert', 'm', '-', '--to', 'json'], { cwd })
      assert.ok(stdout.includes('spillway-model'), stderr)
      look(JSON.parse(stdout), '')
    }
    for (const name of ['shortfall', 'biasWeight', 'rangeLowest', 'slope', 'probabilities', 'inputFormat', 'values']) {
      assert.ok(found.has(name), `no model of the test has ${name}`)
    }
    assert.deepEqual(
      [...found].filter(name => !documented.has(name)),
      [],
    )
  }))
