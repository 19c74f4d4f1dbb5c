// Where predictions and labels part: a matrix whose cells open the rows behind them.
import type { EvaluationRecord } from '../../report/records.ts'
import type { CellRows } from './api-types.ts'
import { type Child, fill, h, notice, panel } from './dom.ts'
import { formatCount, formatNumber, formatShare } from './format.ts'
import { messageOf, type Place } from './studio.ts'

type CellRow = CellRows['rows'][number]
type Confusion = NonNullable<EvaluationRecord['confusion']>

interface Cell {
  truth: string
  predicted: string
  rows: number
}

/** A larger matrix is no picture any more: its largest mix-ups are listed. */
const MOST_LABELS = 24
/** More labels than these have smaller cells, and all the width of the page. */
const FEW_LABELS = 8
const MOST_LISTED = 40

export function confusionPanel(place: Place, id: string, evaluation: EvaluationRecord, explain: (row: string) => void) {
  const { confusion, accuracy, rows } = evaluation
  if (!confusion) return undefined
  const below = h('div', { class: 'cell-rows' }, h('p', { class: 'quiet' }, 'Choose a cell to see its rows.'))
  let leave = new AbortController()
  const open = async (cell: Cell, button: HTMLElement): Promise<void> => {
    leave.abort()
    leave = new AbortController()
    const { signal } = leave
    for (const other of matrix.querySelectorAll('[aria-pressed=true]')) other.setAttribute('aria-pressed', 'false')
    button.setAttribute('aria-pressed', 'true')
    // What stands below stays where it is until the rows are there.
    below.style.setProperty('min-height', `${below.offsetHeight}px`)
    fill(below, notice('loading', 'Looking for the rows…'))
    try {
      const found = await place.studio.api.rows(id, cell, signal)
      fill(
        below,
        rowsTable(cell, found, row => void why(cell, row)),
      )
      place.studio.announce(`${formatCount(found.all)} rows of ${cell.truth}, predicted as ${cell.predicted}.`)
    } catch (error) {
      if (!signal.aborted) fill(below, notice('error', h('p', {}, messageOf(error))))
    }
    if (!signal.aborted) below.style.removeProperty('min-height')
  }
  /** Half a row would get another score: one that was cut is asked for again, whole. */
  const why = async (cell: Cell, { line, text }: CellRow): Promise<void> => {
    if (!text.endsWith('…')) return explain(text)
    const { truth, predicted } = cell
    const whole = await place.studio.api.rows(id, { truth, predicted, line }, place.signal).catch(() => undefined)
    explain(whole?.rows[0]?.text ?? text)
  }
  place.signal.addEventListener('abort', () => leave.abort())
  const large = confusion.labels.length > MOST_LABELS
  const matrix = large ? largestMixUps(confusion, open) : matrixTable(confusion, open)
  const text = `${formatShare(accuracy)} of ${formatCount(rows)} rows are right.`
  return panel(
    'Confusion matrix',
    { id: 'confusion', class: large || confusion.labels.length <= FEW_LABELS ? '' : 'whole-row' },
    h('p', { class: 'hint' }, text, large ? ' The largest mix-ups:' : ' Labels go down, predictions across.'),
    h('div', { class: 'scroll wide', tabindex: '0', role: 'group', 'aria-label': 'Confusion matrix' }, matrix),
    below,
  )
}

type Open = (cell: Cell, button: HTMLElement) => Promise<void>

function cellButton(cell: Cell, shade: number, open: Open): HTMLElement {
  const right = cell.truth === cell.predicted
  const button = h(
    'button',
    {
      type: 'button',
      class: right ? 'matrix-cell right' : 'matrix-cell',
      'aria-pressed': 'false',
      'aria-label': `${formatCount(cell.rows)} rows of ${cell.truth} predicted as ${cell.predicted}`,
      disabled: cell.rows === 0,
      style: { '--shade': `${Math.round(100 * shade)}%` },
    },
    formatCount(cell.rows),
  )
  button.addEventListener('click', () => void open(cell, button))
  return button
}

