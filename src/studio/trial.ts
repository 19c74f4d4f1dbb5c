// A trial: some rows of the data are trained on in memory for a moment, with the options of a plan. It tells how many passes such
// data takes with this loss, cost and kernel, and how long a pass takes on this machine.
import { askedSolver, findSolver } from '../optimise/solvers/all-solvers.ts'
import { dual } from '../optimise/solvers/dual.ts'
import { newton } from '../optimise/solvers/newton.ts'
import type { Solver } from '../optimise/solvers/solver.ts'
import { DEFAULTS, type TrainOptions } from '../train/options.ts'
import { train } from '../train/train.ts'
import { timeLeft } from './page/time-left.ts'
import type { FewRows, KeptRow } from './seen-rows.ts'

export interface Trial {
  /** What it was made of. */
  rows: number
  /** Passes until the gap was small enough; where the time was up before, as the gap had fallen so far. Undefined where the rows
   *  have one label alone. */
  passes: number | undefined
  /** How passes grow with the rows: by this power of them. */
  growth: number
  /** Seconds of a pass over a nonzero, of all models together. */
  secondsPerNonzero: number
  /** Models that were trained. */
  models: number
}

export interface TrialSettings {
  options: TrainOptions
  /** The solver that would run, its tolerance, and the passes that it would make at most. */
  method: Solver
  tolerance: number
  maxPasses: number
  /** Whether the run would begin with second-order steps, which few rows do not. */
  secondOrder: boolean
}

/** A plan has to be there soon: computing, and on a machine that is busy with other things. */
const MOST_MILLISECONDS = { computing: 600, inAll: 3000 }
const MOST_PASSES = 300
/** More classes would take too long: one of them stands for each. */
const MOST_CLASSES = 12

/** Where rows are few beside their features, the whole data takes more passes than some of its rows. How many more is judged by a
 *  part of these rows. */
const PART = 4
const MOST_GROWTH = 0.7

export async function tryRows({ rows }: FewRows, settings: TrialSettings): Promise<Trial | undefined> {
  const some = await trainOn(
    rows.filter((_, k) => k % PART === 0),
    settings,
  )
  const all = await trainOn(rows, settings)
  if (!all) return undefined
  const before = some?.passes
  const grown = all.passes === undefined || before === undefined ? 0 : Math.log(all.passes / before) / Math.log(PART)
  return { ...all, growth: Math.min(MOST_GROWTH, Math.max(0, grown)) }
}

async function trainOn(rows: readonly KeptRow[], settings: TrialSettings): Promise<Omit<Trial, 'growth'> | undefined> {
  const nonzeros = rows.reduce((sum, { indices }) => sum + indices.length, 0)
  const { labelled, told, classes } = labelledFor(rows)
  if (labelled.length < 2 || nonzeros === 0) return undefined
  const enough = new AbortController()
  const run = train(labelled, { ...optionsOf(settings), threads: 1, indexBase: 1, signal: enough.signal })
  const clock = new Clock(() => enough.abort())
  const steps: Step[] = []
  for await (const progress of run) {
    if (progress.stage !== 'train') continue
    clock.look()
    if (progress.certificate !== undefined) continue
    const { seconds, pass, gap, problem, problems = 1, models } = progress
    steps.push({ seconds, pass, gap: gap ?? Number.NaN, problem: models ? 1 : (problem ?? 1) })
    // Of classes that are trained one after the other, the first stands for all.
    if (!models && problems > 1 && (problem ?? 1) > 1) enough.abort()
  }
  clock.stop()
  const { passes: made, exitReason, seconds } = await run.result
  const each = secondsOfPass(steps) ?? seconds.compute / Math.max(1, made)
  const alone = steps.some(({ problem }) => problem > 1)
  const models = classes > 2 ? classes : 1
  return {
    ...{ rows: rows.length, models, secondsPerNonzero: (each * (alone ? models : 1)) / nonzeros },
    passes: told ? passesOf(steps, made, exitReason === 'converged', settings.tolerance) : undefined,
  }
}

