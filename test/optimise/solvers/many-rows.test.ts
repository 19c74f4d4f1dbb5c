// Sweeps over many rows: the optimum of plain sweeps, the same bits for any number of threads, rows that come back.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Arena } from '../../../src/numeric/arena.ts'
import { SweepFields } from '../../../src/numeric/fields/sweep.ts'
import { beginOverMany, bytesOfMarks, endOverMany, markMany } from '../../../src/optimise/solvers/many-rows.ts'
import { startSweeps } from '../../../src/optimise/solvers/sweeps.ts'
import { RowsInMemory } from '../../../src/optimise/sources/rows-in-memory.ts'
import { ThreadPool } from '../../../src/threads/pool.ts'
import { solved } from './clicks-fixture.ts'

/** All rows are many, or none. */
const many = { many: 0 }
const plainly = { many: Number.POSITIVE_INFINITY }

describe('sweeps over many rows', () => {
  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    it(`${loss}: the optimum of plain sweeps, with the same bits for any number of threads`, async () => {
      for (const given of [{}, { cost: 20, bias: 1 }, { sorted: true }]) {
        const [one, two, plain] = [
          await solved({ loss, ...given, threads: 1, settings: many }),
          await solved({ loss, ...given, threads: 2, settings: many }),
          await solved({ loss, ...given, settings: plainly }),
        ]
        assert.deepEqual(two.w, one.w)
        assert.notDeepEqual(plain.w, one.w, 'rows were taken for many')
        assert.ok(Math.abs(one.primal - plain.primal) <= 2e-7 * plain.primal, `${one.primal}, plain ${plain.primal}`)
      }
    })
  }

  it('two trainers, and weights of 32 bits, come to the same optimum', async () => {
    const { primal: best } = await solved({ settings: plainly })
    const { primal } = await solved({ settings: { ...many, trainers: 2 } })
    assert.ok(Math.abs(primal - best) <= 2e-7 * best, `${primal}, plain ${best}`)
    const narrow = await solved({ settings: many, weightBits: 32 })
    assert.ok(Math.abs(narrow.primal - best) <= 2e-4 * best, `${narrow.primal}, plain ${best}`)
  })

  it('steps become plain, rows beyond the mean gradient are set aside, and all come back', () => {
    const arena = new Arena()
    const pool = new ThreadPool(arena.share, 1)
    const source = new RowsInMemory(arena, pool, { table: 0, rows: 5000, nonzeros: 5000, rowWeights: 0 })
    const order = arena.allocate(5000 * 4, 'test')
    const sweep = source.room('sweep', 256)
    startSweeps(arena, { sweep, order, rows: 5000, random: 1n })
    markMany(arena, sweep, source.room('marks', bytesOfMarks(5000)), 5000)
    const fields = new SweepFields(arena, sweep)
    const extras: number[] = []
    for (let k = 1; k <= 40; k++) {
      beginOverMany(arena, fields)
      extras.push(fields.extra)
      Object.assign(fields, { active: 4000, upper: 9, lower: -0.1, steepness: 60, steep: 30 })
      endOverMany(fields, 5000)
      const all = k % 16 === 0
      assert.equal(fields.active, all ? 5000 : 4000)
      assert.equal(fields.upper, all ? Number.POSITIVE_INFINITY : 2, 'the mean is less than the steepest')
      assert.equal(fields.lower, all ? Number.NEGATIVE_INFINITY : -0.1, 'the steepest is less than the mean')
    }
    assert.deepEqual([...new Set(extras.slice(0, 21))], [0.6])
    assert.ok(extras.slice(20, 31).every((extra, k, some) => k === 0 || extra < some[k - 1]))
    assert.ok(extras.slice(30).every(extra => extra === 0))
  })
})
