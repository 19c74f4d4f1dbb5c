// Loops of methods that look at all rows before they move, against the formulas on plain arrays: with and without rows that are
// held out, rows whole and in parts.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findLoss } from '../../src/losses/all-losses.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { ProblemFields } from '../../src/numeric/fields/problem.ts'
import { ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32, SUMS_COUNT } from '../../src/numeric/layouts.ts'
import { BinaryObjective } from '../../src/optimise/objectives/binary.ts'
import { wholeGroup } from '../../src/optimise/sources/rows-in-memory.ts'
import { rowSetOf } from '../contracts/small-problems.ts'
import { randomNumbers, writeRow } from './reference.ts'

const FEATURES = 9
const N = FEATURES + 1
const ROWS = 50
const COSTS = { positive: 2, negative: 0.3 }
const BIAS = 1.5
const SMOOTHING = 0.4
const STEPS = [0.5, 1, 2]

/** Rows as vectors, the bias last; features in a mixed order, the same in every row, as renumbering leaves them. */
function someRows() {
  const random = randomNumbers(5)
  const order = Array.from({ length: FEATURES }, (_, j) => (j * 4 + 3) % FEATURES)
  return Array.from({ length: ROWS }, (_, i) => {
    const kind = [ROW_KIND_F32, ROW_KIND_CONSTANT, ROW_KIND_F32, ROW_KIND_DENSE][i % 4]
    const dense = kind === ROW_KIND_DENSE
    // Dense rows have their features as they stand.
    const indices = dense ? order.map((_, j) => j).slice(0, 1) : order.filter(() => random() < 0.5)
    const values = indices.map(() => (kind === ROW_KIND_CONSTANT ? 1 : Math.fround(random() * 2 - 1)))
    const x = new Array<number>(N).fill(0)
    for (const [k, j] of indices.entries()) x[j] = values[k]
    x[FEATURES] = BIAS
    return { kind, indices, values, x, positive: random() < 0.4, fold: i % 3 }
  })
}

const dot = (a: number[], b: number[]): number => a.reduce((sum, value, j) => sum + value * b[j], 0)

/** α and the second derivative of a row at a margin. The kink of the hinge is rounded. */
function derivatives(loss: string, margin: number, cost: number): { a: number; c: number } {
  if (loss === 'logistic') {
    const wrong = 1 / (1 + Math.exp(margin))
    return { a: cost * wrong, c: cost * wrong * (1 - wrong) }
  }
  const slack = Math.max(0, 1 - margin)
  if (loss === 'squared-hinge') return { a: 2 * cost * slack, c: slack > 0 ? 2 * cost : 0 }
  const within = slack > 0 && slack < SMOOTHING
  return { a: Math.min((cost * slack) / SMOOTHING, cost), c: within ? cost / SMOOTHING : 0 }
}

function close(found: ArrayLike<number>, expected: number[], what: string): void {
  const largest = Math.max(1, ...expected.map(Math.abs))
  for (const [k, value] of expected.entries())
    assert.ok(Math.abs(found[k] - value) <= 1e-12 * largest, `${what} ${k}: ${found[k]}, expected ${value}`)
}

function setUp(loss: string, heldOut: number | undefined) {
  const arena = new Arena()
  const rows = someRows()
  const records = rows.map(row => writeRow(arena, row.kind, row, { classNumber: row.positive ? 1 : 0 }))
  const set = rowSetOf(arena, records, FEATURES)
  const objective = new BinaryObjective(arena, set, {
    ...{ loss: findLoss(loss), costPositive: COSTS.positive, costNegative: COSTS.negative },
    ...{ bias: BIAS, positive: 1, weightBits: 64 as const, ...(heldOut !== undefined && { heldOut }) },
  })
  const folds = arena.allocate(ROWS, 'folds')
  arena.bytes(folds, ROWS).set(rows.map(({ fold }) => fold))
  const random = randomNumbers(6)
  const vector = () => Array.from({ length: N }, () => random() - 0.5)
  const [w, d] = [vector(), vector()]
  objective.weightsInPlace().set(w)
  const problem = objective.of({ ...wholeGroup(arena, set), folds })
  if (loss === 'hinge') new ProblemFields(arena, problem).smoothing = SMOOTHING
  const direction = arena.allocate(N * 8, 'd')
  arena.f64(direction, N).set(d)
  const seen = rows.filter(({ fold }) => fold !== heldOut)
  const terms = seen.map(({ x, positive }) => {
    const y = positive ? 1 : -1
    const cost = positive ? COSTS.positive : COSTS.negative
    return { x, y, cost, margin: y * dot(w, x), change: y * dot(d, x) }
  })
  const zeroed = (count: number): number => arena.allocateZeroed(count * 8, 'sums')
  return { arena, rows, problem, direction, w, terms, zeroed }
}

/** From..to of all rows, whole and in parts. */
const CUTS = [
  [0, ROWS],
  [0, 7, 8, 31, ROWS],
]

