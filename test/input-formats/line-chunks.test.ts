// Sources of bytes and their cutting into chunks of whole lines.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError } from '../../src/errors.ts'
import { openSource } from '../../src/input-formats/byte-source.ts'
import { Chunks } from '../../src/input-formats/chunks.ts'
import { longestLine } from '../../src/input-formats/line-chunks.ts'
import { Reading } from '../../src/input-formats/reading.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { randomNumbers, seed } from '../numeric/reference.ts'
import { testFolder } from './fixture.ts'

const folder = testFolder()

interface Cut {
  number: number
  source: number
  name: string
  first: boolean
  text: string
}

const chunksOf = (arena: Arena, bytes: number, slots: number): Chunks =>
  new Chunks(arena, new Reading('libsvm', undefined), bytes, slots)

/** All chunks; `hold` of them are kept before the oldest is given back. */
async function cut(paths: string[], chunkBytes: number, { slots = 3, hold = 0 } = {}): Promise<Cut[]> {
  const arena = new Arena()
  const chunks = chunksOf(arena, chunkBytes, slots)
  const found: Cut[] = []
  const held: { check: () => void; release: () => void }[] = []
  const giveBack = (): void => {
    const oldest = held.shift()!
    oldest.check()
    oldest.release()
    oldest.release()
  }
  for await (const { number, source, name, first, at, bytes, release } of chunks.read(paths)) {
    const text = Buffer.from(arena.bytes(at, bytes)).toString('latin1')
    found.push({ number, source, name, first, text })
    const check = (): void => {
      assert.equal(Buffer.from(arena.bytes(at, bytes)).toString('latin1'), text, 'a chunk that is held does not change')
    }
    held.push({ check, release })
    if (held.length > hold) giveBack()
  }
  while (held.length > 0) giveBack()
  return found
}

/** What the cuts must be: from each start, the last line feed within the chunk size; a longer line alone widens it. */
function expectedCuts(text: string, chunkBytes: number): string[] {
  const pieces: string[] = []
  let at = 0
  while (at < text.length) {
    let limit = chunkBytes
    let end = 0
    // What is left unread of the last chunk may be longer than a chunk.
    while (at + limit < text.length + 1) {
      end = text.slice(at, at + limit).lastIndexOf('\n') + 1
      if (end > 0) break
      limit *= 4
    }
    if (end === 0) end = text.length - at
    pieces.push(text.slice(at, at + end))
    at += end
  }
  return pieces
}

