// How the room of solver indexed is shared between rows and pages of the index.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newActiveMemory } from '../../../src/optimise/solvers/active-set.ts'
import type { BlockEngine } from '../../../src/optimise/sources/block-engine.ts'

const ROWS = 10_000
const RECORD = 1000

/** What rows and pages get of so many bytes. */
function shares(cacheBytes: number): { rows: number; records: number; pages: number; all: number } {
  let all = 0
  const engine = {
    ...{ rows: ROWS, weighted: false, counts: {}, plan: { cacheBytes, recordBytes: RECORD } },
    room(_name: string, bytes: number): number {
      all += bytes
      return 0
    },
  }
  const { capacity, records, pages, bitmapBytes } = newActiveMemory(engine as unknown as BlockEngine, 0)
  // Bitmaps are planned for beside the room.
  return { rows: capacity, records: records.bytes, pages: pages.bytes, all: all - 3 * bitmapBytes }
}

describe('the room of an active set', () => {
  it('is a fourth for pages where rows do not all fit', () => {
    const cache = (ROWS * RECORD) / 4
    const { pages, rows, all } = shares(cache)
    assert.equal(pages, cache / 4)
    assert.ok(rows > 0 && rows < ROWS)
    assert.ok(all <= cache, `${all} of ${cache} bytes`)
  })

  it('is for pages where all rows leave some of it', () => {
    const cache = 2 * ROWS * RECORD
    const { pages, rows, records, all } = shares(cache)
    assert.equal(rows, ROWS)
    assert.ok(records >= 1.2 * ROWS * RECORD)
    assert.ok(pages > 0.7 * (cache - records), `${pages} of ${cache - records} bytes`)
    assert.ok(all <= cache, `${all} of ${cache} bytes`)
  })

  it('is never more for pages than an index of these rows can fill', () => {
    const { pages } = shares(100 * ROWS * RECORD)
    assert.equal(pages, 2 * ROWS * RECORD)
  })
})
