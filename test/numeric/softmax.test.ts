// The loops of multinomial logistic regression, over every kind of row: value, gradient and products against differences of a
// plain objective, the diagonal against products, and the duality gap against the length of the gradient.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ALONG_BYTES } from '../../src/numeric/along-layout.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { BUNDLE_LANES } from '../../src/numeric/bundle-layout.ts'
import {
  TOGETHER_BIAS,
  TOGETHER_BIAS_WEIGHTS,
  TOGETHER_BYTES,
  TOGETHER_CLASSES,
  TOGETHER_COSTS,
  TOGETHER_PLACES,
  TOGETHER_ROW_WEIGHTS,
  TOGETHER_ROWS,
  TOGETHER_STRIDE,
  TOGETHER_WEIGHTS,
} from '../../src/numeric/crammer-singer-layout.ts'
import { AlongFields } from '../../src/numeric/fields/along.ts'
import { ROW_KIND_CODED, ROW_KIND_CONSTANT, SUMS_BYTES } from '../../src/numeric/layouts.ts'
import { even } from '../../src/optimise/objectives/all-classes.ts'
import { MULTIPLES } from '../../src/optimise/objectives/line-search.ts'
import { allRowKinds, type Entries, randomNumbers, seed, writeRow } from './reference.ts'

const FEATURES = 12
const SCALE = 0.75

interface PlainRow extends Entries {
  label: number
  cost: number
}

const close = (found: number, wanted: number, most: number, what: string): void =>
  assert.ok(Math.abs(found - wanted) <= most, `${what}: found ${found}, expected ${wanted}`)

/** Rows of every kind, a problem over them in the arena, and the same as plain numbers. Weights stand w[j · even(K) + k]. */
class Problem {
  readonly arena = new Arena()
  readonly rows: PlainRow[] = []
  readonly count: number
  readonly problem: number
  readonly weights: number
  readonly sums: number
  readonly room: number
  readonly classes: number
  readonly bias: number
  readonly random: () => number

  constructor(classes: number, bias: number, seed: number, size = 1) {
    const { arena } = this
    this.classes = classes
    this.bias = bias
    this.random = randomNumbers(seed)
    const stride = even(classes) * 8
    this.count = (FEATURES + 1) * even(classes)
    const costs = Array.from({ length: classes }, (_, k) => 0.5 + k / 4)
    // Class numbers of rows are not the places of the model.
    const places = Array.from({ length: classes }, (_, k) => (k + 1) % classes)
    const addresses: number[] = []
    const rowWeights: number[] = []
    for (let i = 0; i < 3 * allRowKinds.length; i++) {
      const kind = allRowKinds[i % allRowKinds.length]
      const classNumber = Math.floor(this.random() * classes)
      const row = this.#row(kind)
      addresses.push(writeRow(arena, kind, row, { scale: SCALE, classNumber }))
      rowWeights.push(1 + (i % 3))
      const label = places[classNumber]
      this.rows.push({ ...row, label, cost: costs[label] * rowWeights[i] })
    }
    const words = (values: number[]): number => {
      const at = arena.allocate(values.length * 4, 'words')
      arena.u32(at, values.length).set(values)
      return at
    }
    this.weights = this.vector(() => size * (this.random() - 0.5))
    this.sums = arena.allocate(SUMS_BYTES, 'sums')
    this.room = arena.allocate(stride * 3, 'room')
    arena.f64(this.room, even(classes) * 3).fill(Number.NaN)
    this.problem = arena.allocateZeroed(TOGETHER_BYTES, 'the problem')
    const set = (offset: number, value: number): void => arena.setU32(this.problem + offset, value)
    set(TOGETHER_ROWS, words(addresses))
    set(TOGETHER_CLASSES, classes)
    set(TOGETHER_STRIDE, stride)
    set(TOGETHER_WEIGHTS, this.weights)
    set(TOGETHER_BIAS_WEIGHTS, this.weights + FEATURES * stride)
    set(TOGETHER_PLACES, words(places))
    set(TOGETHER_COSTS, this.numbers(costs))
    set(TOGETHER_ROW_WEIGHTS, this.numbers(rowWeights))
    arena.setF64(this.problem + TOGETHER_BIAS, bias)
  }

