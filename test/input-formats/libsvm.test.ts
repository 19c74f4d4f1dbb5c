// LIBSVM text in every style that people write, against a parser made of split, match and Number().
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import { seed } from '../numeric/reference.ts'
import { firstFeature, parseBare, parseWithClass, sameRows } from './parsing.ts'
import { LARGEST_INDEX, referenceParse } from './reference-parser.ts'

const digits = (most: number, least = 0): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: least, maxLength: most })
const exponent = (most: number): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-', 'E-', 'E+', 'e0', 'e-00'), fc.nat(most)).map(([e, n]) => e + n)

/** A number as text; huge ones come only where f64 is meant to hold them. */
const numberText = (bits: 32 | 64): fc.Arbitrary<string> => {
  const plain = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom('1', '0.5', '.5', '5.', '0', '0.0', '-0', '2', '-1', '+0.5', '1e3', '1.e2', '.5E-2'),
    },
    { weight: 4, arbitrary: fc.tuple(digits(7, 1), digits(7)).map(([a, b]) => (b ? `${a}.${b}` : a)) },
    { weight: 4, arbitrary: fc.tuple(digits(3, 1), digits(20, 8)).map(([a, b]) => `${a}.${b}`) },
    { weight: 2, arbitrary: fc.tuple(digits(25), digits(25, 1)).map(([a, b]) => `${a}.${b}`) },
    { weight: 1, arbitrary: digits(25, 1) },
    // Small numbers without an exponent, and numbers halfway between two floats.
    { weight: 2, arbitrary: fc.tuple(fc.nat(24), digits(12, 1)).map(([zeros, b]) => `0.${'0'.repeat(zeros)}${b}`) },
    { weight: 2, arbitrary: fc.nat(2 ** 26).map(k => (k / 2 ** 28).toFixed(28).replace(/0+$/, '')) },
    { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(x => String(Math.abs(x))) },
    { weight: 2, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true }).map(x => String(Math.abs(x))) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }).map(x => x.toPrecision(25)) },
  )
  const signed = fc
    .tuple(
      fc.constantFrom('', '', '', '-', '+'),
      plain,
      fc.oneof(fc.constant(''), fc.constant(''), exponent(bits === 32 ? 25 : 290)),
    )
    .map(([sign, text, e]) => {
      const bare = /^[+-]/.test(text) ? text.slice(1) : text
      return sign + (/[eE]/.test(bare) ? bare : bare + e)
    })
  const round = bits === 32 ? Math.fround : (x: number): number => x
  return signed.filter(text => Number.isFinite(round(Number(text))))
}

const blank = fc.constantFrom(' ', ' ', ' ', '\t', '  ', ' \t ', '   ')
const indexList = fc.oneof(
  fc.uniqueArray(fc.nat(200), { maxLength: 12 }),
  fc.uniqueArray(fc.nat(LARGEST_INDEX), { maxLength: 12 }),
  fc.uniqueArray(fc.constantFrom(0, 1, 9, 10, 99999999, 100000000, 999999999, 4294967293, LARGEST_INDEX), {
    maxLength: 6,
  }),
)
const labelText = fc.oneof(
  fc.constantFrom('+1', '1', '-1', '0', '2', '1.0', '-1.5', '+1e0', '.5', '3.', '-0'),
  numberText(64).filter(text => Number.isFinite(Number(text))),
)

interface Style {
  base: number
  bits: 32 | 64
}

/** One line, its line feed not included. */
const line = ({ base, bits }: Style): fc.Arbitrary<string> => {
  const row = fc
    .tuple(
      fc.constantFrom('', '', '', ' ', '\t '),
      labelText,
      indexList.chain(list => {
        const sorted = list.filter(index => index >= base && index <= LARGEST_INDEX - 1 + base).sort((a, b) => a - b)
        return fc.tuple(
          ...sorted.map(index =>
            fc
              .tuple(blank, fc.constantFrom('', '', '', '0', '000000000'), numberText(bits))
              .map(([space, zeros, value]) => `${space}${zeros}${index}:${value}`),
          ),
        )
      }),
      fc.constantFrom('', '', ' ', '\t', '  \t'),
      fc.constantFrom('', '', '', '# comment 3:4', '#', ' # é # 1:nan'),
      fc.constantFrom('', '', '\r', ' \r'),
    )
    .map(([before, label, entries, after, comment, cr]) => before + label + entries.join('') + after + comment + cr)
  return fc.oneof(
    { weight: 8, arbitrary: row },
    { weight: 1, arbitrary: fc.constantFrom('', ' ', '\t', '\r', '# only a comment', ' #1 2:3') },
  )
}

const document = (style: Style): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.array(line(style), { maxLength: 14 }), fc.boolean())
    .map(([lines, lastFeed]) => Buffer.from(lines.join('\n') + (lastFeed ? '\n' : '')))

