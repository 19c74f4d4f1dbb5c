// To how many blocks rows of a chunk go.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { spreadOf } from '../../src/block-store/read-into-blocks.ts'

const MIB = 1 << 20

describe('rows of a chunk go', () => {
  test('to all blocks where these are few, or the text is short, or nobody knows how long it is', () => {
    assert.equal(spreadOf(1, 4 * MIB, 10_000 * MIB), 1)
    assert.equal(spreadOf(16, 4 * MIB, 10_000 * MIB), 16)
    assert.equal(spreadOf(122, 4 * MIB, 3 * MIB), 122)
    assert.equal(spreadOf(122, 4 * MIB, 0), 122)
    assert.equal(spreadOf(122, 4 * MIB, undefined), 122)
  })

  test('to as many as get 256 KiB of its text each', () => {
    assert.equal(spreadOf(122, 4 * MIB, 2600 * MIB), 16)
    assert.equal(spreadOf(122, MIB, 2600 * MIB), 4)
    assert.equal(spreadOf(1000, MIB / 8, 10_000 * MIB), 1)
  })

  test('to so many that each block has rows of 32 chunks', () => {
    assert.equal(spreadOf(100, 4 * MIB, 400 * MIB), 32)
    assert.equal(spreadOf(100, MIB / 4, 100 * MIB), 8)
  })
})
