import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { drawCounts, normalQuantile, PowerLaw } from '../../src/generate/distributions.ts'

describe('a power law', () => {
  const laws = fc
    .tuple(fc.integer({ min: 2, max: 1_000_000 }), fc.constantFrom(0.1, 0.5, 0.9, 1, 1.05, 1.5), fc.nat(50))
    .map(([size, skew, plateau]) => new PowerLaw(size, skew, plateau + 1))

  it('has quantiles that undo its probabilities', () => {
    fc.assert(
      fc.property(laws, fc.double({ min: 0, max: 1, noNaN: true }), (law, p) => {
        assert.ok(Math.abs(law.below(law.quantile(p)) - p) < 1e-6)
      }),
    )
  })

  it('has tables that rise and stay below the size', () => {
    fc.assert(
      fc.property(laws, law => {
        const table = law.quantiles()
        assert.equal(table[0], 0)
        assert.ok(table.every((rank, k) => rank < law.size && (k === 0 || rank >= table[k - 1])))
      }),
    )
  })

  it('counts distinct ranks: none without draws, one in one, all in the end', () => {
    fc.assert(
      fc.property(laws, law => {
        assert.equal(law.distinct(0), 0)
        assert.ok(Math.abs(law.distinct(1) - 1) < 1e-6)
        assert.ok(law.distinct(10) <= Math.min(10, law.size) + 1e-6)
        assert.ok(Math.abs(law.distinct(1e15) / law.size - 1) < 1e-6)
      }),
    )
  })
})

describe('row lengths', () => {
  it('have the mean that was asked for', () => {
    const law = new PowerLaw(1_000_000, 1, 5)
    for (const [nonzeros, spread] of [
      [2.5, 0.6],
      [30, 0],
      [400, 0.9],
    ]) {
      const counts = drawCounts(law, nonzeros, spread)
      const mean = counts.reduce((sum, count) => sum + law.distinct(count), 0) / counts.length
      assert.ok(Math.abs(mean / nonzeros - 1) < 0.02, `${mean}, ${nonzeros} expected`)
    }
  })

  it('of one are always one', () => {
    assert.ok(drawCounts(new PowerLaw(100, 0.9, 1), 1, 0).every(count => count === 1))
  })
})

it('normal quantiles are those of the tables', () => {
  for (const [p, z] of [
    [0.5, 0],
    [0.975, 1.959963985],
    [0.001, -3.090232306],
    [0.84134474607, 1],
  ]) {
    assert.ok(Math.abs(normalQuantile(p) - z) < 1e-7)
  }
})
