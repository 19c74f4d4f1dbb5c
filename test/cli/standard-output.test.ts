// Standard output that cannot be written: one clear error when the disk is full, silence when the reader has left. What
// only tells people how the work goes (standard error) never stops it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { generate } from '../../src/generate/generate.ts'
import { loadModel } from '../../src/model/files.ts'
import { train } from '../../src/train/train.ts'
import { filesIn, inFolder, type Outcome, shell } from './run.ts'
import { asText, someRows } from './some-data.ts'

const root = mkdtempSync(join(tmpdir(), 'spillway-output-'))
const made = join(root, 'made')

before(async () => {
  mkdirSync(made)
  const data = join(made, 'a.svm')
  writeFileSync(data, asText(someRows(60, 8)))
  // More labels than a pipe takes without a reader.
  writeFileSync(join(made, 'long.svm'), '+1 1:1\n-1 2:1\n'.repeat(40_000))
  await (await train(data, {}).model).save(join(made, 'm'))
  await ingest(data, join(made, 's.spill'), { blocks: 2 })
})

after(() => rmSync(root, { recursive: true, force: true }))

const inCopy = (line: string): Promise<Outcome & { files: string[] }> =>
  inFolder(async cwd => {
    cpSync(made, cwd, { recursive: true })
    const outcome = await shell(line, cwd)
    return { ...outcome, files: filesIn(cwd).filter(name => !filesIn(made).includes(name)) }
  })

const commands = [
  '--help',
  '--version',
  'help train',
  'predict --help',
  'train a.svm new.model -q',
  'train a.svm new.model -q --json',
  'predict a.svm m -q',
  'predict a.svm m -q --json',
  'predict a.svm m out.txt -q --json',
  'cross-validate a.svm --folds 2 -q',
  'tune a.svm --folds 2 --cost 1 -q --no-model --json',
  'ingest a.svm new.spill -q',
  'add a.svm s.spill --again -q',
  'remove s.spill --label 1 -q',
  'inspect a.svm -q',
  'inspect m',
  'inspect s.spill --json',
  'convert m - --to json',
  'convert m out.json --to json',
  'generate --like kddb --rows 20 -q -',
  'generate --like kddb --rows 20 -q --json out.svm',
]

const FULL =
  'spillway: cannot write standard output: the disk is full\n  make room there, or name a place on another disk\n'
const noFull = existsSync('/dev/full') ? false : 'there is no /dev/full'

describe('a full disk under standard output is one clear error', { concurrency: 3, skip: noFull }, () => {
  for (const words of commands) {
    it(`spillway ${words} > /dev/full`, async () => {
      const { status, stderr } = await inCopy(`spillway ${words} > /dev/full`)
      assert.deepEqual([status, stderr], [1, FULL])
    })
  }

  it('of many labels too, and what was saved before stays', async () => {
    const { status, stderr } = await inCopy('spillway predict long.svm m -q > /dev/full')
    assert.deepEqual([status, stderr], [1, FULL])
    await inFolder(async cwd => {
      cpSync(made, cwd, { recursive: true })
      assert.equal((await shell('spillway train a.svm new.model -q > /dev/full', cwd)).status, 1)
      assert.ok((await loadModel(join(cwd, 'new.model'))).features > 0)
    })
  })

  it('OUT that is full is named', async () => {
    const { status, stderr } = await inCopy('spillway predict a.svm m /dev/full -q')
    assert.equal(status, 1)
    assert.match(stderr, /^spillway: cannot write \/dev\/full: the disk is full\n/)
  })
})

