// Dual variables carried on: w stays what they make of the rows, the dual objective never falls, and a point that is not taken
// leaves no trace.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { findLoss } from '../../src/losses/all-losses.ts'
import type { Loss } from '../../src/losses/loss.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { BundleFields } from '../../src/numeric/fields/bundle.ts'
import { PROBLEM_ALPHA, PROBLEM_WEIGHTS, ROW_KIND_F32 } from '../../src/numeric/layouts.ts'
import { Bundle, type BundledProblem, lanesFor } from '../../src/optimise/objectives/bundle.ts'
import { boxesOf } from '../../src/optimise/objectives/problem.ts'
import { type PlainProblem, writeProblem } from './dual-reference.ts'
import { randomNumbers, seed, writeRow } from './reference.ts'

const FEATURES = 12

interface Case {
  loss: string
  start: number
  rows: number
  bias: number
  weight: number
  share: number
  /** How far dual variables moved in the last sweep, against the box. */
  far: number
}

const anyCase = (loss: string): fc.Arbitrary<Case> =>
  fc.record({
    loss: fc.constant(loss),
    start: fc.integer(),
    rows: fc.integer({ min: 1, max: 40 }),
    bias: fc.constantFrom(0, 1, -0.5),
    weight: fc.constantFrom(1, 1, 3),
    share: fc.constantFrom(0, 0.25, 0.6, 0.99),
    far: fc.constantFrom(0.001, 0.05, 1),
  })

type Plain = Omit<PlainProblem, 'features'>

/** Rows, and one or more models' dual variables now and before. */
function make(arena: Arena, item: Case, models: number) {
  const random = randomNumbers(item.start)
  const loss = findLoss(item.loss) as Loss
  const settings: BundledProblem = {
    ...{ loss, costPositive: item.weight, costNegative: 1, bias: item.bias, positive: 1, weightBits: 64 },
  }
  const { positive, negative } = boxesOf(settings)
  const table = arena.allocate(item.rows * 4, 'test')
  const rows = Array.from({ length: item.rows }, (_, i) => {
    const indices = Array.from({ length: FEATURES }, (_, k) => k).filter(() => random() < 0.4)
    const values = indices.map(() => Math.fround(random() * 2 - 1))
    const classNumber = random() < 0.5 ? 1 : 0
    arena.u32(table, item.rows)[i] = writeRow(arena, ROW_KIND_F32, { indices, values }, { scale: 1, classNumber })
    return { indices, values, positive: classNumber === 1 }
  })
  const logistic = loss.entropicDual === true
  const draw = (): { now: Plain; before: Plain } => {
    const boxes = rows.map(row => (row.positive ? positive.bound : negative.bound))
    const finite = boxes.map(bound => (Number.isFinite(bound) ? bound : 2))
    const inside = (a: number, most: number): number =>
      logistic ? Math.min(Math.max(a, 1e-6 * most), (1 - 1e-6) * most) : Math.min(Math.max(a, 0), most)
    const now = finite.map(most => inside(most * (random() * 1.4 - 0.2), most))
    const before = now.map((a, i) =>
      random() < 0.2 ? a : inside(a + item.far * finite[i] * (random() - 0.5), finite[i]),
    )
    return { now: asPlain(now, finite), before: asPlain(before, finite) }
  }
  const asPlain = (alpha: number[], most: number[]): Plain => {
    const w = new Array(FEATURES + 1).fill(0)
    for (const [i, row] of rows.entries()) {
      const step = row.positive ? alpha[i] : -alpha[i]
      for (const [k, index] of row.indices.entries()) w[index] += step * row.values[k]
      w[FEATURES] += step * item.bias
    }
    return {
      ...{ rows, bias: item.bias, logistic, alpha, rest: alpha.map((a, i) => most[i] - a), w },
      ...{ boundPositive: positive.bound, boundNegative: negative.bound },
      ...{ diagonalPositive: positive.diagonal, diagonalNegative: negative.diagonal },
    }
  }
  return { table, settings, lanes: Array.from({ length: models }, draw), asPlain, logistic }
}

function dual(plain: Plain): number {
  const length = plain.w.reduce((sum, x) => sum + x * x, 0)
  return plain.rows.reduce((sum, row, i) => {
    const [a, rest] = [plain.alpha[i], plain.rest[i]]
    const diagonal = row.positive ? plain.diagonalPositive : plain.diagonalNegative
    const bound = row.positive ? plain.boundPositive : plain.boundNegative
    const own = plain.logistic ? -a * Math.log(a / bound) - rest * Math.log(rest / bound) : a - 0.5 * diagonal * a * a
    return sum + own
  }, -0.5 * length)
}

/** What was found against what there was; whether the point was taken. */
function check(made: ReturnType<typeof make>, lane: number, found: Found, share: number): void {
  const { now, before } = made.lanes[lane]
  const most = now.alpha.map((a, i) => a + now.rest[i])
  if (!found.isTaken) {
    assert.deepEqual(found.alpha, now.alpha)
    assert.deepEqual(found.weights, now.w)
  }
  assert.deepEqual(found.before, now.alpha, 'dual variables of before')
  const after = made.asPlain(found.alpha, most)
  for (const [j, x] of found.weights.entries()) {
    assert.ok(Math.abs(x - after.w[j]) <= 1e-10, `weight ${j} is ${x}, and the rows make it ${after.w[j]}`)
  }
  for (const [i, a] of found.alpha.entries()) {
    assert.ok(a >= 0 && a <= (Number.isFinite(now.boundPositive) ? most[i] : Number.POSITIVE_INFINITY))
    if (made.logistic) assert.ok(a > 0 && Math.abs(a + found.rest[i] - most[i]) <= 1e-12)
    const aim = now.alpha[i] + share * (now.alpha[i] - before.alpha[i])
    const isInside = made.logistic ? aim >= 0.1 * now.alpha[i] && most[i] - aim >= 0.1 * now.rest[i] : aim >= 0
    const isBelow = aim <= (Number.isFinite(now.boundPositive) ? most[i] : Number.POSITIVE_INFINITY)
    if (found.isTaken && isInside && isBelow) assert.ok(Math.abs(a - aim) <= 1e-12, `α ${i} is ${a}, not ${aim}`)
  }
  const gained = dual({ ...after, rest: made.logistic ? found.rest : after.rest }) - dual(now)
  assert.ok(gained >= -1e-9, `the dual objective fell by ${-gained}`)
}

