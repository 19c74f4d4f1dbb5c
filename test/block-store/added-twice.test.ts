// Content that is in a store already is not added again, unless somebody insists.
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import { train } from '../../src/train/train.ts'
import { assertPlainWords, filesIn, good, inFolder, run } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { newPath, newStore, textFile } from './changing-stores.ts'

const days = (count: number, rows = 60) => someRows(count * rows, 30).map((row, k) => ({ ...row, day: k % count }))

/** A folder with day1.svm in clicks.spill, and day2.svm. */
const withStore = (check: (cwd: string) => Promise<void>): Promise<void> =>
  inFolder(async cwd => {
    const rows = days(2)
    for (const day of [0, 1]) writeFileSync(join(cwd, `day${day + 1}.svm`), asText(rows.filter(row => row.day === day)))
    await good(['ingest', 'day1.svm', 'clicks.spill', '-q'], { cwd })
    await check(cwd)
  })

const rowsIn = async (cwd: string, store = 'clicks.spill'): Promise<number> =>
  (await openStore(join(cwd, store))).manifest.rows

async function refused(cwd: string, words: string[], message: string): Promise<void> {
  const store = join(cwd, 'clicks.spill')
  const before = filesIn(store).map(name => [name, readFileSync(join(store, name), 'hex')])
  const { status, stdout, stderr } = await run(words, { cwd })
  assertPlainWords(stderr)
  assert.equal(
    stderr.replace(/^reading .*\n/gm, ''),
    `spillway: ${message}\n  leave it out, or say --again if that is what you want\n`,
  )
  assert.deepEqual([status, stdout], [1, ''])
  assert.deepEqual(
    filesIn(store).map(name => [name, readFileSync(join(store, name), 'hex')]),
    before,
    'the store is as it was',
  )
}

describe('add', { concurrency: 2 }, () => {
  test('refuses the same file a second time; --again insists', () =>
    withStore(async cwd => {
      await refused(
        cwd,
        ['add', 'day1.svm', 'clicks.spill'],
        'day1.svm is in clicks.spill already: its 60 rows would be there twice',
      )
      await good(['add', 'day2.svm', 'clicks.spill', '-q'], { cwd })
      await refused(
        cwd,
        ['add', 'day2.svm', 'clicks.spill'],
        'day2.svm is in clicks.spill already: its 60 rows would be there twice',
      )
      assert.equal(await rowsIn(cwd), 120)
      const { stdout } = await good(['add', 'day2.svm', 'clicks.spill', '--again', '--json', '-q'], { cwd })
      assert.deepEqual([JSON.parse(stdout).rowsAdded, JSON.parse(stdout).rows], [60, 180])
    }))

  test('names the source that has the same content, compressed or under another name', () =>
    withStore(async cwd => {
      const text = readFileSync(join(cwd, 'day1.svm'))
      writeFileSync(join(cwd, 'copy.svm.gz'), gzipSync(text))
      writeFileSync(join(cwd, 'copy.svm.zst'), zstdCompressSync(text))
      writeFileSync(join(cwd, 'copy.svm'), text)
      writeFileSync(join(cwd, 'no-line-feed.svm'), text.subarray(0, -1))
      for (const name of ['copy.svm', 'copy.svm.gz', 'copy.svm.zst', 'no-line-feed.svm']) {
        await refused(
          cwd,
          ['add', name, 'clicks.spill'],
          `${name} has the same content as day1.svm, which is in clicks.spill already: its 60 rows would be there twice`,
        )
      }
      const { status, stderr } = await run(['add', '-', 'clicks.spill', '-q'], { cwd, stdin: text.toString() })
      assert.equal(status, 1)
      assert.match(stderr, /^spillway: standard input has the same content as day1\.svm/)
    }))

  test('takes a file of the same size whose content differs, wherever it does', async () => {
    const text = asText(someRows(24_000, 40))
    assert.ok(text.length > 1 << 20)
    const path = newPath('.svm')
    writeFileSync(path, text)
    const folder = newPath('.spill')
    await ingest(path, folder, { blocks: 2, threads: 1 })
    let { rows } = (await openStore(folder)).manifest
    const twin = newPath('.svm')
    // A label at the beginning, in the middle and at the end.
    for (const place of [0, text.indexOf('\n', text.length / 2) + 1, text.lastIndexOf('\n', text.length - 2) + 1]) {
      const flipped = text[place] === '+' ? '-' : '+'
      writeFileSync(twin, text.slice(0, place) + flipped + text.slice(place + 1))
      const { manifest } = await addRows(twin, folder, { threads: 1 })
      assert.equal(manifest.rows, rows + 24_000)
      rows = manifest.rows
      await assert.rejects(addRows(twin, folder, { threads: 1 }), /is in .* already/)
    }
  })

  test('knows content again whatever memory, threads and blocks it was read with', async () => {
    const text = asText(someRows(24_000, 40))
    const path = newPath('.svm')
    writeFileSync(path, text)
    const packed = newPath('.svm.gz')
    writeFileSync(packed, gzipSync(text))
    const folder = newPath('.spill')
    await ingest(path, folder, { memory: 148 << 20, threads: 2, split: 'sequential', blocks: 3 })
    for (const again of [path, packed]) {
      await assert.rejects(addRows(again, folder, { threads: 1 }), /already: its 24000 rows would be there twice/)
    }
    const other = newPath('.spill')
    const { manifest } = await ingest(path, other, { threads: 1 })
    assert.deepEqual(manifest.sources, (await openStore(folder)).manifest.sources)
  })

  test('reads a file once whose size no source has, and does not parse one that is there', async () => {
    const path = textFile(someRows(50, 20))
    const folder = await newStore([path])
    const other = textFile(someRows(51, 20))
    const { bytesRead } = await addRows(other, folder, { threads: 1 })
    assert.equal(bytesRead, readFileSync(other).length)
    const told: unknown[] = []
    await assert.rejects(addRows(path, folder, { threads: 1, progress: record => told.push(record) }), /already/)
    assert.deepEqual(told, [])
  })

  test('takes a source again that was removed, and refuses one of which rows are left', async () => {
    const [first, second] = [textFile(someRows(50, 20)), textFile(someRows(40, 20))]
    const folder = await newStore([first, second])
    await removeRows(folder, { rows: [1, 2, 3] })
    await assert.rejects(addRows(first, folder, { threads: 1 }), /already: its 47 rows would be there twice/)
    await removeRows(folder, { source: first })
    assert.equal((await addRows(first, folder, { threads: 1 })).manifest.rows, 90)
  })

  test('takes anything into a store that was made before content was remembered', async () => {
    const path = textFile(someRows(50, 20))
    const folder = await newStore([path])
    const file = join(folder, 'manifest.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8'))
    for (const source of manifest.sources) {
      delete source.checksum
      delete source.beginning
    }
    writeFileSync(file, JSON.stringify(manifest))
    assert.equal((await addRows(path, folder, { threads: 1 })).manifest.rows, 100)
    await assert.rejects(addRows(path, folder, { threads: 1 }), /already/)
  })

  test('takes a file without rows as often as it comes', async () => {
    const folder = await newStore(someRows(50, 20))
    const empty = newPath('.svm')
    writeFileSync(empty, '# nothing today\n')
    const copy = newPath('.svm')
    copyFileSync(empty, copy)
    const { manifest } = await addRows([empty, copy, textFile(someRows(7, 20))], folder, { threads: 1 })
    assert.equal(manifest.rows, 57)
  })

  test('goes by the content, not by the name', () =>
    withStore(async cwd => {
      renameSync(join(cwd, 'day2.svm'), join(cwd, 'day1.svm'))
      await good(['add', 'day1.svm', 'clicks.spill', '-q'], { cwd })
      assert.equal(await rowsIn(cwd), 120)
    }))

  test('knows what a training has read into a store', async () => {
    const path = textFile(someRows(50, 20))
    const folder = newPath('.spill')
    await train(path, { solver: 'block', store: folder, threads: 1 }).result
    await assert.rejects(addRows(path, folder, { threads: 1 }), /already: its 50 rows would be there twice/)
  })
})

