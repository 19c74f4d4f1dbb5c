// When coordinate descent is judged to take too many passes, and what is told where nobody can go on for it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { patience, tellOnce } from '../../src/train/hand-over.ts'

/** Gaps of passes 1, 2, … that fall by a factor each. */
const fallingBy = (factor: number, passes: number) =>
  Array.from({ length: passes }, (_, k) => ({ work: k + 1, gap: factor ** (k + 1) }))

describe('patience with coordinate descent', () => {
  it('ends where the gap would take more passes than another method', () => {
    const judge = patience(1e-3, 80, 20)
    assert.equal(judge(19, fallingBy(0.999, 19)), false, 'too soon to say')
    assert.equal(judge(20, fallingBy(0.999, 20)), true, 'thousands of passes are left')
    assert.equal(judge(20, fallingBy(0.9, 20)), false, '46 passes are left')
  })

  it('without gaps of all rows ends after a hundred passes', () => {
    const judge = patience(1e-3, 80, 20)
    assert.equal(judge(100, []), false)
    assert.equal(judge(101, []), true)
  })

  it('where nobody can go on, the run goes on, and it is told once', () => {
    let told = 0
    const judge = tellOnce(patience(1e-3, 80, 20), () => told++)
    assert.equal(judge(19, fallingBy(0.999, 19)), false)
    assert.equal(told, 0)
    for (const passes of [20, 21, 22]) assert.equal(judge(passes, fallingBy(0.999, passes)), false)
    assert.equal(told, 1)
  })
})
