// A run in a cap that is as large as its --memory does not read its own program from the disk again and again.
import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CommandFailed } from '../../bench/measure.ts'
import { rowBefore } from '../../bench/results.ts'
import { MORE_READ, readPerAsked, trial, whyFailed } from '../../bench/sections/caps.ts'
import { generate } from '../../src/generate/generate.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { published, whyNot } from '../out-of-core/cap.ts'

const folder = testFolder()

describe('a cap around --memory', () => {
  it('that a run does not survive is told apart from one in which it crawls', () => {
    const why = (message: string): string => whyFailed(new CommandFailed(message))
    assert.equal(why('exit code 137, out of memory under --limit 160M: node'), 'killed')
    assert.equal(why('stopped after 300 s: node'), '> 300 s')
    assert.equal(why('exit code 1: node: no such file'), 'failed')
  })

  it('that was measured by a run that broke off is not measured again', () => {
    const row = { data: 'webspam', from: 'text', solver: 'block', cap: 160, seconds: 3 }
    const section = { name: 'caps', title: '', goal: '', protocol: [], details: [], notes: [] }
    const before = [{ ...section, tables: [{ columns: {}, rows: [row] }] }]
    const { seconds: _, ...key } = row
    assert.equal(rowBefore(before, key), row)
    assert.equal(rowBefore(before, { ...key, cap: 176 }), undefined)
    assert.equal(rowBefore([], key), undefined)
  })

  it('is no reason to read more than was asked for, from text and from a store', async t => {
    const why = whyNot()
    if (why) return t.skip(why)
    const file = join(folder.path, 'pages.svm')
    await generate(file, { like: 'webspam', features: 300_000, size: 60e6, seed: 5 })
    const node = join(folder.path, 'node')
    copyFileSync(process.execPath, node)
    const program = published(folder.path)
    const runs = [
      { from: 'text', solver: 'stream', cap: 176 },
      { from: 'store', solver: 'stream', cap: 160 },
      { from: 'store', solver: 'block', cap: 208 },
    ] as const
    for (const { from, solver, cap } of runs) {
      const what = { data: { name: 'webspam', file }, from, solver, node, program }
      const run = await trial(what, join(folder.path, 'caps.spill'), cap, cap)
      assert.ok(run, `${cap}M was refused`)
      const share = readPerAsked(run)
      assert.ok(share <= MORE_READ, `${solver} from ${from} in ${cap}M read ${share} times what it asked for`)
    }
  })
})
