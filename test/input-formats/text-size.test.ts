// How much text a file is taken to hold before it is read.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { isSmallText, textSize } from '../../src/input-formats/text-size.ts'
import { testFolder } from './fixture.ts'

const folder = testFolder()

describe('the size of text', () => {
  const text = Buffer.from('+1 1:1 2:0.5\n'.repeat(20_000))

  it('is that of a plain file, and not known of a stream or a folder', async () => {
    assert.equal(await textSize(folder.write('plain.svm', text)), text.length)
    mkdirSync(join(folder.path, 'a.gz'))
    for (const path of ['-', join(folder.path, 'a.gz'), join(folder.path, 'missing')]) {
      assert.equal(await textSize(path), undefined)
    }
  })

  it('is what a compressed file says, within reason', async () => {
    // Repeated text shrinks by more than any file is believed to.
    const gzip = gzipSync(text)
    assert.ok(text.length > 256 * gzip.length)
    assert.equal(await textSize(folder.write('repeated.gz', gzip)), 256 * gzip.length)
    const varied = Buffer.from(Array.from({ length: 30_000 }, (_, k) => `${k % 2} ${(k * 7919) % 1000}:1\n`).join(''))
    assert.equal(await textSize(folder.write('varied.gz', gzipSync(varied))), varied.length)
    const zstd = zstdCompressSync(varied)
    assert.equal(await textSize(folder.write('varied.zst', zstd)), Math.max(varied.length, 4 * zstd.length))
  })

  it('is four times the file where that says nothing, or less', async () => {
    for (const [name, bytes] of Object.entries({
      'empty.gz': Buffer.alloc(0),
      'short.zst': Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
      'other.gz': Buffer.from('no gzip at all, only the name of one'),
      'unknown.zst': Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, ...Buffer.alloc(30)]),
      'liar.zst': Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0x01, 0, 0, 0, ...Buffer.alloc(30)]),
    })) {
      assert.equal(await textSize(folder.write(name, bytes)), 4 * bytes.length, name)
    }
  })

  it('is small for 16 MiB of all files together, whatever is missing, and never for what is no file', async () => {
    const half = folder.write('half.svm', Buffer.alloc(8 << 20, '\n'))
    const missing = join(folder.path, 'missing')
    for (const [paths, small] of [
      [[half], true],
      [[half, half, missing], true],
      [[half, half, folder.write('more.svm', Buffer.from('\n'))], false],
      [[half, '-'], false],
      [[half, folder.path], false],
      [[missing], false],
    ] as [string[], boolean][]) {
      assert.equal(await isSmallText(paths), small, paths.join(' '))
    }
  })
})
