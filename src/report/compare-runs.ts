// Runs side by side, as papers show them: how far each is from the best known objective and accuracy, as time goes on.
import type { TrainProgress } from '../train/progress.ts'
import { type RunRecords, stageOf } from './records.ts'
import { isTruncated, type RelaxedPoint, relaxedPoints } from './relaxed-points.ts'

export interface ComparedPoint {
  seconds: number
  value: number
  /** Whether it has a dot: it is no estimate. */
  certified: boolean
}

export interface ComparedRun {
  name: string
  command: string
  solver: string | undefined
  seconds: number | undefined
  passes: number | undefined
  /** The last one that is certain, or told. */
  primal: number | undefined
  gap: number | null
  accuracy: number | undefined
  /** (primal − best) / |best| at the end; undefined without a primal. */
  aboveBest: number | undefined
  objective: ComparedPoint[]
  accuracies: ComparedPoint[]
}

export interface Comparison {
  /** The smallest objective of all runs, or the one that was given. */
  best: number | undefined
  /** Whether it was given. */
  given: boolean
  /** The largest accuracy of any run, on the way or at the end. */
  bestAccuracy: number | undefined
  runs: ComparedRun[]
  /** Settings that differ though they change the problem itself: objectives cannot be compared then. */
  differences: string[]
}

/** Points that a line needs to show how a run went. */
const LEAST_POINTS = 4

/** What the objective depends on. */
const PROBLEM = [
  ...['loss', 'regularizer', 'cost', 'bias', 'classWeights', 'multiclass', 'kernel', 'expand', 'normalize', 'scale'],
  ...['outlierMargin', 'values'],
]

export function compareRuns(runs: readonly RunRecords[], best?: number): Comparison {
  const ends = runs.map(endOf)
  const primals = ends.flatMap(({ primal }) => primal ?? [])
  const known = best ?? (primals.length > 0 ? Math.min(...primals) : undefined)
  // A model on its way may be better than the one at the end.
  const onTheWay = runs.flatMap(({ tests }) => tests.map(({ accuracy }) => accuracy))
  const accuracies = [...ends.flatMap(({ accuracy }) => accuracy ?? []), ...onTheWay]
  const bestAccuracy = accuracies.length > 0 ? Math.max(...accuracies) : undefined
  return {
    best: known,
    given: best !== undefined,
    bestAccuracy,
    differences: differencesOf(runs),
    runs: runs.map((run, k) => {
      const above = (primal: number): number => (primal - known!) / Math.max(Math.abs(known!), 1e-300)
      const objective = known === undefined ? [] : objectivePoints(run, ends[k], above)
      return {
        ...ends[k],
        aboveBest: ends[k].primal === undefined || known === undefined ? undefined : above(ends[k].primal!),
        objective,
        accuracies: bestAccuracy === undefined ? [] : accuracyPoints(run, bestAccuracy),
      }
    }),
  }
}

type End = Omit<ComparedRun, 'aboveBest' | 'objective' | 'accuracies'>

function endOf(run: RunRecords): End {
  const { result, name } = run
  const told = stageOf(run, 'train')
  const certain = told.findLast(({ certified, problems = 1, models }) => certified && problems === 1 && !models)
  const last = told[told.length - 1]
  const relaxed = truncatedObjectives(run)?.map(({ objective }) => objective)
  const plan = stageOf(run, 'plan').findLast(({ solver }) => solver !== '')
  const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
  const seconds = (result?.['seconds'] as { total?: number } | undefined)?.total
  return {
    name,
    command: run.run.command,
    solver: (result?.['solver'] as string | undefined) ?? plan?.solver,
    seconds: last?.seconds ?? seconds,
    passes: number(result?.['passes']) ?? last?.pass,
    primal: number(result?.['primal']) ?? (relaxed ? relaxed.at(-1) : certain?.primal),
    gap: number(result?.['gap']) ?? certain?.gap ?? null,
    accuracy: run.tests.at(-1)?.accuracy ?? run.evaluation?.accuracy ?? number(result?.['accuracy']),
  }
}

/** Tests with a dot each; where they are many, the last one has one. */
const MOST_DOTS = 40

function accuracyPoints({ tests }: RunRecords, best: number): ComparedPoint[] {
  return tests.map(({ seconds, accuracy }, k) => ({
    seconds,
    value: (best - accuracy) / best,
    certified: tests.length <= MOST_DOTS || k === tests.length - 1,
  }))
}

/** Certified objectives and, between them, estimates; what lies below the best known one cannot be true. Of a run of several
 *  problems one after the other, the sum is known at the end only. */
function objectivePoints(run: RunRecords, end: End, above: (primal: number) => number): ComparedPoint[] {
  const records = stageOf(run, 'train')
  const relaxed = truncatedObjectives(run)
  const several = records.some(({ problems = 1, models }) => problems > 1 || models !== undefined)
  const told = relaxed
    ? relaxed.map(({ seconds, objective }) => ({ seconds, primal: objective, certified: true }))
    : several
      ? []
      : ofWholePasses(records.filter(({ partial, certificate }) => !partial && certificate === undefined))
  const points = told.map(({ seconds, primal, certified }) => ({ seconds, value: above(primal), certified }))
  if (points.length === 0 && end.primal !== undefined && end.seconds !== undefined)
    points.push({ seconds: end.seconds, value: above(end.primal), certified: true })
  return points.filter(({ value }) => value >= 0)
}

/** Of a truncated loss, its objective after each convex problem; those of the convex problems themselves are others. None of several
 *  classes, whose sum is known at the end only; undefined of a loss that is convex. */
function truncatedObjectives(run: RunRecords): RelaxedPoint[] | undefined {
  if (!isTruncated(run)) return undefined
  const points = relaxedPoints(run)
  const several = stageOf(run, 'train').some(({ problems = 1 }) => problems > 1)
  return several ? [] : points
}

/** Estimates within a pass are made of the rows that happened to come first. Those of whole passes are enough, where there are some. */
function ofWholePasses(records: TrainProgress[]): TrainProgress[] {
  const whole = records.filter(({ pass, certified }) => certified || Math.abs(pass - Math.round(pass)) < 1e-6)
  return whole.length >= LEAST_POINTS ? whole : records
}

const UNSAID = 'not said'

function differencesOf(runs: readonly RunRecords[]): string[] {
  const texts = (of: (run: RunRecords) => unknown): string[] => [
    ...new Set(runs.map(run => JSON.stringify(of(run)) ?? UNSAID)),
  ]
  const facts: [string, string[]][] = [
    ...PROBLEM.map((name): [string, string[]] => [name, texts(run => run.run.settings[name])]),
    // A run that ended before it knew its rows tells nothing.
    ['rows', texts(rowsOf).filter(text => text !== UNSAID)],
  ]
  return facts.flatMap(([name, found]) => (found.length > 1 ? [`${name}: ${found.join(', ')}`] : []))
}

function rowsOf(run: RunRecords): number | undefined {
  return stageOf(run, 'rows').at(-1)?.rows ?? (run.result?.['rows'] as number | undefined)
}
