// Numbers, sizes and times as people read them on the page: those of charts, and a few more.
import { countText } from '../../report/charts/units.ts'

export { bytesText as formatBytes, gapText as formatGap, shareText as formatShare } from '../../report/charts/units.ts'

/** 1234567 → "1,234,567". */
export function formatCount(count: number): string {
  return countText(Math.round(count))
}

/** A number with a few significant digits, for tables. */
export function formatNumber(value: number, digits = 4): string {
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e6 || size < 1e-4) return value.toExponential(Math.max(0, digits - 2))
  return String(Number(value.toPrecision(digits)))
}

/** 75.3 → "1:15"; below ten seconds with a decimal. */
export function formatSeconds(seconds: number): string {
  if (seconds > 0 && seconds < 0.005) return '< 0.01 s'
  if (seconds < 10) return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`
  if (seconds < 59.5) return `${Math.round(seconds)} s`
  const whole = Math.round(seconds)
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  const rest = String(whole % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}

/** Eight significant digits, without needless zeros. */
export function formatObjective(value: number): string {
  return Number(value.toPrecision(8)).toString()
}

/** A time of day, or a date where it was not today. */
export function formatTime(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return iso
  const today = time.toDateString() === new Date().toDateString()
  return today
    ? time.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
    : time.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
}
