// The maps of additive kernels: worked examples, the compiled loop of tables against plain ones, how far products are from the
// kernels, what is refused, and training on such features in memory and over blocks.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError } from '../../src/errors.ts'
import type { ExpansionStep } from '../../src/features/expansion.ts'
import { parseExpansion } from '../../src/features/expansion-steps.ts'
import { scoreRow } from '../../src/model/model.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { EXPAND_BEYOND_CLIP } from '../../src/numeric/layouts.ts'
import { predict, predictRows } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { run } from '../cli/run.ts'
import { seed } from '../numeric/reference.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { expanded, type PlainRow, product, sparseRow } from './expanding.ts'

const arena = new Arena()
const mark = arena.mark()

const kernels = {
  'chi2-map': { kernel: (x: number, y: number) => (2 * x * y) / (x + y), mean: 0.0106, most: 0.0345, period: 0.66 },
  'intersection-map': { kernel: Math.min, mean: 0.0415, most: 0.138, period: 0.94 },
}

/** The rows with values of at least 0, of which every second is at most 1. */
const positive = (row: PlainRow): PlainRow => ({
  indices: row.indices,
  values: row.values.map((value, k) => Math.fround(Math.abs(value) / (k % 2 === 0 ? 100 : 1))),
})

/** The loop against ExpansionStep.expandRow; values above 1 take a logarithm and angles, whose last bit may differ. */
function sameAsPlain(text: string, rows: PlainRow[], features = parseExpansion(text)): void {
  for (const valueBytes of [4, 8] as const) {
    arena.release(mark)
    const round = valueBytes === 4 ? Math.fround : (x: number): number => x
    const found = expanded(text, rows, valueBytes, arena)
    rows.forEach((row, r) => {
      const plain = features.expandRow({ indices: row.indices.map(BigInt), values: row.values }, round)
      assert.deepEqual(found[r].indices, plain.indices.map(Number), `row ${r}`)
      const exact = row.values.every(value => value <= 1)
      found[r].values.forEach((value, k) => {
        const within = exact ? 0 : (valueBytes === 4 ? 1e-6 : 1e-14) * Math.max(1, ...row.values)
        assert.ok(Math.abs(value - plain.values[k]) <= within, `row ${r}: ${value} and ${plain.values[k]}`)
      })
    })
  }
}

