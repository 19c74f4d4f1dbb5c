// Adding rows to a store and removing them: what is in the store afterwards, and what is left when it is cut short at any
// moment. Training again is in train-again.test.ts.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs, { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type AddOptions, addRows } from '../../src/block-store/add.ts'
import { ReadBuffer } from '../../src/block-store/block-file.ts'
import { alphaFile } from '../../src/block-store/checkpoint-files.ts'
import { SegmentDecoder } from '../../src/block-store/codecs.ts'
import { readFeatureSet } from '../../src/block-store/feature-set.ts'
import { type IngestOptions, ingest } from '../../src/block-store/ingest.ts'
import { featureFileOf } from '../../src/block-store/manifest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { type RowsToRemove, removeRows } from '../../src/block-store/remove.ts'
import { readState, settleNext } from '../../src/block-store/run-state.ts'
import { splitBlocks } from '../../src/block-store/split-blocks.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { featuresOf } from '../../src/numeric/feature-map.ts'
import { assertPlainWords, bound, run } from '../cli/run.ts'
import { asText, type SomeRow, someRows } from '../cli/some-data.ts'
import { type Row, readBatch } from './batches.ts'
import { newPath, newStore, root, textFile, trained } from './changing-stores.ts'

const asStored = ({ label, entries }: SomeRow, fround = Math.fround): Row => ({
  label,
  indices: entries.map(([feature]) => feature - 1),
  values: entries.map(([, value]) => fround(value)),
})

/** Rows by position, after every checksum has been checked. */
async function rowsOf(folder: string): Promise<Map<number, Row>> {
  const arena = new Arena()
  const store = await openStore(folder)
  assert.deepEqual((await store.verify(arena, { decode: true })).problems, [])
  const decoder = new SegmentDecoder(arena)
  const buffer = new ReadBuffer(arena)
  const batch = decoder.newBatch()
  const found = new Map<number, Row>()
  for (let block = 0; block < store.manifest.blocks.length; block++) {
    for await (const segment of store.blockSegments(block, buffer)) {
      const { basePosition } = decoder.decode(segment.at, segment.bytes, batch, segment.where)
      for (const { position, row } of readBatch(arena, batch)) found.set(basePosition + position, row)
    }
  }
  return found
}

/** The store holds these rows at these positions, its counts are right, and its folder has no other files. */
async function assertStore(folder: string, expected: Map<number, Row>): Promise<void> {
  const found = await rowsOf(folder)
  assert.equal(found.size, expected.size)
  for (const [position, row] of expected) assert.deepStrictEqual(found.get(position), row, `row at ${position}`)
  const { manifest } = await openStore(folder)
  assert.equal(manifest.rows, expected.size)
  for (const { value, rows } of manifest.labels) {
    assert.equal(rows, [...expected.values()].filter(row => row.label === value).length, `rows of label ${value}`)
  }
  assert.equal(
    manifest.sources.reduce((sum, source) => sum + source.rows, 0),
    expected.size,
  )
  const used = new Set([...expected.values()].flatMap(row => row.indices))
  if (manifest.usedFeatures > 0) {
    const arena = new Arena()
    const map = await readFeatureSet(arena, folder, featureFileOf(manifest))
    const features = new Set(featuresOf(arena, map, manifest.usedFeatures))
    for (const feature of used) assert.ok(features.has(feature), `feature ${feature}`)
    assert.ok(Math.max(...used) < manifest.features)
  }
  assert.deepEqual(
    readdirSync(folder).filter(name => !name.startsWith('state-')),
    [...manifest.blocks.map(({ file }) => file), featureFileOf(manifest), 'manifest.json'].sort(),
  )
}

const numbered = (rows: SomeRow[]): Map<number, Row> => new Map(rows.map((row, k) => [k, asStored(row)]))

