// Weights of rows: a row of weight 2 counts as the row twice, in the losses, the certificate and the last line search.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { UsageError } from '../../src/errors.ts'
import { ingest, type TrainOptions, type TrainResult, train } from '../../src/index.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { fastFolder, threeClasses } from '../out-of-core/fixture.ts'

const folder = fastFolder()
let files = 0

function fileOf(lines: string[]): string {
  return folder.write(`rows-${++files}.svm`, `${lines.join('\n')}\n`)
}

const two = noisyRows(120, 10, 5).split('\n')
const three = threeClasses(120, 5).split('\n')
/** Whole numbers, so that rows can be repeated. */
const countsOf = (lines: string[]): number[] => lines.map((_, i) => [1, 2, 1, 3, 1][i % 5])

const losses = ['hinge', 'squared-hinge', 'logistic']
const common: TrainOptions = { solver: 'dual', threads: 1, tolerance: 1e-10, maxPasses: 1e6, cost: 0.3 }

async function trained(lines: string[], options: TrainOptions): Promise<TrainResult> {
  return train(fileOf(lines), { ...common, ...options }).result
}

/** The objective with weights is the objective with repeated rows. */
async function assertAsRepeated(lines: string[], options: TrainOptions, most = 1e-9): Promise<void> {
  const counts = countsOf(lines)
  const repeated = lines.flatMap((line, i) => Array.from({ length: counts[i] }, () => line))
  const weighted = await trained(lines, { ...options, rowWeights: counts })
  const expected = await trained(repeated, options)
  assert.equal(weighted.exitReason, 'converged')
  assert.ok(
    Math.abs(weighted.primal! - expected.primal!) <= most * expected.primal!,
    `${weighted.primal} ${expected.primal}`,
  )
  const plain = await trained(lines, options)
  assert.ok(Math.abs(plain.primal! - expected.primal!) > 0.01 * expected.primal!, 'weights matter')
}

/** Weights and certificate, to the bit. */
function assertSame(got: TrainResult, expected: TrainResult): void {
  const bits = ({ primal, dual, gap, supportVectors, exitReason, passes, model }: TrainResult): unknown => ({
    ...{ primal, dual, gap, supportVectors, exitReason, passes },
    ...{ weights: model.weights, biasWeights: model.biasWeights },
  })
  assert.deepEqual(bits(got), bits(expected))
}

describe('weights of rows', () => {
  for (const loss of losses) {
    it(`stand for repeated rows, two classes, ${loss}`, () => assertAsRepeated(two, { loss }))
    it(`and with class weights and a bias, ${loss}`, () =>
      assertAsRepeated(two, { loss, bias: 1, classWeights: { '+1': 2 } }))
    it(`and of three classes, which are trained side by side, ${loss}`, () => assertAsRepeated(three, { loss }))
  }
  it('and of all classes at once', () => assertAsRepeated(three, { multiclass: 'crammer-singer' }))
  it('and of all classes at once, by their softmax', () =>
    assertAsRepeated(three, { multiclass: 'softmax', solver: 'newton' }))

  for (const [solver, loss, more] of [
    ['newton', 'hinge', {}],
    ['newton', 'logistic', { bias: 1 }],
    ['lbfgs', 'squared-hinge', {}],
    ['lbfgs', 'logistic', {}],
    ['primal-coordinate', 'squared-hinge', { bias: 1 }],
    ['primal-coordinate', 'logistic', { classWeights: { '+1': 2 } }],
    ['primal-coordinate', 'squared-hinge', { regularizer: 'l1', cost: 3 }],
    ['primal-coordinate', 'logistic', { regularizer: 'l1', cost: 3, bias: 1 }],
  ] as [string, string, TrainOptions][]) {
    it(`and for ${solver}, ${JSON.stringify({ loss, ...more })}`, () =>
      assertAsRepeated(two, { solver, loss, tolerance: 1e-8, ...more }, 1e-7))
  }

  it('and where outliers are given up', () =>
    assertAsRepeated(two, { loss: 'ramp', tolerance: 1e-8, outlierStart: 'full' }, 1e-6))

  // Powers of two are the same as that much more cost, to the bit.
  const side = (line: string): number => (line.startsWith('+1') ? 8 : 2)
  for (const [name, lines, weightOf, same, options] of [
    ['two classes', two, side, { cost: 200, classWeights: { '+1': 4 } }, {}],
    ['three classes', three, () => 4, { cost: 400 }, {}],
    ['all classes at once', three, () => 4, { cost: 400 }, { multiclass: 'crammer-singer' }],
  ] as [string, string[], (line: string) => number, TrainOptions, TrainOptions][]) {
    it(`count in the last line search of a run that is cut short, ${name}`, async () => {
      const short: TrainOptions = { ...options, tolerance: 1e-9, maxPasses: 1, cost: 100 }
      const weighted = await trained(lines, { ...short, rowWeights: Float64Array.from(lines, weightOf) })
      assert.equal(weighted.exitReason, 'max-passes')
      assertSame(weighted, await trained(lines, { ...short, ...same }))
    })
  }

  for (const loss of losses) {
    it(`of 1 change no bit, ${loss}`, async () => {
      const rowWeights = two.map(() => 1)
      const options: TrainOptions = { loss, tolerance: 1e-4 }
      const [got, expected] = [await trained(two, { ...options, rowWeights }), await trained(two, options)]
      assertSame(got, expected)
    })
  }

  it('and as f32 weights are trained', async () => {
    const options: TrainOptions = { weights: 'f32', tolerance: 1e-3 }
    const rowWeights = two.map(() => 4)
    const [got, expected] = [
      await trained(two, { ...options, rowWeights }),
      await trained(two, { ...options, cost: 1.2 }),
    ]
    assertSame(got, expected)
  })
})

