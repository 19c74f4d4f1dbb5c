// One data set in every format: the same rows, the same store, and the same model to the last bit.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { ingest } from '../../src/block-store/ingest.ts'
import { allInputFormats } from '../../src/input-formats/all-input-formats.ts'
import { allCompressions } from '../../src/input-formats/compressions.ts'
import type { SqlQuery } from '../../src/input-formats/stand-ins.ts'
import { train } from '../../src/train/train.ts'
import { asArrow } from './arrow-files.ts'
import { testFolder } from './fixture.ts'
import { f8, i4, npyBytes, zipBytes } from './numpy-files.ts'
import { packed, packedText } from './packed-text.ts'

const folder = testFolder()
const COLUMNS = 6

/** Numbers of which a third is 0, and labels that two columns decide with some noise. */
const rows = (() => {
  let state = 5
  const draw = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  return Array.from({ length: 500 }, () => {
    const x = Array.from({ length: COLUMNS }, () => (draw() < 0.33 ? 0 : Number((draw() * 8 - 4).toFixed(3))))
    return { label: x[0] - x[3] + draw() - 0.5 > 0 ? 1 : -1, x }
  })
})()
const names = ['label', ...Array.from({ length: COLUMNS }, (_, k) => `x${k + 1}`)]
const columns = names.map((_, k) => rows.map(({ label, x }) => (k === 0 ? label : x[k - 1])))
const entries = rows.map(({ x }) => x.flatMap((value, k) => (value === 0 ? [] : [[k, value] as const])))

const lines = (line: (row: (typeof rows)[number], r: number) => string): string => `${rows.map(line).join('\n')}\n`
const delimited = (by: string): string => `${names.join(by)}\n${lines(({ label, x }) => [label, ...x].join(by))}`
const libsvm = lines(({ label }, r) => [label, ...entries[r].map(([k, value]) => `${k + 1}:${value}`)].join(' '))

const matrix = {
  'indices.npy': i4(entries.flat().map(([k]) => k)),
  'indptr.npy': i4([0, ...entries.map(() => 0)].map((_, r) => entries.slice(0, r).flat().length)),
  'format.npy': npyBytes("'|S3'", [], Buffer.from('csr')),
  'shape.npy': npyBytes("'<i8'", [2], BigInt64Array.from([BigInt(rows.length), BigInt(COLUMNS)])),
  'data.npy': f8(entries.flat().map(([, value]) => value)),
}
const labels = i4(rows.map(({ label }) => label))

const parquet = Buffer.from(
  parquetWriteBuffer({
    columnData: names.map((name, k) => ({ name, data: columns[k], type: 'DOUBLE' as const })),
  }),
)

const csvPath = folder.write('d.csv', delimited(','))
/** Each is one chunk: a store has its rows in segments, and where one begins depends on the chunks. */
const files: Record<string, string> = {
  libsvm: folder.write('d.svm', libsvm),
  vw: folder.write(
    'd.vw',
    lines(({ label }, r) => `${label} | ${entries[r].map(([k, value]) => `${k}:${value}`).join(' ')}`),
  ),
  csv: csvPath,
  tsv: folder.write('d.tsv', delimited('\t')),
  npy: folder.write(
    'd.npy',
    f8(
      rows.flatMap(({ label, x }) => [label, ...x]),
      [rows.length, COLUMNS + 1],
    ),
  ),
  npz: folder.write('d.npz', zipBytes({ ...matrix, 'y.npy': labels }, { deflate: true })),
  parquet: folder.write('d.parquet', parquet),
  arrow: folder.write('d.arrow', asArrow({ names, columns }, { rowsEach: rows.length })),
}
const packings: Record<string, string> = {
  gzip: folder.write('packed.svm.gz', gzipSync(packedText())),
  zstd: folder.write('packed.svm.zst', zstdCompressSync(packedText())),
  bzip2: folder.write('packed.svm.bz2', packed('rows.bz2')),
  xz: folder.write('packed.svm.xz', packed('rows.xz')),
}
const queries: Record<string, SqlQuery> = {
  'a query of a Parquet file': { sql: `SELECT * FROM '${files['parquet']}'` },
  'a query of a CSV file': { sql: `FROM read_csv('${csvPath}')` },
}

