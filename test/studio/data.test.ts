// What the studio says of files, of plans, and of rows under the model of a run.
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { loadModel } from '../../src/model/files.ts'
import { predictRows } from '../../src/predict/predict.ts'
import { learnSchema } from '../../src/rows/learn-schema.ts'
import type { CellRows } from '../../src/studio/cell.ts'
import { dataRecord } from '../../src/studio/page/charts.ts'
import type { Plan } from '../../src/studio/plan.ts'
import type { Run } from '../../src/studio/run-folder.ts'
import { histogramOf, type Summary } from '../../src/studio/summary.ts'
import type { CategoryColumn } from '../../src/tables/schema.ts'
import { good } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { inStudio, smallData, until } from './studio.ts'

const table = 'age,city,income\n39,Bern,low\n50,Basel,high\n28,Bern,low\n61,,high\n'

describe('files', { concurrency: 2 }, () => {
  it('are listed with what they are', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData)
      studio.write('a9a', smallData)
      studio.write('b.svm.gz', gzipSync(smallData))
      studio.write('t.csv', table)
      studio.write('notes.md', 'Some, words, with, commas\n')
      studio.write('.hidden.svm', smallData)
      studio.write('empty.svm', '')
      mkdirSync(join(studio.folder, 'sub'))
      writeFileSync(join(studio.folder, 'sub', 'c.svm'), smallData)
      await good(['ingest', 'a.svm', 'a.spill', '-q'], { cwd: studio.folder })
      await good(['train', 'a.svm', 'a.model', '-q'], { cwd: studio.folder })
      const { files, machine, folder } = await studio.get<{
        files: { name: string; kind: string; format?: string; bytes: number }[]
        machine: { memoryBytes: number; cores: number }
        folder: string
      }>('/api/folder')
      assert.equal(folder, studio.folder)
      assert.ok(machine.memoryBytes > 1e8 && machine.cores >= 1)
      assert.deepEqual(
        files.map(({ name, kind, format }) => [name, kind, format].join(' ').trim()),
        ['a.model model', 'a.spill store', 'a.svm data libsvm', 'a9a data libsvm', 'b.svm.gz data libsvm']
          .concat(['sub/c.svm data libsvm', 't.csv data csv'])
          .sort(),
      )
      assert.equal(files.find(({ name }) => name === 'a.svm')!.bytes, smallData.length)
    }))

  it('are summed up by their beginning', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData)
      studio.write('big.svm', smallData.repeat(400))
      studio.write('b.svm.gz', gzipSync(smallData))
      studio.write('t.csv', table)
      const sum = (file: string) => studio.get<Summary>(`/api/summary?file=${file}`)
      const rows = someRows(300, 20)
      const small = await sum('a.svm')
      assert.deepEqual([small.rows, small.features, small.sampled, small.format], [300, 20, false, 'libsvm'])
      const lengths = rows.map(({ entries }) => entries.length)
      assert.equal(small.nonzeros.most, Math.max(...lengths))
      assert.ok(Math.abs(small.nonzeros.mean - lengths.reduce((a, b) => a + b) / 300) < 1e-9)
      assert.equal(
        small.nonzeros.histogram.reduce((sum, bin) => sum + bin.rows, 0),
        300,
      )
      assert.deepEqual(small.lines, smallData.split('\n').slice(0, 5))
      const counts = [1, -1].map(label => rows.filter(row => row.label === label).length)
      assert.deepEqual(
        small.labels.map(({ rows }) => rows),
        counts.sort((a, b) => b - a),
      )
      const values = rows.flatMap(({ entries }) => entries.map(([, value]) => value))
      assert.ok(Math.abs(small.values!.least - Math.min(...values)) < 1e-6)
      const big = await sum('big.svm')
      assert.equal(big.sampled, true)
      assert.ok(Math.abs(big.rows / 120_000 - 1) < 0.02, `${big.rows} rows`)
      assert.equal((await sum('b.svm.gz')).rows, 300)
      const csv = await sum('t.csv&label=income')
      assert.deepEqual(csv.labels.map(({ label, rows }) => `${label} ${rows}`).sort(), ['high 2', 'low 2'])
      // Which column is the label has to be said, and columns are shown before it is.
      const unsaid = await sum('t.csv')
      assert.deepEqual([unsaid.needsLabel, unsaid.labels, unsaid.columns!.length], [true, [], 3])
      assert.deepEqual(csv.columns, [
        { name: 'age', became: 'a number' },
        { name: 'city', became: 'names: 2 features, and one for missing cells' },
        { name: 'income', became: 'the label' },
      ])
      await good(['ingest', 'a.svm', 'a.spill', '-q', '--blocks', '3'], { cwd: studio.folder })
      const store = await sum('a.spill')
      // Of a small store all rows are looked at, and say the same as the text.
      const { file: _, bytes: _bytes, lines: _lines, ...same } = small
      assert.deepEqual(
        { ...store, file: undefined, bytes: undefined, lines: undefined },
        { ...same, file: undefined, bytes: undefined, lines: undefined },
      )
      assert.equal(store.lines.length, 5)
      for (const line of store.lines) assert.ok(smallData.includes(`${line}\n`), line)
      // A file that changes is read again.
      studio.write('a.svm', smallData + smallData)
      assert.equal((await sum('a.svm')).rows, 600)
      assert.match((await studio.refused('GET', '/api/summary?file=t.csv/x')).message, /^there is no file t\.csv\/x/)
    }))

  it('that are large stores are summed up by rows from all over them', () =>
    inStudio(async studio => {
      // Rows at the end are longer than those before.
      const rows = `${'1 1:1\n2 2:1\n'.repeat(60_000)}${'1 1:1 2:1 3:1\n'.repeat(20_000)}`
      studio.write('a.svm', rows)
      await good(['ingest', 'a.svm', 'a.spill', '-q', '--blocks', '64'], { cwd: studio.folder })
      const { sampledRows, nonzeros, ...store } = await studio.get<Summary>('/api/summary?file=a.spill')
      assert.equal(store.rows, 140_000)
      assert.ok(sampledRows! < 60_000, `${sampledRows} rows`)
      assert.equal(nonzeros.most, 3)
      const long = nonzeros.histogram.at(-1)!.rows
      assert.ok(Math.abs(long - 20_000) < 5000, `${long} long rows`)
    }))

  it('with rows that cannot be read say so, and are trained on without them when told to', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData.replace('\n', '\n+1 3:x\n'))
      const { rows, bad } = await studio.get<Summary>('/api/summary?file=a.svm')
      assert.equal(rows, 300)
      assert.equal(bad!.rows, 1)
      assert.match(bad!.first, /^a\.svm, line 2, column 4: found "3:x", expected a number/)
      const asked = (onBadRow: string) => ({ data: 'a.svm', options: { onBadRow } })
      assert.equal((await studio.post<Plan>('/api/plan', asked('skip'))).refused, undefined)
      const { status, message } = await studio.refused('POST', '/api/plan', asked('guess'))
      assert.deepEqual([status, message], [400, 'onBadRow is "guess"; expected one of fail, skip'])
    }))

  it('of every format are summed up', () =>
    inStudio(async studio => {
      const fixtures = new URL('../fixtures/input-formats/', import.meta.url)
      for (const file of readdirSync(fixtures)) {
        cpSync(new URL(file, fixtures), join(studio.folder, file))
        const format = file.split('.')[0]
        const same = readFileSync(new URL(`${format}.svm`, fixtures), 'utf8')
          .trim()
          .split('\n')
        const { rows, labels, lines } = await studio.get<Summary>(`/api/summary?file=${file}`)
        assert.equal(rows, same.length, file)
        const counts = [...new Set(same.map(row => row.split(' ')[0]))].length
        assert.equal(labels.length, counts, file)
        assert.ok(lines.length > 0 && lines.length <= 5, file)
      }
    }))

  it('of more labels than are listed have all of them counted', () =>
    inStudio(async studio => {
      const lines = Array.from({ length: 320 }, (_, k) => `${k < 20 ? 1 : k} 1:1`)
      studio.write('many.svm', lines.join('\n'))
      const summary = await studio.get<Summary>('/api/summary?file=many.svm')
      assert.equal(summary.classes, 301)
      assert.deepEqual([summary.labels.length, summary.labels[0]], [100, { label: '1', rows: 20 }])
      const { labels, otherLabels } = dataRecord(summary)
      const listed = labels.reduce((sum, { rows }) => sum + rows, 0)
      assert.deepEqual(
        [labels.length + otherLabels!.labels, listed + otherLabels!.rows],
        [301, 320],
        'shares are of all rows',
      )
    }))

  it('have a histogram of whole numbers', () => {
    assert.deepEqual(histogramOf([]), [])
    assert.deepEqual(histogramOf([3]), [{ from: 3, to: 4, rows: 1 }])
    const bins = histogramOf(Array.from({ length: 100 }, (_, k) => k))
    assert.ok(bins.length <= 24)
    assert.deepEqual([bins[0].from, bins.reduce((sum, { rows }) => sum + rows, 0)], [0, 100])
  })
})

