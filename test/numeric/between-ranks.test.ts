// What ranks do between two passes, against plain arrays: sums along a step, slopes of free rows, products with second derivatives,
// and moves that end at a bound.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Arena } from '../../src/numeric/arena.ts'
import { PROBLEM_ALPHA, PROBLEM_WEIGHTS, ROW_KIND_F64 } from '../../src/numeric/layouts.ts'
import { type PlainProblem, score, writeProblem } from './dual-reference.ts'
import { randomNumbers, writeRow } from './reference.ts'

const FEATURES = 7
const ROWS = 40

function make(arena: Arena, loss: 'hinge' | 'squared' | 'logistic', seed: number) {
  const random = randomNumbers(seed)
  const diagonal = loss === 'squared' ? 0.25 : 0
  const bound = loss === 'squared' ? Number.POSITIVE_INFINITY : 2
  const problem: PlainProblem = {
    ...{ rows: [], features: FEATURES, bias: 0.5, logistic: loss === 'logistic', rest: [] },
    ...{ boundPositive: bound, boundNegative: bound, diagonalPositive: diagonal, diagonalNegative: 2 * diagonal },
    alpha: [],
    w: Array.from({ length: FEATURES + 1 }, () => random() - 0.5),
  }
  const table = arena.allocate(ROWS * 4, 'test table')
  for (let i = 0; i < ROWS; i++) {
    const indices = Array.from({ length: FEATURES }, (_, k) => k).filter(() => random() < 0.5)
    const values = indices.map(() => random() * 2 - 1)
    const positive = random() < 0.5
    arena.u32(table, ROWS)[i] = writeRow(
      arena,
      ROW_KIND_F64,
      { indices, values },
      { scale: 1, classNumber: positive ? 1 : 0 },
    )
    problem.rows.push({ indices, values, positive })
    const atBound = loss !== 'logistic' && random() < 0.4
    const a = atBound ? (random() < 0.5 || loss === 'squared' ? 0 : 2) : 0.01 + 1.9 * random()
    problem.alpha.push(a)
    problem.rest.push(2 - a)
  }
  return { problem, random, at: writeProblem(arena, problem, table, 1, 8) }
}