for (const bits of [32, 64] as const) {
  for (const base of [0, 1]) {
    describe(`the LIBSVM parser, f${bits} values, indices from ${base}`, () => {
      const settings = { indexBase: base, skipBad: false, valueBits: bits }
      const arena = new Arena()
      const mark = arena.mark()
      it('reads every style as the reference does', () => {
        let rows = 0
        fc.assert(
          fc.property(document({ base, bits }), text => {
            arena.release(mark)
            const expected = referenceParse(text, base, bits)
            assert.ok(!expected.lines.includes('bad'), `the test wrote a bad line: ${text}`)
            const found = parseWithClass(text, settings, arena)
            assert.equal(found.badRows, 0, JSON.stringify(found.bad))
            sameRows(found.rows, expected.rows, bits)
            assert.deepEqual(
              found.labels,
              expected.rows.map(row => row.labelText),
            )
            assert.equal(found.features, expected.features)
            assert.equal(found.lines, expected.lines.length)
            rows += found.rows.length
          }),
          { seed, numRuns: 600 },
        )
        assert.ok(rows > 1500)
      })

      it('gives the same rows in batches that fill up in the middle', () => {
        let batches = 0
        fc.assert(
          fc.property(document({ base, bits }), fc.integer({ min: 1, max: 5 }), fc.nat(12), (text, rowRoom, extra) => {
            arena.release(mark)
            const expected = referenceParse(text, base, bits)
            const longest = text
              .toString('latin1')
              .split('\n')
              .reduce((most, l) => Math.max(most, l.split(':').length), 0)
            const found = parseBare(text, settings, { rows: rowRoom, nonzeros: longest + extra }, arena)
            assert.equal(found.badRows, 0)
            sameRows(found.rows, expected.rows, bits)
            assert.equal(found.features, expected.features)
            assert.equal(found.lines, expected.lines.length)
            batches += found.batches
          }),
          { seed, numRuns: 300 },
        )
        assert.ok(batches > 600)
      })
    })
  }
}

describe('the LIBSVM parser on numbers at the edges', () => {
  const one = (text: string, bits: 32 | 64): number[] =>
    parseWithClass(Buffer.from(`1 1:${text}`), { indexBase: 1, skipBad: false, valueBits: bits }).rows[0]?.values
  it('f64 values are what Number() says', () => {
    for (const text of [
      '0.1',
      '0.30000000000000004',
      '1e-5',
      '123456789012345678',
      '9007199254740993',
      '9007199254740992',
      '0.1234567890123456789012345',
      '2.2250738585072014e-308',
      '5e-324',
      '1e-323',
      '1.7976931348623157e308',
      '-1.7976931348623157e308',
      '17976931348623157e292',
      '1e22',
      '1e23',
      '8.5e23',
      '0.000001',
      '1234567.8901234',
      '12345678.5',
      '1234567.12345678901234567',
      `0.${'0'.repeat(300)}1`,
      `1${'0'.repeat(300)}`,
      `${'0'.repeat(400)}1.5`,
      `1.${'0'.repeat(5000)}1`,
      `0.${'0'.repeat(4500)}1e4501`,
      `1${'0'.repeat(5000)}e-4990`,
      `${'9'.repeat(4200)}e-4200`,
    ]) {
      assert.deepEqual(one(text, 64), [Number(text)], text.slice(0, 60))
    }
  })
  it('f32 values are the nearest float', () => {
    for (const text of [
      '0.1',
      '0.2',
      '16777217',
      '16777216',
      '16777219',
      '3.4028234663852886e38',
      '3.4028235e38',
      '1e-45',
      '1.4e-45',
      '1.1754942e-38',
      '0.1234567',
      '0.12345678',
      '0.123456789',
      '12.345678901234',
      '99.9999999',
      '1234567.1234567',
      '1e-40',
      '7e-46',
    ]) {
      const expected = Math.fround(Number(text))
      assert.deepEqual(one(text, 32), expected === 0 ? [] : [expected], text)
    }
    assert.deepEqual(one('1e-46', 32), [], 'what is zero as a float is dropped')
  })
})

describe('the number of the first feature', () => {
  const detect = (text: string): number | undefined => firstFeature(Buffer.from(text))
  it('looks at the first row that has an entry', () => {
    assert.equal(detect('1 0:1 5:2\n1 1:1\n'), 0)
    assert.equal(detect('1 1:1\n1 0:1\n'), 1)
    assert.equal(detect('1 7:1'), 1)
    assert.equal(detect('# 0:1\n\n+1\n-1 # 0:3\n \t+1\t00:5\n'), 0)
    assert.equal(detect('-1 10:5\r\n'), 1)
  })
  it('says nothing where nothing can be told', () => {
    assert.equal(detect(''), undefined)
    assert.equal(detect('1\n-1\n# 1:2\n'), undefined)
  })
})
