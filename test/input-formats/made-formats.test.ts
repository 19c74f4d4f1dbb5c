// What formats to come will need: a header that every chunk knows, rows with line feeds in them, rows of no file, and the
// checks that all rows made in JavaScript go through.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ingest } from '../../src/block-store/ingest.ts'
import { allInputFormats } from '../../src/input-formats/all-input-formats.ts'
import { BadRowAccount } from '../../src/input-formats/bad-rows.ts'
import { Chunks } from '../../src/input-formats/chunks.ts'
import type { ByPlan, InputFormat } from '../../src/input-formats/input-format.ts'
import { Reading } from '../../src/input-formats/reading.ts'
import { type MadeRow, type RefusedRow, RowsParser } from '../../src/input-formats/rows-parser.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { predict } from '../../src/predict/predict.ts'
import { rowsOfChunk } from '../../src/rows/chunk-task.ts'
import { scanData } from '../../src/rows/scan.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from './fixture.ts'
import { madeNumbers, table } from './made-formats.ts'
import { type Row, rowsOfBatch } from './parsing.ts'

allInputFormats.push(table, madeNumbers)
const folder = testFolder()

/** All rows, read in chunks of so many bytes, and what was said of the bad ones. */
async function readAll(paths: string[], format: string, chunkBytes: number) {
  const context = { arena: new Arena(), kept: new Map() }
  const chunks = new Chunks(context.arena, new Reading(format, undefined), chunkBytes, 2)
  const account = new BadRowAccount()
  const rows: Row[] = []
  let count = 0
  for await (const chunk of chunks.read(paths)) {
    const parse = { indexBase: chunk.indexBase, skipBad: true, valueBits: 64 as const }
    const found = await rowsOfChunk(context, { ...chunk, parse })
    for (const { batch } of found.batches()) rows.push(...rowsOfBatch(context.arena, batch))
    account.add(chunk, found.account(), 'skip')
    count++
    chunk.release()
  }
  return { rows, count, messages: account.messages, chunks }
}

describe('a table of text', () => {
  const lines = Array.from({ length: 60 }, (_, k) => {
    const note = k % 3 === 0 ? `"a note\nof ${k}\nlines"` : `note ${k}`
    return k === 41 ? `${k % 2},${note}` : `${k % 2},${note},${k / 4},${k % 5}`
  })
  const text = `label,note,x1,x2\n${lines.join('\n')}\n`
  const path = folder.write('table.txt', text)

  it('reads the same rows in chunks of any size: each knows the header, none ends within quotes', async () => {
    const { rows: expected } = await readAll([path], 'table', 1 << 20)
    assert.deepEqual(expected.slice(0, 2), [
      { label: 0, indices: [], values: [] },
      { label: 1, indices: [0, 1], values: [0.25, 1] },
    ])
    assert.equal(expected.length, 59)
    for (const chunkBytes of [16, 50, 333]) {
      const { rows, count, messages } = await readAll([path], 'table', chunkBytes)
      assert.deepEqual(rows, expected)
      assert.ok(count > 2)
      // Rows before it take three lines each, every third of them.
      assert.deepEqual(messages, [
        `${path}, line ${2 + 41 + 2 * 14}, column 1: found 2 fields, expected 4, as the header has`,
      ])
    }
    const packed = folder.write('table.gz', gzipSync(text))
    assert.deepEqual((await readAll([packed, path], 'table', 50)).rows, [...expected, ...expected])
  })

  it('is sampled from its beginning, once', async () => {
    const chunks = new Chunks(new Arena(), new Reading('table', undefined), 64, 2)
    const chunk = (await chunks.sample(path, 0))!
    assert.ok(chunk.first && chunk.bytes > 0)
    assert.deepEqual(chunk.about, ['label', 'note', 'x1', 'x2'])
    assert.equal(await chunks.sample(path, 500), undefined)
  })
})