describe('several files at once', { concurrency: 2 }, () => {
  test('are refused when two are one file, before a store is replaced', () =>
    withStore(async cwd => {
      symlinkSync('day2.svm', join(cwd, 'link.svm'))
      for (const words of [
        ['ingest', 'day2.svm', 'link.svm', 'clicks.spill', '--overwrite'],
        ['add', 'day2.svm', 'link.svm', 'clicks.spill'],
      ]) {
        await refused(cwd, words, 'link.svm is the same file as day2.svm: its rows would be there twice')
      }
      await refused(
        cwd,
        ['ingest', 'day2.svm', 'day2.svm', 'clicks.spill', '--overwrite'],
        'day2.svm is named twice: its rows would be there twice',
      )
      await good(['ingest', 'day2.svm', 'day2.svm', 'clicks.spill', '--overwrite', '--again', '-q'], { cwd })
      assert.equal(await rowsIn(cwd), 120)
    }))

  test('are refused when two have the same content', () =>
    withStore(async cwd => {
      copyFileSync(join(cwd, 'day2.svm'), join(cwd, 'copy.svm'))
      await refused(
        cwd,
        ['add', 'day2.svm', 'copy.svm', 'clicks.spill'],
        'copy.svm has the same content as day2.svm, which is among the data already: its 60 rows would be there twice',
      )
      const { status, stderr } = await run(['ingest', 'day2.svm', 'copy.svm', 'new.spill', '-q'], { cwd })
      assert.equal(status, 1)
      assert.match(stderr, /copy\.svm has the same content as day2\.svm, which is among the data already/)
      assert.deepEqual(
        filesIn(cwd).filter(name => name.startsWith('new.spill')),
        [],
      )
    }))

  test('are all trained on, in memory as in blocks', async () => {
    const path = textFile(someRows(50, 20))
    const inMemory = await train([path, path], { solver: 'dual', threads: 1 }).result
    const inBlocks = await train([path, path], { solver: 'block', store: newPath('.spill'), threads: 1 }).result
    assert.deepEqual([inMemory.rows, inBlocks.rows], [100, 100])
  })
})
