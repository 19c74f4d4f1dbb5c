import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ReadBuffer } from '../../src/block-store/block-file.ts'
import { SegmentDecoder, SegmentEncoder } from '../../src/block-store/codecs.ts'
import { checkManifest, type ManifestParts } from '../../src/block-store/manifest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { StoreWriter } from '../../src/block-store/writer.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { kindsOfRows, makeBatch, type Row, readBatch, seeded } from './batches.ts'

const root = mkdtempSync(join(tmpdir(), 'spillway-store-'))
after(() => rmSync(root, { recursive: true }))
let stores = 0
const newFolder = () => join(root, `${stores++}.spill`)
const parts: ManifestParts = {
  createdBy: 'spillway 0.0.0',
  features: 1_000_000,
  indexBase: 1,
  labels: [{ value: 1, text: '+1', rows: 1 }],
  sources: [],
  split: 'random',
  seed: 1,
  valueBits: 32,
}

interface Options {
  blocks?: number
  chunks?: number
  bufferBytes?: number
  zstd?: boolean
  overwrite?: boolean
}

/** Writes chunks of 100 rows; returns the rows in their order. */
async function writeStore(folder: string, { blocks = 3, chunks = 5, bufferBytes, zstd, overwrite }: Options = {}) {
  const arena = new Arena()
  const random = seeded(11)
  const compression = zstd ? 'zstd' : 'none'
  const encoder = new SegmentEncoder(arena, { blocks, seed: 1, mode: 'random', compression })
  const writer = await StoreWriter.create(folder, { arena, blocks, bufferBytes, overwrite })
  const rows: Row[] = []
  for (let chunk = 0; chunk < chunks; chunk++) {
    const batch = kindsOfRows[chunk % 2 ? 'text' : 'one-hot'](100, random)
    await writer.append(encoder.encode(makeBatch(arena, batch), chunk, 0), rows.length)
    rows.push(...batch)
  }
  return { writer, rows }
}

async function finishedStore(options: Options = {}) {
  const folder = newFolder()
  const { writer, rows } = await writeStore(folder, options)
  await writer.finish(parts)
  return { folder, rows }
}

async function readStore(
  folder: string,
  readBytes?: number,
  wanted?: (segment: number) => boolean,
): Promise<Map<number, Row>> {
  const arena = new Arena()
  const store = await openStore(folder)
  const decoder = new SegmentDecoder(arena)
  const buffer = new ReadBuffer(arena, readBytes)
  const batch = decoder.newBatch()
  const found = new Map<number, Row>()
  for (let block = 0; block < store.manifest.blocks.length; block++) {
    for await (const segment of store.blockSegments(block, buffer, wanted)) {
      const { basePosition } = decoder.decode(segment.at, segment.bytes, batch, segment.where)
      for (const { position, row } of readBatch(arena, batch)) found.set(basePosition + position, row)
    }
  }
  return found
}

