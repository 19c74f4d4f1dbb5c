// A model of a table behind HTTP: rows by the names of their columns and lines of CSV, with the answers of `predict` to the last bit.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { predict } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { csvOf, somePeople } from '../tables/some-people.ts'
import { complaint, folder, type Prediction, post, serving } from './serving.ts'

const people = somePeople(300)
const table = folder.write('people.csv', csvOf(people))
const trainings: Record<string, TrainOptions> = {
  lists: { label: 'bought' },
  hashed: { label: 'bought', categorical: ['zip', 'hash:10'], text: ['note'], values: 'f64' },
  unit: { label: 'bought', ignore: ['zip'], normalize: 'unit' },
}
const modelOf = (name: string): string => join(folder.path, `${name}.table.model`)

before(async () => {
  for (const [name, options] of Object.entries(trainings)) {
    const model = await train(table, { loss: 'logistic', bias: 1, threads: 1, ...options }).model
    await model.save(modelOf(name))
  }
})

/** What `predict --scores` prints. */
async function printed(name: string): Promise<string> {
  let text = ''
  const write = (bytes: Uint8Array): void => {
    text += Buffer.from(bytes)
  }
  await predict(table, modelOf(name), { threads: 1, scores: true, write })
  return text
}

const sendText = (url: string, type: string, body: string, what = 'scores'): Promise<Response> =>
  fetch(`${url}/predict?${what}`, { method: 'POST', headers: { 'content-type': type }, body })

