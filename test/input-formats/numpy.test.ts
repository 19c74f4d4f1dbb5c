// NumPy arrays and SciPy matrices: types, labels beside them, and files that are wrong.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError } from '../../src/errors.ts'
import { train } from '../../src/train/train.ts'
import { decodeRow } from '../numeric/reference.ts'
import { load, testFolder } from './fixture.ts'
import { csrArrays, f8, i4, npyBytes, zipBytes } from './numpy-files.ts'

const folder = testFolder()
const rowsOf = (path: string) =>
  load([path], { format: 'auto', valueBits: 64 }, ({ arena, rows }) =>
    Array.from(arena.u32(rows.table, rows.rows), at => {
      const { indices, values, scale, classNumber } = decodeRow(arena, at)
      return [rows.labels[classNumber].text, ...[...indices].map((index, k) => `${index}:${values[k] * scale}`)].join(
        ' ',
      )
    }),
  )

async function refused(path: string, pattern: RegExp): Promise<void> {
  await assert.rejects(rowsOf(path), error => {
    assert.ok(error instanceof SpillwayError, String((error as Error).stack))
    assert.match(error.message, pattern)
    return true
  })
}

describe('a NumPy array', () => {
  it('has numbers of any common type', async () => {
    const types: [string, ArrayBufferView][] = [
      ["'<f4'", Float32Array.from([1, 2, 0, -1, 0, 3])],
      ["'<f8'", Float64Array.from([1, 2, 0, -1, 0, 3])],
      ["'|i1'", Int8Array.from([1, 2, 0, -1, 0, 3])],
      ["'<i2'", Int16Array.from([1, 2, 0, -1, 0, 3])],
      ["'<i4'", Int32Array.from([1, 2, 0, -1, 0, 3])],
      ["'<i8'", BigInt64Array.from([1n, 2n, 0n, -1n, 0n, 3n])],
    ]
    for (const [descr, data] of types) {
      const path = folder.write('types.npy', npyBytes(descr, [2, 3], data))
      assert.deepEqual(await rowsOf(path), ['1 0:2', '-1 1:3'], descr)
    }
  })

  it('takes its labels from the file beside it', async () => {
    const path = folder.write('x.npy', f8([1, 2, 0, 3], [2, 2]))
    const labels = folder.write('x.labels.npy', i4([7, 9]))
    assert.deepEqual(await rowsOf(path), ['7 0:1 1:2', '9 1:3'])
    folder.write('x.labels.npy', i4([7, 9, 3]))
    await refused(path, /x\.labels\.npy: found an array of 3 labels, expected one for each of 2 rows/)
    rmSync(labels)
  })

  it('is refused where it is something else', async () => {
    const wrong: [Buffer, RegExp][] = [
      [f8([1, 2, 3, 4]), /found an array of 1 dimensions, expected two/],
      [f8([1, 2], [2, 1]), /found rows of 1 numbers, expected a label and at least one feature/],
      [npyBytes("'<f8'", [2, 2], Float64Array.from([1, 2, 3, 4]), 'True'), /columns stand one after the other/],
      [npyBytes("'>f8'", [2, 2], Float64Array.from([1, 2, 3, 4])), /the type >f8, expected floats/],
      [npyBytes("'|O'", [2, 2], Buffer.alloc(32)), /the type \|O, expected floats/],
      [npyBytes("[('a', '<f8')]", [2, 2], Buffer.alloc(32)), /records or objects/],
      [npyBytes("'<f8'", [1e9, 1e9], Buffer.alloc(32)), /expected 8000000000000000\d+ for an array of|rows of/],
      [f8([1, 2, 3, Number.NaN], [2, 2]), /row 2: found the value NaN of feature 1/],
      [f8([1, 2, Number.POSITIVE_INFINITY, 3], [2, 2]), /row 2: found the label "Infinity"/],
      [f8([1, 2, 3, 4], [2, 2]).subarray(0, 140), /found 140 bytes in all, expected/],
      [Buffer.from([0x93, 78, 85, 77, 80, 89, 9, 0, 1, 1]), /version 9/],
      [Buffer.from([0x93, 78, 85, 77, 80, 89, 2, 0, 255, 255, 255, 255]), /a head of 4294967295 bytes/],
    ]
    for (const [bytes, pattern] of wrong) await refused(folder.write('wrong.npy', bytes), pattern)
  })
})

