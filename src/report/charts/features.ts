// The weights that are largest by size, each with the label that it speaks for.
import * as Plot from '@observablehq/plot'
import type { RunRecords } from '../records.ts'
import { BLUE, type Chart, framed, ORANGE, tableOf, ticksFor } from './chart.ts'
import { countText, numberText } from './units.ts'

/** More of them make a chart that nobody reads. */
const MOST = 12
const LONGEST_NAME = 32

interface Weight {
  /** Names may be the same: the place in the list tells them apart. */
  place: number
  name: string
  weight: number
  label: string
}

export function featuresChart({ features: found }: Pick<RunRecords, 'features'>): Chart | undefined {
  if (!found || found.features.length === 0) return undefined
  const all: Weight[] = found.features.map((feature, place) => ({ ...feature, place }))
  const shown = all.slice(0, MOST)
  const several = new Set(all.map(({ label }) => label)).size > 1
  const [first] = all
  return {
    id: 'features',
    title: 'Weightiest features',
    about:
      'Each bar names the label that the feature speaks for. Weights of features with different scales cannot be compared: `spillway inspect MODEL --data FILE` shows what a usual step of each does.',
    text: `${countText(found.nonzero)} of ${countText(found.all)} weights are not zero. The largest is ${numberText(first.weight)}, of ${first.name}, for label ${first.label}.`,
    legend: [
      { name: 'positive weight', colour: BLUE },
      { name: 'negative weight', colour: ORANGE },
    ],
    options: size =>
      framed(size, {
        height: 64 + 34 * shown.length,
        marginLeft: 12,
        x: { label: 'weight', labelArrow: 'none', ticks: ticksFor(size.width) - 1, grid: true },
        y: { type: 'band', axis: null, domain: shown.map(({ place }) => place), padding: 0 },
        color: { type: 'identity' },
        marks: [
          Plot.barX(shown, {
            ...{ x: 'weight', y: 'place', insetTop: 16, insetBottom: 4 },
            fill: ({ weight }: Weight) => (weight < 0 ? ORANGE : BLUE),
          }),
          Plot.text(shown, {
            ...{ y: 'place', frameAnchor: 'left', textAnchor: 'start', dy: -8, dx: 2 },
            text: ({ name, weight, label }: Weight) =>
              `${shortened(name)}: ${numberText(weight)}${several ? ` → ${shortened(label)}` : ''}`,
            ...{ stroke: 'var(--surface)', strokeWidth: 4, fill: 'currentColor', paintOrder: 'stroke' },
          }),
          Plot.ruleX([0]),
        ],
      }),
    table: tableOf(all, {
      feature: ({ name }) => name,
      weight: ({ weight }) => Number(numberText(weight)),
      label: ({ label }) => label,
    }),
  }
}

const shortened = (text: string): string => (text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text)
