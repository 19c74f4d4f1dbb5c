// Models of a bundle against the same models alone, by the formulas on plain arrays: same rows, same order, same numbers.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { findLoss } from '../../src/losses/all-losses.ts'
import type { Loss } from '../../src/losses/loss.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { BUNDLE_GAP, BUNDLE_LANES, BUNDLE_LOSS } from '../../src/numeric/bundle-layout.ts'
import { SUMS_COUNT, SWEEP_ACTIVE, SWEEP_BYTES, SWEEP_INNER, SWEEP_ORDER } from '../../src/numeric/layouts.ts'
import { Bundle, type BundledProblem, bundleSizes, lanesFor } from '../../src/optimise/objectives/bundle.ts'
import { boxLoss, logisticLoss, type PlainProblem, type PlainSweep, sweepBox, sweepLogistic } from './dual-reference.ts'
import { allRowKinds, randomNumbers, seed, writeRow } from './reference.ts'

const FEATURES = 25
const CLASSES = 4
const FOLDS = 3

function near(found: number, expected: number, what: string): void {
  const size = Math.max(1, Math.abs(expected))
  assert.ok(Math.abs(found - expected) <= 1e-9 * size, `${what} is ${found}, expected ${expected}`)
}

interface Case {
  loss: string
  start: number
  rows: number
  models: number
  bias: number
  folds: boolean
}

/** Rows of every kind, some models with a fold held out, and each as a plain problem without those rows. */
function make(arena: Arena, { loss: name, start, rows, models, bias, folds }: Case) {
  const random = randomNumbers(start)
  const loss = findLoss(name) as Loss
  const table = arena.allocate(rows * 4 + 4, 'test')
  const foldsAt = folds ? arena.allocate(rows + 1, 'test') : 0
  const plain = Array.from({ length: rows }, (_, i) => {
    const kind = allRowKinds[Math.floor(random() * allRowKinds.length)]
    const indices = Array.from({ length: FEATURES }, (_, k) => k).filter(() => random() < 0.35)
    const palette = [0.5, -1.25, 2].map(Math.fround)
    const values = indices.map(() => (kind === 1 ? palette[Math.floor(random() * 3)] : Math.fround(random() * 4 - 2)))
    const ones = indices.map(() => 1)
    const scale = random() < 0.5 ? 1 : random() + 0.1
    const classNumber = Math.floor(random() * CLASSES)
    const entries = {
      indices,
      values:
        kind === allRowKinds[1]
          ? ones
          : kind === allRowKinds[2]
            ? values.map(v => palette[Math.abs(Math.floor(v)) % 3])
            : values,
    }
    arena.u32(table, rows)[i] = writeRow(arena, kind, entries, { scale, classNumber })
    if (folds) arena.bytes(foldsAt, rows)[i] = Math.floor(random() * FOLDS)
    return {
      indices,
      values: entries.values.map(x => x * scale),
      classNumber,
      fold: folds ? arena.bytes(foldsAt, rows)[i] : -1,
    }
  })
  const problems: BundledProblem[] = Array.from({ length: models }, () => ({
    loss,
    costPositive: [0.1, 1, 5][Math.floor(random() * 3)],
    costNegative: [0.2, 1][Math.floor(random() * 2)],
    bias,
    positive: Math.floor(random() * CLASSES),
    weightBits: 64,
    ...(folds && random() < 0.7 && { heldOut: Math.floor(random() * FOLDS) }),
  }))
  const lanes = lanesFor(models)
  const places = {
    alpha: arena.allocateZeroed(Math.max(rows, 1) * lanes * 16, 'dual variables'),
    weights: arena.allocateZeroed((FEATURES + 1) * lanes * 8, 'weights'),
  }
  const bundle = new Bundle(arena, { rows, weights: FEATURES }, problems, foldsAt, places)
  bundle.see({ table })
  if (loss.entropicDual) arena.numeric[`startEntropicBundle${bundle.lanes}`](bundle.at, rows)
  return { bundle, plain, problems, loss }
}

function alone(problem: BundledProblem, plain: ReturnType<typeof make>['plain'], loss: Loss): PlainProblem {
  const box = (cost: number) => loss.box?.(cost) ?? { bound: cost, diagonal: 0 }
  const [positive, negative] = [box(problem.costPositive), box(problem.costNegative)]
  const rows = plain
    .filter(({ fold }) => problem.heldOut === undefined || fold !== problem.heldOut)
    .map(({ indices, values, classNumber }) => ({ indices, values, positive: classNumber === problem.positive }))
  const own: PlainProblem = {
    rows,
    features: FEATURES,
    bias: problem.bias,
    boundPositive: positive.bound,
    boundNegative: negative.bound,
    diagonalPositive: positive.diagonal,
    diagonalNegative: negative.diagonal,
    logistic: loss.entropicDual === true,
    alpha: rows.map(() => 0),
    rest: rows.map(() => 0),
    w: new Array(FEATURES + 1).fill(0),
  }
  if (own.logistic) {
    for (const [i, row] of rows.entries()) {
      const cost = row.positive ? own.boundPositive : own.boundNegative
      own.alpha[i] = Math.min(0.001 * cost, 1e-8)
      own.rest[i] = cost - own.alpha[i]
      const step = row.positive ? own.alpha[i] : -own.alpha[i]
      for (const [k, index] of row.indices.entries()) own.w[index] += step * row.values[k]
      own.w[FEATURES] += step * own.bias
    }
  }
  return own
}

