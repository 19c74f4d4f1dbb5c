// Tables from a pipe, which is read once: they go into a file first, and give the model of the file.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { loadModel } from '../../src/model/files.ts'
import { good, run } from '../cli/run.ts'
import { asArrow } from '../input-formats/arrow-files.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { packed, packedText } from '../input-formats/packed-text.ts'
import { someTable, tableAsCsv } from '../input-formats/some-table.ts'

const folder = testFolder()
const cwd = folder.path
const table = someTable(600)
const csv = tableAsCsv(table)

const weightsOf = async (stdin: string | Uint8Array, ...words: string[]) => {
  await good(['train', '-', 'piped.model', '-q', ...words], { cwd, stdin })
  assert.deepEqual(
    readdirSync(cwd).filter(name => /spool/.test(name)),
    [],
  )
  return (await loadModel(`${cwd}/piped.model`)).weights
}

describe('a table from standard input', () => {
  it('gives the model of the file, plain or packed, as text or in columns', async () => {
    folder.write('t.csv', csv)
    await good(['train', 't.csv', 'file.model', '--label', 'bought', '-q'], { cwd })
    const { weights } = await loadModel(`${cwd}/file.model`)
    const columnData = table.names.map((name, k) => ({ name, data: table.columns[k], nullable: true }))
    const inputs = [csv, gzipSync(csv), Buffer.from(parquetWriteBuffer({ columnData })), asArrow(table)]
    for (const stdin of inputs) assert.deepEqual(await weightsOf(stdin, '--label', 'bought'), weights)
  })

  it('tells its own lines where a row is bad', async () => {
    const bad = csv.replace(/\n[^\n]*\n[^\n]*\n$/, '\n1,2,3\n')
    const { stderr } = await run(['train', '-', '--label', 'bought', '-q'], { cwd, stdin: bad })
    assert.match(stderr, /standard input, line 600.*found 3 columns, expected 4 columns/)
    assert.deepEqual(
      readdirSync(cwd).filter(name => /spool/.test(name)),
      [],
    )
  })

  it('goes into a store', async () => {
    await good(['ingest', '-', 'piped.spill', '--label', 'bought', '-q'], { cwd, stdin: csv })
    const manifest = JSON.parse(readFileSync(`${cwd}/piped.spill/manifest.json`, 'utf8'))
    assert.deepEqual([manifest.rows, manifest.sources[0].name], [600, '-'])
  })
})

describe('LIBSVM text from standard input', () => {
  it('is read as it comes, packed or not', async () => {
    const expected = await weightsOf(packedText())
    assert.deepEqual(await weightsOf(packed('rows.bz2')), expected)
    assert.deepEqual(await weightsOf(packed('rows.xz')), expected)
    const { stderr } = await run(['train', '-', '--label', 'bought'], { cwd, stdin: packedText() })
    assert.match(stderr, /label is for tables, and the data is no table/)
  })
})
