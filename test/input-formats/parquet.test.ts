// Parquet files: the same rows as the CSV of the same table, and files that are damaged.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError } from '../../src/errors.ts'
import { predict } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { isSlow } from '../slow.ts'
import { testFolder } from './fixture.ts'
import { type SomeTable, someTable, tableAsCsv } from './some-table.ts'

const folder = testFolder()
const table = someTable(700)

function asParquet({ names, columns }: SomeTable, rowGroupSize: number): Buffer {
  const columnData = names.map((name, k) => ({ name, data: columns[k], nullable: true }))
  return Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize }))
}

const modelOf = async (path: string, options: TrainOptions = {}) =>
  (await train(path, { label: 'bought', threads: 2, ...options }).result).model

describe('a Parquet file', () => {
  const csv = folder.write('t.csv', tableAsCsv(table))
  const parquet = folder.write('t.parquet', asParquet(table, 100))

  it('gives the model of the CSV of the same table, to the last bit, in memory and in a store', async () => {
    const [a, b] = [await modelOf(csv), await modelOf(parquet)]
    assert.deepEqual(b.schema, a.schema)
    assert.deepEqual(b.weights, a.weights)
    assert.deepEqual(
      (await modelOf(csv, { values: 'f64' })).weights,
      (await modelOf(parquet, { values: 'f64' })).weights,
    )
    const stored = async (path: string, store: string) => (await ingest(path, store, { label: 'bought' })).manifest
    const [c, d] = [await stored(csv, `${folder.path}/c.spill`), await stored(parquet, `${folder.path}/p.spill`)]
    assert.deepEqual([d.rows, d.nonzeros, d.features, d.schema], [c.rows, c.nonzeros, c.features, c.schema])
  })

  it('is predicted by a model of the CSV, and the other way round', async () => {
    const model = await modelOf(csv)
    const scores = async (path: string, format: string) => {
      const pieces: Uint8Array[] = []
      await predict(path, model, { format, scores: true, write: piece => void pieces.push(piece) })
      return Buffer.concat(pieces).toString()
    }
    const expected = await scores(csv, 'csv')
    assert.ok(expected.length > table.columns[0].length)
    assert.equal(await scores(parquet, 'parquet'), expected)
  })

  it('is refused where its description is damaged', async () => {
    const whole = asParquet(table, 100)
    const length = whole.readUInt32LE(whole.length - 8)
    const wrong: [(bytes: Buffer) => void, RegExp][] = [
      [bytes => bytes.writeUInt32LE(0xffffffff, bytes.length - 8), /found a description of 4294967295 bytes, expected/],
      [bytes => bytes.writeUInt32LE(3, bytes.length - 8), /found a description that cannot be read|found /],
      [bytes => bytes.write('XXXX', bytes.length - 4), /found other bytes at its end, expected a Parquet file/],
      [bytes => bytes.fill(0xff, bytes.length - 8 - length, bytes.length - 8), /found .*, expected a Parquet file/],
    ]
    for (const [damage, pattern] of wrong) {
      const bytes = Buffer.from(whole)
      damage(bytes)
      await assert.rejects(modelOf(folder.write('damaged.parquet', bytes)), error => {
        assert.ok(error instanceof SpillwayError, String((error as Error).stack))
        assert.match(error.message, pattern)
        return true
      })
    }
  })

  it('costs one clear error where its pages are damaged, and neither time nor memory', async () => {
    // The library writes a run of two thousand million cells where a count was overwritten.
    const n = 3000
    const data = Array.from({ length: n }, (_, i) => i)
    const whole = Buffer.from(
      parquetWriteBuffer({
        columnData: [
          { name: 'bought', data: data.map(i => (i % 2 ? 'yes' : 'no')), type: 'STRING' },
          { name: 'a', data: data.map(i => i * 0.5), type: 'DOUBLE' },
          { name: 'b', data: data.map(i => (i % 7 === 0 ? null : i % 50)), type: 'INT32', nullable: true },
          { name: 'c', data: data.map(i => `v${i % 13}`), type: 'STRING' },
        ],
      }),
    )
    const ends = whole.length - 8 - whole.readUInt32LE(whole.length - 8)
    const damages = [{ at: 4768, bytes: 4, byte: 252 }]
    for (let k = 0; k < 12; k += isSlow ? 1 : 3)
      damages.push({ at: 4 + ((k * 1237) % (ends - 20)), bytes: 1 + (k % 3) * 7, byte: (k * 97) % 256 })
    let refused = 0
    for (const { at, bytes, byte } of damages) {
      const path = folder.write('damaged.parquet', Buffer.from(whole).fill(byte, at, at + bytes))
      await modelOf(path, { maxPasses: 2 }).then(undefined, error => {
        assert.ok(error instanceof SpillwayError, `at ${at}: ${(error as Error).stack}`)
        refused++
      })
    }
    assert.ok(refused > 0)
  })

  it('is refused where it has records', async () => {
    const nested = parquetWriteBuffer({
      columnData: [
        { name: 'bought', data: [1, 0] },
        { name: 'tags', data: [{ a: 1 }, { a: 2 }], type: 'JSON' },
      ],
    })
    const path = folder.write('nested.parquet', Buffer.from(nested))
    await assert.rejects(modelOf(path), /found lists, records or bytes in column "tags", expected numbers or texts/)
  })
})
