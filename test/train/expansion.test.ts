// Training on features made on the fly: the same optimum as on features that were written down, from text, from a store and
// from blocks that do not fit in memory; the same model in predict; and what is refused.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import { SpillwayError, UsageError } from '../../src/errors.ts'
import { parseExpansion } from '../../src/features/expansion-steps.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { type Model, predictLabel, scoreRow } from '../../src/model/model.ts'
import { encodeModel } from '../../src/model/own-file.ts'
import { predict, predictRows } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { letters } from '../features/expanding.ts'
import { abortAfter, fastFolder, memoryFor, threeClasses } from '../out-of-core/fixture.ts'
import { asPolynomial, asStrings, asWeightedDegree, type Labelled, motifStrings } from './letters.ts'

const folder = fastFolder()
const rows = motifStrings(600, 40, 5)
const later = motifStrings(200, 43, 6)
const DEGREE = 4
const expand = `weighted-degree:${DEGREE}`
const tolerance = 1e-6
let text: string
let store: string

before(async () => {
  text = folder.write('motif.txt', asStrings(rows))
  store = join(folder.path, 'motif.spill')
  await ingest(text, store, { blocks: 7 })
})

const resultOf = (data: string, options: TrainOptions): Promise<TrainResult> =>
  train(data, { tolerance, threads: 2, ...options }).result

function near(found: number | null, expected: number | null, within = 3e-6): void {
  assert.ok(
    found !== null && expected !== null && Math.abs(found - expected) <= within * Math.abs(expected),
    `${found} is not ${expected}`,
  )
}

async function scoresOf(data: string, model: Model): Promise<number[]> {
  const scores: number[] = []
  for await (const piece of predictRows(data, model)) scores.push(...piece.scores)
  return scores
}

