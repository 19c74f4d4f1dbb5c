// The page of a report: reads the records that stand in it, and shows one run, or several side by side.
import './report.css'
import { chartsOf } from '../charts/all-charts.ts'
import type { Chart } from '../charts/chart.ts'
import { compareCharts } from '../charts/compare.ts'
import { bytesText } from '../charts/units.ts'
import { compareRuns } from '../compare-runs.ts'
import type { ReportContent } from '../html.ts'
import { collectRecords, type RunRecords } from '../records.ts'
import { element } from './element.ts'
import { factsOf, verdictOf } from './facts.ts'
import { ChartFigure, tableElement } from './figure.ts'
import { themeButton } from './theme.ts'

function head(title: string, when: string): HTMLElement {
  return element('header', {}, [
    element('div', {}, [element('h1', {}, [title]), element('p', { class: 'when' }, [when])]),
    themeButton(),
  ])
}

function figures(charts: Chart[]): HTMLElement {
  const place = element('div', { class: charts.length === 1 ? 'charts alone' : 'charts' })
  for (const chart of charts) place.append(new ChartFigure(chart).element)
  return place
}

function section(id: string, title: string, children: Node[]): HTMLElement {
  return element('section', { 'aria-labelledby': id }, [element('h2', { id }, [title]), ...children])
}

const TITLES: Record<RunRecords['run']['verb'], string> = {
  train: 'Training on',
  tune: 'Costs tried on',
  'cross-validate': 'Cross-validation of',
  predict: 'Predictions for',
}

function dataName({ data }: RunRecords['run']): string {
  const [first] = data
  if (first === undefined) return 'rows'
  if (first === '-') return 'standard input'
  const name = first.split('/').findLast(part => part !== '') ?? first
  return data.length > 1 ? `${name} and ${data.length - 1} more` : name
}

export function titleOf(run: RunRecords): string {
  return `${TITLES[run.run.verb] ?? 'A run on'} ${dataName(run.run)}`
}

function showRun(page: HTMLElement, run: RunRecords): void {
  const { text, good, sum = [], advice } = verdictOf(run)
  page.append(
    head(titleOf(run), `${run.run.began.replace('T', ' ').slice(0, 19)} UTC · Spillway ${run.run.version}`),
    element('div', { class: good ? 'verdict' : 'verdict short' }, [
      element('p', {}, [text]),
      ...(sum.length > 0 ? [sumTable(sum)] : []),
      ...(advice ? [element('p', {}, [advice])] : []),
    ]),
    element(
      'dl',
      { class: 'facts' },
      factsOf(run).map(({ name, value, note }) =>
        element('div', {}, [
          element('dt', {}, [name]),
          element('dd', {}, [value, ...(note ? [element('small', {}, [note])] : [])]),
        ]),
      ),
    ),
  )
  for (const { id, title, charts } of chartsOf(run)) page.append(section(id, title, [figures(charts)]))
  page.append(section('settings', 'Command and settings', settingsOf(run)))
}

function sumTable(lines: string[][]): HTMLElement {
  const rows = lines.map(([name = '', ...cells]) =>
    element('tr', {}, [element('th', { scope: 'row' }, [name]), element('td', {}, [cells.join(' ')])]),
  )
  return element('table', {}, [element('tbody', {}, rows)])
}

function settingsOf({ run, resumed }: RunRecords): Node[] {
  const commands = [run, ...resumed.map(({ run }) => run)].map(({ command }) =>
    element('pre', { class: 'command' }, [command]),
  )
  // Predictions draw nothing at random.
  const seed = run.verb === 'predict' ? {} : { seed: run.seed }
  const shown = Object.entries({ ...seed, ...run.settings }).map(([name, value]) =>
    element('div', {}, [
      element('dt', {}, [name.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)]),
      element('dd', {}, [settingText(name, value)]),
    ]),
  )
  return [...commands, element('dl', { class: 'settings' }, shown)]
}

function settingText(name: string, value: unknown): string {
  if (name === 'memory' && typeof value === 'number') return bytesText(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function showComparison(page: HTMLElement, runs: RunRecords[], best: number | undefined): void {
  const charts = compareCharts(runs, best)
  const { differences } = compareRuns(runs, best)
  page.append(head(`${runs.length} runs compared`, runs.map(titleOf).filter(isFirst).join(' · ')))
  if (differences.length > 0) {
    const words = `These runs solve different problems, so that their objectives cannot be compared: ${differences.join('; ')}.`
    page.append(element('p', { class: 'verdict short' }, [words]))
  }
  if (charts.length > 0) {
    const table = element('div', { class: 'runs', tabindex: '0', role: 'region', 'aria-label': 'The runs' }, [
      tableElement(charts[0].table, 'The runs'),
    ])
    page.append(table, section('figures', 'Figures', [figures(charts)]))
  }
  const commands = runs.map(({ name, run }) => element('pre', { class: 'command' }, [`# ${name}\n${run.command}`]))
  page.append(section('settings', 'Commands', commands))
}

const isFirst = (text: string, k: number, all: string[]): boolean => all.indexOf(text) === k

const content: ReportContent = JSON.parse(document.getElementById('records')!.textContent!)
const page = element('main', { class: 'page' })
document.body.append(page)
const runs = content.runs.map(({ name, lines }) => collectRecords(lines, name))
if (content.kind === 'run') showRun(page, runs[0])
else showComparison(page, runs, content.best)
page.append(
  element('footer', {}, ['Drawn from the records of the run. This page is one file and asks nothing of the network.']),
)
// For those who take pictures: charts are drawn when their widths are known, before the next frame.
requestAnimationFrame(() =>
  requestAnimationFrame(() => {
    document.documentElement.dataset['drawn'] = 'yes'
  }),
)