describe('chunks of lines', () => {
  it('cuts by the bytes alone: whole lines, all of them, each chunk numbered', async () => {
    const lines = fc.array(fc.string({ unit: fc.constantFrom('a', '1', ' '), maxLength: 30 }), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(lines, fc.integer({ min: 4, max: 64 }), fc.boolean(), async (list, chunkBytes, feed) => {
        const text = list.join('\n') + (feed && list.length > 0 ? '\n' : '')
        const path = folder.write('cut.txt', text)
        const chunks = await cut([path], chunkBytes)
        const closed = text === '' || text.endsWith('\n') ? text : `${text}\n`
        assert.equal(chunks.map(chunk => chunk.text).join(''), closed)
        chunks.forEach((chunk, k) => {
          assert.ok(chunk.text.endsWith('\n'))
          assert.deepEqual([chunk.number, chunk.source, chunk.name, chunk.first], [k, 0, path, k === 0])
        })
        // However many slots and whoever holds them.
        const others = await cut([path], chunkBytes, { slots: 5, hold: 2 })
        assert.deepEqual(others, chunks)
      }),
      { seed, numRuns: 150 },
    )
  })

  it('fills a chunk as far as whole lines go', async () => {
    const text = Array.from({ length: 500 }, (_, k) => 'x'.repeat(k % 17)).join('\n')
    const chunks = await cut([folder.write('fill.txt', text)], 100)
    assert.deepEqual(
      chunks.map(chunk => chunk.text),
      expectedCuts(`${text}\n`, 100),
    )
  })

  it('cuts the same whether the bytes come plain, gzipped or as zstd', async () => {
    const random = randomNumbers(4)
    const text = Array.from({ length: 3000 }, () => 'abc 1:1 '.repeat(Math.floor(random() * 30))).join('\n')
    const plain = await cut([folder.write('same.txt', text)], 4096)
    for (const [ending, bytes] of [
      ['gz', gzipSync(text)],
      ['zst', zstdCompressSync(text)],
    ] as const) {
      const chunks = await cut([folder.write(`same.txt.${ending}`, bytes)], 4096)
      assert.deepEqual(
        chunks.map(chunk => chunk.text),
        plain.map(chunk => chunk.text),
      )
    }
  })

  it('takes a line longer than a chunk whole, wherever it stands', async () => {
    const long = 'y'.repeat(5000)
    for (const text of [
      `${long}\nshort\n`,
      `short\n${long}\nshort`,
      `a\n${long}`,
      `${long}\n${long}\n\n${long}`,
      long,
    ]) {
      const chunks = await cut([folder.write('long.txt', text)], 64, { slots: 4, hold: 1 })
      assert.equal(chunks.map(chunk => chunk.text).join(''), text.endsWith('\n') ? text : `${text}\n`)
      assert.ok(chunks.every(chunk => chunk.text.endsWith('\n')))
    }
  })

  it('a long line does not move the cuts of what follows', async () => {
    const text = 'some words\n'.repeat(100)
    const alone = await cut([folder.write('plain.txt', text)], 64)
    const long = folder.write('long.txt', `${'y'.repeat(5000)}\n`.repeat(8))
    const both = await cut([long, folder.write('plain.txt', text)], 64)
    assert.deepEqual(
      both.filter(chunk => chunk.source === 1).map(chunk => chunk.text),
      alone.map(chunk => chunk.text),
    )
  })

  it('takes files that end exactly at a chunk', async () => {
    for (const text of ['abc\n', 'abcd', 'abcd\n', 'abc\nabc\n', 'abc\nabcd', '\n\n\n\n', '\n\n\n\n\n\n\n\n']) {
      const chunks = await cut([folder.write('exact.txt', text)], 4)
      assert.equal(chunks.map(chunk => chunk.text).join(''), text.endsWith('\n') ? text : `${text}\n`)
    }
  })

  it('an empty file has no chunk, one of a line feed has one', async () => {
    assert.deepEqual(await cut([folder.write('empty.txt', '')], 64), [])
    assert.deepEqual(
      (await cut([folder.write('feed.txt', '\n')], 64)).map(chunk => chunk.text),
      ['\n'],
    )
  })

  it('reads several files in turn, each last line closed, never joining two files', async () => {
    const paths = [
      folder.write('a.txt', 'a1\na2'),
      folder.write('b.txt', ''),
      folder.write('c.txt.gz', gzipSync('c1\nc2')),
      folder.write('d.txt.zst', zstdCompressSync('d1')),
      folder.write('e.txt', 'e1\n'),
    ]
    const chunks = await cut(paths, 64)
    assert.deepEqual(
      chunks.map(({ number, source, name, first, text }) => [number, source, name, first, text]),
      [
        [0, 0, paths[0], true, 'a1\na2\n'],
        [1, 2, paths[2], true, 'c1\nc2\n'],
        [2, 3, paths[3], true, 'd1\n'],
        [3, 4, paths[4], true, 'e1\n'],
      ],
    )
  })

  it('counts the bytes on disk', async () => {
    const text = 'some words\n'.repeat(5000)
    const packed = gzipSync(text)
    const arena = new Arena()
    const chunks = chunksOf(arena, 1000, 3)
    for await (const chunk of chunks.read([folder.write('n.txt', text), folder.write('n.gz', packed)])) chunk.release()
    assert.equal(chunks.bytesRead, text.length + packed.length)
    assert.equal(chunks.bytesTotal, text.length + packed.length)
  })
})

