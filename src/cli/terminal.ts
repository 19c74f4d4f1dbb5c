// Progress for people: one line that is redrawn on a terminal, plain lines now and then elsewhere, nothing when quiet.

import type { WriteStream } from 'node:tty'
import { planLines } from '../optimise/sources/memory-plan.ts'
import { DEFAULTS, type TrainOptions } from '../train/options.ts'
import type {
  PlanProgress,
  Progress,
  ProgressListener,
  RelaxProgress,
  TestProgress,
  TrainProgress,
} from '../train/progress.ts'
import type { OptionValues } from './command.ts'
import { formatBytes, formatCount, formatGap, formatObjective, formatSeconds, formatShare } from './format.ts'

/** Milliseconds between two lines when the output is no terminal: the longer a run has taken, the more, up to a minute. */
const PLAIN_INTERVAL = 2000
const LONGEST_INTERVAL = 60_000
const SHARE_OF_RUN = 0.05
const REDRAW_INTERVAL = 80

export class ProgressLine {
  readonly #stream: WriteStream
  readonly #quiet: boolean
  #shown = 0
  readonly #began = performance.now()
  #last = this.#began
  #lastText = ''

  constructor({ quiet, stream = process.stderr }: { quiet: boolean; stream?: WriteStream }) {
    this.#quiet = quiet
    this.#stream = stream
  }

