// What the data is like: nonzeros a row, how many rows each label has, and the values of features.
import * as Plot from '@observablehq/plot'
import type { Bin, DataRecord, RunRecords } from '../records.ts'
import { BLUE, type Chart, type ChartSize, framed, GREEN, PURPLE, tableOf, ticksFor } from './chart.ts'
import { countText, numberText, shareText, shortCount } from './units.ts'

const sampled = ({ sampledRows }: DataRecord): string =>
  sampledRows === undefined ? '' : ` Counted on a sample of ${countText(sampledRows)} rows.`

/** Ranges of a few names, or of numbers. */
const range = ({ from, to }: Bin): string =>
  from === to ? numberText(from) : `${numberText(from)} to ${numberText(to)}`

function barsOfBins(
  size: ChartSize,
  bins: Bin[],
  { axis, of, colour }: { axis: string; of: string; colour: string },
): Plot.PlotOptions {
  const places = bins.map((bin, k) => ({ ...bin, k }))
  const most = Math.max(1, ...bins.map(({ count }) => count))
  const step = Math.ceil(bins.length / ticksFor(size.width))
  return framed(size, {
    height: 240,
    x: {
      type: 'band',
      label: axis,
      labelArrow: 'none',
      domain: places.map(({ k }) => k),
      ticks: places.filter(({ k }) => k % step === 0).map(({ k }) => k),
      tickFormat: (k: number) => shortNumber(bins[k].from),
      padding: 0.06,
    },
    // There is no half of a row.
    y: { label: of, labelArrow: 'none', grid: true, ticks: Math.min(5, most), tickFormat: shortCount },
    marks: [Plot.barY(places, { x: 'k', y: 'count', fill: colour }), Plot.ruleY([0])],
  })
}

const shortNumber = (value: number): string =>
  Math.abs(value) >= 10000 ? shortCount(value) : String(Number(value.toPrecision(3)))

export function rowLengthsChart({ data }: Pick<RunRecords, 'data'>): Chart | undefined {
  const bins = data?.rowLengths
  if (!data || !bins || bins.length === 0) return undefined
  const { rows, nonzeros } = data
  const mean = nonzeros === undefined ? '' : `${numberText(rows > 0 ? nonzeros / rows : 0)} nonzeros a row on average; `
  const [shortest, longest] = [bins[0].from, bins[bins.length - 1].to]
  return {
    id: 'row-lengths',
    title: 'Nonzeros a row',
    about: `How many features the rows have. A few very long rows, or rows without any, may be a slip in the data.${sampled(data)}`,
    text: `${mean}${mean ? 'rows' : 'Rows'} have from ${countText(shortest)} to ${countText(longest)}${mean ? '' : ' nonzeros'}.`,
    options: size => barsOfBins(size, bins, { axis: 'nonzeros a row, from', of: 'rows', colour: BLUE }),
    table: tableOf(bins, { 'nonzeros a row': range, rows: ({ count }) => count }),
  }
}

export function valuesChart({ data }: Pick<RunRecords, 'data'>): Chart | undefined {
  if (!data?.values || data.values.bins.length === 0) return undefined
  const { smallest, largest, bins } = data.values
  return {
    id: 'values',
    title: 'Values of features',
    about: `Nonzero values, by size. Values of very different sizes make training slow: --scale or --normalize helps.${sampled(data)}`,
    text: `Values from ${numberText(smallest)} to ${numberText(largest)}.`,
    options: size => barsOfBins(size, bins, { axis: 'value, from', of: 'values', colour: PURPLE }),
    table: tableOf(bins, { value: range, values: ({ count }) => count }),
  }
}

export function labelsChart({ data }: Pick<RunRecords, 'data'>): Chart | undefined {
  if (!data || data.labels.length === 0) return undefined
  const { otherLabels } = data
  const shown = [
    ...data.labels.slice(0, 20),
    ...(data.labels.length > 20 || otherLabels
      ? [
          {
            label: `${countText(data.labels.length - Math.min(20, data.labels.length) + (otherLabels?.labels ?? 0))} others`,
            rows: data.labels.slice(20).reduce((sum, { rows }) => sum + rows, otherLabels?.rows ?? 0),
          },
        ]
      : []),
  ].map((one, place) => ({ ...one, place }))
  const all = shown.reduce((sum, { rows }) => sum + rows, 0)
  const part = (rows: number): number => (all > 0 ? rows / all : 0)
  return {
    id: 'labels',
    title: 'Labels',
    about:
      'Rows of each label. Where one has nearly all rows, look at precision and recall rather than accuracy; --class-weight makes a rare label count for more.',
    text: shown.map(({ label, rows }) => `${label}: ${countText(rows)} rows, ${shareText(part(rows))}`).join('; '),
    options: size =>
      framed(size, {
        height: 64 + 38 * shown.length,
        marginLeft: 12,
        x: {
          ...{ label: 'rows', labelArrow: 'none', tickFormat: shortCount, grid: true },
          ticks: Math.min(ticksFor(size.width) - 1, Math.max(1, ...shown.map(({ rows }) => rows))),
        },
        y: { type: 'band', axis: null, domain: shown.map(({ place }) => place), padding: 0 },
        marks: [
          Plot.barX(shown, { x: 'rows', y: 'place', fill: GREEN, insetTop: 18, insetBottom: 4 }),
          Plot.text(shown, {
            ...{ x: 0, y: 'place', textAnchor: 'start', dy: -8, dx: 2 },
            text: ({ label, rows }: { label: string; rows: number }) =>
              `${label.length > 24 ? `${label.slice(0, 23)}…` : label}: ${countText(rows)} (${shareText(part(rows))})`,
          }),
          Plot.ruleX([0]),
        ],
      }),
    table: tableOf(shown, {
      label: ({ label }) => label,
      rows: ({ rows }) => rows,
      share: ({ rows }) => shareText(part(rows)),
    }),
  }
}
