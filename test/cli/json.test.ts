// The lines that --json prints: programs depend on their fields.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { good, inFolder } from './run.ts'
import { asText, someRows } from './some-data.ts'

const data = asText(someRows(300, 20))
const nonzeros = (data.match(/:/g) ?? []).length

/** Runs a command and reads its one line. */
async function jsonOf(cwd: string, ...words: string[]): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await good([...words, '--json', '--quiet'], { cwd })
  assert.equal(stderr, '', '--quiet is silent')
  assert.match(stdout, /^\{.*\}\n$/, 'one line')
  return JSON.parse(stdout) as Record<string, unknown>
}

/** Every field with its type, in order. */
const shape = (value: Record<string, unknown>): string[] =>
  Object.entries(value).map(([name, field]) =>
    typeof field === 'object' && field !== null
      ? `${name}{${shape(field as Record<string, unknown>).join(' ')}}`
      : `${name}:${field === null ? 'null' : typeof field}`,
  )

const TRAIN_FIELDS = [
  'command:string',
  'solver:string',
  'loss:string',
  'cost:number',
  'rows:number',
  'features:number',
  'nonzeros:number',
  'classes:number',
  'passes:number',
  'primal:number',
  'dual:number',
  'gap:number',
  'supportVectors:number',
  'seconds{total:number read:number compute:number write:number}',
  'bytesRead:number',
  'peakMemoryBytes:number',
  'exitReason:string',
  'start:string',
  'solverReason:string',
  'badRows:number',
  'model:string',
]

interface TrainLine {
  primal: number
  dual: number
  gap: number
  passes: number
  supportVectors: number
  seconds: Record<'total' | 'read' | 'compute' | 'write', number>
  peakMemoryBytes: number
}

