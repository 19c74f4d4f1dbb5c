// Measures against their definitions, counted over all rows or all pairs of rows.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { curveAreas, ScoreList } from '../../src/evaluation/areas.ts'
import { Evaluation, OTHER_CLASS } from '../../src/evaluation/evaluation.ts'

const close = (found: number | null, expected: number, what = ''): void => {
  assert.ok(
    found !== null && Math.abs(found - expected) <= 1e-12 * Math.max(1, Math.abs(expected)),
    `${what} ${found}, ${expected}`,
  )
}

interface Ranked {
  score: number
  positive: boolean
}

// Few different scores: ties are the rule. Infinities, zeros of both signs and the largest numbers come too.
const score = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(-0, -Infinity, Infinity, 1.7e308, 5e-324),
  fc.double({ noNaN: true }),
)
const ranked = fc.array(fc.record({ score, positive: fc.boolean() }), { maxLength: 60 })

/** The chance that a positive is above a negative, ties half: over all pairs. */
function rocByPairs(rows: Ranked[]): number | null {
  let [right, pairs] = [0, 0]
  for (const a of rows) {
    for (const b of rows) {
      if (!a.positive || b.positive) continue
      pairs++
      right += a.score > b.score ? 1 : a.score === b.score ? 0.5 : 0
    }
  }
  return pairs > 0 ? right / pairs : null
}

/** The mean, over positives, of the precision among the rows that score at least as high. */
function averagePrecision(rows: Ranked[]): number | null {
  const positives = rows.filter(row => row.positive)
  if (positives.length === 0) return null
  const precisions = positives.map(({ score: least }) => {
    const above = rows.filter(row => row.score >= least)
    return above.filter(row => row.positive).length / above.length
  })
  return precisions.reduce((sum, p) => sum + p, 0) / positives.length
}

const scoresOf = (rows: Ranked[], positive: boolean): Float64Array =>
  Float64Array.from(rows.filter(row => row.positive === positive).map(row => row.score))

describe('areas under the curves', () => {
  it('are those of all pairs', () => {
    fc.assert(
      fc.property(ranked, rows => {
        const { roc, pr } = curveAreas(scoresOf(rows, true), scoresOf(rows, false))
        const expected = { roc: rocByPairs(rows), pr: averagePrecision(rows) }
        if (expected.roc === null) assert.equal(roc, null)
        else close(roc, expected.roc, 'ROC')
        if (expected.pr === null) assert.equal(pr, null)
        else close(pr, expected.pr, 'precision-recall')
      }),
      { numRuns: 500 },
    )
  })

  it('of rankings by hand', () => {
    const areas = (positives: number[], negatives: number[]): object =>
      curveAreas(Float64Array.from(positives), Float64Array.from(negatives))
    assert.deepEqual(areas([2, 3], [0, 1]), { roc: 1, pr: 1 })
    assert.deepEqual(areas([0], [1]), { roc: 0, pr: 0.5 })
    assert.deepEqual(areas([1, 1], [1, 1]), { roc: 0.5, pr: 0.5 })
    assert.deepEqual(areas([], []), { roc: null, pr: null })
    assert.deepEqual(areas([1], []), { roc: null, pr: 1 })
    assert.deepEqual(areas([-Infinity], [-Infinity]), { roc: 0.5, pr: 0.5 })
  })

  it('keep scores in order over several pieces', () => {
    const list = new ScoreList()
    const values = Float64Array.from({ length: 200_000 }, (_, k) => Math.sin(k))
    for (const value of values) list.push(value)
    assert.deepEqual(list.all(), values)
    assert.equal(new ScoreList().all().length, 0)
    const whole = new ScoreList()
    for (let k = 0; k < 65536; k++) whole.push(k)
    assert.equal(whole.all().length, 65536)
  })
})

interface PredictedRow {
  truth: number
  predicted: number
  score: number
  probability: number
}

const NAMES = ['a', 'b', 'c', 'd']

/** Rows of a number of classes; true classes may also be −1, or a class that only the data has (the number after the last). */
const someRows = fc.integer({ min: 1, max: 4 }).chain(classes =>
  fc.record({
    classes: fc.constant(classes),
    rows: fc.array(
      fc.record<PredictedRow>({
        truth: fc.integer({ min: -1, max: classes }),
        predicted: fc.nat(classes - 1),
        score,
        probability: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1)),
      }),
      { minLength: 1, maxLength: 60 },
    ),
    cut: fc.nat(60),
  }),
)

function evaluate(rows: PredictedRow[], classes: number, cut: number, options: { positive?: 0 | 1 } = {}) {
  const evaluation = new Evaluation(NAMES.slice(0, classes), options)
  assert.equal(evaluation.otherClass(77, 'new'), classes)
  assert.equal(evaluation.otherClass(77, 'again'), classes)
  for (const part of [rows.slice(0, cut), rows.slice(cut)]) {
    evaluation.add({
      truth: part.map(row => row.truth),
      predicted: part.map(row => row.predicted),
      scores: part.map(row => row.score),
      probabilities: part.map(row => (row.truth >= 0 && row.truth < classes ? row.probability : 0)),
    })
  }
  return evaluation.report()
}

