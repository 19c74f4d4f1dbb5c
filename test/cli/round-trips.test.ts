// The same answer by different ways: threads, stores, compression, scaling, file formats.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { loadModel } from '../../src/model/files.ts'
import { scoreRow } from '../../src/model/model.ts'
import { noLiblinear } from '../train/liblinear.ts'
import { good, inFolder, newFolder, run } from './run.ts'
import { asText, randomNumbers, type SomeRow, someRows } from './some-data.ts'

const lines = (text: string): string[] => text.trimEnd().split('\n')

/** Labels and scores as predict --scores writes them. */
async function scoresOf(cwd: string, data: string, model: string): Promise<{ labels: string[]; scores: number[][] }> {
  const { stdout } = await good(['predict', data, model, '--scores', '-q'], { cwd })
  const words = lines(stdout).map(line => line.split(' '))
  return { labels: words.map(([label]) => label), scores: words.map(([, ...scores]) => scores.map(Number)) }
}

function assertClose(found: number[][], expected: number[][], tolerance: number): void {
  assert.equal(found.length, expected.length)
  for (const [r, row] of expected.entries()) {
    for (const [k, score] of row.entries()) {
      const difference = Math.abs(found[r][k] - score)
      assert.ok(difference <= tolerance * Math.max(1, Math.abs(score)), `row ${r}: ${found[r][k]} instead of ${score}`)
    }
  }
}

describe('many chunks and several threads', { concurrency: 2 }, () => {
  let cwd = ''
  before(async () => {
    cwd = newFolder()
    // Some 6 MiB of text: three chunks of it, and features enough to be renumbered.
    const words = ['generate', '--like', 'kddb', '--rows', '30000', 'train.svm', '--features', '300000', '-q']
    await good(words, { cwd })
    const { bytes } = JSON.parse((await good(['inspect', 'train.svm', '--json', '-q'], { cwd })).stdout)
    assert.ok(bytes > 3 * 2 ** 21, `the data has ${bytes} bytes: too few for several chunks`)
  })
  after(() => rmSync(cwd, { recursive: true, force: true }))

  it('give the same model to the byte for the same seed, whatever the number of threads', async () => {
    const models: Buffer[] = []
    for (const threads of ['1', '2', '3']) {
      const out = `threads-${threads}.model`
      await good(['train', 'train.svm', out, '--threads', threads, '--tolerance', '0.01', '--seed', '5', '-q'], { cwd })
      models.push(readFileSync(join(cwd, out)))
    }
    assert.ok(models[0].equals(models[1]), '1 and 2 threads')
    assert.ok(models[0].equals(models[2]), '1 and 3 threads')
    await good(['train', 'train.svm', 'again.model', '--tolerance', '0.01', '--seed', '5', '-q'], { cwd })
    assert.ok(models[0].equals(readFileSync(join(cwd, 'again.model'))), 'a second run')
    await good(['train', 'train.svm', 'other.model', '--tolerance', '0.01', '--seed', '6', '-q'], { cwd })
    assert.equal(models[0].equals(readFileSync(join(cwd, 'other.model'))), false, 'the seed is in the model')
  })

  it('give predictions in the order of the input', async () => {
    const random = randomNumbers(3)
    const expected = Array.from({ length: 400_000 }, () => (random() < 0.5 ? '+1' : '-1'))
    writeFileSync(
      join(cwd, 'order.svm'),
      expected.map(label => `${label} ${label === '+1' ? '1:1' : '2:0.25 7:1'}\n`).join(''),
    )
    writeFileSync(join(cwd, 'two.svm'), '+1 1:1\n-1 2:1\n')
    await good(['train', 'two.svm', 'two.model', '-q'], { cwd })
    const text = `${expected.join('\n')}\n`
    for (const threads of ['1', '2', '3']) {
      const { stdout } = await good(['predict', 'order.svm', 'two.model', '--threads', threads, '-q'], { cwd })
      assert.ok(stdout === text, `${threads} threads`)
    }
    await good(['predict', 'order.svm', 'two.model', 'out.txt', '-q'], { cwd })
    assert.ok(readFileSync(join(cwd, 'out.txt'), 'utf8') === text, 'to a file')
  })

  it('agree between text and store', async () => {
    const settings = ['--tolerance', '1e-4', '--cost', '0.1', '-q', '--json']
    const text = JSON.parse((await good(['train', 'train.svm', 'text.model', ...settings], { cwd })).stdout)
    await good(['ingest', 'train.svm', 'train.spill', '--blocks', '3', '-q'], { cwd })
    const store = JSON.parse((await good(['train', 'train.spill', 'store.model', ...settings], { cwd })).stdout)
    for (const field of ['rows', 'features', 'nonzeros', 'classes']) assert.equal(store[field], text[field], field)
    assert.ok(Math.abs(store.primal - text.primal) <= 2e-4 * text.primal, `${store.primal} and ${text.primal}`)
    const [one, other] = [
      await scoresOf(cwd, 'train.svm', 'text.model'),
      await scoresOf(cwd, 'train.svm', 'store.model'),
    ]
    // Both are within the tolerance of one optimum, so only rows on the border may differ.
    const differ = one.labels.filter((label, k) => label !== other.labels[k] && Math.abs(one.scores[k][0]) > 0.02)
    assert.deepEqual(differ, [])
  })
})

