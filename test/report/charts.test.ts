// Charts compared with the numbers in the records: what they are made of, their texts and tables, and what is left out.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { binsOf } from '../../src/report/bins.ts'
import { testAccuracyChart, testPoints } from '../../src/report/charts/accuracy.ts'
import { allCharts, chartsOf } from '../../src/report/charts/all-charts.ts'
import { compareCharts, seriesOf } from '../../src/report/charts/compare.ts'
import { convergencePoints, gapChart, objectiveChart, objectiveRange } from '../../src/report/charts/convergence.ts'
import { confusionCells, confusionChart } from '../../src/report/charts/evaluation.ts'
import { barText } from '../../src/report/charts/features.ts'
import { relaxationsChart } from '../../src/report/charts/relaxations.ts'
import { timeSlices } from '../../src/report/charts/time.ts'
import { bytesText, logTicks, powerText, secondsText } from '../../src/report/charts/units.ts'
import { compareRuns } from '../../src/report/compare-runs.ts'
import { inlineJson, reportPage } from '../../src/report/html.ts'
import {
  collectRecords,
  type ProgressRecord,
  type RunLine,
  type RunRecords,
  type TestRecord,
} from '../../src/report/records.ts'
import { relaxedPoints } from '../../src/report/relaxed-points.ts'
import { evaluation, HOSTILE, runLine, trainLine, wholeRun } from './some-run.ts'

const collect = (lines: RunLine[], name = 'a'): RunRecords => collectRecords(lines, name)
/** Tests half a second and two passes apart. */
const testLines = (accuracies: number[]): TestRecord[] =>
  accuracies.map((accuracy, k) => ({
    ...{ record: 'test', seconds: 0.5 * (k + 1), pass: 2 * (k + 1), data: 't', rows: 10, accuracy, took: 0.1 },
  }))
const near = (a: number, b: number): void => assert.ok(Math.abs(a - b) < 1e-9, `${a} and ${b}`)

