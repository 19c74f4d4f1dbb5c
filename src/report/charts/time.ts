// Where the time went, pass by pass: training and waiting on one side, what reader threads did meanwhile on the other.
import * as Plot from '@observablehq/plot'
import type { RunRecords } from '../records.ts'
import { BLUE, type Chart, framed, GREEN, OCHRE, ORANGE, PURPLE, tableOf, ticksFor } from './chart.ts'
import { countedRecords } from './passes.ts'
import { countText, numberText, secondsText } from './units.ts'

/** Seconds between two records, and what they went into. */
export interface TimeSlice {
  /** Passes from … to; the first slice is what comes before training. */
  from: number
  to: number
  /** Of the thread that trains. */
  before: number
  compute: number
  wait: number
  /** Of reader threads, at the same time. */
  read: number
  decode: number
}

/** More bars than these are too thin to look at. */
const MOST_BARS = 60

/** Slices of at least a pass each, as many as can be looked at. */
export function timeSlices(run: RunRecords): TimeSlice[] {
  const marks = countedRecords(run).map(({ record: { seconds, time }, passes }) => ({
    ...{ seconds, passes },
    ...(time ?? { read: 0, decode: 0, wait: 0 }),
  }))
  if (marks.length === 0) return []
  const first = marks[0]
  const start = { from: 0, to: 0, before: Math.max(0, first.seconds), compute: 0, wait: 0, read: 0, decode: 0 }
  const slices: TimeSlice[] = [start]
  const width = Math.max(1, Math.ceil(marks[marks.length - 1].passes / MOST_BARS))
  let from = first
  let began = Math.floor(first.passes / width) * width
  for (const [k, mark] of marks.entries()) {
    const full = mark.passes >= began + width - 1e-9
    if (!full && k < marks.length - 1) continue
    // A resumed run counts its seconds of reading from 0 again.
    const spent = (key: 'read' | 'decode' | 'wait'): number => Math.max(0, mark[key] - from[key])
    const wall = Math.max(0, mark.seconds - from.seconds)
    const wait = Math.min(wall, spent('wait'))
    if (wall > 0)
      slices.push({
        ...{ from: began, to: mark.passes, before: 0, compute: wall - wait, wait },
        ...{ read: spent('read'), decode: spent('decode') },
      })
    from = mark
    began = Math.floor((mark.passes + 1e-9) / width) * width
  }
  return slices
}

const SIDES = { training: 'training thread', readers: 'reader threads' }
const KINDS = [
  { key: 'before', name: 'before training', side: SIDES.training, colour: PURPLE },
  { key: 'compute', name: 'computing', side: SIDES.training, colour: BLUE },
  { key: 'wait', name: 'waiting for rows', side: SIDES.training, colour: ORANGE },
  { key: 'read', name: 'reading', side: SIDES.readers, colour: OCHRE },
  { key: 'decode', name: 'decoding', side: SIDES.readers, colour: GREEN },
] as const

export function timeChart(run: RunRecords): Chart | undefined {
  const slices = timeSlices(run)
  if (slices.length < 2) return undefined
  const total = (key: (typeof KINDS)[number]['key']): number => slices.reduce((sum, slice) => sum + slice[key], 0)
  const kinds = KINDS.filter(({ key }) => total(key) > 0)
  const sides = [...new Set(kinds.map(({ side }) => side))]
  const bars = slices.flatMap((slice, k) =>
    kinds.map(({ key, name, side, colour }) => ({ slice: k, seconds: slice[key], name, side, colour })),
  )
  const label = (k: number): string => (k === 0 ? 'before' : countText(Math.ceil(slices[k].to - 1e-9)))
  return {
    id: 'time',
    title: 'Where the time went',
    about:
      sides.length > 1
        ? 'Above, the thread that trains: orange is time in which it had no rows to work on. Below, what the reader threads did at the same time.'
        : 'Seconds of each pass over the data, and those before the first one.',
    text: `Seconds in all: ${kinds.map(({ key, name }) => `${name} ${secondsText(total(key))}`).join(', ')}.`,
    legend: kinds.map(({ name, colour }) => ({ name, colour })),
    options: size =>
      framed(size, {
        height: sides.length > 1 ? 340 : 240,
        x: {
          type: 'band',
          label: 'passes over the data',
          labelArrow: 'none',
          domain: slices.map((_, k) => k),
          tickFormat: label,
          ticks: everyNth(slices.length, ticksFor(size.width)),
        },
        y: { label: 'seconds', labelArrow: 'none', grid: true, ticks: 4 },
        ...(sides.length > 1 && { fy: { domain: sides, label: null, axis: null } }),
        marks: [
          Plot.barY(bars, {
            x: 'slice',
            y: 'seconds',
            fill: 'colour',
            ...(sides.length > 1 && { fy: 'side' }),
            insetLeft: slices.length > 30 ? 0 : 1,
          }),
          ...(sides.length > 1
            ? [Plot.text(sides, { fy: side => side, text: side => side, frameAnchor: 'top-right', dy: 2 })]
            : []),
          Plot.ruleY([0]),
        ],
        color: { type: 'identity' },
      }),
    table: tableOf(slices, {
      passes: ({ from, to }) => (to === 0 ? 'before' : `${numberText(from)} to ${numberText(to)}`),
      ...Object.fromEntries(
        kinds.map(({ key, name }) => [`${name} (s)`, (slice: TimeSlice) => Number(slice[key].toPrecision(3))]),
      ),
    }),
  }
}

/** Every n-th of so many bars, so that about `most` are named. */
function everyNth(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / most))
  return Array.from({ length: count }, (_, k) => k).filter(k => k % step === 0)
}
