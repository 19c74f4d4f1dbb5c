// Mutated LIBSVM text: rows that agree with the reference or a described error, nothing written beside the buffers.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Arena } from '../../src/numeric/arena.ts'
import { randomNumbers, seed } from '../numeric/reference.ts'
import { parseBare, parseWithClass, sameRows } from './parsing.ts'
import { referenceParse } from './reference-parser.ts'

const TOKENS = [
  'nan',
  'inf',
  '-inf',
  ':',
  '::',
  '#',
  '\r',
  '\r\n',
  '\n',
  '\n\n',
  ' ',
  '\t',
  '+',
  '-',
  '.',
  'e',
  'E+',
  '1e',
  '1e400',
  '-1e-400',
  '1e39',
  '4294967294:',
  '4294967295:',
  '0:',
  '00000000000000001:',
  '99999999999999999999:',
  '0x1',
  '1:1',
  ' 1:1',
  '\0',
  '\xff',
  '\x80\x80',
  '\ufeff',
  '9'.repeat(19),
  '9'.repeat(30),
  `0.${'3'.repeat(40)}`,
  `${'0'.repeat(60)}`,
  `1${'0'.repeat(330)}`,
  `.${'0'.repeat(340)}7`,
  '9'.repeat(5000),
  '12345678',
  '1234567.',
  '.12345678',
  '.1234567812345678',
  '\v',
  '\f',
  '\u2028',
  '1_000',
  'Infinity',
  'e5',
  '1:1e5 ',
  'qid:3',
  'cat',
  'c#',
  'ünï',
  'info',
  'x'.repeat(255),
  'x'.repeat(256),
]

function original(random: () => number): Buffer {
  const base = random() < 0.5 ? 0 : 1
  const lines = Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
    let index = base - 1
    const entries = Array.from({ length: Math.floor(random() * 8) }, () => {
      index += 1 + Math.floor(random() ** 4 * 1e6)
      const value = random() < 0.4 ? '1' : (random() * 20 - 10).toFixed(Math.floor(random() * 20))
      return `${index}:${value}`
    })
    return [random() < 0.5 ? '+1' : '-1', ...entries].join(' ')
  })
  return Buffer.from(`${lines.join('\n')}\n`)
}

function mutated(text: Buffer, random: () => number): Buffer {
  let bytes: Buffer = Buffer.from(text)
  const place = (): number => Math.floor(random() * (bytes.length + 1))
  for (let k = 1 + Math.floor(random() * 4); k > 0; k--) {
    const at = place()
    const kind = random()
    if (kind < 0.25 && bytes.length > 0) bytes[at % bytes.length] ^= 1 << Math.floor(random() * 8)
    else if (kind < 0.4) bytes = bytes.subarray(0, at)
    else if (kind < 0.5) {
      const noise = Buffer.from(Array.from({ length: Math.floor(random() * 20) }, () => Math.floor(random() * 256)))
      bytes = Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)])
    } else if (kind < 0.6) {
      const end = Math.min(bytes.length, at + Math.floor(random() * 12))
      bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)])
    } else if (kind < 0.7) {
      const from = place()
      bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, from + 15), bytes.subarray(at)])
    } else {
      const token = Buffer.from(TOKENS[Math.floor(random() * TOKENS.length)], random() < 0.9 ? 'utf8' : 'latin1')
      bytes = Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)])
    }
  }
  return Buffer.from(bytes)
}

describe('fuzzed LIBSVM text', () => {
  for (const bits of [32, 64] as const) {
    it(`f${bits}: rows as the reference reads them, or a described error`, () => {
      const arena = new Arena()
      const mark = arena.mark()
      const random = randomNumbers(seed + bits)
      const seen = new Set<string>()
      let accepted = 0
      for (let round = 0; round < 6000; round++) {
        arena.release(mark)
        const text = mutated(original(random), random)
        const indexBase = random() < 0.5 ? 0 : 1
        const skipBad = random() < 0.5
        const settings = { indexBase, skipBad, valueBits: bits }
        const expected = referenceParse(text, indexBase, bits)
        const firstBad = expected.lines.indexOf('bad')
        const badLines = expected.lines.flatMap((line, k) => (line === 'bad' ? [k] : []))
        const rows =
          skipBad || firstBad < 0
            ? expected.rows
            : expected.lines.slice(0, firstBad).filter(line => typeof line === 'object')
        try {
          const found = parseWithClass(text, settings, arena)
          sameRows(found.rows, rows, bits)
          assert.deepEqual(
            found.labels,
            rows.map(row => row.labelText),
          )
          assert.equal(found.badRows, skipBad ? badLines.length : Math.min(badLines.length, 1))
          assert.equal(found.bad.length, Math.min(found.badRows, 16))
          for (const [k, row] of found.bad.entries()) {
            assert.equal(row.line, badLines[k])
            assert.ok(row.expected && row.found, 'an error has words')
            assert.ok(row.column! >= 1)
            seen.add(row.expected)
          }
          if (skipBad || firstBad < 0) assert.equal(found.lines, expected.lines.length)
          accepted += found.rows.length

          const longest = text
            .toString('latin1')
            .split('\n')
            .reduce((most, line) => Math.max(most, line.split(':').length), 0)
          const bare = parseBare(text, settings, { rows: 1 + Math.floor(random() * 4), nonzeros: longest + 1 }, arena)
          sameRows(bare.rows, rows, bits)
          assert.equal(bare.badRows, found.badRows)
        } catch (error) {
          const shown = JSON.stringify(text.toString('latin1')).slice(0, 3000)
          throw new Error(`round ${round}, ${JSON.stringify(settings)}, ${shown}`, { cause: error })
        }
      }
      assert.ok(accepted > 6000, `${accepted} rows were accepted`)
      assert.ok(seen.size >= 11, `${seen.size} kinds of errors came up`)
    })
  }

  it('random bytes, and lines of nothing but one byte', () => {
    const arena = new Arena()
    const mark = arena.mark()
    const random = randomNumbers(seed + 1)
    const check = (text: Buffer): void => {
      arena.release(mark)
      const expected = referenceParse(text, 1, 32)
      const found = parseWithClass(text, { indexBase: 1, skipBad: true, valueBits: 32 }, arena)
      sameRows(found.rows, expected.rows, 32)
      assert.equal(found.badRows, expected.lines.filter(line => line === 'bad').length)
    }
    for (let round = 0; round < 500; round++) {
      check(Buffer.from(Array.from({ length: Math.floor(random() * 300) }, () => Math.floor(random() * 256))))
    }
    for (let byte = 0; byte < 256; byte++) for (const length of [1, 7, 8, 9, 100]) check(Buffer.alloc(length, byte))
  })
})