describe('charts of a run', () => {
  it('are all there when the run has everything, each with words and numbers', () => {
    const sections = chartsOf(collect(wholeRun(30)))
    const charts = sections.flatMap(section => section.charts)
    const ids = charts.map(({ id }) => id)
    assert.deepEqual(ids, [
      ...['objective', 'gap', 'test-accuracy'],
      ...['time', 'memory', 'rows', 'bytes-read', 'memory-plan'],
      ...['roc', 'precision-recall', 'confusion', 'calibration', 'features', 'labels', 'row-lengths', 'values'],
    ])
    for (const chart of charts) {
      assert.ok(chart.title.length > 3 && chart.about.length > 20 && chart.text.length > 10, chart.id)
      assert.ok(chart.table.rows.length > 0 && chart.table.rows.length <= 40, `${chart.id} has a table`)
      for (const row of chart.table.rows) assert.equal(row.length, chart.table.columns.length, chart.id)
      for (const view of chart.views ?? [undefined]) {
        const { width, x, y } = chart.options({ width: 400, view: view?.id })
        assert.ok(width! <= 400)
        assert.ok(x?.label, `${chart.id} names its x axis`)
        assert.ok(y?.label || y?.axis === null, `${chart.id} names its y axis, or its bars`)
      }
    }
  })

  it('that do not apply are left out', () => {
    assert.deepEqual(chartsOf(collect([runLine()])), [])
    for (const chart of allCharts.flatMap(({ charts }) => charts)) assert.equal(chart(collect([runLine()])), undefined)
  })

  it('have the records’ primal, dual and gap, and passes of one class after the other', () => {
    const run = collect([
      runLine(),
      trainLine(2, { problem: 1, problems: 2 }),
      trainLine(3, { problem: 1, problems: 2, partial: true }),
      trainLine(1, { problem: 2, problems: 2, seconds: 9 }),
    ])
    const points = convergencePoints(run)
    assert.deepEqual(
      points.map(({ passes, problem }) => [passes, problem]),
      [
        [2, 1],
        [4, 2],
      ],
    )
    const gap = 0.9 ** 2
    near(points[0].primal, 100 / (1 - gap / 2))
    near(points[0].dual!, points[0].primal * (1 - gap))
    const [bottom, top] = objectiveRange(points)
    assert.ok(bottom < top)
  })

  it('of a truncated loss have its objective, not those of its convex problems', () => {
    const relaxed = (seconds: number, relaxation: number, objective: number, fields = {}): ProgressRecord => ({
      ...{ record: 'progress', stage: 'relax', seconds, relaxation, gap: 1e-4, objective, outliers: 9, changed: 4 },
      ...fields,
    })
    const lines = (problem: object): RunLine[] => [
      trainLine(1, { seconds: 1, primal: 900, gap: 0.5, ...problem }),
      trainLine(2, { seconds: 2, primal: 400, gap: 1e-4, certified: true, ...problem }),
      relaxed(2.1, 0, 700),
      // A convex problem begins far off, and leaves out what outliers cost.
      trainLine(3, { seconds: 3, primal: 9000, gap: 1.2, ...problem }),
      trainLine(4, { seconds: 4, primal: 300, gap: 1e-4, certified: true, ...problem }),
      relaxed(4.1, 1, 600),
    ]
    const run = collectRecords([runLine(), ...lines({})], 'r')
    const chart = objectiveChart(run)!
    assert.equal(chart.title, 'Objective')
    assert.deepEqual(chart.table, {
      columns: ['time (s)', 'passes', 'objective'],
      rows: [
        [2.1, 2, 700],
        [4.1, 4, 600],
      ],
    })
    assert.doesNotMatch(chart.about + chart.text, /optimum lies|dual/)
    const [first, , third] = convergencePoints(run).map(({ problem }) => problem)
    assert.notEqual(first, third, 'gaps of two convex problems are not joined')
    // Before the first convex problem is solved, charts have their titles and no numbers of it.
    const early = collectRecords([runLine({ settings: { loss: 'ramp' } }), ...lines({}).slice(0, 2)], 'e')
    for (const [waiting, later] of [
      [objectiveChart(early)!, chart],
      [relaxationsChart(early)!, relaxationsChart(run)!],
    ]) {
      assert.deepEqual([waiting.id, waiting.title, waiting.about], [later.id, later.title, later.about])
      assert.deepEqual([waiting.legend, waiting.views], [later.legend, later.views])
      assert.equal(waiting.options({ width: 500 }).height, later.options({ width: 500 }).height)
      assert.deepEqual(waiting.table.rows, [])
    }
    assert.equal(gapChart(early)!.about, gapChart(run)!.about)
    assert.equal(compareRuns([early]).best, undefined)
    // Of several models each has a line of its own.
    const two = collectRecords(
      [runLine(), ...lines({ problem: 1, problems: 2 }), ...lines({ problem: 2, problems: 2 })],
      'r',
    )
    assert.deepEqual(
      relaxedPoints(two).map(({ problem, passes }) => [problem, passes]),
      [
        [1, 2],
        [1, 4],
        [2, 6],
        [2, 8],
      ],
    )
    assert.match(relaxationsChart(two)!.about, /Each line is a model/)
    // Comparisons have the same objectives.
    const { runs, best } = compareRuns([run, collectRecords([runLine(), ...lines({}).slice(0, 3)], 's')])
    assert.equal(best, 600)
    assert.deepEqual(
      runs.map(({ primal, objective }) => [primal, objective.map(({ seconds, value }) => [seconds, value])]),
      [
        [
          600,
          [
            [2.1, 100 / 600],
            [4.1, 0],
          ],
        ],
        [700, [[2.1, 100 / 600]]],
      ],
    )
    assert.deepEqual(compareRuns([two]).runs[0].objective, [], 'of several models the sum is not known')
  })

  it('count the passes of one round of models after the other, from where all models are known', () => {
    const round = (pass: number, training: number, seconds: number, primal: number) =>
      trainLine(pass, { models: { done: 0, all: 6, training }, seconds, primal })
    const run = collect([runLine(), round(1, 3, 1, 0), round(2, 3, 2, 8), round(3, 0, 3, 7), round(1, 3, 4, 9)])
    assert.deepEqual(
      convergencePoints(run).map(({ passes, problem, primal }) => [passes, problem, primal]),
      [
        [2, 1, 8],
        [3, 1, 7],
        [4, 2, 9],
      ],
    )
    assert.equal(timeSlices(run).at(-1)!.to, 4)
  })

  it('name as many labels and as much of a feature as there is room for', () => {
    const labels = Array.from({ length: 20 }, (_, k) => `+${k + 1}`)
    const confusion = { labels, counts: labels.map((_, t) => labels.map((_, p) => (t === p ? 9 : 1))) }
    const chart = confusionChart({ evaluation: { ...evaluation, confusion } })!
    const named = (width: number): unknown[] => chart.options({ width }).x!.ticks as unknown[]
    assert.equal(named(760).length, 20)
    assert.ok(named(330).length <= 7)
    const name = `occupation of somebody in the household=${'x'.repeat(60)}farming`
    assert.equal(barText({ place: 0, name, weight: -1.234567, label: '+1' }, true, 40).length, 40)
    assert.match(
      barText({ place: 0, name, weight: -1.234567, label: '+1' }, true, 40),
      /^occ.*….*ming: -1\.235 for \+1$/,
    )
  })

  it('tell where the time went: waiting and computing add up to the clock', () => {
    const run = collect(wholeRun(30))
    const slices = timeSlices(run)
    near(slices[0].before, 1.1)
    const [end] = run.progress.slice(-1) as { seconds: number }[]
    near(
      slices.reduce((sum, { before, compute, wait }) => sum + before + compute + wait, 0),
      end.seconds,
    )
    near(
      slices.slice(1, -1).reduce((sum, { decode }) => sum + decode, 0),
      0.05 * 29,
    )
  })

  it('have as few bars for a thousand passes as can be looked at', () => {
    assert.ok(timeSlices(collect(wholeRun(1000))).length <= 62)
  })

  it('have the tests of the records, on the way and at the end, over time and passes', () => {
    const run = collect([runLine(), ...testLines([0.7, 0.85, 0.8])])
    assert.deepEqual(testPoints(run), run.tests)
    const chart = testAccuracyChart(run)!
    assert.deepEqual(
      chart.table.rows,
      run.tests.map(({ seconds, pass, accuracy }) => [seconds, pass, `${accuracy * 100} %`]),
    )
    const drawn = (view: string): number[][] =>
      chart
        .options({ width: 400, view })
        .marks!.map(mark => Array.from((mark as unknown as { data: object[] }).data.keys()))
    assert.deepEqual(
      drawn('passes'),
      [
        [0, 1, 2],
        [0, 1, 2],
      ],
      'a line, and a dot for each',
    )
    assert.deepEqual(
      chart.views!.map(({ id }) => id),
      ['seconds', 'passes'],
    )
    assert.match(chart.text, /70 % after 0.5 s, 80 % after 1.5 s/)
  })

  it('of tests know time alone where earlier versions recorded them', () => {
    const old = testLines([0.7, 0.8]).map(({ pass: _, ...test }) => test)
    const chart = testAccuracyChart(collect([runLine(), ...old]))!
    assert.equal(chart.views, undefined)
    assert.deepEqual(chart.table.columns, ['time (s)', 'accuracy'])
  })

  it('of many tests have a line, and a dot at the end', () => {
    const run = collect([runLine(), ...testLines(Array.from({ length: 2000 }, (_, k) => 1 - 1 / (k + 2)))])
    const points = testPoints(run)
    assert.ok(points.length <= 800)
    assert.deepEqual([points[0], points.at(-1)], [run.tests[0], run.tests.at(-1)])
    const [, dots] = testAccuracyChart(run)!.options({ width: 400 }).marks! as unknown as { data: object[] }[]
    assert.deepEqual(dots.data, [run.tests.at(-1)])
  })

  it('show which label is taken for which', () => {
    assert.deepEqual(
      confusionCells(evaluation).map(({ rows, share }) => [rows, share]),
      [
        [45, 0.9],
        [5, 0.1],
        [5, 0.1],
        [45, 0.9],
      ],
    )
  })
})

