// Numbers, sizes and times as people read them.
import { isQuery, QUERY_NAME } from '../input-formats/stand-ins.ts'

export { formatBytes } from '../numeric/arena.ts'
export { formatCount } from '../sizes.ts'

/** 75.3 → "1:15"; below ten seconds with one decimal. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`
  if (seconds < 60) return `${Math.round(seconds)} s`
  const whole = Math.round(seconds)
  const h = Math.floor(whole / 3600)
  const m = Math.floor((whole % 3600) / 60)
  const s = String(whole % 60).padStart(2, '0')
  return h > 0 ? `${h}:${String(m).padStart(2, '0')}:${s}` : `${m}:${s}`
}

/** A relative gap: 0.00123 → "1.2e-3". */
export function formatGap(gap: number): string {
  return gap === 0 ? '0' : gap.toExponential(1)
}

/** Eight significant digits, without needless zeros. */
export function formatObjective(value: number): string {
  return Number(value.toPrecision(8)).toString()
}

/** 0.84943 → "84.94 %". */
export function formatShare(share: number): string {
  return `${(share * 100).toFixed(2)} %`
}

/** A path as people say it. */
export function sourceName(path: string): string {
  return path === '-' ? 'standard input' : isQuery(path) ? QUERY_NAME : path
}

/** A path as records have it: a query has none that could be written. */
export function recordedName(path: string): string {
  return isQuery(path) ? QUERY_NAME : path
}

/** Of rows of letters that nothing is made of. */
export const bytesOfLetters = (expand: string): string =>
  `the values are the bytes of letters: --expand ${expand} will make features of the strings`
