// Text to rows in memory: the same bits for any number of threads and any compression.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { SpillwayError } from '../../src/errors.ts'
import type { Arena } from '../../src/numeric/arena.ts'
import { CHUNK_BYTES } from '../../src/rows/read-rows.ts'
import type { RowSet } from '../../src/rows/row-set.ts'
import { load, testFolder } from '../input-formats/fixture.ts'
import { sameRows } from '../input-formats/parsing.ts'
import { referenceParse } from '../input-formats/reference-parser.ts'
import { decodeRow, randomNumbers } from '../numeric/reference.ts'

const folder = testFolder()

/** Rows of many kinds, over several chunks; labels change on the way, so that chunks number them differently. */
function manyRows(bytes: number): string {
  const random = randomNumbers(17)
  const lines: string[] = []
  for (let size = 0; size < bytes; ) {
    const k = lines.length
    const part = size / bytes
    const label = part < 0.5 ? ['+1', '-1'][k % 2] : ['3', '-1', '1', '2.5', '+1.0'][Math.floor(random() * 5)]
    let index = 0
    const entries = Array.from({ length: Math.floor(random() * 60) }, (_, e) => {
      index += k % 7 === 0 ? 1 : 1 + Math.floor(random() * 300)
      const kind = Math.floor(k / 400) % 4
      return `${index}:${kind === 0 ? 1 : kind === 1 ? 1 + (e % 9) : kind === 2 ? random().toFixed(6) : random()}`
    })
    lines.push([label, ...entries].join(' '))
    size += lines[k].length + 1
  }
  return lines.join('\n')
}

/** Everything about the rows that does not depend on where in memory they are. */
function contents(arena: Arena, rows: RowSet) {
  const records = Array.from(arena.u32(rows.table, rows.rows), at => {
    const { indices, values, scale, norm, classNumber, kind } = decodeRow(arena, at)
    return [kind, classNumber, scale, norm, indices, values]
  })
  const { table: _, ...rest } = rows
  return { ...rest, records }
}

describe('loadRows', () => {
  const text = manyRows(3.3 * CHUNK_BYTES)
  const path = folder.write('many.svm', text)

  it('reads what the reference reads, labels numbered in the order of the text', async () => {
    const expected = referenceParse(Buffer.from(text), 1, 32)
    await load([path], { threads: 2 }, ({ arena, rows, read }) => {
      assert.equal(rows.rows, expected.rows.length)
      assert.equal(rows.features, expected.features)
      assert.equal(
        rows.nonzeros,
        expected.rows.reduce((sum, row) => sum + row.values.length, 0),
      )
      assert.deepEqual(
        rows.labels.map(label => [label.text, label.value]),
        [
          ['+1', 1],
          ['-1', -1],
          ...[...new Set(expected.rows.map(row => row.label))].slice(2).map(value => [String(value), value]),
        ],
      )
      for (const [k, label] of rows.labels.entries()) {
        assert.equal(label.rows, expected.rows.filter(row => row.label === label.value).length, `rows of class ${k}`)
      }
      const found = Array.from(arena.u32(rows.table, rows.rows), at => {
        const { indices, values, scale, classNumber } = decodeRow(arena, at)
        return { label: rows.labels[classNumber].value!, indices, values: values.map(x => x * scale) }
      })
      sameRows(found, expected.rows, 32)
      assert.deepEqual(rows.sources, [{ name: path, rows: rows.rows }])
      assert.equal(read.bytesRead, Buffer.byteLength(text))
      assert.match(rows.fingerprint, /^xxh64:[0-9a-f]{16}$/)
    })
  })

  for (const settings of [{}, { valueBits: 64 as const }, { unit: true }, { plain: true }]) {
    it(`gives the same bits with 1, 2 and 3 threads ${JSON.stringify(settings)}`, async () => {
      const [one, two, three] = [
        await load([path], { ...settings, threads: 1 }, ({ arena, rows }) => contents(arena, rows)),
        await load([path], { ...settings, threads: 2 }, ({ arena, rows }) => contents(arena, rows)),
        await load([path], { ...settings, threads: 3 }, ({ arena, rows }) => contents(arena, rows)),
      ]
      assert.deepEqual(two, one)
      assert.deepEqual(three, one)
    })
  }

  it('gives the same rows and fingerprint plain, gzipped and as zstd; another text has another', async () => {
    const prints = new Set<string>()
    const read = async (file: string): Promise<string> =>
      load([file], { threads: 2 }, ({ rows }) => `${rows.rows} ${rows.nonzeros} ${rows.fingerprint}`)
    prints.add(await read(path))
    prints.add(await read(folder.write('many.svm.gz', gzipSync(text, { level: 1 }))))
    prints.add(await read(folder.write('many.svm.zst', zstdCompressSync(text, { params: { 100: 1 } }))))
    prints.add(await read(folder.write('many-closed.svm', `${text}\n`)))
    assert.equal(prints.size, 1)
    const other = `${text.slice(0, -1)}${text.endsWith('1') ? '2' : '1'}`
    assert.notEqual(await read(folder.write('other.svm', other)), [...prints][0])
  })

  it('reads several files as one, with one index base for all', async () => {
    const files = [
      folder.write('part-1.svm', '1 0:1 2:5'),
      folder.write('part-2.svm', ''),
      folder.write('part-3.svm.zst', zstdCompressSync('-1 1:2')),
      folder.write('part-4.svm', '\n'),
      folder.write('part-5.svm.gz', gzipSync('2\n1 9:1')),
    ]
    await load(files, {}, ({ arena, rows }) => {
      assert.equal(rows.indexBase, 0)
      assert.equal(rows.features, 10)
      const found = contents(arena, rows).records.map(([, classNumber, , , indices]) => [classNumber, indices])
      assert.deepEqual(found, [
        [0, [0, 2]],
        [1, [1]],
        [2, []],
        [0, [9]],
      ])
      assert.deepEqual(
        rows.sources.map(({ name, rows: count }) => [name, count]),
        [
          [files[0], 1],
          [files[1], 0],
          [files[2], 1],
          [files[3], 0],
          [files[4], 2],
        ],
      )
    })
  })

  it('takes the index base that it is told', async () => {
    const file = folder.write('base.svm', '1 1:1\n-1 2:1\n')
    await load([file], { indexBase: 0 }, ({ rows }) => assert.deepEqual([rows.indexBase, rows.features], [0, 3]))
    await load([file], { indexBase: 1 }, ({ rows }) => assert.deepEqual([rows.indexBase, rows.features], [1, 2]))
    await load([file], {}, ({ rows }) => assert.deepEqual([rows.indexBase, rows.features], [1, 2]))
  })

  it('an empty file has no rows, a missing one is refused', async () => {
    for (const nothing of ['', '\n', '# only words\n\n']) {
      await load([folder.write('nothing.svm', nothing)], {}, ({ rows }) => {
        assert.deepEqual([rows.rows, rows.features, rows.labels], [0, 0, []])
      })
    }
    const missing = join(folder.path, 'missing.svm')
    await assert.rejects(
      load([path, missing], {}, () => {}),
      error =>
        error instanceof SpillwayError && error.message === `cannot read ${missing}: there is no such file or folder`,
    )
  })

  it('a damaged second file is named, after the rows of the first were read', async () => {
    const cutShort = folder.write('cut.svm.zst', zstdCompressSync(text).subarray(0, 100_000))
    await assert.rejects(
      load([path, cutShort], { threads: 2 }, () => {}),
      error =>
        error instanceof SpillwayError &&
        error.message.startsWith(`${cutShort}: the zstd data is damaged or cut short (`),
    )
  })
})