describe('runs that are compared', () => {
  const slow = collect(
    [runLine(), trainLine(1, { primal: 300 }), trainLine(9, { primal: 110, certified: true })],
    'slow',
  )
  const fast = collect(
    [runLine(), trainLine(1, { primal: 150 }), trainLine(4, { primal: 100, certified: true })],
    'fast',
  )

  it('are told apart by how far they are from the best objective of all', () => {
    const { best, runs, differences } = compareRuns([slow, fast])
    assert.equal(best, 100)
    assert.deepEqual(differences, [])
    assert.deepEqual(
      runs.map(({ aboveBest }) => aboveBest),
      [0.1, 0],
    )
    assert.deepEqual(
      runs[0].objective.map(({ value }) => value),
      [2, 0.1],
    )
    // What is the best has no place on a log axis.
    assert.deepEqual(
      seriesOf(runs, 'objective').map(({ points }) => points.length),
      [2, 1],
    )
  })

  it('or from an optimum that is known', () => {
    const { runs } = compareRuns([slow, fast], 80)
    assert.deepEqual(
      runs.map(({ aboveBest }) => aboveBest),
      [0.375, 0.25],
    )
    assert.match(compareCharts([slow, fast], 80)[0].about, /80, as given/)
  })

  it('by their accuracies, where they were tested', () => {
    const [a, b] = [0.8, 0.9].map(accuracy =>
      collect([runLine(), { record: 'test', seconds: 1, data: 't', rows: 10, accuracy }]),
    )
    const { bestAccuracy, runs } = compareRuns([a, b])
    assert.equal(bestAccuracy, 0.9)
    near(runs[0].accuracies[0].value, 1 / 9)
    assert.deepEqual(
      compareCharts([a, b]).map(({ id }) => id),
      ['compare-accuracy'],
    )
  })

  it('by the accuracies of their models on the way, of which the best may be none at an end', () => {
    const [a, b] = [
      [0.5, 0.8],
      [0.6, 0.9, 0.85],
    ].map(accuracies => collect([runLine(), ...testLines(accuracies)]))
    const { bestAccuracy, runs } = compareRuns([a, b])
    assert.equal(bestAccuracy, 0.9)
    assert.deepEqual(
      runs.map(({ accuracy }) => accuracy),
      [0.8, 0.85],
      'the table has those at the end',
    )
    assert.deepEqual(
      runs.map(({ accuracies }) => accuracies.map(({ seconds }) => seconds)),
      [a, b].map(({ tests }) => tests.map(({ seconds }) => seconds)),
    )
    near(runs[0].accuracies[0].value, 4 / 9)
    near(runs[1].accuracies[2].value, 1 / 18)
    // The best has no place on a log axis.
    assert.deepEqual(
      seriesOf(runs, 'accuracies').map(({ points }) => points.length),
      [2, 2],
    )
  })

  it('are said to be different problems where they are', () => {
    const other = collect([runLine({ settings: { loss: 'logistic', cost: 1 } }), trainLine(1)])
    assert.deepEqual(compareRuns([slow, other]).differences, ['loss: "hinge", "logistic"'])
  })
})