describe('rows of a table in requests', () => {
  for (const name of Object.keys(trainings)) {
    it(`have the scores of predict, by name and as CSV: ${name}`, () =>
      serving(modelOf(name), async url => {
        const expected = await printed(name)
        const { predictions } = (await (await post(url, people)).json()) as { predictions: Prediction[] }
        assert.equal(predictions.map(({ label, scores }) => `${label} ${scores[0]}\n`).join(''), expected)
        const lines = people.map(row => JSON.stringify(row)).join('\n')
        const streamed = await (await post(url, lines, { 'content-type': 'application/x-ndjson' })).text()
        const answers = streamed.trimEnd().split('\n')
        assert.deepEqual(
          answers.map(line => JSON.parse(line)),
          predictions,
        )
        assert.equal(await (await sendText(url, 'text/csv', csvOf(people))).text(), expected)
      }))
  }

  it('have columns in any order, others between them, and any delimiter', () =>
    serving(modelOf('lists'), async url => {
      const expected = await printed('lists')
      const others = people.map(row => ({ extra: 'x,y', ...row }))
      const columns = ['note', 'extra', 'gain', 'age', 'zip', 'job, if any']
      assert.equal(await (await sendText(url, 'text/csv', csvOf(others, columns))).text(), expected)
      assert.equal(await (await sendText(url, 'text/csv; charset=utf-8', csvOf(others, columns, ';'))).text(), expected)
      assert.equal(await (await sendText(url, 'text/plain', csvOf(others, columns))).text(), expected)
      const tabs = csvOf(others, columns, '\t')
      assert.equal(await (await sendText(url, 'text/tab-separated-values', tabs)).text(), expected)
      assert.equal(await (await sendText(url, 'text/csv', `\ufeff${csvOf(people)}`)).text(), expected)
      // Without a header they stand in the order of the training.
      const body = csvOf(people).replace(/^.*\n/, '')
      assert.equal(await (await sendText(url, 'text/csv', body)).text(), expected)
    }))

  it('may be cut anywhere on their way, also within quotes', () =>
    serving(modelOf('lists'), async url => {
      const expected = await printed('lists')
      const body = Buffer.from(csvOf(people))
      for (const size of [997, 20_000]) {
        const request = httpRequest(`${url}/predict?scores`, {
          method: 'POST',
          headers: { 'content-type': 'text/csv' },
        })
        const answered = once(request, 'response')
        for (let at = 0; at < body.length; at += size) {
          request.write(body.subarray(at, at + size))
          // Each piece is sent on its own.
          await new Promise(resolve => setImmediate(resolve))
        }
        request.end()
        const [response] = (await answered) as [IncomingMessage]
        let text = ''
        for await (const piece of response) text += piece
        assert.equal(text, expected)
      }
    }))

  it('may have features by their names or numbers', () =>
    serving(modelOf('lists'), async url => {
      const named = { 'age is missing': 1, 'job, if any=clerk': 1, gain: 5.5 }
      const asked = await (await post(url, { features: named })).json()
      const row = { ...people[0], age: null, 'job, if any': 'clerk', gain: 5.5, zip: 'none', note: 'unheard of' }
      // The zip is a number, so it says something.
      const { zip: _, ...zipless } = row
      assert.deepEqual(asked, await (await post(url, { ...zipless, zip: 0 })).json())
      const numbered = (await (await post(url, { indices: [2], values: [1] })).json()) as Prediction
      assert.deepEqual(numbered, await (await post(url, { features: { 2: 1 } })).json())
      assert.equal(
        (await complaint(await post(url, { features: { agge: 1 } }))).error,
        'row 1: found the feature "agge", expected a feature\'s name as inspect shows it, or its number from 1 on',
      )
    }))

  it('are refused with a status as long as only the names of columns have been read', () =>
    serving(
      modelOf('lists'),
      async url => {
        // The names come with the beginning of a line that is too long.
        const response = await sendText(url, 'text/csv', `${csvOf([], Object.keys(people[0]))}1,${'x'.repeat(300_000)}`)
        const { status, error } = await complaint(response)
        assert.equal(status, 413)
        assert.match(error, /^a line is longer than 64\.0 KiB/)
      },
      { mostBytes: 1 << 16 },
    ))

  it('are refused in one sentence', () =>
    serving(modelOf('lists'), async url => {
      const { age: _, ...ageless } = people[0]
      const refused = async (response: Response): Promise<string> => {
        const { status, error } = await complaint(response)
        assert.equal(status, 400)
        return error
      }
      const columns = 'the columns "age", "job, if any", "gain", "zip", "note"'
      assert.equal(
        await refused(await post(url, [people[0], ageless])),
        `row 2: found no column "age", expected ${columns}; null stands for a cell that is missing`,
      )
      assert.equal(
        await refused(await post(url, { ...people[0], agge: 3 })),
        `row 1: found the column "agge", expected ${columns}`,
      )
      assert.equal(
        await refused(await post(url, { ...people[0], age: 'old' })),
        'row 1: found "old" in column "age", expected a finite number that 32 bits can hold',
      )
      assert.equal(
        await refused(await post(url, 3)),
        'row 1: found 3, expected a row: an object with a value for each column',
      )
      assert.equal(
        await refused(await sendText(url, 'text/csv', csvOf(people), 'probabilities')),
        'found the parameter "probabilities", expected scores or probability',
      )
      const noAge = csvOf(people, ['job, if any', 'gain', 'zip', 'note'])
      assert.equal(
        await refused(await sendText(url, 'text/csv', noAge)),
        'the body has no column "age"; its columns are "job, if any", "gain", "zip", "note"',
      )
      const bad = `${csvOf(people.slice(0, 2), ['age', 'gain', 'zip', 'note', 'job, if any'])}1,x,1,a,b\n`
      assert.match(
        await refused(await sendText(url, 'text/csv', bad)),
        /^line \d+, column 3: found "x" in column "gain", expected a number, as in the other rows$/,
      )
      assert.match(
        await refused(await sendText(url, 'text/csv', `${csvOf(people.slice(0, 1))}1,2\n`)),
        /found 2 columns/,
      )
    }))

  it('are described by OpenAPI', () =>
    serving(modelOf('hashed'), async url => {
      const api = (await (await fetch(`${url}/openapi.json`)).json()) as {
        paths: Record<string, { post: { requestBody: { content: Record<string, unknown> } } }>
        components: { schemas: { Row: { oneOf: { properties: Record<string, object>; required: string[] }[] } } }
      }
      const content = Object.keys(api.paths['/predict'].post.requestBody.content)
      assert.ok(content.includes('text/csv') && content.includes('text/tab-separated-values'))
      const [row] = api.components.schemas.Row.oneOf
      assert.deepEqual(Object.keys(row.properties), Object.keys(people[0]))
      assert.deepEqual(row.required, ['age', 'job, if any', 'gain', 'zip', 'note'])
    }))
})