describe('a store', () => {
  test('gives every row back at its position', async () => {
    for (const options of [{}, { zstd: true }, { blocks: 1 }, { blocks: 230, chunks: 4, bufferBytes: 1 }]) {
      const { folder, rows } = await finishedStore(options)
      for (const readBytes of [undefined, 1, 5000]) {
        const found = await readStore(folder, readBytes)
        assert.equal(found.size, rows.length)
        rows.forEach((row, r) => {
          assert.deepStrictEqual(found.get(r), row)
        })
      }
      const result = await (await openStore(folder)).verify(new Arena(), { decode: true })
      assert.deepEqual([result.problems, result.rows], [[], rows.length])
      assert.deepEqual(
        readdirSync(folder).filter(name => !name.startsWith('block-')),
        ['manifest.json'],
      )
    }
  })

  test('gives some of its segments, and passes over the others', async () => {
    const { folder, rows } = await finishedStore({ chunks: 9 })
    for (const readBytes of [undefined, 1, 5000]) {
      // A segment has the rows of a chunk that fell into its block.
      const found = await readStore(folder, readBytes, segment => segment % 4 === 2)
      const expected = rows.flatMap((row, r) => (Math.floor(r / 100) % 4 === 2 ? [[r, row] as const] : []))
      assert.deepStrictEqual(found, new Map([...found.keys()].map(r => [r, rows[r]])))
      assert.deepEqual(
        [...found.keys()].sort((a, b) => a - b),
        expected.map(([r]) => r),
      )
      assert.equal((await readStore(folder, readBytes, () => false)).size, 0)
    }
  })

  test('has the same bytes whatever the size of the buffers', async () => {
    const [a, b] = [await finishedStore({ bufferBytes: 1 }), await finishedStore({ bufferBytes: 1 << 24 })]
    for (const name of readdirSync(a.folder)) {
      assert.deepEqual(readFileSync(join(a.folder, name)), readFileSync(join(b.folder, name)), name)
    }
  })

  test('whose writer was killed is said to be unfinished, and is cleared by the next ingest', async () => {
    const folder = newFolder()
    const crash = fileURLToPath(new URL('./crash.ts', import.meta.url))
    const { signal } = spawnSync(process.execPath, [crash, folder])
    assert.equal(signal, 'SIGKILL')
    assert.ok(statSync(join(folder, 'block-000000.bin')).size > 1000)
    assert.ok(existsSync(join(folder, 'writing.lock')) && !existsSync(join(folder, 'manifest.json')))
    await assert.rejects(openStore(folder), /is an unfinished store: it has no manifest.json/)
    const { writer } = await writeStore(folder)
    // This process is alive, so its lock holds.
    await assert.rejects(writeStore(folder), new RegExp(`is being written by process ${process.pid}`))
    await writer.finish(parts)
    assert.deepEqual((await (await openStore(folder)).verify(new Arena())).problems, [])
  })

  test('leaves nothing behind when it is aborted', async () => {
    const folder = newFolder()
    const { writer } = await writeStore(folder)
    await writer.abort()
    assert.ok(!existsSync(folder))
    await assert.rejects(openStore(folder), /cannot open .*: there is no such file or folder/)
  })

  test('is not finished when the disk is full', { skip: !existsSync('/dev/full') }, async () => {
    const folder = newFolder()
    // With so many blocks the last files are not held open: one of them can be exchanged for a disk that is full.
    const { writer } = await writeStore(folder, { blocks: 230 })
    const file = join(folder, 'block-000229.bin')
    rmSync(file)
    symlinkSync('/dev/full', file)
    await assert.rejects(writer.finish(parts), /cannot write .*block-000229.bin: the disk is full/)
    await assert.rejects(openStore(folder), /unfinished/)
    await assert.rejects(writer.finish(parts), /the store is failed/)
    await writer.abort()
    assert.ok(!existsSync(folder))
  })

  test('is overwritten only when that is asked for, and a folder that is none never', async () => {
    const { folder } = await finishedStore()
    await assert.rejects(writeStore(folder), /is a finished store already/)
    const { writer } = await writeStore(folder, { blocks: 2, overwrite: true })
    await assert.rejects(openStore(folder), /unfinished/)
    await writer.finish(parts)
    assert.equal((await openStore(folder)).manifest.blocks.length, 2)
    assert.equal(readdirSync(folder).length, 3)
    for (const name of ['features.bin', '.features.bin.17-abc.tmp']) writeFileSync(join(folder, name), '')
    await (await writeStore(folder, { overwrite: true })).writer.abort()
    assert.deepEqual(readdirSync(folder), [])
    writeFileSync(join(folder, 'thesis.txt'), 'years of work')
    await assert.rejects(writeStore(folder, { overwrite: true }), /exists and is no store: it holds thesis.txt/)
    await assert.rejects(openStore(root), /is no store: it has no manifest.json/)
  })
})

