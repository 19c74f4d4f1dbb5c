// Blocks that are split: the same rows in more blocks, none of them much larger than the others, and where each row is now. That
// a kill leaves the old store or the new one is in add-remove.test.ts.
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { ReadBuffer } from '../../src/block-store/block-file.ts'
import { SegmentDecoder } from '../../src/block-store/codecs.ts'
import { featureFileOf } from '../../src/block-store/manifest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { decodedSegment, SPLIT_SEGMENT_BYTES } from '../../src/block-store/segment-size.ts'
import { splitBlocks } from '../../src/block-store/split-blocks.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { type Row, readBatch } from './batches.ts'
import { newPath, newStore, textFile, trained } from './changing-stores.ts'

interface StoredRow {
  position: number
  block: number
  row: Row
}

/** The rows in the order of the store, after every checksum has been checked. */
async function rowsOf(folder: string): Promise<StoredRow[]> {
  const arena = new Arena()
  const store = await openStore(folder)
  assert.deepEqual((await store.verify(arena, { decode: true })).problems, [])
  const decoder = new SegmentDecoder(arena)
  const buffer = new ReadBuffer(arena)
  const batch = decoder.newBatch()
  const found: StoredRow[] = []
  for (let block = 0; block < store.manifest.blocks.length; block++) {
    let last = -1
    for await (const segment of store.blockSegments(block, buffer)) {
      const { basePosition } = decoder.decode(segment.at, segment.bytes, batch, segment.where)
      for (const { position, row } of readBatch(arena, batch)) {
        assert.ok(basePosition + position > last, 'rows of a block keep their order')
        last = basePosition + position
        found.push({ position: last, block, row })
      }
    }
  }
  return found
}

async function assertSplit(folder: string, parts: number[]): Promise<void> {
  const before = await rowsOf(folder)
  const old = (await openStore(folder)).manifest
  const { store, places } = await splitBlocks(folder, parts)
  const { manifest } = await openStore(folder)
  assert.deepEqual(store.manifest, manifest)
  const { blocks: _, fingerprint: __, ...rest } = manifest
  const { blocks: ___, fingerprint: ____, ...oldRest } = old
  assert.deepEqual(rest, oldRest)
  // Of a block without rows nothing is left.
  const counts = parts.map((count, block) => (count > 1 && old.blocks[block].rows === 0 ? 0 : count))
  assert.equal(
    manifest.blocks.length,
    counts.reduce((sum, count) => sum + count, 0),
  )
  const after = await rowsOf(folder)
  assert.equal(after.length, before.length)
  for (const [row, { position, row: content }] of before.entries()) {
    assert.equal(after[places[row]].position, position)
    assert.deepStrictEqual(after[places[row]].row, content)
  }
  // Parts stand in the place of their block.
  let next = 0
  for (const [block, count] of counts.entries()) {
    const own = manifest.blocks.slice(next, next + count)
    assert.equal(
      own.reduce((sum, part) => sum + part.rows, 0),
      old.blocks[block].rows,
    )
    if (count === 1) assert.deepEqual(own[0], old.blocks[block])
    next += count
  }
  assert.deepEqual(
    readdirSync(folder).filter(name => !name.startsWith('state-')),
    [...manifest.blocks.map(({ file }) => file), featureFileOf(manifest), 'manifest.json'].sort(),
  )
}