  #row(kind: number): Entries {
    const indices = Array.from({ length: FEATURES }, (_, j) => j).filter(() => this.random() < 0.5)
    const value = (): number => {
      if (kind === ROW_KIND_CONSTANT) return 1
      return kind === ROW_KIND_CODED ? 0.5 + Math.floor(this.random() * 4) : Math.fround(this.random() - 0.5)
    }
    return { indices, values: indices.map(value) }
  }

  numbers(values: number[]): number {
    const at = this.arena.allocate(values.length * 8, 'numbers')
    this.arena.f64(at, values.length).set(values)
    return at
  }

  /** As long as the weights; 0 for a class too many, and for the bias where there is none. */
  vector(value: (k: number) => number): number {
    const stride = even(this.classes)
    const last = (this.bias === 0 ? FEATURES : FEATURES + 1) * stride
    const used = (k: number): boolean => k % stride < this.classes && k < last
    return this.numbers(Array.from({ length: this.count }, (_, k) => (used(k) ? value(k) : 0)))
  }

  view(at: number): Float64Array {
    return this.arena.f64(at, this.count)
  }

  scores({ indices, values }: PlainRow, w: ArrayLike<number>): number[] {
    const stride = even(this.classes)
    return Array.from({ length: this.classes }, (_, k) =>
      indices.reduce((sum, j, e) => sum + SCALE * values[e] * w[j * stride + k], this.bias * w[FEATURES * stride + k]),
    )
  }

  losses(w: ArrayLike<number>): number {
    return this.rows.reduce((sum, row) => {
      const scores = this.scores(row, w)
      const highest = Math.max(...scores)
      const powers = scores.reduce((total, score) => total + Math.exp(score - highest), 0)
      return sum + row.cost * (Math.log(powers) + highest - scores[row.label])
    }, 0)
  }

  /** v = Σ α x, minus the gradient of the losses. */
  slope(): { v: number[]; diagonal: number[]; sums: number[] } {
    const { arena } = this
    const [v, diagonal] = [this.vector(() => 0), this.vector(() => 0)]
    arena.numeric.slopeSoftmax(this.problem, 0, this.rows.length, v, diagonal, 0, this.count, 0, this.sums, this.room)
    return { v: [...this.view(v)], diagonal: [...this.view(diagonal)], sums: [...arena.f64(this.sums, SUMS_BYTES / 8)] }
  }

  product(d: number): number[] {
    const to = this.vector(() => 0)
    this.arena.numeric.curvatureSoftmax(this.problem, 0, this.rows.length, d, to, this.room)
    return [...this.view(to)]
  }
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, x, k) => sum + x * b[k], 0)

