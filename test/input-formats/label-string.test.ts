// Labelled strings, against a parser made of split and match; where batches and chunks end; what is refused, in which
// words; and hostile files, which cost an error and no memory.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { SpillwayError } from '../../src/errors.ts'
import { labelString } from '../../src/input-formats/label-string.ts'
import { libsvm } from '../../src/input-formats/libsvm.ts'
import { Reading } from '../../src/input-formats/reading.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { LONGEST_STRING } from '../../src/numeric/layouts.ts'
import { seed } from '../numeric/reference.ts'
import { load, testFolder } from './fixture.ts'
import { parseBare, parseWithClass, type Row } from './parsing.ts'
import { referenceLabel } from './reference-parser.ts'

const folder = testFolder()
const settings = { indexBase: 1, skipBad: false, valueBits: 32 as const }

type Line = (Row & { text: string }) | 'blank' | 'bad'

function referenceParse(text: Buffer): Line[] {
  const lines = text.toString('latin1').split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map(line => {
    const start = referenceLabel(line)
    if (typeof start === 'string') return start
    const { label, labelText, rest } = start
    const [string = '', ...more] = rest
      .replace(/#.*$/s, '')
      .split(/[ \t\r]+/)
      .filter(token => token !== '')
    // A comment may follow a string without a blank, but what stands before it is then a whole token.
    if (more.length > 0) return 'bad'
    if (!/^[!-~]+$/.test(string) || string.length > LONGEST_STRING) return 'bad'
    const values = [...string.toUpperCase()].map(letter => letter.charCodeAt(0))
    return { label, text: labelText, indices: values.map((_, k) => k), values }
  })
}

const rowsOf = (lines: Line[]): Row[] =>
  lines.filter(line => typeof line === 'object').map(({ label, indices, values }) => ({ label, indices, values }))

const blank = fc.constantFrom(' ', ' ', '\t', '  ', ' \t ')
const letters = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: fc.constantFrom(...'ACGTacgtN'), minLength: 1, maxLength: 70 }) },
  {
    weight: 2,
    arbitrary: fc.string({
      unit: fc.integer({ min: 33, max: 126 }).map(code => (code === 35 ? '*' : String.fromCharCode(code))),
      minLength: 1,
      maxLength: 40,
    }),
  },
)
const goodLine = fc
  .tuple(
    fc.constantFrom('', '', ' ', '\t '),
    fc.constantFrom('+1', '-1', '1', '0', '2.5', '1e2', '-0', 'cat', '1x', 'c#', 'inform'),
    blank,
    letters,
    fc.constantFrom('', '', ' ', '\t', '# said', ' # é', '#'),
    fc.constantFrom('', '', '\r'),
  )
  .map(parts => parts.join(''))
const otherLine = fc.constantFrom('', ' ', '\r', '# a comment', ' #1 ACGT')
const badLine = fc.constantFrom(
  'ACGT',
  '+1',
  '+1 ',
  '+1\t\r',
  '+1 # ACGT',
  'x: ACGT',
  '1:x ACGT',
  'caf\u00e9 ACGT',
  'a\u0000b ACGT',
  `${'x'.repeat(256)} ACGT`,
  'nan ACGT',
  '1e999 ACGT',
  '1 AC GT',
  '1 AC\u0007GT',
  '1 \u0000',
  '1 ACG\u00c3\u00a9',
  '1 ACGTACGTACGTACGTACGTACGTACGTACGT\u007f',
  ',',
)
const document = (...lines: fc.Arbitrary<string>[]): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.array(fc.oneof(...lines), { maxLength: 12 }), fc.boolean())
    .map(([all, lastFeed]) => Buffer.from(all.join('\n') + (lastFeed ? '\n' : ''), 'latin1'))

