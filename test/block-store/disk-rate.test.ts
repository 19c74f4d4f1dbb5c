// The rate of the disk that `--compress auto` goes by is that of the disk, not that of memory.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { diskRate, FASTEST_RATE } from '../../src/block-store/disk-rate.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { DirectFile, pageRoom } from '../../src/files/direct-file.ts'
import { outcomeOf, program } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { testFolder } from '../folders.ts'
import { limit, whyNoSlowDisk } from '../out-of-core/cap.ts'

const folder = testFolder()
const PROBE_BYTES = 32 << 20

/** A clock that shows so many milliseconds more whenever it is looked at. */
function clock(step: number): () => number {
  let time = 0
  return () => (time += step)
}

/** Whether files of the folder are read past the page cache; a test that needs it skips. */
async function skipsWithoutDirect(t: TestContext): Promise<boolean> {
  await using file = await DirectFile.open(folder.write('some', Buffer.alloc(4096)))
  await file.read(pageRoom(4096), 0)
  if (!file.direct) t.skip('no file is read past the page cache here')
  return !file.direct
}

describe('the rate of the disk of a store', () => {
  it('is measured past the page cache, and leaves no file', async t => {
    if (await skipsWithoutDirect(t)) return
    assert.equal(await diskRate(folder.path, clock(20)), PROBE_BYTES / 0.16)
    assert.ok(!existsSync(join(folder.path, 'probe.tmp')))
  })

  it('of a slow disk is known after half a second', async t => {
    if (await skipsWithoutDirect(t)) return
    assert.equal(await diskRate(folder.path, clock(300)), PROBE_BYTES / 4 / 0.6)
  })

  it('is one number for all fast disks, so that their stores have the same bytes', async () => {
    for (const step of [1e-3, 1, 10]) assert.equal(await diskRate(folder.path, clock(step)), FASTEST_RATE)
  })

  it('is that of a fast disk where it cannot be measured', async () => {
    assert.equal(await diskRate(join(folder.path, 'missing'), clock(100)), FASTEST_RATE)
  })
})

describe('a disk that is slowed down', () => {
  const run = async (words: string[]) => {
    const child = spawn(limit, ['--memory', '512M', '--read-bps', '16M', '--', process.execPath, ...words], {
      cwd: folder.path,
    })
    child.stdin.end()
    return outcomeOf(child)
  }

  it('is measured as it is', async t => {
    const why = whyNoSlowDisk(folder.path)
    if (why) return t.skip(why)
    if (await skipsWithoutDirect(t)) return
    const module = fileURLToPath(new URL('../../src/block-store/disk-rate.ts', import.meta.url))
    const { status, stdout, stderr } = await run([
      ...['--input-type=module', '-e'],
      `import { diskRate } from ${JSON.stringify(module)}; console.log(await diskRate(${JSON.stringify(folder.path)}))`,
    ])
    assert.equal(status, 0, stderr)
    // The group may read ahead of its rate for a tenth of a second.
    assert.ok(Number(stdout) < 2 * 2 ** 24, `${stdout.trim()} bytes a second`)
  })

  it('has `--compress auto` take zstd', async t => {
    const why = whyNoSlowDisk(folder.path)
    if (why) return t.skip(why)
    if (await skipsWithoutDirect(t)) return
    writeFileSync(join(folder.path, 'data.svm.gz'), gzipSync(longText(), { level: 1 }))
    const { status, stderr } = await run([program, 'ingest', 'data.svm.gz', 'data.spill', '--compress', 'auto', '-q'])
    assert.equal(status, 0, stderr)
    const { manifest } = await openStore(join(folder.path, 'data.spill'))
    assert.equal(manifest.compression, 'zstd')
    assert.ok(!readdirSync(join(folder.path, 'data.spill')).includes('probe.tmp'))
  })
})

/** Text that is long enough for the disk to be measured, most of it empty lines. Rows come again and again, which zstd sees and codecs
 *  do not. Others come once: a size of text that is too many times that of the file would not be believed. */
function longText(): Buffer {
  const again = asText(someRows(500, 100))
  const once = asText(someRows(12_000, 100, { seed: 2 }))
  const rows = again.repeat(Math.ceil((6 << 20) / again.length)) + once
  return Buffer.concat([Buffer.from(rows), Buffer.alloc(257 << 20, '\n')])
}
