// `--memory` is a promise: the command finishes inside a cap of just that size, Node and page cache included.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { requireRoomForSources } from '../../src/cli/from-sources.ts'
import { requireRoomInContainer } from '../../src/cli/room-in-container.ts'
import type { UsageError } from '../../src/errors.ts'
import { generate } from '../../src/generate/generate.ts'
import { outcomeOf, run } from '../cli/run.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { asStrings, motifStrings } from '../train/letters.ts'
import { limit, published, whyNot } from './cap.ts'

const folder = testFolder()

describe('the promise of --memory', () => {
  it('from 60 MB of text to a gap of 1e-2 inside 200M', async t => {
    const why = whyNot()
    if (why) return t.skip(why)
    const text = join(folder.path, 'korea.svm')
    await generate(text, { like: 'yahoo-korea', size: 60e6, seed: 3 })
    const words = ['train', 'korea.svm', 'korea.model', '--memory', '200M', '--tolerance', '1e-2', '--json', '-q']
    const child = spawn(
      limit,
      ['--memory', '200M', '--report', '--', process.execPath, published(folder.path), ...words],
      {
        cwd: folder.path,
      },
    )
    child.stdin.end()
    const { status, stdout, stderr } = await outcomeOf(child)
    assert.equal(status, 0, stderr)
    const { gap, exitReason, solver } = JSON.parse(stdout)
    assert.ok(gap <= 1e-2)
    assert.equal(exitReason, 'converged')
    assert.notEqual(solver, 'dual')
    const { peakBytes } = JSON.parse(stderr.trim().split('\n').pop()!)
    assert.ok(peakBytes <= 184 * 2 ** 20)
    rmSync(text)
  })

  it('from 2 MB of strings, which degree 8 makes 64 MB of rows and 5 million weights, inside 187M', async t => {
    const why = whyNot()
    if (why) return t.skip(why)
    folder.write('strings.txt', asStrings(motifStrings(5000, 400, 3)))
    const words = ['train', 'strings.txt', 'strings.model', '--expand', 'weighted-degree:8', '--normalize', 'unit']
    const limits = ['--memory', '187M', '--tolerance', '1e-2', '--test', 'strings.txt', '--json', '-q']
    const child = spawn(
      limit,
      ['--memory', '187M', '--report', '--', process.execPath, published(folder.path), ...words, ...limits],
      { cwd: folder.path },
    )
    child.stdin.end()
    const { status, stdout, stderr } = await outcomeOf(child)
    assert.equal(status, 0, stderr)
    const { gap, solver, test } = JSON.parse(stdout)
    assert.ok(gap <= 1e-2)
    assert.equal(solver, 'block')
    assert.ok(test.accuracy > 0.9)
  })

  it('in a container of 189M, nothing named: from text, and from a store whose blocks are too large', async t => {
    const why = whyNot()
    if (why) return t.skip(why)
    const text = join(folder.path, 'contained.svm')
    await generate(text, { like: 'yahoo-korea', size: 22e6, seed: 4 })
    await ingest(text, join(folder.path, 'large.spill'), { blocks: 1 })
    for (const data of ['contained.svm', 'large.spill']) {
      const words = ['train', data, 'contained.model', '--solver', 'stream', '--tolerance', '1e-1', '--json', '-q']
      const cap = ['--memory', '189M', '--report', '--', process.execPath, published(folder.path)]
      const child = spawn(limit, [...cap, ...words], { cwd: folder.path })
      child.stdin.end()
      const { status, stdout, stderr } = await outcomeOf(child)
      assert.equal(status, 0, stderr)
      assert.equal(JSON.parse(stdout).exitReason, 'converged')
      const { manifest } = await openStore(join(folder.path, data.endsWith('.spill') ? data : `${data}.spill`))
      assert.ok(manifest.blocks.length > 1)
    }
  })

  it('in a container that is too small for the data is told to be: it says how large one has to be', async t => {
    const why = whyNot()
    if (why) return t.skip(why)
    const text = join(folder.path, 'wide.svm')
    await generate(text, { like: 'yahoo-korea', size: 22e6, seed: 5 })
    const child = spawn(
      limit,
      ['--memory', '160M', '--', process.execPath, published(folder.path), 'train', text, '-q'],
      {
        cwd: folder.path,
      },
    )
    child.stdin.end()
    const { status, stderr } = await outcomeOf(child)
    assert.equal(status, 1)
    assert.match(stderr, /^spillway: .*144 MiB of memory cannot work/)
    assert.match(stderr, /--memory \d+M( or more)? in a larger container \(this one has 160 MiB\)/)
    rmSync(text)
  })

  it('in a container where a store cannot be trained on, it is described all the same', async t => {
    const why = whyNot()
    if (why) return t.skip(why)
    folder.write('few.svm', '+1 1:1\n-1 2:1\n'.repeat(50))
    await ingest(join(folder.path, 'few.svm'), join(folder.path, 'few.spill'))
    const inside = ['--memory', '140M', '--', process.execPath, published(folder.path)]
    const child = spawn(limit, [...inside, 'inspect', 'few.spill'], { cwd: folder.path })
    child.stdin.end()
    const { status, stdout, stderr } = await outcomeOf(child)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^rows +100$/m)
    assert.match(stdout, /^training +.* cannot work/m)
    assert.match(stdout, /^ +what would help: --memory \d+M$/m)
    // A memory that was named is asked about.
    const { status: refused } = await run(['inspect', 'few.spill', '--memory', '100M'], { cwd: folder.path })
    assert.equal(refused, 1)
  })

  it('is of the built program: inside of a cap that is no larger, the sources are refused', async t => {
    const M = 2 ** 20
    assert.throws(
      () => requireRoomForSources(240 * M, 240 * M),
      /^SpillwayError: 240 MiB of memory cannot work from the sources: Node takes 64\.0 MiB more .* the container has 240 MiB$/,
    )
    requireRoomForSources(240 * M, 304 * M)
    requireRoomForSources(240 * M, Number.POSITIVE_INFINITY)
    requireRoomForSources(undefined, 240 * M)
    const why = whyNot()
    if (why) return t.skip(why)
    folder.write('few.svm', '+1 1:1\n-1 2:1\n'.repeat(50))
    const inside = ['--memory', '240M', '--', process.execPath, published(folder.path)]
    const child = spawn(limit, [...inside, 'train', 'few.svm', 'few.model', '--memory', '240M', '-q'], {
      cwd: folder.path,
    })
    child.stdin.end()
    const { status, stderr } = await outcomeOf(child)
    assert.equal(status, 0, stderr)
  })

  it('that is more than the container has is refused, but where it is asked about', async t => {
    const M = 2 ** 20
    assert.throws(
      () => requireRoomInContainer(192 * M, { limit: 160 * M }),
      /^UsageError: --memory names 192 MiB, and the container has 160 MiB: the system would end the run$/,
    )
    assert.throws(
      () => requireRoomInContainer(192 * M, { limit: 320 * M, processes: 2 }),
      (error: UsageError) => {
        assert.match(
          error.message,
          /^--memory names 192 MiB for each of 2 processes here, 384 MiB in all, and .* 320 MiB:/,
        )
        assert.match(error.advice!, /^take --memory 160M or less, or leave it out: /)
        return true
      },
    )
    requireRoomInContainer(160 * M, { limit: 160 * M })
    requireRoomInContainer(2 ** 45, { limit: Number.POSITIVE_INFINITY })
    requireRoomInContainer(undefined, { limit: 160 * M })
    const why = whyNot()
    if (why) return t.skip(why)
    folder.write('few.svm', '+1 1:1\n-1 2:1\n'.repeat(50))
    await ingest(join(folder.path, 'few.svm'), join(folder.path, 'asked.spill'))
    const inside = async (...words: string[]) => {
      const cap = ['--memory', '180M', '--', process.execPath, published(folder.path)]
      const child = spawn(limit, [...cap, ...words], { cwd: folder.path })
      child.stdin.end()
      return outcomeOf(child)
    }
    const { status, stderr } = await inside('train', 'few.svm', 'few.model', '--memory', '192M', '-q')
    assert.equal(status, 2)
    assert.match(
      stderr,
      /^spillway: --memory names 192 MiB, and the container has 180 MiB: .*\n {2}take --memory 180M or less/,
    )
    assert.equal((await inside('train', 'few.svm', 'few.model', '--memory', '180M', '-q')).status, 0)
    assert.equal((await inside('inspect', 'asked.spill', '--memory', '512M')).status, 0)
  })

  it('of an ingest is refused where pages of the program would have no room', async () => {
    folder.write('few.svm', '+1 1:1\n-1 2:1\n'.repeat(50))
    const words = (memory: string) => ['ingest', 'few.svm', 'small.spill', '--memory', memory, '-q']
    const { status, stderr } = await run(words('147M'), { cwd: folder.path })
    assert.equal(status, 1)
    assert.match(
      stderr,
      /147 MiB of memory cannot work: .*, its pages 48\.0 MiB, buffers for reading at least 16\.0 MiB/,
    )
    assert.match(stderr, /\n {2}give --memory 148M or more/)
    const enough = await run(words('148M'), { cwd: folder.path })
    assert.equal(enough.status, 0, enough.stderr)
  })

  it('is refused at once when it cannot be kept, with what would help', async () => {
    const text = folder.write('small.svm', '+1 1:1\n-1 2:1\n')
    for (const memory of ['1M', '64M', '131M']) {
      const { status, stderr } = await run(['train', text, 'small.model', '--memory', memory, '-q'], {
        cwd: folder.path,
      })
      assert.equal(status, 1)
      assert.match(stderr, /of memory cannot work: Node takes 84\.0 MiB, its pages 48\.0 MiB, what reading the text /)
      assert.match(stderr, /leaves behind 12\.0 MiB, blocks at least 7\.00 MiB\n {2}give --memory 151M or more/)
      assert.ok(!existsSync(join(folder.path, 'small.model')))
      assert.ok(!existsSync(join(folder.path, 'small.svm.spill')))
    }
    for (const solver of ['auto', 'stream']) {
      const words = ['train', text, 'small.model', '--memory', '151M', '--solver', solver, '-q']
      const { status, stderr } = await run(words, { cwd: folder.path })
      assert.equal(status, 0, stderr)
    }
  })

  it('gives advice that is not refused in its turn, however little was named', async () => {
    const path = join(folder.path, 'advised.svm')
    await generate(path, { like: 'clicks', size: 3e6, seed: 6 })
    for (const more of [
      ['train'],
      ['train', '--expand', 'polynomial:2+hash:18'],
      ['train', '--calibrate', 'isotonic'],
      ['cross-validate', '--folds', '3'],
    ]) {
      const [command, ...options] = more
      const words = [command, path, ...options, '--solver', 'block', '--max-passes', '1', '-q']
      const refused = await run([...words, '--memory', '64M'], { cwd: folder.path })
      assert.equal(refused.status, 1)
      const [, enough] = /--memory (\d+M)/.exec(refused.stderr)!
      const { status, stderr } = await run([...words, '--memory', enough], { cwd: folder.path })
      assert.equal(status, 0, `${more.join(' ')} --memory ${enough}: ${stderr}`)
      rmSync(join(folder.path, 'advised.svm.spill'), { recursive: true })
    }
  })

  it('has room for what fits a calibration, or is refused before anything is trained', async () => {
    const path = join(folder.path, 'many.svm')
    await generate(path, { like: 'clicks', size: 20e6, seed: 6 })
    const store = join(folder.path, 'many.spill')
    await ingest(path, store, { blocks: 40 })
    const words = ['train', store, 'many.model', '--solver', 'block', '--max-passes', '1', '-q', '--memory', '149M']
    const plain = await run(words, { cwd: folder.path })
    assert.equal(plain.status, 0, plain.stderr)
    rmSync(join(folder.path, 'many.model'))
    const { status, stderr } = await run([...words, '--calibrate', 'isotonic'], { cwd: folder.path })
    assert.equal(status, 1)
    assert.match(stderr, /^spillway: for the models of folds that --calibrate trains, 149 MiB of memory cannot work:/)
    assert.ok(!existsSync(join(folder.path, 'many.model')))
  })
})
