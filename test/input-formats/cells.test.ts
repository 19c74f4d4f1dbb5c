// Columns of cells: loops make of them the rows that the text of the same cells gives, to the last bit, and leave to the way of text
// what they cannot. Damaged files make them write nowhere else.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DuckDBInstance } from '@duckdb/node-api'
import { dictionary, float32, int8, int32, int64, uint16, uint64, utf8 } from '@uwdata/flechette'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { arrow } from '../../src/input-formats/arrow.ts'
import { type CellRooms, newCellRooms } from '../../src/input-formats/cells.ts'
import { CHUNK_SLACK } from '../../src/input-formats/chunk-slots.ts'
import type { AboutEncoded, ByPlan, InputFormat } from '../../src/input-formats/input-format.ts'
import { parquet } from '../../src/input-formats/parquet.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { learnSchema } from '../../src/rows/learn-schema.ts'
import { asArrow } from './arrow-files.ts'
import { readBothWays, withChunks } from './both-ways.ts'
import { testFolder } from './fixture.ts'
import { someTable } from './some-table.ts'

const folder = testFolder()
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
let files = 0
const learning = { format: undefined, onBadRow: 'fail', threads: 1 } as const

async function written(select: string, how: string): Promise<string> {
  const path = `${folder.path}/${files++}.parquet`
  await connection.run(`COPY (${select}) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 2048, ${how})`)
  return path
}

const MANY_TYPES = `SELECT
  i % 3 AS label,
  1 + i % 4 AS w,
  CASE WHEN i % 7 = 0 THEN NULL ELSE i % 50 END::INTEGER AS few,
  (i * 7919 % 10007) / 7.0::DOUBLE AS d,
  ((i * 31 % 1000) / 3.0)::FLOAT AS f,
  i::BIGINT * 1234567890123 - 99 AS big,
  (i % 200)::UTINYINT AS u8,
  (4294967295 - i)::UINTEGER AS u32,
  9223372036854775807::UBIGINT + i::UBIGINT AS u64,
  CASE WHEN i % 3 = 0 THEN NULL ELSE i % 2 = 0 END AS flag,
  (i / 100.0)::DECIMAL(9, 2) AS money,
  (i / 8.0)::DECIMAL(18, 4) AS price,
  CASE WHEN i % 17 = 0 THEN 'nan'::DOUBLE WHEN i % 19 = 0 THEN -0.0 ELSE i * 1e-45 END AS holes,
  'v' || (i % 13) AS town,
  CASE WHEN i % 11 = 0 THEN NULL WHEN i % 11 = 1 THEN 'NA' ELSE 'Köln "am" Rhein,\t' || (i % 900) END AS long_text,
  'Some words, ' || (i % 40) || ' of them' AS words,
  DATE '2020-01-01' + i::INTEGER AS day
  FROM range(2500) t(i)`

/** Every chunk goes through loops, or through text. */
async function same(
  path: string,
  format: InputFormat,
  byLoops: boolean,
  options: Parameters<typeof readBothWays>[2] = {},
) {
  const read = await readBothWays(path, format, options)
  assert.equal(read.byLoops, byLoops ? read.chunks : 0, path)
  assert.ok(read.ofText.length > 0)
  if (!byLoops) return
  assert.equal(read.ofCells.length, read.ofText.length)
  // One row at a time: what differs in thousands would take long to show.
  for (const [r, row] of read.ofText.entries()) assert.deepEqual(read.ofCells[r], row, `${path}, row ${r}`)
}

