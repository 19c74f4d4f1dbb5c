// What the progress line says of a run under way.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readingText, TrainingText } from '../../src/cli/terminal.ts'
import type { TrainProgress } from '../../src/train/progress.ts'
import { withoutProgress } from './run.ts'

const record = (pass: number, gap: number, seconds: number): TrainProgress => ({
  ...{ stage: 'train', pass, primal: 100, gap, seconds, certified: false, memoryBytes: 0, problem: 1, problems: 1 },
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

  it('is what tests of whole outputs leave out, and nothing else is', () => {
    const text = new TrainingText(1e-3)
    const lines = [
      readingText({ seconds: 3, bytesRead: 5, bytesTotal: 10, rows: 3 }),
      readingText({ seconds: 3, bytesRead: 5e9, bytesTotal: undefined, rows: 3, badRows: 4 }),
      text.of(record(3, 0.01, 100)),
      text.of({ ...record(3, 0.01, 100), problems: 3 }),
      text.of({ ...record(3, 0.01, 100), models: { done: 1000, all: undefined } }),
      text.of({ ...record(3, 0.01, 100), models: { done: 0, all: 8 } }),
    ]
    const kept = 'skipped 3 bad rows; the first:\nwrote a.model\n'
    assert.equal(withoutProgress(`${lines.join('\n')}\n${kept}`), kept)
  })
})
