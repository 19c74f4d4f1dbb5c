// Calibrations against slow and simple minimisers of what they minimise.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Calibration, classProbabilities, fitCalibration, probabilityOf } from '../../src/model/calibration.ts'

interface Point {
  score: number
  positive: number
}

const fit = (kind: Calibration['kind'], points: Point[]): Calibration =>
  fitCalibration(
    kind,
    Float64Array.from(points, p => p.score),
    Uint8Array.from(points, p => p.positive),
  )

const points = (score: fc.Arbitrary<number>): fc.Arbitrary<Point[]> =>
  fc.array(fc.record({ score, positive: fc.nat(1) }), { minLength: 1, maxLength: 40 })

/** Platt's objective, written down as it is defined. */
function plattLoss(list: Point[], slope: number, offset: number): number {
  const positives = list.filter(p => p.positive).length
  const negatives = list.length - positives
  let sum = 0
  for (const { score, positive } of list) {
    const z = slope * score + offset
    const target = positive ? (positives + 1) / (positives + 2) : 1 / (negatives + 2)
    // −log p and −log(1 − p).
    const [up, down] = [-z, z].map(x => (x > 30 ? x : Math.log(1 + Math.exp(x))))
    sum += target * up + (1 - target) * down
  }
  return sum
}

/** The least value of a convex function. */
function golden(f: (x: number) => number, low: number, high: number): number {
  const ratio = (Math.sqrt(5) - 1) / 2
  let [a, b] = [low, high]
  let [x, y] = [b - ratio * (b - a), a + ratio * (b - a)]
  let [fx, fy] = [f(x), f(y)]
  for (let k = 0; k < 60; k++) {
    if (fx < fy) {
      b = y
      ;[y, fy] = [x, fx]
      x = b - ratio * (b - a)
      fx = f(x)
    } else {
      a = x
      ;[x, fx] = [y, fy]
      y = a + ratio * (b - a)
      fy = f(y)
    }
  }
  return Math.min(fx, fy)
}

