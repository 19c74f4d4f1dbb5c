// Once for real: text of which more stays in memory than a signed 32-bit number counts, trained on as users do it, with no
// options. It takes 9 GB of disk, about as much again for the store, some 5 GB of memory and several minutes.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { unlessSlow } from '../slow.ts'

const program = fileURLToPath(new URL('../../bin/spillway.js', import.meta.url))
const GIGABYTES = 2 ** 30

it('9 GB of text like webspam, no options', { skip: unlessSlow }, t => {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-test-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < 25 * GIGABYTES) return t.skip('less than 25 GB of disk')
  if (totalmem() < 12 * GIGABYTES) return t.skip('less than 12 GB of memory')
  const spillway = (...words: string[]): Record<string, unknown> => {
    const run = spawnSync(process.execPath, [program, ...words, '--json'], { cwd: folder, encoding: 'utf8' })
    assert.equal(run.status, 0, run.stderr)
    return JSON.parse(run.stdout)
  }
  const made = spillway(
    'generate',
    '--like',
    'webspam',
    'spam.svm',
    '--size',
    '9G',
    '--test',
    'spam.t',
    '--test-rows',
    '2000',
  )
  const result = spillway('train', 'spam.svm', 'spam.model')
  t.diagnostic(JSON.stringify(result))
  assert.equal(result['solver'], 'stream')
  assert.equal(result['rows'], made['rows'])
  assert.equal(result['exitReason'], 'converged')
  assert.ok((result['gap'] as number) <= 1e-3)
  // All of the window, what Node has, and the model.
  assert.ok((result['peakMemoryBytes'] as number) < 6 * GIGABYTES)
  const { accuracy } = spillway('predict', 'spam.t', 'spam.model') as { accuracy: number }
  assert.ok(accuracy > 0.8, `${accuracy} of the test rows`)
})
