// What decoding takes is planned for: fewer threads where there is little memory, and a refusal before anything is read.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { SpillwayError } from '../../src/errors.ts'
import { planDecoding } from '../../src/rows/decode-memory.ts'
import { train } from '../../src/train/train.ts'
import { asArrow } from '../input-formats/arrow-files.ts'
import { testFolder } from '../input-formats/fixture.ts'

const folder = testFolder()
const MIB = 2 ** 20
const ROWS = 60_000
const numbers = (k: number): number[] => Array.from({ length: ROWS }, (_, r) => ((r * 7919 + k * 31) % 10007) / 7)
const names = ['label', 'a', 'b', 'c', 'd']
const columns = names.map((_, k) => (k === 0 ? numbers(0).map((_, r) => r % 2) : numbers(k)))
const write = (rowGroupSize: number): string =>
  folder.write(
    `${rowGroupSize}.parquet`,
    Buffer.from(
      parquetWriteBuffer({
        columnData: names.map((name, k) => ({ name, data: columns[k], type: 'DOUBLE' as const })),
        rowGroupSize,
      }),
    ),
  )

describe('decoding', () => {
  const large = write(ROWS)
  const small = write(2000)
  const plan = (path: string, memory: number, threads = 4) =>
    planDecoding([path], { format: undefined, memory, threads })

  it('takes as many threads as there is room for', async () => {
    assert.equal((await plan(small, 4096 * MIB))?.threads, 4)
    const little = await plan(small, 200 * MIB)
    assert.ok(little && little.threads === 1 && little.bytes < 44 * MIB)
    const [few, many] = [await plan(large, 4096 * MIB, 1), await plan(large, 4096 * MIB, 2)]
    assert.ok(few && many && few.bytes < many.bytes)
    const arrow = folder.write('t.arrow', asArrow({ names, columns }, { rowsEach: 2000 }))
    assert.ok((await plan(arrow, 256 * MIB))?.threads)
  })

  it('is nothing to plan for with text', async () => {
    assert.equal(await plan(folder.write('t.csv', 'label,a\n1,2\n0,3\n'), 256 * MIB), undefined)
    assert.equal(await plan('-', 256 * MIB), undefined)
  })

  it('is refused before anything is read where there is no room', async () => {
    await assert.rejects(train(large, { memory: '200M' }).result, error => {
      assert.ok(error instanceof SpillwayError)
      assert.match(error.message, /row group 1 takes about [\d.]+ MiB while it is decoded, and 200 MiB of memory leave/)
      assert.match(error.advice ?? '', /smaller parts, .*, or give --memory \d+M/)
      return true
    })
    const { model } = await train(small, { memory: '256M', maxPasses: 2 }).result
    assert.equal(model.data?.rows, ROWS)
  })
})
