// Weights of rows in the files of a store, through every change of it. A store without weights has the bytes that it had.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { splitBlocks } from '../../src/block-store/split-blocks.ts'
import { addRows, ingest, type Manifest, openStore, removeRows } from '../../src/index.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { assertSound, copyStore, fastFolder, weightsOfStore } from '../out-of-core/fixture.ts'
import { textsIn, two, weightOf, withoutWeights, withWeights } from '../out-of-core/weighted-rows.ts'

const { newStore, write, storeOf } = textsIn(fastFolder())
let weighted: string
let plain: string

before(async () => {
  weighted = await storeOf(withWeights(two))
  plain = await storeOf(withoutWeights(two))
})

const sorted = (weights: number[]): number[] => weights.toSorted((a, b) => a - b)
const all = two.map((_, k) => weightOf(k))

async function assertWeights(store: string, expected: number[]): Promise<void> {
  assert.deepEqual(sorted((await weightsOfStore(store))!), sorted(expected))
  await assertSound(store)
}

describe('a store of rows with weights', () => {
  it('keeps them, compressed or not, whatever the number of threads', async () => {
    await assertWeights(weighted, all)
    const path = write(withWeights(two))
    const prints = []
    for (const [threads, compress] of [
      [1, 'none'],
      [3, 'none'],
      [1, 'zstd'],
    ] as const) {
      const store = newStore()
      const { manifest } = await ingest(path, store, { blocks: 4, threads, compress, format: 'vw' })
      prints.push(manifest.fingerprint)
      await assertWeights(store, all)
    }
    assert.equal(prints[0], prints[1])
  })

  it('keeps numbers of any size, to the bit', async () => {
    const sizes = [1e-300, 0.1, 1 / 3, 1e300, 5e-324]
    const store = await storeOf(withWeights(two, row => sizes[row % 5] * (row + 1)))
    await assertWeights(
      store,
      two.map((_, row) => sizes[row % 5] * (row + 1)),
    )
  })

  it('has rows added and removed, and blocks split', async () => {
    const store = copyStore(weighted, newStore())
    const more = noisyRows(50, 10, 9).split('\n')
    await addRows(write(withWeights(more, row => weightOf(row + 3))), store, { threads: 1 })
    const extended = [...all, ...more.map((_, k) => weightOf(k + 3))]
    await assertWeights(store, extended)
    await removeRows(store, { rows: Array.from({ length: 100 }, (_, k) => k + 1) })
    await assertWeights(store, extended.slice(100))
    const { manifest } = await openStore(store)
    await splitBlocks(
      store,
      manifest.blocks.map(() => 3),
    )
    await assertWeights(store, extended.slice(100))
  })

  it('may have been one without', async () => {
    const store = copyStore(plain, newStore())
    assert.equal(await weightsOfStore(store), undefined)
    await addRows(write(withWeights(two)), store, { threads: 1 })
    const { manifest } = await openStore(store)
    assert.deepEqual([manifest.rowWeights, manifest.version], [true, 2])
    await assertWeights(store, [...two.map(() => 1), ...all])
    // Segments with weights and without become one.
    await splitBlocks(
      store,
      manifest.blocks.map(() => 2),
    )
    await assertWeights(store, [...two.map(() => 1), ...all])
  })

  it('is a store of version 1, byte for byte, where every weight is 1', async () => {
    const store = await storeOf(withWeights(two, 1))
    const { manifest } = await openStore(store)
    assert.deepEqual([manifest.version, manifest.rowWeights], [1, undefined])
    for (const { file } of manifest.blocks)
      assert.ok(readFileSync(join(store, file)).equals(readFileSync(join(plain, file))), file)
  })

  it('is refused when its manifest says otherwise', async () => {
    const store = copyStore(weighted, newStore())
    const path = join(store, 'manifest.json')
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest
    writeFileSync(path, JSON.stringify({ ...manifest, version: 1 }))
    await assert.rejects(openStore(store), /version is 1, expected 2/)
    writeFileSync(path, JSON.stringify({ ...manifest, rowWeights: 'yes' }))
    await assert.rejects(openStore(store), /rowWeights is "yes", expected true, or nothing/)
  })
})