describe('splitting blocks', () => {
  it('keeps all rows and their positions, in parts of about one size', async () => {
    const folder = await newStore(someRows(4000, 30), { blocks: 2 })
    const { blocks } = (await openStore(folder)).manifest
    await assertSplit(folder, [4, 3])
    const after = (await openStore(folder)).manifest.blocks
    for (const [from, to, block] of [
      [0, 4, 0],
      [4, 7, 1],
    ]) {
      const average = blocks[block].nonzeros / (to - from)
      for (const part of after.slice(from, to)) {
        assert.ok(Math.abs(part.nonzeros - average) < 0.02 * average, `${part.nonzeros} nonzeros of ${average}`)
      }
    }
  })

  it('leaves other blocks alone', async () => {
    await assertSplit(await newStore(someRows(900, 30), { blocks: 3 }), [1, 5, 1])
  })

  it('draws rows that are sorted by their labels into every part', async () => {
    const rows = someRows(1000, 20).sort((a, b) => a.label - b.label)
    const folder = await newStore(rows, { blocks: 1 })
    await splitBlocks(folder, [4])
    for (let block = 0; block < 4; block++) {
      const labels = (await rowsOf(folder)).filter(row => row.block === block).map(({ row }) => row.label)
      const positive = labels.filter(label => label === 1).length / labels.length
      assert.ok(positive > 0.3 && positive < 0.7, `${positive} of a part are positive`)
    }
  })

  for (const [what, options] of [
    ['f64 values', { values: 'f64' }],
    ['compressed segments', { compress: 'zstd' }],
    ['blocks in the order of the text', { split: 'sequential', memory: 101 << 20, isPlanned: true }],
    ['small chunks, whose segments are gathered', { memory: 101 << 20, isPlanned: true }],
  ] as const) {
    it(what, async () => {
      const text = textFile(someRows(3000, 100))
      const folder = await newStore([text], { blocks: 2, ...options })
      const most = Math.max(...(await openStore(folder)).manifest.blocks.map(({ segments }) => segments))
      await assertSplit(folder, [3, 2])
      for (const { segments } of (await openStore(folder)).manifest.blocks) assert.ok(segments <= most)
    })
  }

  it('long segments become short ones, as planned', async () => {
    const folder = await newStore([textFile(someRows(4000, 100))], { blocks: 1 })
    assert.equal((await openStore(folder)).manifest.blocks[0].segments, 1)
    await assertSplit(folder, [2])
    for (const block of (await openStore(folder)).manifest.blocks) {
      assert.ok(block.segments > 1)
      assert.ok(decodedSegment(block) / block.segments < 1.1 * SPLIT_SEGMENT_BYTES)
    }
  })

  it('labels of text, and empty rows', async () => {
    const text = newPath('.svm')
    writeFileSync(text, `good\n${asText(someRows(300, 10)).replaceAll(/^-1/gm, 'bad').replaceAll(/^1/gm, 'good')}bad\n`)
    await assertSplit(await newStore([text], { blocks: 1 }), [7])
  })

  it('rounded values of bins', async () => {
    const rows = someRows(300, 10).map(({ label, entries }) => ({
      label,
      entries: entries.map(([feature, value]): [number, number] => [feature, Math.abs(value)]),
    }))
    await assertSplit(await newStore(rows, { blocks: 1, bins: 100 }), [3])
  })

  it('more parts than rows: those without rows are left out', async () => {
    const folder = await newStore(someRows(5, 10), { blocks: 1 })
    await splitBlocks(folder, [40])
    const { manifest } = await openStore(folder)
    assert.ok(manifest.blocks.length <= 5)
    assert.equal((await rowsOf(folder)).length, 5)
  })

  it('goes on from the dual variables of an earlier run, and again after rows were added', async () => {
    const folder = await newStore(someRows(600, 20), { blocks: 3 })
    const first = await trained(folder)
    await assertSplit(folder, [2, 1, 4])
    const again = await trained(folder)
    assert.ok(again.warm)
    assert.ok(again.passes <= 2, `${again.passes} passes instead of ${first.passes}`)
    assert.ok(Math.abs(again.primal! - first.primal!) <= 2e-6 * first.primal!)
    await addRows(textFile(someRows(50, 20, { seed: 9 })), folder)
    assert.ok((await trained(folder)).warm)
  })

  it('draws the same rows every time', async () => {
    const rows = someRows(500, 20)
    const prints = []
    for (let k = 0; k < 2; k++) {
      const folder = await newStore(rows, { blocks: 2 })
      await splitBlocks(folder, [3, 2])
      prints.push((await openStore(folder)).manifest.fingerprint)
    }
    assert.equal(prints[0], prints[1])
  })

  it('stops when it is told to, and nothing has changed', async () => {
    const folder = await newStore(someRows(500, 20), { blocks: 1 })
    const { manifest } = await openStore(folder)
    await assert.rejects(splitBlocks(folder, [3], { signal: AbortSignal.abort() }), /abort/)
    assert.deepEqual((await openStore(folder)).manifest, manifest)
    assert.ok(!readdirSync(folder).includes('writing.lock'))
  })
})
