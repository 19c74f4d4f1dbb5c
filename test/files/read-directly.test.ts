// Files that are read past the system's page cache have the bytes that they have.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { crowdsOut, DirectReader } from '../../src/files/read-directly.ts'
import { openSource } from '../../src/input-formats/byte-source.ts'
import { testFolder } from '../input-formats/fixture.ts'

const folder = testFolder()
const MEBIBYTE = 2 ** 20

function fileOf(bytes: number): { path: string; content: Buffer } {
  const content = Buffer.alloc(bytes)
  for (let at = 0; at + 4 <= bytes; at += 4) content.writeUInt32LE((at * 2654435761) >>> 0, at)
  const path = folder.write(`file-${bytes}`, '')
  writeFileSync(path, content)
  return { path, content }
}

/** All that a reader has, in pieces of one size. */
async function takeAll(read: (target: Uint8Array) => Promise<number>, piece: number): Promise<Buffer> {
  const taken: Buffer[] = []
  for (;;) {
    const target = Buffer.alloc(piece)
    const bytes = await read(target)
    taken.push(target.subarray(0, bytes))
    if (bytes < piece) return Buffer.concat(taken)
  }
}

describe('a file that is read past the page cache', () => {
  for (const bytes of [0, 1, 4096, MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 1, 3 * MEBIBYTE, 5 * MEBIBYTE + 12_345]) {
    it(`of ${bytes} bytes has all of them, in pieces of any size`, async () => {
      const { path, content } = fileOf(bytes)
      for (const piece of [4096, 100_003, 2 * MEBIBYTE + 7]) {
        const reader = await DirectReader.open(path)
        if (!reader) return
        try {
          const taken = await takeAll(target => reader.read(target), piece)
          // Where the file system refuses such reads, nothing is taken, and what reads the file goes on plainly.
          assert.ok(taken.length === 0 || taken.equals(content))
        } finally {
          await reader.close()
        }
      }
    })
  }

  it('is read so where the cap has no room for it beside the program', () => {
    assert.ok(crowdsOut(200e6, 240 * MEBIBYTE))
    assert.ok(!crowdsOut(20e6, 240 * MEBIBYTE))
    assert.ok(!crowdsOut(200e9, Number.POSITIVE_INFINITY))
  })

  it('is read plainly otherwise, with the same bytes', async () => {
    const { path, content } = fileOf(2 * MEBIBYTE + 5)
    const source = await openSource(path)
    try {
      assert.deepEqual(await takeAll(target => source.read(target), 300_000), content)
      assert.equal(source.consumed, content.length)
    } finally {
      await source.close()
    }
  })
})