describe('add', () => {
  test('puts rows behind those that are there, in new blocks', async () => {
    const rows = someRows(700, 40, { classes: 3 })
    for (const options of [{}, { compress: 'zstd' }, { split: 'sequential' }] satisfies IngestOptions[]) {
      const folder = await newStore(rows.slice(0, 400), options)
      const before = readFileSync(join(folder, 'block-000002.bin'))
      const first = textFile(rows.slice(400, 500))
      const result = await addRows(first, folder, { threads: 1 })
      assert.deepEqual([result.rows, result.blocks, result.newLabels], [100, 1, []])
      await addRows([textFile(rows.slice(500, 510)), textFile(rows.slice(510))], folder, { threads: 1, blocks: 3 })
      await assertStore(folder, numbered(rows))
      assert.deepEqual(readFileSync(join(folder, 'block-000002.bin')), before)
      const { manifest } = await openStore(folder)
      assert.deepEqual(
        manifest.sources.map(source => [source.firstPosition, source.rows]),
        [
          [0, 400],
          [400, 100],
          [500, 10],
          [510, 190],
        ],
      )
      assert.equal(manifest.sources[1].name, first)
    }
  })

  test('takes in new labels and features, and leaves the numbers of the old ones', async () => {
    const rows = someRows(100, 20)
    const folder = await newStore(rows)
    const fresh: SomeRow[] = [
      { label: -7, entries: [[3, 1]] },
      { label: 1, entries: [[900000, 0.5]] },
    ]
    const before = (await openStore(folder)).manifest
    const { manifest, newLabels } = await addRows(textFile(fresh), folder, { threads: 1 })
    assert.deepEqual(newLabels, ['-7'])
    assert.deepEqual(
      manifest.labels.map(({ value }) => value),
      [...before.labels.map(({ value }) => value), -7],
    )
    assert.deepEqual([manifest.features, manifest.usedFeatures], [900000, before.usedFeatures + 1])
    await assertStore(folder, numbered([...rows, ...fresh]))
  })

  test('keeps the index base and the precision of the store', async () => {
    const folder = await newStore(
      [
        { label: 1, entries: [[1, 0.1]] },
        { label: 2, entries: [[2, 0.3]] },
      ],
      {
        values: 'f64',
        indexBase: 0,
      },
    )
    await addRows(textFile([{ label: 1, entries: [[5, 0.7]] }]), folder, { threads: 1 })
    const found = await rowsOf(folder)
    assert.deepEqual(found.get(2), { label: 1, indices: [5], values: [0.7] })
  })

  test('leaves everything as it was when the text is bad, empty or missing, or the user interrupts', async () => {
    const rows = someRows(60, 10)
    const folder = await newStore(rows)
    const bad = newPath('.svm')
    writeFileSync(bad, '1 1:2\n1 2:x\n')
    const empty = textFile([])
    const listing = readdirSync(folder)
    await assert.rejects(addRows(bad, folder, { threads: 1 }), /line 2/)
    await assert.rejects(addRows(empty, folder, { threads: 1 }), /has no rows/)
    await assert.rejects(addRows(newPath('.svm'), folder, { threads: 1 }), /no such file/)
    const options: AddOptions = { threads: 1, signal: AbortSignal.abort() }
    await assert.rejects(addRows(textFile(rows), folder, options), /abort/i)
    assert.deepEqual(readdirSync(folder), listing)
    await assertStore(folder, numbered(rows))
    await assert.rejects(addRows(bad, newPath('.spill')), /cannot open/)
  })
})

