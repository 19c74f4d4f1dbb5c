// What people type because other programs taught them to.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { UsageError } from '../../src/errors.ts'
import { train } from '../../src/train/train.ts'
import { assertPlainWords, filesIn, good, inFolder, run } from './run.ts'
import { asText, someRows } from './some-data.ts'

const withData = (check: (cwd: string) => Promise<void>): Promise<void> =>
  inFolder(async cwd => {
    writeFileSync(join(cwd, 'a.svm'), asText(someRows(300, 40)))
    await check(cwd)
  })

describe("LIBLINEAR's lines", { concurrency: 2 }, () => {
  for (const [words, command] of [
    [['-v', '5', '-c', '4', 'a.svm'], 'cross-validate'],
    [['-C', '-s', '2', 'a.svm'], 'tune'],
    [['-s', '0', '-v', '3', '-q', '-w1', '2', 'a.svm'], 'cross-validate'],
  ] as const) {
    it(`train ${words.join(' ')} names the command that does it, and that one runs`, () =>
      withData(async cwd => {
        const { status, stderr } = await run(['train', ...words], { cwd })
        assert.equal(status, 2)
        assertPlainWords(stderr)
        const [, advice] = /type: spillway (.+)$/m.exec(stderr) ?? []
        assert.ok(advice?.startsWith(`${command} `), stderr)
        await good([...advice.split(' '), '--quiet'], { cwd })
      }))
  }

  it('cross-validate and tune take -s, -c, -B and -wN', () =>
    withData(async cwd => {
      const short = ['-s', '1', '-c', '2', '-B', '1', '-w1', '3']
      const long = ['--loss', 'squared-hinge', '--cost', '2', '--bias', '1', '--class-weight', '1=3']
      for (const command of ['cross-validate', 'tune'] as const) {
        const rest = ['a.svm', '--json', ...(command === 'tune' ? ['--no-model'] : [])]
        const told = async (words: string[]): Promise<unknown> => {
          const {
            seconds: _,
            peakMemoryBytes: __,
            ...others
          } = JSON.parse((await good([command, ...words, ...rest], { cwd })).stdout)
          return others
        }
        assert.deepEqual(await told(short), await told(long))
      }
    }))

  it('predict -b 1 gives probabilities, -b 0 labels', () =>
    withData(async cwd => {
      await good(['train', '-s', '0', 'a.svm', 'a.model', '-q'], { cwd })
      for (const [words, long] of [
        [['-b', '1'], ['--probability']],
        [['-b', '0'], []],
      ]) {
        await good(['predict', ...words, 'a.svm', 'a.model', 'short.txt', '-q'], { cwd })
        await good(['predict', ...long, 'a.svm', 'a.model', 'long.txt', '-q'], { cwd })
        assert.equal(readFileSync(join(cwd, 'short.txt'), 'utf8'), readFileSync(join(cwd, 'long.txt'), 'utf8'))
      }
      const { status, stderr } = await run(['predict', '-b', 'yes', 'a.svm', 'a.model'], { cwd })
      assert.equal(status, 2)
      assert.match(stderr, /-b is "yes"; expected 0 or 1/)
    }))
})

describe('a memory without its letter', () => {
  it('is asked about, on the command line and in the library', () =>
    withData(async cwd => {
      for (const words of [
        ['train', 'a.svm'],
        ['ingest', 'a.svm', 'a.spill'],
      ]) {
        const { status, stderr } = await run([...words, '--memory', '50'], { cwd })
        assert.equal(status, 2)
        assert.match(stderr, /--memory is "50", which is 50 bytes\n {2}did you mean 50M\?/)
      }
      assert.throws(
        () => train(join(cwd, 'a.svm'), { memory: '512' }),
        (error: UsageError) => {
          assert.ok(error instanceof UsageError)
          assert.equal(error.advice, 'did you mean 512M?')
          return true
        },
      )
    }))
})

describe('a table', () => {
  for (const [name, text, columns] of [
    ['a header and words', 'age,job,income\n39,clerk,<=50K\n', 'the columns are "age", "job", "income"'],
    ['numbers alone', '39\t1\t2\t0\n50\t3\t4\t1\n', 'the table has 4 columns and no header'],
    ['semicolons', '"age";"job"\n30;"clerk"\n', 'the columns are "age", "job"'],
  ] as const) {
    it(`of ${name} needs a label, for train, inspect and ingest`, () =>
      inFolder(async cwd => {
        writeFileSync(join(cwd, 'a.csv'), text)
        for (const words of [
          ['train', 'a.csv'],
          ['inspect', 'a.csv'],
          ['ingest', 'a.csv', 'a.spill'],
        ]) {
          const { status, stderr } = await run(words, { cwd })
          assert.equal(status, 2, stderr)
          assertPlainWords(stderr)
          assert.match(stderr, new RegExp(`which column is the label\\? ${columns}`))
        }
        assert.deepEqual(filesIn(cwd), ['a.csv'])
      }))
  }

  it('is not what rows with labels of several names are', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), 'cat,dog 1:1 2:1\nbird 2:1\ncat,dog 1:2\n')
      await good(['train', 'a.svm', '-q'], { cwd })
    }))
})

describe('two files of data', () => {
  it('are both trained on, and that is said', () =>
    withData(async cwd => {
      writeFileSync(join(cwd, 'b.svm'), asText(someRows(100, 40)))
      const { stderr, stdout } = await good(['train', 'a.svm', 'b.svm'], { cwd })
      assert.match(stderr, /^trained on all 2 files; to test on one of them instead, say --test b\.svm$/m)
      assert.match(stdout, /: 400 rows,/)
      assert.doesNotMatch((await good(['train', 'a.svm', '--test', 'b.svm'], { cwd })).stderr, /trained on all/)
    }))
})

describe('the model of a store', () => {
  it('has the name that the model of its text has', () =>
    withData(async cwd => {
      await good(['ingest', 'a.svm', 'a.svm.spill', '-q'], { cwd })
      await good(['train', 'a.svm.spill', '-q'], { cwd })
      const outside = filesIn(cwd).filter(file => !file.startsWith('a.svm.spill/'))
      assert.deepEqual(outside, ['a.svm', 'a.svm.model'])
    }))
})
