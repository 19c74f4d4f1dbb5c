// Records are read while they are written: whole lines, each once, with its number.
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { accountOf, lastProgress, RecordReader } from '../../src/studio/records.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { events, inStudio, newFolder } from './studio.ts'

const folder = testFolder()

async function linesOf(reader: RecordReader): Promise<string[]> {
  const found: string[] = []
  for await (const lines of reader.read()) for (const { number, text } of lines) found.push(`${number} ${text}`)
  return found
}

describe('the reader of records', () => {
  it('waits for the end of a line, and forgets half a line that is taken away', async () => {
    const path = join(folder.path, 'grows.jsonl')
    const reader = new RecordReader(path, 10)
    assert.deepEqual(await linesOf(reader), [], 'there is no file yet')
    writeFileSync(path, '{"a":1}\n{"b"')
    assert.deepEqual(await linesOf(reader), ['11 {"a":1}'])
    truncateSync(path, readFileSync(path, 'utf8').lastIndexOf('\n') + 1)
    appendFileSync(path, '{"c":3}\n{"d":')
    assert.deepEqual(await linesOf(reader), ['12 {"c":3}'])
    appendFileSync(path, '"ü"}\n')
    assert.deepEqual(await linesOf(reader), ['13 {"d":"ü"}'])
    assert.deepEqual(await linesOf(reader), [])
    assert.equal(reader.lines, 3)
  })

  it('reads long lines and many of them', async () => {
    const lines = Array.from({ length: 3000 }, (_, k) =>
      JSON.stringify({ k, text: 'x'.repeat(k === 7 ? 900_000 : 300) }),
    )
    const path = folder.write('long.jsonl', `${lines.join('\n')}\n`)
    assert.deepEqual(
      await linesOf(new RecordReader(path)),
      lines.map((line, k) => `${k + 1} ${line}`),
    )
  })

  it('knows what the studio needs of them, whatever else there is', async () => {
    const records = [
      { record: 'run' },
      { record: 'progress', stage: 'plan', blocks: { count: 2 } },
      'no JSON',
      'null',
      { record: 'progress', stage: 'train', pass: 3 },
      { record: 'result' },
    ]
    const text = records.map(record => (typeof record === 'string' ? record : JSON.stringify(record))).join('\n')
    const path = folder.write('some.jsonl', `${text}\n`)
    const { last, overBlocks, lines } = await accountOf(path)
    assert.deepEqual([last, overBlocks, lines], [records[4], true, 6])
    assert.deepEqual(await lastProgress(path), records[4])
    assert.equal(await lastProgress(join(folder.path, 'none.jsonl')), undefined)
    // A link is not followed.
    symlinkSync(path, join(folder.path, 'link.jsonl'))
    assert.equal((await accountOf(join(folder.path, 'link.jsonl'))).lines, 0)
  })
})

describe('the events of a run', () => {
  it('replay ten thousand records, in order and from any on', async () => {
    const at = newFolder()
    const run = join(at, '.spillway', 'runs', 'long1')
    mkdirSync(run, { recursive: true })
    const facts = { id: 'long1', name: 'x', data: 'a.svm', command: '', options: {}, queuedAt: '', state: 'done' }
    writeFileSync(join(run, 'run.json'), JSON.stringify(facts))
    const lines = Array.from({ length: 10_000 }, (_, k) =>
      JSON.stringify({ record: 'progress', stage: 'train', pass: k, text: 'x'.repeat(200) }),
    )
    writeFileSync(join(run, 'records.jsonl'), `${lines.join('\n')}\n`)
    await inStudio(
      async studio => {
        for (const from of [undefined, 9_990]) {
          const found: unknown[] = []
          for await (const { event, id, data } of events(studio, '/api/runs/long1/events', from)) {
            if (event !== 'record') continue
            assert.equal(data['pass'], id! - 1)
            found.push(id)
          }
          assert.deepEqual([found.length, found.at(-1)], [10_000 - (from ?? 0), 10_000])
        }
      },
      {},
      at,
    )
  })
})
