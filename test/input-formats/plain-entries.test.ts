// Entries of LIBSVM text that are read the short way, for plain ones, against the way with more care. Only a blank leads to the
// short way: the same text with tabs instead has to give the same rows, bit by bit, and the same errors at the same places.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import { seed } from '../numeric/reference.ts'
import { parseBare, parseWithClass, sameRows } from './parsing.ts'
import { referenceParse } from './reference-parser.ts'

const digits = (least: number, most: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: least, maxLength: most })
const value = fc.oneof(
  fc.constantFrom(
    '1',
    '-1',
    '0',
    '-0',
    '0.0',
    '-0.000',
    '9',
    '1.',
    '.5',
    '+1',
    '-.5',
    '1e3',
    '0.5e-3',
    '9.99999999999999',
  ),
  digits(1, 10),
  fc.tuple(fc.constantFrom('', '-'), digits(1, 1), digits(1, 17)).map(([sign, a, b]) => `${sign}${a}.${b}`),
  fc.tuple(fc.nat(16), digits(1, 8)).map(([zeros, b]) => `0.${'0'.repeat(zeros)}${b}`),
  fc.tuple(digits(2, 4), digits(0, 9)).map(([a, b]) => `${a}.${b}`),
  fc.constantFrom(
    '',
    '-',
    'nan',
    '1#',
    '1:1',
    '0.1.2',
    '0.12345678x',
    '1\x00',
    '0.5\xa0',
    '9'.repeat(40),
    '1'.repeat(400),
  ),
)
/** How far the next index is away: rarely not at all. */
const step = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 5000 }) }, fc.constantFrom(0, 1e7, 1e8, 4e9))
const line = fc
  .tuple(
    fc.constantFrom('+1', '-1', '1', '0', 'cat', '1.5'),
    fc.array(fc.tuple(step, value, fc.constantFrom(' ', ' ', ' ', ' ', '  ', '\t')), { maxLength: 12 }),
    fc.constantFrom('', '', '', ' ', '\r', ' \r', ' # 1:1', '#', '\x80'),
  )
  .map(([label, entries, end]) => {
    let index = 0
    const texts = entries.map(([more, text, blank]) => {
      index += more
      return `${blank}${index}:${text}`
    })
    return label + texts.join('') + end
  })
const text = fc
  .tuple(
    fc.array(fc.oneof({ weight: 9, arbitrary: line }, fc.constantFrom('', '# nothing', ' ', '3:1')), { maxLength: 8 }),
    fc.constantFrom('\n', '\n', '\r\n'),
    fc.boolean(),
    // One byte of the text may be another one.
    fc.option(fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(10, 32, 35, 45, 46, 48, 58), fc.nat(255)))),
  )
  .map(([lines, feed, last, other]) => {
    const bytes = Buffer.from(lines.join(feed) + (last ? feed : ''), 'latin1')
    if (other && bytes.length > 0) bytes[other[0] % bytes.length] = other[1]
    return bytes
  })

const withTabs = (bytes: Buffer): Buffer => Buffer.from(bytes.map(byte => (byte === 32 ? 9 : byte)))

describe('plain entries of LIBSVM text', () => {
  for (const valueBits of [32, 64] as const) {
    it(`f${valueBits}: are read as with more care`, () => {
      const arena = new Arena()
      const mark = arena.mark()
      const room = fc.integer({ min: 13, max: 30 })
      fc.assert(
        fc.property(text, fc.nat(1), fc.boolean(), room, (bytes, indexBase, skipBad, nonzeros) => {
          arena.release(mark)
          const settings = { indexBase, skipBad, valueBits }
          const plain = parseWithClass(bytes, settings, arena)
          assert.deepEqual(plain, parseWithClass(withTabs(bytes), settings, arena))
          const { rows, lines } = referenceParse(bytes, indexBase, valueBits)
          const bad = lines.indexOf('bad')
          const before = skipBad || bad < 0 ? rows : lines.slice(0, bad).filter(row => typeof row === 'object')
          sameRows(plain.rows, before, valueBits)
          // Batches that fill up in the middle of a row.
          const bare = parseBare(bytes, settings, { rows: 5, nonzeros }, arena)
          assert.deepEqual(bare, parseBare(withTabs(bytes), settings, { rows: 5, nonzeros }, arena))
          assert.deepEqual(bare.rows, plain.rows)
        }),
        { seed, numRuns: 4000 },
      )
    })
  }

  it('of every length, each the last of its text', () => {
    const arena = new Arena()
    for (let index = 1; index < 1e10; index = index * 10 + 1) {
      for (let decimals = 0; decimals < 20; decimals++) {
        const bytes = Buffer.from(`1 ${index}:0.${'0'.repeat(decimals)}7`)
        if (index >= 2 ** 32) continue
        const { rows } = parseWithClass(bytes, { indexBase: 1, skipBad: false, valueBits: 64 }, arena)
        assert.deepEqual(rows, [{ label: 1, indices: [index - 1], values: [Number(`7e-${decimals + 1}`)] }])
      }
    }
  })
})
