// The working set of solver `stream` against plain lists: who is in memory, who leaves, what is known of those who left.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import { SUMS_CORRECT } from '../../src/numeric/layouts.ts'
import { WORKING_DRAWN, WORKING_MOVED } from '../../src/numeric/working-set-layout.ts'
import type { PlainRow } from './dual-reference.ts'
import { seed } from './reference.ts'
import {
  anyCase,
  anyRounds,
  assertInvariants,
  type Case,
  FEATURES,
  losses,
  near,
  PlainSet,
  World,
} from './working-set-fixture.ts'

for (const loss of losses) {
  describe(`a working set with the ${loss} loss`, () => {
    const arena = new Arena()
    const mark = arena.mark()
    const worldOf = (item: Case): World => {
      arena.release(mark)
      return new World(arena, item)
    }

    it('takes rows in and sends them away by the rule, and loses none', () => {
      let [left, drawn] = [0, 0]
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const plain = new PlainSet(world)
          // α of every row, followed through its visits.
          const alphas = world.alphas()
          for (const [choice, work] of rounds) {
            const newcomers = world.visit(choice % world.blocks)
            for (const { number, a, rest } of newcomers) alphas[number] = [a, rest]
            const before = plain.members.length + newcomers.length
            plain.takeIn(newcomers)
            left += before - plain.members.length
            assertInvariants(world)
            assert.deepEqual(
              [...world.set.numbers],
              plain.members.map(({ number }) => number),
            )
            // Below 1e-9 it tells rows apart no more: how far it is below is nobody's business.
            assert.ok(world.epsilon === plain.epsilon || Math.max(world.epsilon, plain.epsilon) <= 1e-9)
            plain.epsilon = world.epsilon
            assert.deepEqual(
              world.gradientsHere(),
              plain.members.map(({ gradient }) => gradient),
            )
            assert.deepEqual(world.alphas(), alphas, 'a dual variable was lost')
            if (!work) continue
            world.work()
            // What the visits changed, the plain list takes over.
            const now = world.alphas()
            const gradients = world.gradientsHere()
            plain.members.forEach((row, k) => {
              ;[row.a, row.rest] = now[row.number]
              row.gradient = gradients[k]
              alphas[row.number] = now[row.number]
            })
          }
          assert.equal(world.get(WORKING_DRAWN), plain.drawn)
          drawn += plain.drawn
          if (plain.drawn > 0) assert.ok(world.epsilon <= 1e-9 / 0.9 ** rounds.length, 'drawn while ε could still help')
        }),
        { seed, numRuns: 150 },
      )
      // Of the logistic loss, only rows without entries are never beyond ε.
      assert.ok(left > 100 && drawn > (loss === 'logistic' ? 5 : 20), `${left} rows left, ${drawn} were drawn`)
    })

    it('w stays Σ α y x, wherever rows are', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf({ ...item, size: 0 })
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const expected = new Array<number>(FEATURES + 1).fill(0)
          const alphas = world.alphas()
          world.rows.forEach((row, i) => {
            const step = row.positive ? alphas[i][0] : -alphas[i][0]
            for (const [k, index] of row.indices.entries()) expected[index] += step * row.values[k]
            expected[FEATURES] += step * item.bias
          })
          const size = alphas.reduce((sum, [a]) => sum + a, 1) * 10
          for (const [k, value] of world.w.entries()) near(value, expected[k], size, `w[${k}]`)
        }),
        { seed, numRuns: 60 },
      )
    })

    it('settleAlpha puts what is here among all; listAbsent and lacks know who is not', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const alphas = world.alphas()
          arena.numeric.settleAlpha(world.set.at)
          const found = arena.f64(world.alpha, (world.rows.length * world.stride) / 8)
          alphas.forEach(([a, rest], k) => {
            assert.equal(found[(k * world.stride) / 8], a)
            if (world.logistic) assert.equal(found[2 * k + 1], rest)
          })
          for (let block = 0; block < world.blocks; block++) {
            const { from, to } = world.range(block)
            const absent = world.absentOf(block)
            assert.equal(world.set.lacks(block), absent.length > 0)
            const count = arena.numeric.listAbsent(world.set.at, world.order, 0, world.numbers, 0, to - from, from)
            assert.equal(count, absent.length)
            assert.deepEqual(
              [...arena.u32(world.order, count)].map(k => arena.u32(world.numbers, to - from)[k]),
              absent,
            )
            assert.deepEqual(
              [...arena.u32(world.numbers, to - from)],
              Array.from({ length: to - from }, (_, k) => from + k),
            )
          }
          // Blocks that are loaded together are listed one behind the other.
          let [listed, row] = [0, 0]
          for (let block = world.blocks - 1; block >= 0; block--) {
            const { from, to } = world.range(block)
            const args = [world.set.at, world.order, listed, world.numbers, row, to - from, from] as const
            listed = arena.numeric.listAbsent(...args)
            row += to - from
          }
          const together = [...arena.u32(world.order, listed)].map(k => arena.u32(world.numbers, row)[k])
          const expected = Array.from({ length: world.blocks }, (_, k) => world.absentOf(world.blocks - 1 - k)).flat()
          assert.deepEqual(together, expected)
        }),
        { seed, numRuns: 60 },
      )
    })

    it('listNear lists who may move at the next visit, or nearly', () => {
      fc.assert(
        fc.property(
          anyCase(loss),
          anyRounds,
          fc.constantFrom(0, 0.01, 0.5, Number.POSITIVE_INFINITY),
          (item, rounds, by) => {
            const world = worldOf({ ...item, share: Math.max(item.share, 0.6) })
            for (const [choice] of rounds) world.visit(choice % world.blocks)
            const { set } = world
            const plain = new PlainSet(world)
            const alphas = world.alphas()
            const gradients = world.gradientsHere()
            const expected = [...set.numbers.entries()]
              .filter(([k, number]) => {
                const [a, rest] = alphas[number]
                return world.logistic || plain.distance({ number, a, rest, gradient: gradients[k] }) <= by
              })
              .map(([k]) => k)
            const list = (most: number): number[] => {
              const count = arena.numeric.listNear(set.at, set.problem, set.order, by, most)
              return [...arena.u32(set.order, count)]
            }
            assert.deepEqual(list(set.count), expected)
            // Some at a time: each time those that come next, and after the last ones the first.
            const most = Math.floor(set.count / 3)
            const turns = [...expected, ...expected, ...expected]
            let from = 0
            for (let turn = 0; turn < 3; turn++) {
              const some = list(most)
              assert.deepEqual(some, turns.slice(from, from + Math.min(most, expected.length)))
              from += some.length
            }
            assert.deepEqual(list(set.count), expected)
          },
        ),
        { seed, numRuns: 60 },
      )
    })

    it('the ledger knows what absent rows owe: just that where w stands, and no less wherever it may have gone', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const { set } = world
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const alphas = world.alphas()
          for (let block = 0; block < world.blocks; block++) {
            world.evaluate(block)
            const absent = world.absentOf(block).map(k => ({ row: world.rows[k], alpha: alphas[k] }))
            const sum = (w: ArrayLike<number>): number =>
              absent.reduce((total, { row, alpha }) => total + world.owed(row, alpha, w), 0)
            const { w } = world
            const size = absent.reduce(
              (total, { row, alpha }) =>
                total + Math.abs(world.dualPart(row, alpha)) + Math.abs(alpha[0] * world.margin(row, w)),
              1e-9,
            )
            near(set.mostOwed(block, 0), sum(w), size, 'what is owed')
            const ledger = set.ledger(block)
            const dual = absent.reduce((total, { row, alpha }) => total + world.dualPart(row, alpha), 0)
            near(ledger.dual, dual, size, 'the dual part')
            assert.equal(ledger.support, absent.filter(({ alpha }) => alpha[0] > 0).length)
            if (world.logistic) {
              assert.equal(set.mostOwed(block, 1e-9), absent.length > 0 ? Number.POSITIVE_INFINITY : 0)
              continue
            }
            let before = set.mostOwed(block, 0)
            for (let distance = set.radius / 7; distance < set.radius * 2 ** 17; distance *= 1.9) {
              const most = set.mostOwed(block, distance)
              assert.ok(most >= before - 1e-9 * size, `${most} at ${distance} is less than ${before}`)
              before = most
              if (distance > set.radius * 2 ** 14) {
                assert.equal(most, absent.length > 0 ? Number.POSITIVE_INFINITY : 0)
                continue
              }
              for (const direction of directions(world, absent, world.random)) {
                const there = w.map((x, k) => x + distance * direction[k])
                const owes = sum(there)
                assert.ok(owes <= most + 1e-9 * (size + Math.abs(most)), `${owes} at ${distance}, at most ${most}`)
              }
            }
          }
        }),
        { seed, numRuns: 60 },
      )
    })

    it('the ledger counts rows on the right side as the certificate does', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          for (const [choice] of rounds) world.visit(choice % world.blocks)
          for (let block = 0; block < world.blocks; block++) {
            world.evaluate(block)
            // What the evaluating pass counted of the same rows.
            const counted = arena.getF64(world.sums + SUMS_CORRECT)
            assert.equal(world.set.ledger(block).correct, counted)
          }
        }),
        { seed, numRuns: 60 },
      )
    })

    it('ε does not sink where it can tell no rows apart, and so comes back soon', () => {
      const world = worldOf({
        ...{ loss, rows: 80, blocks: 4, start: 5, bias: 0, cost: 1, weight: 1, share: 0.1, size: 0.3 },
      })
      for (let round = 0; round < 2000; round++) {
        world.visit(round % 4)
        world.work()
      }
      assert.ok(world.epsilon >= 0.9e-9, `ε is ${world.epsilon}`)
    })

    it('the ledger holds for rows as they were met or sent away, however far the visit itself went', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const { set } = world
          // Where each block was last met, along the path of w; rows that are sent away later are met later.
          const metAt = new Array<number | undefined>(world.blocks).fill(undefined)
          let path = 0
          const copy = arena.allocate((FEATURES + 1) * 8, 'test')
          arena.f64(copy, FEATURES + 1).set(world.w)
          for (const [choice, work] of rounds) {
            const block = choice % world.blocks
            world.visit(block)
            path += Math.sqrt(arena.numeric.followWeights(world.weights, copy, FEATURES + 1))
            metAt[block] = path - arena.getF64(set.at + WORKING_MOVED)
            if (work) world.work()
            const now = path + Math.sqrt(arena.numeric.followWeights(world.weights, copy, FEATURES + 1))
            path = now
            const alphas = world.alphas()
            metAt.forEach((met, b) => {
              if (met === undefined) return
              const absent = world.absentOf(b)
              const owes = absent.reduce((sum, k) => sum + world.owed(world.rows[k], alphas[k], world.w), 0)
              const most = set.mostOwed(b, path - met)
              assert.ok(owes <= most + 1e-9 * (1 + Math.abs(owes)), `${owes} is owed, the ledger says ${most} at most`)
            })
          }
        }),
        { seed, numRuns: 100 },
      )
    })
  })
}

