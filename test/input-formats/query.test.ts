// The rows of a query: the model of a table with the same rows, what is asked for and refused, and what stays behind.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { SpillwayError } from '../../src/errors.ts'
import { runQuery } from '../../src/input-formats/run-query.ts'
import { predict } from '../../src/predict/predict.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { tune } from '../../src/train/tune.ts'
import type { CrossValidation } from '../../src/train/validation.ts'
import { good, run } from '../cli/run.ts'
import { testFolder } from './fixture.ts'
import { someTable, tableAsCsv } from './some-table.ts'

const folder = testFolder()
const csv = folder.write('t.csv', tableAsCsv(someTable(5000)))
// DuckDB would take yes and no for booleans.
const table = `read_csv('${csv}', header = true, types = {'bought': 'VARCHAR'})`
const store = `${folder.path}/q.spill`

const modelOf = async (data: string | { sql: string }, options: TrainOptions = {}) =>
  (await train(data, { label: 'bought', threads: 2, store, ...options }).result).model

const oneSentence = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SpillwayError, String((error as Error).stack))
  assert.match(error.message, pattern)
  assert.doesNotMatch(error.message, /\n/)
  return true
}

describe('a query', () => {
  it('gives the model of a file with its rows, in their order', async () => {
    const [a, b] = [await modelOf(csv), await modelOf({ sql: `SELECT * FROM ${table}` })]
    assert.deepEqual(b.schema, a.schema)
    assert.deepEqual(b.weights, a.weights)
    assert.equal(b.data?.rows, a.data?.rows)
  })

  it('is run once, and leaves no file', async () => {
    // Another draw in every run: two runs would have other values than were learnt.
    const { schema } = await modelOf({ sql: `SELECT bought, uuid() AS id, age FROM ${table} LIMIT 40` })
    const ids = schema?.columns.find(({ name }) => name === 'id')
    assert.equal(ids && 'values' in ids ? ids.values.length : 0, 40)
    assert.deepEqual(
      readdirSync(folder.path).filter(name => /spool/.test(name)),
      [],
    )
  })

  it('takes numbers of every kind, booleans, enumerations and missing cells', async () => {
    const sql = `SELECT age > 40 AS old, age::DECIMAL(9,2) AS exact, gain::FLOAT AS rough, age::HUGEINT AS huge,
      bought::ENUM('yes', 'no') AS kind, NULL AS none, bought FROM ${table}`
    const { schema } = await modelOf({ sql })
    assert.deepEqual(
      schema?.columns.map(({ role }) => role),
      ['number', 'number', 'number', 'number', 'category', 'number', 'label'],
    )
  })

  it('is predicted, and tested on', async () => {
    const model = await modelOf(csv)
    const rows = { sql: `SELECT town, gain, age, bought FROM ${table}` }
    assert.equal((await predict(rows, model)).accuracy, (await predict(csv, model, { format: 'csv' })).accuracy)
    await assert.rejects(predict({ sql: `SELECT town, bought FROM ${table}` }, model), /has no column "age", "gain"/)
  })

  it('is refused in one sentence where it cannot be run, or selects no rows', async () => {
    const settings = { memory: 256 << 20, threads: 1, temporary: `${folder.path}/tmp` }
    const wrong: [string, RegExp][] = [
      ['SELEC 1', /the query cannot be run: Parser Error: syntax error at or near "SELEC"/],
      ['SELECT * FROM nowhere', /the query cannot be run: Catalog Error: Table with name nowhere does not exist/],
      ["SELECT * FROM 'none.parquet'", /the query cannot be run: IO Error: No files found that match/],
      [`SELECT nothing FROM ${table}`, /the query cannot be run: Binder Error: .*"nothing" not found/],
      ["SELECT error('stop here') AS a, 1 AS bought FROM range(3)", /the query cannot be run: .*stop here/],
      ["SELECT error(repeat('long ', 9000)) AS a, 1 AS bought FROM range(3)", /^the query .{400,420}…$/],
      ['SELECT 1; SELECT 2', /the query has 2 statements; expected one/],
      ['', /the query has 0 statements; expected one/],
      [' -- nothing', /the query has 0 statements; expected one/],
      ['CREATE TABLE t (a INT)', /the query is a statement of the kind create; expected one that selects/],
      [`COPY (SELECT 1) TO '${folder.path}/out.csv'`, /of the kind copy/],
      ['SELECT ? AS a, 1 AS bought', /the query has 1 parameters/],
      [`SELECT [1, 2] AS list, bought FROM ${table}`, /gives LIST in column "list", expected numbers or texts/],
    ]
    for (const [sql, pattern] of wrong) {
      const read = async (): Promise<void> => {
        for await (const piece of runQuery(sql, settings)) assert.ok(piece.length > 0)
      }
      await assert.rejects(read(), oneSentence(pattern))
    }
  })

  it('is refused where it is no table, or cannot be trained on', async () => {
    const refused = (sql: string, pattern: RegExp, options: TrainOptions = {}) =>
      assert.rejects(modelOf({ sql }, options), oneSentence(pattern))
    await refused('SELEC 1', /the query cannot be run: Parser Error/)
    await refused(`SELECT age, gain FROM ${table}`, /label names the column "bought"; the columns are "age", "gain"/)
    await refused(`SELECT * FROM ${table}`, /format is csv, and the rows of a query have none/, { format: 'csv' })
    await refused(`SELECT * FROM ${table}`, /memory is .*; a query needs at least/, { memory: '210M' })
  })

  it('ends when it is told to', async () => {
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 300)
    const sql = 'SELECT a.range + b.range AS x, a.range % 2 AS bought FROM range(1000000) a, range(1000000) b'
    await assert.rejects(train({ sql }, { label: 'bought', store, signal: stop.signal }).result)
    assert.deepEqual(
      readdirSync(folder.path).filter(name => /spool/.test(name)),
      [],
    )
  })
})