describe('a plan', { concurrency: 2 }, () => {
  const plan = { data: 'a.svm', options: {} }

  it('of strings suggests what makes features of them, until something does', () =>
    inStudio(async studio => {
      studio.write('s.txt', '+1 ACGT\n-1 TTTA\n+1 ACCT\n-1 TGTA\n')
      studio.write('a.svm', smallData)
      await good(['ingest', 's.txt', 's.spill', '-q'], { cwd: studio.folder })
      const suggested = async (data: string, options: object): Promise<unknown> =>
        (await studio.post<Plan>('/api/plan', { data, options })).suggestedExpand
      assert.equal(await suggested('s.txt', {}), 'weighted-degree:8')
      assert.equal(await suggested('s.spill', {}), 'weighted-degree:8')
      assert.equal(await suggested('s.txt', { expand: 'weighted-degree:3' }), undefined)
      assert.equal(await suggested('a.svm', {}), undefined)
    }))

  it('changes with the memory, as train would', () =>
    inStudio(async studio => {
      studio.write('a.svm', asText(someRows(400, 100)).repeat(200))
      const ask = (options: object) => studio.post<Plan>('/api/plan', { ...plan, options })
      const roomy = await ask({})
      assert.equal(roomy.solver, 'dual')
      assert.match(roomy.reason, /which fits in/)
      assert.equal(roomy.blocks, undefined)
      const { read, pass, passes, all, least, most, trial } = roomy.seconds!
      assert.ok(read > 0 && pass > 0 && passes >= 1)
      assert.ok(least < all && all < most, 'it is a range')
      assert.ok(trial.rows > 100 && trial.passes! >= 1)
      const tight = await ask({ memory: 166 << 20 })
      assert.notEqual(tight.solver, 'dual')
      assert.ok(tight.blocks!.count >= 1 && tight.blocks!.residentBytes > 0)
      const used = tight.memory!.parts.reduce((sum, { bytes }) => sum + bytes, 0)
      assert.ok(used <= tight.memory!.allowed, 'the parts are inside of the memory')
      assert.equal(tight.memory!.allowed, 166 << 20)
      const none = await ask({ memory: 64 << 20 })
      assert.match(none.refused!, /^64\.0 MiB of memory cannot work: .*; what would help: --memory \d+M$/)
      assert.equal(none.seconds, null)
      // With the memory that it names, the run is taken; with a few percent less, it is not.
      const { bytes, solver } = none.withMore!
      assert.equal((await ask({ memory: bytes })).solver, solver)
      assert.ok((await ask({ memory: Math.floor(bytes * 0.95) })).refused)
      // What does not go together is refused in the same words.
      const strange = await ask({ loss: 'logistic', multiclass: 'crammer-singer', memory: 64 << 20 })
      assert.match(strange.refused!, /crammer-singer/)
      assert.equal(strange.withMore, undefined, 'more memory would not help')
      // Data with nothing to learn from is refused before it is trained on.
      studio.write('one.svm', '+1 1:1\n+1 2:1\n')
      studio.write('empty.svm', '')
      const planOf = (data: string): Promise<Plan> => studio.post<Plan>('/api/plan', { data, options: {} })
      assert.match(
        (await planOf('one.svm')).refused!,
        /^all 2 rows of one\.svm have the label \+1: there is nothing to/,
      )
      assert.match((await planOf('empty.svm')).refused!, /^empty\.svm has no rows; a row is/)
      await good(['ingest', 'a.svm', 'a.spill', '-q'], { cwd: studio.folder })
      const store = await studio.post<Plan>('/api/plan', { data: 'a.spill', options: { solver: 'block' } })
      assert.deepEqual([store.solver, store.blocks!.count], ['block', 1])
    }))

  it('rests on a trial of the data with its options', () =>
    inStudio(async studio => {
      // Kernels are for values from 0 on.
      studio.write('a.svm', asText(someRows(3000, 60)).replaceAll(':-', ':'))
      studio.write('many.svm', asText(someRows(3000, 60, { classes: 8 })))
      const secondsOf = async (options: object, data = 'a.svm') =>
        (await studio.post<Plan>('/api/plan', { data, options })).seconds
      const [usual, dear] = [await secondsOf({}), await secondsOf({ cost: 1000 })]
      assert.ok(dear!.passes > 1.5 * usual!.passes, `${usual!.passes} and ${dear!.passes} passes`)
      assert.ok((await secondsOf({ kernel: 'chi2' }))!.all > 0)
      assert.ok((await secondsOf({}, 'many.svm'))!.all > 0)
      // What cannot be tried has no time.
      assert.equal(await secondsOf({ kernel: 'chi2' }, 'many.svm'), null)
      // It is the same for every memory: what was tried once is known.
      assert.deepEqual(await secondsOf({ cost: 1000, memory: 1 << 30 }), dear)
    }))

  it('says what the run then does', () =>
    inStudio(async studio => {
      studio.write('a.svm', asText(someRows(400, 100)).repeat(200))
      const options = { memory: 166 << 20, tolerance: 0.1 }
      const { solver, blocks } = await studio.post<Plan>('/api/plan', { ...plan, options })
      const { id } = await studio.post<Run>('/api/runs', { ...plan, options })
      const { result } = await until(studio, id, 'done')
      assert.equal((result as { solver: string }).solver, solver)
      assert.ok(blocks)
    }))

  it('and a run are told how far beyond the margin outliers are, and which features are made', () =>
    inStudio(async studio => {
      studio.write('a.svm', asText(someRows(300, 20)))
      const options = { loss: 'ramp', outlierMargin: 0.5, expand: 'polynomial:2' }
      const planned = await studio.post<Plan>('/api/plan', { ...plan, options })
      assert.equal(planned.refused, undefined)
      assert.ok(planned.seconds!.all > 0)
      const { id } = await studio.post<Run>('/api/runs', { ...plan, options })
      const { result, command } = await until(studio, id, 'done')
      assert.equal((result as { loss: string }).loss, 'ramp')
      assert.match(command, /--outlier-margin=0\.5 --expand=polynomial:2/)
      // A loss that gives no rows up has no such margin.
      const strange = await studio.refused('POST', '/api/plan', { ...plan, options: { outlierMargin: 2 } })
      assert.match(strange.message, /outlier/)
    }))

  it('of a table learns its columns by the first rows', () =>
    inStudio(async studio => {
      const long = studio.write('long.csv', `${table}${'33,Bern,low\n70,Basel,high\n'.repeat(1e5)}40,Chur,low\n`)
      const learnt = async (headOnly: boolean) =>
        (await learnSchema([join(studio.folder, long)], {
          label: 'income',
          format: 'csv',
          onBadRow: 'fail',
          headOnly,
        }))!.schema.columns[1]
      assert.deepEqual(((await learnt(true)) as CategoryColumn).values, ['Bern', 'Basel'])
      assert.deepEqual(((await learnt(false)) as CategoryColumn).values, ['Bern', 'Basel', 'Chur'])
      studio.write('t.csv', table)
      const { solver, seconds } = await studio.post<Plan>('/api/plan', { data: 't.csv', options: { label: 'income' } })
      assert.equal(solver, 'dual')
      assert.ok(seconds!.all >= 0)
      const wrong = await studio.post<Plan>('/api/plan', { data: 't.csv', options: { label: 'wealth' } })
      assert.match(wrong.refused!, /wealth/)
    }))
})

