// `generate --like criteo`: a table without a header, whose rows a linear model learns from.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type GenerateOptions, type GenerateResult, generate } from '../../src/generate/generate.ts'
import { likenesses } from '../../src/generate/likenesses.ts'
import { predict } from '../../src/predict/predict.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from '../input-formats/fixture.ts'

const folder = testFolder()
const COLUMNS = 39
const { shape, positive } = likenesses['criteo']
let files = 0

async function make(options: Partial<GenerateOptions>): Promise<{ text: string; result: GenerateResult }> {
  const file = join(folder.path, `${files++}.tsv`)
  const result = await generate(file, { like: 'criteo', ...options })
  return { text: readFileSync(file, 'latin1'), result }
}

function cellsOf(text: string): string[][] {
  assert.ok(text.endsWith('\n'))
  const rows = text
    .slice(0, -1)
    .split('\n')
    .map(line => line.split('\t'))
  for (const row of rows) assert.equal(row.length, COLUMNS + 1)
  return rows
}

const share = (cells: string[], what: (cell: string) => boolean): number => cells.filter(what).length / cells.length

describe('generate --like criteo', () => {
  it('makes the same bytes for 1, 2 and 3 threads, and others for another seed', async () => {
    const texts = []
    for (const threads of [1, 2, 3]) texts.push((await make({ rows: 12_000, threads })).text)
    assert.equal(new Set(texts).size, 1)
    const other = await make({ rows: 12_000, seed: 2 })
    assert.notEqual(other.text, texts[0])
    const few = await make({ rows: 100 })
    assert.ok(texts[0].startsWith(few.text))
  })

  it('has labels 0 and 1, skewed numbers, and names, missing as often as in the real set', async () => {
    const rows = 20_000
    const { text, result } = await make({ rows })
    const cells = cellsOf(text)
    assert.equal(cells.length, rows)
    assert.deepEqual([result.rows, result.features, result.bytes], [rows, COLUMNS, text.length])
    const filled = cells.reduce((sum, [, ...row]) => sum + row.filter(cell => cell !== '').length, 0)
    assert.equal(result.nonzeros, filled)
    const column = (k: number): string[] => cells.map(row => row[k])
    for (const label of column(0)) assert.match(label, /^[01]$/)
    assert.ok(Math.abs(share(column(0), label => label === '1') - positive) < 0.02)
    assert.ok(shape.kind === 'table')
    for (const [k, { missing = 0, ...made }] of shape.columns.entries()) {
      const found = column(k + 1)
      const present = found.filter(cell => cell !== '')
      assert.ok(Math.abs(share(found, cell => cell === '') - missing) < 0.02, `column ${k + 1}`)
      for (const cell of present) assert.match(cell, 'names' in made ? /^[0-9a-f]{8}$/ : /^(0|-?[1-9]\d*)$/)
      const counts = Object.values(Object.groupBy(present, cell => cell)).map(each => each!.length)
      if ('names' in made) {
        // Few names are many cells, and where there are many names, many are met once.
        assert.ok(counts.length <= made.names)
        assert.ok(Math.max(...counts) > 0.02 * present.length, `column ${k + 1}: ${Math.max(...counts)}`)
        if (made.names > 1e6) assert.ok(counts.filter(count => count === 1).length > 0.1 * present.length)
        continue
      }
      const numbers = present.map(Number).sort((a, b) => a - b)
      const [middle, last] = [0.5, 0.99].map(p => numbers[Math.floor(p * numbers.length)])
      // The hidden class moves it.
      const { median } = made
      assert.ok(middle < 1.4 * median + 1 && middle > 0.6 * median - 3, `column ${k + 1}: ${middle}`)
      assert.ok(last >= 3 * middle)
    }
  })

  it('has a size that is met within a row', async () => {
    const size = 2_000_000
    const { text, result } = await make({ size })
    assert.ok(text.length <= size && text.length > size - 500)
    const cells = cellsOf(text)
    assert.equal(result.rows, cells.length)
    assert.equal(
      result.nonzeros,
      cells.reduce((sum, [, ...row]) => sum + row.filter(cell => cell !== '').length, 0),
    )
  })

  it('is learnt by a linear model, whose test rows are others of the same kind', async () => {
    const [file, test] = ['train.tsv', 'test.tsv'].map(name => join(folder.path, name))
    await generate(file, { like: 'criteo', rows: 30_000, test, testRows: 10_000 })
    const table = { label: '1', header: 'no' as const, categorical: ['hash:15'] }
    const { model } = await train(file, { ...table, loss: 'logistic', cost: 0.02 }).result
    const { accuracy } = await predict(test, model)
    assert.ok(accuracy > 1 - positive + 0.01, `${accuracy}`)
    assert.ok(accuracy < 0.9)
  })

  it('takes no number of features', async () => {
    await assert.rejects(make({ rows: 10, features: 50 }), {
      message: 'criteo is a table of 39 columns: it takes no number of features',
    })
  })
})
