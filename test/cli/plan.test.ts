// What is said of the plan before a run: two lines, the table for those who ask and for those who are refused.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { good, inFolder, run } from './run.ts'
import { asText, someRows } from './some-data.ts'

const withData = (check: (cwd: string) => Promise<void>): Promise<void> =>
  inFolder(async cwd => {
    writeFileSync(join(cwd, 'a.svm'), asText(someRows(300, 40)))
    await check(cwd)
  })

const commands = {
  train: ['train', 'a.svm', '--solver', 'stream', '--memory', '158M'],
  tune: ['tune', 'a.svm', '--solver', 'block', '--memory', '158M', '--cost', '1,2', '--folds', '2', '--no-model'],
  'cross-validate': ['cross-validate', 'a.svm', '--solver', 'block', '--memory', '158M', '--folds', '2'],
}

const PLAN =
  /^plan: \d+ blocks?.*; (all|\d+ pieces) in memory( at a time)?, [\d.]+ MiB of 158 MiB planned \(--verbose: what for\)$/
const TABLE = /^ {2}(\S.*\S) {2,}[\d.]+ ([KMG]i)?B$/

describe('the plan', { concurrency: 2 }, () => {
  for (const [command, words] of Object.entries(commands)) {
    it(`of ${words.join(' ')} takes two lines`, () =>
      withData(async cwd => {
        const lines = (await good(words, { cwd })).stderr.split('\n')
        assert.match(lines[0], /^solver (stream|block): as asked for$/)
        assert.equal(lines.filter(line => PLAN.test(line)).length, 1, lines.join('\n'))
        assert.ok(!lines.some(line => TABLE.test(line)))
      }))

    it(`of ${command} --verbose is a table`, () =>
      withData(async cwd => {
        const lines = (await good([...words, '--verbose'], { cwd })).stderr.split('\n')
        const parts = lines.flatMap(line => TABLE.exec(line)?.[1] ?? [])
        assert.equal(parts[0], 'Node and the program')
        assert.deepEqual(parts.slice(-2), ['in all', 'allowed'])
        assert.ok(!lines.some(line => PLAN.test(line)))
      }))
  }

  it('of data that fits says how much it takes, and of how much', () =>
    withData(async cwd => {
      const { stderr } = await good(['train', 'a.svm', '--memory', '300M'], { cwd })
      assert.match(stderr, /^solver dual: the data takes about \d+ MiB in memory, which fits in 300 MiB\n$/)
    }))

  it('that is refused is a table without being asked for', () =>
    withData(async cwd => {
      await good(['ingest', 'a.svm', 'a.spill'], { cwd })
      const refused = await run(['train', 'a.spill', '--solver', 'stream', '--memory', '90M'], { cwd })
      assert.equal(refused.status, 1)
      assert.match(refused.stderr, /90\.0 MiB of memory cannot work:\n {2}Node and the program .*\n/)
      assert.match(refused.stderr, /\n {2}allowed +90\.0 MiB\n {2}what would help: --memory \d+M\n/)
    }))

  it('leaves --json as it is', () =>
    withData(async cwd => {
      const fields = async (...more: string[]): Promise<string[]> =>
        Object.keys(JSON.parse((await good([...commands.train, '--json', ...more], { cwd })).stdout))
      assert.deepEqual(await fields('--verbose'), await fields())
    }))
})
