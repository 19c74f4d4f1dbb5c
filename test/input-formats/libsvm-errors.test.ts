// Every way a row can be bad: where it is, what was found, what was expected, in the exact words.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SpillwayError } from '../../src/errors.ts'
import { load, testFolder } from './fixture.ts'
import { parseWithClass } from './parsing.ts'

const folder = testFolder()
const FLOAT = 'a number that a 32-bit float can hold (below 3.4e38)'
const DOUBLE = 'a number that a 64-bit float can hold (below 1.8e308)'

interface Bad {
  what: string
  /** A line of one-based data. */
  line: string | Buffer
  column: number
  found: string
  expected: string
  advice?: string
  bits?: 32 | 64
}

const bad: Bad[] = [
  {
    what: 'a duplicate index',
    line: '1 2:1 3:1 3:2',
    column: 11,
    found: '"3:2"',
    expected: 'each index once in a row',
  },
  {
    what: 'a duplicate index whose first value was zero',
    line: '1 2:0 2:1',
    column: 7,
    found: '"2:1"',
    expected: 'each index once in a row',
  },
  {
    what: 'unsorted indices',
    line: '-1 5:1 3:2',
    column: 8,
    found: '"3:2"',
    expected: 'indices that rise within a row',
    advice: 'sort the indices of each row',
  },
  ...['nan', 'NaN', '-nan', 'inf', '-Inf', '+INFINITY'].map(text => ({
    what: `the value ${text}`,
    line: `+1 1:2 4:${text} 5:1`,
    column: 8,
    found: `"4:${text}"`,
    expected: 'a finite number',
    advice: 'clean the data, or step over such rows with --on-bad-row skip',
  })),
  { what: 'the label nan', line: 'nan 1:2', column: 1, found: '"nan"', expected: 'a finite number' },
  {
    what: 'index 0 among one-based ones',
    line: '1\t0:1',
    column: 3,
    found: '"0:1"',
    expected: 'an index of at least 1, for the indices of this data count from 1',
    advice: 'if they count from 0, say --index-base 0',
  },
  {
    what: 'a missing colon',
    line: '1 2:1 5 7:2',
    column: 7,
    found: '"5"',
    expected: 'INDEX:VALUE; the colon is missing',
  },
  { what: 'an equals sign', line: '1 2=1', column: 3, found: '"2=1"', expected: 'INDEX:VALUE; the colon is missing' },
  {
    what: 'a missing value',
    line: '1 2: 5:1',
    column: 3,
    found: '"2:"',
    expected: 'a value after the colon',
    advice: 'is the line cut short?',
  },
  {
    what: 'a line cut after the colon',
    line: '1 2:1 55:',
    column: 7,
    found: '"55:"',
    expected: 'a value after the colon',
  },
  {
    what: 'a line cut in an index',
    line: '1 2:1 55',
    column: 7,
    found: '"55"',
    expected: 'INDEX:VALUE; the colon is missing',
  },
  {
    what: 'a line cut in an exponent',
    line: '1 2:1e',
    column: 3,
    found: '"2:1e"',
    expected: 'a number as value, then a blank',
  },
  {
    what: 'a missing label',
    line: '  3:1 4:2',
    column: 3,
    found: '"3:1"',
    expected: 'a label, then a blank',
    advice: 'a line starts with its label: LABEL INDEX:VALUE INDEX:VALUE …',
  },
  {
    what: 'a missing label before a word with a colon',
    line: 'qid:3 1:1',
    column: 1,
    found: '"qid:3"',
    expected: 'a label at the start of the line: a number such as +1, -1 or 3, or text without a colon',
  },
  ...['NaN', '-inf', '+Infinity', 'nan#', 'nan:1'].map(label => ({
    what: `the label ${label}`,
    line: `${label} 1:1`,
    column: 1,
    found: JSON.stringify(label.replace('#', '')),
    expected: 'a finite number',
  })),
  { what: 'garbage after the label', line: '1:x 1:1', column: 1, found: '"1:x"', expected: 'a label, then a blank' },
  {
    what: 'a label of 256 bytes',
    line: `${'ü'.repeat(128)} 1:1`,
    column: 1,
    found: `"${'ü'.repeat(40)}…"`,
    expected: 'a label of at most 255 bytes',
  },
  {
    what: 'a label of a megabyte',
    line: `  ${'x'.repeat(1 << 20)} 1:1`,
    column: 3,
    found: `"${'x'.repeat(40)}…"`,
    expected: 'a label of at most 255 bytes',
  },
  {
    what: 'a label with a byte of zero',
    line: ' ca\u0000t 1:1',
    column: 4,
    found: 'the byte 0x00',
    expected: 'a label of UTF-8 text without control characters',
  },
  {
    what: 'a label with a control character',
    line: 'ca\u001b[31mt 1:1',
    column: 3,
    found: 'the byte 0x1b',
    expected: 'a label of UTF-8 text without control characters',
  },
  ...[
    ['a lone byte of Latin-1', 'caf\xe9', 4],
    ['a byte too few', 'x\xe2\x82', 2],
    ['a lone continuation', 'x\x80', 2],
    ['a slash spelled too long', '\xc0\xaf', 1],
    ['three bytes for what two can say', '\xe0\x9f\xbf', 1],
    ['a surrogate', 'ab\xed\xa0\x80', 3],
    ['a number beyond Unicode', '\xf4\x90\x80\x80', 1],
    ['a byte that never is', '\xff', 1],
  ].map(([what, label, column]) => ({
    what: `a label that is not UTF-8: ${what}`,
    line: Buffer.from(`${label} 1:1`, 'latin1'),
    column: column as number,
    found: `the byte 0x${(label as string).charCodeAt((column as number) - 1).toString(16)}`,
    expected: 'a label of UTF-8 text without control characters',
    advice: 'is this text? If it is in another encoding, convert it, e.g. with iconv -t UTF-8',
  })),
  {
    what: 'an index too large',
    line: '1 4294967295:1',
    column: 3,
    found: '"4294967295:1"',
    expected: 'an index of at most 4294967294',
  },
  {
    what: 'an index beyond 64 bits',
    line: '1 99999999999999999999999:1',
    column: 3,
    found: '"99999999999999999999999:1"',
    expected: 'an index of at most 4294967294',
  },
  {
    what: 'a negative index',
    line: '1 -3:1',
    column: 3,
    found: '"-3:1"',
    expected: 'INDEX:VALUE with a whole number as index',
  },
  {
    what: 'a word among the entries',
    line: '1 2:1 qid:3',
    column: 7,
    found: '"qid:3"',
    expected: 'INDEX:VALUE with a whole number as index',
  },
  {
    what: 'a value too large for a float',
    line: '1 2:1 3:3.5e38',
    column: 7,
    found: '"3:3.5e38"',
    expected: FLOAT,
    advice: 'scale the feature down, or keep 64-bit values: --values f64 for train and ingest',
  },
  {
    what: 'a value too large for a double',
    line: '1 3:-1e309',
    column: 3,
    found: '"3:-1e309"',
    expected: DOUBLE,
    bits: 64,
  },
  { what: 'a label too large for a double', line: '1e999 3:1', column: 1, found: '"1e999"', expected: DOUBLE },
  { what: 'a value of text', line: '1 3:abc', column: 3, found: '"3:abc"', expected: 'a number as value' },
  { what: 'a lone sign', line: '1 3:-', column: 3, found: '"3:-"', expected: 'a number as value' },
  { what: 'a lone point', line: '1 3:. 4:1', column: 3, found: '"3:."', expected: 'a number as value' },
  {
    what: 'a decimal comma',
    line: '1 3:0,5',
    column: 3,
    found: '"3:0,5"',
    expected: 'a number as value, then a blank',
  },
  {
    what: 'garbage after a number',
    line: '1 3:1.5abc',
    column: 3,
    found: '"3:1.5abc"',
    expected: 'a number as value, then a blank',
  },
  { what: 'two points', line: '1 3:1.2.3', column: 3, found: '"3:1.2.3"', expected: 'a number as value, then a blank' },
  {
    what: 'a hexadecimal number',
    line: '1 3:0x10',
    column: 3,
    found: '"3:0x10"',
    expected: 'a number as value, then a blank',
  },
  {
    what: 'a very long token',
    line: `1 3:${'y'.repeat(5000)}`,
    column: 3,
    found: `"3:${'y'.repeat(38)}…"`,
    expected: 'a number as value',
  },
  {
    what: 'a byte of zero',
    line: '1 \u00002:1',
    column: 3,
    found: '"\\u00002:1"',
    expected: 'INDEX:VALUE with a whole number as index',
  },
]