describe('the softmax of all classes', () => {
  for (const classes of [2, 3, 4, 5, 8, 11, 16, 17, 31]) {
    for (const bias of [0, 1.5]) {
      const made = (): Problem => new Problem(classes, bias, seed + classes)
      it(`${classes} classes, bias ${bias}: value and gradient`, () => {
        const problem = made()
        const { v, sums } = problem.slope()
        const w = problem.view(problem.weights)
        close(sums[0], problem.losses(w), 1e-12 * sums[0], 'losses')
        const step = 1e-5
        for (let k = 0; k < problem.count; k++) {
          const [ahead, behind] = [[...w], [...w]]
          ahead[k] += step
          behind[k] -= step
          const used = problem.view(problem.vector(() => 1))[k] === 1
          const wanted = used ? (problem.losses(ahead) - problem.losses(behind)) / (2 * step) : 0
          close(-v[k], wanted, 2e-8, `derivative ${k}`)
        }
        const right = problem.rows.filter(row => {
          const scores = problem.scores(row, w)
          const best = classes === 2 ? (scores[0] > 0 ? 0 : 1) : scores.indexOf(Math.max(...scores))
          return best === row.label
        })
        assert.deepEqual(sums.slice(3, 5), [right.length, problem.rows.length])
      })

      it(`${classes} classes, bias ${bias}: products and diagonal`, () => {
        const problem = made()
        const d = problem.vector(() => problem.random() - 0.5)
        const product = problem.product(d)
        const before = [...problem.view(problem.weights)]
        const slopeAt = (t: number): number[] => {
          const direction = problem.view(d)
          problem.view(problem.weights).set(before.map((x, k) => x + t * direction[k]))
          const { v } = problem.slope()
          problem.view(problem.weights).set(before)
          return v
        }
        const [ahead, behind] = [slopeAt(1e-5), slopeAt(-1e-5)]
        for (const [k, found] of product.entries()) close(found, (behind[k] - ahead[k]) / 2e-5, 2e-8, `product ${k}`)
        const { diagonal } = problem.slope()
        for (let k = 0; k < problem.count; k++) {
          const unit = problem.vector(j => (j === k ? 1 : 0))
          close(diagonal[k], problem.product(unit)[k], 1e-12, `diagonal ${k}`)
        }
      })

      it(`${classes} classes, bias ${bias}: the gap is half the squared length of the gradient`, () => {
        const problem = made()
        const { v, sums } = problem.slope()
        const w = problem.view(problem.weights)
        // The dual by its formula, of b = C p.
        let entropy = 0
        let alphaScore = 0
        for (const row of problem.rows) {
          const scores = problem.scores(row, w)
          const powers = scores.map(Math.exp)
          const sum = powers.reduce((a, b) => a + b)
          for (const [k, power] of powers.entries()) {
            const b = (row.cost * power) / sum
            entropy -= b * Math.log(b / row.cost)
            alphaScore += ((k === row.label ? row.cost : 0) - b) * scores[k]
          }
        }
        close(sums[1], entropy, 1e-12 * entropy, 'the dual part')
        close(sums[2], alphaScore, 1e-11 * (1 + Math.abs(alphaScore)), 'α s')
        const primal = 0.5 * dot(w, w) + sums[0]
        const dual = sums[1] - 0.5 * dot(v, v)
        const gradient = v.map((x, k) => w[k] - x)
        close(primal - dual, 0.5 * dot(gradient, gradient), 1e-11 * primal, 'the gap')
        problem.arena.numeric.evaluateSoftmax(problem.problem, 0, problem.rows.length, problem.room, problem.sums)
        assert.deepEqual([...problem.arena.f64(problem.sums, sums.length)], sums)
      })
    }
  }

  it('losses along the weights', () => {
    for (const classes of [2, 5]) {
      const problem = new Problem(classes, 1, seed, 4)
      const { arena, weights } = problem
      const at = arena.allocateZeroed(ALONG_BYTES, 'a look')
      const fields = new AlongFields(arena, at)
      fields.multiples.set(MULTIPLES)
      fields.tried = MULTIPLES.length
      arena.numeric.alongSoftmax(problem.problem, 0, problem.rows.length, problem.room, at)
      for (const [k, t] of MULTIPLES.entries()) {
        const wanted = problem.losses(problem.view(weights).map(x => t * x))
        close(fields.losses[k * BUNDLE_LANES], wanted, 1e-12 * wanted, `losses at ${t}`)
      }
    }
  })

  it('scores of thousands overflow nowhere, and small shares keep their digits', () => {
    const far = new Problem(5, 1, 9, 1e5)
    const { v, diagonal, sums } = far.slope()
    const w = far.view(far.weights)
    assert.ok([...v, ...diagonal, ...sums].every(Number.isFinite))
    close(sums[0], far.losses(w), 1e-9 * sums[0], 'losses')
    // One class is nearly certain: what is left of its share is e^-40, which 1 − p would have lost.
    const sure = new Problem(2, 1, 9, 0)
    const stride = even(2)
    const [row] = sure.rows
    sure.view(sure.weights)[FEATURES * stride + row.label] = 40
    const [to, room] = [sure.vector(() => 0), sure.room]
    sure.arena.numeric.slopeSoftmax(sure.problem, 0, 1, to, 0, 0, 0, 0, sure.sums, room)
    const wanted = row.cost * Math.exp(-40)
    close(sure.view(to)[FEATURES * stride + row.label], wanted, 1e-12 * wanted, 'α of its own class')
    close(sure.arena.f64(sure.sums, 1)[0], wanted, 1e-12 * wanted, 'its loss')
  })
})