  /** Shows the present state; `force` for what must not be left out. */
  show(text: string, force = false): void {
    if (this.#quiet) return
    const now = performance.now()
    if (this.#stream.isTTY) {
      if (!force && now - this.#last < REDRAW_INTERVAL) return
      const line = text.slice(0, (this.#stream.columns ?? 80) - 1)
      this.#stream.write(`\r${line.padEnd(this.#shown)}`)
      this.#shown = line.length
    } else {
      const interval = Math.min(Math.max(PLAIN_INTERVAL, SHARE_OF_RUN * (now - this.#began)), LONGEST_INTERVAL)
      if (text === this.#lastText || (!force && now - this.#last < interval)) return
      this.#lastText = text
      this.#stream.write(`${text}\n`)
    }
    this.#last = now
  }

  /** A line that stays. */
  say(text: string): void {
    if (this.#quiet) return
    this.clear()
    this.#stream.write(`${text}\n`)
  }

  clear(): void {
    if (this.#shown > 0) this.#stream.write(`\r${' '.repeat(this.#shown)}\r`)
    this.#shown = 0
  }
}

/** Bytes of text read, the rate, and the time left. */
export function readingText(progress: {
  seconds: number
  bytesRead: number
  bytesTotal: number | undefined
  rows: number
  badRows?: number
}): string {
  const { seconds, bytesRead, bytesTotal, rows, badRows } = progress
  const rate = bytesRead / Math.max(seconds, 1e-3)
  const parts = [
    bytesTotal
      ? `reading ${formatBytes(bytesRead)} of ${formatBytes(bytesTotal)} (${Math.floor((100 * bytesRead) / bytesTotal)} %)`
      : `reading ${formatBytes(bytesRead)}`,
    `${formatCount(rows)} rows`,
    `${formatBytes(rate)}/s`,
  ]
  if (bytesTotal && bytesRead < bytesTotal) parts.push(`${formatSeconds((bytesTotal - bytesRead) / rate)} left`)
  if (badRows) parts.push(`${formatCount(badRows)} bad rows skipped`)
  return parts.join(', ')
}

/** What was chosen and why. Of a plan for memory: how rows are read and how much of what is allowed is planned for, in one
 *  line; or, for those who ask, what for, as a table. */
export function planText({ solver, reason, memory, blocks }: PlanProgress, verbose = false): string {
  const head = solver ? `solver ${solver}: ${reason}` : reason
  if (!memory || !blocks) return head
  if (verbose) return [head, ...planLines(memory.parts, memory.allowed).map(line => `  ${line}`)].join('\n')
  const pieces = blocks.slots === 1 ? 'all in memory' : `${blocks.slots} pieces in memory at a time`
  const planned = memory.parts.reduce((sum, { bytes }) => sum + bytes, 0)
  const share = `${formatBytes(planned)} of ${formatBytes(memory.allowed)} planned`
  return `plan: ${reason}; ${pieces}, ${share} (--verbose: what for)`
}

type ModelCounts = NonNullable<TrainProgress['models']>

function modelsText({ done, all }: ModelCounts): string {
  return `${formatCount(done)}${all === undefined ? '' : ` of ${formatCount(all)}`} models done`
}

/** Steps of a second-order method: they take several passes each. */
function stepsText(steps: TrainProgress['steps']): string {
  if (!steps) return ''
  const { outer, inner, stage, stages } = steps
  const parts = [
    `step ${formatCount(outer)}`,
    ...(inner > 0 ? [`${formatCount(inner)} inner`] : []),
    ...(stage === undefined ? [] : [`stage ${stage}${stages === undefined ? '' : ` of about ${stages}`}`]),
  ]
  return ` (${parts.join(', ')})`
}

/** A record that the present one is compared with. */
interface Past {
  pass: number
  gap: number
  seconds: number
}

/** A gap that fell by less than this factor while the passes doubled stalls; fewer passes tell nothing. */
const STALLS = 0.8
const PASSES_TO_TELL = 16

/** Turns progress records of a run into lines; remembers the gaps to say how long it may take. */
export class TrainingText {
  readonly #tolerance: number
  readonly #maxPasses: number
  readonly #verbose: boolean
  #past: Past[] = []
  /** When each stage of a smoothed problem began. */
  #stages: number[] = []
  /** The class, or how many models there will be after this round: gaps of others are not compared. */
  #subject = -1
  /** Whether models are trained some at a time. */
  #inRounds = false
  /** When the class or the round ends, by what was last told. */
  #end: number | undefined
  /** Of the last test. */
  #accuracy: number | undefined

  constructor(tolerance: number, maxPasses = Number.POSITIVE_INFINITY, verbose = false) {
    this.#tolerance = tolerance
    this.#maxPasses = maxPasses
    this.#verbose = verbose
  }

  of(progress: Progress): string {
    if (progress.stage === 'read') return readingText(progress)
    if (progress.stage === 'plan') return planText(progress, this.#verbose)
    if (progress.stage === 'rows')
      return `${formatCount(progress.rows)} rows, ${formatCount(progress.features)} features`
    if (progress.stage === 'relax') return this.#relaxText(progress)
    if (progress.stage === 'test') return this.#testText(progress)
    const { pass, primal, gap, certified, problem = 1, problems = 1, models, seconds, partial = false } = progress
    const subject = models ? models.done + (models.training ?? 0) : problem
    if (subject !== this.#subject) {
      this.#subject = subject
      this.#past = []
      this.#stages = []
      this.#end = undefined
    }
    const passes = `pass ${Math.ceil(pass - 1e-9)}${stepsText(progress.steps)}`
    if (models) {
      const worst = gap === null || models.done === models.all ? [] : [`worst gap ~${this.#gapText(gap, partial)}`]
      const outlook = this.#outlookOfMany(progress, models)
      return [modelsText(models), passes, ...worst, ...this.#tested(), formatSeconds(seconds), ...outlook].join(', ')
    }
    return [
      `${problems > 1 ? `class ${problem} of ${problems}, ` : ''}${passes}`,
      ...(primal === undefined || partial ? [] : [`primal ${certified ? '' : '~'}${formatObjective(primal)}`]),
      ...(gap === null ? [] : [`gap ${certified ? '' : '~'}${this.#gapText(gap, partial)}`]),
      ...this.#tested(),
      formatSeconds(seconds),
      ...this.#outlook(progress),
    ].join(', ')
  }

  #testText({ pass, accuracy, seconds }: TestProgress): string {
    this.#accuracy = accuracy
    return [`pass ${Math.ceil(pass - 1e-9)}`, ...this.#tested(), formatSeconds(seconds)].join(', ')
  }

  /** Of the model as it was when it was last tested. */
  #tested(): string[] {
    return this.#accuracy === undefined ? [] : [`test accuracy ${formatShare(this.#accuracy)}`]
  }

  /** A convex problem is solved, and another one follows: gaps of the two are not compared. */
  #relaxText({ relaxation, objective, outliers, changed, seconds }: RelaxProgress): string {
    this.#past = []
    this.#end = undefined
    const solved = relaxation === 0 ? 'start' : `convex problem ${formatCount(relaxation)} solved`
    const sides = `${formatCount(changed)} ${changed === 1 ? 'row' : 'rows'} changed sides`
    const found = `objective ${formatObjective(objective)}, ${formatCount(outliers)} outliers, ${sides}`
    return `${solved}: ${found}, ${formatSeconds(seconds)}`
  }

  #gapText(gap: number, partial: boolean): string {
    return `${formatGap(gap)} of ${formatGap(this.#tolerance)}${partial ? ' by the rows that still move' : ''}`
  }

  /** Models that go in rounds take as long as those before them, roughly: models of large costs take longer. */
  #outlookOfMany(progress: TrainProgress, { done, training = 0, all, least }: ModelCounts): string[] {
    const outlook = this.#outlook(progress)
    const { seconds, certificate } = progress
    if (all !== undefined && done + training < all) this.#inRounds = true
    if (certificate !== undefined || (all !== undefined && !this.#inRounds)) return outlook
    const most = all ?? least
    if (most === undefined || done >= most) return []
    const known = this.#end !== undefined && this.#end > seconds
    const [models, time] = known ? [done + training, this.#end!] : [done, seconds]
    const left = (time * most) / models - seconds
    return models > 0 && left > 0 ? [`${all === undefined ? 'at least' : 'about'} ${formatSeconds(left)} left`] : []
  }

  /** What comes next, and when. The gap falls by about the same factor each second once it falls at all. */
  #outlook({ pass, gap, seconds, certified, partial, certificate, steps }: TrainProgress): string[] {
    if (certificate !== undefined) return [`certificate: ${Math.floor(100 * certificate)} % of its pass over all rows`]
    if (steps?.stage !== undefined)
      return gap !== null && gap <= this.#tolerance ? [] : this.#leftByStages(steps, seconds)
    if (gap === null) return []
    if (gap <= this.#tolerance) return certified ? [] : ['the certificate is next']
    // Rows that still move are soon done with; the others may have to be met again.
    if (partial) return this.#leftByWhole(seconds)
    const now = { pass, gap, seconds }
    // Half the passes ago: the first ones often fall faster than those to come.
    while (this.#past.length > 1 && this.#past[1].pass <= pass / 2) this.#past.shift()
    const [before] = this.#past
    const last = this.#past[this.#past.length - 1]
    // Records that stand close together tell no more than one of them.
    if (gap > 0 && !(last && pass < last.pass * 1.05)) this.#past.push(now)
    if (!before) return []
    const [time, passes] = [seconds - before.seconds, pass - before.pass]
    const limit = passes > 0 ? ((this.#maxPasses - pass) * time) / passes : Number.POSITIVE_INFINITY
    const fallen = Math.log(before.gap / gap)
    if (time <= 0) return []
    if (!(fallen > 0.2)) {
      const stalls = pass >= PASSES_TO_TELL && pass >= 1.8 * before.pass && gap > STALLS * before.gap
      const end = Number.isFinite(limit) ? `: ${formatSeconds(Math.max(0, limit))} until the last pass allowed` : ''
      return stalls ? [`the gap hardly falls${end}`] : []
    }
    const left = Math.max(0, Math.min((Math.log(gap / this.#tolerance) * time) / fallen, limit))
    this.#end = seconds + left
    return [`about ${formatSeconds(left)} left`]
  }

  /** Of a problem that is smoothed less and less: within a stage the gap stands, and then it jumps. Stages to come take as long
   *  as the last two. */
  #leftByStages({ stage = 1, stages }: NonNullable<TrainProgress['steps']>, seconds: number): string[] {
    // The next of several models begins anew. A run that resumes has not seen the stages before.
    if (stage < this.#stages.length) this.#stages = []
    while (this.#stages.length < stage) this.#stages.push(seconds)
    const began = this.#stages[stage - 1]
    const each = (began - this.#stages[Math.max(0, stage - 3)]) / Math.min(2, stage - 1)
    if (stages === undefined || !(each > 0)) return []
    const left = Math.max((stages - stage + 1) * each - (seconds - began), (stages - stage) * each)
    if (left <= 0) return []
    this.#end = seconds + left
    return [`about ${formatSeconds(left)} left`]
  }

  /** By what was told when all rows were last met; nothing once that time is over. */
  #leftByWhole(seconds: number): string[] {
    const left = (this.#end ?? seconds) - seconds
    return left > 0 ? [`about ${formatSeconds(left)} left`] : []
  }
}

/** Shows the progress of a run as its options say; the caller clears the line when the run is over. */
export function showProgress(
  options: OptionValues,
  { tolerance = DEFAULTS.tolerance, maxPasses = DEFAULTS.maxPasses }: TrainOptions,
): { line: ProgressLine; tell: ProgressListener } {
  const line = new ProgressLine({ quiet: options['quiet'] === true })
  const text = new TrainingText(tolerance, maxPasses, options['verbose'] === true)
  const tell: ProgressListener = progress => {
    if (progress.stage === 'plan') line.say(text.of(progress))
    // The summary at the end has it.
    else if (progress.stage !== 'rows') line.show(text.of(progress))
  }
  return { line, tell }
}
