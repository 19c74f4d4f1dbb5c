import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { openSource } from '../../src/input-formats/byte-source.ts'
import { Chunks } from '../../src/input-formats/chunks.ts'
import { statInput } from '../../src/input-formats/file-part.ts'
import { Reading } from '../../src/input-formats/reading.ts'
import { shareOut } from '../../src/input-formats/share-out.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { nameOfShare } from '../../src/ranks/shares.ts'
import { storeFolder } from '../../src/train/store-for-training.ts'
import { inFolder } from '../cli/run.ts'

async function contentOf(path: string): Promise<string> {
  const source = await openSource(path)
  try {
    const bytes = new Uint8Array(1 << 20)
    return Buffer.from(bytes.subarray(0, await source.read(bytes))).toString('latin1')
  } finally {
    await source.close()
  }
}

/** The text of each rank, its files one behind the other. */
async function sharesOf(paths: string[], size: number): Promise<string[]> {
  const shares: string[] = []
  for (let rank = 0; rank < size; rank++) {
    let text = ''
    for (const path of await shareOut(paths, { rank, size })) {
      const part = await contentOf(path)
      assert.equal((await statInput(path))?.size, part.length, 'the size that is told of a part')
      text += part
    }
    shares.push(text)
  }
  return shares
}

const line = (k: number): string => `${k % 2 ? '+1' : '-1'} ${(k % 7) + 1}:${k} 9:1\n`
const lines = (count: number): string => Array.from({ length: count }, (_, k) => line(k)).join('')
const LAYOUTS: Record<string, string[]> = {
  'even lines': [lines(40)],
  'a last line without an end': [`${lines(20)}+1 1:1`],
  'empty lines': [`\n\n${lines(5)}\n\n\n${lines(3)}\n`],
  'ends of lines of two bytes': [lines(12).replaceAll('\n', '\r\n')],
  'one giant line between small ones': [`${line(1)}+1 ${'5:1 '.repeat(30_000)}\n${line(2)}`],
  'one line': ['+1 1:1\n'],
  'one line without an end': ['+1 1:1'],
  'fewer lines than ranks': [lines(3)],
  'only ends of lines': ['\n\n\n\n\n'],
  'many files': [lines(7), '', line(1), lines(30), '-1 3:4\n'],
  'files without an end, but the last': [`${lines(4)}+1 2:2\n`, lines(9), '+1 4:4'],
}

describe('files shared out among ranks', () => {
  for (const [name, texts] of Object.entries(LAYOUTS)) {
    it(`are all there, in order, as whole lines: ${name}`, () =>
      inFolder(async folder => {
        const paths = texts.map((text, k) => {
          const path = join(folder, `${k}.svm`)
          writeFileSync(path, text)
          return path
        })
        for (const size of [1, 2, 3, 4, 5, 8, 13, 64]) {
          const shares = await sharesOf(paths, size)
          assert.equal(shares.join(''), texts.join(''), `${size} ranks`)
          const cuts = shares.filter(Boolean).slice(0, -1)
          for (const share of cuts) assert.match(share.slice(-1), /\n/, 'a share that ends within a line')
        }
      }))
  }

  it('even: no rank has more than its part of the bytes and a line', () =>
    inFolder(async folder => {
      const path = join(folder, 'even.svm')
      const text = lines(1000)
      writeFileSync(path, text)
      const longest = Math.max(...text.split('\n').map(({ length }) => length + 1))
      for (const share of await sharesOf([path], 7)) assert.ok(Math.abs(share.length - text.length / 7) <= longest)
    }))

  it('have the format and the first feature number that the data begins with', () =>
    inFolder(async folder => {
      const path = join(folder, 'zero.svm')
      // Only the first row shows that features are counted from 0.
      writeFileSync(path, `# a comment\n\n+1 0:1 3:1\n${lines(50)}`)
      const arena = new Arena()
      for (let rank = 0; rank < 3; rank++) {
        const reading = new Reading('auto', undefined)
        const chunks = new Chunks(arena, reading, 1 << 16, 2)
        for await (const chunk of chunks.read(await shareOut([path], { rank, size: 3 }))) {
          assert.equal(chunk.indexBase, 0)
          assert.equal(chunk.format.name, 'libsvm')
          chunk.release()
        }
      }
    }))

  it('are dealt out whole where they are compressed', () =>
    inFolder(async folder => {
      const paths = Array.from({ length: 5 }, (_, k) => join(folder, `${k}.svm.gz`))
      for (const [k, path] of paths.entries()) writeFileSync(path, gzipSync(line(k)))
      assert.deepEqual(await Promise.all((await shareOut(paths, { rank: 1, size: 2 })).map(contentOf)), [
        line(1),
        line(3),
      ])
      await assert.rejects(
        shareOut(paths.slice(0, 2), { rank: 0, size: 3 }),
        ({ message, advice }: { message: string; advice: string }) =>
          /0\.svm\.gz is gzip data, which is read as a whole, and there are 3 ranks for 2 files/.test(message) &&
          /^decompress it, give at least one file for each rank, or make a store first/.test(advice),
      )
    }))

  it("are each rank's own where the name says so", async () => {
    assert.deepEqual(await shareOut(['part-{rank}.svm'], { rank: 2, size: 4 }), ['part-2.svm'])
    await assert.rejects(
      shareOut(['part-{rank}.svm', 'all.svm'], { rank: 2, size: 4 }),
      /some files are for one rank each \(part-\{rank\}\.svm\), and others are for all \(all\.svm\)/,
    )
  })

  it('are not standard input', async () => {
    await assert.rejects(
      shareOut(['-'], { rank: 0, size: 2 }),
      /standard input goes to one process, and there are 2 ranks/,
    )
  })

  it('have names that stores and models are named after', () =>
    inFolder(async folder => {
      const path = join(folder, 'data.svm')
      writeFileSync(path, lines(4))
      const share = await shareOut([path], { rank: 1, size: 2 })
      assert.equal(storeFolder(share, undefined), 'data.svm.2-of-2.spill')
      assert.equal(nameOfShare('rows.spill', { rank: 1, size: 2 }), 'rows.2-of-2.spill')
      assert.equal(nameOfShare('rows', { rank: 0, size: 3 }), 'rows.1-of-3')
      assert.equal(nameOfShare('rows.spill', { rank: 0, size: 1 }), 'rows.spill')
    }))

  it('tell where a bad row is', () =>
    inFolder(async folder => {
      const path = join(folder, 'bad.svm')
      writeFileSync(path, lines(4))
      const [part] = await shareOut([path], { rank: 1, size: 2 })
      const source = await openSource(part)
      assert.equal(source.name, `${path} from byte ${line(0).length * 2} on`)
      await source.close()
    }))
})