describe('a bundle of models', () => {
  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    it(`${loss}: sweeps, certificates and lengths are those of each model alone`, () => {
      const arena = new Arena()
      const mark = arena.mark()
      fc.assert(
        fc.property(
          fc.record({
            loss: fc.constant(loss),
            start: fc.integer(),
            rows: fc.integer({ min: 1, max: 40 }),
            models: fc.integer({ min: 1, max: BUNDLE_LANES }),
            bias: fc.constantFrom(0, 1, -0.5),
            folds: fc.boolean(),
          }),
          item => {
            arena.release(mark)
            const { bundle, plain, problems, loss: kind } = make(arena, item)
            const { rows } = item
            const random = randomNumbers(item.start + 1)
            const singles = problems.map(problem => alone(problem, plain, kind))
            const sweep = arena.allocateZeroed(SWEEP_BYTES, 'test')
            const order = arena.allocate(rows * 4, 'test')
            arena.setU32(sweep + SWEEP_ORDER, order)
            arena.setF64(sweep + SWEEP_INNER, 1e-6)
            for (let turn = 0; turn < 3; turn++) {
              const shuffled = Array.from({ length: rows }, (_, k) => k).sort(() => random() - 0.5)
              arena.u32(order, rows).set(shuffled)
              arena.setU32(sweep + SWEEP_ACTIVE, rows)
              arena.bytes(sweep + 8, 4).fill(0)
              arena.f64(bundle.at + BUNDLE_LOSS, BUNDLE_LANES).fill(0)
              arena.f64(bundle.at + BUNDLE_GAP, BUNDLE_LANES).fill(0)
              arena.numeric[`sweepBundle${bundle.lanes}`](bundle.at, sweep, Number.POSITIVE_INFINITY)
              for (const [k, single] of singles.entries()) {
                const places = new Map<number, number>()
                plain.forEach(({ fold }, i) => {
                  if (problems[k].heldOut === undefined || fold !== problems[k].heldOut) places.set(i, places.size)
                })
                const state: PlainSweep = {
                  order: shuffled.filter(i => places.has(i)).map(i => places.get(i)!),
                  active: places.size,
                  shrink: false,
                  upper: Number.POSITIVE_INFINITY,
                  lower: Number.NEGATIVE_INFINITY,
                  gradientMax: 0,
                  gradientMin: 0,
                  loss: 0,
                  gap: 0,
                  inner: 1e-6,
                }
                ;(single.logistic ? sweepLogistic : sweepBox)(single, state)
                near(arena.f64(bundle.at + BUNDLE_LOSS, 8)[k], state.loss, `loss of model ${k}`)
                near(arena.f64(bundle.at + BUNDLE_GAP, 8)[k], state.gap, `gap of model ${k}`)
                const w = bundle.copyWeights(k)
                for (const [j, x] of w.entries()) near(x, single.w[j], `weight ${j} of model ${k}`)
              }
            }
            const sums = arena.allocate((SUMS_COUNT + 1) * 64, 'test')
            arena.numeric[`evaluateBundle${bundle.lanes}`](bundle.at, 0, rows, sums)
            const lengths = bundle.squaredLengths()
            for (const [k, single] of singles.entries()) {
              near(
                lengths[k],
                single.w.reduce((sum, x) => sum + x * x, 0),
                `length of model ${k}`,
              )
              let losses = 0
              for (const row of single.rows) {
                const dot =
                  row.indices.reduce((sum, index, n) => sum + single.w[index] * row.values[n], 0) +
                  single.bias * single.w[FEATURES]
                const margin = row.positive ? dot : -dot
                const bound = row.positive ? single.boundPositive : single.boundNegative
                const diagonal = row.positive ? single.diagonalPositive : single.diagonalNegative
                losses += single.logistic ? bound * logisticLoss(margin) : boxLoss(1 - margin, bound, diagonal)
              }
              near(arena.f64(sums, 8)[k], losses, `certified loss of model ${k}`)
            }
          },
        ),
        { seed, numRuns: 150 },
      )
    })
  }

  it('models are dealt into bundles of at most eight, two at least for four or more', () => {
    for (let models = 1; models < 200; models++) {
      const sizes = bundleSizes(models)
      assert.equal(
        sizes.reduce((sum, size) => sum + size, 0),
        models,
      )
      assert.ok(sizes.every(size => size >= 1 && size <= BUNDLE_LANES))
      assert.ok(models < 4 || sizes.length >= 2)
    }
  })
})