describe('a reader that has left ends the command without a word', { concurrency: 3 }, () => {
  for (const words of commands.filter(words =>
    /^(--help|train|predict a.svm m -q|inspect s|convert|generate)/.test(words),
  )) {
    it(`spillway ${words}`, async () => {
      // A pipe that has had a reader and has none now.
      const { status, stderr } = await inCopy(`mkfifo p; exec 3<>p 4>p 3<&-; spillway ${words} >&4`)
      assert.deepEqual([status, stderr], [0, ''])
    })
  }

  it('in the middle of the labels', async () => {
    const line = '{ spillway predict long.svm m; echo "exit $?" >&2; } | head -1'
    const { stdout, stderr } = await inCopy(line)
    assert.deepEqual([stdout, stderr], ['1\n', 'exit 0\n'])
  })

  it('in the middle of an input that never ends', async () => {
    const line = 'yes \'+1 1:1\' | { spillway predict - m; echo "exit $?" >&2; } | head -1'
    const { stdout, stderr } = await inCopy(line)
    assert.deepEqual([stdout, stderr], ['1\n', 'exit 0\n'])
  })

  it('and leaves no test file of data that nobody took', async () => {
    const line = 'mkfifo p; exec 3<>p 4>p 3<&-; spillway generate --like kddb --rows 9 -q - --test t.svm >&4'
    const { status, files } = await inCopy(line)
    assert.deepEqual([status, files], [0, ['p']])
  })
})

describe('standard error that cannot be written', { concurrency: 3 }, () => {
  const left = 'mkfifo p; exec 3<>p 4>p 3<&-;'
  for (const [name, before, to] of [
    ['is closed', '', '2>&-'],
    ['has no reader', left, '2>&4'],
    ...(noFull ? [] : [['is full', '', '2>/dev/full']]),
  ]) {
    it(`stops no work when it ${name}`, async () => {
      const { status, stdout } = await inCopy(`${before} spillway predict a.svm m ${to}`)
      assert.equal(status, 0)
      assert.equal(stdout.split('\n').length, 61)
      const trained = await inCopy(`${before} spillway train a.svm new.model ${to}`)
      assert.deepEqual([trained.status, trained.files.includes('new.model')], [0, true])
    })

    it(`leaves the exit code of a failure when it ${name}`, async () => {
      assert.equal((await inCopy(`${before} spillway predict nowhere.svm m ${to}`)).status, 1)
      assert.equal((await inCopy(`${before} spillway nonsense ${to}`)).status, 2)
    })
  }

  it('is a failure when the report that was asked for goes there', { skip: noFull }, async () => {
    const { status } = await inCopy('spillway predict a.svm m out.txt --evaluate -q 2>/dev/full')
    assert.equal(status, 1)
  })

  it('and both at once leave the exit code', { skip: noFull }, async () => {
    assert.equal((await inCopy('spillway inspect a.svm > /dev/full 2>&1')).status, 1)
  })
})

describe('a disk that fills up', () => {
  const disk = join(root, 'disk')
  let why = ''
  before(() => {
    mkdirSync(disk)
    const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk])
    if (error || status !== 0) why = `a small disk cannot be mounted: ${error?.message ?? stderr}`
  })
  after(() => {
    if (!why) spawnSync('umount', [disk])
  })

  it('in the middle of the last piece is told', async t => {
    if (why) return t.skip(why)
    // All labels come in one piece, of which the disk takes the first part.
    const { status, stderr } = await shell(`spillway predict long.svm m -q > ${disk}/labels`, made)
    assert.deepEqual([status, stderr], [1, FULL])
    assert.equal(statSync(join(disk, 'labels')).size, 65536)
    rmSync(join(disk, 'labels'))
  })

  for (const words of ['predict long.svm m OUT -q', 'generate --like webspam --rows 300 -q OUT']) {
    it(`leaves nothing of OUT: ${words}`, async t => {
      if (why) return t.skip(why)
      for (const out of words.startsWith('generate') ? ['out', 'out.gz', 'out.zst'] : ['out']) {
        const path = join(disk, out)
        const { status, stderr } = await shell(`spillway ${words.replace('OUT', path)}`, made)
        assert.equal(status, 1)
        assert.match(stderr, new RegExp(`^spillway: cannot write ${path}: the disk is full\n  make room there`))
        assert.deepEqual(readdirSync(disk), [])
      }
    })
  }

  it('ends a compressed file that is in the middle of a piece, each of 20 times', async t => {
    if (why) return t.skip(why)
    for (let time = 0; time < 10; time++) {
      for (const ending of ['gz', 'zst']) {
        const made = generate(join(disk, `out.${ending}`), { like: 'webspam', rows: 300 })
        await assert.rejects(made, /the disk is full/)
      }
    }
    assert.deepEqual(readdirSync(disk), [])
  })
})
