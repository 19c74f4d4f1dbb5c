// Sweeps over many rows: the optimum of plain sweeps, the same bits for any number of threads, rows that come back.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findLoss } from '../../../src/losses/all-losses.ts'
import { Arena } from '../../../src/numeric/arena.ts'
import { SweepFields } from '../../../src/numeric/fields/sweep.ts'
import { BinaryObjective } from '../../../src/optimise/objectives/binary.ts'
import { findSolver } from '../../../src/optimise/solvers/all-solvers.ts'
import { beginOverMany, bytesOfMarks, endOverMany, markMany } from '../../../src/optimise/solvers/many-rows.ts'
import { startSweeps } from '../../../src/optimise/solvers/sweeps.ts'
import { RowsInMemory } from '../../../src/optimise/sources/rows-in-memory.ts'
import { loadRows } from '../../../src/rows/load-rows.ts'
import { ThreadPool } from '../../../src/threads/pool.ts'
import { driven } from '../../contracts/driving.ts'
import { settings as readSettings, testFolder } from '../../input-formats/fixture.ts'
import { bitsOf, randomNumbers } from '../../numeric/reference.ts'

const folder = testFolder()
const ROWS = 3000

/** Clicks: a few frequent features and many rare ones, all values 1, labels that no weights explain. Sorted by label, if asked. */
function clicks(sorted: boolean): string {
  const random = randomNumbers(11)
  const lines = Array.from({ length: ROWS }, () => {
    const features = new Set<number>()
    for (let k = 0; k < 8; k++) features.add(1 + Math.floor(random() ** 4 * 2000))
    const list = [...features].sort((a, b) => a - b)
    const score = list.reduce((sum, j) => sum + ((j * 7919) % 13) - 6, 0) + (random() - 0.5) * 30
    return `${score > 0 ? 1 : -1} ${list.map(j => `${j}:1`).join(' ')}`
  })
  return `${(sorted ? lines.sort() : lines).join('\n')}\n`
}

interface Given {
  loss?: string
  cost?: number
  bias?: number
  threads?: number
  trainers?: number
  sorted?: boolean
  weightBits?: 32 | 64
  /** Whether rows are taken for many. */
  many: boolean
}

async function solved(given: Given) {
  const { loss = 'hinge', cost = 1, bias = 0, threads = 2, trainers = 1, sorted = false, weightBits = 64 } = given
  const arena = new Arena()
  const pool = new ThreadPool(arena.share, threads)
  try {
    const path = folder.write(`clicks-${sorted}.svm`, clicks(sorted))
    const { rows } = await loadRows(arena, pool, [path], readSettings, { unit: false, plain: false }, () => {})
    const objective = new BinaryObjective(arena, rows, {
      ...{ loss: findLoss(loss), costPositive: cost, costNegative: 0.5 * cost, bias, weightBits },
      positive: rows.labels.findIndex(label => label.value === 1),
    })
    const tolerance = weightBits === 32 ? 1e-4 : 1e-7
    const settings = { tolerance, trainers, many: given.many ? 0 : Number.POSITIVE_INFINITY }
    const { certificate, exitReason } = await driven(pool, findSolver('dual'), objective, rows, settings)
    assert.equal(exitReason, 'converged')
    return { primal: certificate!.primal, w: bitsOf([...objective.copyWeights()]) }
  } finally {
    await pool.close()
  }
}

describe('sweeps over many rows', () => {
  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    it(`${loss}: the optimum of plain sweeps, with the same bits for any number of threads`, async () => {
      for (const given of [{}, { cost: 20, bias: 1 }, { sorted: true }]) {
        const [one, two, plain] = [
          await solved({ loss, ...given, threads: 1, many: true }),
          await solved({ loss, ...given, threads: 2, many: true }),
          await solved({ loss, ...given, many: false }),
        ]
        assert.deepEqual(two.w, one.w)
        assert.notDeepEqual(plain.w, one.w, 'rows were taken for many')
        assert.ok(Math.abs(one.primal - plain.primal) <= 2e-7 * plain.primal, `${one.primal}, plain ${plain.primal}`)
      }
    })
  }

  it('two trainers, and weights of 32 bits, come to the same optimum', async () => {
    const { primal: best } = await solved({ many: false })
    const { primal } = await solved({ many: true, trainers: 2 })
    assert.ok(Math.abs(primal - best) <= 2e-7 * best, `${primal}, plain ${best}`)
    const narrow = await solved({ many: true, weightBits: 32 })
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
