import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ReadBuffer } from '../../src/block-store/block-file.ts'
import { SegmentDecoder } from '../../src/block-store/codecs.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { type Row, readBatch } from './batches.ts'
import { GOLDEN, GOLDEN_ZSTD, writeGolden } from './golden.ts'

const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'spillway-golden-'))
after(() => rmSync(root, { recursive: true }))

function expectedRows(name: string): Row[] {
  const lines = readFileSync(join(fixtures, name.replace('.spill', '.jsonl')), 'utf8')
    .trim()
    .split('\n')
  return lines.map(line => {
    const row = JSON.parse(line)
    return { ...row, label: Number(row.label), values: row.values.map(Number) }
  })
}

for (const name of [GOLDEN, GOLDEN_ZSTD]) {
  test(`${name} reads as it always did`, async () => {
    const arena = new Arena()
    const store = await openStore(join(fixtures, name))
    const decoder = new SegmentDecoder(arena)
    const buffer = new ReadBuffer(arena)
    const batch = decoder.newBatch()
    const found: Row[] = []
    const codecs = { indices: new Set<number>(), values: new Set<number>(), labels: new Set<number>() }
    for (let block = 0; block < 2; block++) {
      for await (const { at, bytes, where } of store.blockSegments(block, buffer)) {
        const header = decoder.decode(at, bytes, batch, where)
        for (const { position, row } of readBatch(arena, batch)) found[header.basePosition + position] = row
        for (const [section, seen] of Object.entries(codecs)) seen.add(header.codecs[section as keyof typeof codecs])
      }
    }
    assert.deepStrictEqual(found, expectedRows(name))
    assert.deepEqual((await store.verify(arena)).problems, [])
    // Every codec there is, so that none can change unnoticed.
    assert.deepEqual([...codecs.indices].sort(), [0, 1, 2, 3])
    assert.deepEqual([...codecs.labels].sort(), [0, 1, 2])
    if (name === GOLDEN) assert.deepEqual([...codecs.values].sort(), [0, 1, 2, 3, 4])
  })
}

test('the writer makes the same bytes again', async () => {
  await writeGolden(root, GOLDEN)
  const names = readdirSync(join(fixtures, GOLDEN))
  assert.deepEqual(readdirSync(join(root, GOLDEN)), names)
  for (const name of names) {
    assert.deepEqual(readFileSync(join(root, GOLDEN, name)), readFileSync(join(fixtures, GOLDEN, name)), name)
  }
})