describe('rows that come from no file', () => {
  it('are read as they are made, and not sampled', async () => {
    const { rows, count, chunks } = await readAll(['3', '2'], 'made-numbers', 64)
    assert.deepEqual([rows.length, count, chunks.bytesRead, chunks.bytesTotal], [50, 5, 0, undefined])
    assert.deepEqual(rows[31], { label: rows[31].label, indices: [2], values: [1] })
    const sampling = new Chunks(new Arena(), new Reading('made-numbers', undefined), 64, 1)
    assert.equal(await sampling.sample('3', 0), undefined)
    const found = await scanData(['20'], { format: 'made-numbers', threads: 2 })
    assert.deepEqual(
      found.labels.map(({ value, text, rows }) => [value, text, rows]),
      [
        [null, 'even', 100],
        [null, 'odd', 100],
      ],
    )
    assert.deepEqual([found.rows, found.features, found.nonzeros, found.indexBase], [200, 201, 199, 0])
  })

  it('are trained on, in memory and in blocks', async () => {
    const options = { format: 'made-numbers', tolerance: 0.1, threads: 1 }
    const store = join(folder.path, 'made.spill')
    const inBlocks = await train('20', { ...options, solver: 'block', store }).result
    assert.deepEqual([(await train('20', options).result).rows, inBlocks.rows], [200, 200])
    assert.equal((await predict('20', inBlocks.model)).rows, 200)
    await assert.rejects(ingest('20', store, { format: 'libsvm' }), /cannot read 20: there is no such file or folder/)
  })
})

describe('chunks that a format plans', () => {
  const sizes = [100, 7000, 200, 11_000, 16_000, 24_000, 36_000]
  const madeSizes: InputFormat = {
    ...madeNumbers,
    name: 'made-sizes',
    cut: {
      ...(madeNumbers.cut as ByPlan),
      open: async ({ path }) => ({
        chunks: sizes.slice(0, Number(path)).map(bytes => ({ bytes, fill: async () => {}, about: [] })),
      }),
    },
  }
  allInputFormats.push(madeSizes)

  for (const [count, slots] of [
    [7, 3],
    [1, 1],
  ]) {
    it(`have slots of the size of the largest: ${count} chunks, ${slots} slots`, async () => {
      const arena = new Arena()
      const chunks = new Chunks(arena, new Reading(madeSizes.name, undefined), 64, 3)
      const before = arena.mark()
      for await (const chunk of chunks.read([String(count)])) chunk.release()
      const largest = Math.max(...sizes.slice(0, count))
      // Each has some bytes to spare, and begins with a cache line.
      const most = slots * (largest + 128)
      assert.ok(arena.mark() - before <= most, `${arena.mark() - before} bytes, ${most} at the most`)
    })
  }
})

describe('where a bad row stands', () => {
  it('is told by line, by row of the file, or by row of a chunk that has a name', () => {
    const account = new BadRowAccount()
    const words = { found: 'a', expected: 'b' }
    const add = (part: string | undefined, place: { line: number; column?: number }, source = 0): void => {
      account.add({ source, name: 'f', part }, { lines: 10, badRows: 1, bad: [{ ...place, ...words }] }, 'skip')
    }
    add(undefined, { line: 2 })
    add(undefined, { line: 3, column: 4 })
    add('row group 3', { line: 5 })
    add(undefined, { line: 0 })
    add(undefined, { line: 0 }, 1)
    assert.deepEqual(
      account.messages.map(message => message.replace(': found a, expected b', '')),
      ['f, row 3', 'f, line 14, column 4', 'f, row group 3, row 6', 'f, row 31', 'f, row 1'],
    )
  })
})

