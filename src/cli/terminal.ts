// Progress for people: one line that is redrawn on a terminal, plain lines now and then elsewhere, nothing when quiet.

import type { WriteStream } from 'node:tty'
import { planLines } from '../optimise/sources/memory-plan.ts'
import type { PlanProgress, Progress } from '../train/progress.ts'
import { formatBytes, formatCount, formatGap, formatObjective, formatSeconds } from './format.ts'

/** Milliseconds between two lines when the output is no terminal. */
const PLAIN_INTERVAL = 2000
const REDRAW_INTERVAL = 80

export class ProgressLine {
  readonly #stream: WriteStream
  readonly #quiet: boolean
  #shown = 0
  #last = performance.now()

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
      if (!force && now - this.#last < PLAIN_INTERVAL) return
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

/** What was chosen and why, in one line; the memory plan below it. */
export function planText({ solver, reason, memory }: PlanProgress): string {
  const lines = memory ? planLines(memory.parts, memory.allowed) : []
  const head = solver ? `solver ${solver}: ${reason}` : reason
  return [head, ...lines.map(line => `  ${line}`)].join('\n')
}

/** Turns progress records of a run into lines; remembers the gaps to say how long it may take. */
export class TrainingText {
  readonly #tolerance: number
  #first: { pass: number; gap: number; seconds: number } | undefined
  #problem = 0

  constructor(tolerance: number) {
    this.#tolerance = tolerance
  }

  of(progress: Progress): string {
    if (progress.stage === 'read') return readingText(progress)
    if (progress.stage === 'plan') return planText(progress)
    const { pass, primal, gap, certified, problem = 1, problems = 1, models, seconds } = progress
    if (models) {
      const { done, all } = models
      const count = `${formatCount(done)}${all === undefined ? '' : ` of ${formatCount(all)}`} models done`
      const still = gap === null || done === all ? [] : [`a gap of ~${formatGap(gap)} left`]
      // Roughly: models of large costs take longer than those before them.
      const time =
        all !== undefined && done > 0 && done < all
          ? [`about ${formatSeconds((seconds * (all - done)) / done)} left`]
          : []
      return [count, `pass ${Math.ceil(pass - 1e-9)}`, ...still, formatSeconds(seconds), ...time].join(', ')
    }
    if (problem !== this.#problem) {
      this.#problem = problem
      this.#first = undefined
    }
    const left = gap === null ? undefined : this.#left(pass, gap, seconds)
    return [
      `${problems > 1 ? `class ${problem} of ${problems}, ` : ''}pass ${Math.ceil(pass - 1e-9)}`,
      ...(primal === undefined ? [] : [`primal ${certified ? '' : '~'}${formatObjective(primal)}`]),
      ...(gap === null ? [] : [`gap ${certified ? '' : '~'}${formatGap(gap)} of ${formatGap(this.#tolerance)}`]),
      formatSeconds(seconds),
      ...(left === undefined ? [] : [`about ${formatSeconds(left)} left`]),
    ].join(', ')
  }

  /** The gap falls by about the same factor each second once it falls at all. */
  #left(pass: number, gap: number, seconds: number): number | undefined {
    if (!this.#first) {
      if (gap > 0) this.#first = { pass, gap, seconds }
      return undefined
    }
    const fallen = Math.log(this.#first.gap / gap)
    const time = seconds - this.#first.seconds
    if (gap <= this.#tolerance) return 0
    if (!(fallen > 0.2) || time <= 0) return undefined
    return Math.max(0, (Math.log(gap / this.#tolerance) * time) / fallen)
  }
}
