// A run says whether it went on from a checkpoint, from the last training, or began from zero: in words and in JSON.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { SpillwayError } from '../../src/errors.ts'
import { freshState } from '../../src/optimise/driver/driving.ts'
import { refuseOtherCourse } from '../../src/train/resume.ts'
import { assertPlainWords, good, inFolder } from './run.ts'
import { asText, someRows } from './some-data.ts'

const rows = someRows(500, 40)
const words = ['train', 'a.spill', 'a.model', '--solver', 'block']

const withStore = (check: (cwd: string) => Promise<void>): Promise<void> =>
  inFolder(async cwd => {
    writeFileSync(join(cwd, 'a.svm'), asText(rows.slice(0, 400)))
    writeFileSync(join(cwd, 'more.svm'), asText(rows.slice(400)))
    await good(['ingest', 'a.svm', 'a.spill', '--blocks', '4', '-q'], { cwd })
    await check(cwd)
  })

const jsonOf = async (cwd: string, ...more: string[]): Promise<Record<string, unknown>> =>
  JSON.parse((await good([...words, '--json', '-q', ...more], { cwd })).stdout)

describe('where a run began', { concurrency: 2 }, () => {
  it('is said of one that goes on from a checkpoint', () =>
    withStore(async cwd => {
      const first = await jsonOf(cwd, '--tolerance', '1e-6', '--max-passes', '2')
      assert.deepEqual([first['start'], first['resumedAtPass'], first['exitReason']], ['cold', undefined, 'max-passes'])
      const { stdout, stderr } = await good([...words, '--tolerance', '1e-6', '--max-passes', '3', '--resume'], { cwd })
      assertPlainWords(stderr)
      assert.match(stderr, /resumed at pass 3$/m)
      assert.match(stdout, /^block solver, .*: 3 passes in .* of reading, resumed at pass 3$/m)
      const last = await jsonOf(cwd, '--tolerance', '1e-6', '--resume')
      assert.deepEqual([last['start'], last['resumedAtPass'], last['exitReason']], ['resumed', 4, 'converged'])
    }))

  it('is said of one that had reached its aim', () =>
    withStore(async cwd => {
      const { passes } = await jsonOf(cwd)
      const { stderr } = await good([...words, '--resume'], { cwd })
      assert.match(stderr, /resumed at pass \d+, which is not needed: the run had reached its aim$/m)
      const again = await jsonOf(cwd, '--resume')
      assert.deepEqual([again['start'], again['passes']], ['resumed', passes])
    }))

  it('is said of one that starts from the last training, and of one that does not', () =>
    withStore(async cwd => {
      await good([...words, '-q'], { cwd })
      await good(['add', 'more.svm', 'a.spill', '-q'], { cwd })
      const { stdout, stderr } = await good(words, { cwd })
      assertPlainWords(stderr)
      assert.match(stderr, /started from the last training \(\d+ pass(es)?\): from its dual variables/)
      assert.match(stdout, /^block solver, .* of reading, started from the last training$/m)
      await good(['remove', 'a.spill', '--source', 'more.svm', '-q'], { cwd })
      assert.equal((await jsonOf(cwd))['start'], 'warm')
      await good(['add', 'more.svm', 'a.spill', '-q'], { cwd })
      const cold = await jsonOf(cwd, '--cold')
      assert.deepEqual([cold['start'], 'resumedAtPass' in cold], ['cold', false])
    }))

  it('is zero in memory, and where --resume finds nothing', () =>
    withStore(async cwd => {
      const { stdout } = await good(['train', 'a.svm', 'a.model', '--json', '-q'], { cwd })
      assert.equal(JSON.parse(stdout).start, 'cold')
      assert.equal((await jsonOf(cwd, '--resume'))['start'], 'cold')
    }))

  it('is refused in words where an older checkpoint does not say which memory it had', () => {
    const course = { slotBytes: 1 << 20, cacheBytes: 1 << 20 }
    const refusal = (memory: number | null): SpillwayError => {
      const older = freshState(1, course, '0123456789abcdef')
      const now = freshState(1, { slotBytes: 1 << 20, cacheBytes: 2 << 20, memory }, '0123456789abcdef')
      try {
        refuseOtherCourse(older, now)
      } catch (error) {
        return error as SpillwayError
      }
      throw new Error('it was not refused')
    }
    const named = refusal(240 << 20)
    assert.equal(named.message, 'the checkpoint was written with no --memory, this run has --memory 240M')
    assert.equal(named.advice, 'say no --memory again, or train again without --resume')
    assert.match(refusal(null).message, /other room for rows/)
  })
})