for (const loss of ['hinge', 'squared-hinge', 'logistic'])
  for (const heldOut of [undefined, 1])
    describe(`${loss}, ${heldOut === undefined ? 'all rows' : 'a fold held out'}`, () => {
      const each = (cut: number[], run: (from: number, to: number) => void): void =>
        cut.slice(1).forEach((to, k) => {
          run(cut[k], to)
        })

      it('gradient, diagonal, matrix and the sums of a certificate', () => {
        const { arena, problem, terms, zeroed } = setUp(loss, heldOut)
        const at = terms.map(({ margin, cost }) => derivatives(loss, margin, cost))
        const all = CUTS.map(cut => {
          const [v, diagonal, matrix, sums] = [zeroed(N), zeroed(N), zeroed(N * N), zeroed(SUMS_COUNT)]
          const scratch = zeroed(2 * N + 1)
          each(cut, (from, to) => arena.numeric.slopeRows(problem, from, to, v, diagonal, matrix, N, scratch, sums))
          arena.numeric.foldTriangles(matrix, N)
          return {
            v: [...arena.f64(v, N)],
            diagonal: [...arena.f64(diagonal, N)],
            matrix: [...arena.f64(matrix, N * N)],
            sums: [...arena.f64(sums, SUMS_COUNT)],
          }
        })
        assert.deepEqual(all[1], all[0])
        const [{ v, diagonal, matrix, sums }] = all
        const total = (term: (k: number, j: number) => number, j: number): number =>
          terms.reduce((sum, _, k) => sum + term(k, j), 0)
        const features = Array.from({ length: N }, (_, j) => j)
        close(
          v,
          features.map(j => total((k, j) => at[k].a * terms[k].y * terms[k].x[j], j)),
          'v',
        )
        close(
          diagonal,
          features.map(j => total((k, j) => at[k].c * terms[k].x[j] ** 2, j)),
          'diagonal',
        )
        for (const j of features)
          for (let i = 0; i <= j; i++)
            close([matrix[j * N + i]], [total(k => at[k].c * terms[k].x[i] * terms[k].x[j], 0)], `matrix ${j}, ${i}`)
        const losses = terms.map(({ margin, cost }) =>
          loss === 'logistic'
            ? cost * Math.log1p(Math.exp(-margin))
            : cost * Math.max(0, 1 - margin) ** (loss === 'hinge' ? 1 : 2),
        )
        close([sums[0]], [losses.reduce((sum, value) => sum + value, 0)], 'losses')
        const correct = terms.filter(({ y, margin }) => (y > 0 ? margin > 0 : margin >= 0)).length
        assert.equal(sums[3], correct)
        assert.equal(sums[4], at.filter(({ a }) => a > 0).length)
      })

      it('product and derivatives along a line', () => {
        const { arena, problem, direction, terms, zeroed } = setUp(loss, heldOut)
        const steps = zeroed(STEPS.length)
        arena.f64(steps, STEPS.length).set(STEPS)
        const all = CUTS.map(cut => {
          const [product, slopes] = [zeroed(N), zeroed(STEPS.length)]
          each(cut, (from, to) => {
            arena.numeric.curvatureRows(problem, from, to, direction, product)
            arena.numeric.lineRows(problem, from, to, direction, steps, STEPS.length, slopes)
          })
          return { product: [...arena.f64(product, N)], slopes: [...arena.f64(slopes, STEPS.length)] }
        })
        assert.deepEqual(all[1], all[0])
        const expected = new Array<number>(N).fill(0)
        for (const { x, y, margin, cost, change } of terms) {
          const { c } = derivatives(loss, margin, cost)
          for (const [j, value] of x.entries()) expected[j] += c * y * change * value
        }
        close(all[0].product, expected, 'product')
        const along = (t: number): number =>
          terms.reduce(
            (sum, { margin, change, cost }) => sum - derivatives(loss, margin + t * change, cost).a * change,
            0,
          )
        close(all[0].slopes, STEPS.map(along), 'slope')
      })

      it('scores of the rows that are held out, and of no others', () => {
        const { arena, problem, rows, w } = setUp(loss, heldOut)
        const column = arena.allocateZeroed(ROWS * 4, 'scores')
        arena.numeric.scoreHeldOutRows(problem, 0, ROWS, column)
        const expected = rows.map(({ x, fold }) => (fold === heldOut ? Math.fround(dot(w, x)) : 0))
        for (const [i, score] of arena.f32(column, ROWS).entries()) assert.ok(Math.abs(score - expected[i]) <= 1e-6)
      })
    })

describe('pieces', () => {
  it('are added in their order, and are empty afterwards', () => {
    const arena = new Arena()
    const random = randomNumbers(9)
    for (const count of [1, 2, 7, 8]) {
      const stride = 128
      const first = arena.allocate(3 * stride, 'pieces')
      const values = Array.from({ length: 3 }, () => Array.from({ length: count }, () => random() - 0.5))
      for (const [k, own] of values.entries()) arena.f64(first + k * stride, count).set(own)
      const to = arena.allocate(count * 8, 'a sum')
      arena.numeric.gatherPieces(to, first, 3, stride, count)
      assert.deepEqual(
        [...arena.f64(to, count)],
        values[0].map((x, j) => x + values[1][j] + values[2][j]),
      )
      for (let k = 0; k < 3; k++) assert.ok(arena.f64(first + k * stride, count).every(x => x === 0))
    }
  })
})
