// Two trainers, each with half of the weights: the bits of one thread that does the work of both, whoever is faster and wherever
// they stop; and the optimum of plain sweeps.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findLoss } from '../../../src/losses/all-losses.ts'
import { Arena } from '../../../src/numeric/arena.ts'
import { HalvesFields } from '../../../src/numeric/fields/halves.ts'
import { ROW_KIND } from '../../../src/numeric/layouts.ts'
import { BinaryObjective } from '../../../src/optimise/objectives/binary.ts'
import { findSolver } from '../../../src/optimise/solvers/all-solvers.ts'
import { halveRows } from '../../../src/optimise/solvers/dual-halves.ts'
import { Sweeps, startSweeps } from '../../../src/optimise/solvers/sweeps.ts'
import type { RowGroup } from '../../../src/optimise/sources/row-source.ts'
import { RowsInMemory } from '../../../src/optimise/sources/rows-in-memory.ts'
import { loadRows } from '../../../src/rows/load-rows.ts'
import { ThreadPool } from '../../../src/threads/pool.ts'
import { driven } from '../../contracts/driving.ts'
import { settings as readSettings, testFolder } from '../../input-formats/fixture.ts'
import { bitsOf, randomNumbers } from '../../numeric/reference.ts'

const folder = testFolder()

/** Rows of one kind: values drawn from a list, or all different; few or all features. */
function textOf(kind: 'f32' | 'coded' | 'ones' | 'dense', rows = 300): string {
  const random = randomNumbers(7)
  const features = kind === 'dense' ? 41 : 900
  const lines = Array.from({ length: rows }, (_, i) => {
    const entries: string[] = []
    let score = 0
    for (let j = 1; j <= features; j++) {
      if (kind !== 'dense' && random() > 0.06) continue
      const value = kind === 'ones' ? 1 : kind === 'coded' ? [0.5, 0.25, 2][Math.floor(random() * 3)] : random() - 0.4
      score += value * (j % 5 === 0 ? 1 : j % 7 === 0 ? -1 : 0)
      entries.push(`${j}:${value}`)
    }
    const label = score + (random() - 0.5) * 2 > 0.2 ? 1 : -1
    return `${i === 0 ? 1 : i === 1 ? -1 : label} ${entries.join(' ')}`
  })
  return `${lines.join('\n')}\n`
}

const kinds = ['f32', 'coded', 'ones', 'dense'] as const
type Kind = (typeof kinds)[number]
const least = { row: 0, nonzeros: 0 }

interface Given {
  threads: number
  kind?: Kind
  loss?: 'hinge' | 'squared-hinge'
  bias?: number
  halves?: typeof least | undefined
}

async function prepared({ threads, kind = 'coded', loss = 'hinge', bias = 0 }: Given) {
  const arena = new Arena()
  const pool = new ThreadPool(arena.share, threads)
  const path = folder.write(`${kind}.svm`, textOf(kind))
  const { rows } = await loadRows(arena, pool, [path], readSettings, { unit: false, plain: false }, () => {})
  const objective = new BinaryObjective(arena, rows, {
    ...{ loss: findLoss(loss), costPositive: 1.5, costNegative: 0.7, bias, weightBits: 64 },
    positive: rows.labels.findIndex(label => label.value === 1),
  })
  return { arena, pool, rows, objective }
}

/** Rows cut in halves, and what a sweep over them is told. */
async function ready(given: Given) {
  const { arena, pool, rows, objective } = await prepared(given)
  const source = new RowsInMemory(arena, pool, rows)
  const group = (await source.pass(source.groups()).next()).value as RowGroup
  const problem = objective.of(group)
  const halves = (await halveRows(objective, source, group))!
  startSweeps(arena, { sweep: group.sweep, order: group.order, rows: rows.rows, random: 5n })
  const slice = { ...objective.sweepKind, problem, sweep: group.sweep, rows: rows.rows, shrink: true }
  return { arena, pool, rows, objective, group, halves, slice }
}

async function solved(given: Given) {
  const { arena, pool, rows, objective } = await prepared(given)
  try {
    const settings = {
      tolerance: 1e-7,
      ...('halves' in given ? given.halves && { halves: given.halves } : { halves: least }),
    }
    const solution = await driven(pool, findSolver('dual'), objective, rows, settings)
    const kinds = new Set([...arena.u32(rows.table, rows.rows)].map(row => arena.getU32(row + ROW_KIND)))
    return { solution, w: bitsOf([...objective.copyWeights()]), kinds }
  } finally {
    await pool.close()
  }
}

describe('two trainers, each with half of the weights', () => {
  for (const kind of kinds) {
    it(`rows of kind ${kind}: the bits of one thread, the optimum of plain sweeps`, async () => {
      for (const loss of ['hinge', 'squared-hinge'] as const) {
        for (const bias of [0, 1.5]) {
          const what = { kind, loss, bias }
          const [one, two, plain] = [
            await solved({ threads: 1, ...what }),
            await solved({ threads: 2, ...what }),
            await solved({ threads: 1, ...what, halves: undefined }),
          ]
          assert.equal(one.kinds.size, 1, 'all rows are of one kind')
          assert.deepEqual(two.w, one.w)
          assert.notDeepEqual(plain.w, one.w, 'halves were used')
          assert.equal(one.solution.exitReason, 'converged')
          const [primal, best] = [one, plain].map(({ solution }) => solution.certificate!.primal)
          assert.ok(Math.abs(primal - best) <= 2e-7 * best, `${primal}, plain sweeps ${best}`)
        }
      }
    })
  }

  it('stop and go on anywhere, by both or by one, with the same bits', async () => {
    const outcomes: unknown[] = []
    for (const budget of [1e9, 1, 300, 4000]) {
      const { arena, pool, rows, objective, group, halves, slice } = await ready({ threads: 2 })
      let ended = 0
      for (let k = 0; ended < 6; k++) {
        const step = await halves.run({ ...slice, budget, targetGap: 0 }, k % 3 === 2)
        ended += step.ended
      }
      await pool.close()
      outcomes.push([ended, bitsOf([...objective.copyWeights()]), [...arena.u32(group.order, rows.rows)]])
    }
    for (const outcome of outcomes.slice(1)) assert.deepEqual(outcome, outcomes[0])
  })

  it('a trainer that gets no answer gives up, and the sweep goes on from there', async () => {
    const weights: unknown[] = []
    for (const leavesAlone of [false, true]) {
      const { arena, pool, rows, objective, group, halves, slice } = await ready({ threads: 1 })
      const { problem } = slice
      const fields = new HalvesFields(arena, halves.at)
      if (leavesAlone) {
        const { at } = fields
        new Sweeps(arena, problem, group.sweep, { ...slice, halves: { at, by: 'both' } }).begin()
        for (let k = 0; k < 3; k++) {
          fields.stop = 0
          assert.equal(arena.numeric.sweepHalvesFirst(problem, group.sweep, at, 1e9), 0)
          assert.equal(fields.gaveUp, 1)
          arena.numeric.sweepHalvesSecond(problem, group.sweep, at, rows.rows)
          assert.equal(fields.second, fields.first)
          assert.ok(fields.first > k, 'each time it comes a little further')
        }
      }
      await halves.run({ ...slice, budget: 1, targetGap: 0 })
      while (arena.numeric.sweepHalvesAlone(problem, group.sweep, fields.at, 1e9) === 0) {}
      weights.push(bitsOf([...objective.copyWeights()]))
      await pool.close()
    }
    assert.deepEqual(weights[1], weights[0])
  })
})
