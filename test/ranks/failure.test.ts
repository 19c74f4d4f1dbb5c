// A rank that fails tells rank 0, which puts the error on record and into the report.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { CommandInput } from '../../src/cli/command.ts'
import { recorded } from '../../src/cli/record-options.ts'
import { SpillwayError, UsageError } from '../../src/errors.ts'
import { failureOf, NOTICE_BYTES, noticeOf } from '../../src/ranks/failure.ts'
import { ranksInOneProcess } from '../../src/ranks/in-one-process.ts'
import { readRun } from '../../src/report/record-file.ts'
import { inFolder, program } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { launchers, runRanks } from './mpirun.ts'

describe('the notice of a rank that fails', () => {
  it('has its name, what went wrong and what to do', () => {
    const { message, advice, exitCode } = failureOf(noticeOf(new UsageError('no', 'say yes'), 'rank 2 on node7'))
    assert.deepEqual({ message, advice, exitCode }, { message: 'rank 2 on node7: no', advice: 'say yes', exitCode: 2 })
  })

  it('has words that are too many cut', () => {
    for (const letter of ['x', 'ß', '\n']) {
      const bytes = noticeOf(new SpillwayError(letter.repeat(1e5), letter.repeat(1e5)), 'rank 1 on here')
      assert.ok(bytes.length <= NOTICE_BYTES && bytes.length > NOTICE_BYTES / 2)
      assert.match(failureOf(bytes).message, /^rank 1 on here: .+…$/s)
    }
  })

  it('tells of a defect, and where it is if that is asked for', () => {
    const error = new Error('oh')
    assert.match(failureOf(noticeOf(error, 'rank 1')).message, /^rank 1: this should not have happened: oh$/)
    assert.match(failureOf(noticeOf(error, 'rank 1')).advice!, /it is a defect/)
    assert.match(failureOf(noticeOf(error, 'rank 1', true)).advice!, /failure\.test\.ts/)
  })
})

describe('records of a run of which another rank fails', () => {
  it('end with its error, whatever rank 0 is at', () =>
    inFolder(async folder => {
      const [first, second] = ranksInOneProcess(2)
      const [record, report] = [join(folder, 'run.jsonl'), join(folder, 'run.html')]
      let tellLater = (): void => {}
      const command = recorded(async (_, open) => {
        const about = { verb: 'train', words: ['train'], data: ['x'], settings: {}, warn: assert.fail } as const
        const recorder = await open({ ...about, words: [...about.words], data: [...about.data] })
        tellLater = () => recorder!.add({ record: 'test', seconds: 1, data: 'x', rows: 1, accuracy: 1 })
        second.leave(new SpillwayError('rank 1 on there: the disk is full', 'make room'))
        // It computes on, and does not meet the others.
        return new Promise<number>(() => {})
      })
      const input = { arguments: [], options: { record, report }, words: [], ranks: first }
      await assert.rejects(command(input as unknown as CommandInput), /rank 1 on there: the disk is full/)
      tellLater()
      const { end, tests } = readRun(record)
      assert.deepEqual(end, { record: 'end', error: 'rank 1 on there: the disk is full', advice: 'make room' })
      assert.deepEqual(tests, [])
      assert.match(readFileSync(report, 'utf8'), /the disk is full/)
    }))

  for (const launcher of launchers) {
    it(`end with its error under the mpirun of ${launcher.title}`, { skip: launcher.skip }, () =>
      inFolder(async folder => {
        // The last rank meets the bad row.
        writeFileSync(join(folder, 'data.svm'), `${asText(someRows(200, 12))}+1 what 2:1\n`)
        const words = ['train', 'data.svm', '--loss', 'logistic', '--solver', 'newton', '--quiet']
        const files = ['--record', 'run.jsonl', '--report', 'run.html']
        const { status, stderr } = await runRanks(launcher, 2, [program, ...words, ...files], { cwd: folder })
        assert.equal(status, 1, stderr)
        const { end, result } = readRun(join(folder, 'run.jsonl'))
        assert.match(
          end?.error ?? stderr,
          new RegExp(`^rank 1 on ${hostname()}: data\\.svm from byte \\d+ on, line \\d+`),
        )
        assert.equal(result, undefined)
        const said = stderr.split(/\r?\n/).filter(line => line.startsWith('spillway:'))
        assert.deepEqual(said, [`spillway: ${end!.error}`])
        assert.ok(readFileSync(join(folder, 'run.html'), 'utf8').includes('{"record":"end"'))
      }),
    )
  }
})
