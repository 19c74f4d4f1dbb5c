// The weights that are largest by size, each with the label that it speaks for.
import * as Plot from '@observablehq/plot'
import type { RunRecords } from '../records.ts'
import { BLUE, type Chart, framed, ORANGE, tableOf, ticksFor } from './chart.ts'
import { countText, numberText } from './units.ts'

/** More of them make a chart that nobody reads. */
const MOST = 12
/** Pixels of a letter, about. */
const LETTER = 6.6
/** The share of the text that the label may take. */
const LABEL_SHARE = 0.27

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
      'Each bar names the label that the feature speaks for. Weights of features with different scales cannot be compared: spillway inspect MODEL --data FILE shows what a usual step of each does.',
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
            ...{ x: 'weight', y: 'place', insetTop: 18, insetBottom: 3 },
            fill: ({ weight }: Weight) => (weight < 0 ? ORANGE : BLUE),
          }),
          Plot.ruleX([0]),
          Plot.text(shown, {
            ...{ y: 'place', frameAnchor: 'left', textAnchor: 'start', dy: -9, dx: 2 },
            text: (one: Weight) => barText(one, several, Math.floor((size.width - 40) / LETTER)),
            ...{ stroke: 'var(--surface)', strokeWidth: 4, fill: 'currentColor', paintOrder: 'stroke' },
          }),
        ],
      }),
    table: tableOf(all, {
      feature: ({ name }) => name,
      weight: ({ weight }) => Number(numberText(weight)),
      label: ({ label }) => label,
    }),
  }
}

/** Of at most so many letters: the name is cut where all of it is too long. */
export function barText({ name, weight, label }: Weight, several: boolean, letters: number): string {
  const spoken = several ? ` for ${shortened(label, Math.floor(LABEL_SHARE * letters))}` : ''
  const rest = `: ${Number(weight.toPrecision(4))}${spoken}`
  return `${shortened(name, Math.max(8, letters - rest.length))}${rest}`
}

/** Cut in the middle: a column and its value begin and end a name. */
function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const end = Math.floor((most - 1) / 2)
  return `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}`
}