describe('weights of rows are refused', () => {
  const refused = (work: () => Promise<unknown>, words: RegExp): Promise<void> =>
    assert.rejects(work, (error: UsageError) => {
      assert.ok(error instanceof UsageError, `${error}`)
      assert.match(`${error.message}\n${error.advice}`, words)
      return true
    })
  const ones = two.map(() => 1)

  it('when there are more or fewer than rows', async () => {
    for (const rowWeights of [[], ones.slice(1), [...ones, 1]]) {
      await refused(
        () => trained(two, { rowWeights }),
        new RegExp(`^rowWeights has ${rowWeights.length} numbers, and the data has 120 rows\\ngive one number a row`),
      )
    }
    const rowWeights = ones
    await refused(
      () => trained([...two.slice(1), '1 x'], { rowWeights, onBadRow: 'skip' }),
      /has 120 numbers, and the data has 119 rows, without 1 that cannot be read/,
    )
  })

  it('when one is not a number above 0', async () => {
    for (const weight of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const rowWeights = ones.with(6, weight)
      await refused(async () => trained(two, { rowWeights }), new RegExp(`the weight of row 7 is ${weight}; expected`))
    }
    const rowWeights = 'heavy' as unknown as number[]
    await refused(async () => trained(two, { rowWeights }), /rowWeights is string; expected an array of numbers/)
  })

  it('by what does not know them, or not in the order of the text', async () => {
    for (const solver of ['block', 'selective', 'stream', 'pegasos']) {
      await refused(
        () => trained(two, { solver, rowWeights: ones, loss: 'hinge' }),
        new RegExp(`^the option rowWeights is not compatible with solver ${solver}: it goes by the order of rows`),
      )
    }
    const path = fileOf(two)
    await refused(
      () => train(path, { solver: 'newton', loss: 'logistic', rowWeights: ones, store: `${path}.spill` }).result,
      /^the option rowWeights is not compatible with solver newton: [\s\S]*--weight names, or Vowpal Wabbit text$/,
    )
    await refused(
      () => trained(two, { solver: 'one-pass', rowWeights: ones, loss: 'squared-hinge' }),
      /^weights of rows are not compatible with solver one-pass: it knows one cost for all rows/,
    )
  })

  it('of a store, whose rows have another order', async () => {
    const store = join(folder.path, 'rows.spill')
    await ingest(fileOf(two), store, { threads: 1 })
    await refused(() => train(store, { solver: 'dual', rowWeights: ones }).result, /goes by the order of rows in text/)
  })
})
