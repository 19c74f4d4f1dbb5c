// What a label is, against references of a line: the language's own number parser, Buffer.compare, a TextDecoder.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compareLabels, labelCode, labelOf, textLabelComplaint } from '../../src/input-formats/labels.ts'
import { seed } from '../numeric/reference.ts'
import { hashOfEight, sameCode, textLabel } from './labels.ts'

describe('labels', () => {
  it('are numbers by their value, else texts', () => {
    for (const [text, value] of [
      ['+1', 1],
      ['1.', 1],
      ['-.5e1', -5],
      ['-0', 0],
      ['1e3', 1000],
    ] as const) {
      assert.deepEqual(labelOf(text), { value, text })
    }
    for (const text of ['cat', '1x', '0x10', '.', '1e', '', '1_000', '١', ' 1']) {
      assert.equal(labelOf(text).value, null, text)
    }
  })

  it('sort numbers first, rising, then texts by their UTF-8 bytes', () => {
    const any = fc.oneof(
      textLabel,
      fc.integer({ min: -20, max: 20 }).map(n => String(n / 4)),
    )
    fc.assert(
      fc.property(fc.array(any, { maxLength: 12 }), texts => {
        const sorted = texts.map(labelOf).sort(compareLabels)
        const numbers = texts.filter(text => labelOf(text).value !== null).map(Number)
        const words = texts.filter(text => labelOf(text).value === null)
        assert.deepEqual(
          sorted.map(({ value, text }) => value ?? text),
          [...numbers.sort((a, b) => a - b), ...words.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))],
        )
      }),
      { seed, numRuns: 500 },
    )
  })

  it('are refused in files of others when no parser would have read them so', () => {
    fc.assert(
      fc.property(textLabel, text => assert.equal(textLabelComplaint(text), undefined)),
      { seed, numRuns: 500 },
    )
    for (const text of ['', '1', '+1e3', 'a b', 'a:b', 'a\nb', '\u001b[1m', '#x', '\ud800', 'ü'.repeat(128)]) {
      assert.ok(textLabelComplaint(text), JSON.stringify(text))
    }
  })

  it('have codes that no number has, and that two texts may share', () => {
    fc.assert(
      fc.property(textLabel, text => {
        const code = labelCode(text)
        assert.match(code, /^[0-9a-f]{16}$/)
        assert.ok(Number.isNaN(Buffer.from(code, 'hex').readDoubleBE()))
      }),
      { seed, numRuns: 500 },
    )
    const word = Buffer.from('sci.math').readBigUInt64LE()
    assert.equal(BigInt(`0x${labelCode('sci.math')}`), hashOfEight(word) | (0xfffn << 51n))
    const [one, other] = sameCode()
    assert.notEqual(one, other)
    assert.equal(labelCode(one), labelCode(other))
  })
})
