// Training all classes at once (--multiclass crammer-singer), once the rows are in memory.

import { SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { drive, type PassProgress, type Solution } from '../optimise/driver/driver.ts'
import { type Certificate, certifyInPieces } from '../optimise/objectives/certificate.ts'
import {
  CrammerSingerProblem,
  type CrammerSingerSettings,
  crammerSingerBytes,
} from '../optimise/objectives/crammer-singer-problem.ts'
import { evaluateTogetherTask } from '../optimise/objectives/evaluate-together-task.ts'
import { lookAlongInPieces, penaltyOf, roomForLook, shorten } from '../optimise/objectives/line-search.ts'
import { lookAlongTask } from '../optimise/objectives/look-along-task.ts'
import type { MemorySolver } from '../optimise/solvers/solver.ts'
import { NODE_BYTES, planLines } from '../optimise/sources/memory-plan.ts'
import type { RowSet } from '../rows/row-set.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { allowedMemory } from './choose-solver.ts'
import type { ClassProblems } from './class-problems.ts'
import type { ResolvedOptions } from './options.ts'

export interface CrammerSingerOutcome {
  /** w[j·K + k], features as solvers number them. */
  weights: Float64Array<ArrayBuffer>
  biasWeights: Float64Array<ArrayBuffer>
  solution: Solution
}

export async function trainCrammerSinger(
  arena: Arena,
  pool: ThreadPool,
  solver: MemorySolver,
  rows: RowSet,
  classes: ClassProblems,
  options: ResolvedOptions,
  tell: (progress: PassProgress) => void,
): Promise<CrammerSingerOutcome> {
  refuseTooLarge(arena, rows, classes.labels.length, options)
  const problem = new CrammerSingerProblem(arena, rows, crammerSingerSettings(classes, options.bias))
  const run = solver.startCrammerSinger!(pool, problem, options)
  const truth = {
    certify: () => certifyCrammerSinger(pool, problem),
    penalty: () => penaltyOf(problem.squaredLength()),
    lookAlong: () =>
      lookAlongInPieces(arena, roomForLook(arena), rows.rows, piece => {
        const scores = arena.allocate((problem.classes + 1) * 8, 'the line search')
        return pool.run(lookAlongTask, { problem: problem.at, kind: 'together', scores, ...piece })
      }),
  }
  const solution = await drive(run, truth, options, tell)
  const { weights, biasWeights } = problem.copyWeights()
  shorten(weights, solution)
  shorten(biasWeights, solution)
  return { weights, biasWeights, solution }
}

export function certifyCrammerSinger(pool: ThreadPool, problem: CrammerSingerProblem): Promise<Certificate> {
  const { arena, rows, classes } = problem
  const room = (classes + 1) * 8
  return certifyInPieces(arena, rows.rows, room, problem, ({ from, to, sums, scratch }) =>
    pool.run(evaluateTogetherTask, { problem: problem.at, from, to, scores: scratch, sums }),
  )
}

/** The classes in the order of the model, by their numbers in the rows, and what a row of each costs. */
export function crammerSingerSettings({ labels, problems }: ClassProblems, bias: number): CrammerSingerSettings {
  return {
    classes: labels.map(({ number }) => number),
    // Two classes have one binary problem between them, which knows the cost of both.
    costs: labels.map((_, k) =>
      problems.length === 1 && k === 1 ? problems[0].costNegative : problems[k].costPositive,
    ),
    bias,
  }
}

/** Only once the rows are read is it known how many classes there are. */
function refuseTooLarge(arena: Arena, rows: RowSet, classes: number, options: ResolvedOptions): void {
  const { alpha, weights } = crammerSingerBytes(rows.rows, rows.weights, classes)
  const memory = allowedMemory(options)
  const parts = [
    { what: 'Node and the program', bytes: NODE_BYTES },
    { what: 'rows, as they are in memory now', bytes: arena.mark() },
    { what: `dual variables of ${rows.rows} rows × ${classes} classes`, bytes: alpha },
    { what: `weights of ${rows.weights} features × ${classes} classes, and the model`, bytes: weights * 2 },
  ]
  const total = parts.reduce((sum, part) => sum + part.bytes, 0)
  if (total <= memory) return
  throw new SpillwayError(
    `Crammer and Singer's problem keeps a dual variable for every row and class, and ${classes} classes do not fit:\n  ${planLines(parts, memory).join('\n  ')}`,
    `what would help: --memory ${Math.ceil(total / 2 ** 20)}M, --solver block, which keeps no rows in memory, or --multiclass one-vs-rest, which trains one class after the other`,
  )
}
