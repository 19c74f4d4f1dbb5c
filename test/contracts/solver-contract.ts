// What every solver promises with every loss it goes with: the optimum, a certificate that holds, the same bits for the
// same seed, and an end when it is told to end. A test file hands its solvers to solverContract().
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { allLosses as everyLoss } from '../../src/losses/all-losses.ts'
import type { Regularizer } from '../../src/losses/formulations.ts'
import { isSmooth, type Loss } from '../../src/losses/loss.ts'
import { toDense } from '../../src/model/weights.ts'
import { Arena } from '../../src/numeric/arena.ts'
import type { DriverSettings } from '../../src/optimise/driver/driving.ts'
import type { PassProgress } from '../../src/optimise/driver/progress.ts'
import type { Solution } from '../../src/optimise/objectives/solution.ts'
import { checkCompatible } from '../../src/optimise/solvers/compatibility.ts'
import { regularizersOf, type Solver } from '../../src/optimise/solvers/solver.ts'
import { loadRows } from '../../src/rows/load-rows.ts'
import type { RowSet } from '../../src/rows/row-set.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainingRun, TrainResult } from '../../src/train/training-run.ts'
import { fastFolder } from '../folders.ts'
import { settings as readSettings } from '../input-formats/fixture.ts'
import { referenceParse } from '../input-formats/reference-parser.ts'
import { bitsOf } from '../numeric/reference.ts'
import { driven } from './driving.ts'
import { noisyRows, type PlainTask } from './small-problems.ts'
import { truthFor } from './truth.ts'

/** Truncated losses are series of convex problems: test/train/truncated-losses.test.ts. */
const allLosses = everyLoss.filter(({ truncates }) => !truncates)

const folder = fastFolder()
const FEATURES = 9

interface Outcome {
  solution: Solution
  progress: PassProgress[]
  w: number[]
  alpha: number[]
  rest: number[]
}

/** α = −C loss'(m) of each row, and what is left of its cost. */
function slopesOf({ rows, loss, costPositive, costNegative, bias }: PlainTask, w: number[]) {
  const pairs = rows.map(row => {
    const score = row.indices.reduce((sum, j, k) => sum + w[j] * row.values[k], bias * w[w.length - 1])
    const margin = row.positive ? score : -score
    const cost = row.positive ? costPositive : costNegative
    if (loss.entropicDual) return [cost / (1 + Math.exp(margin)), cost / (1 + Math.exp(-margin))]
    return [2 * cost * Math.max(0, 1 - margin), 0]
  })
  return { alpha: pairs.map(([a]) => a), rest: pairs.map(([, rest]) => rest) }
}

/** Everything that a solver promises. */
export function solverContract(solver: Solver): void {
  for (const regularizer of regularizersOf(solver)) {
    if (solver.data === 'memory') inMemory(solver, regularizer)
    for (const loss of allLosses.filter(candidate => solver.lossNeeds.has(candidate)))
      withTrain(solver, loss, regularizer)
  }
}