describe('ways to the same model', { concurrency: 3 }, () => {
  it('a store in the order of the text gives the weights of the text', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(500, 30)))
      await good(['ingest', 'a.svm', 'a.spill', '--split', 'sequential', '--blocks', '1', '-q'], { cwd })
      await good(['train', 'a.svm', 'text.model', '-q'], { cwd })
      await good(['train', 'a.spill', 'store.model', '-q'], { cwd })
      const [text, store] = [await loadModel(join(cwd, 'text.model')), await loadModel(join(cwd, 'store.model'))]
      assert.deepEqual(store.weights, text.weights)
      assert.deepEqual(store.labels, text.labels)
      assert.deepEqual(store.certificate, text.certificate)
    }))

  it('gzip, zstd and plain text give the same bytes', () =>
    inFolder(async cwd => {
      const text = asText(someRows(500, 30))
      const models: Buffer[] = []
      // The same name in three folders: the model keeps the name of its source.
      for (const [folder, bytes] of [
        ['plain', text],
        ['gzip', gzipSync(text)],
        ['zstd', zstdCompressSync(text)],
      ] as const) {
        mkdirSync(join(cwd, folder))
        writeFileSync(join(cwd, folder, 'a'), bytes)
        await good(['train', 'a', '-q'], { cwd: join(cwd, folder) })
        models.push(readFileSync(join(cwd, folder, 'a.model')))
      }
      assert.ok(models[0].equals(models[1]), 'gzip')
      assert.ok(models[0].equals(models[2]), 'zstd')
    }))

  it('standard input and two files give the weights of one file', () =>
    inFolder(async cwd => {
      const rows = someRows(400, 30)
      writeFileSync(join(cwd, 'all'), asText(rows))
      writeFileSync(join(cwd, 'first'), asText(rows.slice(0, 150)))
      writeFileSync(join(cwd, 'second'), asText(rows.slice(150)))
      await good(['train', 'all', 'all.model', '-q', '-e', '1e-7'], { cwd })
      await good(['train', 'first', 'second', 'two.model', '-q', '-e', '1e-7'], { cwd })
      await good(['train', '-', 'in.model', '-q', '-e', '1e-7'], { cwd, stdin: asText(rows) })
      const [all, two, stdin] = await Promise.all(
        ['all', 'two', 'in'].map(name => loadModel(join(cwd, `${name}.model`))),
      )
      assert.deepEqual(stdin.weights, all.weights)
      assert.deepEqual(two.weights, all.weights)
      assert.deepEqual(two.data!.sources, ['first', 'second'])
    }))

  it('indices that count from 0 give the weights of those that count from 1', () =>
    inFolder(async cwd => {
      const rows = someRows(200, 10)
      writeFileSync(join(cwd, 'one.svm'), asText(rows))
      const shifted = rows.map(({ label, entries }) => ({ label, entries: entries.map(([j, v]) => [j - 1, v]) }))
      writeFileSync(join(cwd, 'zero.svm'), asText(shifted as SomeRow[]))
      await good(['train', 'one.svm', '-q'], { cwd })
      await good(['train', 'zero.svm', '-q', '--index-base', '0'], { cwd })
      const [one, zero] = [await loadModel(join(cwd, 'one.svm.model')), await loadModel(join(cwd, 'zero.svm.model'))]
      assert.deepEqual([one.indexBase, zero.indexBase], [1, 0])
      assert.deepEqual(zero.weights, one.weights)
      const [a, b] = [
        await scoresOf(cwd, 'one.svm', 'one.svm.model'),
        await scoresOf(cwd, 'zero.svm', 'zero.svm.model'),
      ]
      assert.deepEqual(a, b)
    }))

  for (const kind of ['minmax', 'standard']) {
    it(`--scale ${kind} on raw data is training on data scaled before`, () =>
      inFolder(async cwd => {
        const features = 12
        const raw = someRows(300, features).map(({ label, entries }) => ({
          label,
          // Each feature in a unit of its own.
          entries: entries.map(([j, v]) => [j, Number((v * 3 ** (j - 6)).toPrecision(6))] as [number, number]),
        }))
        writeFileSync(join(cwd, 'raw.svm'), asText(raw))
        await good(['train', 'raw.svm', 'raw.model', '--scale', kind, '-e', '1e-9', '-q', '--values', 'f64'], { cwd })
        const model = await loadModel(join(cwd, 'raw.model'))
        assert.equal(model.transforms.scale!.kind, kind)
        const { factors } = model.transforms.scale!
        const factorOf = (j: number): number => factors.values[j - 1]
        for (let j = 1; j <= features; j++) {
          const column = raw.map(({ entries }) => entries.find(([feature]) => feature === j)?.[1] ?? 0)
          const mean = column.reduce((sum, v) => sum + v, 0) / column.length
          const expected =
            kind === 'minmax'
              ? Math.max(...column.map(Math.abs))
              : Math.sqrt(column.reduce((sum, v) => sum + (v - mean) ** 2, 0) / column.length)
          assert.ok(Math.abs(factorOf(j) * expected - 1) < 1e-5, `feature ${j}: ${factorOf(j)}, 1/${expected}`)
        }
        const scaled = raw.map(({ label, entries }) => ({
          label,
          entries: entries.map(([j, v]) => [j, v * factorOf(j)] as [number, number]),
        }))
        writeFileSync(join(cwd, 'scaled.svm'), asText(scaled))
        await good(['train', 'scaled.svm', 'scaled.model', '-e', '1e-9', '-q'], { cwd })
        const [one, other] = [
          await scoresOf(cwd, 'raw.svm', 'raw.model'),
          await scoresOf(cwd, 'scaled.svm', 'scaled.model'),
        ]
        assertClose(one.scores, other.scores, 1e-3)
      }))
  }

  it('--normalize unit on raw data is training on unit rows', () =>
    inFolder(async cwd => {
      const raw = someRows(300, 12)
      const unit = raw.map(({ label, entries }) => {
        const norm = Math.hypot(...entries.map(([, v]) => v)) || 1
        return { label, entries: entries.map(([j, v]) => [j, v / norm] as [number, number]) }
      })
      writeFileSync(join(cwd, 'raw.svm'), asText(raw))
      writeFileSync(join(cwd, 'unit.svm'), asText(unit))
      await good(['train', 'raw.svm', 'raw.model', '--normalize', 'unit', '-e', '1e-9', '-q'], { cwd })
      await good(['train', 'unit.svm', 'unit.model', '-e', '1e-9', '-q'], { cwd })
      const [one, other] = [await scoresOf(cwd, 'raw.svm', 'raw.model'), await scoresOf(cwd, 'unit.svm', 'unit.model')]
      assertClose(one.scores, other.scores, 1e-3)
      // The same row ten times as long gets the same score.
      const long = raw.map(({ label, entries }) => ({ label, entries: entries.map(([j, v]) => [j, v * 10]) }))
      writeFileSync(join(cwd, 'long.svm'), asText(long as SomeRow[]))
      assertClose((await scoresOf(cwd, 'long.svm', 'raw.model')).scores, one.scores, 1e-5)
    }))

  it('--class-weight W of a class is its rows W times over', () =>
    inFolder(async cwd => {
      const rows = someRows(200, 10)
      writeFileSync(join(cwd, 'a.svm'), asText(rows))
      writeFileSync(join(cwd, 'b.svm'), asText([...rows, ...rows.filter(({ label }) => label === 1)]))
      await good(['train', 'a.svm', '-q', '-e', '1e-9', '--class-weight', '+1=2'], { cwd })
      await good(['train', 'b.svm', '-q', '-e', '1e-9'], { cwd })
      const [one, other] = [await scoresOf(cwd, 'a.svm', 'a.svm.model'), await scoresOf(cwd, 'a.svm', 'b.svm.model')]
      assertClose(one.scores, other.scores, 1e-3)
      await good(['train', 'a.svm', 'll.model', '-q', '-e', '1e-9', '-w1', '2'], { cwd })
      assert.deepEqual(
        (await loadModel(join(cwd, 'll.model'))).weights,
        (await loadModel(join(cwd, 'a.svm.model'))).weights,
      )
    }))

  it('feature numbers up to 4294967294 train and predict in little memory', () =>
    inFolder(async cwd => {
      const rows = '+1 5:1 4294967294:1\n-1 6:1 4294967293:1\n+1 5:1\n-1 4000000000:2\n'
      writeFileSync(join(cwd, 'a.svm'), rows)
      const line = JSON.parse((await good(['train', 'a.svm', '--json', '-q'], { cwd })).stdout)
      assert.equal(line.features, 4294967294)
      assert.ok(line.peakMemoryBytes < 600e6, `${line.peakMemoryBytes} bytes`)
      assert.ok(readFileSync(join(cwd, 'a.svm.model')).length < 10_000)
      writeFileSync(join(cwd, 'b.svm'), '+1 4294967294:1\n-1 4294967293:1\n-1 4000000000:1 4000000001:5\n+1 1:1 5:1\n')
      const { labels } = await scoresOf(cwd, 'b.svm', 'a.svm.model')
      assert.deepEqual(labels, ['+1', '-1', '-1', '+1'])
    }))

  it('indices that count from 0 end one earlier, which is told while they are read', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), '+1 0:1 4294967293:1\n-1 6:1\n')
      const line = JSON.parse((await good(['train', 'a.svm', '--json', '-q'], { cwd })).stdout)
      assert.equal(line.features, 4294967294)
      writeFileSync(join(cwd, 'b.svm'), '+1 0:1 4294967294:1\n-1 6:1\n')
      for (const words of [
        ['train', 'b.svm'],
        ['ingest', 'b.svm', 'b.spill'],
        ['train', 'b.svm', '--solver', 'block'],
      ]) {
        const { status, stderr } = await run([...words, '-q'], { cwd })
        assert.equal(status, 1)
        const found = 'b.svm, line 1, column 8: found "4294967294:1"'
        const expected = 'expected an index of at most 4294967293, for the indices of this data count from 0'
        assert.equal(stderr, `spillway: ${found}, ${expected}\n`)
      }
      assert.ok(!existsSync(join(cwd, 'b.svm.model')))
    }))

  it('a negative bias means none, however it is spelled', () =>
    inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(60, 5)))
      await good(['train', 'a.svm', 'none.model', '-q'], { cwd })
      for (const words of [['--bias', '-1'], ['-B', '-1'], ['-B-1'], ['--bias=-0.5'], ['-B', '0']]) {
        await good(['train', 'a.svm', 'a.model', '-q', ...words], { cwd })
        assert.deepEqual(readFileSync(join(cwd, 'a.model')), readFileSync(join(cwd, 'none.model')), words.join(' '))
      }
      const accuracies = []
      for (const words of [[], ['-B', '-1'], ['--bias', '-1']]) {
        const { stdout } = await good(['cross-validate', 'a.svm', '--json', '-q', ...words], { cwd })
        accuracies.push(JSON.parse(stdout).perFold)
      }
      assert.deepEqual(accuracies[1], accuracies[0])
      assert.deepEqual(accuracies[2], accuracies[0])
    }))

  it('predict scores as the library does, unknown features left out', () =>
    inFolder(async cwd => {
      const rows = someRows(100, 15, { classes: 3 })
      writeFileSync(join(cwd, 'a.svm'), asText(rows))
      await good(['train', 'a.svm', '-q', '-B', '1'], { cwd })
      const more = rows.map(({ label, entries }) => ({ label, entries: [...entries, [99, 7] as [number, number]] }))
      writeFileSync(join(cwd, 'b.svm'), asText(more))
      const model = await loadModel(join(cwd, 'a.svm.model'))
      const expected = rows.map(({ entries }) => [
        ...scoreRow(
          model,
          entries.map(([j]) => j - 1),
          entries.map(([, v]) => Math.fround(v)),
        ),
      ])
      for (const data of ['a.svm', 'b.svm'])
        assertClose((await scoresOf(cwd, data, 'a.svm.model')).scores, expected, 1e-9)
    }))
})