/** Says when the time of a trial is up. It begins with the first look: reading is not what is measured. */
class Clock {
  readonly #up: () => void
  #began: NodeJS.CpuUsage | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(up: () => void) {
    this.#up = up
  }

  look(): void {
    this.#timer ??= setTimeout(this.#up, MOST_MILLISECONDS.inAll)
    this.#began ??= process.cpuUsage()
    const { user, system } = process.cpuUsage(this.#began)
    if (user + system > MOST_MILLISECONDS.computing * 1000) this.#up()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

interface Step {
  seconds: number
  pass: number
  gap: number
  problem: number
}

/** Rows with labels that can be told apart. `told`: whether these are their own. */
function labelledFor(rows: readonly KeptRow[]): { labelled: KeptRow[]; told: boolean; classes: number } {
  const counts = new Map<string, number>()
  for (const { label } of rows) counts.set(label, (counts.get(label) ?? 0) + 1)
  const numbered = (numberOf: (label: string, k: number) => number): KeptRow[] =>
    rows.map((row, k) => ({ ...row, label: String(numberOf(row.label, k)) }))
  if (counts.size < 2) return { labelled: numbered((_, k) => k % 2), told: false, classes: 2 }
  const labels = [...counts].sort((a, b) => b[1] - a[1]).map(([label]) => label)
  const few = labels.length <= MOST_CLASSES
  const labelled = numbered(label => (few ? labels.indexOf(label) : Number(label === labels[0])))
  return { labelled, told: true, classes: few ? labels.length : 2 }
}

/** Options of the plan, for rows in memory. */
function optionsOf({ options, method, tolerance, maxPasses, secondOrder }: TrialSettings): TrainOptions {
  const { loss, outlierMargin, cost, kernel, expand, bias, normalize, scale, multiclass, seed, solver } = options
  const given = { loss, outlierMargin, cost, kernel, expand, bias, normalize, multiclass, seed }
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  // What is left to the program in memory is left to it here: it may change the method on the way.
  const chosen = secondOrder ? newton.name : (solver ?? DEFAULTS.solver)
  const asked = method.data === 'memory' ? chosen : inMemoryOf(method).name
  return {
    ...said,
    // Columns of numbers are known in tables alone, and all features of such rows come from one.
    ...(scale !== undefined && { scale: scale === 'numbers' ? 'standard' : scale }),
    ...{ solver: asked, maxPasses: Math.min(MOST_PASSES, maxPasses) },
    ...((askedSolver(asked) ?? method).options.includes('tolerance') && { tolerance }),
  }
}

/** The same method where all rows are in memory, or the one that is most like it. */
function inMemoryOf({ name }: Solver): Solver {
  const own = findSolver(name)
  return own.data === 'memory' ? own : dual
}

/** Seconds of a pass: a fast one of those that were made, for others may have waited for other programs. */
function secondsOfPass(steps: readonly Step[]): number | undefined {
  const each: number[] = []
  for (let k = 1; k < steps.length; k++) {
    const passes = steps[k].pass - steps[k - 1].pass
    const seconds = steps[k].seconds - steps[k - 1].seconds
    if (steps[k].problem === steps[k - 1].problem && passes > 0 && seconds > 0) each.push(seconds / passes)
  }
  each.sort((a, b) => a - b)
  return each[Math.floor(each.length / 4)]
}

function passesOf(steps: readonly Step[], made: number, converged: boolean, tolerance: number): number {
  if (converged) return Math.max(1, made)
  // The gap falls by about the same factor with every pass: passes stand for seconds.
  const points = steps
    .filter(({ gap, problem }) => gap > 0 && problem === 1)
    .map(step => ({ ...step, seconds: step.pass }))
  const last = points[points.length - 1]?.pass ?? made
  return Math.max(made, last) + (timeLeft(points, tolerance) ?? last)
}