describe('train --sql', () => {
  const cwd = folder.path
  it('trains, tests and says what it did; ingest and predict take queries too', async () => {
    const sql = `SELECT * FROM ${table}`
    const options = { cwd }
    const { stdout } = await good(['train', '--sql', sql, '--label', 'bought', '--test-sql', sql], options)
    assert.match(stdout, /the rows of the query: 5,000 rows/)
    assert.match(stdout, /test accuracy \d/)
    assert.ok(readdirSync(cwd).includes('query.model'))
    await good(['ingest', '--sql', sql, 'stored.spill', '--label', 'bought'], options)
    await good(['train', 'stored.spill', 'stored.model'], options)
    const predicted = await good(['predict', '--sql', sql, 'query.model', 'out.txt'], options)
    assert.match(predicted.stderr + predicted.stdout, /accuracy/)
    const wrong = await run(['train', '--sql', sql, 'a', 'b', '--label', 'bought'], options)
    assert.match(wrong.stderr, /--sql is the data, and 2 arguments were given besides/)
    assert.equal((await run(['train'], options)).status, 2)
  })
})

describe('tune and cross-validate of a query', () => {
  const cwd = folder.path
  const sql = `SELECT * FROM ${table}`
  const options = { label: 'bought', threads: 2, folds: 3, store }
  const figuresOf = ({ costs }: CrossValidation) =>
    costs.map(({ cost, accuracy, folds }) => ({ cost, accuracy, folds }))

  it('find what they find in a file with its rows, in memory and over blocks', async () => {
    const [a, b] = [`${cwd}/folds.spill`, `${cwd}/folds-sql.spill`]
    assert.deepEqual(figuresOf(await crossValidate({ sql }, options)), figuresOf(await crossValidate(csv, options)))
    const blocks = { ...options, solver: 'block', memory: '300M', costs: [0.1, 1] }
    const [found, expected] = [await tune({ sql }, { ...blocks, store: b }), await tune(csv, { ...blocks, store: a })]
    assert.deepEqual(figuresOf(found), figuresOf(expected))
    assert.deepEqual(found.final?.model.weights, expected.final?.model.weights)
    assert.deepEqual(
      readdirSync(cwd).filter(name => /spool/.test(name)),
      [],
    )
  })

  it('take the options of train, and test the model on another query', async () => {
    const folds = ['--label', 'bought', '--folds', '2', '--cost', '1', '-q']
    const tuned = await good(['tune', '--sql', sql, '--test-sql', `${sql} LIMIT 1000`, ...folds], { cwd })
    assert.match(tuned.stdout, /^the rows of the query: 5,000 rows/)
    assert.match(tuned.stdout, /model: query\.model, the best, C = 1\ntest accuracy \d+\.\d+ % on 1,000 rows\n$/)
    const words = ['tune', '--sql', sql, 'other.model', '--test', csv, '--evaluate', '--json', '--record', 'r.jsonl']
    const { test, model } = JSON.parse((await good([...words, ...folds], { cwd })).stdout)
    assert.equal(model, 'other.model')
    assert.equal(test.evaluation.accuracy, test.accuracy)
    const records = readFileSync(`${cwd}/r.jsonl`, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    assert.deepEqual(records[0].data, ['the rows of the query'])
    assert.ok(records.some(({ record, accuracy }) => record === 'test' && accuracy === test.accuracy))
    const validated = await good(['cross-validate', '--sql', sql, ...folds, '--json'], { cwd })
    assert.equal(JSON.parse(validated.stdout).rows, 5000)
  })

  it('are refused where the data is named twice, or there is no model to test', async () => {
    const wrong: [string[], RegExp][] = [
      [['cross-validate', '--sql', sql, csv], /--sql is the data, and an argument was given besides/],
      [['tune', '--sql', sql, csv, '--no-model'], /--sql is the data, and an argument was given besides/],
      [['tune', '--sql', sql, '--no-model', '--test', csv], /--no-model writes no model, and there is none to test/],
      [['tune', '--sql', sql, '--test', csv, '--test-sql', sql], /--test and --test-sql both name data to test on/],
    ]
    for (const [words, pattern] of wrong) {
      const { status, stderr } = await run(words, { cwd })
      assert.match(stderr, pattern)
      assert.equal(status, 2, words.join(' '))
    }
  })
})