const words = (name: string, line: number, item: Bad): string =>
  `${name}, line ${line}, column ${item.column}: found ${item.found}, expected ${item.expected}`

async function refused(paths: string[], bits: 32 | 64 = 32, threads = 1): Promise<SpillwayError> {
  try {
    await load(paths, { threads, valueBits: bits }, () => {})
  } catch (error) {
    assert.ok(error instanceof SpillwayError, String(error))
    return error
  }
  assert.fail('nothing was refused')
}

describe('a bad row', () => {
  for (const [k, item] of bad.entries()) {
    it(`${item.what}: exact place and words`, () => {
      const text = Buffer.concat([Buffer.from('# head\n\n1 1:1\n'), Buffer.from(item.line), Buffer.from('\n1 1:2\n')])
      for (const bits of item.bits ? [item.bits] : ([32, 64] as const)) {
        if (item.expected === FLOAT && bits === 64) continue
        const found = parseWithClass(text, { indexBase: 1, skipBad: false, valueBits: bits })
        assert.equal(found.badRows, 1)
        assert.equal(found.rows.length, 1, 'the rows before it were read')
        const { line, column, advice } = found.bad[0]
        assert.deepEqual(
          { line, column, found: found.bad[0].found, expected: found.bad[0].expected },
          {
            line: 3,
            column: item.column,
            found: item.found,
            expected: item.expected,
          },
        )
        if (item.advice) assert.equal(advice, item.advice)
        const skipped = parseWithClass(text, { indexBase: 1, skipBad: true, valueBits: bits })
        assert.deepEqual(
          skipped.rows.map(row => row.values),
          [[1], [2]],
          'the rows around it are read when it is skipped',
        )
        assert.equal(skipped.badRows, 1)
        assert.equal(skipped.lines, 5)
      }
    })
    // Through files and threads for one in four: the way is the same for all.
    if (k % 4 === 0) {
      it(`${item.what}: as loadRows words it`, async () => {
        // A file that does not begin as text has no bad rows: it is refused as a whole.
        const first = Buffer.from(`1 1:1${' '.repeat(64)}\n`)
        const path = folder.write(`bad-${k}.svm`, Buffer.concat([first, Buffer.from(item.line)]))
        const error = await refused([path], item.bits)
        assert.equal(error.message, words(path, 2, item))
        if (item.advice) assert.equal(error.advice, item.advice)
        assert.equal(error.exitCode, 1)
      })
    }
  }

  it('on the last line without a line feed', async () => {
    const path = folder.write('cut.svm', '1 1:1\n-1 2:1 3')
    assert.equal(
      (await refused([path])).message,
      `${path}, line 2, column 8: found "3", expected INDEX:VALUE; the colon is missing`,
    )
  })

  it('in the third chunk of a file has the right line, whatever the threads', async () => {
    const row = `1 1:0.5 2:0.25 ${Array.from({ length: 90 }, (_, k) => `${k + 10}:1`).join(' ')}\n`
    const before = Math.ceil((5 << 20) / row.length)
    const path = folder.write('long.svm', `${row.repeat(before)}1 7:1 7:2\n${row.repeat(50)}1 x:1\n${row.repeat(9000)}`)
    for (const threads of [1, 3]) {
      const { message } = await refused([path], 32, threads)
      assert.equal(message, `${path}, line ${before + 1}, column 7: found "7:2", expected each index once in a row`)
    }
  })

  it('in the second of several files has that file and its own line', async () => {
    const first = folder.write('first.svm', '1 1:1\n'.repeat(1000))
    const second = folder.write('second.svm', '1 1:1\n-1 1:1\n1 5:1 4:1')
    const { message } = await refused([first, second, first])
    assert.equal(message, `${second}, line 3, column 7: found "4:1", expected indices that rise within a row`)
  })
})

