// Numbers as people read them, for axes, tables and texts of charts.

/** 1536 → "1.5 KiB". */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let [value, unit] = [bytes, 0]
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`
}

/** Ticks at whole numbers of the unit that the largest value has. */
export function byteTicks(largest: number, count: number): number[] {
  const unit = 1024 ** Math.max(0, Math.min(4, Math.floor(Math.log2(Math.max(1, largest)) / 10)))
  const step = niceStep(largest / unit / count) * unit
  const ticks: number[] = []
  for (let tick = 0; tick <= largest * (1 + 1e-9); tick += step) ticks.push(tick)
  return ticks
}

/** The next of 1, 2, 5, 10, … */
export function niceStep(step: number): number {
  if (!(step > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(step))
  const nice = [1, 2, 5, 10].find(factor => factor * power >= step * (1 - 1e-9)) ?? 10
  return nice * power
}

/** 75.3 → "1:15"; below a minute in seconds. */
export function secondsText(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`
  const whole = Math.round(seconds)
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60]
  const two = (n: number): string => String(n).padStart(2, '0')
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** 1234567 → "1,234,567". */
export function countText(count: number): string {
  return count.toLocaleString('en-GB', { maximumFractionDigits: 2 })
}

/** 1234567 → "1.2M", for axes. */
export function shortCount(count: number): string {
  const size = Math.abs(count)
  if (size >= 1e9) return `${Number((count / 1e9).toPrecision(3))}G`
  if (size >= 1e6) return `${Number((count / 1e6).toPrecision(3))}M`
  if (size >= 1e4) return `${Number((count / 1e3).toPrecision(3))}k`
  return countText(count)
}

/** 0.84943 → "84.94 %". */
export function shareText(share: number): string {
  return `${Number((100 * share).toFixed(2))} %`
}

/** 0.00123 → "1.2e-3". */
export function gapText(gap: number): string {
  return gap === 0 ? '0' : gap.toExponential(1)
}

/** Powers of ten as such, for log axes. */
export function powerText(value: number): string {
  const power = Math.log10(value)
  if (!Number.isInteger(Number(power.toFixed(9)))) return ''
  const digits = [...String(Math.round(power))]
  const raised: Record<string, string> = { '-': '⁻' }
  for (const [k, digit] of [...'⁰¹²³⁴⁵⁶⁷⁸⁹'].entries()) raised[String(k)] = digit
  return Math.abs(power) <= 3.5
    ? String(Number(value.toPrecision(1)))
    : `10${digits.map(digit => raised[digit]).join('')}`
}

/** Ticks of a log axis, no more than there is room for: as many digits of each power as fit, or powers alone, or some of them. */
export function logTicks(
  least: number,
  most: number,
  room: number,
): { ticks: number[]; tickFormat: (value: number) => string } {
  const first = Math.floor(Math.log10(least) + 1e-9)
  const powers = Array.from({ length: Math.ceil(Math.log10(most) - 1e-9) - first + 1 }, (_, k) => first + k)
  const within = (tick: number): boolean => tick >= least * (1 - 1e-9) && tick <= most * (1 + 1e-9)
  const of = (digits: number[]): number[] =>
    powers.flatMap(power => digits.map(digit => Number(`${digit}e${power}`))).filter(within)
  const plain = (value: number): string =>
    value < 1e-4 ? value.toExponential() : value < 1e4 ? numberText(value) : shortCount(value)
  for (const digits of [
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
    [1, 2, 5],
    [1, 3],
  ]) {
    const ticks = of(digits)
    if (ticks.length >= 2 && ticks.length <= room) return { ticks, tickFormat: plain }
  }
  const ticks = of([1])
  const step = Math.ceil(ticks.length / room)
  return ticks.length >= 2
    ? { ticks: ticks.filter((_, k) => k % step === 0), tickFormat: powerText }
    : { ticks: evenTicks(least, most), tickFormat: value => String(Number(value.toPrecision(3))) }
}

/** A few ticks at even steps, for a part of a log axis that is as good as linear. */
function evenTicks(least: number, most: number): number[] {
  const step = niceStep((most - least) / 4)
  const first = Math.ceil(least / step)
  const length = Math.floor(most / step + 1e-9) - first + 1
  return Array.from({ length }, (_, k) => Number(((first + k) * step).toPrecision(12)))
}

/** Six digits, without needless zeros. */
export function numberText(value: number): string {
  return String(Number(value.toPrecision(6)))
}
