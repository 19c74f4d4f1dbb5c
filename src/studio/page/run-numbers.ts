// The numbers of a run as it goes on: pass, primal, gap, rate, memory, and the time it has taken and may take.
import { type ProgressRecord, type RunRecords, stageOf } from '../../report/records.ts'
import { isTruncated, relaxedPoints } from '../../report/relaxed-points.ts'
import type { TrainProgress } from '../../train/progress.ts'
import { isActive, type Run } from './api-types.ts'
import { h, setText } from './dom.ts'
import { formatBytes, formatCount, formatGap, formatNumber, formatObjective, formatSeconds } from './format.ts'
import { numberAt } from './run-facts.ts'
import { timeLeft } from './time-left.ts'

/** Each number keeps its place, known or not. */
const NAMES = ['Stage', 'Primal', 'Gap', 'Rate', 'Memory', 'Time', 'Left'] as const
type Numbers = Record<(typeof NAMES)[number], string>

const NONE = '–'
/** Of a run that does not say which tolerance it has. */
const USUAL_TOLERANCE = 1e-3

export class RunNumbers {
  readonly element: HTMLElement
  readonly #values: Record<string, HTMLElement> = {}

  constructor() {
    const cells = NAMES.map(name => {
      this.#values[name] = h('dd', { 'data-number': name.toLowerCase() }, NONE)
      return h('div', {}, h('dt', {}, name), this.#values[name])
    })
    this.element = h('dl', { class: 'run-numbers' }, cells)
  }

  show(records: RunRecords | undefined, run: Run): void {
    const numbers = numbersOf(records, run)
    for (const name of NAMES) setText(this.#values[name], numbers[name])
  }
}

export function numbersOf(records: RunRecords | undefined, run: Run): Numbers {
  const none: Numbers = { Stage: run.state, Primal: NONE, Gap: NONE, Rate: NONE, Memory: NONE, Time: NONE, Left: NONE }
  const last = records?.progress.findLast(({ stage }) => stage === 'read' || stage === 'train')
  if (!records || !last) return none
  const numbers = last.stage === 'read' ? ofReading(last) : ofTraining(records)
  return {
    ...none,
    ...numbers,
    // A run that was stopped and resumed has a result that is no longer the last word.
    ...(!isActive(run) && { Left: NONE, ...ofResult(records) }),
  }
}

function ofReading({ seconds, bytesRead, bytesTotal }: Extract<ProgressRecord, { stage: 'read' }>): Partial<Numbers> {
  const rate = bytesRead / Math.max(seconds, 1e-3)
  const share = bytesTotal ? ` ${Math.floor((100 * bytesRead) / bytesTotal)} %` : ''
  return {
    Stage: `reading${share}`,
    Rate: `${formatBytes(rate)}/s`,
    Time: formatSeconds(seconds),
    Left: bytesTotal && bytesRead < bytesTotal ? formatSeconds(Math.max(0, (bytesTotal - bytesRead) / rate)) : NONE,
  }
}

function ofTraining(records: RunRecords): Partial<Numbers> {
  const training = stageOf(records, 'train')
  const last = training[training.length - 1]
  const { pass, gap, certified, seconds, memoryBytes, certificate, problem, problems = 1 } = last
  const about = certified ? '' : '~'
  const whichClass = problems > 1 ? `class ${problem} of ${problems}, ` : ''
  const tolerance = numberAt(records.run.settings, 'tolerance') ?? USUAL_TOLERANCE
  const points = training.flatMap(one =>
    one.gap !== null && one.gap > 0 && !one.partial && one.problem === problem
      ? [{ seconds: one.seconds, pass: one.pass, gap: one.gap }]
      : [],
  )
  const left = timeLeft(points, tolerance)
  const allowed = stageOf(records, 'plan').findLast(({ memory }) => memory !== undefined)?.memory?.allowed
  const passText = formatCount(Math.ceil(pass - 1e-9))
  return {
    Stage:
      certificate === undefined ? `${whichClass}pass ${passText}` : `certificate ${Math.floor(100 * certificate)} %`,
    Primal: objectiveText(records, last),
    Gap: gap === null ? NONE : `${about}${formatGap(gap)}`,
    Rate: rateText(training),
    Memory: allowed === undefined ? formatBytes(memoryBytes) : partOf(memoryBytes, allowed),
    Time: formatSeconds(seconds),
    Left: left === undefined ? NONE : left === 0 ? 'soon' : `~${formatSeconds(left)}`,
  }
}

/** Of a truncated loss it is its own objective: that of the convex problem at work leaves outliers out. */
function objectiveText(records: RunRecords, { primal, certified, problem = 1 }: TrainProgress): string {
  const relaxed = relaxedPoints(records).findLast(one => one.problem === problem)
  if (relaxed) return formatObjective(relaxed.objective)
  if (isTruncated(records)) return NONE
  return certified ? formatObjective(primal) : `~${formatNumber(primal, 6)}`
}

/** "148 of 152 MiB". */
function partOf(part: number, whole: number): string {
  const [some, all] = [formatBytes(part), formatBytes(whole)]
  const [number, unit] = some.split(' ')
  return all.endsWith(` ${unit}`) ? `${number} of ${all}` : `${some} of ${all}`
}

/** Records that the rate is taken over. */
const RECENT = 20

/** Bytes a second of a run over blocks, else passes. */
function rateText(training: ReturnType<typeof stageOf<'train'>>): string {
  const last = training[training.length - 1]
  const before = training[Math.max(0, training.length - 1 - RECENT)]
  const seconds = last.seconds - before.seconds
  if (!(seconds > 0)) return NONE
  const bytes = (last.blocks?.bytesRead ?? 0) - (before.blocks?.bytesRead ?? 0)
  if (bytes > 0) return `${formatBytes(bytes / seconds)}/s`
  const passes = (last.pass - before.pass) / seconds
  if (!(passes > 0)) return NONE
  return passes >= 1 ? `${passes.toPrecision(3)} passes/s` : `${formatSeconds(1 / passes)} a pass`
}

/** What the end says stands in place of the last estimate. */
function ofResult({ result, resumed }: RunRecords): Partial<Numbers> {
  if (!result) return {}
  const [primal, gap, passes] = ['primal', 'gap', 'passes'].map(name => numberAt(result, name))
  const seconds = numberAt(result, 'seconds', 'total')
  return {
    ...(passes !== undefined && { Stage: `${formatCount(passes)} ${passes === 1 ? 'pass' : 'passes'}` }),
    ...(primal !== undefined && { Primal: formatObjective(primal) }),
    ...(gap !== undefined && { Gap: formatGap(gap) }),
    // The result knows the time since the run was resumed alone.
    ...(seconds !== undefined && resumed.length === 0 && { Time: formatSeconds(seconds) }),
  }
}
