// train --outliers: the rows that a truncated loss gives up, in a file. Rows with flipped labels are among them.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { noisyRows } from '../contracts/small-problems.ts'
import { npyBytes } from '../input-formats/numpy-files.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { threeClasses } from '../out-of-core/fixture.ts'
import { rowsOf } from '../train/truncated-objective.ts'
import { good, inFolder, run } from './run.ts'

interface Listed {
  row: number
  source: string
  line: number
  label: string
  margin: number
}

function listed(path: string): Listed[] {
  const [head, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n')
  assert.equal(head, 'row\tsource\tline\tlabel\tmargin')
  return lines.map(line => {
    const [row, source, number, label, margin] = line.split('\t')
    return { row: Number(row), source, line: Number(number), label, margin: Number(margin) }
  })
}

/** Rows that a plane divides, but for those whose labels were flipped, by number from 1. */
function flippedRows(rows: number, share: number): { lines: string[]; flipped: Set<number> } {
  const random = randomNumbers(11)
  const flipped = new Set<number>()
  // Rows without entries tell nothing.
  const lines = noisyRows(Math.ceil((rows * 9) / 8), 8, 5, 0)
    .split('\n')
    .filter(line => line.includes(':'))
  return {
    flipped,
    lines: lines.map((line, i) => {
      if (random() >= share) return line
      flipped.add(i + 1)
      return line.startsWith('+1') ? line.replace('+1', '-1') : line.replace('-1', '+1')
    }),
  }
}

/** All values of a row, from its entries. */
function valuesOf(entries: string[], columns: number): number[] {
  const values = new Array<number>(columns).fill(0)
  for (const entry of entries) {
    const [feature, value] = entry.split(':').map(Number)
    values[feature - 1] = value
  }
  return values
}

/** Shares of the flipped rows among the outliers, and of the outliers among the flipped rows. */
function quality(rows: Set<number>, flipped: Set<number>): { precision: number; recall: number } {
  const both = [...rows].filter(row => flipped.has(row)).length
  return { precision: both / rows.size, recall: both / flipped.size }
}

describe('train --outliers', () => {
  for (const loss of ['ramp', 'truncated-squared-hinge']) {
    it(`lists flipped rows and few others: ${loss}`, () =>
      inFolder(async cwd => {
        const { lines, flipped } = flippedRows(3000, 0.1)
        writeFileSync(join(cwd, 'rows.svm'), `${lines.join('\n')}\n`)
        const words = [
          'train',
          'rows.svm',
          '--loss',
          loss,
          '--bias',
          '1',
          '--cost',
          '10',
          '--outliers',
          'out.tsv',
          '--json',
        ]
        const { status, stdout, stderr } = await run(words, { cwd })
        assert.equal(status, 0, stderr)
        const found = listed(join(cwd, 'out.tsv'))
        const { outliers, outlierMargin, relaxations } = JSON.parse(stdout)
        assert.equal(found.length, outliers)
        assert.equal(outlierMargin, 1)
        assert.ok(relaxations >= 1)
        for (const { row, line, label, source } of found) {
          assert.equal(row, line)
          assert.equal(source, 'rows.svm')
          assert.equal(label, rowsOf(lines[row - 1])[0].label)
        }
        const { precision, recall } = quality(new Set(found.map(({ row }) => row)), flipped)
        assert.ok(precision > 0.95, `precision ${precision}`)
        assert.ok(recall > 0.6, `recall ${recall}`)
        const limit = loss === 'ramp' ? -1 : 1 - Math.SQRT2
        assert.ok(found.every(({ margin }) => margin < limit))
      }))
  }

  it('names lines as they stand in several files, and the same rows of a store', () =>
    inFolder(async cwd => {
      const { lines, flipped } = flippedRows(1200, 0.1)
      const half = Math.floor(lines.length / 2)
      // Empty lines, and rows that cannot be read, are no rows.
      const text = [
        ['', ...lines.slice(0, half), ''],
        lines.slice(half).flatMap((line, i) => (i === 7 ? ['+1 nonsense', '', line] : [line])),
      ]
      for (const [k, part] of text.entries()) writeFileSync(join(cwd, `${k}.svm`), `${part.join('\n')}\n`)
      const options = [
        '--loss',
        'ramp',
        '--bias',
        '1',
        '--cost',
        '10',
        '--on-bad-row',
        'skip',
        '--quiet',
        '--outliers',
        'out.tsv',
      ]
      const trained = await run(['train', '0.svm', '1.svm', '--model', 'm', ...options], { cwd })
      assert.equal(trained.status, 0, trained.stderr)
      const found = listed(join(cwd, 'out.tsv'))
      for (const { row, source, line, label } of found) {
        assert.equal(text[Number(source[0])][line - 1], lines[row - 1])
        assert.equal(lines[row - 1].split(' ')[0], label)
      }
      assert.ok(found.some(({ source }) => source === '0.svm') && found.some(({ source }) => source === '1.svm'))
      assert.ok(quality(new Set(found.map(({ row }) => row)), flipped).precision > 0.9)
      const ingest = ['ingest', '0.svm', '1.svm', 'rows.spill', '--blocks', '4', '--on-bad-row', 'skip', '--quiet']
      assert.equal((await run(ingest, { cwd })).status, 0)
      const words = [
        'train',
        'rows.spill',
        '--model',
        'm',
        '--solver',
        'stream',
        '--loss',
        'ramp',
        '--bias',
        '1',
        '--cost',
        '10',
      ]
      const stored = await run([...words, '--quiet', '--outliers', 'stored.tsv'], { cwd })
      assert.equal(stored.status, 0, stored.stderr)
      const rows = listed(join(cwd, 'stored.tsv'))
      for (const { row, source, line, label } of rows) {
        assert.equal(lines[row - 1].split(' ')[0], label)
        assert.equal(source, row <= half ? '0.svm' : '1.svm')
        assert.equal(line, row <= half ? row : row - half)
      }
      const { precision, recall } = quality(new Set(rows.map(({ row }) => row)), new Set(found.map(({ row }) => row)))
      assert.ok(precision > 0.9 && recall > 0.9, 'both are about the same rows')
    }))

  it('lists the same rows of every format that the data may be in', () =>
    inFolder(async cwd => {
      const columns = 8
      const rows = flippedRows(600, 0.1).lines.map(line => {
        const [label, ...entries] = line.split(' ')
        return { label: Number(label), values: valuesOf(entries, columns) }
      })
      const numbers = Float64Array.from(rows.flatMap(({ values }) => values))
      const own = Float64Array.from(rows.flatMap(({ label, values }) => [label, ...values]))
      const files: Record<string, string | Buffer> = {
        'rows.svm': rows
          .map(({ label, values }) => `${label} ${values.map((v, k) => `${k + 1}:${v}`).join(' ')}`)
          .join('\n'),
        'rows.vw': rows
          .map(({ label, values }) => `${label} | ${values.map((v, k) => `f${k}:${v}`).join(' ')}`)
          .join('\n'),
        'rows.csv': rows.map(({ label, values }) => [label, ...values].join(',')).join('\n'),
        'first.npy': npyBytes("'<f8'", [rows.length, columns + 1], own),
        'apart.npy': npyBytes("'<f8'", [rows.length, columns], numbers),
        'y.npy': npyBytes("'<f8'", [rows.length], Float64Array.from(rows.map(({ label }) => label))),
      }
      for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content)
      for (const words of [
        ['rows.svm'],
        ['rows.vw'],
        ['rows.vw', '--format', 'auto'],
        ['rows.csv', '--label', '1', '--header', 'no'],
        ['first.npy'],
        ['apart.npy', '--labels', 'y.npy'],
      ]) {
        const asked = ['--model', 'm', '--loss', 'ramp', '--bias', '1', '--outliers', 'out.tsv', '--json']
        const { stdout } = await good(['train', ...words, ...asked], { cwd })
        const found = listed(join(cwd, 'out.tsv'))
        assert.ok(found.length > 20, words.join(' '))
        assert.equal(found.length, JSON.parse(stdout).outliers, words.join(' '))
        for (const { row, line, label } of found) {
          assert.equal(line, row)
          assert.equal(Number(label), rows[row - 1].label)
        }
      }
    }))

  it('lists strings', () =>
    inFolder(async cwd => {
      // A word tells its label, but for every tenth row.
      const lines = Array.from(
        { length: 300 },
        (_, k) => `${(k % 2 === 0) === (k % 10 !== 0) ? 1 : -1} ${k % 2 === 0 ? 'ACGT' : 'TTGA'}`,
      )
      writeFileSync(join(cwd, 'rows.txt'), lines.join('\n'))
      const words = ['--loss', 'ramp', '--outliers', 'out.tsv', '--quiet', '--outlier-margin', '0.5']
      await good(['train', 'rows.txt', '--model', 'm', '--expand', 'weighted-degree:2', ...words], { cwd })
      assert.deepEqual(
        listed(join(cwd, 'out.tsv')).map(({ line }) => line),
        Array.from({ length: 30 }, (_, k) => 10 * k + 1),
      )
    }))

  it('of several classes lists what the model of a row of its own class gives up', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'rows.svm'), `${threeClasses(600, 5)}\n`)
      const words = ['train', 'rows.svm', '--loss', 'ramp', '--outlier-margin', '0.5', '--outliers', 'out.tsv']
      const { status, stderr } = await run([...words, '--quiet'], { cwd })
      assert.equal(status, 0, stderr)
      const found = listed(join(cwd, 'out.tsv'))
      assert.deepEqual([...new Set(found.map(({ label }) => label))].sort(), ['0', '1', '2'])
      assert.ok(found.every(({ margin }) => margin < -0.5))
    }))

  it('is refused where it would list nothing, or could not', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'rows.svm'), `${noisyRows(60, 5, 1)}\n`)
      const refused = async (words: string[], expected: RegExp, stdin?: string): Promise<void> => {
        const { status, stderr } = await run(words, { cwd, ...(stdin !== undefined && { stdin }) })
        assert.equal(status, 2, stderr)
        assert.match(stderr, expected)
        assert.ok(!existsSync(join(cwd, 'out.tsv')) && !existsSync(join(cwd, 'm')))
      }
      const outliers = ['--model', 'm', '--outliers', 'out.tsv']
      await refused(['train', 'rows.svm', ...outliers], /the hinge loss does not\n.*--loss ramp or --loss truncated/)
      await refused(
        ['train', '-', '--loss', 'ramp', ...outliers],
        /standard input can be read once/,
        '+1 1:1\n-1 1:2\n',
      )
      await refused(['train', 'rows.svm', '--loss', 'ramp', '--model', 'm', '--outliers', 'rows.svm'], /rows\.svm/)
    }))

  it('leaves the old file where the new one cannot be written, and nothing else', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'rows.svm'), `${noisyRows(60, 5, 1)}\n`)
      const words = ['train', 'rows.svm', '--model', 'm', '--loss', 'ramp', '--quiet', '--outliers', 'missing/out.tsv']
      const { status, stderr } = await run(words, { cwd })
      assert.notEqual(status, 0)
      assert.match(stderr, /missing/)
      assert.ok(readdirSync(cwd).every(name => ['rows.svm', 'm'].includes(name)))
    }))
})