for (const bits of [32, 64] as const) {
  describe(`labelled strings, f${bits} values`, () => {
    const arena = new Arena()
    const mark = arena.mark()

    it('are read as the reference reads them', () => {
      let rows = 0
      fc.assert(
        fc.property(document(goodLine, goodLine, goodLine, otherLine), text => {
          arena.release(mark)
          const lines = referenceParse(text)
          assert.ok(!lines.includes('bad'), `the test wrote a bad line: ${text}`)
          const found = parseWithClass(text, { ...settings, valueBits: bits }, arena, labelString)
          assert.equal(found.badRows, 0, JSON.stringify(found.bad))
          assert.deepEqual(found.rows, rowsOf(lines))
          assert.deepEqual(
            found.labels,
            lines.filter(line => typeof line === 'object').map(line => line.text),
          )
          assert.equal(found.features, Math.max(0, ...found.rows.map(row => row.indices.length)))
          assert.equal(found.lines, lines.length)
          rows += found.rows.length
        }),
        { seed, numRuns: 400 },
      )
      assert.ok(rows > 1000)
    })

    it('with bad rows among them: these are counted and stepped over, or the first ends it', () => {
      fc.assert(
        fc.property(document(goodLine, goodLine, badLine, otherLine), text => {
          arena.release(mark)
          const lines = referenceParse(text)
          const bad = lines.filter(line => line === 'bad').length
          const found = parseWithClass(text, { ...settings, skipBad: true, valueBits: bits }, arena, labelString)
          assert.deepEqual(found.rows, rowsOf(lines))
          assert.equal(found.badRows, bad)
          assert.equal(found.lines, lines.length)
          const first = lines.indexOf('bad')
          const strict = parseWithClass(text, { ...settings, valueBits: bits }, arena, labelString)
          assert.equal(strict.badRows, bad > 0 ? 1 : 0)
          assert.deepEqual(strict.rows, rowsOf(first < 0 ? lines : lines.slice(0, first)))
          if (first >= 0) assert.equal(strict.bad[0].line, first)
        }),
        { seed, numRuns: 300 },
      )
    })

    it('in batches as small as a test wants them, and no byte beyond the buffers', () => {
      fc.assert(
        fc.property(
          document(goodLine, goodLine, badLine, otherLine),
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 70, max: 110 }),
          (text, rows, nonzeros) => {
            arena.release(mark)
            const lines = referenceParse(text)
            const bare = parseBare(
              text,
              { ...settings, skipBad: true, valueBits: bits },
              { rows, nonzeros },
              arena,
              'parseLabelString',
            )
            assert.deepEqual(bare.rows, rowsOf(lines))
            assert.equal(bare.lines, lines.length)
          },
        ),
        { seed, numRuns: 300 },
      )
    })
  })
}

describe('labelled strings in chunks', () => {
  it('come out the same for any number of threads, whatever a chunk cuts', async () => {
    const lines = Array.from({ length: 9000 }, (_, k) => {
      const length = 1 + ((k * 7919) % 900)
      return `${k % 3 ? '-1' : '+1'} ${'ACGTN'.repeat(200).slice(k % 5, (k % 5) + length)}`
    })
    const path = folder.write('many.txt', lines.join('\n'))
    const expected = lines.reduce((sum, line) => sum + line.length - 3, 0)
    for (const threads of [1, 2]) {
      await load([path], { format: 'auto', threads }, ({ rows, read }) => {
        assert.equal(rows.format, 'label-string')
        assert.equal(rows.rows, 9000)
        assert.equal(rows.nonzeros, expected)
        assert.equal(rows.features, 900)
        assert.equal(rows.indexBase, 1)
        assert.equal(read.badRows, 0)
      })
    }
  })

  it('are found by their first line with content, compressed or not', async () => {
    const text = '\n# a comment: 1:2\n \n-1 acgt\n+1 ACG # said\n'
    for (const path of [folder.write('plain.txt', text), folder.write('packed.gz', gzipSync(text))]) {
      await load([path], { format: 'auto' }, ({ rows }) => assert.equal(rows.format, 'label-string'))
    }
  })
})

describe('which format a first line speaks for', () => {
  const detected = (line: string): string[] =>
    [libsvm, labelString].map(format => format.name).filter(name => new Reading(name, undefined).lines.detect(line))
  it('is never both', () => {
    for (const line of [
      '+1 ACGT',
      '-1\tacgtn',
      '3 MKV*',
      '1.5 AC-GT # a gap',
      '  -1 A\r',
      'cat ACGT',
      'c# ACGT#said so',
    ]) {
      assert.deepEqual(detected(line), ['label-string'], line)
    }
    for (const line of ['+1 1:2', '-1\t3:4 5:6', ' 1 0:1', 'cat 1:2', 'c# 1:2', '\u00c3\u00a0-la 1:2'])
      assert.deepEqual(detected(line), ['libsvm'], line)
    for (const line of ['+1', 'ACGT', 'a,b,c', '1 2 3', '1 AC GT', '1 0101', '1 -', 'a:b ACGT']) {
      assert.deepEqual(detected(line), [], line)
    }
  })
  it('is found by looking at each letter once, for a hostile one may be long', () => {
    assert.deepEqual(detected(`1 ${'A'.repeat(1 << 16)}:`), [])
  })
})

