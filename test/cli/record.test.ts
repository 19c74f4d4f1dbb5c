// --record, --report, report and compare, as a user types them: records of every command, of a killed run and of a resumed one.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readLines } from '../../src/report/record-file.ts'
import { collectRecords, type RunRecords, stageOf } from '../../src/report/records.ts'
import { dataSet } from '../data-sets/data-sets.ts'
import { good, inFolder, run, start } from './run.ts'
import { asText, someRows } from './some-data.ts'

const recordsIn = (cwd: string, name = 'run.jsonl'): RunRecords => collectRecords(readLines(join(cwd, name)), name)

const written = (cwd: string): void => {
  writeFileSync(join(cwd, 'a.svm'), asText(someRows(400, 10)))
  writeFileSync(join(cwd, 'a.t.svm'), asText(someRows(100, 10)))
}

describe('a recorded run', { concurrency: 2 }, () => {
  it('of train has command, settings, progress, data, test, curves, features and result', () =>
    inFolder(async cwd => {
      written(cwd)
      const words = ['train', 'a.svm', '--loss', 'logistic', '--test', 'a.t.svm', '--record', 'run.jsonl', '--json']
      const { stdout } = await good(words, { cwd })
      const told = recordsIn(cwd)
      assert.equal(told.run.command, `spillway ${words.join(' ')}`)
      assert.deepEqual([told.run.verb, told.run.seed, told.run.data], ['train', 1, ['a.svm']])
      assert.equal(told.run.settings['loss'], 'logistic')
      assert.equal(told.run.settings['tolerance'], 1e-3)
      const json = JSON.parse(stdout)
      assert.deepEqual(told.result, { record: 'result', ...json }, 'the result is what --json prints')
      assert.equal(json.test.evaluation, undefined, 'which has no more than was asked for')
      const last = stageOf(told, 'train').at(-1)!
      assert.deepEqual([last.certified, last.primal, last.gap], [true, json.primal, json.gap])
      assert.equal(
        told.data!.labels.reduce((sum, { rows }) => sum + rows, 0),
        400,
      )
      assert.equal(
        told.data!.rowLengths!.reduce((sum, { count }) => sum + count, 0),
        400,
      )
      assert.equal(told.tests.at(-1)!.accuracy, json.test.accuracy)
      assert.ok(told.evaluation!.roc!.length > 2 && told.evaluation!.calibration!.length > 0)
      assert.ok(told.features!.features.length > 0)
    }))

  it('counts lengths and values of rows of every format, each row once', () =>
    inFolder(async cwd => {
      // More than one piece of text is looked at, and the pieces are not as long as the text.
      const rows = someRows(9000, 10, { density: 0.8 })
      const pairs = (of: (feature: number, value: number) => string): string =>
        rows.map(({ label, entries }) => `${label} ${entries.map(([k, v]) => of(k, v)).join(' ')}`).join('\n')
      writeFileSync(
        join(cwd, 'rows.svm'),
        pairs((k, v) => `${k}:${v}`),
      )
      writeFileSync(
        join(cwd, 'rows.vw'),
        pairs((k, v) => `|n f${k}:${v}`),
      )
      writeFileSync(
        join(cwd, 'rows.csv'),
        rows
          .map(({ label, entries }) =>
            [label, ...entries.slice(0, 4).map(([, v]) => v || 1), 1, 1, 1, 1].slice(0, 5).join(','),
          )
          .join('\n'),
      )
      for (const [name, ...words] of [['rows.svm'], ['rows.vw'], ['rows.csv', '--label', '1', '--header', 'no']]) {
        await good(['train', name, 'm', '--record', 'run.jsonl', ...words], { cwd })
        const { data } = recordsIn(cwd)
        assert.ok(data?.rowLengths && data.values, name)
        const seen = data.rowLengths.reduce((sum, { count }) => sum + count, 0)
        assert.equal(seen, data.sampledRows ?? data.rows, name)
        // A line that the border of two pieces cuts is in neither.
        assert.ok(seen <= 9000 && seen >= 8990, `${name}: ${seen} rows`)
      }
    }))

  it('has rows and values from all over data that is not looked at as a whole', () =>
    inFolder(async cwd => {
      // Sorted by value: the beginning tells nothing of the rest.
      const rows = 120_000
      const line = (k: number): string => `${k % 2 === 0 ? 1 : -1} 1:${k + 1} 2:${k + 1} 3:${k + 1} 4:1`
      writeFileSync(join(cwd, 'sorted.svm'), Array.from({ length: rows }, (_, k) => line(k)).join('\n'))
      await good(['train', 'sorted.svm', 'm', '--max-passes', '1', '--record', 'run.jsonl'], { cwd })
      const { sampledRows, values } = recordsIn(cwd).data!
      assert.ok(sampledRows! >= 50_000 && sampledRows! < rows, `${sampledRows} rows`)
      assert.ok(values!.largest > 0.6 * rows, `the largest value is ${values!.largest}`)
      const counted = values!.bins.reduce((sum, { count }) => sum + count, 0)
      const large = values!.bins.filter(({ from }) => from > rows / 2).reduce((sum, { count }) => sum + count, 0)
      assert.ok(large > 0.2 * counted, `${large} of ${counted} values are of the second half`)
    }))

  it('has the model of a run that is not recorded', () =>
    inFolder(async cwd => {
      written(cwd)
      await good(['train', 'a.svm', 'plain.model'], { cwd })
      await good(['train', 'a.svm', 'told.model', '--record', 'run.jsonl', '--report', 'run.html'], { cwd })
      assert.deepEqual(readFileSync(join(cwd, 'told.model')), readFileSync(join(cwd, 'plain.model')))
    }))

  for (const [place, words] of [
    ['in memory', ['--solver', 'dual']],
    ['over blocks', ['--solver', 'block', '--store', 'a.spill', '--cold', '--memory', '400M']],
  ] as const) {
    it(`with --test has the accuracy of models on the way ${place}`, { timeout: 120_000 }, () =>
      inFolder(async cwd => {
        const line = [
          'train',
          dataSet('a9a', 8000).path,
          '--max-passes',
          '20',
          '--tolerance',
          '1e-6',
          '--json',
          ...words,
        ]
        await good([...line, '--model', 'plain.model'], { cwd })
        const test = ['--test', dataSet('a9a.t', 2000).path, '--record', 'run.jsonl', '--report', 'run.html']
        const { stdout } = await good([...line, ...test, '--model', 'told.model'], { cwd })
        assert.deepEqual(readFileSync(join(cwd, 'told.model')), readFileSync(join(cwd, 'plain.model')))
        const json = JSON.parse(stdout)
        const { tests } = recordsIn(cwd)
        assert.ok(tests.length >= 2, 'after the first pass, and at the end')
        for (const field of ['seconds', 'pass'] as const) {
          const values = tests.map(one => one[field]!)
          assert.deepEqual(
            values,
            [...new Set(values)].sort((a, b) => a - b),
            `${field} rises`,
          )
        }
        const last = tests[tests.length - 1]
        assert.deepEqual([last.accuracy, last.pass], [json.test.accuracy, json.passes])
        assert.ok(
          tests[0].accuracy <= last.accuracy + 0.01 && tests[0].accuracy > 0.7,
          'it rises from the first pass on',
        )
        const took = tests.slice(0, -1).reduce((sum, one) => sum + one.took!, 0)
        assert.ok(Math.abs(json.seconds.tests - took) < 1e-6, 'the result names what the tests took')
      }),
    )
  }

  it('over blocks tells rows, blocks, time and memory', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'b.svm'), asText(someRows(3000, 30)))
      await good(['ingest', 'b.svm', 'b.spill', '--blocks', '4'], { cwd })
      await good(['train', 'b.spill', '--solver', 'stream', '--memory', '180M', '--record', 'run.jsonl'], { cwd })
      const told = recordsIn(cwd)
      const [rows] = stageOf(told, 'rows')
      assert.deepEqual([rows.rows, rows.blocks?.length], [3000, 4])
      const last = stageOf(told, 'train').at(-1)!
      assert.ok(last.time && last.time.read > 0 && last.blocks && last.blocks.inMemory!.length > 0 && last.rows)
      assert.equal(last.rows.kept + last.rows.left, 3000)
      assert.equal(told.run.settings['memory'], 180 * 2 ** 20)
      assert.ok(told.data!.rowLengths, 'a store is looked into, too')
    }))

  for (const [verb, words, has] of [
    ['tune', ['a.svm', '--cost', '0.1,1,10', '--folds', '3'], 'costs'],
    ['cross-validate', ['a.svm', '--folds', '3'], 'perFold'],
  ] as const) {
    it(`of ${verb} has its figures`, () =>
      inFolder(async cwd => {
        written(cwd)
        await good([verb, ...words, '--record', 'run.jsonl', '--report', 'run.html'], { cwd })
        const told = recordsIn(cwd)
        assert.equal(told.run.verb, verb)
        assert.equal((told.result![has] as object[]).length, 3)
        assert.equal(
          told.data!.labels.reduce((sum, label) => sum + label.rows, 0),
          told.data!.rows,
        )
        assert.ok(readFileSync(join(cwd, 'run.html'), 'utf8').includes(`"verb":"${verb}"`))
      }))
  }

  for (const [place, name, words] of [
    ['in memory', 'a.svm', []],
    ['over blocks', 'a.svm', ['--memory', '200M', '--solver', 'block']],
    ['of a table', 'a.csv', ['--label', 'y', '--scale', 'none']],
  ] as const) {
    it(`of folds ${place} has the data that train tells of`, () =>
      inFolder(async cwd => {
        const rows = someRows(400, 10)
        writeFileSync(join(cwd, 'a.svm'), asText(rows))
        const lines = rows.map(({ label, entries }, k) => `${entries[0]?.[1] ?? 0},${k % 3 ? 'red' : 'blue'},${label}`)
        writeFileSync(join(cwd, 'a.csv'), ['x,colour,y', ...lines, ''].join('\n'))
        const ofVerb = async (...verb: string[]): Promise<RunRecords['data']> => {
          await good([...verb, ...words, '--record', 'run.jsonl'], { cwd })
          return recordsIn(cwd).data
        }
        const expected = await ofVerb('train', name, 'm')
        const rowsCounted = expected!.rowLengths!.reduce((sum, { count }) => sum + count, 0)
        assert.deepEqual([rowsCounted, expected!.values!.bins.length > 0], [400, true])
        assert.deepEqual(await ofVerb('cross-validate', name, '--folds', '3'), expected)
        assert.deepEqual(await ofVerb('tune', name, '--cost', '1', '--folds', '3', '--no-model'), expected)
        assert.deepEqual(await ofVerb('tune', name, 'm', '--cost', '1', '--folds', '3'), expected)
      }))
  }

  it('of predict has the comparison with labels', () =>
    inFolder(async cwd => {
      written(cwd)
      await good(['train', 'a.svm', 'm', '--record', 'run.jsonl'], { cwd })
      const ofTraining = recordsIn(cwd).features
      const { stdout } = await good(['predict', 'a.t.svm', 'm', '--json', '--record', 'run.jsonl'], { cwd })
      const told = recordsIn(cwd)
      assert.deepEqual(told.result, { record: 'result', ...JSON.parse(stdout) })
      assert.equal(told.evaluation!.accuracy, JSON.parse(stdout).accuracy)
      assert.equal(JSON.parse(stdout).evaluation, undefined)
      assert.ok(ofTraining && told.features)
      assert.deepEqual(told.features, ofTraining)
      const { rows, labels, rowLengths, values } = told.data!
      assert.equal(rows, told.evaluation!.rows)
      assert.equal(
        labels.reduce((sum, label) => sum + label.rows, 0),
        rows,
      )
      assert.equal(
        rowLengths!.reduce((sum, { count }) => sum + count, 0),
        rows,
      )
      assert.ok(values!.bins.length > 0)
    }))

  it('that failed ends with the words of its error, and so does its report', () =>
    inFolder(async cwd => {
      written(cwd)
      const [head] = asText(someRows(200, 10)).split('\n', 1)
      writeFileSync(join(cwd, 'bad.svm'), `${asText(someRows(200, 10))}${head} seven:x\n`)
      for (const words of [
        ['train', 'bad.svm', 'm'],
        ['train', 'a.svm', 'm', '--test', 'bad.svm'],
        ['tune', 'bad.svm', 'm'],
        ['cross-validate', 'bad.svm'],
        ['train', 'a.svm', 'm', '--solver', 'block', '--memory', '20M'],
      ]) {
        const { status: code, stderr } = await run([...words, '--record', 'run.jsonl', '--report', 'run.html'], { cwd })
        assert.ok(code === 1 || code === 2, words.join(' '))
        const { end, result } = recordsIn(cwd)
        assert.equal(result, undefined)
        assert.ok(
          end && stderr.includes(`spillway: ${end.error}\n${end.advice ? `  ${end.advice}\n` : ''}`),
          `${words}: ${end?.error}`,
        )
        assert.doesNotMatch(end.error, /\n +at /, 'no stack')
        assert.ok(readFileSync(join(cwd, 'run.html'), 'utf8').includes('{"record":"end"'))
      }
      await good(['train', 'a.svm', 'm'], { cwd })
      const { status: code } = await run(['predict', 'bad.svm', 'm', 'y', '--record', 'run.jsonl'], { cwd })
      assert.equal(code, 1)
      assert.match(recordsIn(cwd).end!.error, /^bad\.svm, line 201/)
    }))

  it('that was killed has its records, and goes on with them', { timeout: 120_000 }, () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'b.svm'), asText(someRows(3000, 30)))
      await good(['ingest', 'b.svm', 'b.spill', '--blocks', '4'], { cwd })
      const words = ['train', 'b.spill', 'm', '--solver', 'block', '--memory', '180M', '--checkpoint-seconds', '0.1']
      const recorded = [...words, '--tolerance', '1e-9', '--cost', '100', '--record', 'run.jsonl']
      const { child, outcome } = start([...recorded, '--max-passes', '100000'], { cwd })
      const count = (): number => {
        const path = join(cwd, 'run.jsonl')
        if (!existsSync(path)) return 0
        return readFileSync(path, 'utf8')
          .split('\n')
          .filter(line => line.includes('"stage":"train"')).length
      }
      while (count() < 20 && child.exitCode === null) await new Promise(done => setTimeout(done, 20))
      child.kill('SIGKILL')
      await outcome
      const before = recordsIn(cwd)
      assert.equal(before.result, undefined)
      assert.ok(stageOf(before, 'train').length >= 20)
      await good(['report', 'run.jsonl', 'short.html'], { cwd })
      await run([...recorded, '--resume', '--max-passes', '100'], { cwd })
      const after = recordsIn(cwd)
      assert.equal(after.resumed.length, 1)
      assert.ok(after.progress.length > before.progress.length)
      assert.ok(after.result)
    }),
  )
})