describe('weighted degree features made on the fly', () => {
  for (const [name, options] of Object.entries<TrainOptions>({
    'hinge loss': {},
    'unit length, after the expansion': { normalize: 'unit', cost: 10 },
    'logistic loss and a bias': { loss: 'logistic', bias: 1, cost: 0.1 },
    'weights of 32 bits': { weights: 'f32', tolerance: 1e-5 },
  })) {
    it(`give the optimum of features that are written down, however the rows are kept: ${name}`, async () => {
      const written = folder.write(`written-${name}.svm`, asWeightedDegree(rows, DEGREE))
      const expected = await resultOf(written, { solver: 'dual', ...options })
      const memory = await memoryFor(store, 2, { expand, solver: 'block', ...options })
      const within = options.weights === 'f32' ? 3e-5 : 3e-6
      const runs: Record<string, TrainResult> = {
        'text in memory': await resultOf(text, { expand, solver: 'dual', ...options }),
        'store in memory': await resultOf(store, { expand, solver: 'dual', ...options }),
        block: await resultOf(store, { expand, solver: 'block', memory, ...options }),
        selective: await resultOf(store, { expand, solver: 'selective', ...options }),
        'blocks from text': await resultOf(text, {
          expand,
          solver: 'block',
          blocks: 5,
          store: join(folder.path, `from-text-${name}.spill`),
          ...options,
        }),
      }
      for (const [way, result] of Object.entries(runs)) {
        assert.equal(result.exitReason, 'converged', way)
        near(result.primal, expected.primal, within)
        assert.equal(result.nonzeros, expected.nonzeros, way)
        assert.equal(result.features, 40 * 340, way)
        assert.equal(result.model.inputFormat, 'label-string')
        assert.deepEqual(result.model.transforms.expand, { steps: expand })
      }
      assert.ok(runs['block'].blocks!.count === 7 && runs['block'].blocks!.read > 14)
    })
  }

  it('are applied by predict, which reads the same kind of text', async () => {
    const unseen = folder.write('later.txt', asStrings(later))
    const { model } = await resultOf(text, { expand, normalize: 'unit', cost: 10, bias: 1 })
    const blocks = await resultOf(store, { expand, normalize: 'unit', cost: 10, bias: 1, solver: 'block' })
    const path = join(folder.path, 'motif.model')
    await saveModel(path, model)
    const expected = later.map(({ string }) => {
      const { indices, values } = letters(string)
      return scoreRow(model, indices, values)[0]
    })
    for (const from of [model, await loadModel(path)]) {
      const found = await scoresOf(unseen, from)
      for (const [k, score] of found.entries()) assert.ok(Math.abs(score - expected[k]) < 1e-9)
    }
    // Fresh from blocks, with weights that are lent, and from its file.
    const lentPath = join(folder.path, 'lent.model')
    await saveModel(lentPath, blocks.model)
    assert.equal(blocks.model.weights.layout, 'lent')
    const fromFile = await scoresOf(unseen, await loadModel(lentPath))
    assert.deepEqual(await scoresOf(unseen, blocks.model), fromFile)
    for (const [k, score] of fromFile.entries()) assert.ok(Math.abs(score - expected[k]) < 1e-2)
    const { accuracy } = await predict(unseen, model)
    const right = later.filter(({ label }, k) => predictLabel(model, [expected[k]]).text === label).length
    assert.equal(accuracy, right / later.length)
    assert.ok(accuracy > 0.85, `${accuracy}`)
  })

  it('are the same bits for any number of threads, and after a run that was interrupted and resumed', async () => {
    const bytes = async (options: TrainOptions): Promise<Buffer> =>
      Buffer.from(encodeModel((await resultOf(store, { expand, ...options })).model))
    assert.ok((await bytes({ solver: 'dual', threads: 1 })).equals(await bytes({ solver: 'dual', threads: 3 })))
    const memory = await memoryFor(store, 2, { expand })
    const whole = await bytes({ solver: 'block', memory })
    const { result } = await abortAfter(store, { expand, solver: 'block', memory, tolerance }, 5)
    assert.equal(result.exitReason, 'interrupted')
    assert.ok(whole.equals(await bytes({ solver: 'block', memory, resume: true })))
  })

  it('train with methods without a dual, too, step by step as features that are written down', async () => {
    const written = join(folder.path, 'written.spill')
    await ingest(folder.write('written.svm', asWeightedDegree(rows, DEGREE)), written, { blocks: 7 })
    for (const options of [
      { solver: 'pegasos', maxPasses: 2 },
      { solver: 'one-pass', loss: 'squared-hinge' },
    ]) {
      const run = (data: string, more: TrainOptions): Promise<TrainResult> =>
        train(data, { normalize: 'unit', cost: 10, ...options, ...more }).result
      const [found, expected] = [await run(store, { expand }), await run(written, {})]
      near(found.primal, expected.primal, 1e-9)
      assert.equal(
        (await predict(text, found.model)).accuracy,
        (await predict(join(folder.path, 'written.svm'), expected.model)).accuracy,
      )
    }
  })

  it('of three classes have a vector each', async () => {
    const three: Labelled[] = motifStrings(300, 30, 8).map((row, k) => ({
      ...row,
      label: k % 3 === 0 ? '3' : row.label,
    }))
    const data = folder.write('three.txt', asStrings(three))
    const into = join(folder.path, 'three.spill')
    await ingest(data, into, { blocks: 3 })
    const memory = await resultOf(data, { expand, solver: 'dual', tolerance: 1e-5 })
    const blocks = await resultOf(into, { expand, solver: 'block', tolerance: 1e-5 })
    assert.equal(memory.model.vectors, 3)
    near(blocks.primal, memory.primal, 3e-5)
    const [a, b] = [await scoresOf(data, memory.model), await scoresOf(data, blocks.model)]
    for (const [k, score] of a.entries()) assert.ok(Math.abs(score - b[k]) < 0.05)
  })

  it('carry their dual variables over rows that are added and removed', async () => {
    const changed = join(folder.path, 'changed.spill')
    await ingest(text, changed, { blocks: 4 })
    await resultOf(changed, { expand, solver: 'block' })
    const more = folder.write('more.txt', asStrings(later))
    await addRows(more, changed)
    await removeRows(changed, { rows: Array.from({ length: 50 }, (_, k) => k + 1) })
    const run = train(changed, { expand, solver: 'block', tolerance })
    const reasons: string[] = []
    for await (const record of run) if (record.stage === 'plan') reasons.push(record.reason)
    assert.ok(
      reasons.some(reason => /started from the last training/.test(reason)),
      reasons.join(),
    )
    const expected = await resultOf(folder.write('kept.txt', asStrings([...rows.slice(50), ...later])), {
      expand,
      solver: 'dual',
    })
    near((await run.result).primal, expected.primal)
    await assert.rejects(
      addRows(folder.write('numbers.svm', '+1 1:1\n'), changed, { format: 'libsvm' }),
      /holds rows that came as label-string/,
    )
  })

  it('and hashed: kept names are those that occurred, from text and from blocks', async () => {
    const options: TrainOptions = { expand: `${expand}+hash:10`, keepNames: true }
    const [memory, blocks] = [
      await resultOf(text, { ...options, solver: 'dual' }),
      await resultOf(store, { ...options, solver: 'block' }),
    ]
    near(blocks.primal, memory.primal)
    assert.equal(memory.features, 1024)
    const expected = new Set<number>()
    for (const { string } of rows) {
      const { indices, values } = letters(string)
      for (const index of parseExpansion(expand).expandRow({ indices: indices.map(BigInt), values }).indices)
        expected.add(Number(index))
    }
    for (const { model } of [memory, blocks]) {
      assert.deepEqual(model.transforms.expand!.names, Uint32Array.from(expected).sort())
    }
    const without = await resultOf(text, { expand: options.expand, solver: 'dual' })
    assert.equal(without.model.transforms.expand!.names, undefined)
    near(without.primal, memory.primal)
  })
})

