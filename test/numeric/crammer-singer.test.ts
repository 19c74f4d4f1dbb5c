// The loops of Crammer and Singer's problem: a row's subproblem against a slow solver of the same quadratic problem, and
// scores and steps of every kind of row against loops over plain arrays.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import { ROW_KIND_CODED, ROW_KIND_CONSTANT } from '../../src/numeric/layouts.ts'
import { allRowKinds, type Entries, randomNumbers, seed, writeRow } from './reference.ts'

/** min ½A Σ b² − Σ v b over b ≥ 0, Σ b = C: moves mass from the worst class that has some to the best, again and again. */
function slowSimplex(v: number[], A: number, C: number): number[] {
  const b = v.map((_, k) => (k === 0 ? C : 0))
  for (let step = 0; step < 200_000; step++) {
    const gradient = b.map((x, k) => A * x - v[k])
    let [worst, best] = [-1, 0]
    for (let k = 0; k < v.length; k++) {
      if (b[k] > 0 && (worst < 0 || gradient[k] > gradient[worst])) worst = k
      if (gradient[k] < gradient[best]) best = k
    }
    const slope = gradient[worst] - gradient[best]
    if (slope <= 1e-13 * (1 + Math.abs(gradient[worst]))) break
    const move = Math.min(b[worst], slope / (2 * A))
    b[best] += move
    b[worst] = move === b[worst] ? 0 : b[worst] - move
  }
  return b
}

describe("a row's subproblem", () => {
  const arena = new Arena()
  const mark = arena.mark()
  const solve = (v: number[], A: number, C: number): number[] => {
    arena.release(mark)
    const values = arena.allocate(v.length * 8, 'values')
    const scratch = arena.allocate(v.length * 4, 'scratch')
    arena.f64(values, v.length).set(v)
    arena.numeric.solveSimplex(values, v.length, A, C, scratch)
    return [...arena.f64(values, v.length)]
  }
  const positive = fc.double({ min: 0.01, max: 100, noNaN: true })
  it('is solved to the same point as by a slow method', () => {
    const value = fc.oneof(fc.double({ min: -5, max: 5, noNaN: true }), fc.constantFrom(0, 1, 1 + 1e-9))
    fc.assert(
      fc.property(fc.array(value, { minLength: 2, maxLength: 24 }), positive, positive, (v, A, C) => {
        const found = solve(v, A, C)
        const expected = slowSimplex(v, A, C)
        for (const [k, b] of found.entries()) {
          assert.ok(b >= 0 && b <= C)
          assert.ok(Math.abs(b - expected[k]) <= 1e-9 * (C + 1 / A), `b[${k}] is ${b}, expected ${expected[k]}`)
        }
        const sum = found.reduce((total, b) => total + b, 0)
        assert.ok(Math.abs(sum - C) <= 1e-12 * C * v.length + 1e-13 * (10 / A), `they sum to ${sum}, not to ${C}`)
      }),
      { seed, numRuns: 500 },
    )
  })
  it('is exact where the answer is plain', () => {
    assert.deepEqual(solve([3, 0, 0], 1, 1), [1, 0, 0])
    assert.deepEqual(solve([2, 2], 4, 3), [1.5, 1.5])
    assert.deepEqual(solve([1e6, 1e6 - 1], 1e-12, 0.3), [0.3, 0])
    const many = solve(Array(5000).fill(1), 2, 10)
    for (const b of many) assert.ok(Math.abs(b - 10 / 5000) <= 1e-15)
  })
})

describe('scores and steps of all classes', () => {
  const arena = new Arena()
  const FEATURES = 50
  const random = randomNumbers(seed)
  const someRow = (kind: number): Entries => {
    const indices = Array.from({ length: FEATURES }, (_, j) => j).filter(() => random() < 0.4)
    const value = (): number =>
      kind === ROW_KIND_CONSTANT
        ? 1
        : kind === ROW_KIND_CODED
          ? 0.5 + Math.floor(random() * 4)
          : Math.fround(random() - 0.5)
    return { indices, values: indices.map(value) }
  }
  for (const classes of [2, 3, 4, 7, 10, 15, 16, 17, 20, 26, 33, 64, 131]) {
    it(`${classes} classes, every kind of row`, () => {
      const even = classes + (classes & 1)
      for (const kind of allRowKinds) {
        for (const bias of [0, 1.5]) {
          const mark = arena.mark()
          const row = someRow(kind)
          const scale = 0.75
          const at = writeRow(arena, kind, row, { scale })
          const w = arena.allocate((FEATURES + 1) * even * 8, 'weights')
          const view = arena.f64(w, (FEATURES + 1) * even)
          for (let k = 0; k < view.length; k++) view[k] = k % even < classes ? random() - 0.5 : 0
          const plain = [...view]
          const biasAt = w + FEATURES * even * 8
          const expected = Array.from({ length: classes }, (_, k) => {
            let sum = 0
            for (const [e, j] of row.indices.entries()) sum += scale * row.values[e] * plain[j * even + k]
            return sum + bias * plain[FEATURES * even + k]
          })
          const out = arena.allocate(even * 8, 'scores')
          arena.numeric.scoreTogether(at, w, even * 8, biasAt, bias, out)
          const close = (found: number, wanted: number): void =>
            assert.ok(Math.abs(found - wanted) <= 1e-12, `found ${found}, expected ${wanted}`)
          for (let k = 0; k < classes; k++) close(arena.f64(out, classes)[k], expected[k])

          const some = Array.from({ length: classes }, (_, k) => k).filter(k => k % 3 !== 1)
          const list = arena.allocate(even * 4, 'a list')
          arena.u32(list, some.length).set(some)
          arena.numeric.scoreSome(at, w, even * 8, biasAt, bias, list, some.length, out)
          for (const [p, k] of some.entries()) close(arena.f64(out, classes)[p], expected[k])

          const steps = some.map(() => random() - 0.5)
          const stepsAt = arena.allocate(even * 8, 'steps')
          arena.f64(stepsAt, steps.length).set(steps)
          arena.numeric.addSome(at, w, even * 8, biasAt, bias, list, some.length, stepsAt)
          for (const [p, k] of some.entries()) {
            for (const [e, j] of row.indices.entries()) plain[j * even + k] += scale * row.values[e] * steps[p]
            plain[FEATURES * even + k] += bias * steps[p]
          }
          for (let k = 0; k < view.length; k++) close(view[k], plain[k])
          arena.release(mark)
        }
      }
    })
  }
})
