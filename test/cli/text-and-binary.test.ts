// A text file, and then one that is none: one clear error that names the second.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { assertPlainWords, filesIn, good, inFolder, run } from './run.ts'
import { asText, someRows } from './some-data.ts'

const binary = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0x15, 0x04, 0x15, 0x00, 0x0a, 0x2b])

const withFiles = (check: (cwd: string) => Promise<void>): Promise<void> =>
  inFolder(async cwd => {
    const text = asText(someRows(60, 20))
    writeFileSync(join(cwd, 'a.svm'), text)
    writeFileSync(join(cwd, 'a.svm.gz'), gzipSync(text))
    writeFileSync(join(cwd, 'b.bin'), binary)
    writeFileSync(join(cwd, 'b.bin.gz'), gzipSync(binary))
    await check(cwd)
  })

describe('text and then a binary file', { concurrency: 2 }, () => {
  for (const [first, second] of [
    ['a.svm', 'b.bin'],
    ['a.svm', 'b.bin.gz'],
    ['a.svm.gz', 'b.bin'],
    ['a.svm.gz', 'b.bin.gz'],
  ]) {
    it(`are refused: ${first} ${second}`, () =>
      withFiles(async cwd => {
        const before = filesIn(cwd)
        for (const words of [
          ['train', first, second, 'a.model', '-q'],
          ['train', first, second, 'a.model', '--solver', 'block', '--store', 'a.spill', '-q', '--on-bad-row', 'skip'],
          ['ingest', first, second, 'a.spill', '-q'],
          ['inspect', first, second],
        ]) {
          const { status, stdout, stderr } = await run(words, { cwd })
          assertPlainWords(stderr)
          const told = stderr.replace(/^reading .*\n/gm, '')
          assert.equal(
            told,
            `spillway: ${second} looks like a binary file (its first bytes are 7f 45 4c 46 15 04 15 00), and ${first} like text: ` +
              'the files of one data set are in one format\n  leave one of them out, or bring them into one format\n',
          )
          assert.deepEqual([status, stdout], [2, ''])
          assert.deepEqual(filesIn(cwd), before)
        }
      }))
  }

  it('is refused alone, and by add, whose format is that of the store', () =>
    withFiles(async cwd => {
      await good(['ingest', 'a.svm', 'a.spill', '-q'], { cwd })
      writeFileSync(join(cwd, 'nul.svm'), '1 1:1\n-1 2:\x001\n')
      const before = filesIn(cwd)
      const heads = { 'b.bin': '7f 45 4c 46 15 04 15 00', 'b.bin.gz': '7f 45 4c 46 15 04 15 00' }
      for (const [name, bytes] of Object.entries({ ...heads, 'nul.svm': '31 20 31 3a 31 0a 2d 31' })) {
        for (const words of [
          ['add', name, 'a.spill'],
          ['add', name, 'a.spill', '--on-bad-row', 'skip'],
          ['add', 'a.svm', name, 'a.spill', '--again'],
          ['train', name, 'a.model'],
          ['train', name, 'a.model', '--format', 'libsvm', '--solver', 'block'],
          ['ingest', name, 'b.spill'],
        ]) {
          const { status, stdout, stderr } = await run([...words, '-q'], { cwd })
          assertPlainWords(stderr)
          assert.equal(
            stderr,
            `spillway: ${name} looks like a binary file (its first bytes are ${bytes}), and text was expected\n` +
              '  a row of text is LABEL INDEX:VALUE INDEX:VALUE …\n',
          )
          assert.deepEqual([status, stdout], [2, ''])
          assert.deepEqual(filesIn(cwd), before)
        }
      }
    }))

  it('leaves several text files alone, with a mark of byte order or labels beyond ASCII', () =>
    withFiles(async cwd => {
      writeFileSync(join(cwd, 'c.svm'), `\ufeff1 1:1\n-1 2:1\n`)
      await good(['ingest', 'a.svm', 'c.svm', 'a.spill', '-q'], { cwd })
      writeFileSync(join(cwd, 'd.svm'), 'grün 1:1\nrot 2:1\n')
      await good(['ingest', 'a.svm', 'd.svm', 'd.spill', '-q'], { cwd })
    }))
})
