// Rows turned into columns, every kind of row among them, against a transposition of plain arrays.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { findLoss } from '../../src/losses/all-losses.ts'
import { Arena } from '../../src/numeric/arena.ts'
import {
  L1_COSTS,
  L1_ENTRIES,
  L1_FEATURES,
  L1_MARGINS,
  L1_MOST,
  L1_STARTS,
  L1_STATE,
  L1_VALUES,
  L1_WEIGHTS,
} from '../../src/numeric/l1-layout.ts'
import {
  ROW_KIND_CODED,
  ROW_KIND_CONSTANT,
  ROW_KIND_DENSE,
  ROW_KIND_F32,
  ROW_KIND_F64,
  ROW_KIND_SCALED_DENSE,
  ROW_KIND_SCALED_F32,
} from '../../src/numeric/layouts.ts'
import { L1Objective } from '../../src/optimise/objectives/l1.ts'
import { makeColumns } from '../../src/optimise/solvers/primal-coordinate.ts'
import { wholeGroup } from '../../src/optimise/sources/rows-in-memory.ts'
import { rowSetOf } from '../contracts/small-problems.ts'
import { type Entries, seed, writeRow } from './reference.ts'

const FEATURES = 30
const indices = fc.uniqueArray(fc.nat(FEATURES - 1), { maxLength: 20 }).map(list => list.sort((a, b) => a - b))
const float = fc.float({ min: -100, max: 100, noNaN: true }).filter(x => x !== 0)
const double = fc.double({ min: -100, max: 100, noNaN: true }).filter(x => Math.abs(x) > 1e-6)
const entriesOf = (value: fc.Arbitrary<number>): fc.Arbitrary<Entries> =>
  indices.chain(list =>
    fc.array(value, { minLength: list.length, maxLength: list.length }).map(values => ({ indices: list, values })),
  )
const withKind = (kind: number, entries: fc.Arbitrary<Entries>) => entries.map(row => ({ kind, ...row }))
const anyRow = fc.record({
  row: fc.oneof(
    withKind(ROW_KIND_F32, entriesOf(float)),
    withKind(ROW_KIND_CONSTANT, entriesOf(fc.constant(1))),
    withKind(ROW_KIND_CODED, entriesOf(fc.constantFrom(0.5, -2, 3))),
    withKind(ROW_KIND_DENSE, entriesOf(float)),
    withKind(ROW_KIND_F64, entriesOf(double)),
    withKind(ROW_KIND_SCALED_F32, entriesOf(float)),
    withKind(ROW_KIND_SCALED_DENSE, entriesOf(float)),
  ),
  scale: fc.constantFrom(1, 0.25, -1.5, 1 / 3),
  positive: fc.boolean(),
})
type AnyRow = typeof anyRow extends fc.Arbitrary<infer T> ? T : never

/** Columns of [row, value] pairs; values are sides times scales times entries. */
function transposed(rows: AnyRow[], bias: number, positive: number, negative: number): [number, number][][] {
  const columns = Array.from({ length: FEATURES + (bias === 0 ? 0 : 1) }, (): [number, number][] => [])
  rows.forEach(({ row, scale, positive: isPositive }, i) => {
    const side = isPositive ? positive : -negative
    row.indices.forEach((j, k) => {
      columns[j].push([i, side * scale * row.values[k]])
    })
    if (bias !== 0) columns[FEATURES].push([i, side * bias])
  })
  return columns
}

