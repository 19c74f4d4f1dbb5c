// The command line under mpirun: who speaks, who writes, what is refused, and how a failure is told.
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { filesIn, good, inFolder, type Outcome, program } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { openMpi, type RanksToStart, runRanks } from './mpirun.ts'

const text = asText(someRows(200, 12))
/** A problem that every rank can have a part of. */
const logistic = ['--loss', 'logistic', '--solver', 'newton', '--quiet']
const here = hostname()

function spillway(cwd: string, ranks: number, words: string[], given: RanksToStart = {}): Promise<Outcome> {
  return runRanks(openMpi, ranks, [program, ...words], { cwd, ...given })
}

/** What the program itself says on standard error: the launcher says more. */
const said = ({ stderr }: Outcome): string[] => stderr.split(/\r?\n/).filter(line => line.startsWith('spillway:'))

describe('the command line over ranks', { skip: openMpi.skip }, () => {
  it('prints once, and writes one model', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), text)
      const { status, stdout, stderr } = await spillway(folder, 3, ['train', 'data.svm', '--json', ...logistic])
      assert.equal(status, 0, stderr)
      assert.equal(JSON.parse(stdout).command, 'train')
      assert.deepEqual(readdirSync(folder).sort(), ['data.svm', 'data.svm.model'])
    }))

  it('deals out the blocks of a store, and leaves it as it is', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), text)
      await good(['ingest', 'data.svm', 'all.spill', '--blocks', '5', '-q'], { cwd: folder })
      const before = filesIn(join(folder, 'all.spill'))
      for (const again of [false, true]) {
        const { status, stderr } = await spillway(folder, 2, ['train', 'all.spill', 'it.model', ...logistic])
        assert.equal(status, 0, `${again}: ${stderr}`)
      }
      assert.deepEqual(filesIn(join(folder, 'all.spill')), before)
      const blocks = (rank: number): string[] =>
        readdirSync(join(folder, `all.${rank}-of-2.spill`)).filter(name => name.startsWith('block-'))
      assert.deepEqual(blocks(1), ['block-000000.bin', 'block-000002.bin', 'block-000004.bin'])
      assert.deepEqual(blocks(2), ['block-000001.bin', 'block-000003.bin'])
      const few = await spillway(folder, 6, ['train', 'all.spill', 'it.model', '--quiet'])
      assert.equal(few.status, 2)
      assert.match(said(few)[0], /all\.spill has 5 blocks, and there are 6 ranks: each takes whole blocks/)
    }))

  it('keeps rows in stores of the ranks, and goes on with as many ranks and with others', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), text)
      const words = ['train', 'data.svm', '--solver', 'block', '--loss', 'logistic', '--json', '--quiet']
      const json = async (ranks: number, more: string[]) =>
        JSON.parse((await spillway(folder, ranks, [...words, '--tolerance', '1e-7', ...more])).stdout)
      assert.equal((await json(2, ['--max-passes', '2'])).exitReason, 'max-passes')
      assert.ok(existsSync(join(folder, 'data.svm.2-of-2.spill')))
      const [same, other] = [await json(2, ['--resume']), await json(3, ['--resume'])]
      assert.deepEqual([same.start, same.resumedAtPass, other.start], ['resumed', 3, 'resumed'])
      assert.ok(Math.abs(other.primal - same.primal) <= 1e-6 * same.primal)
    }))

  it('trains by stream, and shares out folds of rows in blocks', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), text)
      const exact = ['--tolerance', '1e-6', '--json', '--quiet']
      const train = (solver: string) => ['train', 'data.svm', `${solver}.model`, '--solver', solver, ...exact]
      const { stdout, stderr } = await spillway(folder, 3, train('stream'))
      const alone = JSON.parse((await good(train('dual'), { cwd: folder })).stdout)
      assert.ok(Math.abs(JSON.parse(stdout).primal - alone.primal) <= 2e-6 * alone.primal, stderr)
      const folds = ['cross-validate', 'data.svm', '--solver', 'block', '--folds', '3', ...exact]
      const shared = await spillway(folder, 2, folds)
      const own = await good(folds, { cwd: folder })
      assert.equal(JSON.parse(shared.stdout).accuracy, JSON.parse(own.stdout).accuracy)
      assert.ok(existsSync(join(folder, 'data.svm.2-of-2.spill')))
    }))

  it('shares out the models of cross-validate and tune', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), text)
      const words = ['cross-validate', 'data.svm', '--folds', '3', '--tolerance', '1e-6', '--json', '--quiet']
      const { stdout } = await spillway(folder, 2, words)
      const { stdout: alone } = await good(words, { cwd: folder })
      const told = (text: string) =>
        JSON.parse(text).perFold.map(({ rows, accuracy }: { rows: number; accuracy: number }) => [rows, accuracy])
      assert.deepEqual(told(stdout), told(alone))
      const tuned = await spillway(folder, 2, ['tune', 'data.svm', 'it.model', '--cost', '0.1,1', '--quiet'])
      assert.equal(tuned.status, 0, tuned.stderr)
      assert.ok(existsSync(join(folder, 'it.model')))
      const parts = await spillway(folder, 2, ['cross-validate', 'part-{rank}.svm'])
      assert.equal(parts.status, 2)
      assert.match(said(parts)[0], /part-\{rank\}\.svm is another file at each rank, and every rank takes all rows/)
    }))

  it('takes files that each rank has for itself', () =>
    inFolder(async folder => {
      const lines = text.split('\n')
      for (const rank of [0, 1])
        writeFileSync(join(folder, `part-${rank}.svm`), `${lines.slice(rank * 100, rank * 100 + 100).join('\n')}\n`)
      const { status, stdout, stderr } = await spillway(folder, 2, ['train', 'part-{rank}.svm', ...logistic])
      assert.equal(status, 0, stderr)
      assert.match(stdout, /^part-\{rank\}\.svm: 200 rows/)
      assert.ok(!stderr.includes('no rank takes it'), stderr)
      writeFileSync(join(folder, 'part-2.svm'), `${lines[0]}\n`)
      const fewer = await spillway(folder, 2, ['train', 'part-{rank}.svm', '--loss', 'logistic'])
      assert.match(
        fewer.stderr,
        /part-2\.svm is there, too, and no rank takes it: each of 2 ranks has a file, from 0 on/,
      )
      assert.ok(existsSync(join(folder, 'part.svm.model')))
      const suspects = ['train', 'part-{rank}.svm', '--loss', 'ramp', '--outliers', 'suspects.tsv']
      const refused = await spillway(folder, 2, suspects)
      assert.equal(refused.status, 2)
      assert.match(said(refused)[0], /rank 0 read all data again, and part-\{rank\}\.svm is another file at each rank$/)
    }))

  it('predicts in the order of the data, and each rank into a file of its own where that is asked for', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), text)
      await good(['train', 'data.svm', '-q'], { cwd: folder })
      const words = ['predict', 'data.svm', 'data.svm.model', '--scores', '--header', '--quiet']
      await good([...words, 'one.txt'], { cwd: folder })
      const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
      const answers = read('one.txt')
      const { stdout } = await spillway(folder, 3, [...words, 'all.txt', '--json'])
      assert.equal(read('all.txt'), answers)
      const { rows, accuracy } = JSON.parse(stdout)
      const { stdout: alone } = await good([...words, 'one.txt', '--json'], { cwd: folder })
      assert.deepEqual({ rows, accuracy }, { rows: 200, accuracy: JSON.parse(alone).accuracy })
      assert.equal((await spillway(folder, 2, words)).stdout.replaceAll('\r', ''), answers)
      assert.equal((await spillway(folder, 2, [...words, 'part-{rank}.txt'])).status, 0)
      // Blocks of a store are random draws of the rows.
      await good(['ingest', 'data.svm', 'data.spill', '--blocks', '5', '-q'], { cwd: folder })
      const fromStore = [words[0], 'data.spill', ...words.slice(2)]
      assert.equal((await spillway(folder, 3, [...fromStore, 'merged.txt'])).status, 0)
      assert.equal(read('merged.txt'), answers)
      const [head] = answers.split('\n')
      assert.equal(`${read('part-0.txt')}${read('part-1.txt').slice(head.length + 1)}`, answers)
      const evaluated = await spillway(folder, 2, [...words.slice(0, 3), 'x.txt', '--evaluate'])
      assert.equal(evaluated.status, 2)
      assert.match(said(evaluated)[0], /--evaluate needs the scores of all rows in one process, and there are several/)
    }))

  it('says once what all ranks find', () =>
    inFolder(async folder => {
      const outcome = await spillway(folder, 3, ['train', 'missing.svm'])
      assert.equal(outcome.status, 1)
      assert.deepEqual(said(outcome), [
        `spillway: rank 0 on ${here}: cannot read missing.svm: there is no such file or folder`,
      ])
    }))

  it('says which rank failed, and where in the data', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), `${text}+1 1:1\n+1 what 2:1\n`)
      const outcome = await spillway(folder, 2, ['train', 'data.svm', ...logistic])
      assert.equal(outcome.status, 1)
      const [line, ...more] = said(outcome)
      assert.deepEqual(more, [])
      assert.ok(!outcome.stderr.includes('interrupted'), 'nobody has interrupted it')
      assert.match(
        line,
        new RegExp(`^spillway: rank 1 on ${here}: data\\.svm from byte \\d+ on, line \\d+, column 4: found`),
      )
      assert.ok(!existsSync(join(folder, 'data.svm.model')))
    }))

  it('says that only some ranks have the data, and what to do', () =>
    inFolder(async folder => {
      mkdirSync(join(folder, 'first'))
      mkdirSync(join(folder, 'second'))
      writeFileSync(join(folder, 'first', 'data.svm'), text)
      const rest = [':', '-n', '1', '--wdir', join(folder, 'second'), process.execPath, program, 'train', 'data.svm']
      const outcome = await spillway(join(folder, 'first'), 1, ['train', 'data.svm', ...rest])
      assert.equal(outcome.status, 1)
      assert.match(said(outcome)[0], /do not agree on data\.svm: \d+ bytes .*, a file that is not there at rank 1 on/)
      assert.match(outcome.stderr, /^ {2}put it on a disk that all ranks share, /m)
    }))

  it('refuses ranks that were told different things', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), text)
      const rest = [':', '-n', '1', process.execPath, program, 'train', 'data.svm', '--cost', '3']
      const outcome = await spillway(folder, 1, ['train', 'data.svm', '--cost', '2', ...rest])
      assert.equal(outcome.status, 1)
      assert.deepEqual(said(outcome), [
        `spillway: rank 0 on ${here}: ranks do not agree on --cost: 2 at rank 0 on ${here}, 3 at rank 1 on ${here}`,
      ])
    }))

  it('refuses commands of one process, and shows their help once', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'data.svm'), text)
      const outcome = await spillway(folder, 2, ['inspect', 'data.svm'])
      assert.equal(outcome.status, 2)
      assert.match(said(outcome)[0], /spillway inspect works in one process, and Open MPI's mpirun started 2$/)
      const { status, stdout } = await spillway(folder, 2, ['--version'])
      assert.equal(status, 0)
      assert.match(stdout, /^spillway \S+\s*$/)
      const each = await spillway(folder, 2, ['--version'], { env: { SPILLWAY_MPI: 'none' } })
      assert.match(each.stdout, /^(spillway \S+\s*){2}$/)
    }))

  it('says what to install where koffi is missing', () =>
    inFolder(async folder => {
      const root = fileURLToPath(new URL('../../', import.meta.url))
      for (const part of ['src', 'bin', 'package.json'])
        cpSync(join(root, part), join(folder, part), { recursive: true })
      writeFileSync(join(folder, 'data.svm'), text)
      const words = [join(folder, 'bin/spillway.js'), 'train', 'data.svm', '--quiet']
      const outcome = await runRanks(openMpi, 2, words, { cwd: folder })
      assert.equal(outcome.status, 1)
      assert.match(said(outcome)[0], /the package koffi, by which they would talk, is not installed$/)
      assert.match(outcome.stderr, /^ {2}npm install koffi /m)
      const alone = await runRanks(openMpi, 1, words, { cwd: folder })
      assert.equal(alone.status, 0, alone.stderr)
    }))
})