describe('a SciPy matrix', () => {
  const expected = ['1 0:0.5 3:-2', '-1 2:1', '1 0:8 1:4']

  it('is read stored and deflated, with labels in it or beside it', async () => {
    for (const deflate of [false, true]) {
      assert.deepEqual(await rowsOf(folder.write('m.npz', zipBytes(csrArrays(), { deflate }))), expected)
    }
    const { 'y.npy': labels, ...others } = csrArrays()
    const path = folder.write('apart.npz', zipBytes(others, { deflate: true }))
    await refused(path, /apart\.npz: found no labels, expected an array y in it, or the file .*apart\.labels\.npy/)
    folder.write('apart.labels.npy', labels)
    assert.deepEqual(await rowsOf(path), expected)
  })

  it('is read as numpy.savez writes it, which keeps the word csr as characters of four bytes', async () => {
    const csr = Buffer.from(Uint32Array.from('csr', letter => letter.charCodeAt(0)).buffer)
    const path = folder.write('savez.npz', zipBytes({ ...csrArrays(), 'format.npy': npyBytes("'<U3'", [], csr) }))
    assert.deepEqual(await rowsOf(path), expected)
  })

  it('has one error for each thing that is wrong', async () => {
    const wrong: [Record<string, Buffer>, RegExp][] = [
      [{ 'format.npy': npyBytes("'|S3'", [], Buffer.from('csc')) }, /in the form "csc", expected csr/],
      [{ 'indptr.npy': i4([0, 2, 1, 5]) }, /row 2: found -1 entries/],
      [{ 'indptr.npy': i4([0, 2, 3, 6]) }, /row 3: found 3 entries, from 3 to 6 of 5/],
      [{ 'indptr.npy': i4([1, 2, 3, 5]) }, /found 1 where the first row begins/],
      [{ 'indptr.npy': i4([0, 5]) }, /2 row ends, 5 features and 5 values of 3 rows/],
      [{ 'indices.npy': i4([0, 3, 9, 1, 0]) }, /row 2: found feature 9, expected a feature from 0 to 3/],
      [{ 'indices.npy': i4([0, 3, -1, 1, 0]) }, /row 2: found feature -1/],
      [{ 'data.npy': f8([1, 2, Number.NaN, 4, 5]) }, /row 2: found the value NaN/],
      [{ 'data.npy': f8([1, 2, 3, 4, 5]).subarray(0, 150) }, /data\.npy: found its end .* too early/],
      [{ 'y.npy': i4([1, 2]) }, /found an array of 2 labels/],
      [{ 'y.npy': npyBytes("'|S3'", [3], Buffer.from('abcdefghi')) }, /found texts/],
      [{ 'y.npy': npyBytes("'<U1'", [3], Buffer.alloc(12)) }, /found texts \(<U1\), expected numbers/],
    ]
    for (const [change, pattern] of wrong) {
      await refused(folder.write('w.npz', zipBytes({ ...csrArrays(), ...change }, { deflate: true })), pattern)
    }
    await refused(folder.write('w.npz', zipBytes({ 'a.npy': Buffer.from('hello') })), /found no array "format"/)
    // Other programs make zips, too.
    await refused(folder.write('w.npz', zipBytes({ 'a.txt': Buffer.from('hello') })), /looks like a binary file/)
    await refused(folder.write('w.npz', zipBytes(csrArrays(), { method: 12 })), /found the compression 12/)
    const damaged = zipBytes(csrArrays(), { deflate: true })
    damaged.fill(0xff, 60, 90)
    await refused(folder.write('w.npz', damaged), /found (damaged data|other bytes)/)
  })

  it('does not let a zip bomb into memory', async () => {
    // 256 MiB of zeros in a quarter of a megabyte; the head of the array says that there are few.
    const zeros = Buffer.concat([i4([0, 3, 2, 1, 0]), Buffer.alloc(256 << 20)])
    const path = folder.write('bomb.npz', zipBytes({ ...csrArrays(), 'indices.npy': zeros }, { deflate: true }))
    const before = process.memoryUsage().arrayBuffers
    assert.deepEqual(await rowsOf(path), expected)
    assert.ok(process.memoryUsage().arrayBuffers - before < 64 << 20)
  })

  it('trains as LIBSVM text does, to the last bit, in memory and in a store', async () => {
    const [matrix, text] = ['npz', 'svm'].map(
      end => new URL(`../fixtures/input-formats/npz.${end}`, import.meta.url).pathname,
    )
    const model = async (path: string) => (await train(path, { threads: 1 }).result).model
    assert.deepEqual((await model(matrix)).weights, (await model(text)).weights)
    const stored = async (path: string) => (await ingest(path, `${folder.path}/${path.slice(-3)}.spill`)).manifest
    const [a, b] = [await stored(matrix), await stored(text)]
    assert.deepEqual([a.rows, a.nonzeros, a.features], [b.rows, b.nonzeros, b.features])
    const overBlocks = async (path: string) => model(`${folder.path}/${path.slice(-3)}.spill`)
    assert.deepEqual((await overBlocks(matrix)).weights, (await overBlocks(text)).weights)
  })
})