describe('remove', () => {
  const rows = someRows(500, 30, { classes: 3, seed: 5 })

  test('by number, by label and by source, one after the other', async () => {
    for (const compress of ['none', 'zstd'] as const) {
      const [first, second] = [textFile(rows.slice(0, 300)), textFile(rows.slice(300))]
      const folder = await newStore([first, second], { compress })
      const expected = numbered(rows)
      const list = newPath('.txt')
      writeFileSync(list, '# wrong ones\n7\n\n 1 # the first\n500\r\n7\n')
      const result = await removeRows(folder, { rows: list })
      assert.deepEqual([result.rows, result.blocksDropped], [3, 0])
      for (const number of [1, 7, 500]) expected.delete(number - 1)
      await assertStore(folder, expected)
      await removeRows(folder, { label: '+2' })
      for (const [position, row] of expected) if (row.label === 2) expected.delete(position)
      await assertStore(folder, expected)
      const added = someRows(50, 30, { classes: 3, seed: 8 })
      await addRows(textFile(added), folder, { threads: 1 })
      for (const [k, row] of added.entries()) expected.set(500 + k, asStored(row))
      await removeRows(folder, { source: second })
      for (const position of [...expected.keys()]) if (position >= 300 && position < 500) expected.delete(position)
      await assertStore(folder, expected)
      await removeRows(folder, { rows: [510, 511] })
      for (const number of [510, 511]) expected.delete(number - 1)
      await assertStore(folder, expected)
      const { manifest } = await openStore(folder)
      assert.deepEqual([manifest.sources.length, manifest.positions], [2, 550])
    }
  })

  test('leaves blocks alone that lose nothing, and drops those that lose everything', async () => {
    const folder = await newStore(rows, { split: 'sequential', blocks: 1 })
    await addRows(textFile(rows.slice(0, 90)), folder, { threads: 1, blocks: 1 })
    await addRows(textFile(rows.slice(90, 180)), folder, { threads: 1, blocks: 1 })
    const untouched = readFileSync(join(folder, 'block-000000.bin'))
    const middle = Array.from({ length: 90 }, (_, k) => 501 + k)
    const result = await removeRows(folder, { rows: [...middle, 591] })
    assert.deepEqual([result.blocksRewritten, result.blocksDropped], [1, 1])
    assert.deepEqual(
      result.manifest.blocks.map(({ file }) => file),
      ['block-000000.bin', 'block-000003.bin'],
    )
    assert.deepEqual(readFileSync(join(folder, 'block-000000.bin')), untouched)
    assert.equal((await rowsOf(folder)).size, 589)
  })

  test('refuses what cannot be, and changes nothing', async () => {
    const folder = await newStore(rows)
    const listing = readdirSync(folder)
    const list = newPath('.txt')
    const refused = async (what: RowsToRemove, message: RegExp): Promise<void> => {
      await assert.rejects(removeRows(folder, what), message)
    }
    writeFileSync(list, '3\n\nseven\n')
    await refused({ rows: list }, /\.txt, line 3: "seven" is no row number/)
    writeFileSync(list, '3\n0\n')
    await refused({ rows: list }, /line 2: "0" is no row number/)
    writeFileSync(list, '501\n3\n')
    await refused({ rows: list }, /line 1: .* has no row 501: rows are numbered from 1 to 500/)
    writeFileSync(list, '# none\n')
    await refused({ rows: list }, /names no rows/)
    await refused({ rows: newPath('.txt') }, /no such file/)
    await refused({ rows: [1.5] }, /1.5 is no row number/)
    await refused({ label: '9' }, /has no rows of the label 9/)
    await refused({ source: 'nobody.svm' }, /has no rows from nobody.svm/)
    await refused({ rows: rows.map((_, k) => k + 1) }, /all 500 rows .* nothing would be left/)
    assert.deepEqual(readdirSync(folder), listing)
    await removeRows(folder, { rows: [4] })
    await refused({ rows: [4] }, /has no row 4: it was removed before/)
  })
})

// --- Cut short

/** The store is one of the two, whole, and so is its state. */
async function assertOneOf(folder: string, stores: Map<string, Map<number, Row>>): Promise<string> {
  const { manifest } = await openStore(folder)
  const expected = stores.get(manifest.fingerprint)
  assert.ok(expected, `a store with the fingerprint ${manifest.fingerprint}`)
  const found = await rowsOf(folder)
  assert.equal(found.size, expected.size)
  for (const [position, row] of expected) assert.deepStrictEqual(found.get(position), row)
  for (const name of readdirSync(folder).filter(entry => entry.startsWith('state-'))) {
    const state = join(folder, name)
    await settleNext(state, manifest.fingerprint)
    const stored = await readState(join(state, 'checkpoint.bin'))
    assert.equal(stored?.fingerprint, manifest.fingerprint, 'the state belongs to the store')
    for (const [file, version] of Object.entries(stored.alpha))
      assert.ok(existsSync(join(state, alphaFile(file, version))))
  }
  return manifest.fingerprint
}