describe("Platt's sigmoid", () => {
  // Scores a tenth apart: a slope of 100 tells any two of them apart as well as 40 rows can ask for.
  const tenths = fc.integer({ min: -30, max: 30 }).map(k => k / 10)

  it('has the least loss there is', () => {
    fc.assert(
      fc.property(points(tenths), list => {
        const found = fit('sigmoid', list)
        assert.ok(found.kind === 'sigmoid')
        const least = golden(a => golden(b => plattLoss(list, a, b), -400, 400), -120, 120)
        const loss = plattLoss(list, found.slope, found.offset)
        assert.ok(loss <= least + 1e-9 * (1 + least), `${loss} where ${least} is possible`)
        assert.ok(loss >= least - 1e-6 * (1 + least), `${loss} below ${least}`)
      }),
      { numRuns: 25 },
    )
  })

  it('does not depend on the size of the scores, nor on where their zero is', () => {
    fc.assert(
      fc.property(points(tenths), fc.constantFrom(1e-300, 1e-9, 3, 1e12, 1e300), (list, size) => {
        const plain = fit('sigmoid', list)
        const scaled = fit(
          'sigmoid',
          list.map(p => ({ ...p, score: p.score * size })),
        )
        for (const { score } of list) {
          const [p, q] = [probabilityOf(plain, score), probabilityOf(scaled, score * size)]
          assert.ok(Math.abs(p - q) < 1e-6, `${p} and ${q}`)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('stays finite whatever the scores are', () => {
    const wild = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(0, 1.7e308, -1.7e308, 5e-324),
    )
    fc.assert(
      fc.property(points(wild), list => {
        const found = fit('sigmoid', list)
        assert.ok(
          found.kind === 'sigmoid' && Number.isFinite(found.slope) && Number.isFinite(found.offset),
          JSON.stringify(found),
        )
        for (const { score } of list) {
          const p = probabilityOf(found, score)
          assert.ok(p >= 0 && p <= 1)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('knows classes that a score separates, and a score that says nothing', () => {
    const separated = Array.from({ length: 1000 }, (_, k) => ({
      score: k < 500 ? -1 - k : k,
      positive: k < 500 ? 0 : 1,
    }))
    const found = fit('sigmoid', separated)
    assert.ok(probabilityOf(found, 999) > 0.99 && probabilityOf(found, -500) < 0.01)
    const same = fit(
      'sigmoid',
      Array.from({ length: 10 }, (_, k) => ({ score: 4, positive: k < 3 ? 1 : 0 })),
    )
    assert.ok(same.kind === 'sigmoid' && same.slope === 0)
    // Three times 4/5 and seven times 1/9, in ten.
    assert.ok(Math.abs(probabilityOf(same, 4) - (3 * (4 / 5) + 7 / 9) / 10) < 1e-12)
  })
})

/** By the min-max formula: the largest mean to the left of the smallest mean to the right. */
function isotonicByFormula(list: Point[]): Map<number, number> {
  const scores = [...new Set(list.map(p => p.score + 0))].sort((a, b) => a - b)
  const groups = scores.map(score => list.filter(p => p.score === score))
  const mean = (from: number, to: number): number => {
    const all = groups.slice(from, to + 1).flat()
    return all.filter(p => p.positive).length / all.length
  }
  return new Map(
    scores.map((score, i) => {
      let best = -Infinity
      for (let a = 0; a <= i; a++) {
        let least = Infinity
        for (let b = i; b < scores.length; b++) least = Math.min(least, mean(a, b))
        best = Math.max(best, least)
      }
      return [score, best]
    }),
  )
}

describe('isotonic regression', () => {
  const few = fc.oneof(fc.integer({ min: -6, max: 6 }), fc.double({ noNaN: true, noDefaultInfinity: true }))

  it('is the one of the min-max formula', () => {
    fc.assert(
      fc.property(points(few), list => {
        const found = fit('isotonic', list)
        for (const [score, p] of isotonicByFormula(list)) {
          assert.ok(Math.abs(probabilityOf(found, score) - p) < 1e-12, `${score}: ${probabilityOf(found, score)}, ${p}`)
        }
      }),
      { numRuns: 200 },
    )
  })

  it('goes straight from pool to pool, level beyond the last, and never falls', () => {
    const found = fit('isotonic', [
      { score: 0, positive: 0 },
      { score: 1, positive: 1 },
      { score: 2, positive: 0 },
      { score: 4, positive: 1 },
    ])
    assert.deepEqual(found, { kind: 'isotonic', scores: [0, 1, 2, 4], probabilities: [0, 0.5, 0.5, 1] })
    const expected: [number, number][] = [
      [-9, 0],
      [0, 0],
      [0.5, 0.25],
      [1, 0.5],
      [1.7, 0.5],
      [3, 0.75],
      [4, 1],
      [1e308, 1],
    ]
    for (const [score, p] of expected) assert.equal(probabilityOf(found, score), p)
    assert.deepEqual(
      [-Infinity, Infinity, Number.NaN].map(score => probabilityOf(found, score)),
      [0, 1, Number.NaN],
    )
    fc.assert(
      fc.property(
        points(few),
        fc.array(fc.double({ noNaN: true }), { minLength: 2, maxLength: 20 }),
        (list, places) => {
          const fitted = fit('isotonic', list)
          const sorted = [...places, ...list.map(p => p.score)]
            .sort((a, b) => a - b)
            .map(score => probabilityOf(fitted, score))
          sorted.forEach((p, k) => {
            assert.ok(p >= 0 && p <= 1 && (k === 0 || p >= sorted[k - 1]), `${sorted}`)
          })
        },
      ),
      { numRuns: 200 },
    )
  })

  it('keeps points that a file can hold', () => {
    fc.assert(
      fc.property(points(fc.oneof(few, fc.constant(-0))), list => {
        const found = fit('isotonic', list)
        assert.deepEqual(JSON.parse(JSON.stringify(found)), found)
        assert.ok(found.kind === 'isotonic')
        found.scores.forEach((score, k) => {
          assert.ok(k === 0 || score > found.scores[k - 1])
        })
      }),
      { numRuns: 200 },
    )
  })
})

describe('fitting', () => {
  it('refuses what it cannot learn from', () => {
    const refused = (scores: number[], rows: number, words: RegExp): void =>
      assert.throws(() => fitCalibration('sigmoid', Float64Array.from(scores), new Uint8Array(rows)), {
        name: 'SpillwayError',
        message: words,
      })
    refused([], 0, /0 scores and 0 rows; expected as many of both, and at least one/)
    refused([1, 2], 3, /2 scores and 3 rows/)
    refused([1, Number.NaN], 2, /score 2 is NaN; calibration needs finite numbers/)
    assert.throws(
      () => fitCalibration('beta' as never, new Float64Array(1), new Uint8Array(1)),
      /expected one of sigmoid, isotonic/,
    )
  })
})

describe('probabilities of classes', () => {
  const half: Calibration = { kind: 'sigmoid', slope: 1, offset: 0 }

  it('are p and 1 − p of two, and shares of the sum of more', () => {
    const two = new Float64Array(2)
    classProbabilities([half], 2, [9, 2], 1, two)
    assert.deepEqual([...two], [1 / (1 + Math.exp(-2)), 1 - 1 / (1 + Math.exp(-2))])
    const three = new Float64Array(5)
    classProbabilities([half, half, { ...half, offset: 1 }], 3, [0, 2, -1], 0, three, 1)
    const own = [1 / 2, 1 / (1 + Math.exp(-2)), 1 / 2]
    const sum = own[0] + own[1] + own[2]
    assert.deepEqual([...three], [0, ...own.map(p => p / sum), 0])
  })

  it('are equal when no class is likely at all', () => {
    const out = new Float64Array(3)
    classProbabilities([half, half, half], 3, [-1e5, -1e6, -1e7], 0, out)
    assert.deepEqual([...out], [1 / 3, 1 / 3, 1 / 3])
  })
})
