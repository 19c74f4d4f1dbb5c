// `--memory` is a promise: the command finishes inside a cap of just that size, Node and page cache included.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generate } from '../../src/generate/generate.ts'
import { outcomeOf, run } from '../cli/run.ts'
import { testFolder } from '../input-formats/fixture.ts'

const folder = testFolder()
const limit = fileURLToPath(new URL('../../../shared/bin/limit', import.meta.url))

function whyNot(): string | undefined {
  if (!existsSync(limit)) return 'skipped: ../shared/bin/limit is not there'
  if (process.getuid?.() !== 0) return 'skipped: only root can set a memory cap'
  if (!existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes')) return 'skipped: there is no cgroup v1 for memory'
  return undefined
}

/** The program as it is published. From sources Node strips types as it goes, and that takes tens of megabytes more. */
function published(): string {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const place = join(folder.path, 'package')
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const words = [tsc, '-p', 'tsconfig.build.json', '--outDir', join(place, 'dist')]
  const { status, stdout } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' })
  assert.equal(status, 0, stdout)
  copyFileSync(join(root, 'src/numeric/numeric.wasm'), join(place, 'dist/numeric/numeric.wasm'))
  for (const name of ['bin', 'package.json']) cpSync(join(root, name), join(place, name), { recursive: true })
  return join(place, 'bin/spillway.js')
}

describe('the promise of --memory', () => {
  it('from 60 MB of text to a gap of 1e-2 inside 160M', async t => {
    const why = whyNot()
    if (why) return t.skip(why)
    const text = join(folder.path, 'korea.svm')
    await generate(text, { like: 'yahoo-korea', size: 60e6, seed: 3 })
    const words = ['train', 'korea.svm', 'korea.model', '--memory', '160M', '--tolerance', '1e-2', '--json', '-q']
    const child = spawn(limit, ['--memory', '160M', '--report', '--', process.execPath, published(), ...words], {
      cwd: folder.path,
    })
    child.stdin.end()
    const { status, stdout, stderr } = await outcomeOf(child)
    assert.equal(status, 0, stderr)
    const { gap, exitReason, solver } = JSON.parse(stdout)
    assert.ok(gap <= 1e-2)
    assert.equal(exitReason, 'converged')
    assert.notEqual(solver, 'dual')
    const { peakBytes } = JSON.parse(stderr.trim().split('\n').pop()!)
    assert.ok(peakBytes <= 160 * 2 ** 20)
    rmSync(text)
  })

  it('is refused at once when it cannot be kept, with what would help', async () => {
    const text = folder.write('small.svm', '+1 1:1\n-1 2:1\n')
    for (const memory of ['1M', '64M', '99M']) {
      const { status, stderr } = await run(['train', text, 'small.model', '--memory', memory, '-q'], {
        cwd: folder.path,
      })
      assert.equal(status, 1)
      assert.match(stderr, /of memory cannot work: Node takes 84\.0 MiB, buffers for reading at least 16\.0 MiB/)
      assert.match(stderr, /give --memory 100M or more/)
      assert.ok(!existsSync(join(folder.path, 'small.model')))
      assert.ok(!existsSync(join(folder.path, 'small.svm.spill')))
    }
    const { status } = await run(['train', text, 'small.model', '--memory', '100M', '-q'], { cwd: folder.path })
    assert.equal(status, 0)
  })
})