for (const [name, { kernel, mean, most, period }] of Object.entries(kernels)) {
  describe(name, () => {
    it('makes three features of one: worked out by hand', () => {
      const spectrum = (l: number): number =>
        name === 'chi2-map' ? 2 / (Math.exp(Math.PI * l) + Math.exp(-Math.PI * l)) : 2 / Math.PI / (1 + 4 * l * l)
      const worked = (x: number): number[] => {
        const [first, pair] = [Math.sqrt(x * period * spectrum(0)), Math.sqrt(2 * x * period * spectrum(period))]
        return [first, pair * Math.cos(period * Math.log(x)), pair * Math.sin(period * Math.log(x))]
      }
      const row = { indices: [0, 2, 3, 7, 9], values: [0.25, 0.5004, 1e-9, 1, 40] }
      const [{ indices, values }] = expanded(name, [row], 8)
      // At 1 the sine is 0, and is left out.
      assert.deepEqual(indices, [0, 1, 2, 6, 7, 8, 9, 10, 11, 21, 22, 27, 28, 29])
      const expected = [worked(0.25), worked(0.5), worked(0.001), worked(1).slice(0, 2), worked(40)].flat()
      values.forEach((value, k) => {
        assert.ok(Math.abs(value - expected[k]) < 1e-14 * 40, `${value} ${expected[k]}`)
      })
      const steps = parseExpansion(name)
      assert.equal(steps.features(10), 30)
      assert.equal(steps.entries(5), 15)
      assert.deepEqual(
        [21, 22, 23].map(feature => steps.nameOf(feature, j => String(j + 1))),
        ['8(1)', '8(2)', '8(3)'],
      )
    })

    it('is the same as the plain loop, for any number of bins', () => {
      fc.assert(
        fc.property(
          fc.constantFrom('', ':2', ':7', ':100', ':65535'),
          fc.array(sparseRow(1_431_655_764).map(positive), { maxLength: 6 }),
          (bins, rows) => sameAsPlain(name + bins, rows),
        ),
        { seed, numRuns: 150 },
      )
      // Between two bins, just below 1, zeros, and rows longer than a piece.
      const edge = { indices: [0, 1, 2, 3, 4, 5], values: [0.25, 0.75, 1 - 2 ** -24, 0, 2 ** -149, 0.5 - 2 ** -25] }
      sameAsPlain(`${name}:2`, [edge])
      const long = { indices: [...Array(30_000).keys()], values: Array(30_000).fill(0.125) }
      sameAsPlain(name, [edge, long, { indices: [], values: [] }, edge, long])
    })

    it('has a product that is nearly the kernel', () => {
      const grid = Array.from({ length: 100 }, (_, k) => (k + 1) / 100)
      const rows = expanded(
        name,
        grid.map(x => ({ indices: [0], values: [x] })),
        8,
      )
      let [sum, largest] = [0, 0]
      rows.forEach((x, a) => {
        rows.forEach((y, b) => {
          const error = Math.abs(product(x, y) - kernel(grid[a], grid[b]))
          sum += error
          largest = Math.max(largest, error)
        })
      })
      assert.ok(sum / 1e4 < mean && largest < most, `${sum / 1e4} ${largest}`)
      // And homogeneous: 50 times the values, 50 times the product.
      const [x, y, x50, y50] = expanded(
        name,
        [0.2, 0.7, 10, 35].map(value => ({ indices: [0], values: [value] })),
        8,
      )
      assert.ok(Math.abs(product(x50, y50) - 50 * product(x, y)) < 1e-12)
    })

    it('refuses features whose numbers pass 2^32, unless they are hashed', () => {
      expanded(name, [{ indices: [1_431_655_763], values: [0.5] }])
      const beyond = { indices: [3, 1_431_655_764, 4_294_967_293], values: [0.5, 0.25, 0.125] }
      assert.throws(
        () => expanded(name, [beyond]),
        (error: SpillwayError) => {
          assert.match(error.message, /more than 1431655764 features, and with .*-map, which makes three of each/)
          assert.match(error.advice ?? '', /-map\+hash:22/)
          return true
        },
      )
      assert.throws(() => parseExpansion(name).features(1_431_655_765), SpillwayError)
      parseExpansion(name).features(1_431_655_764)
      sameAsPlain(`${name}+hash:12`, [beyond])
      sameAsPlain(`${name}:50+polynomial:2`, [{ indices: [3, 8], values: [0.5, 0.25] }])
    })

    it('refuses values below 0 and what is no number', () => {
      const said = (value: string) => (error: SpillwayError) => {
        assert.equal(
          error.message,
          `a row has the value ${value}; additive kernels (${name}) need values of at least 0`,
        )
        assert.match(error.advice ?? '', /^make values non-negative first, or train with --kernel/)
        return error instanceof SpillwayError
      }
      for (const [value, text] of [
        [-0.1, '-0.1'],
        [Number.NaN, 'NaN'],
        [Number.NEGATIVE_INFINITY, '-Infinity'],
        [Number.POSITIVE_INFINITY, 'Infinity'],
      ] as const) {
        const row = { indices: [1, 4, 5], values: [0.5, value, 1] }
        assert.throws(() => expanded(name, [{ indices: [1], values: [1] }, row]), said(text))
        assert.throws(() => parseExpansion(name).expandRow({ ...row, indices: row.indices.map(BigInt) }), said(text))
      }
    })
  })
}

describe('a table of its own', () => {
  /** A step around a table, as clipped values have it. */
  const clipping = (table: number[], width: number): ExpansionStep => ({
    ...parseExpansion('chi2-map').steps[0],
    valueBytes: before => before,
    loop: 'expandTable',
    settings: {
      table: Float64Array.from(table),
      width,
      bins: table.length / width - 1,
      beyond: EXPAND_BEYOND_CLIP,
    },
  })

  it('leaves out what is nearest to 0 and below, and takes what is above 1 for 1', () => {
    const step = clipping([9, 9, 1, -1, 2, 0, 3, -3, 4, -4], 2)
    const row = {
      indices: [0, 1, 2, 3, 4, 5, 6, 7],
      values: [-1, 0.124, 0.125, 0.5, 0.874, 0.875, 1e30, Number.NaN],
    }
    for (const valueBytes of [4, 8] as const) {
      assert.deepEqual(expanded([step], [row, { indices: [2], values: [-3] }], valueBytes), [
        { indices: [4, 5, 6, 8, 9, 10, 11, 12, 13], values: [1, -1, 2, 3, -3, 4, -4, 4, -4] },
        { indices: [], values: [] },
      ])
    }
  })

  it('has any width', () => {
    const width = fc.integer({ min: 1, max: 8 })
    fc.assert(
      fc.property(width, fc.integer({ min: 1, max: 50 }), fc.array(sparseRow(1000)), (width, bins, rows) => {
        const table = Array.from({ length: (bins + 1) * width }, (_, k) => Math.cos(k))
        arena.release(mark)
        const scaled = rows.map(({ indices, values }) => ({ indices, values: values.map(value => value / 80) }))
        const expected = scaled.map(({ indices, values }) => {
          const row: PlainRow = { indices: [], values: [] }
          values.forEach((value, entry) => {
            const bin = Math.floor(Math.min(Math.max(value, 0), 1) * bins + 0.5)
            for (let k = 0; k < width && bin > 0; k++) {
              row.indices.push(indices[entry] * width + k)
              row.values.push(table[bin * width + k])
            }
          })
          return row
        })
        assert.deepEqual(expanded([clipping(table, width)], scaled, 8, arena), expected)
      }),
      { seed, numRuns: 100 },
    )
  })

  it('must be as long as its bins say', () => {
    const step = clipping([0, 1, 2], 1)
    assert.throws(() => expanded([{ ...step, settings: { ...step.settings, bins: 3 } }], []), /a table of 3 values/)
  })
})