describe('a page', () => {
  it('has records in it that nothing escapes from', () => {
    const lines = wholeRun(2, { label: HOSTILE, name: HOSTILE })
    const page = reportPage(HOSTILE, { kind: 'run', runs: [{ name: 'a', lines }] }, { script: 'x', style: 'y' })
    assert.equal(page.match(/<\/script/g)?.length, 2, 'only the page’s own')
    assert.equal(page.match(/<img/g), null)
    const [, json] = /id="records">(.*?)<\/script>/s.exec(page)!
    assert.deepEqual(JSON.parse(json).runs[0].lines, lines)
    assert.equal(JSON.parse(inlineJson('\u2028<')), '\u2028<')
  })
})

describe('ranges to count in', () => {
  const counts = (values: number[]): number[][] =>
    binsOf(Float64Array.from(values)).map(({ from, to, count }) => [from, to, count])

  it('are the values themselves where they are few', () => {
    assert.deepEqual(counts([1, 0, 1, 1]), [
      [0, 0, 1],
      [1, 1, 3],
    ])
    assert.deepEqual(counts([]), [])
  })

  it('cover all values, once each, however far out some are', () => {
    const values = Array.from({ length: 1000 }, (_, k) => Math.sin(k) * 3)
    for (const list of [values, [...values, 1e9, -1e9], values.map(value => Math.round(value * 1000))]) {
      const bins = counts(list)
      assert.ok(bins.length >= 10 && bins.length <= 30, `${bins.length}`)
      assert.equal(
        bins.reduce((sum, [, , count]) => sum + count, 0),
        list.length,
      )
      assert.equal(Math.max(...list) <= bins.at(-1)![1], true)
      for (const [k, [from]] of bins.entries()) if (k > 0) assert.equal(from, bins[k - 1][1])
    }
  })
})

describe('numbers on axes', () => {
  it('read as people write them', () => {
    assert.deepEqual([bytesText(1536), bytesText(300 * 2 ** 20), bytesText(12)], ['1.5 KiB', '300 MiB', '12 B'])
    assert.deepEqual([secondsText(0.1234), secondsText(75.3), secondsText(3661)], ['0.123 s', '1:15', '1:01:01'])
    assert.deepEqual([powerText(1e-5), powerText(0.1), powerText(100), powerText(3)], ['10⁻⁵', '0.1', '100', ''])
    const names = (least: number, most: number): string[] => {
      const { ticks, tickFormat } = logTicks(least, most, 6)
      return ticks.map(tickFormat)
    }
    assert.deepEqual(names(0.00055, 0.0011), ['0.0006', '0.0007', '0.0008', '0.0009', '0.001'])
    assert.deepEqual(names(3e-5, 4), ['10⁻⁴', '0.001', '0.01', '0.1', '1'])
    assert.deepEqual(names(1.11, 1.19), ['1.12', '1.14', '1.16', '1.18'])
    assert.ok(names(1e-12, 100).length <= 6)
  })
})
