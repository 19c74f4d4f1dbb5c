// Every chart of a run, in the order of a report.
import type { RunRecords } from '../records.ts'
import { costsChart, foldsChart, testAccuracyChart } from './accuracy.ts'
import type { Chart, ChartOfRun } from './chart.ts'
import { gapChart, objectiveChart } from './convergence.ts'
import { labelsChart, rowLengthsChart, valuesChart } from './data.ts'
import { calibrationChart, confusionChart, precisionRecallChart, rocChart } from './evaluation.ts'
import { featuresChart } from './features.ts'
import { memoryChart, memoryPlanChart } from './memory.ts'
import { relaxationsChart } from './relaxations.ts'
import { bytesReadChart, rowsInMemoryChart } from './rows-in-memory.ts'
import { timeChart } from './time.ts'

export interface ChartSection {
  id: string
  title: string
  charts: Chart[]
}

export const allCharts: { id: string; title: string; charts: ChartOfRun[] }[] = [
  {
    id: 'training',
    title: 'Training',
    charts: [objectiveChart, gapChart, relaxationsChart, costsChart, foldsChart, testAccuracyChart],
  },
  {
    id: 'resources',
    title: 'Time and memory',
    charts: [timeChart, memoryChart, rowsInMemoryChart, bytesReadChart, memoryPlanChart],
  },
  {
    id: 'predictions',
    title: 'Predictions',
    charts: [rocChart, precisionRecallChart, confusionChart, calibrationChart],
  },
  { id: 'model', title: 'The model', charts: [featuresChart] },
  { id: 'data', title: 'The data', charts: [labelsChart, rowLengthsChart, valuesChart] },
]

/** The charts that apply to a run; a part without any is left out. */
export function chartsOf(run: RunRecords): ChartSection[] {
  return allCharts
    .map(({ id, title, charts }) => ({ id, title, charts: charts.flatMap(chart => chart(run) ?? []) }))
    .filter(({ charts }) => charts.length > 0)
}