describe('training with the map of an additive kernel', () => {
  const folder = fastFolder()
  const options: TrainOptions = { expand: 'chi2-map', loss: 'squared-hinge', bias: 1, tolerance: 1e-6, threads: 2 }

  /** Histograms of 12 bins; one class has between 0.2 and 0.6 of it all in bin 1, which no linear model can say. */
  const histograms = (rows: number, start: number): string => {
    let state = start
    const random = (): number => {
      state = (state * 1103515245 + 12345) % 2147483648
      return state / 2147483648
    }
    const lines = Array.from({ length: rows }, () => {
      const weight = random()
      const others = Array.from({ length: 11 }, random)
      const sum = others.reduce((a, b) => a + b)
      const bins = [weight, ...others.map(value => (value / sum) * (1 - weight))]
      const label = weight > 0.2 && weight < 0.6 ? '+1' : '-1'
      return `${label} ${bins.map((value, k) => `${k + 1}:${value.toFixed(5)}`).join(' ')}`
    })
    return `${lines.join('\n')}\n`
  }

  it('gives the same optimum in memory and over blocks, and predicts', async () => {
    const data = folder.write('histograms.svm', histograms(400, 7))
    const store = join(folder.path, 'histograms.spill')
    await ingest(data, store, { blocks: 5 })
    const memory = await train(data, { ...options, solver: 'dual' }).result
    const blocks = await train(store, { ...options, solver: 'block' }).result
    for (const result of [memory, blocks]) {
      assert.equal(result.exitReason, 'converged')
      assert.equal(result.features, 36)
      assert.deepEqual(result.model.transforms.expand, { steps: 'chi2-map' })
    }
    assert.ok(Math.abs(memory.primal! - blocks.primal!) <= 3e-6 * memory.primal!, `${memory.primal} ${blocks.primal}`)
    const plain = await train(data, { ...options, expand: undefined, solver: 'dual' }).result
    const later = folder.write('later.svm', histograms(300, 11))
    const [before, after] = [await predict(later, plain.model), await predict(later, blocks.model)]
    assert.ok(before.accuracy < 0.75 && after.accuracy > 0.85, `${before.accuracy} ${after.accuracy}`)
    // A row by itself gets the score that it has in a file.
    const [line] = histograms(300, 11).split('\n')
    const entries = line
      .split(' ')
      .slice(1)
      .map(entry => entry.split(':').map(Number))
    const alone = scoreRow(
      memory.model,
      entries.map(([index]) => index - 1),
      entries.map(([, value]) => Math.fround(value)),
    )
    for await (const piece of predictRows(later, memory.model)) {
      assert.ok(Math.abs(piece.scores[0] - alone[0]) < 1e-5, `${piece.scores[0]} ${alone[0]}`)
      break
    }
  })

  it('refuses negative values in memory, over blocks, in predict and in the command', async () => {
    const data = folder.write('negative.svm', '+1 1:0.5 2:0.25\n-1 1:-0.5 3:1\n')
    const message = /a row has the value -0\.5; additive kernels \(chi2-map\) need values of at least 0/
    const refused = (error: SpillwayError): boolean =>
      error instanceof SpillwayError && message.test(error.message) && /non-negative first/.test(error.advice ?? '')
    const store = join(folder.path, 'negative.spill')
    await ingest(data, store)
    await assert.rejects(train(data, { ...options, solver: 'dual' }).result, refused)
    await assert.rejects(train(store, { ...options, solver: 'block' }).result, refused)
    const fine = folder.write('fine.svm', '+1 1:0.5 2:0.25\n-1 1:0.75 3:1\n')
    const { model } = await train(fine, options).result
    await assert.rejects(predict(data, model), refused)
    const words = ['train', data, '--expand', 'chi2-map', '--threads', '1']
    const { stderr, status } = await run(words, { cwd: folder.path })
    assert.equal(status, 1)
    assert.match(stderr, message)
    assert.match(stderr, /\n {2}make values non-negative first, or train with --kernel, which --scale minmax goes with/)
  })
})
