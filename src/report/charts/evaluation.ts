// How good predictions are: ROC, precision and recall, calibration, and which label is taken for which.
import * as Plot from '@observablehq/plot'
import type { EvaluationRecord, RunRecords } from '../records.ts'
import { BLUE, type Chart, type ChartSize, FAINT, framed, GREEN, ORANGE, PURPLE, tableOf } from './chart.ts'
import { countText, shareText } from './units.ts'

/** Pixels of a letter, about. */
const LETTER = 7.2
const LONGEST_LABEL = 12

/** Curves of shares are square, and no wider than is good to look at. */
function square(size: ChartSize, options: Plot.PlotOptions): Plot.PlotOptions {
  const width = Math.min(size.width, 420)
  return framed({ ...size, width }, { height: width - 20, ...options })
}

const share = (label: string): Plot.ScaleOptions => ({
  label,
  labelArrow: 'none',
  domain: [0, 1],
  ticks: 5,
  grid: true,
})

const diagonal = [
  [0, 0],
  [1, 1],
]

interface CurveWords {
  id: string
  title: string
  about: string
  axes: [string, string]
  colour: string
  area: number | null
}

function curveChart(points: [number, number][], words: CurveWords, marks: Plot.Markish[]): Chart {
  const { id, title, about, axes, colour, area } = words
  return {
    id,
    title,
    about,
    text: `${title}, ${points.length} points${area === null ? '' : `; the area under the curve is ${area.toFixed(4)}`}.`,
    options: size =>
      square(size, {
        x: share(axes[0]),
        y: share(axes[1]),
        marks: [
          ...marks,
          Plot.areaY(points, { x: '0', y: '1', fill: colour, fillOpacity: 0.15 }),
          Plot.line(points, { x: '0', y: '1', stroke: colour, strokeWidth: 2 }),
          ...(area === null
            ? []
            : [
                Plot.text([`area ${area.toFixed(4)}`], {
                  ...{ frameAnchor: 'bottom-right', dx: -8, dy: -8, fontSize: 14 },
                }),
              ]),
        ],
      }),
    table: tableOf(points, {
      [axes[0]]: ([x]) => Number(x.toPrecision(4)),
      [axes[1]]: ([, y]) => Number(y.toPrecision(4)),
    }),
  }
}

export function rocChart({ evaluation }: Pick<RunRecords, 'evaluation'>): Chart | undefined {
  if (!evaluation?.roc) return undefined
  return curveChart(
    evaluation.roc,
    {
      id: 'roc',
      title: `ROC curve of label ${evaluation.positive}`,
      about:
        'Of all thresholds for the score: the share of the label that is found, against the share of the others that is taken for it. The further to the upper left, the better; the diagonal is guessing.',
      axes: ['false positives, share of the other label', 'true positives, share of the label'],
      colour: BLUE,
      area: evaluation.rocArea,
    },
    [Plot.line(diagonal, { stroke: 'currentColor', strokeOpacity: 0.6, strokeDasharray: '4,4' })],
  )
}

export function precisionRecallChart({ evaluation }: Pick<RunRecords, 'evaluation'>): Chart | undefined {
  if (!evaluation?.precisionRecall) return undefined
  return curveChart(
    evaluation.precisionRecall,
    {
      id: 'precision-recall',
      title: `Precision and recall of label ${evaluation.positive}`,
      about:
        'Of all thresholds: how many of the rows that are taken for the label are of it, against how many of its rows are found. It tells more than the ROC curve where the label is rare.',
      axes: ['recall', 'precision'],
      colour: PURPLE,
      area: evaluation.prArea,
    },
    [],
  )
}

export function calibrationChart({ evaluation }: Pick<RunRecords, 'evaluation'>): Chart | undefined {
  const bins = evaluation?.calibration?.filter(({ rows }) => rows > 0)
  if (!evaluation || !bins || bins.length === 0) return undefined
  const most = Math.max(...bins.map(({ rows }) => rows))
  return {
    id: 'calibration',
    title: `Calibration of label ${evaluation.positive}`,
    about:
      'Rows by the probability that they were given: how many of them are of the label. Dots on the diagonal mean that probabilities can be taken at their word; larger dots stand for more rows.',
    text: `Predicted probability and observed share: ${bins.map(({ predicted, observed }) => `${shareText(predicted)} and ${shareText(observed)}`).join('; ')}.`,
    options: size =>
      square(size, {
        x: share('predicted probability'),
        y: share('observed share'),
        r: { type: 'identity' },
        marks: [
          Plot.line(diagonal, { stroke: 'currentColor', strokeOpacity: 0.6, strokeDasharray: '4,4' }),
          Plot.line(bins, { x: 'predicted', y: 'observed', stroke: GREEN }),
          Plot.dot(bins, {
            ...{ x: 'predicted', y: 'observed', fill: GREEN },
            r: ({ rows }: { rows: number }) => 3 + 6 * Math.sqrt(rows / most),
          }),
        ],
      }),
    table: tableOf(bins, {
      'predicted probability': ({ predicted }) => shareText(predicted),
      'observed share': ({ observed }) => shareText(observed),
      rows: ({ rows }) => rows,
    }),
  }
}