describe('LIBLINEAR', { concurrency: 2 }, () => {
  for (const [name, rows] of [
    ['two classes', someRows(300, 20)],
    ['three classes', someRows(300, 20, { classes: 3 })],
  ] as const) {
    it(`${name}: converted there and back, the labels stay`, () =>
      inFolder(async cwd => {
        writeFileSync(join(cwd, 'a.svm'), asText(rows))
        await good(['train', 'a.svm', 'a.model', '-B', '1', '--scale', 'minmax', '-q'], { cwd })
        await good(['convert', 'a.model', 'a.ll', '--to', 'liblinear'], { cwd })
        await good(['convert', 'a.ll', 'back.model', '--to', 'spillway'], { cwd })
        const outs = []
        for (const model of ['a.model', 'a.ll', 'back.model']) outs.push(await scoresOf(cwd, 'a.svm', model))
        assert.deepEqual(outs[1].labels, outs[0].labels)
        assert.deepEqual(outs[2].labels, outs[0].labels)
        // Scaled values are rounded to 32 bits; scaled weights are not.
        assertClose(outs[2].scores, outs[0].scores, 1e-6)
      }))

    it(`${name}: liblinear-predict gives the labels that predict gives`, { skip: noLiblinear }, () =>
      inFolder(async cwd => {
        writeFileSync(join(cwd, 'a.svm'), asText(rows))
        await good(['train', '-s', '3', '-B', '1', '-q', 'a.svm', 'a.model'], { cwd })
        await good(['convert', 'a.model', 'a.ll', '--to', 'liblinear'], { cwd })
        const { status, stderr } = spawnSync('liblinear-predict', ['a.svm', 'a.ll', 'theirs.txt'], { cwd })
        assert.equal(status, 0, String(stderr))
        await good(['predict', 'a.svm', 'a.model', 'ours.txt', '-q'], { cwd })
        const numbers = (file: string): number[] => lines(readFileSync(join(cwd, file), 'utf8')).map(Number)
        assert.deepEqual(numbers('ours.txt'), numbers('theirs.txt'))
      }),
    )

    it(`${name}: liblinear-train finds the same optimum`, { skip: noLiblinear }, () =>
      inFolder(async cwd => {
        writeFileSync(join(cwd, 'a.svm'), asText(rows))
        const common = ['-s', '1', '-c', '0.5', '-B', '1', '-w1', '2']
        await good(['train', ...common, '-e', '1e-8', '-q', 'a.svm', 'a.model'], { cwd })
        const words = [...common, '-e', '1e-6', '-q', 'a.svm', 'their.model']
        const { status, stderr } = spawnSync('liblinear-train', words, { cwd })
        assert.equal(status, 0, String(stderr))
        const [ours, theirs] = [await scoresOf(cwd, 'a.svm', 'a.model'), await scoresOf(cwd, 'a.svm', 'their.model')]
        // LIBLINEAR's columns follow the order in which labels appear, and with two classes its score may be for the other.
        if (name === 'two classes') {
          const flip = ours.labels.findIndex((_, k) => Math.abs(ours.scores[k][0]) > 0.1)
          const sign = Math.sign(ours.scores[flip][0]) * Math.sign(theirs.scores[flip][0])
          assertClose(
            theirs.scores.map(([s]) => [s * sign]),
            ours.scores,
            1e-2,
          )
        }
        const same = ours.labels.filter((label, k) => Number(label) === Number(theirs.labels[k])).length
        assert.ok(same >= 0.995 * rows.length, `${same} of ${rows.length} labels are the same`)
      }),
    )
  }
})
