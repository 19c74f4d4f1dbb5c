// What is in a file: rows, features, labels, lengths of rows, columns of a table, and its first lines.
import type { ListedFile, Summary } from './api-types.ts'
import { ChartBoard } from './chart-board.ts'
import { chartsOfFile } from './charts.ts'
import { type Child, fill, h, notice, panel } from './dom.ts'
import { formatBytes, formatCount, formatNumber } from './format.ts'
import { messageOf, type Place } from './studio.ts'

export interface SummaryPanel {
  element: HTMLElement
  /** Reads the summary again, with another column for a label. */
  load(label: string | undefined): void
}

/** `offer` is told the columns of a table. */
export function summaryPanel(
  { studio, signal }: Place,
  { name, kind }: ListedFile,
  offer: (columns: string[]) => void,
): SummaryPanel {
  const body = h(
    'div',
    { class: 'summary' },
    notice('loading', kind === 'store' ? 'Reading some rows of the store…' : 'Reading the beginning of the file…'),
  )
  let reading = new AbortController()
  const load = async (label: string | undefined): Promise<void> => {
    reading.abort()
    reading = new AbortController()
    const { signal: mine } = reading
    body.setAttribute('aria-busy', 'true')
    try {
      const summary = await studio.api.summary(name, label, mine)
      const charts = new ChartBoard()
      fill(body, ...partsOf(summary, charts.element, kind === 'store' ? 'Some rows' : 'First lines'))
      charts.show(chartsOfFile(summary))
      if (summary.columns) offer(summary.columns.map(column => column.name))
    } catch (error) {
      if (!mine.aborted) fill(body, notice('error', h('p', {}, messageOf(error))))
    }
    if (!mine.aborted) body.removeAttribute('aria-busy')
  }
  signal.addEventListener('abort', () => reading.abort())
  return { element: panel('What is in it', { id: 'summary' }, body), load: label => void load(label) }
}

function partsOf(summary: Summary, charts: HTMLElement, linesTitle: string): Child[] {
  const { rows, features, nonzeros, values, sampled, sampledRows, bytes } = summary
  const about = sampled ? 'about ' : ''
  const facts: [string, string][] = [
    ['Rows', `${about}${formatCount(rows)}`],
    ['Features', `${about}${formatCount(features)}`],
    ['Nonzeros a row', nonzerosText(nonzeros)],
    ['Classes', classesText(summary)],
    ...(values
      ? [['Values', `${formatNumber(values.least)} to ${formatNumber(values.most)}`] as [string, string]]
      : []),
    ['Size', formatBytes(bytes)],
  ]
  return [
    h('dl', { class: 'facts' }, ...facts.map(([term, value]) => h('div', {}, h('dt', {}, term), h('dd', {}, value)))),
    sampled && h('p', { class: 'quiet small' }, 'Counted on the beginning of the file.'),
    sampledRows !== undefined &&
      h(
        'p',
        { class: 'quiet small' },
        `Lengths and values are those of ${formatCount(sampledRows)} rows from all over the store.`,
      ),
    summary.bad && badRows(summary.bad, sampled),
    charts,
    summary.columns && columnsTable(summary.columns),
    firstLines(linesTitle, summary.lines),
  ]
}

function badRows({ rows, first }: NonNullable<Summary['bad']>, sampled: boolean): HTMLElement {
  const counted = `${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}${sampled ? ' of the beginning' : ''}`
  return notice(
    'warning',
    h('p', {}, `${counted} cannot be read. ${rows === 1 ? 'It is' : 'The first is'} ${first}.`),
    h('p', {}, 'Training stops there. To leave such rows out, choose “skip” under More settings.'),
  )
}

function nonzerosText({ mean, most }: Summary['nonzeros']): string {
  const average = mean >= 100 ? formatCount(mean) : formatNumber(mean, 3)
  return most > 0 ? `${average} (most ${formatCount(most)})` : average
}

function classesText({ classes, sampled, needsLabel }: Summary): string {
  return needsLabel ? 'choose the label first' : `${sampled ? 'at least ' : ''}${formatCount(classes)}`
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

function firstLines(title: string, lines: string[]): Child {
  if (lines.length === 0) return undefined
  return [
    h('h3', { id: 'first-lines' }, title),
    h('pre', { class: 'lines', tabindex: '0', role: 'group', 'aria-labelledby': 'first-lines' }, lines.join('\n')),
  ]
}
