// What every input format promises: its own rows are told from those of others and read the same however they are cut, and
// what it cannot read it describes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { SpillwayError } from '../../src/errors.ts'
import { allInputFormats, findInputFormat, formatChoices } from '../../src/input-formats/all-input-formats.ts'
import type { ByLines, InputFormat, ParseSettings } from '../../src/input-formats/input-format.ts'
import { Reading } from '../../src/input-formats/reading.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { learnSchema } from '../../src/rows/learn-schema.ts'
import { scanData } from '../../src/rows/scan.ts'
import { load, testFolder } from '../input-formats/fixture.ts'
import { parseWithClass } from '../input-formats/parsing.ts'
import { decodeRow, seed } from '../numeric/reference.ts'

/** Two files of the same rows: one in the format, one in LIBSVM text. */
export interface FilePair {
  file: string
  text: string
}

const settings: ParseSettings = { indexBase: 1, skipBad: true, valueBits: 64 }
const arena = new Arena()
const mark = arena.mark()

/** `pair` is for formats that are opened, and for tables. */
export function inputFormatContract(format: InputFormat, pair?: FilePair): void {
  describe(`the input format ${format.name}`, () => {
    it('is found by its name, and has words for people', () => {
      assert.equal(findInputFormat(format.name), format)
      assert.ok(formatChoices().includes(format.name))
      assert.ok(format.title.length > 0 && format.row.includes('LABEL'))
    })

    it('is found by worker threads, in the file that it names', async () => {
      assert.ok(Object.values(await import(format.module)).includes(format))
    })
    if (format.cut.by === 'lines' && format.cut.delimiters) ofTables(format, format.cut, pair!)
    else if (format.cut.by === 'lines') ofLines(format, format.cut)
    else if (format.cut.tables) ofDecodedTables(format, pair!)
    else ofOpened(format, pair!)
  })
}

function ofLines(format: InputFormat, { examples }: ByLines): void {
  const parse = (text: string | Buffer, other: Partial<ParseSettings> = {}) => {
    arena.release(mark)
    return parseWithClass(Buffer.from(text), { ...settings, ...other }, arena, format)
  }
  const text = `${examples.join('\n')}\n`

  it('is told by its rows', () => toldByRows(format, examples))

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
}

function toldByRows(format: InputFormat, examples: string[]): void {
  assert.ok(examples.length >= 2)
  for (const row of examples) {
    const speaking = allInputFormats.filter(({ cut }) => cut.by === 'lines' && cut.detect(row))
    assert.deepEqual(speaking, [format], row)
    const reading = new Reading('auto', undefined)
    reading.look(Buffer.from(`\n${row}\n`))
    assert.equal(reading.format, format)
  }
}

/** The rows of a table, or of LIBSVM text. */
async function rowsOfTable(path: string, other: { format?: string; threads?: number; valueBits?: 32 | 64 }) {
  const learnt = await learnSchema([path], { format: other.format, onBadRow: 'fail' })
  const table = { schema: learnt?.schema }
  return load([path], { ...other, format: learnt?.format ?? 'libsvm', table }, ({ arena, rows }) => ({
    records: Array.from(arena.u32(rows.table, rows.rows), at => {
      const { indices, values, scale, norm, classNumber } = decodeRow(arena, at)
      return { indices, values: values.map(value => value * scale), norm, classNumber }
    }),
    labels: rows.labels,
    features: rows.features,
  }))
}

/** Tables that are decoded give the rows of their pair, and are refused where they are damaged. */
function ofDecodedTables(format: InputFormat, { file, text }: FilePair): void {
  const folder = testFolder()
  const bytes = readFileSync(file)

  it('is told by how a file begins, and reads the rows of its pair by any number of threads', async () => {
    const learnt = await learnSchema([file], { format: undefined, onBadRow: 'fail' })
    assert.equal(learnt?.format, format.name)
    for (const valueBits of [32, 64] as const) {
      const expected = await rowsOfTable(text, { valueBits })
      assert.ok(expected.records.length > 0)
      for (const threads of [1, 2]) assert.deepEqual(await rowsOfTable(file, { valueBits, threads }), expected)
    }
  })

  it('refuses a compressed file, a file of another kind, and one that is cut short, wherever that is', async () => {
    const refuses = async (path: string, pattern: RegExp) =>
      assert.rejects(rowsOfTable(path, { format: format.name }), error => {
        assert.ok(error instanceof SpillwayError, String((error as Error).stack))
        assert.match(error.message, pattern)
        assert.ok(error.advice)
        return true
      })
    await refuses(folder.write('packed.gz', gzipSync(bytes)), /found gzip data, expected a file that is not compressed/)
    await refuses(text, /found .*, expected /)
    for (let k = 0; k < 8; k++) {
      const path = folder.write('short', bytes.subarray(0, Math.floor((k * bytes.length) / 8)))
      await refuses(path, /short.*: found .*, expected /s)
    }
  })
}