interface Found {
  isTaken: boolean
  alpha: number[]
  rest: number[]
  before: number[]
  weights: number[]
}

const every = (values: ArrayLike<number>, first: number, step: number): number[] =>
  Array.from(values).filter((_, k) => k % step === first)

for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
  describe(`dual variables carried on, ${loss}`, () => {
    const arena = new Arena()
    const mark = arena.mark()
    const taken = { alone: [0, 0], bundle: [0, 0] }

    it('one model', () => {
      fc.assert(
        fc.property(anyCase(loss), item => {
          arena.release(mark)
          const made = make(arena, item, 1)
          const [{ now, before }] = made.lanes
          const problem = { ...now, features: FEATURES }
          const at = writeProblem(arena, problem, made.table, 1, 8)
          const past = writeProblem(arena, { ...problem, alpha: before.alpha, rest: before.rest, w: before.w }, 0, 1, 8)
          const places = [at, past].map(problem => ({
            alpha: arena.f64(arena.getU32(problem + PROBLEM_ALPHA), item.rows * (made.logistic ? 2 : 1)),
            w: arena.f64(arena.getU32(problem + PROBLEM_WEIGHTS), FEATURES + 1),
          }))
          const [alpha, weights] = [arena.getU32(past + PROBLEM_ALPHA), arena.getU32(past + PROBLEM_WEIGHTS)]
          const isTaken = Boolean(arena.numeric.carryOn(at, item.rows, FEATURES + 1, alpha, weights, item.share))
          taken.alone[isTaken ? 1 : 0]++
          const step = made.logistic ? 2 : 1
          const found: Found = {
            isTaken,
            alpha: every(places[0].alpha, 0, step),
            rest: every(places[0].alpha, 1, step),
            before: every(places[1].alpha, 0, step),
            weights: [...places[0].w],
          }
          check(made, 0, found, item.share)
        }),
        { seed, numRuns: 200 },
      )
      assert.ok(taken.alone[0] > 10 && taken.alone[1] > 10, `some are taken, some are not: ${taken.alone}`)
    })

    it('models of a bundle, each by its own share', () => {
      fc.assert(
        fc.property(anyCase(loss), fc.integer({ min: 1, max: 8 }), (item, models) => {
          arena.release(mark)
          const made = make(arena, item, models)
          const lanes = lanesFor(models)
          const stride = lanes * (made.logistic ? 2 : 1)
          const room = (): { alpha: number; weights: number } => ({
            alpha: arena.allocateZeroed(item.rows * stride * 8, 'test'),
            weights: arena.allocateZeroed((FEATURES + 1) * lanes * 8, 'test'),
          })
          const [now, past] = [room(), room()]
          for (const [lane, { now: present, before }] of made.lanes.entries()) {
            for (const [place, plain] of [[now, present] as const, [past, before] as const]) {
              const alpha = arena.f64(place.alpha, item.rows * stride)
              for (const [i, a] of plain.alpha.entries()) {
                alpha[i * stride + lane] = a
                if (made.logistic) alpha[i * stride + lanes + lane] = plain.rest[i]
              }
              for (const [j, x] of plain.w.entries()) {
                arena.f64(place.weights, (FEATURES + 1) * lanes)[j * lanes + lane] = x
              }
            }
          }
          const problems = made.lanes.map(() => ({ ...made.settings }))
          const bundle = new Bundle(arena, { rows: item.rows, weights: FEATURES }, problems, 0, now)
          bundle.see({ table: made.table })
          const fields = new BundleFields(arena, bundle.at)
          const shares = made.lanes.map((_, k) => (k % 3 === 2 ? 0 : item.share))
          for (const [k, share] of shares.entries()) fields.shares[k] = share
          const bits = arena.numeric[`carryOnBundle${lanes}`](
            ...[bundle.at, item.rows, FEATURES + 1, past.alpha, past.weights],
          )
          for (const [k, share] of shares.entries()) {
            const isTaken = ((bits >> k) & 1) === 1
            taken.bundle[isTaken ? 1 : 0]++
            const found: Found = {
              isTaken,
              alpha: every(arena.f64(now.alpha, item.rows * stride), k, stride),
              rest: every(arena.f64(now.alpha, item.rows * stride), lanes + k, stride),
              before: every(arena.f64(past.alpha, item.rows * stride), k, stride),
              weights: every(arena.f64(now.weights, (FEATURES + 1) * lanes), k, lanes),
            }
            check(made, k, found, share)
          }
        }),
        { seed, numRuns: 100 },
      )
      assert.ok(taken.bundle[0] > 10 && taken.bundle[1] > 10, `some are taken, some are not: ${taken.bundle}`)
    })
  })
}
