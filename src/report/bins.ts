// Numbers counted in so few ranges that they can be looked at; what lies far out is in a range of its own at either end.
import type { Bin } from './records.ts'

const MOST_BINS = 24
/** The part of the numbers that lies further out, on either side. */
const TAIL = 0.01

/** Numbers in any order. A few distinct ones are counted each by itself. */
export function binsOf(values: Float64Array): Bin[] {
  if (values.length === 0) return []
  const sorted = values.slice().sort()
  const each = distinct(sorted)
  if (each) return each
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
  const [smallest, largest] = [sorted[0], sorted[sorted.length - 1]]
  const whole = sorted.every(value => Number.isInteger(value))
  const [low, high] = [at(TAIL), at(1 - TAIL)]
  const width = stepOf(high - low, whole)
  const first = whole ? low : Math.floor(low / width) * width
  const edges = Array.from({ length: Math.ceil((high - first) / width) + 1 }, (_, k) => rounded(first + k * width))
  // A tail that would not fill a range of its own is part of the last one.
  if (smallest < edges[0]) edges.unshift(smallest)
  if (largest > edges[edges.length - 1]) edges.push(largest)
  if (edges.length < 2) edges.push(largest)
  return counted(sorted, edges)
}

function distinct(sorted: Float64Array): Bin[] | undefined {
  const bins: Bin[] = []
  for (const value of sorted) {
    const last = bins[bins.length - 1]
    if (last?.from === value) last.count++
    else if (bins.length === MOST_BINS) return undefined
    else bins.push({ from: value, to: value, count: 1 })
  }
  return bins
}

/** 1, 2 or 5 times a power of ten; of whole numbers, a whole one. */
function stepOf(span: number, whole: boolean): number {
  const least = span / (MOST_BINS - 4)
  if (!(least > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(least))
  const step = power * ([1, 2, 5].find(factor => factor * power >= least) ?? 10)
  return whole ? Math.max(1, Math.round(step)) : step
}

const rounded = (value: number): number => Number(value.toPrecision(12))

function counted(sorted: Float64Array, edges: number[]): Bin[] {
  const bins = edges.slice(1).map((to, k) => ({ from: edges[k], to, count: 0 }))
  let bin = 0
  for (const value of sorted) {
    while (bin < bins.length - 1 && value >= bins[bin].to) bin++
    bins[bin].count++
  }
  return bins
}
