// No command writes what it reads, nor one file twice, whatever names and links the file goes by; pipes and devices may be
// both.
import assert from 'node:assert/strict'
import { cpSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import { allCommands } from '../../src/cli/all-commands.ts'
import { parseArguments } from '../../src/cli/command.ts'
import { UsageError } from '../../src/errors.ts'
import { train } from '../../src/train/train.ts'
import { filesIn, shell } from './run.ts'
import { asText, someRows } from './some-data.ts'

const root = mkdtempSync(join(tmpdir(), 'spillway-same-file-'))
const made = join(root, 'made')
const here = process.cwd()
let count = 0

before(async () => {
  mkdirSync(made)
  process.chdir(made)
  writeFileSync('a.svm', asText(someRows(60, 8)))
  writeFileSync('t.svm', asText(someRows(30, 8)))
  await (await train('a.svm', {}).model).save('m')
  await ingest('a.svm', 's.spill', { blocks: 2 })
})

/** Every test has the files to itself. */
beforeEach(() => {
  const cwd = join(root, `run-${++count}`)
  cpSync(made, cwd, { recursive: true })
  process.chdir(cwd)
  symlinkSync('t.svm', 'soft.svm')
  linkSync('t.svm', 'hard.svm')
  symlinkSync('m', 'soft.model')
  linkSync('m', 'hard.model')
  symlinkSync('s.spill', 'soft.spill')
  symlinkSync('s.spill/manifest.json', 'soft.manifest')
  linkSync('s.spill/block-000000.bin', 'hard.block')
})

after(() => {
  process.chdir(here)
  rmSync(root, { recursive: true, force: true })
})

/** Runs a command line in this process. */
async function spillway(line: string): Promise<number> {
  const [name, ...words] = line.split(' ')
  const command = await allCommands[name].load()
  const { arguments: given, options } = parseArguments(command, command.rewrite?.(words) ?? words)
  return command.run({ arguments: given, options, signal: new AbortController().signal })
}

/** Of every file; what the link to the store leads to is among them already. */
function contents(): [string, string][] {
  const names = filesIn(process.cwd()).filter(name => name !== 'soft.spill')
  return names.map(name => [name, readFileSync(name, 'latin1')])
}

async function refused(work: () => Promise<unknown>, message: string): Promise<void> {
  const old = contents()
  await assert.rejects(work, (error: UsageError) => {
    assert.ok(error instanceof UsageError, `${error}`)
    assert.equal(error.message, message)
    assert.ok(error.advice)
    return true
  })
  assert.deepEqual(contents(), old)
}

const replaced = (name: string): string => `${name} would be read and replaced by the same command`
const same = (output: string, input: string): string =>
  `${output} is the same file as ${input}; the command would read and replace it`
const among = (output: string, store: string): string =>
  `${output} lies among the files of ${store}, where nothing else may be written`
const inside = (input: string, store: string): string => `${input} lies inside ${store}, which the command would change`
const twice = (name: string): string => `${name} would be written twice by the same command`
const both = (a: string, b: string): string => `${a} is the same file as ${b}; the command would write both`

const NO_FILE = '"-" is no name of a file, and this output does not go to standard output'

const lines: [string, string][] = [
  ['train a.svm --model t.svm --test t.svm', replaced('t.svm')],
  ['train a.svm --model a.svm', replaced('a.svm')],
  ['train a.svm --model t.svm --test soft.svm', same('t.svm', 'soft.svm')],
  ['train a.svm --model soft.svm --test t.svm', same('soft.svm', 't.svm')],
  ['train a.svm --model hard.svm --test t.svm', same('hard.svm', 't.svm')],
  ['train a.svm new.model --store a.svm --solver block', replaced('a.svm')],
  ['train a.svm new.model --test soft.spill --store s.spill --solver block', same('s.spill', 'soft.spill')],
  ['train a.svm new --store new --solver block', twice('new')],
  ['train a.svm new --store ./new --solver block', both('new', './new')],
  ['train a.svm --model a.svm.spill --solver block', twice('a.svm.spill')],
  ['train a.svm --model s.spill/new --store s.spill --solver block', among('s.spill/new', 's.spill')],
  ['train s.spill --model s.spill/manifest.json', among('s.spill/manifest.json', 's.spill')],
  ['train s.spill --model soft.spill/new', among('soft.spill/new', 's.spill')],
  ['train soft.spill --model s.spill/new', among('s.spill/new', 'soft.spill')],
  ['train s.spill --model soft.manifest', among('soft.manifest', 's.spill')],
  ['train s.spill --model hard.block', among('hard.block', 's.spill')],
  ['tune a.svm --model a.svm', replaced('a.svm')],
  ['tune t.svm --model soft.svm', same('soft.svm', 't.svm')],
  ['predict a.svm m a.svm', replaced('a.svm')],
  ['predict a.svm m ./m', replaced('./m')],
  ['predict a.svm m soft.model', same('soft.model', 'm')],
  ['predict hard.svm m t.svm', same('t.svm', 'hard.svm')],
  ['convert m m --to json', replaced('m')],
  ['convert m soft.model --to liblinear', same('soft.model', 'm')],
  ['convert hard.model m --to spillway', same('m', 'hard.model')],
  ['ingest a.svm a.svm', replaced('a.svm')],
  ['ingest t.svm soft.svm --overwrite', same('soft.svm', 't.svm')],
  ['ingest s.spill s.spill --overwrite', replaced('s.spill')],
  ['ingest s.spill soft.spill --overwrite', same('soft.spill', 's.spill')],
  ['ingest s.spill/block-000000.bin s.spill --overwrite', inside('s.spill/block-000000.bin', 's.spill')],
  ['add s.spill s.spill', replaced('s.spill')],
  ['add soft.spill/block-000000.bin s.spill', inside('soft.spill/block-000000.bin', 's.spill')],
  ['remove s.spill --rows s.spill/manifest.json', inside('s.spill/manifest.json', 's.spill')],
  ['generate x --test x --like kddb --rows 5', twice('x')],
  ['generate x --test ./x --like kddb --rows 5', both('x', './x')],
  ['generate t.svm --test soft.svm --like kddb --rows 5', both('t.svm', 'soft.svm')],
  ['generate - --test - --like kddb --rows 5', twice('standard output')],
  ['train a.svm --model -', NO_FILE],
  ['train a.svm --model new --loss ramp --outliers -', NO_FILE],
  ['train a.svm --model new --record -', NO_FILE],
  ['predict a.svm m - --report -', NO_FILE],
]

describe('refused, with every file as it was', () => {
  for (const [line, message] of lines) it(`spillway ${line}`, () => refused(() => spillway(line), message))

  it('the library says the same of stores', async () => {
    await refused(() => ingest('s.spill', 'soft.spill', { overwrite: true }), same('soft.spill', 's.spill'))
    await refused(() => addRows('s.spill/block-000000.bin', 's.spill'), inside('s.spill/block-000000.bin', 's.spill'))
    await refused(
      () => removeRows('s.spill', { rows: 'soft.spill/manifest.json' }),
      inside('soft.spill/manifest.json', 's.spill'),
    )
  })

  it('a store is not cleared for data that cannot be read', async () => {
    const old = contents()
    for (const [data, words] of [
      ['nowhere.svm', /cannot read nowhere\.svm: there is no such file or folder/],
      ['s.spill', /cannot read s\.spill: it is a folder, a file was expected/],
    ] as const) {
      cpSync('s.spill', 'other.spill', { recursive: true })
      await assert.rejects(ingest(data, 'other.spill', { overwrite: true }), words)
      rmSync('other.spill', { recursive: true })
      assert.deepEqual(contents(), old)
    }
  })

  it('standard input and output that lead to a file', async () => {
    const old = contents()
    for (const [line, message] of [
      ['spillway predict - m a.svm < a.svm', same('a.svm', 'standard input')],
      ['spillway predict a.svm m >> a.svm', same('standard output', 'a.svm')],
      ['spillway inspect - < t.svm >> t.svm', same('standard output', 'standard input')],
    ]) {
      const { status, stderr } = await shell(line, process.cwd())
      assert.deepEqual([status, stderr], [2, `spillway: ${message}\n  choose another name for the output\n`], line)
    }
    assert.deepEqual(contents(), old)
  })
})

describe('allowed', () => {
  const works = async (line: string): Promise<string> => {
    const { status, stdout, stderr } = await shell(line, process.cwd())
    assert.deepEqual([status, stderr], [0, ''], line)
    return stdout
  }

  it('one device or pipe for both', async () => {
    assert.equal(await works('spillway generate /dev/null --test /dev/null --like kddb --rows 5 -q'), '')
    assert.equal(await works('spillway predict /dev/null m /dev/null -q'), '')
    const labels = await works('spillway predict a.svm m -q')
    assert.equal(labels.split('\n').length, 61)
    assert.equal(await works('spillway predict - m - -q < a.svm'), labels)
    assert.equal(await works('cat a.svm | spillway predict /dev/stdin m /dev/stdout -q | cat'), labels)
    assert.equal(await works('spillway predict a.svm m /dev/stdout -q > out && cat out'), labels)
    assert.equal(await works('mkfifo p; cat a.svm > p & spillway predict p m -q; wait'), labels)
  })

  it('a file that is there and is neither', async () => {
    await works('spillway predict a.svm m t.svm -q && spillway convert m s.model --to spillway')
    assert.match(readFileSync('t.svm', 'latin1'), /^[+-]?\d+\n/)
  })
})
