import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ranksInOneProcess } from '../../src/ranks/in-one-process.ts'

describe('ranks in one process', () => {
  it('sum, take the largest, broadcast and gather', async () => {
    const results = await Promise.all(
      ranksInOneProcess(3).map(async ranks => {
        const sum = Float64Array.of(ranks.rank + 1, 10 * ranks.rank)
        await ranks.sum(sum)
        const most = Float64Array.of(5 - ranks.rank)
        await ranks.max(most)
        const said = Float64Array.of(ranks.rank)
        await ranks.broadcast(said, 1)
        await ranks.barrier()
        const all = await ranks.gather(new Uint8Array(ranks.rank).fill(ranks.rank))
        return { sum: [...sum], most: [...most], said: [...said], all: all.map(one => [...one]) }
      }),
    )
    for (const result of results)
      assert.deepEqual(result, { sum: [6, 30], most: [5], said: [1], all: [[], [1], [2, 2]] })
  })

  it('end together when one of them leaves', async () => {
    const [first, second] = ranksInOneProcess(2)
    const waiting = first.barrier()
    second.leave(new Error('the disk is full'))
    await assert.rejects(waiting, /disk is full/)
    await assert.rejects(first.sum(new Float64Array(1)), /disk is full/)
  })

  it('refuse ranks that are not at the same call', async () => {
    const [first, second] = ranksInOneProcess(2)
    const waiting = first.barrier()
    await assert.rejects(second.sum(new Float64Array(1)), /rank 1 came to sum while others came to barrier/)
    await assert.rejects(waiting, /rank 1 came to sum/)
  })
})