describe('damage is named', () => {
  const damage = async (change: (file: string, folder: string) => void) => {
    const { folder } = await finishedStore()
    change(join(folder, 'block-000001.bin'), folder)
    const { problems } = await (await openStore(folder)).verify(new Arena())
    return problems.map(problem => problem.message.replaceAll(folder, 'STORE'))
  }
  const edit = (file: string, at: number, value: number) => {
    const bytes = readFileSync(file)
    bytes[at < 0 ? bytes.length + at : at] = value
    writeFileSync(file, bytes)
  }

  const cases: [string, (file: string, folder: string) => void, RegExp][] = [
    ['missing file', file => rmSync(file), /^cannot read STORE\/block-000001.bin: there is no such file or folder$/],
    [
      'truncated file',
      file => truncateSync(file, 1000),
      /^STORE\/block-000001.bin is damaged: it is truncated: 1000 bytes were found, \d+ expected$/,
    ],
    [
      'empty file',
      file => truncateSync(file, 0),
      /^STORE\/block-000001.bin is damaged: it is truncated, 0 bytes are left of a header of 64$/,
    ],
    [
      'extra bytes',
      file => writeFileSync(file, 'x', { flag: 'a' }),
      /^STORE\/block-000001.bin is damaged: bytes are left over at its end/,
    ],
    [
      'flipped payload',
      file => edit(file, -1, 0xee),
      /^segment 4 \(at byte \d+\) of STORE\/block-000001.bin is damaged: its checksum does not match$/,
    ],
    [
      'flipped header',
      file => edit(file, 64 + 16, 0xee),
      /^segment 0 \(at byte 64\) of STORE\/block-000001.bin is damaged: the checksum of its header does not match$/,
    ],
    ['no magic', file => edit(file, 0, 0), /^STORE\/block-000001.bin is damaged: it does not start with SPILLBLK/],
    [
      'newer file',
      file => edit(file, 8, 9),
      /^STORE\/block-000001.bin: block file version 9 was found, this Spillway reads up to version 1$/,
    ],
    [
      'newer segment',
      file => edit(file, 64 + 4, 3),
      /^segment 0 \(at byte 64\) of STORE\/block-000001.bin: segment version 3 was found, this Spillway reads up to version 2$/,
    ],
    ['byte order', file => edit(file, 64 + 6, 1), /byte order mark is 0x0101, 0x0102 was expected$/],
    [
      'another block',
      (file, folder) => writeFileSync(file, readFileSync(join(folder, 'block-000002.bin'))),
      /^STORE\/block-000001.bin is damaged: it says it is block 2, block 1 was expected$/,
    ],
  ]
  for (const [name, change, message] of cases) {
    test(name, async () => {
      const messages = await damage(change)
      assert.equal(messages.length, 1)
      assert.match(messages[0], message)
    })
  }

  test('another block, of another size', async () => {
    const { folder } = await finishedStore()
    const path = join(folder, 'manifest.json')
    const manifest = JSON.parse(readFileSync(path, 'utf8'))
    manifest.blocks[2].checksum = '0123456789abcdef'
    writeFileSync(path, JSON.stringify(manifest))
    const { problems } = await (await openStore(folder)).verify(new Arena())
    assert.match(
      problems[0].message,
      /block-000002.bin is damaged: [0-9a-f]{16} as checksum; the manifest says 0123456789abcdef/,
    )
    assert.match(problems[1].message, /manifest.json is damaged: the fingerprint/)
  })
})

describe('a manifest', () => {
  test('is checked field by field', async () => {
    const { folder } = await finishedStore()
    const good = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
    assert.deepEqual(checkManifest(good, 'M'), good)
    const bad = (change: (manifest: typeof good) => void, message: RegExp) => {
      const copy = structuredClone(good)
      change(copy)
      assert.throws(() => checkManifest(copy, 'M'), message)
    }
    bad(m => (m.version = 3), /^SpillwayError: M: manifest version 3 was found, this Spillway reads up to version 2$/)
    bad(m => (m.version = 2), /M: version is 2, expected 1/)
    bad(m => (m.version = 0), /M: version is 0, expected 1/)
    bad(
      m => (m.blocks[1].file = '../../etc/passwd'),
      /M: blocks\[1\].file is "..\/..\/etc\/passwd", expected a name such as "block-000000.bin"/,
    )
    bad(m => (m.blocks[1].file = 'block-000000.bin'), /expected a name that no other block has/)
    bad(m => (m.blocks[0].rows = -1), /M: blocks\[0\].rows is -1, expected a whole number from 0/)
    bad(m => (m.rows += 1), /M: rows is 501, expected 500, the sum over its blocks/)
    bad(m => delete m.split, /M: split is missing, expected "random" or "sequential"/)
    bad(m => (m.labels = {}), /M: labels is {}, expected a list/)
    bad(m => (m.fingerprint = 'xyz'), /expected 16 hexadecimal digits/)
    assert.throws(() => checkManifest([], 'M'), /M: the manifest is not a JSON object/)
    writeFileSync(join(folder, 'manifest.json'), '{"format":')
    await assert.rejects(openStore(folder), /manifest.json is not JSON/)
  })
})
