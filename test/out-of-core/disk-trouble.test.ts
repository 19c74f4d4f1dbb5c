// Blocks that vanish or change, disks that fill up, folders that cannot be written: errors that name the file, and
// nothing lost that was good.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { Checkpoints } from '../../src/block-store/checkpoint.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import { SpillwayError } from '../../src/errors.ts'
import { writeAtomically } from '../../src/files/atomic-file.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { assertPlainWords, bound, filesIn, good, run } from '../cli/run.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { assertSameModel, assertSound, copyStore, fastFolder, memoryFor, noisyStore, told } from './fixture.ts'

const folder = fastFolder()
let store = ''
let text = ''
let memory = 0
let count = 0
const fresh = (): string => copyStore(store, join(folder.path, `copy-${++count}.spill`))
const options = (): TrainOptions => ({ solver: 'block', cost: 0.02, memory, checkpointSeconds: 0 })

before(async () => {
  store = await noisyStore(folder, 'rows')
  text = join(folder.path, 'rows.svm')
  memory = await memoryFor(store, 1)
})

async function refused(work: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(work, (error: SpillwayError) => {
    assert.ok(error instanceof SpillwayError, `${error}`)
    assert.match(error.message, words)
    return true
  })
}

const troubles: [string, (path: string) => void, RegExp][] = [
  ['deleted', path => rmSync(path), /block-000003\.bin: there is no such file/],
  [
    'truncated',
    path => writeFileSync(path, readFileSync(path).subarray(0, -7)),
    /block-000003\.bin.*truncated: \d+ bytes were found, \d+ expected/,
  ],
  ['emptied', path => writeFileSync(path, ''), /block-000003\.bin/],
  [
    'lengthened',
    path => writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from('!')])),
    /block-000003\.bin/,
  ],
  ['altered by a bit', path => flip(path, 0.6), /block-000003\.bin/],
  ['altered in its header', path => flip(path, 0), /block-000003\.bin/],
  ['altered in its last byte', path => flip(path, 1), /block-000003\.bin/],
]

function flip(path: string, share: number): void {
  const bytes = readFileSync(path)
  bytes[Math.min(bytes.length - 1, Math.floor(bytes.length * share))] ^= 16
  writeFileSync(path, bytes)
}

describe('a block that was', () => {
  for (const [name, spoil, words] of troubles) {
    it(`${name} before a run: the error names it`, async () => {
      const path = fresh()
      spoil(join(path, 'block-000003.bin'))
      await refused(train(path, options()).result, words)
    })
  }

  for (const [name, spoil, words] of troubles.filter((_, k) => [0, 1, 4].includes(k))) {
    it(`${name} between passes: the error names it, and put right, the run goes on`, async () => {
      const path = fresh()
      const block = join(path, 'block-000003.bin')
      const original = readFileSync(block)
      let spoilt = false
      await refused(
        told(path, options(), record => {
          if (record.pass < 1 || spoilt) return
          spoilt = true
          spoil(block)
        }),
        words,
      )
      assert.ok(spoilt)
      writeFileSync(block, original)
      const rest = await told(path, { ...options(), resume: true })
      assert.ok(rest.train[0].pass > 0.5, 'it began from the beginning')
      assertSameModel(rest.result, (await told(fresh(), options())).result)
    })
  }

  it('damaged: the command says so and leaves the old model alone', async () => {
    const path = fresh()
    const cwd = join(folder.path, 'damaged')
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'old.model'), '')
    await good(['train', path, 'old.model', '--solver', 'block', '-q'], { cwd })
    const old = readFileSync(join(cwd, 'old.model'))
    flip(join(path, 'block-000005.bin'), 0.5)
    const { status, stderr } = await run(['train', path, 'old.model', '--solver', 'block', '-q'], { cwd })
    assert.equal(status, 1)
    assert.match(stderr, /block-000005\.bin/)
    assertPlainWords(stderr)
    assert.ok(readFileSync(join(cwd, 'old.model')).equals(old))
    assert.deepEqual(filesIn(cwd), ['old.model'])
    const inspected = await run(['inspect', path, '--verify'], { cwd })
    assert.equal(inspected.status, 1)
    assert.match(inspected.stderr, /block-000005\.bin/)
  })
})

