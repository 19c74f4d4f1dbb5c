// A file that is read past the page cache, and what happens where the file system does not do so.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { SpillwayError } from '../../src/errors.ts'
import { DISK_PAGE_BYTES, DirectFile, pageRoom } from '../../src/files/direct-file.ts'
import { testFolder } from '../folders.ts'
import { refused } from './refused.ts'

const folder = testFolder()
const content = Buffer.from(Uint8Array.from({ length: 2 * DISK_PAGE_BYTES + 100 }, (_, k) => k * 7))
const path = folder.write('file', '')
writeFileSync(path, content)

/** All of the file, page by page, whether reads wait or not. */
async function taken(): Promise<Buffer[]> {
  const room = pageRoom(DISK_PAGE_BYTES)
  const [waiting, atOnce]: Buffer[][] = [[], []]
  await using file = await DirectFile.open(path)
  const same = DirectFile.openSync(path)
  for (let at = 0; at < content.length; at += DISK_PAGE_BYTES) {
    waiting.push(Buffer.from(room.slice(0, await file.read(room, at))))
    atOnce.push(Buffer.from(room.slice(0, same.readSync(room, at))))
  }
  assert.equal(await file.size(), content.length)
  assert.equal(file.direct, same.direct)
  same.closeSync()
  same.closeSync()
  return [Buffer.concat(waiting), Buffer.concat(atOnce)]
}

describe('a file past the page cache', () => {
  it('has its bytes', async () => {
    assert.deepEqual(await taken(), [content, content])
  })

  it('is read through the cache where the file system refuses to open it so, or to read from it', async () => {
    for (const what of ['open', 'read'] as const)
      await refused(what, 'EINVAL', async () => {
        assert.deepEqual(await taken(), [content, content])
        await using file = await DirectFile.open(path)
        await file.read(pageRoom(DISK_PAGE_BYTES), 0)
        assert.ok(!file.direct)
      })
  })

  it('fails for any other reason, in words', async t => {
    {
      await using file = await DirectFile.open(path)
      if (!file.direct) return t.skip('no file is opened past the page cache here')
    }
    const words = (error: unknown): boolean =>
      error instanceof SpillwayError && error.message === `cannot read ${path}: the disk reports an error`
    for (const what of ['open', 'read'] as const)
      await refused(what, 'EIO', async () => {
        await assert.rejects(taken(), words)
        assert.throws(() => DirectFile.openSync(path).readSync(pageRoom(DISK_PAGE_BYTES), 0), words)
      })
    await assert.rejects(DirectFile.open(`${path}.missing`), /there is no such file or folder/)
  })

  it('is read through the cache where nobody asks for more, into any room', async () => {
    await using file = await DirectFile.open(path, false)
    const room = new Uint8Array(5)
    assert.equal(await file.read(room, 3), 5)
    assert.deepEqual(Buffer.from(room), content.subarray(3, 8))
    assert.ok(!file.direct)
  })
})
