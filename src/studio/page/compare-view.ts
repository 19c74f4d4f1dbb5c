// Runs side by side: the papers' charts, and a table of their settings and results.
import { compareCharts } from '../../report/charts/compare.ts'
import { type ComparedRun, type Comparison, compareRuns } from '../../report/compare-runs.ts'
import { collectRecords, parseRecords, type RunRecords } from '../../report/records.ts'
import type { Run } from './api-types.ts'
import { ChartBoard } from './chart-board.ts'
import { type Child, fill, h, notice, panel } from './dom.ts'
import { formatBytes, formatGap, formatObjective, formatSeconds, formatShare } from './format.ts'
import { runLink } from './routes.ts'
import { messageOf, type Place } from './studio.ts'

export function compareView(place: Place, ids: string[]): string {
  const { studio, element, signal } = place
  const runs = ids.flatMap(id => studio.run(id) ?? [])
  const gone = ids.length - runs.length
  const body = h(
    'div',
    { class: 'view-body', 'aria-busy': 'true' },
    notice('loading', 'Reading the records of the runs…'),
  )
  fill(
    element,
    h('header', { class: 'view-head' }, h('h1', {}, `${runs.length} runs side by side`)),
    gone > 0 && notice('warning', h('p', {}, `${gone} of the runs ${gone === 1 ? 'is' : 'are'} there no more.`)),
    body,
  )
  if (runs.length === 0) fill(body, notice('empty', 'Tick two runs in the list, then Compare.'))
  else void load(place, runs).then(found => !signal.aborted && showRuns(body, found))
  return 'Compare'
}

interface Loaded {
  run: Run
  records: RunRecords | undefined
  problem?: string
}

/** Runs of the same name are told apart by a number. */
function namesOf(runs: Run[]): string[] {
  const seen = new Map<string, number>()
  return runs.map(({ name }) => {
    const times = (seen.get(name) ?? 0) + 1
    seen.set(name, times)
    return times === 1 ? name : `${name} (${times})`
  })
}

function load({ studio, signal }: Place, runs: Run[]): Promise<Loaded[]> {
  const names = namesOf(runs)
  return Promise.all(
    runs.map(async (run, k): Promise<Loaded> => {
      try {
        const text = await studio.api.records(run.id, signal)
        return { run, records: collectRecords(parseRecords(text, names[k]), names[k]) }
      } catch (error) {
        return { run, records: undefined, problem: `${names[k]}: ${messageOf(error)}` }
      }
    }),
  )
}

function showRuns(body: HTMLElement, loaded: Loaded[]): void {
  const known = loaded.flatMap(({ records }) => records ?? [])
  const problems = loaded.flatMap(({ problem }) => problem ?? [])
  const comparison = compareRuns(known)
  const charts = new ChartBoard()
  body.removeAttribute('aria-busy')
  fill(
    body,
    problems.map(problem => notice('error', h('p', {}, problem))),
    comparison.differences.length > 0 &&
      notice(
        'warning',
        h('p', {}, 'These runs solve different problems, so their objectives cannot be compared: '),
        h(
          'ul',
          {},
          comparison.differences.map(difference => h('li', {}, difference)),
        ),
      ),
    charts.element,
    runsTable(loaded, comparison),
  )
  charts.show(known.length > 0 ? compareCharts(known) : [])
}

type Row = [name: string, values: (string | undefined)[]]

function runsTable(loaded: Loaded[], { runs }: Comparison): HTMLElement {
  const shown = loaded.filter(({ records }) => records !== undefined)
  const of = <T>(
    pick: (run: ComparedRun) => T | null | undefined,
    text: (value: T) => string,
  ): (string | undefined)[] =>
    runs.map(run => {
      const value = pick(run)
      return value === null || value === undefined ? undefined : text(value)
    })
  const results: Row[] = [
    ['State', shown.map(({ run }) => run.state)],
    ['Solver', of(run => run.solver, String)],
    ['Objective', of(run => run.primal, formatObjective)],
    ['Above the best', of(run => run.aboveBest, formatGap)],
    ['Gap', of(run => run.gap, formatGap)],
    ['Test accuracy', of(run => run.accuracy, formatShare)],
    [
      'Passes',
      of(
        run => run.passes,
        passes => String(Math.ceil(passes - 1e-9)),
      ),
    ],
    ['Time', of(run => run.seconds, formatSeconds)],
  ]
  const names = [...new Set(shown.flatMap(({ run }) => Object.keys(run.options)))]
  const settings: Row[] = [
    ['Data', shown.map(({ run }) => run.data)],
    ...names.map(
      (name): Row => [
        inWords(name),
        shown.map(({ run }) => {
          const value = run.options[name as keyof Run['options']]
          return name === 'memory' && typeof value === 'number' ? formatBytes(value) : value?.toString()
        }),
      ],
    ),
  ]
  const heads = runs.map(({ name }, k) => h('th', { scope: 'col' }, h('a', { href: runLink(shown[k].run.id) }, name)))
  const group = (title: string, rows: Row[], marks = false): Child => [
    h('tr', { class: 'group' }, h('th', { scope: 'colgroup', colspan: runs.length + 1 }, title)),
    rows.filter(([, values]) => values.some(value => value !== undefined)).map(row => tableRow(row, marks)),
  ]
  return panel(
    'Results and settings',
    { id: 'results' },
    h(
      'div',
      { class: 'scroll wide', tabindex: '0', role: 'group', 'aria-label': 'Results and settings of the runs' },
      h(
        'table',
        { class: 'compared' },
        h('thead', {}, h('tr', {}, h('td', {}), heads)),
        h('tbody', {}, group('Results', results), group('Settings', settings, true)),
      ),
    ),
    h('p', { class: 'hint' }, 'Settings that differ are marked.'),
  )
}

/** maxPasses → "Max passes". */
function inWords(name: string): string {
  const words = name.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** `marks`: whether values that differ stand out. */
function tableRow([name, values]: Row, marks: boolean): HTMLElement {
  const differs = marks && new Set(values).size > 1
  return h(
    'tr',
    differs ? { class: 'differs' } : {},
    h('th', { scope: 'row' }, name),
    values.map(value => h('td', {}, value ?? '–')),
  )
}