describe('a full disk', () => {
  const disk = join(folder.path, 'disk')
  let why = ''
  before(() => {
    mkdirSync(disk)
    const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', disk])
    if (error || status !== 0) why = `skipped: a small disk cannot be mounted: ${error?.message ?? stderr}`
  })
  after(() => {
    if (!why) spawnSync('umount', [disk])
  })
  const small = (t: TestContext): boolean => {
    if (why) t.skip(why)
    return why === ''
  }
  /** Fills it up but for some bytes. */
  const fill = (leave: number): void => {
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(join(disk, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - leave)))
  }
  const clear = (): void => {
    for (const name of readdirSync(disk)) rmSync(join(disk, name), { recursive: true, force: true })
  }

  it('during ingest: says so, names the file, and leaves nothing behind', async t => {
    if (!small(t)) return
    const many = folder.write('many.svm', `${noisyRows(30_000, 30, 5)}\n`)
    await refused(
      ingest(many, join(disk, 'many.spill'), { blocks: 4 }),
      /cannot write .*many\.spill.*: the disk is full/,
    )
    assert.deepEqual(readdirSync(disk), [])
    const { status, stderr } = await run(['ingest', many, join(disk, 'many.spill'), '-q'], { cwd: folder.path })
    assert.equal(status, 1)
    assert.match(stderr, /the disk is full/)
    assertPlainWords(stderr)
    assert.deepEqual(readdirSync(disk), [])
  })

  it('during a checkpoint: says so; the last one is whole, and with room again the run goes on', async t => {
    if (!small(t)) return
    clear()
    const path = copyStore(store, join(disk, 'rows.spill'))
    const whole = await told(fresh(), options())
    let filled = false
    await refused(
      told(path, options(), record => {
        if (record.pass < 1 || filled) return
        filled = true
        fill(0)
      }),
      /cannot write .*state-.*: the disk is full/,
    )
    assert.ok(filled)
    await assertSound(path)
    rmSync(join(disk, 'filler'))
    const rest = await told(path, { ...options(), resume: true })
    assert.ok(rest.train[0].pass > 0.5, 'it began from the beginning')
    assertSameModel(rest.result, whole.result)
  })

  it('during the writing of the model: the old one stays', async t => {
    if (!small(t)) return
    clear()
    const model = join(disk, 'old.model')
    await good(['train', text, model, '-q'], { cwd: folder.path })
    const old = readFileSync(model)
    fill(0)
    const { status, stderr } = await run(['train', text, model, '--cost', '2', '-q'], { cwd: folder.path })
    assert.equal(status, 1)
    assert.match(stderr, /cannot write .*old\.model: the disk is full/)
    assertPlainWords(stderr)
    assert.ok(readFileSync(model).equals(old))
    assert.deepEqual(readdirSync(disk).sort(), ['filler', 'old.model'])
  })
})

describe('a folder that cannot be written', () => {
  it('is named when a checkpoint is to go there, or a store', { skip: bound().skip }, async t => {
    const path = fresh()
    const [cwd, locked] = ['bound', 'locked'].map(name => join(folder.path, name))
    for (const made of [cwd, locked]) mkdirSync(made)
    for (const closed of [path, locked]) chmodSync(closed, 0o555)
    t.after(() => chmodSync(path, 0o755))
    const words = ['train', path, 'some.model', '--solver', 'block', '-q']
    const { status, stderr } = await run(words, { cwd, bound: true })
    assert.equal(status, 1)
    assert.match(
      stderr,
      /cannot write a checkpoint into .*\.spill: permission denied\n {2}a run over blocks keeps its state/,
    )
    assertPlainWords(stderr)
    assert.deepEqual(filesIn(cwd), [])
    const made = await run(['ingest', text, join(locked, 'new.spill'), '-q'], { cwd, bound: true })
    assert.equal(made.status, 1)
    assert.match(made.stderr, /cannot make .*new\.spill: permission denied\n {2}ask its owner/)
    const over = await run(['ingest', text, path, '--overwrite', '-q'], { cwd, bound: true })
    assert.equal(over.status, 1)
    assert.match(over.stderr, /cannot write into .*\.spill: permission denied\n {2}name another place for the store\n$/)
    await assertSound(path)
  })
})

