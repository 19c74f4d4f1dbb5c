// Reads past the page cache, and what happens where a file system does not take them.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { before, describe, test } from 'node:test'
import { ReadBuffer } from '../../src/block-store/block-file.ts'
import { openStore, type Store } from '../../src/block-store/reader.ts'
import { SpillwayError } from '../../src/errors.ts'
import { DirectFile } from '../../src/files/direct-file.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { someRows } from '../cli/some-data.ts'
import { newStore } from './changing-stores.ts'

/** Has the reads of some open files fail, by the number of the file and of its read, each counted from 0. */
async function withFailingReads(
  code: string,
  fails: (handle: number, read: number) => boolean,
  work: () => Promise<void>,
): Promise<{ handles: number }> {
  const { read } = fs
  const reads = new Map<number, { handle: number; count: number }>()
  const failing = (descriptor: number, ...given: unknown[]): void => {
    if (!reads.has(descriptor)) reads.set(descriptor, { handle: reads.size, count: 0 })
    const seen = reads.get(descriptor)!
    const done = given.at(-1) as (error: Error) => void
    if (fails(seen.handle, seen.count++)) setImmediate(done, Object.assign(new Error(code), { code }))
    else (read as (...all: unknown[]) => void)(descriptor, ...given)
  }
  fs.read = failing as typeof read
  syncBuiltinESMExports()
  try {
    await work()
  } finally {
    fs.read = read
    syncBuiltinESMExports()
  }
  return { handles: reads.size }
}

/** Every segment of the first block, as it is on disk. */
async function segmentsOf(store: Store, direct: boolean): Promise<string[]> {
  const arena = new Arena()
  const found: string[] = []
  // Small pieces, so that a block takes many reads.
  for await (const { at, bytes } of store.blockSegments(0, new ReadBuffer(arena, 4096, direct)))
    found.push(Buffer.from(arena.bytes(at, bytes)).toString('hex'))
  return found
}

describe('blocks that are read past the page cache', () => {
  let store: Store
  let expected: string[]
  before(async () => {
    store = await openStore(await newStore(someRows(4000, 40), { blocks: 1 }))
    assert.ok(store.manifest.blocks[0].bytes > 5 * 4096)
    expected = await segmentsOf(store, false)
  })

  test('are the same', async () => {
    assert.deepEqual(await segmentsOf(store, true), expected)
  })

  // Some file systems refuse to open a file so.
  const takesDirect = async (): Promise<boolean> => {
    await using file = await DirectFile.open(store.blockPath(0))
    return file.direct
  }

  test('are read through it where reads are refused, the first or a later one', async t => {
    if (!(await takesDirect())) return t.skip('no file is opened past the page cache here')
    for (const first of [0, 1]) {
      const { handles } = await withFailingReads(
        'EINVAL',
        (handle, read) => handle === 0 && read >= first,
        async () => assert.deepEqual(await segmentsOf(store, true), expected),
      )
      assert.equal(handles, 2, 'the file was opened once more')
    }
  })

  test('fail where reads through it are refused too, and for any other reason', async t => {
    if (!(await takesDirect())) return t.skip('no file is opened past the page cache here')
    const failing = async (code: string, direct: boolean, most: number): Promise<void> => {
      const { handles } = await withFailingReads(
        code,
        () => true,
        () => assert.rejects(segmentsOf(store, direct), SpillwayError),
      )
      assert.equal(handles, most)
    }
    await failing('EINVAL', true, 2)
    await failing('EINVAL', false, 1)
    await failing('EIO', true, 1)
  })
})
