// The rows of a query: the model of a table with the same rows, what is asked for and refused, and what stays behind.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, it } from 'node:test'
import { SpillwayError } from '../../src/errors.ts'
import { runQuery } from '../../src/input-formats/run-query.ts'
import { predict } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
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
