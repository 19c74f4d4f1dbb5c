// Arrow files and streams: the same rows as the CSV of the same table, and files that are damaged or made to do harm.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  binary,
  columnFromArray,
  dateDay,
  int32,
  int64,
  list,
  struct,
  tableFromColumns,
  tableToIPC,
  utf8,
} from '@uwdata/flechette'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError } from '../../src/errors.ts'
import { predict } from '../../src/predict/predict.ts'
import { learnSchema } from '../../src/rows/learn-schema.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { type ArrowOptions, asArrow } from './arrow-files.ts'
import { testFolder } from './fixture.ts'
import { someTable, tableAsCsv } from './some-table.ts'

const folder = testFolder()
const table = someTable(700)
const modelOf = async (path: string, options: TrainOptions = {}) =>
  (await train(path, { label: 'bought', ...options }).result).model

/** Reads all cells, without training. */
const columnsOf = (path: string) => learnSchema([path], { format: undefined, onBadRow: 'fail', label: 'bought' })

async function refused(bytes: Buffer, pattern: RegExp, name = 'wrong.arrow'): Promise<void> {
  await assert.rejects(columnsOf(folder.write(name, bytes)), error => {
    assert.ok(error instanceof SpillwayError, String((error as Error).stack))
    assert.match(error.message, pattern)
    return true
  })
}

describe('an Arrow file', () => {
  const csv = folder.write('t.csv', tableAsCsv(table))

  it('gives the model of the CSV of the same table, as a file and as a stream, compressed or not', async () => {
    const expected = await modelOf(csv)
    const ways: ArrowOptions[] = [
      {},
      { format: 'stream' },
      { codec: 'zstd' },
      { codec: 'lz4', format: 'stream' },
      { rowsEach: 1000 },
    ]
    for (const way of ways) {
      const model = await modelOf(folder.write('t.arrow', asArrow(table, way)))
      assert.deepEqual(model.schema, expected.schema, JSON.stringify(way))
      assert.deepEqual(model.weights, expected.weights, JSON.stringify(way))
    }
    const exact = await modelOf(folder.write('t.arrow', asArrow(table)), { values: 'f64' })
    assert.deepEqual(exact.weights, (await modelOf(csv, { values: 'f64' })).weights)
  })

  it('goes into a store, and is predicted', async () => {
    const path = folder.write('s.feather', asArrow(table))
    const stored = async (data: string, store: string) =>
      (await ingest(data, `${folder.path}/${store}`, { label: 'bought' })).manifest
    const [a, b] = [await stored(csv, 'c.spill'), await stored(path, 'a.spill')]
    assert.deepEqual([b.rows, b.nonzeros, b.features, b.schema], [a.rows, a.nonzeros, a.features, a.schema])
    const model = await modelOf(csv)
    const { accuracy } = await predict(csv, model)
    assert.equal((await predict(path, model, { format: 'arrow' })).accuracy, accuracy)
  })

  it('has whole numbers of 64 bits, booleans, and columns without any cell', async () => {
    const some = {
      names: ['id', 'flag', 'none', 'bought'],
      columns: [
        [9007199254740993n, 2n, 3n, 4n],
        [true, false, null, true],
        [null, null, null, null],
        ['a', 'b', 'a', 'b'],
      ],
    } as never
    const path = folder.write('typed.arrow', asArrow(some, { types: [int64()] }))
    const text = 'id,flag,none,bought\n9007199254740993,1,,a\n2,0,,b\n3,,,a\n4,1,,b\n'
    const [a, b] = [await modelOf(folder.write('typed.csv', text)), await modelOf(path)]
    assert.deepEqual(b.schema, a.schema)
    assert.deepEqual(b.weights, a.weights)
  })

  it('is refused where a column has no numbers or texts, and the column is named', async () => {
    const of = (type: Parameters<typeof columnFromArray>[1], cells: unknown[]) =>
      Buffer.from(
        tableToIPC(
          tableFromColumns([
            ['bought', columnFromArray([1, 0])],
            ['tags', columnFromArray(cells, type)],
          ]),
          { format: 'file' },
        )!,
      )
    await refused(of(list(int32()), [[1], [2]]), /found lists in column "tags", expected numbers or texts/)
    await refused(of(struct({ a: int32() }), [{ a: 1 }, { a: 2 }]), /found records in column "tags"/)
    await refused(of(binary(), [Buffer.from('a'), Buffer.from('b')]), /found bytes in column "tags"/)
    await refused(of(dateDay(), [new Date(0), new Date(864e5)]), /column "tags", expected no dates/)
  })
})

