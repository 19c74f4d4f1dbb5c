// Which dual variables a checkpoint writes anew.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RunCheckpoints } from '../../../src/optimise/driver/run-checkpoints.ts'
import type { RowGroup } from '../../../src/optimise/sources/row-source.ts'

/** Blocks whose dual variables are written after a visit to the second of three. */
function writtenAfterAVisit({ dual, keeps }: { dual: boolean; keeps: boolean }): number[] {
  const written: number[] = []
  const of = {
    source: { blockBytes: [10, 10, 10] },
    run: { saved: { state: () => ({}), restore: () => {}, stretches: () => (keeps ? [{ at: 0, bytes: 8 }] : []) } },
    keeper: { touch: (blocks: number[]) => void written.push(...blocks) },
    dual,
  }
  const checkpoints = new RunCheckpoints(of as unknown as ConstructorParameters<typeof RunCheckpoints>[0])
  checkpoints.touch({ parts: [{ block: 1, rows: 5, firstRow: 5 }] } as unknown as RowGroup)
  return written
}

describe('a checkpoint', () => {
  it('has new dual variables of the blocks that were visited', () => {
    assert.deepEqual(writtenAfterAVisit({ dual: true, keeps: false }), [1])
  })

  it('has those of all blocks where rows of any block stay in memory', () => {
    assert.deepEqual(writtenAfterAVisit({ dual: true, keeps: true }), [0, 1, 2])
  })

  it('has none of a method that moves none', () => {
    assert.deepEqual(writtenAfterAVisit({ dual: false, keeps: true }), [])
    assert.deepEqual(writtenAfterAVisit({ dual: false, keeps: false }), [])
  })
})