describe('polynomial features made on the fly', () => {
  it('give the optimum of products that are written down, from text, a store and blocks, hashed or not', async () => {
    const numbers = `${noisyRows(300, 9, 3)}\n`
    const data = folder.write('numbers.svm', numbers)
    const into = join(folder.path, 'numbers.spill')
    await ingest(data, into, { blocks: 5 })
    const options: TrainOptions = { cost: 0.05, bias: 1, tolerance: 1e-5 }
    const expected = await resultOf(folder.write('products.svm', asPolynomial(numbers)), { solver: 'dual', ...options })
    for (const [from, solver] of [
      [data, 'dual'],
      [into, 'dual'],
      [into, 'block'],
    ] as const) {
      const result = await resultOf(from, { expand: 'polynomial:2', solver, ...options })
      near(result.primal, expected.primal, 3e-5)
      assert.equal(result.nonzeros, expected.nonzeros)
    }
    // Hashed to so many places, hardly two of 54 features meet.
    const hashed = await resultOf(into, { expand: 'polynomial:2+hash:24', solver: 'block', ...options })
    near(hashed.primal, expected.primal, 3e-5)
    assert.equal(hashed.features, 2 ** 24)
    assert.ok((await predict(data, hashed.model)).accuracy > 0.6)
  })

  it('help where classes lie in two quarters each', async () => {
    const random = threeClasses(600, 4)
      .split('\n')
      .map(line => line.split(' ').slice(1))
    const data = folder.write(
      'quarters.svm',
      random
        .map(entries => {
          const [x, y] = entries.map(entry => Number(entry.split(':')[1]))
          return `${x * y > 0 ? '+1' : '-1'} ${entries.join(' ')}`
        })
        .join('\n'),
    )
    const plain = await resultOf(data, { cost: 10, tolerance: 1e-3 })
    const expanded = await resultOf(data, { cost: 10, tolerance: 1e-3, expand: 'polynomial:2' })
    const [before, after] = [await predict(data, plain.model), await predict(data, expanded.model)]
    assert.ok(before.accuracy < 0.65 && after.accuracy > 0.97, `${before.accuracy} ${after.accuracy}`)
  })
})