/** Columns of a table become the features that the LIBSVM text of its pair has. */
function ofTables(format: InputFormat, { examples }: ByLines, { file, text }: FilePair): void {
  it('is told by its rows', () => toldByRows(format, examples))

  it('reads the rows of its pair, in f32 and in f64, by any number of threads, compressed or not', async () => {
    const folder = testFolder()
    const packed = folder.write(`${basename(file)}.gz`, gzipSync(readFileSync(file)))
    const rowsOf = rowsOfTable
    for (const valueBits of [32, 64] as const) {
      const expected = await rowsOf(text, { valueBits })
      assert.ok(expected.records.length > 0)
      for (const path of [file, packed]) {
        for (const threads of [1, 2]) assert.deepEqual(await rowsOf(path, { valueBits, threads }), expected)
      }
    }
  })
}

function ofOpened(format: InputFormat, { file, text }: FilePair): void {
  const folder = testFolder()
  const bytes = readFileSync(file)
  /** Everything about the rows that is not the name of a file or of a format. */
  const rowsOf = (path: string, other: { format?: string; threads?: number; valueBits?: 32 | 64 } = {}) =>
    load([path], { format: 'auto', ...other }, ({ arena, rows, read }) => ({
      // How a row is packed may depend on its neighbours in a batch; what it holds may not.
      records: Array.from(arena.u32(rows.table, rows.rows), at => {
        const { indices, values, scale, norm, classNumber } = decodeRow(arena, at)
        return { indices, values: values.map(value => value * scale), norm, classNumber }
      }),
      labels: rows.labels,
      features: rows.features,
      nonzeros: rows.nonzeros,
      format: rows.format,
      bytesRead: read.bytesRead,
    }))

  it('is told by how a file begins', () => {
    const reading = new Reading('auto', undefined)
    reading.lookAtHead('bytes', bytes.subarray(0, 64))
    assert.equal(reading.format, format)
    const others = new Reading('auto', undefined)
    others.lookAtHead('text', readFileSync(text).subarray(0, 64))
    assert.equal(others.known, undefined)
  })

  it('reads the rows of its pair, in f32 and in f64, by any number of threads', async () => {
    for (const valueBits of [32, 64] as const) {
      const expected = await rowsOf(text, { valueBits })
      assert.ok(expected.records.length > 0)
      for (const threads of [1, 2]) {
        const found = await rowsOf(file, { valueBits, threads })
        assert.equal(found.format, format.name)
        assert.ok(found.bytesRead > 0)
        const { format: _f, bytesRead: _b, ...rows } = found
        const { format: _g, bytesRead: _c, ...others } = expected
        assert.deepEqual(rows, others)
      }
    }
  })

  it('refuses a compressed file, and a file of another kind', async () => {
    const says = (pattern: RegExp) => (error: unknown) => {
      assert.ok(error instanceof SpillwayError, String(error))
      assert.match(error.message, pattern)
      assert.ok(error.advice)
      return true
    }
    const packed = folder.write(`${basename(file)}.gz`, gzipSync(bytes))
    const refusal = new RegExp(
      `gz: found gzip data, expected a file that is not compressed, for ${format.title} is read`,
    )
    for (const name of ['auto', format.name]) await assert.rejects(rowsOf(packed, { format: name }), says(refusal))
    await assert.rejects(rowsOf(text, { format: format.name }), says(/found .*, expected /))
  })

  it('refuses a file that is cut short, wherever that is', async () => {
    const whole = await scanData([file], { format: format.name, threads: 1 })
    for (let k = 0; k < 8; k++) {
      const path = folder.write('short', bytes.subarray(0, Math.floor((k * bytes.length) / 8)))
      await assert.rejects(scanData([path], { format: format.name, threads: 1 }), error => {
        assert.ok(error instanceof SpillwayError, String(error))
        assert.match(error.message, /short: found .*, expected /)
        return true
      })
    }
    assert.ok(whole.rows > 0)
  })
}
