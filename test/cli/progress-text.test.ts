// What the progress line says of a run under way.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WriteStream } from 'node:tty'
import { ProgressLine, readingText, TrainingText } from '../../src/cli/terminal.ts'
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

  it('says that the certificate is next when the gap is there, and nothing more once it is certified', () => {
    for (const gap of [1e-3, 1e-4, 0]) {
      const text = new TrainingText(1e-3)
      text.of(record(1, 0.1, 1))
      assert.match(text.of(record(2, gap, 2)), /, the certificate is next$/)
      assert.match(text.of({ ...record(2, gap, 2), certified: true }), /, 2\.0 s$/)
    }
  })

  it('tells the accuracy of the last test', () => {
    const text = new TrainingText(1e-3)
    assert.doesNotMatch(text.of(record(1, 0.1, 1)), /accuracy/)
    const test = { stage: 'test', seconds: 1, pass: 0.999_999_999_9, rows: 100, accuracy: 0.875, took: 0.1 } as const
    assert.equal(text.of(test), 'pass 1, test accuracy 87.50 %, 1.0 s')
    assert.match(text.of(record(2, 0.01, 2)), /, test accuracy 87\.50 %, 2\.0 s, about/)
  })

  it('tells no more time than the passes that are left can take', () => {
    const text = new TrainingText(1e-6, 1000)
    text.of(record(400, 0.5, 400))
    text.of(record(500, 0.45, 500))
    // By the gap alone it would take hours.
    assert.match(text.of(record(997, 0.3, 997)), /, about 3\.0 s left$/)
  })

  it('says that the gap hardly falls instead of guessing', () => {
    const text = new TrainingText(1e-3, 1000)
    for (let pass = 1; pass < 100; pass++) text.of(record(pass, 0.94, pass))
    assert.match(text.of(record(100, 0.93, 100)), /, the gap hardly falls: 15:00 until the last pass allowed$/)
    // The first passes fell fast; what counts is the half behind.
    const fast = new TrainingText(1e-3)
    for (let pass = 1; pass < 100; pass++) fast.of(record(pass, Math.max(0.5, 1 / pass), pass))
    assert.match(fast.of(record(100, 0.5, 100)), /the gap hardly falls$/)
  })

  it('shows no primal, and guesses no time, by rows that still move alone', () => {
    const text = new TrainingText(1e-3)
    text.of(record(1, 0.1, 1))
    assert.match(text.of(record(2, 0.05, 2)), /primal ~100, .*about 5\.6 s left$/)
    // The gap of the few rows fell a lot, but the time is that of the last sweep over all rows.
    const some = text.of({ ...record(3, 0.002, 3), partial: true })
    assert.equal(some, 'pass 3, gap ~2.0e-3 of 1.0e-3 by the rows that still move, 3.0 s, about 4.6 s left')
    // Once that time is over, nothing is known.
    assert.match(text.of({ ...record(4, 0.0015, 9), partial: true }), /move, 9\.0 s$/)
    assert.doesNotMatch(new TrainingText(1e-3).of({ ...record(4, 0.0015, 9), partial: true }), /left|primal/)
  })

  it('names the pass of the certificate', () => {
    for (const models of [undefined, { done: 0, training: 3, all: 3 }, { done: 0, training: 1, all: 3 }]) {
      const line = new TrainingText(1e-3).of({
        ...{ ...record(4, 5e-4, 9), certificate: 0.256 },
        ...(models && { models }),
      })
      assert.match(line, /, certificate: 25 % of its pass over all rows$/)
    }
  })

  it('of many models tells how many are done, the worst gap of the others, and the time left', () => {
    const text = new TrainingText(1e-3)
    const many = (gap: number | null, seconds: number, done: number, training: number, all?: number): string =>
      text.of({ ...record(seconds, 1, seconds), gap, models: { done, training, ...(all && { all }) } })
    assert.equal(many(null, 1, 0, 3, 6), '0 of 6 models done, pass 1, 1.0 s')
    assert.equal(many(0.98, 2, 0, 3, 6), '0 of 6 models done, pass 2, worst gap ~9.8e-1 of 1.0e-3, 2.0 s')
    // This round will end after 4.0 s, and the other will take as long.
    assert.match(many(0.031, 3, 0, 3, 6), /worst gap ~3\.1e-2 of 1\.0e-3, 3\.0 s, about 5\.0 s left$/)
    assert.equal(many(null, 4, 3, 3, 6), '3 of 6 models done, pass 4, 4.0 s, about 4.0 s left')
    assert.equal(many(1e-4, 8, 6, 0, 6), '6 of 6 models done, pass 8, 8.0 s')
    // How many costs will be tried is not known.
    assert.equal(many(0.5, 9, 6, 3), '6 models done, pass 9, worst gap ~5.0e-1 of 1.0e-3, 9.0 s')
  })

  it('of costs that are found on the way tells the time that it takes at least', () => {
    const text = new TrainingText(1e-3)
    const many = (seconds: number, done: number, least: number): string =>
      text.of({ ...record(seconds, 0.5, seconds), models: { done, training: 5, least } })
    assert.doesNotMatch(many(1, 0, 20), /left/)
    // Five models took 2 s, and fifteen more will come.
    assert.match(many(2, 5, 20), /^5 models done, pass 2, .*, at least 6\.0 s left$/)
    assert.match(many(4, 10, 25), /, at least 6\.0 s left$/)
    assert.doesNotMatch(many(8, 20, 20), /left/)
  })

  it('tells steps and inner passes of a second-order method apart', () => {
    const text = new TrainingText(1e-3)
    const line = text.of({ ...record(12, 0.5, 3), steps: { outer: 4, inner: 0 } })
    assert.equal(line, 'pass 12 (step 4), primal ~100, gap ~5.0e-1 of 1.0e-3, 3.0 s')
    assert.match(text.of({ ...record(14, 0.5, 4), steps: { outer: 4, inner: 2 } }), /^pass 14 \(step 4, 2 inner\), /)
  })

  it('of a problem that is smoothed less and less tells the time by its stages, whatever the gap does', () => {
    const text = new TrainingText(1e-3, 100)
    const staged = (seconds: number, gap: number, stage: number, stages?: number): string =>
      text.of({ ...record(seconds, gap, seconds), steps: { outer: 3, inner: 0, stage, ...(stages && { stages }) } })
    assert.match(staged(10, 3e4, 1), /^pass 10 \(step 3, stage 1\), .*, 10 s$/)
    assert.match(staged(19, 3e4, 1), /, 19 s$/)
    // The first stage took 10 s, of which there will be four more.
    assert.match(staged(20, 8e1, 2, 5), /\(step 3, stage 2 of about 5\), .*, about 40 s left$/)
    // What is left of this stage, and three others.
    assert.match(staged(26, 1e5, 2, 5), /, about 34 s left$/)
    assert.match(staged(38, 1e5, 2, 5), /, about 30 s left$/)
    // Stages of 10 and 20 s: two more take 15 s each.
    assert.match(staged(40, 1e5, 3, 4), /, about 30 s left$/)
    assert.match(staged(95, 1e6, 4, 4), /, about \d+ s left$/)
    assert.match(staged(300, 1e6, 4, 4), /, 5:00$/)
    // The next model.
    assert.match(staged(310, 1e6, 1), /, 5:10$/)
    assert.match(staged(320, 1e6, 2, 3), /, about 20 s left$/)
    assert.match(
      text.of({ ...record(301, 1e-4, 301), certified: true, steps: { outer: 9, inner: 0, stage: 4 } }),
      /, 5:01$/,
    )
  })

  it('comes less often in a log as time goes by, and never twice the same', context => {
    let now = 0
    context.mock.method(performance, 'now', () => now)
    const lines: { text: string; at: number }[] = []
    const stream = { isTTY: false, write: (text: string) => lines.push({ text, at: now }) } as unknown as WriteStream
    const line = new ProgressLine({ quiet: false, stream })
    for (; now < 7200e3; now += 500) line.show(`${Math.floor(now / 5000)}`)
    const waits = lines.slice(1).map(({ at }, k) => at - lines[k].at)
    assert.ok(waits[0] < 6000 && waits.every(wait => wait < 66_000))
    assert.ok(waits.at(-1)! > 50_000)
    assert.ok(lines.length < 200)
    assert.equal(new Set(lines.map(({ text }) => text)).size, lines.length)
  })

  it('is what tests of whole outputs leave out, and nothing else is', () => {
    const text = new TrainingText(1e-3)
    const lines = [
      readingText({ seconds: 3, bytesRead: 5, bytesTotal: 10, rows: 3 }),
      readingText({ seconds: 3, bytesRead: 5e9, bytesTotal: undefined, rows: 3, badRows: 4 }),
      text.of(record(3, 0.01, 100)),
      text.of({ ...record(3, 0.01, 100), steps: { outer: 1, inner: 2, stage: 1, stages: 3 } }),
      text.of({ ...record(3, 0.01, 100), problems: 3 }),
      text.of({ ...record(3, 0.01, 100), models: { done: 1000, all: undefined } }),
      text.of({ ...record(3, 0.01, 100), models: { done: 0, all: 8 } }),
    ]
    const kept = 'skipped 3 bad rows; the first:\nwrote a.model\n'
    assert.equal(withoutProgress(`${lines.join('\n')}\n${kept}`), kept)
  })
})