function matrixTable({ labels, counts }: Confusion, open: Open): HTMLElement {
  const heads = labels.map(label => h('th', { scope: 'col' }, label))
  const rows = labels.map((truth, t) => {
    const all = Math.max(1, counts[t]?.reduce((sum, count) => sum + count, 0) ?? 0)
    const cells = labels.map((predicted, p) => {
      const count = counts[t]?.[p] ?? 0
      return h('td', {}, cellButton({ truth, predicted, rows: count }, count / all, open))
    })
    return h('tr', {}, h('th', { scope: 'row' }, truth), cells)
  })
  return h(
    'table',
    { class: labels.length > FEW_LABELS ? 'matrix many' : 'matrix' },
    h('caption', { class: 'hidden-text' }, 'Rows by label, down, and prediction, across'),
    h('thead', {}, h('tr', {}, h('td', {}), heads)),
    h('tbody', {}, rows),
  )
}

function largestMixUps({ labels, counts }: Confusion, open: Open): HTMLElement {
  const cells = counts
    .flatMap((row, t) => row.map((rows, p) => ({ truth: labels[t], predicted: labels[p], rows })))
    .filter(({ truth, predicted, rows }) => rows > 0 && truth !== predicted)
    .sort((a, b) => b.rows - a.rows)
    .slice(0, MOST_LISTED)
  const most = cells[0]?.rows ?? 1
  return h(
    'table',
    {},
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ['Label', 'Predicted as', 'Rows'].map(text => h('th', { scope: 'col' }, text)),
      ),
    ),
    h(
      'tbody',
      {},
      cells.map(cell =>
        h(
          'tr',
          {},
          h('td', {}, cell.truth),
          h('td', {}, cell.predicted),
          h('td', {}, cellButton(cell, cell.rows / most, open)),
        ),
      ),
    ),
  )
}

function rowsTable(cell: Cell, { rows, all, sampled, byRow }: CellRows, why: (row: CellRow) => void): Child {
  const found = `${formatCount(all)} ${all === 1 ? 'row' : 'rows'}`
  const title = `${found}${sampled ? ', in a part of the data,' : ''} of ${cell.truth} predicted as ${cell.predicted}`
  const some = byRow ? `${formatCount(rows.length)} of them` : `the first ${formatCount(rows.length)}`
  const shown = rows.length < all ? `, ${some}` : ''
  if (rows.length === 0) return h('p', { class: 'quiet' }, `${title}.`)
  const heads = [
    [byRow ? 'Row' : 'Line', 'Score'].map(text => h('th', { scope: 'col', class: 'number' }, text)),
    h('th', { scope: 'col' }, byRow ? 'Features and values' : 'Text'),
    h('td', {}),
  ]
  return [
    h('h3', {}, `${title}${shown}`),
    h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': title },
      h(
        'table',
        { class: 'row-list' },
        h('thead', {}, h('tr', {}, heads)),
        h(
          'tbody',
          {},
          rows.map(row => rowOf(row, byRow ? 'row' : 'line', why)),
        ),
      ),
    ),
  ]
}

function rowOf(row: CellRow, what: 'row' | 'line', why: (row: CellRow) => void): HTMLElement {
  const label = `Why ${what} ${row.line}?`
  const { source, sourceRow } = row
  const button = h(
    'button',
    { type: 'button', class: 'small', 'aria-label': label, on: { click: () => why(row) } },
    'Why?',
  )
  return h(
    'tr',
    {},
    h('td', { class: 'number' }, formatCount(row.line)),
    h('td', { class: 'number' }, formatNumber(row.score)),
    h(
      'td',
      {},
      h('code', { class: 'row-text' }, row.text),
      source !== undefined && h('span', { class: 'hint' }, `row ${formatCount(sourceRow!)} of ${source}`),
    ),
    h('td', {}, button),
  )
}