function inMemory(solver: Solver, regularizer: Regularizer): void {
  const { Objective, optimumOf, primalOf, dualOf } = truthFor(regularizer)
  describe(`the solver ${solver.name}, ${regularizer}, rows in memory`, () => {
    const text = noisyRows(70, FEATURES, 3)
    const parsed = referenceParse(Buffer.from(text), 1, 32)
    const arena = new Arena()
    let pool: ThreadPool
    let rows: RowSet
    before(async () => {
      pool = new ThreadPool(arena.share, 2)
      const path = folder.write(`${solver.name}.svm`, text)
      rows = (await loadRows(arena, pool, [path], readSettings, { unit: false, plain: false }, () => {})).rows
    })
    after(() => pool.close())

    const taskOf = (loss: Loss, costPositive: number, costNegative: number, bias: number): PlainTask => ({
      rows: parsed.rows.map(({ label, indices, values }) => ({ indices, values, positive: label > 0 })),
      features: parsed.features,
      loss,
      costPositive,
      costNegative,
      bias,
    })

    async function run(
      task: PlainTask,
      given: Partial<DriverSettings> & { weightBits?: 32 | 64 } = {},
    ): Promise<Outcome> {
      const { weightBits = 64, ...driver } = given
      const problem = new Objective(arena, rows, {
        loss: task.loss,
        costPositive: task.costPositive,
        costNegative: task.costNegative,
        bias: task.bias,
        positive: rows.labels.findIndex(label => label.value === 1),
        weightBits,
        regularizer,
      })
      const progress: PassProgress[] = []
      const solution = await driven(pool, solver, problem, rows, driver, record => progress.push(record))
      const stride = problem.alphaStride / 8
      const stored = [...arena.f64(problem.alpha, rows.rows * stride)]
      // A run that ends short gives a multiple of its weights.
      const w = [...problem.copyWeights()].map(x => x * (solution.short?.factor ?? 1))
      // A method that keeps no dual variables is certified by those that its gradient stands for.
      if (!solver.dual && isSmooth(task.loss)) return { solution, progress, w, ...slopesOf(task, w) }
      // Those of a rounded hinge only the run itself knows.
      if (!solver.dual) return { solution, progress, w, alpha: [], rest: [] }
      return {
        ...{ solution, progress, w },
        alpha: stored.filter((_, k) => k % stride === 0),
        rest: stored.filter((_, k) => k % stride === 1),
      }
    }

    for (const loss of allLosses) {
      if (!solver.lossNeeds.has(loss)) {
        it(`refuses the ${loss.name} loss in words`, () => {
          assert.throws(
            () => checkCompatible(solver, loss, { given: new Set(), regularizer }),
            /is not compatible with .*: missing /,
          )
        })
        continue
      }
      it(`reaches the optimum of the ${loss.name} loss, with a certificate that holds`, async () => {
        for (const bias of [0, 1, -2.5]) {
          for (const [costPositive, costNegative] of [
            [1, 1],
            [3, 0.5],
            [0.01, 0.01],
            [4, 10],
          ]) {
            const task = taskOf(loss, costPositive, costNegative, bias)
            const optimum = optimumOf(task)
            for (const shrinking of [true, false]) {
              const { solution, w, alpha, rest } = await run(task, { shrinking })
              const { primal, supportVectors, trainingAccuracy } = solution.certificate!
              const dual = solution.certificate!.dual!
              const gap = solution.certificate!.gap!
              const what = `bias ${bias}, costs ${costPositive} and ${costNegative}, shrinking ${shrinking}`
              assert.equal(solution.exitReason, 'converged', what)
              assert.ok(gap <= 1e-8, `${what}: the gap is ${gap}`)
              assert.ok(Math.abs(primal - optimum) <= 1e-7 * optimum, `${what}: ${primal}, the optimum is ${optimum}`)
              // The certificate again, from w and α alone.
              const myPrimal = primalOf(task, w)
              const myDual = alpha.length > 0 ? dualOf(task, alpha, rest) : dual
              assert.ok(
                Math.abs(primal - myPrimal) <= 1e-12 * primal,
                `${what}: primal ${primal}, recomputed ${myPrimal}`,
              )
              assert.ok(Math.abs(dual - myDual) <= 1e-11 * primal, `${what}: dual ${dual}, recomputed ${myDual}`)
              assert.ok(Math.abs(gap - (primal - dual) / primal) <= 1e-15)
              assert.ok(myDual <= optimum * (1 + 1e-9) && myPrimal >= optimum * (1 - 1e-9))
              // Under l1 the dual variables come from w, and most of them are not zero.
              if (supportVectors !== null && alpha.length > 0)
                assert.equal(supportVectors, alpha.filter(a => a > 0).length)
              const right = task.rows.filter(row => {
                const score = row.indices.reduce((sum, j, k) => sum + w[j] * row.values[k], bias * w[FEATURES])
                return row.positive ? score > 0 : score <= 0
              })
              assert.equal(trainingAccuracy, right.length / task.rows.length)
              if (bias === 0) assert.equal(w[FEATURES], 0)
            }
          }
        }
      })

      it(`${loss.name}: the same seed gives the same bits, another seed the same optimum`, async () => {
        const task = taskOf(loss, 1, 1, 1)
        const [one, again, other] = [await run(task), await run(task), await run(task, { seed: 12345 })]
        assert.deepEqual(bitsOf(again.w), bitsOf(one.w))
        assert.deepEqual(bitsOf(again.alpha), bitsOf(one.alpha))
        assert.deepEqual(again.progress, one.progress)
        // Only methods that draw rows have another way with another seed.
        if (solver.dual) assert.notDeepEqual(bitsOf(other.w), bitsOf(one.w))
        const primal = one.solution.certificate!.primal
        assert.ok(Math.abs(other.solution.certificate!.primal - primal) <= 1e-7 * primal)
      })

      if (solver.wideWeights) {
        it(`${loss.name}: refuses f32 weights in words`, () => {
          const asked = { given: new Set(['weights']), weights: 'f32', regularizer }
          assert.throws(() => checkCompatible(solver, loss, asked), /weights is not compatible with solver .*: f32/)
        })
      } else
        it(`${loss.name}: f32 weights come near the optimum, and their certificate is no better than it is`, async () => {
          const task = taskOf(loss, 1, 1, 1)
          const optimum = optimumOf(task)
          const { solution, w } = await run(task, { weightBits: 32, tolerance: 1e-4 })
          assert.equal(solution.exitReason, 'converged')
          assert.ok(Math.abs(solution.certificate!.primal - primalOf(task, w)) <= 1e-6 * optimum)
          assert.ok(Math.abs(solution.certificate!.primal - optimum) <= 2e-4 * optimum)
        })

      it(`${loss.name}: stops within its tolerance`, async () => {
        const task = taskOf(loss, 1, 1, 1)
        let passes = 0
        for (const tolerance of [0.5, 0.1, 1e-3, 1e-6]) {
          const { solution, progress } = await run(task, { tolerance })
          assert.equal(solution.exitReason, 'converged')
          assert.ok(solution.certificate!.gap! <= tolerance)
          assert.ok(solution.passes >= passes, 'a tighter tolerance takes no fewer passes')
          passes = solution.passes
          const last = progress.at(-1)!
          assert.ok(last.certified)
          assert.deepEqual([last.primal, last.gap], [solution.certificate!.primal, solution.certificate!.gap])
        }
      })

      it(`${loss.name}: stops at maxPasses, certified all the same`, async () => {
        const task = taskOf(loss, 1, 1, 1)
        // Seven second-order steps are as exact as numbers are.
        for (const maxPasses of solver.dual ? [1, 2, 3, 7] : [1, 2, 3]) {
          const { solution, w, alpha, rest, progress } = await run(task, { tolerance: 1e-13, maxPasses })
          assert.equal(solution.exitReason, 'max-passes')
          assert.ok(solution.passes <= maxPasses, `${solution.passes} passes, told ${maxPasses}`)
          assert.ok(solution.passes > maxPasses - 1, `only ${solution.passes} passes, told ${maxPasses}`)
          assert.ok(progress.at(-1)!.certified)
          assert.ok(solution.certificate!.gap! > 0)
          const primal = solution.certificate!.primal
          const dual = solution.certificate!.dual!
          assert.ok(Math.abs(primal - primalOf(task, w)) <= 1e-12 * primal)
          if (alpha.length > 0) assert.ok(Math.abs(dual - dualOf(task, alpha, rest)) <= 1e-10 * primal)
        }
      })

      it(`${loss.name}: an abort ends it with a certified state`, async () => {
        const task = taskOf(loss, 1, 1, 1)
        const { solution, w } = await run(task, { tolerance: 1e-14, signal: AbortSignal.abort() })
        assert.equal(solution.exitReason, 'interrupted')
        assert.ok(Math.abs(solution.certificate!.primal - primalOf(task, w)) <= 1e-12 * solution.certificate!.primal)
      })
    }
  })
}