describe('columns of cells', () => {
  it('give the rows of their text: Parquet of many types, with each codec', async () => {
    const said = { label: 'label', weight: 'w', ignore: ['day'], text: ['words'] }
    for (const codec of ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw'])
      await same(await written(MANY_TYPES, `COMPRESSION ${codec}`), parquet, true, said)
  })

  it('give the rows of their text: Parquet of both versions, by every role of a column', async () => {
    const said = { label: 'label', weight: 'w', ignore: ['day'], text: ['words'] }
    for (const version of ['V1', 'V2']) {
      // Of the second version, the library that makes text takes differences of such numbers for others.
      const select = version === 'V1' ? MANY_TYPES : MANY_TYPES.replace('4294967295', '2000000000')
      const path = await written(select, `COMPRESSION snappy, PARQUET_VERSION ${version}`)
      await same(path, parquet, true, { ...said, valueBits: 64 })
      await same(path, parquet, true, { ...said, categorical: ['hash:12', 'few', 'big', 'flag'] })
      await same(path, parquet, true, { ...said, categorical: ['few', 'big', 'u8', 'flag'] })
      await same(path, parquet, true, { ...said, label: 'town', ignore: ['day', 'label', 'w'], weight: undefined })
    }
  })

  it('have the columns of the CSV of the same table, and values in the same order', async () => {
    const select = `SELECT * EXCLUDE (flag) FROM (${MANY_TYPES})`
    const csv = `${folder.path}/same.csv`
    await connection.run(`COPY (${select}) TO '${csv}' (FORMAT csv, HEADER)`)
    const said = { label: 'label', weight: 'w', ignore: ['day'], text: ['words'], categorical: ['few', 'big'] }
    const schemaOf = async (path: string) => (await learnSchema([path], { ...learning, ...said }))?.schema
    const expected = await schemaOf(csv)
    assert.ok(expected?.columns.some(column => column.role === 'category' && column.name === 'big'))
    assert.deepEqual(await schemaOf(await written(select, 'COMPRESSION snappy')), expected)
  })

  it('give the rows of their text: pages of the second version, and columns that are always there', async () => {
    const { names, columns } = someTable(3000)
    for (const nullable of [true, false]) {
      const columnData = names.map((name, k) => ({
        ...{ name, nullable },
        data: nullable ? columns[k] : columns[k].map(cell => cell ?? 7),
      }))
      const bytes = Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 1000 }))
      await same(folder.write('second.parquet', bytes), parquet, true, { label: 'bought' })
    }
  })

  it('give the rows of their text: Arrow of many types, compressed or not', async () => {
    const n = 700
    const numbers = (of: (i: number) => number | null) => Array.from({ length: n }, (_, i) => of(i))
    const table = {
      names: ['label', 'a', 'b', 'c', 'd', 'e', 'f', 'town', 'name', 'flag', 'none'],
      columns: [
        numbers(i => i % 2),
        numbers(i => (i % 5 === 0 ? null : (i % 200) - 100)),
        numbers(i => (i * 977) % 65536),
        numbers(i => i * 1e6 - 5),
        numbers(i => i).map(i => BigInt(i!) * 12345678901234n),
        numbers(i => (i % 9 === 0 ? null : i / 3)),
        numbers(i => i * 3).map(i => BigInt(i!)),
        numbers(i => i).map(i => (i! % 4 === 0 ? null : `town ${i! % 7}`)),
        numbers(i => i).map(i => (i! % 6 === 0 ? '' : `é ${i}`)),
        numbers(i => i).map(i => (i! % 8 === 0 ? null : i! % 3 === 0)),
        numbers(() => null),
      ],
    } as never
    const types = [int32(), int8(), uint16(), int32(), int64(), float32(), uint64(), dictionary(utf8(), int8()), utf8()]
    for (const codec of [undefined, 'zstd', 'lz4'] as const) {
      const path = folder.write('many.arrow', asArrow(table, { types, rowsEach: 300, ...(codec && { codec }) }))
      await same(path, arrow, true, { label: 'label' })
      await same(path, arrow, true, { label: 'label', valueBits: 64 })
    }
  })

  it('leave to the way of text what they cannot keep as it is', async () => {
    const rows = 'FROM range(100) t(i)'
    const others: [string, Parameters<typeof readBothWays>[2]?][] = [
      // More digits than a word has room for.
      [`SELECT i % 2 AS label, 18000000000000000000::UBIGINT + i::UBIGINT AS a ${rows}`],
      // Numbers that are values of a list, but not whole, and texts that are numbers.
      [`SELECT i % 2 AS label, i / 10.0 AS a, i AS b ${rows}`, { categorical: ['a'] }],
      [`SELECT i % 2 AS label, i::VARCHAR AS a ${rows}`],
      // Labels whose text tells more.
      [`SELECT (i % 2) / 3.0 AS label, i AS a ${rows}`],
      [`SELECT i % 2 AS label, i::DECIMAL(30, 5) AS a ${rows}`],
    ]
    for (const [select, options] of others)
      await same(await written(select, 'COMPRESSION snappy'), parquet, false, { label: 'label', ...options })
  })

  it('are refused with the words of text where a number is not finite, or too large', async () => {
    const modelOf = (select: string) => written(select, 'COMPRESSION snappy').then(path => readBothWays(path, parquet))
    await assert.rejects(
      modelOf(`SELECT i % 2 AS label, CASE WHEN i = 7 THEN 'inf'::DOUBLE ELSE i END AS a FROM range(100) t(i)`),
      /found "Infinity" in column "a", expected a finite number/,
    )
    await assert.rejects(
      modelOf(`SELECT i % 2 AS label, CASE WHEN i = 7 THEN 1e300 ELSE i END AS a FROM range(100) t(i)`),
      /1e\+?300.*32-bit float/,
    )
  })
})

