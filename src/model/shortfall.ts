// A model whose run ended short of its tolerance says so wherever it is met: how far it came, what the rows look like to the
// solver, and what to type instead.
import { isSparse, trainsByGradient, trainsTogether } from '../losses/formulations.ts'
import { formatCount } from '../sizes.ts'
import type { Model } from './model.ts'

/** What a run that ended short leaves in its model. */
export interface Shortfall {
  /** The relative gap that was asked for; null for methods that know none. */
  tolerance: number | null
  /** The objective of weights that are all 0; null when the run was interrupted before it could be certified. */
  atZero: number | null
  /** What the last line search multiplied the weights by, for each problem that was solved. */
  factors: number[]
  /** The smallest and the largest value as the solver saw them; null when they are not known, or in bins. */
  values: [number, number] | null
  /** The length of the shortest and of the longest row; null when they are not known. */
  lengths: [number, number] | null
  /** Whether the run can go on from a checkpoint. */
  resumable: boolean
}

export interface ShortfallWords {
  found: string[]
  /** Options to train again with, all together. */
  advice: string[]
  /** And those that may help besides, one or the other. */
  otherwise: string[]
}

/** Values and rows beyond this make the problem hard: steps along long rows are short. */
const LARGE = 10
/** So do features that hardly count. */
const SMALL = 1e-3
/** Passes that are many: what a run makes when nobody says how many. */
const USUAL_PASSES = 1000

export function shortfallWords(model: Model): ShortfallWords | undefined {
  const { shortfall, certificate } = model
  if (!shortfall || !certificate) return undefined
  const { exitReason, gap, primal, passes } = certificate
  const { tolerance, atZero, factors, values, lengths } = shortfall
  const came = gap === null ? '' : `: gap ${short(gap)}`
  const asked = tolerance === null ? '' : `${gap === null ? ': a gap of' : ', where'} ${short(tolerance)} was asked for`
  const after = `after ${count(passes)} ${passes === 1 ? 'pass' : 'passes'}`
  const uncertified = exitReason === 'interrupted' && primal === null
  const found = [
    uncertified
      ? `interrupted ${after}, before the model could be certified: nobody knows how good it is`
      : `${exitReason === 'interrupted' ? 'interrupted' : tolerance === null ? 'ended' : 'ended short'} ${after}${came}${asked}`,
  ]
  if (primal !== null && atZero !== null) {
    found.push(`the objective is ${short(primal)}; weights of 0 have ${short(atZero)}`)
  }
  const changed = factors.filter(factor => factor !== 1)
  if (changed.length > 0) found.push(factorsText(factors, changed))
  const rows = [
    values && `values run from ${short(values[0])} to ${short(values[1])}`,
    lengths && `rows are ${short(lengths[0])} to ${short(lengths[1])} long`,
    model.bias === 0 ? 'there is no bias' : `the bias is ${short(model.bias)}`,
    model.cost !== null && `C = ${short(model.cost)}`,
  ].filter(Boolean)
  found.push(`to the solver ${rows.join(', ')}`)
  return { found, ...adviceFor(model, shortfall, exitReason === 'interrupted', passes) }
}

function factorsText(factors: number[], changed: number[]): string {
  const zero = changed.filter(factor => factor === 0).length
  const of = factors.length > 1 ? ` of ${count(changed.length)} of ${count(factors.length)} problems` : ''
  if (zero === changed.length) return `no multiple of the weights${of} is better than 0: they are 0`
  const range = [Math.min(...changed), Math.max(...changed)]
  const by = range[0] === range[1] ? short(range[0]) : `${short(range[0])} to ${short(range[1])}`
  return `the weights${of} were multiplied by ${by}, which is best along them`
}

/** Solvers that follow gradients of all rows. Where rows are nearly separable and costs large, they creep, and coordinate descent
 *  does not. */
const DESCENDING = ['newton', 'lbfgs']
/** Solvers that go from row to row, and features up to which `newton` takes one pass for a step, whatever the rows are. */
const COORDINATES = ['dual', 'stream', 'selective', 'block']
const FEW_FEATURES = 1023
/** Passes before which nobody knows whether they crawl. */
const SOME_PASSES = 20

function adviceFor(
  { transforms, bias, cost, solver, multiclass, features, regularizer }: Model,
  { values, lengths, resumable }: Shortfall,
  interrupted: boolean,
  passes: number,
): Pick<ShortfallWords, 'advice' | 'otherwise'> {
  const easier: string[] = []
  const largest = values && Math.max(Math.abs(values[0]), Math.abs(values[1]))
  const wild = (largest !== null && (largest > LARGE || largest < SMALL)) || (lengths !== null && lengths[1] > LARGE)
  if (wild && values && !transforms.normalize) {
    // Expanded features cannot be scaled.
    easier.push(transforms.scale || transforms.expand ? '--normalize unit' : '--scale minmax')
  }
  if (bias === 0) easier.push('--bias 1')
  const more = `--max-passes ${Math.max(passes * 10, USUAL_PASSES)}`
  const onward = interrupted ? (resumable ? ['--resume'] : []) : resumable ? ['--resume', more] : [more]
  const cheaper = cost !== null && cost > 1 ? [`--cost ${short(cost / 10)}`] : []
  // A run with a checkpoint had its rows in blocks. The softmax has gradients alone.
  const creeps = DESCENDING.includes(solver) && !trainsByGradient(multiclass) && !interrupted
  const takesNewton = features <= FEW_FEATURES && !isSparse(regularizer) && !trainsTogether(multiclass)
  const crawls = takesNewton && passes >= SOME_PASSES && COORDINATES.includes(solver)
  const other = creeps ? [`--solver ${resumable ? 'block' : 'dual'}`] : crawls ? ['--solver newton'] : []
  // Few passes are the first thing to mend; after many, the data is.
  if (interrupted || passes < USUAL_PASSES) return { advice: onward, otherwise: [...other, ...easier, ...cheaper] }
  if (creeps) return { advice: other, otherwise: [...easier, onward.join(' '), ...cheaper] }
  return { advice: easier, otherwise: [...other, onward.join(' '), ...cheaper] }
}

/** The same as lines of text. */
export function shortfallLines(model: Model): string[] {
  const words = shortfallWords(model)
  if (!words) return []
  const { found, advice, otherwise } = words
  const others = otherwise.join(' or ')
  // A run without a checkpoint that somebody ended lacks no passes of its own: it can only begin again.
  const again = model.certificate?.exitReason === 'interrupted' && advice.length === 0
  const first = again ? 'to the end' : advice.length > 0 ? `with ${advice.join(' ')}` : ''
  if (first === '') return others === '' ? found : [...found, `what would help: train with ${others}`]
  return [...found, `what would help: train ${first}${others === '' ? '' : `; if that is not enough, ${others}`}`]
}

/** The same for JSON. */
export function shortfallJson(model: Model): (Shortfall & ShortfallWords) | undefined {
  const words = shortfallWords(model)
  return words && model.shortfall && { ...model.shortfall, ...words }
}

const short = (x: number): string => String(Number(x.toPrecision(4)))
const count = (x: number): string => formatCount(x, 3)