describe('--json', { concurrency: 3 }, () => {
  it('of train has exactly the documented fields', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), data)
      const line = await jsonOf(cwd, 'train', 'a.svm', 'a.model', '--cost', '0.5')
      assert.deepEqual(shape(line), TRAIN_FIELDS)
      const { command, loss, cost, rows, features, classes, exitReason, bytesRead, badRows, model } = line
      assert.deepEqual(
        { command, loss, cost, rows, features, classes, exitReason, bytesRead, badRows, model },
        {
          command: 'train',
          loss: 'hinge',
          cost: 0.5,
          rows: 300,
          features: 20,
          classes: 2,
          exitReason: 'converged',
          bytesRead: data.length,
          badRows: 0,
          model: 'a.model',
        },
      )
      assert.equal(line['nonzeros'], nonzeros)
      const { primal, dual, gap, passes, supportVectors, seconds, peakMemoryBytes } = line as unknown as TrainLine
      assert.ok(primal >= dual && dual > 0, `primal ${primal}, dual ${dual}`)
      assert.ok(Math.abs(gap - (primal - dual) / primal) < 1e-12 && gap <= 1e-3)
      assert.ok(Number.isInteger(passes) && passes >= 1)
      assert.ok(supportVectors > 0 && supportVectors <= 300)
      const { total, read, compute, write } = seconds
      for (const part of [total, read, compute, write]) assert.ok(part > 0)
      assert.ok(read + compute + write <= total, JSON.stringify(seconds))
      assert.ok(peakMemoryBytes > 20e6 && peakMemoryBytes < 2e9)
    }))

  it('of train with --test has the accuracy as a fraction', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), data)
      const line = await jsonOf(cwd, 'train', 'a.svm', 'a.model', '--test', 'a.svm')
      assert.deepEqual(shape(line), [...TRAIN_FIELDS, 'test{accuracy:number}'])
      const { accuracy } = line['test'] as { accuracy: number }
      assert.ok(accuracy > 0.7 && accuracy <= 1, String(accuracy))
      const predicted = await jsonOf(cwd, 'predict', 'a.svm', 'a.model')
      assert.equal(predicted['accuracy'], accuracy)
    }))

  it('of train on three classes sums its problems', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(300, 20, { classes: 3 })))
      const line = await jsonOf(cwd, 'train', 'a.svm', 'a.model')
      assert.deepEqual(shape(line), TRAIN_FIELDS)
      assert.equal(line['classes'], 3)
      const { primal, dual, gap } = line as unknown as TrainLine
      assert.ok(Math.abs(gap - (primal - dual) / primal) < 1e-12 && gap <= 1e-3)
      const model = await jsonOf(cwd, 'inspect', 'a.model')
      const certificates = model['classCertificates'] as { primal: number }[]
      assert.equal(certificates.length, 3)
      const sum = certificates.reduce((total, certificate) => total + certificate.primal, 0)
      assert.ok(Math.abs(sum - primal) < 1e-9 * primal)
    }))

  it('of inspect has the largest weights of every vector, by the numbers of the data', () =>
    inFolder(async cwd => {
      // Feature 5 alone tells the labels apart, and feature 2 is noise.
      const rows = Array.from(
        { length: 60 },
        (_, i) => `${i % 2 ? 7 : 3} 2:${((i * 37) % 11) / 11} 5:${i % 2 ? 1 : -1}`,
      )
      writeFileSync(join(cwd, 'a.svm'), `${rows.join('\n')}\n`)
      await good(['train', '-s', '6', 'a.svm', 'a.model', '-q'], { cwd })
      const line = await jsonOf(cwd, 'inspect', 'a.model', '--top', '3')
      assert.equal(line['regularizer'], 'l1')
      type Top = { label: string; against: string; nonzeroWeights: number; features: Record<string, unknown>[] }[]
      const [only, ...others] = line['top'] as Top
      assert.deepEqual(others, [])
      assert.deepEqual([only.label, only.against, only.nonzeroWeights], ['7', '3', line['nonzeroWeights']])
      const [{ feature, label, weight }] = only.features
      assert.deepEqual([feature, label, Number(weight) > 1], [5, '7', true])
      assert.deepEqual(line['topWeights'], only.features)

      writeFileSync(join(cwd, 'b.svm'), asText(someRows(300, 20, { classes: 3 })))
      await good(['train', 'b.svm', 'b.model', '-q'], { cwd })
      const top = (await jsonOf(cwd, 'inspect', 'b.model', '--top', '2'))['top'] as Top
      const labels = top.map(({ label, against, features }) => [label, against, features.length])
      assert.deepEqual(labels, [
        ['1', null, 2],
        ['2', null, 2],
        ['3', null, 2],
      ])
      // The whole model says the same.
      await good(['convert', 'b.model', 'b.json', '--to', 'json'], { cwd })
      const model = JSON.parse(readFileSync(join(cwd, 'b.json'), 'utf8')) as {
        weights: { label: string; weights: Record<string, number> }[]
      }
      top.forEach(({ label, features, nonzeroWeights }, k) => {
        const { label: its, weights } = model.weights[k]
        assert.equal(its, label)
        const sorted = Object.entries(weights).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
        assert.equal(sorted.length, nonzeroWeights)
        assert.deepEqual(
          features.map(({ feature, weight }) => [String(feature), weight]),
          sorted.slice(0, 2),
        )
      })
    }))

  it('of train says max-passes when that ended it, and counts bad rows', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), `${data}oops:\n`)
      const words = ['train', 'a.svm', 'a.model', '--max-passes', '2', '--tolerance', '1e-9', '--on-bad-row', 'skip']
      const { exitReason, passes, badRows, rows } = await jsonOf(cwd, ...words)
      assert.deepEqual(
        { exitReason, passes, badRows, rows },
        { exitReason: 'max-passes', passes: 2, badRows: 1, rows: 300 },
      )
    }))

  it('of predict, ingest, inspect and generate', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), data)
      await good(['train', 'a.svm', 'a.model', '-q'], { cwd })
      const predicted = await jsonOf(cwd, 'predict', 'a.svm', 'a.model', 'out.txt')
      assert.deepEqual(shape(predicted), [
        'command:string',
        'rows:number',
        'accuracy:number',
        'badRows:number',
        'bytesRead:number',
        'seconds:number',
        'out:string',
      ])
      assert.deepEqual([predicted['rows'], predicted['out']], [300, 'out.txt'])
      const stored = await jsonOf(cwd, 'ingest', 'a.svm', 'a.spill')
      const { rows, features, classes, badRows, bytesRead, store } = stored
      assert.deepEqual(
        { rows, features, classes, badRows, bytesRead, store },
        { rows: 300, features: 20, classes: 2, badRows: 0, bytesRead: data.length, store: 'a.spill' },
      )
      assert.equal(stored['nonzeros'], nonzeros)
      for (const [path, kind] of [
        ['a.svm', 'data'],
        ['a.spill', 'store'],
        ['a.model', 'model'],
      ]) {
        const { stdout } = await good(['inspect', path, '--json'], { cwd })
        const line = JSON.parse(stdout) as Record<string, unknown>
        assert.deepEqual([line['command'], line['kind'], line['features']], ['inspect', kind, 20])
      }
      const made = await jsonOf(cwd, 'generate', '--like', 'dna', '--rows', '7', 'x.svm')
      assert.deepEqual([made['command'], made['rows'], made['file']], ['generate', 7, 'x.svm'])
    }))
})