describe('columns of rows', () => {
  const arena = new Arena()
  const mark = arena.mark()
  const make = (rows: AnyRow[], loss: string, bias: number): { at: number; work: number; problem: L1Objective } => {
    arena.release(mark)
    const records = rows.map(({ row, scale, positive }) =>
      writeRow(arena, row.kind, row, { scale, classNumber: positive ? 1 : 0 }),
    )
    const settings = { loss: findLoss(loss), costPositive: 4, costNegative: 0.3, bias, positive: 1 }
    const set = rowSetOf(arena, records, FEATURES)
    const problem = new L1Objective(arena, set, { ...settings, weightBits: 64, regularizer: 'l1' })
    return { ...makeColumns(problem, wholeGroup(arena, set), loss === 'logistic'), problem }
  }
  const u32s = (at: number, count: number): number[] => [...arena.u32(at, count)]
  const f64s = (at: number, count: number): number[] => [...arena.f64(at, count)]
  const close = (found: number[], expected: number[], what: string): void => {
    assert.equal(found.length, expected.length, what)
    for (const [k, x] of expected.entries()) {
      assert.ok(Math.abs(found[k] - x) <= 1e-12 * (1 + Math.abs(x)), `${what} ${k}: ${found[k]}, expected ${x}`)
    }
  }

  for (const loss of ['squared-hinge', 'logistic']) {
    it(`${loss}: every entry is in its column, rows rising, with label, scale and cost in its value`, () => {
      fc.assert(
        fc.property(fc.array(anyRow, { maxLength: 25 }), fc.constantFrom(0, 1, -2.5), (rows, bias) => {
          const { at, work } = make(rows, loss, bias)
          const [positive, negative] = loss === 'logistic' ? [1, 1] : [2, Math.sqrt(0.3)]
          const expected = transposed(rows, bias, positive, negative)
          assert.equal(arena.getU32(at + L1_FEATURES), expected.length)
          const starts = u32s(arena.getU32(at + L1_STARTS), expected.length + 1)
          const nonzeros = expected.reduce((sum, column) => sum + column.length, 0)
          assert.equal(starts[expected.length], nonzeros)
          assert.equal(work, nonzeros + 4 * expected.length)
          const entryRows = u32s(arena.getU32(at + L1_ENTRIES), nonzeros)
          const values = f64s(arena.getU32(at + L1_VALUES), nonzeros)
          const costs = rows.map(row => (row.positive ? [positive, 4] : [negative, 0.3])[loss === 'logistic' ? 1 : 0])
          close(f64s(arena.getU32(at + L1_COSTS), rows.length), costs, 'cost')
          const most = f64s(arena.getU32(at + L1_MOST), expected.length)
          expected.forEach((column, j) => {
            assert.deepEqual(
              entryRows.slice(starts[j], starts[j + 1]),
              column.map(([row]) => row),
              `column ${j}`,
            )
            close(
              values.slice(starts[j], starts[j + 1]),
              column.map(([, x]) => x),
              `value of column ${j}`,
            )
            const squares = column.map(([row, x]) => x * x * (loss === 'logistic' ? costs[row] : 1))
            const sum = squares.reduce((total, x) => total + x, 0)
            close([most[j]], [sum], `bound of column ${j}`)
          })
        }),
        { seed, numRuns: 200 },
      )
    })
  }

  it('margins come back from columns and weights', () => {
    fc.assert(
      fc.property(
        fc.array(anyRow, { minLength: 1, maxLength: 25 }),
        fc.constantFrom(0, 1.5),
        fc.array(fc.constantFrom(0, 0, 1, -0.5, 2), { minLength: FEATURES + 1, maxLength: FEATURES + 1 }),
        (rows, bias, w) => {
          const margins = rows.map(({ row, scale, positive }) => {
            const score = row.indices.reduce((sum, j, k) => sum + w[j] * scale * row.values[k], bias * w[FEATURES])
            return positive ? score : -score
          })
          const count = FEATURES + (bias === 0 ? 0 : 1)
          const logistic = make(rows, 'logistic', bias).at
          arena.f64(arena.getU32(logistic + L1_WEIGHTS), count).set(w.slice(0, count))
          arena.numeric.marginsOfColumns(logistic)
          const near = (found: number, expected: number): boolean => Math.abs(found - expected) <= 1e-9
          f64s(arena.getU32(logistic + L1_MARGINS), rows.length).forEach((m, i) => {
            assert.ok(near(m, margins[i]), `margin ${i} is ${m}, expected ${margins[i]}`)
          })
          const squared = make(rows, 'squared-hinge', bias).at
          arena.f64(arena.getU32(squared + L1_WEIGHTS), count).set(w.slice(0, count))
          arena.numeric.stateOfSquared(squared)
          f64s(arena.getU32(squared + L1_STATE), rows.length).forEach((b, i) => {
            const root = Math.sqrt(rows[i].positive ? 4 : 0.3)
            assert.ok(near(b, root * (1 - margins[i])), `state ${i} is ${b}`)
          })
        },
      ),
      { seed, numRuns: 200 },
    )
  })
})