describe('RowsParser', () => {
  class Given extends RowsParser {
    given: (MadeRow | RefusedRow)[] = []
    protected override rows(): (MadeRow | RefusedRow)[] {
      return this.given
    }
  }
  const chunk = { at: 0, bytes: 0, first: true }
  const read = (given: (MadeRow | RefusedRow)[], { skipBad = true, valueBits = 32 as 32 | 64, indexBase = 1 } = {}) => {
    const arena = new Arena()
    const parser = new Given(arena)
    parser.given = given
    const rows: Row[] = []
    const labels: string[] = []
    const sizes: number[] = []
    for (const { batch, rows: count } of parser.parse(chunk, { indexBase, skipBad, valueBits })) {
      rows.push(...rowsOfBatch(arena, batch))
      for (let r = 0; r < count; r++) {
        labels.push(parser.labelText(r))
        assert.ok(parser.place(r).line >= labels.length - 1)
      }
      sizes.push(count)
    }
    return { rows, labels, sizes, parser }
  }
  const row = (label: number | string, indices: number[] = [1], values: number[] = indices.map(() => 1)): MadeRow => ({
    ...{ label, indices, values },
  })

  it('words what it refuses, by row', () => {
    const cases: [MadeRow | RefusedRow, string, string][] = [
      [row(Number.NaN), 'the label "NaN"', 'a finite number as label'],
      [row('-inf'), 'the label "-inf"', 'a finite number as label'],
      [row(''), 'the label ""', 'a label that is a number or a word; it is empty'],
      [
        row('a b'),
        'the label "a b"',
        'a label that is a number or a word; it has a blank, a colon or a control character in it',
      ],
      [row(1, [2, 2]), 'feature 3 after feature 3', 'features that rise within a row'],
      [row(1, [-1]), 'feature 0', 'a whole number from 1 to 4294967294'],
      [row(1, [0.5]), 'feature 1.5', 'a whole number from 1 to 4294967294'],
      [row(1, [4294967294]), 'feature 4294967295', 'a whole number from 1 to 4294967294'],
      [row(1, [1, 2], [1]), '2 features with 1 values', 'a value for each feature'],
      [row(1, [4], [Number.POSITIVE_INFINITY]), 'the value Infinity of feature 5', 'a finite number'],
      [row(1, [4], [-1e39]), 'the value -1e+39 of feature 5', 'a number that a 32-bit float can hold (below 3.4e38)'],
      [{ found: 'a gap', expected: 'none' }, 'a gap', 'none'],
    ]
    const { rows, parser } = read(cases.flatMap(([bad]) => [row(7), bad]))
    assert.equal(rows.length, cases.length)
    assert.deepEqual(
      parser.bad.map(({ line, found, expected }) => [line, found, expected]),
      cases.map(([, found, expected], k) => [2 * k + 1, found, expected]),
    )
    assert.deepEqual([parser.badRows, parser.lines], [cases.length, 2 * cases.length])
    const strict = read([row(1), cases[0][0], row(1)], { skipBad: false })
    assert.deepEqual([strict.rows.length, strict.parser.badRows], [1, 1])
    assert.equal(read([row(1, [4], [-1e39])], { valueBits: 64 }).rows[0].values[0], -1e39)
  })

  it('keeps labels as they are written, leaves zeros out, and rounds to the width that is asked for', () => {
    const { rows, labels } = read([row('+1', [0, 3, 9], [0, 0.1, 1e-46]), row('ham', []), row(-2)])
    assert.deepEqual(labels, ['+1', 'ham', '-2'])
    assert.deepEqual([rows[0].label, rows[2].label], [1, -2])
    assert.ok(Number.isNaN(rows[1].label))
    assert.deepEqual(rows[0], { label: 1, indices: [3], values: [Math.fround(0.1)] })
  })

  it('cuts many rows and long rows into batches by their own sizes', () => {
    const many = read(Array.from({ length: 40_000 }, (_, k) => row(k % 3, [k])))
    assert.deepEqual(many.sizes, [16384, 16384, 7232])
    assert.equal(many.rows[39_999].indices[0], 39_999)
    const long = Array.from({ length: 300_000 }, (_, k) => k)
    const mixed = [
      row(1),
      row(2, long),
      row('word', [3]),
      row(2, long.slice(0, 200_000)),
      row(3, long.slice(0, 200_000)),
    ]
    const found = read(mixed, { valueBits: 64 })
    assert.deepEqual(found.sizes, [1, 1, 2, 1])
    assert.deepEqual(
      found.rows.map(({ indices }) => indices.length),
      [1, 300_000, 1, 200_000, 200_000],
    )
    assert.deepEqual(found.rows[1].indices, long)
  })
})
