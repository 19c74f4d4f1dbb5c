// The files of an index: whole or not there, of this store or refused, the same for any number of threads; and what is left of
// them by a kill, a full disk, flipped bytes and changes of the store.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import { SpillwayError } from '../../src/errors.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { buildIndex } from '../../src/sample-index/build-index.ts'
import { MetricForest } from '../../src/sample-index/metric-forest.ts'
import { run } from '../cli/run.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { clusteredRows, storeOf } from './fixture.ts'

const folder = fastFolder()
const settings = { threads: 1, leafBytes: 2048, fanOut: 4 }
let text = ''
let store = ''
let copies = 0

before(async () => {
  text = clusteredRows(1200, 8, { seed: 21 })
  store = await storeOf(folder, 'files', text, { blocks: 4 })
  await buildIndex(store, settings)
})

function copyOf(path = store, indexed = true): string {
  const copy = join(folder.path, `copy-${++copies}.spill`)
  cpSync(path, copy, { recursive: true })
  if (!indexed) rmSync(join(copy, 'index'), { recursive: true })
  return copy
}

const filesOf = (path: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(path, 'index'))
      .sort()
      .map(name => [name, readFileSync(join(path, 'index', name)).toString('base64')]),
  )

/** Rows that a search of everything meets. */
async function rowsIn(path: string): Promise<number> {
  const arena = new Arena()
  const opened = await openStore(path)
  const forest = await MetricForest.open(arena, opened, 1 << 20)
  const { features } = opened.manifest
  const weights = arena.allocateZeroed((features + 1) * 8, 'weights')
  const query = { weights, weightCount: features + 1, narrow: false, bias: 0, positive: 0, unit: false, high: 1 }
  try {
    return forest.search(query, {}, () => {}).found
  } finally {
    forest.close()
  }
}

async function refused(work: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(work, (error: SpillwayError) => {
    assert.ok(error instanceof SpillwayError, `${error}\n${error.stack}`)
    assert.match(error.message, words)
    return true
  })
}

describe('an index', () => {
  it('is the same, bit by bit, for any number of threads, and made once', async () => {
    const copy = copyOf(store, false)
    const { blocksBuilt, trees, depth, rows, bytes } = await buildIndex(copy, { ...settings, threads: 3 })
    assert.deepEqual(filesOf(copy), filesOf(store))
    assert.deepEqual({ blocksBuilt, trees, rows }, { blocksBuilt: 4, trees: 4, rows: 1200 })
    assert.ok(depth >= 3 && bytes > 1200 * 8 * 4)
    assert.equal((await buildIndex(copy, settings)).blocksBuilt, 0)
  })

  it('has trees of as many rows as are asked for, and refuses what cannot be', async () => {
    const copy = copyOf(store, false)
    const { trees } = await buildIndex(copy, { ...settings, treeRows: 100 })
    assert.ok(trees >= 12 && trees <= 16, `${trees} trees`)
    assert.equal(await rowsIn(copy), 1200)
    await refused(buildIndex(copy, { fanOut: 1 }), /fanOut is 1; expected a whole number of at least 2/)
    await refused(buildIndex(join(folder.path, 'none.spill')), /cannot open .*none\.spill/)
  })

  it('is refused where there is none, and where the memory holds no block', async () => {
    const copy = copyOf(store, false)
    await refused(rowsIn(copy), /copy-\d+\.spill has no index/)
    await refused(
      buildIndex(copy, { memory: '85M' }),
      /85(\.0)? MiB of memory cannot work: Node takes .* the largest block/,
    )
    await refused(buildIndex(copy, { memory: '133M' }), /Node takes 84\.0 MiB, its pages 48\.0 MiB, the largest block/)
    assert.ok(!existsSync(join(copy, 'index', 'building.lock')))
  })

  it('stays valid when rows are added: new blocks get trees of their own', async () => {
    const copy = copyOf()
    await addRows(folder.write('more.svm', `${clusteredRows(300, 8, { seed: 22 })}\n`), copy, { blocks: 2, threads: 1 })
    await refused(rowsIn(copy), /the index of .* is stale: 2 of 6 blocks have changed or come/)
    const before = filesOf(copy)
    const { blocksBuilt, rows } = await buildIndex(copy, settings)
    assert.deepEqual({ blocksBuilt, rows }, { blocksBuilt: 2, rows: 1500 })
    const now = filesOf(copy)
    for (const [name, bytes] of Object.entries(before)) assert.equal(now[name], bytes)
    assert.equal(await rowsIn(copy), 1500)
  })

  it('knows the blocks that lost rows, and forgets those that are gone', async () => {
    const copy = copyOf()
    await removeRows(copy, { rows: [1, 2, 3] })
    await refused(rowsIn(copy), /is stale/)
    const { blocksBuilt, rows } = await buildIndex(copy, settings)
    assert.ok(blocksBuilt >= 1 && blocksBuilt <= 3)
    assert.equal(rows, 1197)
    assert.equal(readdirSync(join(copy, 'index')).length, 4)
    assert.equal(await rowsIn(copy), 1197)
  })

  it('goes with the store that it is of', async () => {
    const copy = copyOf()
    await ingest(folder.write('other.svm', `${text}\n`), copy, { blocks: 4, seed: 2, threads: 1, overwrite: true })
    assert.ok(!existsSync(join(copy, 'index')))
  })
})

