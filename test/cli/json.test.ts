// The lines that --json prints: programs depend on their fields.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
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
