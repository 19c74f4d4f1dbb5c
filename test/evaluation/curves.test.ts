// Curves of a ranking against their definition, row by row, and the areas under them; thinned to what a page shows.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { curveAreas } from '../../src/evaluation/areas.ts'
import { curvesOf } from '../../src/evaluation/curves.ts'
import { Evaluation } from '../../src/evaluation/evaluation.ts'

/** Scores that overlap, some of them equal. */
function someScores(count: number, shift: number): Float64Array {
  return Float64Array.from({ length: count }, (_, k) => Math.round(100 * (Math.sin(k * 12.9898 + shift) + shift)) / 100)
}

const area = (points: [number, number][]): number =>
  points.slice(1).reduce((sum, [x, y], k) => sum + ((x - points[k][0]) * (y + points[k][1])) / 2, 0)

describe('curves', () => {
  it('are those of every threshold', () => {
    const [positives, negatives] = [Float64Array.of(0, 1, 2, 2), Float64Array.of(-1, 0, 2)]
    const { roc, precisionRecall } = curvesOf(positives, negatives)
    assert.deepEqual(roc, [
      [0, 0],
      [1 / 3, 0.5],
      [1 / 3, 0.75],
      [2 / 3, 1],
      [1, 1],
    ])
    assert.deepEqual(precisionRecall, [
      [0.5, 2 / 3],
      [0.75, 0.75],
      [1, 4 / 6],
      [1, 4 / 7],
    ])
  })

  it('have 400 points at most, and still the area of the whole', () => {
    const [positives, negatives] = [someScores(30_000, 0.7), someScores(50_000, 0)]
    const areas = curveAreas(positives, negatives)
    const { roc, precisionRecall } = curvesOf(positives, negatives)
    assert.ok(roc!.length <= 400 && precisionRecall!.length <= 400)
    assert.ok(Math.abs(area(roc!) - areas.roc!) < 1e-3)
    assert.ok(Math.abs(area([[0, precisionRecall![0][1]], ...precisionRecall!]) - areas.pr!) < 5e-3)
  })

  it('are none where a class has no rows', () => {
    assert.deepEqual(curvesOf(Float64Array.of(1), new Float64Array()), {})
  })

  it('of an evaluation are about the class that the areas are about', () => {
    const evaluation = new Evaluation(['a', 'b'], { positive: 1 })
    const [truth, predicted] = [
      [0, 1, 1],
      [0, 0, 1],
    ]
    evaluation.add({ truth, predicted, scores: [3, 1, -2], probabilities: [0.9, 0.25, 0.95] })
    const { roc, calibration } = evaluation.curves()
    assert.deepEqual(roc!.at(-1), [1, 1])
    assert.equal(area(roc!), evaluation.report().rocArea)
    assert.deepEqual(
      calibration!.map(({ observed, rows }) => [observed, rows]),
      [
        [0, 1],
        [1, 1],
        [1, 1],
      ],
    )
    assert.deepEqual(new Evaluation(['a', 'b', 'c']).curves(), {})
  })
})
