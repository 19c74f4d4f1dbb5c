// Refusals of a memory say what takes it, and advice that there is no room for says so.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cannotWork, memoryThatWouldDo } from '../../src/rows/too-little-memory.ts'

const M = 2 ** 20

describe('a memory that is too little', () => {
  it('is refused with the arithmetic and with one that would do', () => {
    const { message, advice } = cannotWork(
      100 * M,
      [
        ['its pages', 48 * M],
        ['blocks', 7.5 * M],
      ],
      ['more blocks'],
    )
    assert.equal(message, '100 MiB of memory cannot work: Node takes 84.0 MiB, its pages 48.0 MiB, blocks 7.50 MiB')
    assert.equal(advice, 'give --memory 140M or more, or more blocks')
  })

  it('of a container or machine that is too small itself is told', () => {
    const container = { bytes: 160 * M, of: 'container' as const }
    assert.equal(memoryThatWouldDo(160 * M, { whole: container }), '--memory 160M')
    assert.equal(
      memoryThatWouldDo(203 * M, { whole: container }),
      '--memory 203M in a larger container (this one has 160 MiB)',
    )
    assert.equal(
      memoryThatWouldDo(3000 * M, { more: ' or more', whole: { bytes: 2048 * M, of: 'machine' } }),
      '--memory 3000M or more on a larger machine (this one has 2.00 GiB)',
    )
  })
})