describe('a hostile Arrow file', () => {
  const whole = asArrow(table)
  const stream = asArrow(table, { format: 'stream' })
  const changed = (from: Buffer, change: (bytes: Buffer) => void): Buffer => {
    const bytes = Buffer.from(from)
    change(bytes)
    return bytes
  }

  it('costs one error where it is cut short', async () => {
    for (const part of [0.02, 0.4, 0.9, 0.999]) {
      await refused(whole.subarray(0, Math.floor(whole.length * part)), /found .*, expected/)
      await refused(stream.subarray(0, Math.floor(stream.length * part)), /found .*, expected/)
    }
    await refused(Buffer.from('ARROW1'), /found 6 bytes in all, expected Arrow data/)
  })

  it('costs one error where lengths are wrong', async () => {
    await refused(
      changed(whole, b => b.writeInt32LE(0x7fffffff, b.length - 10)),
      /a description of 2147483647 bytes/,
    )
    await refused(
      changed(whole, b => b.write('XXXXXX', b.length - 6)),
      /other bytes at its end/,
    )
    await refused(
      changed(whole, b => b.writeUInt32LE(0x7fffffff, 12)),
      /a message whose head has 2147483647 bytes/,
    )
    await refused(
      changed(whole, b => b.writeUInt32LE(5, 8)),
      /bytes that start no message/,
    )
    await refused(
      changed(whole, b => b.fill(0xff, 16, 80)),
      /a message that cannot be read|no schema/,
    )
    await refused(
      changed(stream, b => b.fill(0, 8, 40)),
      /found .*, expected/,
    )
  })

  it('costs one error wherever its bytes are damaged, and neither time nor memory', async () => {
    let wrong = 0
    for (let k = 0; k < 12; k++) {
      const at = 16 + ((k * 4957) % (whole.length - 40))
      const path = folder.write(
        'damaged.arrow',
        changed(whole, b => b.fill((k * 97) % 256, at, at + 1 + (k % 3) * 7)),
      )
      await columnsOf(path).then(undefined, error => {
        assert.ok(error instanceof SpillwayError, `at ${at}: ${(error as Error).stack}`)
        wrong++
      })
    }
    assert.ok(wrong > 0)
  })

  it('is refused where it says that it has more rows than bytes, or that more was compressed than can be', async () => {
    const numbers = Array.from({ length: 400 }, (_, r) => r % 4)
    const columns = [numbers, numbers.map(number => (number < 2 ? 'x' : 'y'))]
    const bytes = asArrow({ names: ['a', 'bought'], columns }, { codec: 'zstd', rowsEach: 400 })
    // Every 64-bit 400 is a number of rows or cells, 3200 the length of so many numbers.
    const changes = [
      [400n, 1n << 40n],
      [400n, 1n << 24n],
      [3200n, 1n << 60n],
      [3200n, 1n << 30n],
    ]
    for (const [from, to] of changes) {
      const other = Buffer.from(bytes)
      for (let at = 0; at + 8 <= other.length; at += 8)
        if (other.readBigInt64LE(at) === from) other.writeBigInt64LE(to, at)
      assert.notDeepEqual(other, bytes)
      await refused(other, /found .*(, expected|far more memory|does not end)/)
    }
  })

  it('is refused where texts are no UTF-8', async () => {
    const some = {
      names: ['town', 'bought'],
      columns: [
        ['Ulm', 'Koeln', 'Bonn', 'Ulm'],
        ['x', 'y', 'x', 'y'],
      ],
    }
    const bytes = asArrow(some, { types: [utf8(), utf8()] })
    bytes.fill(0xff, bytes.indexOf('Koeln'), bytes.indexOf('Koeln') + 2)
    await refused(bytes, /found bytes that are no text in column "town", expected UTF-8/)
  })
})