describe('report and compare', { concurrency: 2 }, () => {
  it('take the records of every kind of run', { timeout: 120_000 }, () =>
    inFolder(async cwd => {
      written(cwd)
      writeFileSync(join(cwd, 'three.svm'), asText(someRows(400, 10, { classes: 3 })))
      await good(['ingest', 'a.svm', 'a.spill', '--blocks', '4'], { cwd })
      await good(['train', 'a.svm', 'm', '--calibrate', 'sigmoid'], { cwd })
      const store = ['train', 'a.spill', 'x', '--memory', '180M', '--cold', '--max-passes', '30']
      const stages = new Set<string>()
      for (const words of [
        ['train', 'a.svm', 'x', '--loss', 'ramp', '--test', 'a.t.svm'],
        ['train', 'a.svm', 'x', '--solver', 'newton', '--loss', 'squared-hinge'],
        ['train', 'a.svm', 'x', '--regularizer', 'l1', '--loss', 'logistic'],
        ['train', 'three.svm', 'x', '--test', 'three.svm'],
        ['train', 'three.svm', 'x', '--multiclass', 'crammer-singer'],
        ['train', 'three.svm', 'x', '--multiclass', 'softmax', '--loss', 'logistic'],
        ['train', 'three.svm', 'x', '--loss', 'ramp'],
        ...['block', 'stream', 'selective', 'indexed', 'newton'].map(solver => [...store, '--solver', solver]),
        [...store, '--solver', 'selective', '--loss', 'ramp'],
        ['tune', 'three.svm', 'x', '--cost', '0.1,1', '--folds', '2', '--test', 'three.svm'],
        ['cross-validate', 'three.svm', '--folds', '2'],
        ['predict', 'a.t.svm', 'm', 'y', '--evaluate'],
      ]) {
        await run([...words, '--quiet', '--record', 'run.jsonl'], { cwd })
        const told = recordsIn(cwd)
        assert.equal(told.result?.command, words[0], words.join(' '))
        assert.ok(told.data && (told.features || words[0] === 'cross-validate'), words.join(' '))
        for (const { stage } of told.progress) stages.add(stage)
      }
      assert.deepEqual([...stages].sort(), ['plan', 'read', 'relax', 'rows', 'train'])
    }),
  )

  it('make pages of runs that are over, and a table', () =>
    inFolder(async cwd => {
      written(cwd)
      await good(['train', 'a.svm', 'x.model', '--record', 'dual.jsonl', '--report', 'at-once.html'], { cwd })
      await good(['train', 'a.svm', 'y.model', '--solver', 'newton', '--record', 'newton.jsonl'], { cwd })
      const { stdout } = await good(['report', 'dual.jsonl', 'later.html'], { cwd })
      assert.equal(stdout, 'report: later.html\n')
      const pages = ['at-once.html', 'later.html'].map(name => readFileSync(join(cwd, name), 'utf8'))
      assert.equal(pages[1].replace('"later.html"', '"at-once.html"'), pages[0], 'the same page')
      const compared = await good(['compare', 'dual.jsonl', 'newton.jsonl', '--out', 'compare.html', '--json'], { cwd })
      const { best, runs } = JSON.parse(compared.stdout)
      const primals = ['dual', 'newton'].map(name => recordsIn(cwd, `${name}.jsonl`).result!['primal'] as number)
      assert.equal(best, Math.min(...primals))
      assert.deepEqual(
        runs.map(({ aboveBest }: { aboveBest: number }) => aboveBest),
        primals.map(primal => (primal - best) / best),
      )
      assert.ok(readFileSync(join(cwd, 'compare.html'), 'utf8').includes('"kind":"compare"'))
    }))
})