describe('an index that was', () => {
  it('killed at any block goes on from there', async () => {
    const script = fileURLToPath(new URL('./killed-index.ts', import.meta.url))
    for (const blocks of [1, 2, 3]) {
      const copy = copyOf(store, false)
      const { signal } = spawnSync(process.execPath, [script, copy, String(blocks)], { stdio: 'ignore' })
      assert.equal(signal, 'SIGKILL')
      // A file that was being written has another name.
      writeFileSync(join(copy, 'index', '.trees-000003.bin.1-abc.tmp'), 'half')
      await refused(rowsIn(copy), /is stale: \d of 4 blocks/)
      const { blocksBuilt } = await buildIndex(copy, settings)
      assert.ok(blocksBuilt <= 4 - blocks, `${blocksBuilt} blocks were made after ${blocks}`)
      assert.deepEqual(filesOf(copy), filesOf(store))
    }
  })

  it('interrupted keeps whole blocks', async () => {
    const copy = copyOf(store, false)
    const stop = new AbortController()
    const work = buildIndex(copy, { ...settings, signal: stop.signal, progress: () => stop.abort() })
    await assert.rejects(work, { name: 'AbortError' })
    const { blocksBuilt } = await buildIndex(copy, settings)
    assert.ok(blocksBuilt < 4)
    assert.deepEqual(filesOf(copy), filesOf(store))
  })

  it('altered in any byte is refused by name', async () => {
    const copy = copyOf()
    const path = join(copy, 'index', 'trees-000001.bin')
    const good = readFileSync(path)
    const step = Math.floor(good.length / 97)
    const places = [...Array.from({ length: 97 }, (_, k) => k * step), 0, 8, 12, good.length - 1, good.length - 20]
    for (const place of places) {
      const bytes = Buffer.from(good)
      bytes[place] ^= 16
      writeFileSync(path, bytes)
      await refused(rowsIn(copy), /trees-000001\.bin/)
    }
  })

  it('truncated, lengthened or emptied is refused, and made again', async () => {
    const copy = copyOf()
    const path = join(copy, 'index', 'trees-000002.bin')
    const good = readFileSync(path)
    for (const bytes of [good.subarray(0, -7), Buffer.concat([good, Buffer.from('!')]), Buffer.alloc(0)]) {
      writeFileSync(path, bytes)
      await refused(rowsIn(copy), /trees-000002\.bin is damaged/)
      assert.equal((await buildIndex(copy, settings)).blocksBuilt, 1)
      assert.deepEqual(filesOf(copy), filesOf(store))
    }
  })
})

describe('a full disk', () => {
  const disk = join(folder.path, 'disk')
  let why = ''
  before(() => {
    mkdirSync(disk)
    const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk])
    if (error || status !== 0) why = `a small disk cannot be mounted: ${error?.message ?? stderr}`
  })
  after(() => {
    if (!why) spawnSync('umount', [disk])
  })

  it('while it is built: says so, leaves no half file, and goes on when there is room', async t => {
    if (why) return t.skip(why)
    const copy = join(disk, 'rows.spill')
    cpSync(store, copy, { recursive: true })
    rmSync(join(copy, 'index'), { recursive: true })
    writeFileSync(join(disk, 'filler'), Buffer.alloc(120 << 10))
    await refused(buildIndex(copy, settings), /cannot write .*trees-\d+\.bin: the disk is full/)
    assert.ok(readdirSync(join(copy, 'index')).every(name => /^trees-\d{6}\.bin$/.test(name)))
    rmSync(join(disk, 'filler'))
    await buildIndex(copy, settings)
    assert.deepEqual(filesOf(copy), filesOf(store))
  })
})

describe('the command index', () => {
  it('tells what it made, and inspect what there is', async () => {
    const copy = copyOf(store, false)
    const cwd = folder.path
    const made = await run(['index', copy, '--json', '-q', '--leaf-bytes', '2K', '--fan-out', '4'], { cwd })
    const { command, rows, trees, depth, fanOut, leaves, innerNodes, bytes, blocksBuilt } = JSON.parse(made.stdout)
    assert.deepEqual([command, rows, trees, fanOut, blocksBuilt], ['index', 1200, 4, 4, 4])
    const inspected = JSON.parse((await run(['inspect', copy, '--json'], { cwd })).stdout)
    assert.deepEqual(inspected.index, { trees, depth, fanOut, leaves, innerNodes, bytes, rowsWithout: 0 })
    const shown = (await run(['inspect', copy], { cwd })).stdout
    assert.match(shown, /^index {7}4 trees of up to \d+ levels, fan-out 4, [\d,]+ leaves, [\d.]+ KiB on disk$/m)
    assert.match((await run(['index', copy], { cwd })).stdout, /it was there already/)
    const path = join(copy, 'index', 'trees-000002.bin')
    const spoilt = readFileSync(path)
    spoilt[Math.floor(spoilt.length / 2)] ^= 1
    writeFileSync(path, spoilt)
    const { status, stderr } = await run(['inspect', copy, '--verify'], { cwd })
    assert.equal(status, 1)
    assert.match(stderr, /the page at byte \d+ of .*trees-000002\.bin is damaged: its checksum does not match/)
    rmSync(join(copy, 'index', 'trees-000001.bin'))
    assert.match((await run(['inspect', copy], { cwd })).stdout, /[\d,]+ rows have no tree: `spillway index .*` makes/)
  })
})