describe('cut short', () => {
  const rows = someRows(300, 20, { seed: 6 })
  const more = someRows(40, 20, { seed: 7 })
  const prepare = async () => {
    const folder = await newStore(rows, { blocks: 2 })
    await trained(folder, { tolerance: 0.5 })
    const added = textFile(more)
    const changes: Record<string, (store: string) => Promise<unknown>> = {
      add: store => addRows(added, store, { threads: 1 }),
      remove: store => removeRows(store, { rows: [1, 2, 150, 300] }),
      split: store => splitBlocks(store, [1, 2]),
    }
    const copyOf = (): string => {
      const copy = newPath('.spill')
      cpSync(folder, copy, { recursive: true })
      return copy
    }
    return { folder, added, changes, copyOf }
  }
  /** Old store and new store, by fingerprint. */
  const bothOf = async (folder: string, changed: string): Promise<Map<string, Map<number, Row>>> =>
    new Map(
      await Promise.all(
        [folder, changed].map(
          async path => [(await openStore(path)).manifest.fingerprint, await rowsOf(path)] as const,
        ),
      ),
    )

  for (const name of ['add', 'remove', 'split']) {
    test(`${name}: when any step fails, the store is the old one or the new one, and nothing is left over`, async () => {
      const { folder, changes, copyOf } = await prepare()
      const changed = copyOf()
      await changes[name](changed)
      const stores = await bothOf(folder, changed)
      const seen = new Set<string>()
      let failures = 0
      for (let step = 1; ; step++) {
        const copy = copyOf()
        const restore = failAt(step, copy)
        let failed: Error | undefined
        await changes[name](copy).catch((error: Error) => (failed = error))
        const steps = restore()
        if (failed) {
          failures++
          assert.match(failed.message, /^cannot .*: the disk is full$/, `step ${step}`)
          const left = await openStore(copy)
          assert.ok(stores.has(left.manifest.fingerprint))
        }
        seen.add(await assertOneOf(copy, stores))
        assert.ok(!existsSync(join(copy, 'writing.lock')), `step ${step}: the lock is gone`)
        if (failed) assert.deepEqual(readdirSync(copy).sort(), readdirSync(folder).sort(), `step ${step}`)
        // And it can be done again, or goes on.
        if (failed) {
          await changes[name](copy)
          assert.equal((await openStore(copy)).manifest.fingerprint, [...stores.keys()][1])
        }
        rmSync(copy, { recursive: true })
        if (steps < step) break
      }
      assert.equal(seen.size, 2)
      assert.ok(failures > 10, `${failures} steps can fail`)
    })

    test(`${name}: killed at any step, the store is the old one or the new one`, async () => {
      const { folder, added, changes, copyOf } = await prepare()
      const changed = copyOf()
      await changes[name](changed)
      const stores = await bothOf(folder, changed)
      const script = fileURLToPath(new URL('./killed-change.ts', import.meta.url))
      const seen = new Set<string>()
      let ended = false
      const one = async (step: number): Promise<void> => {
        const copy = copyOf()
        const child = spawn(process.execPath, [script, name, copy, added, String(step)], { stdio: 'ignore' })
        const [code, signal] = await new Promise<[number | null, string | null]>(resolve =>
          child.on('close', (...how) => resolve(how)),
        )
        assert.ok(code === 0 || signal === 'SIGKILL', `step ${step}: ${code} ${signal}`)
        if (code === 0) ended = true
        seen.add(await assertOneOf(copy, stores))
        // The next change clears away what was left.
        const left = (await openStore(copy)).manifest
        await removeRows(copy, { rows: [10] })
        const { manifest } = await openStore(copy)
        assert.equal(manifest.rows, left.rows - 1)
        const names = readdirSync(copy).filter(entry => !entry.startsWith('state-'))
        assert.deepEqual(
          names,
          [...manifest.blocks.map(({ file }) => file), featureFileOf(manifest), 'manifest.json'].sort(),
        )
        rmSync(copy, { recursive: true })
      }
      for (let step = 1; !ended; step += 3) await Promise.all([step, step + 1, step + 2].map(one))
      assert.equal(seen.size, 2)
    })
  }

  test('by another process that holds the lock', async () => {
    const folder = await newStore(rows)
    writeFileSync(join(folder, 'writing.lock'), `${process.pid}\n`)
    for (const change of [() => addRows(textFile(more), folder), () => removeRows(folder, { rows: [1] })]) {
      await assert.rejects(change(), new RegExp(`is being written by process ${process.pid}`))
    }
    assert.ok(existsSync(join(folder, 'writing.lock')), "another's lock is left alone")
    // Of a process that has ended, it holds nobody up.
    writeFileSync(join(folder, 'writing.lock'), '999999999\n')
    await removeRows(folder, { rows: [1] })
    await Promise.allSettled([addRows(textFile(more), folder), addRows(textFile(more), folder)]).then(outcomes =>
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']),
    )
    assert.equal((await rowsOf(folder)).size, 339)
  })

  test('a store with states is overwritten by an ingest', async () => {
    const { folder, added } = await prepare()
    await addRows(added, folder, { threads: 1 })
    await ingest(added, folder, { overwrite: true, threads: 1, blocks: 1 })
    await assertStore(folder, numbered(more))
    assert.deepEqual(readdirSync(folder).sort(), ['block-000000.bin', 'features.bin', 'manifest.json'])
  })
})

