// The example of docs/adding-an-input-format.md: its file is taken from the page, put in the list, held to what every format
// promises, and read by everything that reads rows.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError, UsageError } from '../../src/errors.ts'
import { allInputFormats } from '../../src/input-formats/all-input-formats.ts'
import type { InputFormat } from '../../src/input-formats/input-format.ts'
import type { Model } from '../../src/model/model.ts'
import { toDense } from '../../src/model/weights.ts'
import { predict } from '../../src/predict/predict.ts'
import { estimateText, sampleText } from '../../src/rows/sample-text.ts'
import { scanData } from '../../src/rows/scan.ts'
import { chooseSolver } from '../../src/train/choose-solver.ts'
import { resolveOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { bitsOf, randomNumbers } from '../numeric/reference.ts'
import { inputFormatContract } from './input-format-contract.ts'

const root = new URL('../../', import.meta.url)
const formats = 'src/input-formats/'
const folder = testFolder()
const page = readFileSync(new URL('docs/adding-an-input-format.md', root), 'utf8')
const [, fileName, source] = /`src\/input-formats\/([a-z-]+\.ts)`:\n\n```ts\n(.*?)```/s.exec(page)!
// The file stands in another folder: what it imports from the tree keeps its place.
const moved = source.replace(
  /from '(\.[^']+)'/g,
  (_, path: string) => `from '${new URL(path, new URL(formats, root)).href}'`,
)
const module = join(folder.path, fileName)
writeFileSync(module, moved)
const { binaryRows } = (await import(pathToFileURL(module).href)) as { binaryRows: InputFormat }
allInputFormats.push(binaryRows)

interface SomeRow {
  label: number
  indices: number[]
  values: number[]
}

function someRows(count: number, seed: number): SomeRow[] {
  const random = randomNumbers(seed)
  return Array.from({ length: count }, (_, r) => {
    const indices = Array.from({ length: 30 }, (_, j) => j).filter(() => random() < 0.3)
    const label = random() < 0.5 ? 1 : -1
    // Eighths are the same numbers in text, in 32 bits and in 64. One row has no entries.
    const values = indices.map(j =>
      r % 7 === 0 ? 1 : (1 + Math.floor(random() * 40)) / 8 + (j % 3 === 0 ? label / 4 : 0),
    )
    return r === 5 ? { label, indices: [], values: [] } : { label, indices, values }
  })
}

const textOf = (rows: SomeRow[]): string =>
  rows
    .map(({ label, indices, values }) => [label, ...indices.map((j, k) => `${j + 1}:${values[k]}`), '\n'].join(' '))
    .join('')

function binaryOf(groups: SomeRow[][]): Buffer {
  const list = new Uint32Array(
    groups.flatMap(rows => [rows.length, rows.reduce((sum, { indices }) => sum + indices.length, 0)]),
  )
  const parts = groups.flatMap(rows => {
    let end = 0
    return [
      new Float64Array(rows.map(({ label }) => label)),
      new Float64Array(rows.flatMap(({ values }) => values)),
      new Uint32Array(rows.map(({ indices }) => (end += indices.length))),
      new Uint32Array(rows.flatMap(({ indices }) => indices)),
    ]
  })
  const bytes = (array: Float64Array | Uint32Array): Buffer => Buffer.from(array.buffer)
  const magic = Buffer.from('ROWS')
  return Buffer.concat([magic, ...parts.map(bytes), bytes(list), bytes(new Uint32Array([groups.length])), magic])
}

const rows = someRows(400, 3)
const inGroups = (size: number, all = rows): SomeRow[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, k) => all.slice(k * size, (k + 1) * size))
const text = folder.write('some.svm', textOf(rows))
const file = folder.write('some.rows', binaryOf(inGroups(90)))
const oneGroup = folder.write('one-group.rows', binaryOf([rows]))

inputFormatContract(binaryRows, { file, text })

