// What the progress line says of a run under way.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TrainingText } from '../../src/cli/terminal.ts'
import type { TrainProgress } from '../../src/training/progress.ts'

const record = (pass: number, gap: number, seconds: number): TrainProgress => ({
  ...{ stage: 'train', pass, primal: 100, gap, seconds, certified: false, problem: 1, problems: 1 },
})

describe('the progress line', () => {
  it('tells the time left once the gap falls', () => {
    const text = new TrainingText(1e-3)
    assert.doesNotMatch(text.of(record(1, 0.1, 1)), /left/)
    // A tenth in one second: the next tenth takes another.
    assert.match(text.of(record(2, 0.01, 2)), /gap ~1\.0e-2 of 1\.0e-3, 2\.0 s, about 1\.0 s left$/)
  })

  it('tells of no time left when the gap is there, and when nothing is owed at all', () => {
    for (const gap of [1e-3, 1e-4, 0]) {
      const text = new TrainingText(1e-3)
      text.of(record(1, 0.1, 1))
      assert.match(text.of(record(2, gap, 2)), /, about 0\.00 s left$/)
    }
  })
})