/** Makes the n-th change in a folder fail as on a full disk. The returned function puts things right again and tells how
 *  many steps there were. */
function failAt(step: number, folder: string): () => number {
  let steps = 0
  const full = (): Error => Object.assign(new Error('no space'), { code: 'ENOSPC' })
  const counts = (): void => {
    if (++steps === step) throw full()
  }
  const { open, rename } = fs.promises
  fs.promises.open = async (path, flags, ...rest) => {
    const writes = typeof flags === 'string' && flags !== 'r' && String(path).startsWith(folder)
    if (writes) counts()
    const handle = await open(path, flags, ...rest)
    if (!writes) return handle
    for (const name of ['write', 'writeFile', 'sync'] as const) {
      const original = handle[name] as (...given: unknown[]) => Promise<never>
      handle[name] = async (...given: unknown[]) => {
        counts()
        return original.apply(handle, given)
      }
    }
    return handle
  }
  fs.promises.rename = async (from, to) => {
    // After the store has changed, states are renamed: what fails there is made up for later.
    counts()
    return rename(from, to)
  }
  syncBuiltinESMExports()
  return () => {
    Object.assign(fs.promises, { open, rename })
    syncBuiltinESMExports()
    return steps
  }
}

describe('on the command line', () => {
  test('add and remove tell what they did, and what is wrong', async () => {
    const cwd = mkdtempSync(join(root, 'cli-'))
    writeFileSync(join(cwd, 'old.svm'), asText(someRows(100, 10)))
    writeFileSync(join(cwd, 'new.svm'), asText(someRows(20, 10, { seed: 2 })))
    const spillway = (line: string) => run(line.split(' '), { cwd })
    assert.equal((await spillway('ingest old.svm data.spill --blocks 2 -q')).status, 0)
    const added = await spillway('add new.svm data.spill --json -q')
    assert.equal(added.status, 0, added.stderr)
    const { command, rowsAdded, rows } = JSON.parse(added.stdout)
    assert.deepEqual([command, rowsAdded, rows], ['add', 20, 120])
    const removed = await spillway('remove data.spill --source old.svm')
    assert.match(removed.stdout, /^removed 100 rows.*\nstore: data.spill, 20 rows in 1 block /)
    for (const [line, status, message] of [
      ['remove data.spill', 2, /which rows are to be removed/],
      ['remove data.spill --label 1 --rows x', 2, /one at a time/],
      ['remove data.spill --label 5', 1, /has no rows of the label 5\n.*its labels are/],
      ['add new.svm nowhere.spill', 1, /cannot open nowhere.spill/],
      ['add missing.svm data.spill', 1, /missing.svm/],
    ] as const) {
      const outcome = await spillway(line)
      assert.equal(outcome.status, status, line)
      assert.match(outcome.stderr, message)
      assertPlainWords(outcome.stderr)
    }
  })

  test('a folder that cannot be written is told', { skip: bound().skip }, async t => {
    const cwd = mkdtempSync(join(root, 'cli-'))
    writeFileSync(join(cwd, 'old.svm'), asText(someRows(100, 10)))
    assert.equal((await run(['ingest', 'old.svm', 'data.spill', '-q'], { cwd })).status, 0)
    fs.chmodSync(join(cwd, 'data.spill'), 0o555)
    t.after(() => fs.chmodSync(join(cwd, 'data.spill'), 0o755))
    for (const words of [
      ['add', 'old.svm', 'data.spill'],
      ['remove', 'data.spill', '--label', '1'],
    ]) {
      const outcome = await run(words, { cwd, bound: true })
      assert.equal(outcome.status, 1)
      assert.equal(
        outcome.stderr,
        'spillway: cannot write into data.spill: permission denied\n' +
          '  copy the store to a place that can be written, and change the copy\n',
      )
      assertPlainWords(outcome.stderr)
    }
  })
})
