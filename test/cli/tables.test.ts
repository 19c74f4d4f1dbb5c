// The commands on tables: what they say of columns, and of options that do not fit.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { assertPlainWords, good, inFolder, run } from './run.ts'

const rows = Array.from({ length: 60 }, (_, k) => {
  const town = ['Bonn', 'Ulm', 'Köln'][k % 3]
  return `${20 + ((k * 7) % 50)},${town},${k % 3 === 1 ? 'yes' : 'no'}`
})
const table = `age,town,bought\n${rows.join('\n')}\n`

const withTable = (use: (cwd: string) => Promise<void>): Promise<void> =>
  inFolder(async cwd => {
    writeFileSync(join(cwd, 'people.csv'), table)
    await use(cwd)
  })

describe('the commands on a table', () => {
  it('say what became of each column, and show features by name', () =>
    withTable(async cwd => {
      const { stdout } = await good(['train', 'people.csv', '--label', 'bought', '--test', 'people.csv', '-q'], { cwd })
      assert.match(
        stdout,
        /columns of the table:\n {2}age {5}a number\n {2}town {4}names: 3 features\n {2}bought {2}the label\n/,
      )
      assert.match(stdout, /test accuracy 100\.00 % on 60 rows/)
      const model = await good(['inspect', 'people.csv.model', '--top', '3'], { cwd })
      assert.match(model.stdout, /town=Ulm +[\d.]+ +yes/)
      const data = await good(['inspect', 'people.csv', '--label', 'bought'], { cwd })
      assert.match(data.stdout, /columns\n {2}age {5}a number\n/)
    }))

  it('explain scores by the names of features', () =>
    withTable(async cwd => {
      await good(['train', 'people.csv', 'm', '--label', 'bought', '-q'], { cwd })
      await good(['predict', 'people.csv', 'm', 'out.txt', '--explain', '1', '-q'], { cwd })
      const lines = readFileSync(join(cwd, 'out.txt'), 'utf8').split('\n')
      assert.equal(lines.length, 61)
      assert.match(lines[1], /^yes\t\+[\d.]+\t\+[\d.]+ town=Ulm\t[+-][\d.]+ all others$/)
    }))

  it('refuse a table for a model of other data, which knows no columns', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'people.csv'), table)
      writeFileSync(join(cwd, 'two.svm'), '+1 1:1\n-1 1:-1\n')
      await good(['train', 'two.svm', 'm', '-q'], { cwd })
      for (const more of [[], ['--format', 'csv'], ['--explain', '1']]) {
        const { status, stderr } = await run(['predict', 'people.csv', 'm', 'out.txt', '-q', ...more], { cwd })
        assert.equal(status, 2)
        assert.match(stderr, /people\.csv is a table, and the model was trained on LIBSVM text\n/)
      }
    }))

  it('take no name of data for that of a model, in whatever format', () =>
    withTable(async cwd => {
      for (const missing of ['more.csv', 'more.parquet', 'more.npz', 'more.vw', 'more.svm.gz']) {
        const { status, stderr } = await run(['train', 'people.csv', missing, '--label', 'bought', '-q'], { cwd })
        assertPlainWords(stderr)
        assert.match(stderr, new RegExp(`${missing}.*(not|no) `))
        assert.deepEqual([status, existsSync(join(cwd, missing))], [1, false], missing)
      }
    }))

  it('go through a store', () =>
    withTable(async cwd => {
      await good(['ingest', 'people.csv', 'p.spill', '--label', 'bought', '-q'], { cwd })
      const { stdout } = await good(['inspect', 'p.spill'], { cwd })
      assert.match(stdout, /columns\n {2}age {5}a number\n/)
      await good(['train', 'p.spill', 'm', '--test', 'people.csv', '-q'], { cwd })
      const { status, stderr } = await run(['train', 'p.spill', 'm', '--label', 'town'], { cwd })
      assert.equal(status, 2)
      assert.match(stderr, /the option label is for reading text, and this is a store/)
    }))

  it('read a table from a pipe, to train on and to predict', () =>
    withTable(async cwd => {
      await good(['train', 'people.csv', 'm', '--label', 'bought', '-q'], { cwd })
      const { stderr } = await good(['predict', '-', 'm', 'out.txt'], { cwd, stdin: table })
      assert.match(stderr, /accuracy 100\.00 % \(60 of 60 rows\)/)
      await good(['train', '-', 'n', '--format', 'csv', '--label', 'bought', '-q'], { cwd, stdin: table })
      const refused = await run(['train', '-', 'o', '--format', 'csv'], { cwd, stdin: table })
      assert.notEqual(refused.status, 0)
      assertPlainWords(refused.stderr)
      assert.match(refused.stderr, /which column is the label\?/)
    }))
})
