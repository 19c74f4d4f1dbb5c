// Record files: what is written is read again; a killed run has its records; what is no record is refused with its line.
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { RecordFile, readLines, readRun } from '../../src/report/record-file.ts'
import { collectRecords, parseRecords, stageOf } from '../../src/report/records.ts'
import { Thinning } from '../../src/report/thinning.ts'
import type { Progress } from '../../src/train/progress.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { asText, evaluation, runLine, trainLine, wholeRun } from './some-run.ts'

const folder = testFolder()

describe('a record file', () => {
  it('is read as it was written, line by line', () => {
    const path = join(folder.path, 'run.jsonl')
    const lines = wholeRun(3)
    const file = new RecordFile(path)
    for (const [k, line] of lines.entries()) {
      file.write(line)
      assert.equal(readLines(path).length, k + 1, 'a line is there as soon as it is written')
    }
    file.close()
    assert.deepEqual(readLines(path), lines)
    assert.equal(readRun(path).name, 'run')
  })

  it('of a killed run lacks the line that was not finished, and the next run goes on behind the last whole one', () => {
    const path = join(folder.path, 'killed.jsonl')
    writeFileSync(path, asText([runLine(), trainLine(1)]))
    appendFileSync(path, '{"record":"progress","stage":"tr')
    assert.equal(readLines(path).length, 2)
    const file = new RecordFile(path, { append: true })
    file.write(runLine({ resumes: true }))
    file.close()
    assert.deepEqual(
      readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map(line => JSON.parse(line).record),
      ['run', 'progress', 'run'],
    )
  })

  const wrong: [string, string, RegExp][] = [
    [
      'no JSON',
      `${asText([runLine()])}what?\n`,
      /^a\.jsonl, line 2: a record is expected, and this is no JSON: "what\?"$/,
    ],
    [
      'no record',
      `${asText([runLine()])}[1]\n`,
      /^a\.jsonl, line 2: it has no "record", the kind of the line: "\[1\]"$/,
    ],
    ['nothing', '', /^a\.jsonl has no records$/],
    [
      'another beginning',
      asText([trainLine(1)]),
      /^a\.jsonl, line 1: a record "run" was expected, and it is "progress"$/,
    ],
    [
      'a field of another kind',
      asText([runLine(), { record: 'test', seconds: '1', accuracy: 1 }]),
      /^a\.jsonl, line 2: "seconds" of a record "test" is "1"; expected: a number$/,
    ],
    [
      'a later format',
      asText([runLine({ format: 2 })]),
      /^a\.jsonl, line 1: the records are of format 2; this version reads format 1$/,
    ],
  ]
  for (const [what, text, message] of wrong) {
    it(`with ${what} is refused`, () => {
      assert.throws(() => parseRecords(text, 'a.jsonl'), { name: 'SpillwayError', message })
    })
  }

  // What is changed in a record that is right, and what is said of it.
  const [planned, trained, relaxed] = ['plan', 'train', 'relax'].map(stage => ({
    record: 'progress',
    stage,
    seconds: 1,
  }))
  const huge = 'x'.repeat(1 << 20)
  const hostile: [object, string][] = [
    [runLine({ command: 7 as never }), '"command" of a record "run" is 7; expected: a text'],
    [runLine({ data: 'a.svm' as never }), '"data" of a record "run" is "a.svm"; expected: a list'],
    [runLine({ data: [null] as never }), '"data[0]" of a record "run" is null; expected: a text'],
    [runLine({ settings: [] as never }), '"settings" of a record "run" is a list of 0; expected: an object'],
    [
      runLine({ settings: { tolerance: '1e-3' } }),
      '"settings.tolerance" of a record "run" is "1e-3"; expected: a number',
    ],
    [runLine({ seed: huge as never }), `"seed" of a record "run" is "${huge.slice(0, 40)}…"; expected: a number`],
    [{ record: 'progress' }, '"stage" of a record "progress" is missing; expected: a text'],
    [{ ...planned, solver: 'dual' }, '"reason" of a record "progress" is missing; expected: a text'],
    [
      { ...planned, solver: 'dual', reason: '', memory: { parts: {}, allowed: 1 } },
      '"memory.parts" of a record "progress" is an object; expected: a list',
    ],
    [{ ...trained, seconds: [1] }, '"seconds" of a record "progress" is a list of 1; expected: a number'],
    [trainLine(1, { primal: 'NaN' }), '"primal" of a record "progress" is "NaN"; expected: a number or null'],
    [trainLine(1, { memoryBytes: null }), '"memoryBytes" of a record "progress" is null; expected: a number'],
    [trainLine(1, { certified: 'no' }), '"certified" of a record "progress" is "no"; expected: true or false'],
    [trainLine(1, { gap: {} }), '"gap" of a record "progress" is an object; expected: a number or null'],
    [trainLine(1, { rows: 7 }), '"rows" of a record "progress" is 7; expected: an object'],
    [
      trainLine(1, { blocks: { read: 1, bytesRead: 1, bytesSkipped: 1, inMemory: [0, 'a'] } }),
      '"blocks.inMemory[1]" of a record "progress" is "a"; expected: a number',
    ],
    [{ ...relaxed, relaxation: 1 }, '"gap" of a record "progress" is missing; expected: a number or null'],
    [
      { record: 'progress', stage: 'dream', seconds: 'x' },
      '"seconds" of a record "progress" is "x"; expected: a number',
    ],
    [
      { record: 'data', rows: 2, features: 1, labels: [{ label: 1, rows: 2 }] },
      '"labels[0].label" of a record "data" is 1; expected: a text',
    ],
    [
      { record: 'data', rows: 2, features: 1, labels: [], rowLengths: [{ from: 0, to: 1 }] },
      '"rowLengths[0].count" of a record "data" is missing; expected: a number',
    ],
    [{ ...evaluation, roc: [[0, 0, 0]] }, '"roc[0]" of a record "evaluation" is a list of 3; expected: a list of 2'],
    [{ ...evaluation, positive: 1 }, '"positive" of a record "evaluation" is 1; expected: a text or null'],
    [
      { ...evaluation, confusion: { labels: ['a', 'b'], counts: [[1, 2], [3]] } },
      '"confusion.counts[1]" of a record "evaluation" is a list of 1; expected: a list of 2, as there are labels',
    ],
    [
      { record: 'features', nonzero: 1, all: 1, features: {} },
      '"features" of a record "features" is an object; expected: a list',
    ],
    [
      { record: 'result', command: 'train', primal: '7' },
      '"primal" of a record "result" is "7"; expected: a number or null',
    ],
    [
      { record: 'result', command: 'train', seconds: { total: [] } },
      '"seconds.total" of a record "result" is a list of 0; expected: a number',
    ],
    [
      { record: 'result', command: 'tune', costs: [null] },
      '"costs[0]" of a record "result" is null; expected: an object',
    ],
  ]
  it('with fields of wrong types is refused: the line, the field, what it is and what it should be', () => {
    for (const [line, message] of hostile)
      assert.throws(() => parseRecords(asText([runLine(), line]), 'a.jsonl'), {
        name: 'SpillwayError',
        message: `a.jsonl, line 2: ${message}`,
      })
    const infinite = asText([runLine(), trainLine(1, { primal: 123 })]).replace(':123', ':1e999')
    const message = 'a.jsonl, line 2: "primal" of a record "progress" is Infinity; expected: a number or null'
    assert.throws(() => parseRecords(infinite, 'a.jsonl'), { message })
  })

  it('may have fields that come later, and numbers that were not finite', () => {
    const lines = [
      runLine({ later: [1] } as never),
      trainLine(1, { primal: Number.POSITIVE_INFINITY, later: 'x' }),
      { record: 'progress', stage: 'later', anything: {} },
    ]
    assert.equal(parseRecords(asText(lines), 'a.jsonl').length, 3)
  })

  it('may have records of kinds that come later', () => {
    assert.equal(parseRecords(asText([runLine(), { record: 'future', x: 1 }]), 'a').length, 1)
  })

  it('that is not there is told so', () => {
    assert.throws(() => readLines(join(folder.path, 'none.jsonl')), /cannot read .*none\.jsonl: there is no such file/)
  })
})