const bits = (model: Model): bigint[] => bitsOf(toDense(model.weights, model.features, 1))
const says = (message: RegExp, advice?: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SpillwayError, String(error))
  assert.match(error.message, message)
  if (advice) assert.match(error.advice ?? '', advice)
  return true
}

async function predicted(data: string, model: Model, format?: string): Promise<string> {
  const parts: Uint8Array[] = []
  const write = (part: Uint8Array): void => void parts.push(part)
  await predict(data, model, { scores: true, write, ...(format && { format }) })
  return Buffer.concat(parts).toString()
}

describe('rows of the example', () => {
  const options = { loss: 'hinge', tolerance: 1e-2, threads: 2 } as const

  it('train the model that the same rows in text train, and are predicted alike', async () => {
    const fromText = await train(text, options).result
    const fromFile = await train(file, options).result
    assert.deepEqual(bits(fromFile.model), bits(fromText.model))
    assert.deepEqual([fromFile.rows, fromFile.features, fromFile.passes], [400, 30, fromText.passes])
    assert.deepEqual([fromFile.model.inputFormat, fromFile.model.indexBase], ['binary-rows', 1])
    const scores = await predicted(text, fromText.model)
    assert.equal(scores.split('\n').length, 401)
    assert.equal(await predicted(file, fromFile.model), scores)
    assert.equal(await predicted(file, fromText.model, 'auto'), scores)
    assert.equal(await predicted(text, fromFile.model, 'libsvm'), scores)
  })

  it('become the same store, and are trained on in blocks', async () => {
    const made = async (data: string, name: string, blocks: number) => {
      const path = join(folder.path, name)
      const { manifest } = await ingest(data, path, { blocks })
      const { model } = await train(path, { ...options, solver: 'block', memory: '256M' }).result
      return { manifest, weights: bits(model), path }
    }
    // Rows are drawn by their chunk: where there is one chunk, the draw is that of the text.
    for (const [data, blocks] of [
      [oneGroup, 3],
      [file, 1],
    ] as const) {
      const fromText = await made(text, `text-${blocks}.spill`, blocks)
      const fromFile = await made(data, `file-${blocks}.spill`, blocks)
      assert.deepEqual(fromFile.weights, fromText.weights)
      assert.deepEqual(fromFile.manifest.labels, fromText.manifest.labels)
      assert.equal(fromFile.manifest.inputFormat, 'binary-rows')
      if (data === file)
        await assert.rejects(addRows(file, fromFile.path), /already: its 400 rows would be there twice/)
      const more = await addRows(file, fromFile.path, { again: data === file })
      assert.deepEqual([more.rows, more.manifest.rows], [400, 800])
      await assert.rejects(addRows(text, fromText.path, { format: 'binary-rows' }), UsageError)
    }
    const store = join(folder.path, 'stream.spill')
    const streamed = await train(file, { ...options, solver: 'stream', blocks: 4, store }).result
    const memory = await train(file, options).result
    assert.ok(Math.abs(streamed.primal! - memory.primal!) <= 2e-2 * memory.primal!)
  })

  it('are inspected alike', async () => {
    const { bytes: textBytes, format, ...found } = await scanData([text])
    const { bytes, format: other, ...others } = await scanData([file])
    assert.deepEqual(others, found)
    assert.deepEqual([format, other], ['libsvm', 'binary-rows'])
    assert.ok(textBytes === readFileSync(text).length && bytes > 0)
    const both = await scanData([file, oneGroup])
    assert.equal(both.rows, 800)
  })

  it('are sampled all over the file before they are read', async () => {
    const settings = resolveOptions({})
    const sample = (await sampleText(file, settings))!
    assert.equal(sample.format, binaryRows)
    const { size } = { size: readFileSync(file).length }
    assert.ok(Math.abs(sample.rows * size - 400) < 40)
    const estimate = (await estimateText([file], size, settings))!
    assert.ok(Math.abs(estimate.rows - 400) < 40 && estimate.classes === 2 && estimate.features === 30)
    assert.equal((await chooseSolver([file], settings)).solver.name, 'dual')
  })

  it('that are bad are told by group and row', async () => {
    const bad = rows.slice(0, 6).map(row => ({ ...row, indices: [3, 5], values: [1, 2] }))
    bad[3].values = [Number.NaN, 1]
    bad[4].indices = [5, 3]
    bad[5].label = Number.POSITIVE_INFINITY
    const path = folder.write('bad.rows', binaryOf([rows.slice(0, 10), bad]))
    await assert.rejects(
      train(path, options).result,
      says(
        /bad\.rows, group 2, row 4: found the value NaN of feature 4, expected a finite number$/,
        /--on-bad-row skip/,
      ),
    )
    const found = await scanData([path], { onBadRow: 'skip' })
    assert.deepEqual([found.rows, found.badRows], [13, 3])
    assert.deepEqual(
      found.badRowMessages.map(message => message.slice(path.length + 2)),
      [
        'group 2, row 4: found the value NaN of feature 4, expected a finite number',
        'group 2, row 5: found feature 4 after feature 6, expected features that rise within a row',
        'group 2, row 6: found the label "Infinity", expected a finite number as label',
      ],
    )
    const large = folder.write('large.rows', binaryOf([[{ label: 1, indices: [2], values: [1e39] }], rows]))
    await assert.rejects(scanData([large]), says(/group 1, row 1: found the value 1e\+39 of feature 3, .*32-bit/))
    // Values that have no bin are told in the same way.
    const outside = folder.write(
      'outside.rows',
      binaryOf([[{ label: 1, indices: [2], values: [0.5] }], bad.slice(0, 3)]),
    )
    await assert.rejects(
      train(outside, { kernel: 'chi2' }).result,
      says(/group 2, row 1: found the value 2 of feature 6, expected values from 0 to 1/),
    )
  })

  it('are refused from a pipe, by name and by their beginning', async t => {
    const pipe = join(folder.path, 'pipe')
    if (spawnSync('mkfifo', [pipe]).status !== 0) return t.skip('there is no mkfifo here')
    for (const format of ['auto', 'binary-rows']) {
      // The reader leaves before the writer is done.
      const writing = appendFile(pipe, readFileSync(file)).catch(() => {})
      await assert.rejects(
        scanData([pipe], { format }),
        says(
          /pipe: found a pipe, expected a file that is not compressed, for binary rows is read at many places of it$/,
          /^write it to a file, and name the file$/,
        ),
      )
      await writing
    }
  })

  it('are not mixed with text', async () => {
    await assert.rejects(
      train([text, file]).result,
      says(
        /some\.rows looks like binary rows, and \S+ like text: the files of one data set are in one format$/,
        /^leave one of them out, or bring them into one format$/,
      ),
    )
  })

  it('refuse an index base, which would be ignored', async () => {
    await assert.rejects(
      train(file, { indexBase: 0 }).result,
      says(/read as binary rows .* an index base would be ignored/),
    )
  })
})

describe('the words of docs/adding-an-input-format.md', () => {
  it('name files and fields that there are', () => {
    const declared = readFileSync(new URL(`${formats}input-format.ts`, root), 'utf8')
    const tables = [...page.matchAll(/^\| field .*?\n\n/gms)].map(([table]) => table)
    const fields = tables.flatMap(table =>
      table.split('\n').flatMap(line => [...(line.split('|')[1] ?? '').matchAll(/`([a-zA-Z]+)/g)].map(m => m[1])),
    )
    assert.ok(tables.length === 3 && fields.length > 12)
    for (const field of fields) assert.match(declared, new RegExp(`^  ${field}\\??[:(]`, 'm'), `${field} is no field`)
    for (const [, path] of page.matchAll(/`((?:src|test)\/[a-zA-Z/.-]+\.ts)`/g)) {
      if (path !== formats + fileName) assert.ok(readFileSync(new URL(path, root)), path)
    }
  })
})