/** Unit vectors: at random, along single rows, and the one in which all losses rise. */
function directions(world: World, absent: { row: PlainRow }[], random: () => number): number[][] {
  const unit = (x: number[]): number[] => {
    const length = Math.hypot(...x)
    return x.map(value => (length > 0 ? value / length : 0))
  }
  const along = (rows: PlainRow[]): number[] => {
    const x = new Array<number>(FEATURES + 1).fill(0)
    for (const row of rows) {
      const y = row.positive ? -1 : 1
      for (const [k, index] of row.indices.entries()) x[index] += y * row.values[k]
      x[FEATURES] += y * world.settings.bias
    }
    return unit(x)
  }
  const worst = along(absent.map(({ row }) => row))
  const single = absent.length > 0 ? along([absent[Math.floor(random() * absent.length)].row]) : worst
  const any = unit(Array.from({ length: FEATURES + 1 }, () => random() - 0.5))
  return [worst, worst.map(x => -x), single, single.map(x => -x), any]
}

describe('following weights', () => {
  it('gives the square of the way they went, after which the copy is where they are', () => {
    const arena = new Arena()
    const [w, copy] = [arena.allocate(8000, 'test'), arena.allocate(8000, 'test')]
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.double({ min: -1e3, max: 1e3, noNaN: true }), fc.boolean())), entries => {
        const n = entries.length
        arena.f64(w, n).set(entries.map(([x]) => x))
        arena.f64(copy, n).set(entries.map(([x, moved]) => (moved ? x / 2 : x)))
        const expected = entries.reduce((sum, [x, moved]) => sum + (moved ? x / 2 : 0) ** 2, 0)
        near(arena.numeric.followWeights(w, copy, n), expected, expected, 'the square')
        assert.deepEqual(arena.f64(copy, n), arena.f64(w, n))
        assert.equal(arena.numeric.followWeights(w, copy, n), 0)
      }),
      { seed, numRuns: 50 },
    )
  })
})
