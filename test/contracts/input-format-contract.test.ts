// What every input format promises: its own rows are told from those of others and read the same however they are cut, and
// what it cannot read it describes.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { allInputFormats, findInputFormat, formatChoices } from '../../src/input-formats/all-input-formats.ts'
import type { ParseSettings } from '../../src/input-formats/input-format.ts'
import { Reading } from '../../src/input-formats/reading.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { parseWithClass } from '../input-formats/parsing.ts'
import { seed } from '../numeric/reference.ts'

const settings: ParseSettings = { indexBase: 1, skipBad: true, valueBits: 64 }
const arena = new Arena()
const mark = arena.mark()

for (const format of allInputFormats) {
  if (format.cut.by !== 'lines') continue
  const { examples } = format.cut
  describe(`the input format ${format.name}`, () => {
    const parse = (text: string | Buffer, other: Partial<ParseSettings> = {}) => {
      arena.release(mark)
      return parseWithClass(Buffer.from(text), { ...settings, ...other }, arena, format)
    }
    const text = `${examples.join('\n')}\n`

    it('is found by its name, and by its rows', () => {
      assert.equal(findInputFormat(format.name), format)
      assert.ok(formatChoices().includes(format.name))
      for (const row of examples) {
        assert.deepEqual(
          allInputFormats.filter(({ cut }) => cut.by === 'lines' && cut.detect(row)),
          [format],
          row,
        )
        const reading = new Reading('auto', undefined)
        reading.look(Buffer.from(`\n${row}\n`))
        assert.equal(reading.format, format)
      }
      assert.ok(examples.length >= 2 && format.title.length > 0 && format.row.includes('LABEL'))
    })

    it('reads its examples, each a row with its label', () => {
      const { rows, labels, badRows, lines, features } = parse(text)
      assert.equal(badRows, 0)
      assert.deepEqual([rows.length, lines], [examples.length, examples.length])
      assert.deepEqual(
        labels,
        examples.map(row => row.split(' ')[0]),
      )
      rows.forEach(({ indices, values, label }, r) => {
        assert.ok(indices.length > 0 && indices.length === values.length)
        assert.ok(indices.every((index, k) => index < features && (k === 0 || index > indices[k - 1])))
        const number = Number(labels[r])
        assert.ok(Object.is(label, number) || Number.isNaN(number))
      })
    })

    it('reads the same rows line by line, with blank lines between, with other line ends and in f32', () => {
      const { rows } = parse(text)
      assert.deepEqual(
        examples.flatMap(row => parse(row).rows),
        rows,
      )
      assert.deepEqual(parse(examples.join('\n\n \n')).rows, rows)
      assert.deepEqual(parse(examples.join('\r\n')).rows, rows)
      const narrow = rows.map(row => ({ ...row, values: row.values.map(Math.fround) }))
      assert.deepEqual(parse(text, { valueBits: 32 }).rows, narrow)
    })

    it('describes what it cannot read, and reads the rest', () => {
      const broken = fc.tuple(fc.constantFrom(...examples), fc.nat(30), fc.uint8Array({ maxLength: 6 }))
      const line = broken.map(([row, at, bytes]) =>
        Buffer.concat([Buffer.from(row).subarray(0, at), bytes, Buffer.from(row).subarray(at)]),
      )
      fc.assert(
        fc.property(fc.array(line, { maxLength: 5 }), lines => {
          const given = Buffer.concat([...lines.flatMap(bytes => [bytes, Buffer.from('\n')]), Buffer.from(text)])
          const found = parse(given)
          assert.deepEqual(found.rows.slice(-examples.length), parse(text).rows)
          assert.equal(found.lines, given.filter(byte => byte === 10).length)
          assert.ok(found.rows.length + found.badRows <= found.lines)
          assert.equal(found.bad.length === 0, found.badRows === 0)
          for (const { line, column, found: what, expected } of found.bad) {
            assert.ok(line >= 0 && line < found.lines && column! >= 1)
            assert.ok(what.length > 0 && expected.length > 0)
          }
          assert.deepEqual(parse(given), found, 'the same bytes give the same rows')
          const strict = parse(given, { skipBad: false })
          assert.equal(strict.badRows, Math.min(found.badRows, 1), 'the first bad row ends it')
          assert.deepEqual(strict.bad[0], found.bad[0])
        }),
        { seed, numRuns: 150 },
      )
    })
  })
}