describe('rows under the model of a run', { concurrency: 2 }, () => {
  it('are found by their cell of the confusion matrix', () =>
    inStudio(async studio => {
      const data = someRows(300, 20, { classes: 3 })
      const test = someRows(200, 20, { classes: 3, seed: 9 })
      // Comments and blank lines are lines, and no rows.
      studio.write('a.svm', asText(data))
      studio.write('t.svm', `# a comment\n\n${asText(test)}`)
      studio.write('t.svm.gz', gzipSync(`# a comment\n\n${asText(test)}`))
      const lines = asText(test).split('\n')
      for (const name of ['t.svm', 't.svm.gz']) {
        const { id } = await studio.post<Run>('/api/runs', { data: 'a.svm', options: { test: name } })
        await until(studio, id, 'done')
        const predicted: string[] = []
        const model = await loadModel(join(studio.folder, '.spillway', 'runs', id, 'model'))
        for await (const { labels } of predictRows(join(studio.folder, 't.svm'), model)) predicted.push(...labels)
        let seen = 0
        for (const truth of ['1', '2', '3']) {
          for (const label of ['1', '2', '3']) {
            const expected = test.flatMap((row, r) =>
              String(row.label) === truth && predicted[r] === label ? [r] : [],
            )
            const path = `/api/runs/${id}/rows?truth=${truth}&predicted=${label}&most=7`
            const found = await studio.get<{ rows: { line: number; text: string; score: number }[]; all: number }>(path)
            assert.equal(found.all, expected.length)
            assert.deepEqual(
              found.rows.map(({ line, text }) => [line, text]),
              expected.slice(0, 7).map(r => [r + 3, lines[r]]),
            )
            seen += found.all
          }
        }
        assert.equal(seen, 200)
      }
    }))

  it('of a table and of the training data are found too', () =>
    inStudio(async studio => {
      const long = 'x'.repeat(3000)
      studio.write('t.csv', `${table}${'33,Bern,low\n70,Basel,high\n'.repeat(20)}40,${long},low\n`)
      const { id } = await studio.post<Run>('/api/runs', { data: 't.csv', options: { label: 'income' } })
      await until(studio, id, 'done')
      const found = await studio.get<{ rows: { line: number; text: string }[]; all: number }>(
        `/api/runs/${id}/rows?truth=low&predicted=low&most=100`,
      )
      assert.equal(found.rows[0].text, '39,Bern,low')
      assert.equal(found.rows[0].line, 2)
      assert.equal(found.rows.at(-1)!.text.length, 2000)
      const last = found.rows.at(-1)!
      const whole = await studio.get<typeof found>(`/api/runs/${id}/rows?truth=low&predicted=low&line=${last.line}`)
      assert.deepEqual(
        whole.rows.map(({ line, text }) => [line, text]),
        [[last.line, `40,${long},low`]],
      )
      const none = await studio.get(`/api/runs/${id}/rows?truth=nobody&predicted=low`)
      assert.deepEqual(none, { rows: [], all: 0 })
      const explained = await studio.post<{ label: string; features: { name: string }[] }>(`/api/runs/${id}/explain`, {
        row: '65,Basel,high',
      })
      assert.equal(explained.label, 'high')
      assert.ok(explained.features.some(({ name }) => name === 'age'))
      // Without the column of the label, which is what is asked for.
      const bare = await studio.post(`/api/runs/${id}/explain`, { row: '65,Basel' })
      assert.deepEqual(bare, explained)
    }))

  it('of data that is no text are shown as features and values', () =>
    inStudio(async studio => {
      const fixtures = new URL('../fixtures/input-formats/', import.meta.url)
      cpSync(new URL('npy.npy', fixtures), join(studio.folder, 'a.npy'))
      const same = readFileSync(new URL('npy.svm', fixtures), 'utf8').trim().split('\n')
      const { id } = await studio.post<Run>('/api/runs', { data: 'a.npy' })
      await until(studio, id, 'done')
      let seen = 0
      for (const cell of [
        'truth=1&predicted=1',
        'truth=1&predicted=-1',
        'truth=-1&predicted=1',
        'truth=-1&predicted=-1',
      ]) {
        const { rows, all } = await studio.get<{ rows: { line: number; text: string }[]; all: number }>(
          `/api/runs/${id}/rows?${cell}`,
        )
        for (const { line, text } of rows) assert.equal(text.split(' ').length, same[line - 1].trim().split(' ').length)
        assert.equal(rows.length, all)
        seen += all
      }
      assert.equal(seen, same.length)
    }))

  it('of a store are found, with the data that they came from', () =>
    inStudio(async studio => {
      const data = someRows(300, 20, { classes: 3 })
      const parts = [data.slice(0, 120), data.slice(120)]
      parts.forEach((part, k) => void studio.write(`part${k}.svm`, asText(part)))
      await good(['ingest', 'part0.svm', 'part1.svm', 'a.spill', '-q', '--blocks', '5'], { cwd: studio.folder })
      const lines = asText(data).trim().split('\n')
      const { id } = await studio.post<Run>('/api/runs', { data: 'a.spill', options: { test: 'a.spill' } })
      await until(studio, id, 'done')
      const predicted: string[] = []
      const model = await loadModel(join(studio.folder, '.spillway', 'runs', id, 'model'))
      for await (const { labels } of predictRows(join(studio.folder, 'a.spill'), model)) predicted.push(...labels)
      let seen = 0
      for (const truth of ['1', '2', '3']) {
        for (const label of ['1', '2', '3']) {
          const path = `/api/runs/${id}/rows?truth=${truth}&predicted=${label}`
          const { rows, all, byRow, sampled } = await studio.get<CellRows>(`${path}&most=500`)
          assert.deepEqual([byRow, sampled, rows.length], [true, undefined, all])
          const expected = data.flatMap((row, r) => (String(row.label) === truth && predicted[r] === label ? [r] : []))
          assert.deepEqual(
            rows.map(({ line, text, source, sourceRow }) => [line, text, source!.split('/').at(-1), sourceRow]),
            expected.map(r => [r + 1, lines[r], `part${r < 120 ? 0 : 1}.svm`, r < 120 ? r + 1 : r - 119]),
          )
          seen += all
          if (all < 2) continue
          const few = await studio.get<CellRows>(`${path}&most=1`)
          assert.deepEqual([few.rows.length, few.all], [1, all])
          const one = await studio.get<CellRows>(`${path}&line=${rows[1].line}`)
          assert.deepEqual(one.rows, [rows[1]])
        }
      }
      assert.equal(seen, 300)
    }))

  it('of a store of a table are explained by their features', () =>
    inStudio(async studio => {
      studio.write('t.csv', `${table}${'33,Bern,low\n70,Basel,high\n'.repeat(20)}`)
      await good(['ingest', 't.csv', 't.spill', '-q', '--label', 'income'], { cwd: studio.folder })
      const { id } = await studio.post<Run>('/api/runs', { data: 't.spill', options: { test: 't.csv' } })
      await until(studio, id, 'done')
      const { id: other } = await studio.post<Run>('/api/runs', { data: 't.spill', options: { test: 't.spill' } })
      await until(studio, other, 'done')
      const [row] = (await studio.get<CellRows>(`/api/runs/${other}/rows?truth=high&predicted=high`)).rows
      const whole = await studio.post<{ label: string; scores: object[] }>(`/api/runs/${id}/explain`, {
        row: '50,Basel,high',
      })
      const stored = await studio.post<typeof whole>(`/api/runs/${other}/explain`, { row: row.text })
      assert.equal(row.line, 2)
      assert.deepEqual(stored, whole)
    }))

  it('that somebody types are explained', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData)
      const { id } = await studio.post<Run>('/api/runs', { data: 'a.svm', options: { loss: 'logistic', bias: 1 } })
      await until(studio, id, 'done')
      const path = `/api/runs/${id}/explain`
      interface ExplainedRow {
        label: string
        probability: number
        scores: { label: string; score: number }[]
        features: { index?: number; name: string; value: number; weight: number; contribution: number }[]
        others: number
      }
      const { label, probability, scores, features, others } = await studio.post<ExplainedRow>(path, {
        row: '3:1 7:0.5',
      })
      const model = await loadModel(join(studio.folder, '.spillway', 'runs', id, 'model'))
      const own = model.predict({ 3: 1, 7: 0.5 })
      assert.equal(label, own.label)
      assert.equal(probability, Math.max(...own.probabilities!))
      assert.deepEqual(
        scores.map(({ score }) => score),
        [own.scores[0], -own.scores[0]],
      )
      const given = scores.find(each => each.label === label)!.score
      assert.ok(Math.abs(features.reduce((sum, { contribution }) => sum + contribution, others) - given) < 1e-9)
      assert.deepEqual(
        features.map(({ index }) => index ?? 0).sort((a, b) => a - b),
        [0, 3, 7],
      )
      for (const { value, weight, contribution } of features) assert.equal(value * weight, contribution)
      // With a label in front, as in the data.
      assert.deepEqual((await studio.post<ExplainedRow>(path, { row: '+1 3:1 7:0.5\n' })).features, features)
      for (const [row, message] of [
        ['3:x', /^the row: found "3:x", expected a number as value$/],
        ['', /^found no row/],
        ['1:1\n2:1', /^found several lines, expected one row$/],
      ] as const) {
        const { status, message: said } = await studio.refused('POST', path, { row })
        assert.equal(status, 400)
        assert.match(said, message)
      }
      assert.equal((await studio.refused('POST', path, { row: 7 })).status, 400)
    }))
})