const near = (found: number, expected: number, what: string): void =>
  assert.ok(Math.abs(found - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${what}: ${found}, not ${expected}`)
const diagonalOf = (p: PlainProblem, i: number): number =>
  p.rows[i].positive ? p.diagonalPositive : p.diagonalNegative
const xlogx = (x: number): number => (x > 0 ? x * Math.log(x / 2) : 0)

/** The separable part of the dual at some dual variables. */
const separable = (p: PlainProblem, alpha: number[]): number =>
  alpha.reduce((sum, a, i) => {
    return sum + (p.logistic ? -xlogx(a) - xlogx(2 - a) : a - 0.5 * diagonalOf(p, i) * a * a)
  }, 0)

for (const loss of ['hinge', 'squared', 'logistic'] as const) {
  describe(`between ranks, ${loss}`, () => {
    const arena = new Arena()
    const { numeric } = arena
    const { problem, random, at } = make(arena, loss, 7)
    const stride = loss === 'logistic' ? 2 : 1
    const list = (): number => arena.allocateZeroed(ROWS * 8, 'test')
    const alphaAt = arena.getU32(at + PROBLEM_ALPHA)
    const alphas = (): number[] => [...arena.f64(alphaAt, ROWS * stride)].filter((_, k) => k % stride === 0)

    it('slopes of free rows, and products with second derivatives', () => {
      const [slopes, seconds, moves, product] = [list(), list(), list(), list()]
      numeric.freeRows(at, 0, ROWS, slopes, seconds, 0)
      const u = arena.allocateZeroed((FEATURES + 1) * 8, 'test')
      arena.f64(moves, ROWS).set(problem.rows.map(() => random() - 0.5))
      for (let i = 0; i < ROWS; i++) if (arena.f64(seconds, ROWS)[i] < 0) arena.f64(moves, ROWS)[i] = 0
      numeric.addMoves(at, 0, ROWS, moves, u)
      numeric.timesMoves(at, 0, ROWS, moves, seconds, u, product)
      const sum = new Array<number>(FEATURES + 1).fill(0)
      problem.rows.forEach(({ indices, values, positive }, i) => {
        const step = arena.f64(moves, ROWS)[i] * (positive ? 1 : -1)
        for (const [k, index] of indices.entries()) sum[index] += step * values[k]
        sum[FEATURES] += step * problem.bias
      })
      problem.rows.forEach((row, i) => {
        const [a, y] = [problem.alpha[i], row.positive ? 1 : -1]
        const isFree = loss === 'logistic' || (a > 0 && a < problem.boundPositive)
        const margin = y * score(problem, row)
        const slope = loss === 'logistic' ? Math.log((2 - a) / a) - margin : 1 - margin - diagonalOf(problem, i) * a
        const second = loss === 'logistic' ? 1 / a + 1 / (2 - a) : diagonalOf(problem, i)
        near(arena.f64(slopes, ROWS)[i], isFree ? slope : 0, `slope of row ${i}`)
        near(arena.f64(seconds, ROWS)[i], isFree ? second : -1, `second derivative of row ${i}`)
        const along = y * score({ ...problem, w: sum }, row) + second * arena.f64(moves, ROWS)[i]
        near(arena.f64(product, ROWS)[i], isFree ? along : 0, `product of row ${i}`)
      })
      assert.notEqual(arena.getU32(at + PROBLEM_WEIGHTS), u)
    })

    it('moves end at bounds, and sums tell what a step does', () => {
      const before = arena.allocate(ROWS * stride * 8, 'test')
      arena.bytes(before, ROWS * stride * 8).set(arena.bytes(alphaAt, ROWS * stride * 8))
      const old = alphas()
      const moves = list()
      const wanted = problem.rows.map(() => 3 * (random() - 0.5))
      arena.f64(moves, ROWS).set(wanted)
      numeric.makeMoves(at, 0, ROWS, moves)
      alphas().forEach((a, i) => {
        const next = old[i] + wanted[i]
        const cut =
          loss === 'logistic'
            ? old[i] + Math.min(Math.max(wanted[i], -0.9 * old[i]), 0.9 * (2 - old[i]))
            : Math.min(Math.max(next, 0), problem.boundPositive)
        near(a, cut, `row ${i}`)
        near(arena.f64(moves, ROWS)[i], a - old[i], `move of row ${i}`)
      })
      const sums = arena.allocateZeroed(3 * 8, 'test')
      numeric.stepSums(at, 0, ROWS, before, 0, sums)
      const [first, last, slope] = arena.f64(sums, 3)
      const [diagonals, listed] = [list(), arena.allocateZeroed(3 * 8, 'test')]
      numeric.listDiagonals(at, 0, ROWS, diagonals)
      numeric.stepSums(at, 0, ROWS, before, diagonals, listed)
      assert.deepEqual([...arena.f64(listed, 3)], [first, last, slope], 'the same by a list of diagonals')
      near(first, separable(problem, old), 'before')
      near(last, separable(problem, alphas()), 'behind')
      const next = alphas()
      const along = (t: number): number[] => old.map((a, i) => a + t * (next[i] - a))
      const difference = (separable(problem, along(1e-6)) - separable(problem, old)) / 1e-6
      assert.ok(Math.abs(slope - difference) < 1e-3 * Math.max(1, Math.abs(slope)), `${slope}, not ${difference}`)
      if (loss === 'logistic')
        near(numeric.entropyAlong(alphaAt, before, 0.3, ROWS), separable(problem, along(0.3)), 'on the way')
      numeric.moveTowards(alphaAt, before, 0.25, ROWS * stride)
      const middle = along(0.25)
      for (const [i, a] of alphas().entries()) near(a, middle[i], `a quarter of the way, row ${i}`)
    })
  })
}