function withTrain(solver: Solver, loss: Loss, regularizer: Regularizer): void {
  const { optimumOf, primalOf } = truthFor(regularizer)
  describe(`train with solver ${solver.name}, the ${loss.name} loss and ${regularizer}`, () => {
    const text = noisyRows(70, FEATURES, 5)
    const parsed = referenceParse(Buffer.from(text), 1, 32)
    const path = folder.write('train.svm', text)
    let stores = 0
    /** A solver of blocks makes a store of the text: a new one each time. */
    const start = (data: string, { tolerance, ...options }: TrainOptions): TrainingRun =>
      train(data, {
        solver: solver.name,
        loss: loss.name,
        regularizer,
        threads: 1,
        ...(solver.data === 'blocks' && {
          store: join(folder.path, `${solver.name}-${loss.name}-${stores++}.spill`),
        }),
        ...options,
        // A method without a gap refuses to be told one.
        ...(solver.options.includes('tolerance') && { tolerance }),
      })
    const run = (options: TrainOptions): Promise<TrainResult> => start(path, options).result
    /** Without dual variables there is no gap to stop at: the last of so many passes is near the optimum. */
    const certified = solver.data === 'memory' || solver.dual
    const passes = Math.min(certified ? 2000 : 300, solver.mostPasses ?? Number.POSITIVE_INFINITY)

    it('reaches the optimum, and says so truly', async () => {
      for (const [bias, classWeights] of [
        [0, {}],
        [1, { '+1': 3, '-1': 0.5 }],
      ] as const) {
        if (solver.oneCost && '+1' in classWeights) continue
        const task: PlainTask = {
          rows: parsed.rows.map(({ label, indices, values }) => ({ indices, values, positive: label > 0 })),
          features: parsed.features,
          loss,
          costPositive: 2 * ('+1' in classWeights ? 3 : 1),
          costNegative: 2 * ('-1' in classWeights ? 0.5 : 1),
          bias,
        }
        const optimum = optimumOf(task)
        const result = await run({ cost: 2, bias, classWeights, tolerance: 1e-7, maxPasses: passes })
        const { model } = result
        assert.equal(result.exitReason, certified ? 'converged' : 'max-passes')
        assert.equal(model.labels[0].text, '+1')
        const weights = [...toDense(model.weights, model.features, 1), model.biasWeights[0] ?? 0]
        const primal = primalOf(task, weights)
        // A method that looks at every row once promises no objective, only to tell the one it came to.
        const most = certified ? 1.1e-7 * optimum : solver.mostPasses ? Number.POSITIVE_INFINITY : 0.05 * optimum
        assert.ok(primal >= optimum * (1 - 1e-9))
        assert.ok(Math.abs(primal - optimum) <= most, `${primal}, the optimum is ${optimum}`)
        assert.ok(Math.abs(result.primal! - primal) <= 1e-9 * primal, `${result.primal} is told, ${primal} is true`)
        assert.ok(result.dual === null || result.dual <= optimum * (1 + 1e-9))
        assert.equal(result.gap === null, !certified)
        assert.ok(result.gap === null || result.gap <= 1e-7)
      }
    })

    it('gives the same bits for the same seed', async () => {
      // More than one trainer at a time gives other bits.
      const threads = solver.data === 'blocks' && solver.severalTrainers ? {} : { threads: 2 }
      const [one, again] = [await run({ tolerance: 1e-6 }), await run({ tolerance: 1e-6, ...threads })]
      const bits = ({ model }: TrainResult): bigint[] => bitsOf(toDense(model.weights, model.features, 1))
      assert.deepEqual(bits(again), bits(one))
      assert.equal(again.primal, one.primal)
    })

    it('stops at maxPasses', async () => {
      for (const maxPasses of [1, 3]) {
        if (maxPasses > passes) {
          await assert.rejects(run({ maxPasses }), /^UsageError: maxPasses is 3, and solver .* makes a single pass/)
          continue
        }
        const result = await run({ tolerance: 1e-13, maxPasses })
        assert.equal(result.exitReason, 'max-passes')
        assert.equal(result.passes, maxPasses)
        assert.ok(result.primal! > 0)
      }
    })

    // A single pass over few rows is over before it can be interrupted.
    it('leaves a usable model when it is interrupted', { skip: solver.mostPasses === 1 }, async () => {
      const long = folder.write('interrupt.svm', noisyRows(3000, 25, 8, 0.1))
      const stop = new AbortController()
      const training = start(long, { tolerance: 1e-14, maxPasses: 1_000_000, signal: stop.signal })
      let records = 0
      for await (const record of training) if (record.stage === 'train' && ++records === 5) stop.abort()
      const result = await training.result
      assert.equal(result.exitReason, 'interrupted')
      const model = await training.model
      assert.equal(model.certificate?.exitReason, 'interrupted')
      assert.equal(model.features, 25)
      const weights = toDense(model.weights, model.features, 1)
      assert.equal(weights.length, 25)
      assert.ok(weights.every(Number.isFinite))
      const rows = referenceParse(Buffer.from(noisyRows(3000, 25, 8, 0.1)), 1, 32).rows
      const right = rows.filter(row => {
        const score = row.indices.reduce((sum, j, k) => sum + weights[j] * row.values[k], 0)
        return row.label > 0 ? score > 0 : score <= 0
      })
      assert.ok(right.length > 0.6 * rows.length, `${right.length} of ${rows.length} rows on the right side`)
    })
  })
}
