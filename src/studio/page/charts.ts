// Which charts the page shows, and where: those of a run's report, and those of a file's summary.
import { allCharts } from '../../report/charts/all-charts.ts'
import type { Chart } from '../../report/charts/chart.ts'
import { labelsChart, rowLengthsChart } from '../../report/charts/data.ts'
import { confusionChart } from '../../report/charts/evaluation.ts'
import type { DataRecord, RunRecords } from '../../report/records.ts'
import type { Summary } from './api-types.ts'

/** Parts of a report whose charts change while a run goes on. The others come at its end. */
const LIVE = new Set(['training', 'resources'])

/** The charts of a run as far as its records go. The page has a confusion matrix of its own, with cells to open. */
export function chartsOfRun(run: RunRecords): { live: Chart[]; ending: Chart[] } {
  const chartsIn = (live: boolean): Chart[] =>
    allCharts
      .filter(({ id }) => LIVE.has(id) === live)
      .flatMap(({ charts }) => charts)
      .filter(chart => chart !== confusionChart)
      .flatMap(chart => chart(run) ?? [])
  return { live: chartsIn(true), ending: chartsIn(false) }
}

const MOST_LABELS = 50

/** A file's summary as the record that charts of data are made from. */
export function dataRecord(summary: Summary): DataRecord {
  const { rows, features, nonzeros, classes, sampledRows } = summary
  const labels = summary.labels.slice(0, MOST_LABELS)
  const others = {
    labels: classes - labels.length,
    rows: Math.max(
      0,
      labels.reduce((left, label) => left - label.rows, rows),
    ),
  }
  return {
    record: 'data',
    rows,
    features,
    nonzeros: Math.round(nonzeros.mean * rows),
    labels,
    ...(others.labels > 0 && { otherLabels: others }),
    ...(sampledRows !== undefined && { sampledRows }),
    rowLengths: nonzeros.histogram.map(bin => ({ from: bin.from, to: bin.to, count: bin.rows })),
  }
}

export function chartsOfFile(summary: Summary): (Chart | undefined)[] {
  const data = dataRecord(summary)
  return [labelsChart({ data }), rowLengthsChart({ data })]
}