describe('strings that cannot be read', () => {
  const cases: [name: string, text: string | Uint8Array, message: RegExp, advice: RegExp][] = [
    [
      'no label',
      '+1 AC\nx:1 ACGT\n',
      /line 2, column 1: found "x:1", expected a label at the start of the line/,
      /LABEL STRING/,
    ],
    [
      'no string',
      '+1 AC\n-1\n',
      /line 2, column 3: found the end of the line, expected a string after the label/,
      /cut/,
    ],
    [
      'a label with more to it',
      '+1 AC\n-1:x AC\n',
      /line 2, column 1: found "-1:x", expected a label, then a blank/,
      /./,
    ],
    [
      'a label in another encoding',
      Buffer.from('+1 AC\ncaf\u00e9 AC\n', 'latin1'),
      /line 2, column 4: found the byte 0xe9, expected a label of UTF-8 text/,
      /iconv/,
    ],
    ['a long label', `+1 AC\n${'x'.repeat(256)} AC\n`, /line 2, column 1: .*a label of at most 255 bytes/, /.?/],
    [
      'two strings',
      '+1 AC\n-1 AC GT\n',
      /line 2, column 7: found "GT", expected the end of the line after the/,
      /blank/,
    ],
    ['a control byte', '+1 AC\n-1 ACG\u0007T\n', /line 2, column 7: found the byte 0x07, expected letters/, /skip/],
    ['a letter beyond ASCII', '+1 AC\n-1 ACé\n', /line 2, column 6: found the byte 0xc3, expected letters/, /text/],
    [
      'entries',
      '+1 AC\n-1 1:2 3:4\n',
      /line 2, column 8: found "3:4", expected the end of the line/,
      /--format libsvm/,
    ],
    ['not a number', '+1 AC\nnan AC\n', /line 2, column 1: found "nan", expected a finite number as label/, /.?/],
    [
      'a string of more letters than may be',
      `+1 AC\n-1 ${'A'.repeat(LONGEST_STRING + 1)}\n`,
      /line 2, column 4: found a longer one, expected a string of at most 1048576 letters/,
      /windows/,
    ],
  ]
  for (const [name, text, message, advice] of cases) {
    it(`${name}: is told with file, line, column, found, expected and what to do`, async () => {
      const path = folder.write('bad.txt', text)
      await assert.rejects(
        load([path], { format: 'label-string' }, () => {}),
        (error: Error) => {
          assert.ok(error instanceof SpillwayError)
          assert.ok(error.message.startsWith(path))
          assert.match(error.message, message)
          assert.match(error.advice ?? '', advice)
          return true
        },
      )
      await load([path], { format: 'label-string', onBadRow: 'skip' }, ({ rows, read }) => {
        assert.equal(rows.rows, 1)
        assert.equal(read.badRows, 1)
      })
    })
  }

  it('the longest string that may be is read', async () => {
    const path = folder.write('long.txt', `-1 ACGT\n+1 ${'acgt'.repeat(LONGEST_STRING / 4)}\n-1 T\n`)
    await load([path], { format: 'auto' }, ({ rows }) => {
      assert.equal(rows.rows, 3)
      assert.equal(rows.features, LONGEST_STRING)
    })
  })

  it('a line of hundreds of megabytes costs an error', async () => {
    // 300 MB that take next to nothing on disk.
    const path = folder.write('endless.gz', gzipSync(Buffer.concat([Buffer.from('+1 '), Buffer.alloc(3e8, 'A')])))
    await assert.rejects(
      load([path], { format: 'label-string' }, () => {}),
      /a line is longer than 256 MiB; is this text\?/,
    )
  })

  it('a base for indices is refused, for positions have none', async () => {
    const path = folder.write('base.txt', '+1 AC\n-1 GT\n')
    for (const format of ['auto', 'label-string']) {
      await assert.rejects(
        load([path], { format, indexBase: 0 }, () => {}),
        /read as labelled strings \(LABEL STRING\), whose features are positions: an index base would be ignored/,
      )
    }
  })
})
