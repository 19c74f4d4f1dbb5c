// The compiled loops where addresses and sizes no longer fit a signed 32-bit number: what they compute there is, bit for bit,
// what they compute below.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ARENA_START, PROBLEM_ROWS } from '../../src/numeric/layouts.ts'
import {
  WORKING_CAPACITY,
  WORKING_RECORDS,
  WORKING_ROOM,
  WORKING_TABLE,
  WORKING_USED,
} from '../../src/numeric/working-set-layout.ts'
import { ABOVE, arenaFrom, nearTheEnd } from './high-addresses.ts'
import { bitsOf } from './reference.ts'
import { assertInvariants, type Case, losses, World } from './working-set-fixture.ts'

const starts: [string, number][] = [
  ['just across 2 GiB', 2 ** 31 - 8192],
  ['above 2 GiB', ABOVE],
  ['near 4 GiB', nearTheEnd(2 ** 20)],
]

const small: Case = {
  ...{ loss: 'hinge', rows: 70, blocks: 4, start: 5, bias: 1, cost: 1, weight: 3, share: 0.4, size: 0.3 },
}

/** All that some rounds leave behind, but for where it lies. */
function outcomeOf(world: World): unknown[] {
  const records = world.get(WORKING_RECORDS)
  const outcome: unknown[] = []
  for (const [block, work] of [[0], [1], [2], [3, true], [1], [0, true], [2], [3], [0], [1, true]] as const) {
    world.visit(block)
    assertInvariants(world)
    if (work) world.work()
    outcome.push(
      [...world.set.numbers],
      [...world.set.table].map(record => record - records),
    )
    outcome.push(bitsOf(world.w), bitsOf(world.alphas().flat()), bitsOf(world.gradientsHere()))
  }
  for (let block = 0; block < world.blocks; block++) world.evaluate(block)
  for (let block = 0; block < world.blocks; block++) {
    const { dual, support, correct, owed } = world.set.ledger(block)
    outcome.push(bitsOf([dual, support, correct, ...owed]))
  }
  return outcome
}

for (const loss of losses) {
  describe(`a working set with the ${loss} loss`, () => {
    const below = outcomeOf(new World(arenaFrom(ARENA_START), { ...small, loss }))
    for (const [where, start] of starts) {
      it(`${where} is what it is below`, () => {
        assert.deepEqual(outcomeOf(new World(arenaFrom(start), { ...small, loss })), below)
      })
    }
  })
}

describe('a working set of more than 2 GiB', () => {
  // What training on 9 GB of text asks for where there is no limit.
  const sizes = { bytes: 2.95e9, mostBytes: 2.8e9 }

  it('has the room that it says it has', () => {
    const arena = arenaFrom(ARENA_START)
    const { set } = new World(arena, small, sizes)
    const [records, room] = [arena.getU32(set.at + WORKING_RECORDS), arena.getU32(set.at + WORKING_ROOM)]
    assert.ok(room > 2.9e9 && room <= sizes.bytes && room % 8 === 0, `${room} bytes`)
    assert.equal(arena.getU32(set.at + WORKING_CAPACITY), small.rows)
    // The next thing that was allocated lies behind its end.
    const table = arena.getU32(set.problem + PROBLEM_ROWS)
    assert.equal(table, arena.getU32(set.at + WORKING_TABLE))
    assert.ok(table >= records + room, `records from ${records} on, ${room} bytes, and a table at ${table}`)
  })

  for (const loss of losses) {
    it(`${loss}: takes rows in beyond 2 GiB of records`, () => {
      // As many rows as fit either room stay, so both sets do the same.
      const wide = { ...small, loss, share: 4 }
      const below = new World(arenaFrom(ARENA_START), wide)
      const high = new World(arenaFrom(ARENA_START), wide, sizes)
      const filled = 2 ** 31 + 64
      high.arena.setU32(high.set.at + WORKING_USED, filled)
      for (const block of [2, 0, 3, 1]) for (const world of [below, high]) world.visit(block)
      for (const world of [below, high]) world.work()
      const offsets = (world: World): number[] =>
        [...world.set.table].map(record => record - world.get(WORKING_RECORDS))
      assert.deepEqual(
        offsets(high),
        offsets(below).map(offset => offset + filled),
      )
      assert.equal(high.get(WORKING_USED), below.get(WORKING_USED) + filled)
      assert.deepEqual([...high.set.numbers], [...below.set.numbers])
      assert.deepEqual(bitsOf(high.w), bitsOf(below.w))
      assert.deepEqual(bitsOf(high.alphas().flat()), bitsOf(below.alphas().flat()))
    })
  }
})