describe('bad rows that are skipped', () => {
  it('are counted over chunks and files, the first five in words', async () => {
    const good = '1 1:1 2:2\n-1 3:1\n'
    const files = [
      folder.write('skip-1.svm', `${good}oops:\n${good}1 2:nan\n1 0:5\n${good.repeat(200_000)}1 1:1 1:1\n${good}`),
      folder.write('skip-2.svm', `1 2:\n${good}2 1\n${good}`),
      folder.write('skip-3.svm', good),
    ]
    for (const threads of [1, 2]) {
      await load(files, { onBadRow: 'skip', threads }, ({ rows, read }) => {
        assert.equal(rows.rows, 2 * (200_003 + 2 + 1))
        assert.equal(rows.nonzeros, 3 * (200_003 + 2 + 1))
        assert.deepEqual(
          rows.sources.map(source => source.rows),
          [400_006, 4, 2],
        )
        assert.deepEqual(
          rows.labels.map(label => [label.text, label.rows]),
          [
            ['1', 200_006],
            ['-1', 200_006],
          ],
        )
        assert.equal(read.badRows, 6)
        assert.equal(read.badRowMessages.length, 5)
        assert.match(read.badRowMessages[0], /skip-1\.svm, line 3, column 1: found "oops:", expected a label at/)
        assert.match(read.badRowMessages[1], /skip-1\.svm, line 6, column 3: found "2:nan", expected a finite number$/)
        assert.match(
          read.badRowMessages[2],
          /skip-1\.svm, line 7, column 3: found "0:5", expected an index of at least 1/,
        )
        assert.match(
          read.badRowMessages[3],
          /skip-1\.svm, line 400008, column 7: found "1:1", expected each index once/,
        )
        assert.match(
          read.badRowMessages[4],
          /skip-2\.svm, line 1, column 3: found "2:", expected a value after the colon$/,
        )
      })
    }
  })

  it('may be all there are', async () => {
    const path = folder.write('all-bad.svm', 'a:\nb:\nc: 1:1\n'.repeat(30))
    await load([path], { onBadRow: 'skip' }, ({ rows, read }) => {
      assert.equal(rows.rows, 0)
      assert.equal(read.badRows, 90)
    })
  })
})