describe('the records of a run', () => {
  it('are sorted by kind', () => {
    const run = collectRecords(wholeRun(5), 'a')
    assert.equal(stageOf(run, 'train').length, 6)
    assert.equal(stageOf(run, 'plan').length, 2)
    assert.deepEqual([run.tests.length, run.data?.rows, run.evaluation?.rows, run.features?.all], [2, 1000, 100, 50])
    assert.equal(run.result?.['primal'], 100)
  })

  it('count their seconds on where the run was resumed', () => {
    const run = collectRecords([runLine(), trainLine(10), runLine({ resumes: true }), trainLine(5)], 'a')
    assert.deepEqual(
      stageOf(run, 'train').map(({ seconds }) => seconds),
      [2, 3.5],
    )
    assert.deepEqual(
      run.resumed.map(({ seconds }) => seconds),
      [2],
    )
  })
})

describe('thinning', () => {
  const record = (seconds: number, certified = false): Progress => ({
    ...{ stage: 'train', seconds, pass: seconds, primal: 1, gap: 1, certified, memoryBytes: 1 },
  })

  it('keeps some ten thousand records of a week, the first, the last and all certified ones among them', () => {
    const thinning = new Thinning()
    const kept: Progress[] = []
    const [week, step] = [7 * 24 * 3600, 0.5]
    let certified = 0
    for (let k = 1; k * step <= week; k++) {
      const isCertified = k % 100_000 === 1
      if (isCertified) certified++
      kept.push(...thinning.take(record(k * step, isCertified)))
    }
    kept.push(...thinning.end())
    assert.ok(kept.length < 10_000 && kept.length > 3000, `${kept.length} records`)
    const seconds = kept.map(one => (one as { seconds: number }).seconds)
    assert.deepEqual([seconds[0], seconds.at(-1)], [step, week])
    assert.equal(kept.filter(one => one.stage === 'train' && one.certified).length, certified)
  })

  it('leaves a short run whole', () => {
    const thinning = new Thinning()
    const records = Array.from({ length: 500 }, (_, k) => record(k / 100))
    assert.equal(records.flatMap(one => thinning.take(one)).length, 500)
  })
})