/** What a model of the data is, but for where it came from. */
async function modelOf(data: string | SqlQuery, values: 'f32' | 'f64' = 'f32', labelsFile?: string) {
  const store = `${folder.path}/made.spill`
  const { result } = train(data, {
    scale: 'none',
    threads: 2,
    values,
    store,
    ...(labelsFile && { labels: labelsFile }),
  })
  const { model } = await result
  const { weights, certificate, labels: classes } = model
  return { weights, primal: certificate?.primal, dual: certificate?.dual, classes }
}

async function storeOf(data: string | SqlQuery, name: string) {
  const { manifest } = await ingest(data, `${folder.path}/${name.replaceAll(' ', '-')}.spill`, { compress: 'none' })
  const { rows: count, nonzeros, labels: classes, fingerprint } = manifest
  return { count, nonzeros, classes, fingerprint }
}

/** Strings of letters have other features: they are no numbers. */
const OTHERS = ['label-string']

describe('one data set', () => {
  it('is there in every format, and packed in every way', () => {
    assert.deepEqual([...Object.keys(files), ...OTHERS].sort(), allInputFormats.map(({ name }) => name).sort())
    assert.deepEqual(
      Object.keys(packings),
      allCompressions.map(({ name }) => name),
    )
  })

  it('gives one model, to the last bit', async () => {
    const all = { ...files, ...queries }
    // Numbers of 64 bits are read by other loops, of which text, rows in JavaScript and decoded tables have one each.
    const exact = Object.entries(all).filter(([name]) => ['csv', 'npy', 'arrow'].includes(name))
    for (const [values, inputs] of [
      ['f32', Object.entries(all)],
      ['f64', exact],
    ] as const) {
      const expected = await modelOf(files['libsvm'], values)
      for (const [name, data] of inputs) assert.deepEqual(await modelOf(data, values), expected, `${name}, ${values}`)
    }
  })

  it('gives one store', async () => {
    const expected = await storeOf(files['libsvm'], 'libsvm')
    for (const [name, path] of Object.entries({ ...files, ...queries })) {
      if (name !== 'libsvm') assert.deepEqual(await storeOf(path, name), expected, name)
    }
  })

  it('gives one model, however it is packed', async () => {
    const expected = await modelOf(folder.write('packed.svm', packedText()))
    for (const [name, path] of Object.entries(packings)) assert.deepEqual(await modelOf(path), expected, name)
  })

  it('gives one model where labels are in a file of their own', async () => {
    const expected = await modelOf(files['libsvm'])
    const apart = folder.write('of-their-own.npy', labels)
    const dense = folder.write(
      'x.npy',
      f8(
        rows.flatMap(({ x }) => x),
        [rows.length, COLUMNS],
      ),
    )
    assert.deepEqual(await modelOf(dense, 'f32', apart), expected)
    assert.deepEqual(await modelOf(folder.write('x.npz', zipBytes(matrix)), 'f32', apart), expected)
    // Named labels come before those in the file.
    const others = zipBytes({ ...matrix, 'y.npy': i4(rows.map((_, r) => r % 2)) })
    assert.deepEqual(await modelOf(folder.write('y.npz', others), 'f32', apart), expected)
    await assert.rejects(modelOf(files['csv'], 'f32', apart), /labels names a file, and the data is a table/)
    await assert.rejects(modelOf(files['libsvm'], 'f32', apart), /labels names a file, and the data is text/)
    await assert.rejects(
      modelOf(dense, 'f32', `${folder.path}/none.npy`),
      /cannot read .*none\.npy: there is no such file/,
    )
  })
})
