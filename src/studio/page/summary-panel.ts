// What is in a file: rows, features, labels, lengths of rows, columns of a table, and its first lines.
import type { FolderFile, Summary } from './api-types.ts'
import { ChartBoard } from './chart-board.ts'
import { chartsOfFile } from './charts.ts'
import { type Child, fill, h, notice, panel } from './dom.ts'
import { formatBytes, formatCount, formatNumber } from './format.ts'
import { messageOf, type Place } from './studio.ts'

export function summaryPanel({ studio, signal }: Place, { name }: FolderFile): HTMLElement {
  const body = h(
    'div',
    { class: 'summary', 'aria-busy': 'true' },
    notice('loading', 'Reading the beginning of the file…'),
  )
  studio.api.summary(name, signal).then(
    summary => {
      body.removeAttribute('aria-busy')
      const charts = new ChartBoard()
      fill(body, ...partsOf(summary, charts.element))
      charts.show(chartsOfFile(summary))
    },
    error => {
      if (signal.aborted) return
      body.removeAttribute('aria-busy')
      fill(body, notice('error', h('p', {}, messageOf(error))))
    },
  )
  return panel('What is in it', { id: 'summary' }, body)
}

function partsOf(summary: Summary, charts: HTMLElement): Child[] {
  const { rows, features, nonzeros, values, sampled, bytes } = summary
  const about = sampled ? 'about ' : ''
  const facts: [string, string][] = [
    ['Rows', `${about}${formatCount(rows)}`],
    ['Features', `${about}${formatCount(features)}`],
    ['Nonzeros a row', `${formatNumber(nonzeros.mean, 3)} (most ${formatCount(nonzeros.most)})`],
    ['Classes', `${sampled ? 'at least ' : ''}${formatCount(summary.labels.length)}`],
    ...(values
      ? [['Values', `${formatNumber(values.least)} to ${formatNumber(values.most)}`] as [string, string]]
      : []),
    ['Size', formatBytes(bytes)],
  ]
  return [
    h('dl', { class: 'facts' }, ...facts.map(([term, value]) => h('div', {}, h('dt', {}, term), h('dd', {}, value)))),
    sampled && h('p', { class: 'quiet small' }, 'Counted on the beginning of the file.'),
    charts,
    summary.columns && columnsTable(summary.columns),
    firstLines(summary.lines),
  ]
}

/** A wide table has more columns than anybody reads at once. */
const MOST_COLUMNS = 200

function columnsTable(columns: NonNullable<Summary['columns']>): HTMLElement {
  const rows = columns
    .slice(0, MOST_COLUMNS)
    .map(({ name, became = '' }) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, became)))
  const more = columns.length - rows.length
  return h(
    'details',
    { open: columns.length <= 12 },
    h('summary', {}, `${formatCount(columns.length)} columns`),
    h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Columns of the table' },
      h(
        'table',
        {},
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Column'), h('th', { scope: 'col' }, 'What it becomes'))),
        h('tbody', {}, rows),
      ),
    ),
    more > 0 && h('p', { class: 'quiet small' }, `and ${formatCount(more)} more`),
  )
}

function firstLines(lines: string[]): Child {
  if (lines.length === 0) return undefined
  return [
    h('h3', { id: 'first-lines' }, 'First lines'),
    h('pre', { class: 'lines', tabindex: '0', role: 'group', 'aria-labelledby': 'first-lines' }, lines.join('\n')),
  ]
}