export interface ConfusionCell {
  truth: string
  predicted: string
  rows: number
  /** Of the rows of the true label. */
  share: number
}

export function confusionCells({ confusion }: EvaluationRecord): ConfusionCell[] {
  if (!confusion) return []
  const { labels, counts } = confusion
  return counts.flatMap((row, t) => {
    const all = row.reduce((sum, count) => sum + count, 0)
    return row.map((rows, p) => ({ truth: labels[t], predicted: labels[p], rows, share: all > 0 ? rows / all : 0 }))
  })
}

export function confusionChart({ evaluation }: Pick<RunRecords, 'evaluation'>): Chart | undefined {
  if (!evaluation?.confusion) return undefined
  const cells = confusionCells(evaluation)
  const { labels } = evaluation.confusion
  const wrong = cells.filter(({ truth, predicted, rows }) => truth !== predicted && rows > 0)
  const worst = wrong.sort((a, b) => b.rows - a.rows)[0]
  return {
    id: 'confusion',
    title: 'Confusion matrix',
    about:
      'Rows by their true label (down) and the predicted one (across). Blue is right, orange is wrong; the stronger the colour, the larger the share of the true label.',
    text: `Of ${countText(evaluation.rows)} rows, ${shareText(evaluation.accuracy)} are predicted right${worst ? `; most often ${worst.truth} is taken for ${worst.predicted}: ${countText(worst.rows)} rows` : ''}.`,
    legend: [
      { name: 'right', colour: BLUE },
      { name: 'wrong', colour: ORANGE },
    ],
    options: size => confusionOptions(size, labels, cells),
    table: {
      columns: ['true label', ...labels],
      rows: evaluation.confusion.counts.map((row, t) => [labels[t], ...row]),
    },
  }
}

function confusionOptions(size: ChartSize, labels: string[], cells: ConfusionCell[]): Plot.PlotOptions {
  const longest = Math.min(LONGEST_LABEL, Math.max(...labels.map(label => label.length)))
  const colour = ({ truth, predicted }: ConfusionCell): string => (truth === predicted ? BLUE : ORANGE)
  const width = Math.min(size.width, 140 + 90 * labels.length)
  const marginLeft = 40 + 7 * longest
  const cell = (width - marginLeft - 18) / labels.length
  const hasNumbers = cell >= 34
  // Names that are wider than a cell run into each other: they are cut, and where that leaves too little, few are shown.
  const letters = Math.min(longest, Math.max(4, Math.floor((cell - 8) / LETTER)))
  const step = Math.ceil((LETTER * letters + 8) / cell)
  return framed(
    { ...size, width },
    {
      height: 70 + Math.max(18, Math.min(64, cell)) * labels.length,
      marginLeft,
      marginTop: 12,
      marginBottom: 46,
      x: {
        ...{ type: 'band', label: 'predicted label', labelArrow: 'none', domain: labels },
        tickFormat: (label: string) => shortened(label, letters),
        ticks: labels.filter((_, k) => k % step === 0),
      },
      y: {
        type: 'band',
        label: 'true label',
        labelArrow: 'none',
        domain: labels,
        tickFormat: (label: string) => shortened(label),
      },
      color: { type: 'identity' },
      opacity: { type: 'identity' },
      marks: [
        Plot.cell(cells, {
          ...{ x: 'predicted', y: 'truth', fill: colour, inset: 1 },
          fillOpacity: ({ share, rows }: ConfusionCell) => (rows === 0 ? 0.04 : 0.1 + (hasNumbers ? 0.4 : 0.9) * share),
        }),
        ...(hasNumbers
          ? [Plot.text(cells, { x: 'predicted', y: 'truth', text: ({ rows }: ConfusionCell) => countText(rows) })]
          : []),
        Plot.frame({ stroke: FAINT }),
      ],
    },
  )
}

const shortened = (label: string, most = LONGEST_LABEL): string =>
  label.length > most ? `${label.slice(0, most - 1)}…` : label
