// Results in the order of the items, whatever the order of the work.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inOrder } from '../../src/threads/in-order.ts'

describe('inOrder', () => {
  async function* numbers(count: number): AsyncGenerator<number> {
    for (let k = 0; k < count; k++) yield k
  }
  const later = (milliseconds: number): Promise<void> => new Promise(resolve => setTimeout(resolve, milliseconds))
  it('takes results in the order of the items and releases each once', async () => {
    const taken: number[] = []
    const released: number[] = []
    await inOrder(
      numbers(20),
      async k => {
        await later((k * 7) % 5)
        return k * k
      },
      (_, square) => void taken.push(square),
      k => void released.push(k),
    )
    assert.deepEqual(
      taken,
      Array.from({ length: 20 }, (_, k) => k * k),
    )
    assert.deepEqual(
      released,
      Array.from({ length: 20 }, (_, k) => k),
    )
  })
  it('throws the failure of the first item in order, even if a later one failed earlier in time', async () => {
    const released: number[] = []
    const fourth = Promise.withResolvers<void>()
    await assert.rejects(
      inOrder(
        numbers(6),
        async k => {
          if (k === 2) await fourth.promise
          if (k === 4) fourth.resolve()
          if (k === 2 || k === 4) throw new Error(`item ${k}`)
        },
        () => {},
        k => void released.push(k),
      ),
      /item 2/,
    )
    assert.ok(released.includes(2))
    assert.equal(new Set(released).size, released.length)
  })
})