describe('a read-only file system', () => {
  const disk = join(folder.path, 'read-only')
  const mount = (...words: string[]): string => {
    const { status, stderr, error } = spawnSync('mount', [...words, disk], { encoding: 'utf8' })
    return error || status !== 0 ? `no disk can be mounted: ${error?.message ?? stderr}` : ''
  }
  /** As if the store had become read-only while a run was under way. */
  const checkpoint = (state: string): Promise<void> =>
    new Checkpoints({} as never, {} as never, { blocks: [] } as never, state).save({} as never)
  let why = ''
  before(() => {
    mkdirSync(disk)
    why = mount('-t', 'tmpfs', '-o', 'size=1m', 'tmpfs')
    if (why) return
    copyStore(store, join(disk, 'new.spill'))
    const trained = copyStore(store, join(disk, 'trained.spill'))
    mkdirSync(join(trained, 'state-0123456789ab'))
    why = mount('-o', 'remount,ro')
  })
  after(() => {
    spawnSync('umount', [disk])
  })

  it('is named, with what to do, by whatever would write there', async t => {
    if (why) return t.skip(why)
    const copy = 'copy the store to a place that can be written'
    const readOnly = 'the file system is read-only'
    for (const name of ['new.spill', 'trained.spill']) {
      const path = join(disk, name)
      for (const [work, message, advice] of [
        [() => train(path, options()).result, `cannot write a checkpoint into ${path}: ${readOnly}`, copy],
        [
          () => checkpoint(join(path, 'state-a')),
          `cannot write a checkpoint into ${join(path, 'state-a')}: ${readOnly}`,
          copy,
        ],
        [() => addRows(text, path), `cannot write into ${path}: ${readOnly}`, `${copy}, and change the copy`],
        [
          () => removeRows(path, { rows: [1] }),
          `cannot write into ${path}: ${readOnly}`,
          `${copy}, and change the copy`,
        ],
        [() => ingest(text, path, { overwrite: true }), `cannot write into ${path}: ${readOnly}`, 'name another place'],
        [
          () => ingest(text, join(disk, 'x.spill')),
          `cannot make ${join(disk, 'x.spill')}: ${readOnly}`,
          'name a place',
        ],
        [() => writeAtomically(join(disk, 'm'), []), `cannot write ${join(disk, 'm')}: ${readOnly}`, 'name a place'],
      ] as const) {
        await assert.rejects(work(), (error: SpillwayError) => {
          assert.equal(error.message, message)
          assert.ok(error.advice?.includes(advice), error.advice)
          return true
        })
      }
    }
  })

  it('can be trained from in memory', async t => {
    if (why) return t.skip(why)
    const { rows } = await train(join(disk, 'new.spill'), { solver: 'dual' }).result
    assert.ok(rows > 0)
  })
})

describe('a store that another process is writing', () => {
  let other: ChildProcess | undefined
  after(() => other?.kill())

  it('is left alone, with the number of the process', async () => {
    other = spawn('sleep', ['3600'])
    const path = fresh()
    const lock = join(path, 'writing.lock')
    writeFileSync(lock, `${other.pid}\n`)
    const before = filesIn(path)
    await refused(ingest(text, path, { overwrite: true }), new RegExp(`is being written by process ${other.pid}$`))
    const words = [
      ['ingest', text, path, '--overwrite'],
      ['add', text, path],
    ]
    for (const command of words) {
      const { status, stderr } = await run([...command, '-q'], { cwd: folder.path })
      assert.equal(status, 1)
      assert.match(
        stderr,
        new RegExp(`is being written by process ${other.pid}\\n  wait for it to end, or remove .*lock`),
      )
      assertPlainWords(stderr)
    }
    assert.deepEqual(filesIn(path), before)
    await assertSound(path)
  })

  it('and has died is taken over', async () => {
    const path = fresh()
    const { pid } = spawnSync('true')
    writeFileSync(join(path, 'writing.lock'), `${pid}\n`)
    await ingest(text, path, { overwrite: true, blocks: 8 })
    await assertSound(path)
    assert.ok(!existsSync(join(path, 'writing.lock')))
  })

  it('and is not finished is not trained on', async () => {
    const path = fresh()
    rmSync(join(path, 'manifest.json'))
    await refused(train(path, options()).result, /is an unfinished store: it has no manifest\.json/)
  })

  it('of other data is not replaced by text that goes to the same place', async () => {
    const path = fresh()
    const otherText = folder.write('other.svm', `${noisyRows(100, 5, 9)}\n`)
    const before = filesIn(path)
    await refused(
      train(otherText, { solver: 'block', store: path }).result,
      /is in the way: it is a store of other data/,
    )
    assert.deepEqual(filesIn(path), before)
    await assertSound(path)
  })
})