/** Rooms with bytes around them that nobody may write. */
function guarded(arena: Arena): { rooms: CellRooms; areUntouched(): boolean } {
  const guards: number[] = []
  const guard = (): void => {
    const at = arena.allocate(4096, 'a guard')
    arena.bytes(at, 4096).fill(0xa5)
    guards.push(at)
  }
  const rooms = newCellRooms(arena)
  guard()
  for (const room of [
    rooms.cells,
    rooms.texts,
    rooms.digits,
    rooms.page,
    rooms.levels,
    rooms.numbers,
    rooms.dictionary,
  ]) {
    room.room(1 << 20)
    guard()
  }
  return { rooms, areUntouched: () => guards.every(at => arena.bytes(at, 4096).every(byte => byte === 0xa5)) }
}

describe('a damaged file in columns', () => {
  const few = someTable(400)
  const whole: [string, InputFormat, () => Promise<string>][] = [
    ['Parquet by DuckDB', parquet, () => written(`${MANY_TYPES} LIMIT 600`, 'COMPRESSION snappy')],
    ['Parquet that is not compressed', parquet, () => written(`${MANY_TYPES} LIMIT 600`, 'COMPRESSION uncompressed')],
    ['Arrow', arrow, async () => folder.write('whole.arrow', asArrow(few))],
    ['compressed Arrow', arrow, async () => folder.write('whole.arrow', asArrow(few, { codec: 'lz4' }))],
  ]
  for (const [name, format, make] of whole) {
    it(`ends early, and nothing is written elsewhere: ${name}`, async () => {
      const cut = format.cut as ByPlan
      const path = await make()
      const { bytes, columns, about } = await withChunks(path, cut, async ([chunk], columns) => {
        const bytes = new Uint8Array(chunk.bytes)
        await chunk.fill(bytes)
        return { bytes, columns, about: chunk.about as AboutEncoded }
      })
      const arena = new Arena()
      const { rooms, areUntouched } = guarded(arena)
      const at = arena.allocate(bytes.length + CHUNK_SLACK, 'a chunk')
      const wanted = columns.map(column => (column === 'day' ? 'none' : 'any'))
      let [state, taken] = [1, 0]
      const draw = (below: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        return Math.floor((state / 2 ** 32) * below)
      }
      for (let k = 0; k < 1000; k++) {
        arena.bytes(at, bytes.length).set(bytes)
        for (let damages = draw(4); damages > 0; damages--)
          arena.bytes(at + draw(bytes.length), 1)[0] = [0, 1, 0x7f, 0x80, 0xff, draw(256)][draw(6)]
        const cells = await cut.tables!.toCells(rooms, { at, bytes: bytes.length }, about, wanted)
        if (cells) taken++
      }
      assert.ok(areUntouched())
      assert.ok(taken > 100, `${taken} were taken`)
    })
  }
})