describe('an evaluation', () => {
  it('counts as the definitions do', () => {
    fc.assert(
      fc.property(someRows, ({ classes, rows, cut }) => {
        const report = evaluate(rows, classes, cut)
        const share = (part: number, all: number): number => (all === 0 ? 0 : part / all)
        const count = (which: (row: PredictedRow) => boolean): number => rows.filter(which).length
        const unnamed = rows.some(row => row.truth === -1)
        const names = [...NAMES.slice(0, classes), 'new', ...(unnamed ? [OTHER_CLASS] : [])]
        const numbers = names.map((name, k) => (name === OTHER_CLASS ? -1 : k))
        assert.equal(report.rows, rows.length)
        close(
          report.accuracy,
          share(
            count(row => row.truth === row.predicted),
            rows.length,
          ),
        )
        assert.deepEqual(report.confusion, {
          labels: names,
          counts: numbers.map(t => numbers.map(p => count(row => row.truth === t && row.predicted === p))),
        })
        const expected = numbers.map((k, place) => {
          const hits = count(row => row.truth === k && row.predicted === k)
          const precision = share(
            hits,
            count(row => row.predicted === k),
          )
          const recall = share(
            hits,
            count(row => row.truth === k),
          )
          const f1 = share(2 * precision * recall, precision + recall)
          return { label: names[place], precision, recall, f1, support: count(row => row.truth === k) }
        })
        report.classes.forEach((found, k) => {
          assert.deepEqual([found.label, found.support], [expected[k].label, expected[k].support])
          for (const name of ['precision', 'recall', 'f1'] as const) close(found[name], expected[k][name], name)
        })
        assert.equal(report.classes[classes].recall, 0, 'a class that only the data has')
        const occurring = expected.filter(
          (_, k) => count(row => row.truth === numbers[k] || row.predicted === numbers[k]) > 0,
        )
        for (const name of ['precision', 'recall', 'f1'] as const) {
          close(
            report.macro[name],
            occurring.reduce((sum, one) => sum + one[name], 0) / occurring.length,
            `macro ${name}`,
          )
          close(report.micro[name], report.accuracy, `micro ${name}`)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('has the areas of two classes, for whichever is looked for, and the log loss', () => {
    fc.assert(
      fc.property(someRows, fc.constantFrom(0 as const, 1 as const), ({ classes, rows, cut }, positive) => {
        const report = evaluate(rows, classes, cut, { positive })
        const losses = rows.map(({ truth, probability }) => {
          const p = truth >= 0 && truth < classes ? probability : 0
          return -Math.log(Math.min(Math.max(p, 1e-15), 1 - 1e-15))
        })
        close(report.logLoss, losses.reduce((sum, loss) => sum + loss, 0) / rows.length)
        if (classes !== 2) {
          assert.deepEqual([report.rocArea, report.prArea, report.positive], [null, null, null])
          return
        }
        assert.equal(report.positive, NAMES[positive])
        const two = rows
          .filter(({ truth }) => truth === 0 || truth === 1)
          .map(row => ({ positive: row.truth === positive, score: positive === 0 ? row.score : -row.score }))
        const expected = { roc: rocByPairs(two), pr: averagePrecision(two) }
        assert.equal(report.rocArea === null, expected.roc === null)
        assert.equal(report.prArea === null, expected.pr === null)
        if (expected.roc !== null) close(report.rocArea, expected.roc)
        if (expected.pr !== null) close(report.prArea, expected.pr)
      }),
      { numRuns: 300 },
    )
  })

  it('of no rows is no failure', () => {
    const { rows, accuracy, confusion, macro, rocArea, prArea, logLoss } = new Evaluation(['1', '2']).report()
    assert.deepEqual(
      { rows, accuracy, confusion, macro, rocArea, prArea, logLoss },
      {
        rows: 0,
        accuracy: 0,
        confusion: {
          labels: ['1', '2'],
          counts: [
            [0, 0],
            [0, 0],
          ],
        },
        macro: { precision: 0, recall: 0, f1: 0 },
        rocArea: null,
        prArea: null,
        logLoss: null,
      },
    )
  })

  it('has no log loss when a part came without probabilities', () => {
    const evaluation = new Evaluation(['1', '2', '3'])
    evaluation.add({ truth: [0], predicted: [0], probabilities: [0.5] })
    close(evaluation.report().logLoss, Math.LN2)
    evaluation.add({ truth: [0], predicted: [0] })
    assert.equal(evaluation.report().logLoss, null)
  })

  it('takes what is no number for the worst', () => {
    const evaluation = new Evaluation(['1', '2'])
    evaluation.add({ truth: [0, 1], predicted: [0, 1], scores: [Number.NaN, -1], probabilities: [Number.NaN, 1] })
    const { rocArea, logLoss } = evaluation.report()
    assert.equal(rocArea, 0)
    close(logLoss, (-Math.log(1e-15) - Math.log(1 - 1e-15)) / 2)
  })

  it('names no more classes than somebody can read, and makes no matrix of very many', () => {
    const few = new Evaluation(['1', '2'])
    const numbers = Array.from({ length: 1200 }, (_, k) => few.otherClass(k + 10))
    assert.equal(Math.max(...numbers), 999)
    assert.equal(numbers.filter(number => number === -1).length, 1200 - 998)
    few.add({ truth: numbers, predicted: numbers.map(() => 0) })
    const { classes, confusion } = few.report()
    assert.deepEqual(
      [classes.length, classes[2].label, classes[1000].label, classes[1000].support],
      [1001, '10', 'other', 202],
    )
    assert.equal(confusion!.counts[1000][0], 202)
    const many = new Evaluation(Array.from({ length: 1001 }, (_, k) => String(k)))
    many.add({ truth: [1000, -1], predicted: [1000, 5] })
    const report = many.report()
    assert.deepEqual([report.confusion, report.accuracy, report.classes.length], [null, 0.5, 1002])
  })
})
