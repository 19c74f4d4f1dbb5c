// Line charts as SVG text, no library: panels in two columns, time from left to right on a log axis, a legend in each.

export interface Series {
  name: string
  points: { x: number; y: number }[]
}

export interface Chart {
  title: string
  xLabel: string
  yLabel: string
  /** The x axis is always a log one. */
  yScale: 'log' | 'linear'
  series: Series[]
  /** A dotted vertical line, e.g. where the split of the data ends. */
  mark?: { x: number; label: string }
}

const WIDTH = 600
const HEIGHT = 330
const PLOT = { left: 66, right: 150, top: 34, bottom: 48 }
/** Okabe and Ito's colours, told apart by colour-blind readers too; line patterns help where they run out. */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#7f7f7f']
const DASHES = ['', '6 3', '2 3']

/** One picture of all charts that have a point to show. */
export function drawCharts(charts: Chart[]): string {
  const columns = charts.length > 1 ? 2 : 1
  const [width, height] = [columns * WIDTH, Math.ceil(charts.length / columns) * HEIGHT]
  const panels = charts.map((chart, k) => {
    const [x, y] = [(k % columns) * WIDTH, Math.floor(k / columns) * HEIGHT]
    return `<g transform="translate(${x} ${y})">\n${drawChart(chart).join('\n')}\n</g>`
  })
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...panels,
    '</svg>',
  ].join('\n')}\n`
}

function drawChart({ title, xLabel, yLabel, yScale, series, mark }: Chart): string[] {
  const [left, right, top, bottom] = [PLOT.left, WIDTH - PLOT.right, PLOT.top, HEIGHT - PLOT.bottom]
  const shown = series.map(({ name, points }) => ({
    name,
    // A log axis has no place for 0.
    points: points.filter(
      ({ x, y }) => x > 0 && Number.isFinite(x) && Number.isFinite(y) && (yScale === 'linear' || y > 0),
    ),
  }))
  const parts = [
    text((left + right) / 2, 20, title, 'text-anchor="middle" font-size="14" font-weight="bold"'),
    text((left + right) / 2, HEIGHT - 10, xLabel, 'text-anchor="middle"'),
    `<g transform="translate(15 ${(top + bottom) / 2}) rotate(-90)">${text(0, 0, yLabel, 'text-anchor="middle"')}</g>`,
  ]
  const all = shown.flatMap(({ points }) => points)
  if (all.length === 0) return [...parts, text((left + right) / 2, (top + bottom) / 2, 'nothing measured')]
  const xAxis = logAxis([...all.map(({ x }) => x), ...(mark ? [mark.x] : [])], left, right)
  const ys = all.map(({ y }) => y)
  const yAxis = yScale === 'log' ? logAxis(ys, bottom, top) : linearAxis(ys, bottom, top)
  for (const { value, label } of xAxis.ticks) {
    const x = round(xAxis.place(value))
    parts.push(`<path d="M${x} ${top}V${bottom}" stroke="#ddd"/>`, text(x, bottom + 16, label, 'text-anchor="middle"'))
  }
  for (const { value, label } of yAxis.ticks) {
    const y = round(yAxis.place(value))
    parts.push(`<path d="M${left} ${y}H${right}" stroke="#ddd"/>`, text(left - 6, y + 4, label, 'text-anchor="end"'))
  }
  parts.push(`<path d="M${left} ${top}V${bottom}H${right}" fill="none" stroke="#333"/>`)
  if (mark) {
    const x = round(xAxis.place(mark.x))
    parts.push(
      `<path d="M${x} ${top}V${bottom}" stroke="#00f" stroke-dasharray="2 3"/>`,
      text(x + 4, bottom - 6, mark.label, 'fill="#00f" font-size="10"'),
    )
  }
  shown.forEach(({ name, points }, k) => {
    const color = COLORS[k % COLORS.length]
    const dash = DASHES[Math.floor(k / COLORS.length) % DASHES.length]
    const stroke = `fill="none" stroke="${color}" stroke-width="1.8"${dash && ` stroke-dasharray="${dash}"`}`
    const places = points.map(({ x, y }) => [round(xAxis.place(x)), round(yAxis.place(y))])
    if (places.length > 1) parts.push(`<path d="M${places.map(place => place.join(' ')).join('L')}" ${stroke}/>`)
    for (const [x, y] of places) parts.push(`<circle cx="${x}" cy="${y}" r="3" fill="${color}"/>`)
    const y = top + 10 + 18 * k
    parts.push(`<path d="M${right + 10} ${y}h22" ${stroke}/>`, text(right + 38, y + 4, name, 'font-size="11"'))
  })
  return parts
}

interface Axis {
  place(value: number): number
  ticks: { value: number; label: string }[]
}

/** Whole powers of ten at both ends where the values span several; within one or two, steps of 1, 2 and 5. */
function logAxis(values: number[], from: number, to: number): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const decades = Math.log10(high / low)
  const steps = decades > 2 ? [1] : [1, 2, 5]
  const candidates: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const step of steps) candidates.push(Number(`${step}e${power}`))
  const first = candidates.findLast(value => value <= low) ?? low
  const last = candidates.find(value => value >= high && value > first) ?? high * 10
  const inside = candidates.filter(value => value >= first && value <= last)
  const every = Math.ceil(inside.length / 8)
  const scale = (to - from) / Math.log10(last / first)
  return {
    place: value => from + scale * Math.log10(value / first),
    ticks: inside.filter((_, k) => k % every === 0).map(value => ({ value, label: shortNumber(value) })),
  }
}

function linearAxis(values: number[], from: number, to: number): Axis {
  const [low, high] = [Math.min(0, ...values), Math.max(...values)]
  const span = high > low ? high - low : 1
  const power = 10 ** Math.floor(Math.log10(span / 4))
  const step = power * ([1, 2, 5].find(each => span / (power * each) <= 6) ?? 10)
  const first = Math.floor(low / step) * step
  const count = Math.max(1, Math.ceil((low + span - first) / step - 1e-9))
  return {
    place: value => from + ((to - from) * (value - first)) / (count * step),
    ticks: Array.from({ length: count + 1 }, (_, k) => {
      const value = Number((first + k * step).toPrecision(6))
      return { value, label: shortNumber(value) }
    }),
  }
}

const shortNumber = (value: number): string =>
  value !== 0 && (Math.abs(value) < 0.01 || Math.abs(value) >= 1e5) ? value.toExponential(0) : String(value)

const round = (value: number): number => Number(value.toFixed(1))

function text(x: number, y: number, words: string, attributes = ''): string {
  const safe = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<text x="${round(x)}" y="${round(y)}"${attributes && ` ${attributes}`}>${safe}</text>`
}
