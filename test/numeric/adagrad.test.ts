// Stochastic gradients with a step size for each feature, against the same on plain arrays.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findLoss } from '../../src/losses/all-losses.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32 } from '../../src/numeric/layouts.ts'
import { BinaryObjective } from '../../src/optimise/objectives/binary.ts'
import { wholeGroup } from '../../src/optimise/sources/rows-in-memory.ts'
import { rowSetOf } from '../contracts/small-problems.ts'
import { randomNumbers, writeRow } from './reference.ts'

const FEATURES = 12

interface PlainRow {
  indices: number[]
  values: number[]
  kind: number
  positive: boolean
}

function someRows(count: number, start: number): PlainRow[] {
  const random = randomNumbers(start)
  return Array.from({ length: count }, (_, i) => {
    const kind = [ROW_KIND_F32, ROW_KIND_DENSE, ROW_KIND_CONSTANT][i % 3]
    const keep = kind === ROW_KIND_DENSE ? 1 : i % 7 === 5 ? 0 : 0.4
    const indices = Array.from({ length: FEATURES }, (__, j) => j).filter(() => random() < keep)
    // Features of very different size, and some zeros among dense ones.
    const value = (j: number): number => (random() < 0.1 ? 0 : Math.fround((random() * 2 - 1) * 10 ** (j % 4)))
    const values = indices.map(j => (kind === ROW_KIND_CONSTANT ? 1 : value(j)))
    return { indices, values, kind, positive: random() < 0.4 }
  })
}

/** The same in plain words: w after the rows. */
function reference(rows: PlainRow[], logistic: boolean, costs: [number, number], bias: number): number[] {
  const zeros = () => new Array<number>(FEATURES + 1).fill(0)
  const [w, squares, sizes] = [zeros(), zeros(), zeros()]
  let [seen, norms] = [0, 0]
  for (const { indices, values, positive } of rows) {
    const entries = [...indices.map((j, k) => [j, values[k]]), [FEATURES, bias]].filter(([, x]) => x !== 0)
    for (const [j, x] of entries) {
      if (Math.abs(x) > sizes[j]) {
        w[j] *= sizes[j] / Math.abs(x)
        sizes[j] = Math.abs(x)
      }
      norms += (x / sizes[j]) ** 2
    }
    seen++
    const y = positive ? 1 : -1
    const cost = costs[positive ? 0 : 1]
    const margin = y * entries.reduce((sum, [j, x]) => sum + w[j] * x, 0)
    const slope = (m: number): number => (logistic ? cost / (1 + Math.exp(m)) : 2 * cost * Math.max(0, 1 - m))
    if (slope(margin) === 0 || norms === 0) continue
    const rate = 0.5 * Math.sqrt(seen / norms)
    const steps = entries.map(([j, x]) => {
      squares[j] += (slope(margin) * x) ** 2
      return [j, (rate * x) / (rate + sizes[j] * Math.sqrt(squares[j]))]
    })
    const reach = steps.reduce((sum, [, step], k) => sum + step * entries[k][1], 0)
    // a = slope(m + a reach), by halving.
    let [low, high] = [0, slope(margin)]
    for (let round = 0; round < 60; round++) {
      const a = (low + high) / 2
      if (a < slope(margin + a * reach)) low = a
      else high = a
    }
    for (const [j, step] of steps) w[j] += y * low * step
  }
  return w
}

describe('stochastic gradients', () => {
  for (const loss of ['squared-hinge', 'logistic'])
    for (const bias of [0, 1.5])
      it(`${loss}, bias ${bias}: the weights of the reference, in one piece and in two`, () => {
        const costs: [number, number] = [2, 0.3]
        const rows = someRows(60, 11)
        const arena = new Arena()
        const records = rows.map(row => writeRow(arena, row.kind, row, { classNumber: row.positive ? 1 : 0 }))
        const ofClass = { costPositive: costs[0], costNegative: costs[1], bias, positive: 1, weightBits: 64 as const }
        const objective = (set: ReturnType<typeof rowSetOf>) =>
          new BinaryObjective(arena, set, { loss: findLoss(loss), ...ofClass })
        const run = (parts: number[][]): number[] => {
          const n = FEATURES + 1
          const [w, state] = [arena.allocateZeroed(n * 8, 'w'), arena.allocateZeroed(16 + n * 28, 'a state')]
          for (const part of parts) {
            const set = rowSetOf(arena, part, FEATURES)
            const group = wholeGroup(arena, set)
            arena.numeric.adagradRows(objective(set).of(group), 0, part.length, w, n, state)
          }
          return [...arena.f64(w, n)]
        }
        const whole = run([records])
        const expected = reference(rows, loss === 'logistic', costs, bias)
        // The loop halves twelve times only.
        const close = loss === 'logistic' ? 5e-3 : 1e-12
        const largest = Math.max(...expected.map(Math.abs))
        whole.forEach((x, j) => {
          assert.ok(Math.abs(x - expected[j]) <= close * largest, `weight ${j}: ${x}, expected ${expected[j]}`)
        })
        assert.ok(largest > 0)
        assert.deepEqual(run([records.slice(0, 17), records.slice(17)]), whole)
      })

  it('are not moved by rows without entries, nor by rows without a cost', () => {
    const arena = new Arena()
    const empty = writeRow(arena, ROW_KIND_F32, { indices: [], values: [] }, { classNumber: 1 })
    const free = writeRow(arena, ROW_KIND_F32, { indices: [2], values: [3] })
    const set = rowSetOf(arena, [empty, free, empty], FEATURES)
    for (const loss of ['squared-hinge', 'logistic']) {
      const settings = { costPositive: 1, costNegative: 0, bias: 0, positive: 1, weightBits: 64 as const }
      const problem = new BinaryObjective(arena, set, { loss: findLoss(loss), ...settings }).of(wholeGroup(arena, set))
      const n = FEATURES + 1
      const [w, state] = [arena.allocateZeroed(n * 8, 'w'), arena.allocateZeroed(16 + n * 28, 'a state')]
      arena.numeric.adagradRows(problem, 0, 3, w, n, state)
      assert.deepEqual([...arena.f64(w, n)], new Array(n).fill(0))
    }
  })
})