describe('what is refused about expansions', () => {
  const refused = async (run: () => Promise<unknown> | unknown, message: RegExp, advice = /./): Promise<void> => {
    await assert.rejects(
      async () => run(),
      (error: Error) => {
        assert.ok(error instanceof SpillwayError, String(error))
        assert.match(error.message, message)
        assert.match(error.advice ?? '', advice)
        return true
      },
    )
  }
  const into = (solver: string, name: string): { store?: string } =>
    solver === 'dual' ? {} : { store: join(folder.path, `${name}-${solver}.spill`) }
  const numbers = folder.write('plain.svm', '+1 1:1 2:2\n-1 1:-1 3:1\n')

  it('letters where there are none: in text, in a store, in predict', async () => {
    const message = /weighted-degree:4 makes features of letters, and the data is LIBSVM text/
    for (const solver of ['dual', 'block', 'auto']) {
      await refused(
        () => resultOf(numbers, { expand, solver, ...into(solver, 'none') }),
        message,
        /--format label-string/,
      )
    }
    const made = join(folder.path, 'plain.spill')
    await ingest(numbers, made)
    for (const solver of ['dual', 'block']) await refused(() => resultOf(made, { expand, solver }), message)
    const { model } = await resultOf(text, { expand })
    await refused(() => predict(numbers, model, { format: 'libsvm' }), message)
    await refused(() => predict(numbers, model, { format: 'auto' }), message)
    // By default it is read as strings, and is none.
    await refused(() => predict(numbers, model), /expected the end of the line after the string/)
  })

  it('scaling, for factors would be as many as the features', () =>
    refused(() => train(text, { expand, scale: 'minmax' }), /either scaled or expanded, not both/, /--normalize unit/))

  it('names of features that are not hashed', async () => {
    await refused(() => train(text, { expand, keepNames: true }), /names are kept of features that are hashed/, /hash/)
    await refused(() => train(text, { keepNames: true }).result, /nothing is hashed here/)
  })

  it('names of features that are too many', async () => {
    // 2^16 features on either side of each other make 4 billion products, in few rows but far apart.
    const wide = Array.from({ length: 40 }, (_, r) => {
      const indices = Array.from({ length: 60 }, (_, k) => 1 + ((k * 1531 + r * 977) % 90_000)).sort((a, b) => a - b)
      return `${r % 2 ? '+1' : '-1'} ${[...new Set(indices)].map(index => `${index}:1`).join(' ')}`
    })
    const data = folder.write('wide.svm', wide.join('\n'))
    await refused(
      () => resultOf(data, { expand: 'polynomial:2+hash:12', keepNames: true, solver: 'dual' }),
      /the names of the hashed features cannot be kept: they are scattered too widely/,
      /without --keep-names/,
    )
    const far = folder.write('far.svm', '+1 1:1 100000:2\n-1 1:-1 3:1\n')
    await refused(
      () => resultOf(far, { expand: 'polynomial:2+hash:12', keepNames: true, solver: 'dual' }),
      /their numbers go up to 5000150000, beyond 2\^32/,
    )
  })

  it('an expansion that does not exist, before anything is read', () => {
    assert.throws(() => train('no-such-file', { expand: 'wavelet:3' }), UsageError)
    assert.throws(() => train(text, { format: 'xlsx' }), /format is "xlsx"; expected one of auto, libsvm, label-string/)
  })

  it('text options for a store', async () => {
    await refused(() => resultOf(store, { format: 'label-string' }), /the option format is for reading text/, /^$|./)
  })

  it('products beyond 2^32, with the advice to hash them', async () => {
    const far = folder.write('beyond.svm', '+1 1:1 100000:2\n-1 1:-1 3:1\n')
    for (const solver of ['dual', 'block']) {
      await refused(
        () => resultOf(far, { expand: 'polynomial:2', solver, ...into(solver, 'beyond') }),
        /more than 92680 features/,
        /polynomial:2\+hash:22/,
      )
    }
  })
})

describe('a store of strings', () => {
  it('says what it holds', async () => {
    const { manifest } = await openStore(store)
    assert.equal(manifest.inputFormat, 'label-string')
    assert.equal(manifest.indexBase, 1)
    assert.equal(manifest.features, 40)
    assert.match(readFileSync(join(store, 'manifest.json'), 'utf8'), /"inputFormat": "label-string"/)
  })
  it('keeps the short form: two bits a letter', async () => {
    const many = folder.write(
      'many.txt',
      asStrings(motifStrings(5000, 200, 9).map(row => ({ ...row, string: row.string.replaceAll('N', 'A') }))),
    )
    const into = join(folder.path, 'many.spill')
    const { manifest, bytesWritten } = await ingest(many, into)
    assert.ok(bytesWritten / manifest.nonzeros < 0.3, `${bytesWritten / manifest.nonzeros} bytes a letter`)
  })
})