async function readAll(path: string, piece = 1000): Promise<string> {
  const source = await openSource(path)
  const parts: Buffer[] = []
  try {
    for (;;) {
      const target = new Uint8Array(piece)
      const got = await source.read(target)
      parts.push(Buffer.from(target.subarray(0, got)))
      if (got < piece) break
    }
    assert.equal(await source.read(new Uint8Array(10)), 0, 'after the end there is nothing')
  } finally {
    await source.close()
  }
  return Buffer.concat(parts).toString()
}

describe('openSource', () => {
  const random = randomNumbers(9)
  const text = Array.from({ length: 40_000 }, () => `1 ${Math.floor(random() * 1e6)}:${random()}`).join('\n')
  const half = text.length >> 1
  const [front, back] = [text.slice(0, half), text.slice(half)]
  const skippable = (bytes: number): Buffer => {
    const head = Buffer.alloc(8)
    head.writeUInt32LE(0x184d2a53, 0)
    head.writeUInt32LE(bytes, 4)
    return Buffer.concat([head, Buffer.alloc(bytes, 0x28)])
  }
  const checksummed = (s: string): Buffer => zstdCompressSync(s, { params: { 201: 1 } })
  const sources: Record<string, Uint8Array | string> = {
    'plain text': text,
    gzip: gzipSync(text),
    'gzip of two members': Buffer.concat([gzipSync(front), gzipSync(back)]),
    zstd: zstdCompressSync(text),
    'zstd with a checksum': checksummed(text),
    'zstd of two frames': Buffer.concat([zstdCompressSync(front), zstdCompressSync(back)]),
    'zstd of many small frames': Buffer.concat(
      (text.match(/.{1,9999}/gs) as string[]).map((s, k) => (k % 2 ? checksummed(s) : zstdCompressSync(s))),
    ),
    'zstd with skippable frames between and after': Buffer.concat([
      zstdCompressSync(front),
      skippable(0),
      skippable(3_000_000),
      zstdCompressSync(back),
      skippable(17),
    ]),
    'zstd that starts with a skippable frame': Buffer.concat([skippable(4), zstdCompressSync(text)]),
    'zstd with an empty frame': Buffer.concat([zstdCompressSync(''), zstdCompressSync(text), zstdCompressSync('')]),
    'zstd of a long run': zstdCompressSync('x'.repeat(3_000_000)),
  }
  for (const [name, bytes] of Object.entries(sources)) {
    it(`${name} gives its text`, async () => {
      const expected = name.endsWith('run') ? 'x'.repeat(3_000_000) : text
      assert.ok((await readAll(folder.write('source', bytes), 70_001)) === expected)
      assert.ok((await readAll(folder.write('source', bytes), 1 << 22)) === expected)
    })
  }

  const damaged: Record<string, [Buffer, string]> = {
    'gzip cut short': [gzipSync(text).subarray(0, 50_000), 'gzip'],
    'gzip cut in its header': [gzipSync(text).subarray(0, 7), 'gzip'],
    'gzip cut in its checksum': [gzipSync(text).subarray(0, -3), 'gzip'],
    'gzip with a flipped byte': [flipped(gzipSync(text), 30_000), 'gzip'],
    'gzip whose second member is cut': [Buffer.concat([gzipSync(front), gzipSync(back).subarray(0, 999)]), 'gzip'],
    'zstd cut short': [zstdCompressSync(text).subarray(0, 50_000), 'zstd'],
    'zstd cut in its header': [zstdCompressSync(text).subarray(0, 5), 'zstd'],
    'zstd cut by one byte': [zstdCompressSync(text).subarray(0, -1), 'zstd'],
    'zstd cut in its checksum': [checksummed(text).subarray(0, -2), 'zstd'],
    'zstd with a wrong checksum': [flipped(checksummed(text), -1), 'zstd'],
    'zstd whose second frame is cut': [
      Buffer.concat([zstdCompressSync(front), zstdCompressSync(back).subarray(0, 999)]),
      'zstd',
    ],
    'zstd cut in a second magic number': [
      Buffer.concat([zstdCompressSync(front), zstdCompressSync(back).subarray(0, 3)]),
      'zstd',
    ],
    'zstd cut in a skippable frame': [Buffer.concat([zstdCompressSync(text), skippable(100).subarray(0, 50)]), 'zstd'],
    'zstd with words behind it': [Buffer.concat([zstdCompressSync(text), Buffer.from('and more')]), 'zstd'],
  }
  for (const [name, [bytes, kind]] of Object.entries(damaged)) {
    it(`${name} is refused by name`, async () => {
      const path = folder.write('damaged.svm', bytes)
      await assert.rejects(readAll(path), error => {
        assert.ok(error instanceof SpillwayError, String(error))
        assert.ok(error.message.startsWith(`${path}: the ${kind} data is damaged or cut short (`), error.message)
        assert.match(error.message, /\), after \d+ compressed bytes$/)
        assert.equal(error.advice, 'copy or download the file again')
        return true
      })
    })
  }

  it('a missing file and a folder are told in words, before anything is read', async () => {
    const missing = join(folder.path, 'nothing-here')
    const says = (message: string) => (error: unknown) => {
      assert.ok(error instanceof SpillwayError)
      assert.equal(error.message, message)
      return true
    }
    await assert.rejects(openSource(missing), says(`cannot read ${missing}: there is no such file or folder`))
    await assert.rejects(
      openSource(folder.path),
      says(`cannot read ${folder.path}: it is a folder, a file was expected`),
    )
    const good = folder.write('good.txt', 'a\n')
    const chunks = chunksOf(new Arena(), 64, 2)
    await assert.rejects(
      async () => {
        for await (const _ of chunks.read([good, missing])) assert.fail('a chunk came first')
      },
      says(`cannot read ${missing}: there is no such file or folder`),
    )
  })

  it('a named pipe is read to its end', async t => {
    const path = join(folder.path, 'pipe')
    if (spawnSync('mkfifo', [path]).status !== 0) return t.skip('there is no mkfifo here')
    for (const bytes of [Buffer.from(text), zstdCompressSync(text)]) {
      const [, found] = await Promise.all([appendFile(path, bytes), readAll(path, 100_000)])
      assert.ok(found === text)
    }
  })

  it('a source may be closed before its end', async () => {
    for (const name of ['plain text', 'gzip', 'zstd of many small frames']) {
      const path = folder.write('early', sources[name])
      const source = await openSource(path)
      const start = Buffer.alloc(100)
      const count = await source.read(start)
      assert.ok(count > 0 && text.startsWith(start.subarray(0, count).toString()))
      await source.close()
      // Where the system tells which files are open.
      if (!existsSync('/proc/self/fd')) continue
      const open = readdirSync('/proc/self/fd').map(fd => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`)
        } catch {
          return ''
        }
      })
      assert.ok(!open.includes(path), `${name} is still open`)
    }
  })
})

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at < 0 ? copy.length + at : at] ^= 0x55
  return copy
}

describe('a line that does not end', () => {
  it('is refused in little memory long before it fills it, and the message says where it begins', async () => {
    const row = '1 1:1\n'.repeat(400_000)
    const path = folder.write(
      'endless.svm.gz',
      gzipSync(Buffer.concat([Buffer.from(row), Buffer.alloc(64 << 20, '1')])),
    )
    const arena = new Arena()
    const chunks = chunksOf(arena, 1 << 18, 3)
    chunks.longestLine = longestLine(200 << 20)
    const read = async (): Promise<void> => {
      for await (const chunk of chunks.read([path])) chunk.release()
    }
    await assert.rejects(read(), {
      message: new RegExp(`: a line is longer than 14.5 MiB, from byte ${row.length} of the text on; is this text\\?$`),
      advice: /need more --memory/,
    })
    assert.ok(arena.mark() < 40 << 20, `${arena.mark()} bytes were taken`)
    await assert.rejects(ingest(path, `${folder.path}/endless.spill`, { memory: 200 << 20 }), /longer than 14.5 MiB/)
  })
})
