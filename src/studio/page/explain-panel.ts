// Paste a row: its label and score, and the features that made it.
import type { ExplainedRow } from './api-types.ts'
import { type Child, fill, h, notice, panel } from './dom.ts'
import { formatNumber, formatShare } from './format.ts'
import { messageOf, type Place } from './studio.ts'

/** Features that are drawn: a row may have thousands. */
const MOST_SHOWN = 20
const MOST_LABELS = 10

export interface ExplainPanel {
  element: HTMLElement
  /** Puts a row there and asks for it. */
  ask(row: string): void
}

export function explainPanel({ studio }: Place, id: string): ExplainPanel {
  const input = h('textarea', {
    id: 'row',
    rows: 3,
    spellcheck: 'false',
    autocomplete: 'off',
    placeholder: '3:1 7:0.5',
  })
  const answer = h('div', { class: 'answer' })
  let asked = 0
  const ask = async (): Promise<void> => {
    const row = input.value.trim()
    if (row === '') {
      fill(answer, h('p', { class: 'quiet' }, 'Paste a row first, as it stands in the file.'))
      return
    }
    const mine = ++asked
    answer.setAttribute('aria-busy', 'true')
    try {
      const found = await studio.api.explain(id, row)
      if (mine !== asked) return
      fill(answer, ...answerOf(found))
      studio.announce(`The label is ${found.label}.`)
    } catch (error) {
      if (mine === asked) fill(answer, notice('error', h('p', {}, messageOf(error))))
    }
    answer.removeAttribute('aria-busy')
  }
  const form = h(
    'form',
    { class: 'explain' },
    h('label', { for: 'row' }, 'A row, as it stands in the file'),
    input,
    h('div', { class: 'submit' }, h('button', { type: 'submit' }, 'Predict'), h('span', { class: 'hint' }, 'or Enter')),
  )
  form.addEventListener('submit', event => {
    event.preventDefault()
    void ask()
  })
  input.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      input.value = ''
      fill(answer)
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      void ask()
    }
  })
  return {
    element: panel('Try a row', { id: 'explain' }, form, answer),
    ask: row => {
      input.value = row
      input.scrollIntoView({ block: 'center' })
      input.focus({ preventScroll: true })
      void ask()
    },
  }
}

function answerOf({ label, scores, features, others, probability }: ExplainedRow): Child[] {
  const ranked = [...scores].sort((a, b) => b.score - a.score).slice(0, MOST_LABELS)
  const sorted = [...features].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution))
  const [top, left] = [sorted.slice(0, MOST_SHOWN), sorted.slice(MOST_SHOWN)]
  const rest = left.reduce((sum, { contribution }) => sum + contribution, others)
  return [
    h(
      'p',
      { class: 'verdict' },
      h('span', { class: 'quiet' }, 'Label'),
      h('strong', {}, label),
      probability !== undefined && h('span', { class: 'quiet' }, `probability ${formatShare(probability)}`),
    ),
    h(
      'dl',
      { class: 'facts' },
      ranked.map(one => h('div', {}, h('dt', {}, `Score of ${one.label}`), h('dd', {}, formatNumber(one.score, 6)))),
    ),
    top.length === 0 ? h('p', { class: 'quiet' }, 'No feature of this row has a weight.') : contributions(top, label),
    rest !== 0 && h('p', { class: 'quiet small' }, `All other features add ${formatNumber(rest)}.`),
  ]
}

function contributions(features: ExplainedRow['features'], label: string): HTMLElement {
  const most = Math.max(...features.map(({ contribution }) => Math.abs(contribution)), Number.MIN_VALUE)
  const row = ({ index, name, value, weight, contribution }: ExplainedRow['features'][number]): HTMLElement => {
    const share = `${(50 * Math.abs(contribution)) / most}%`
    const side = contribution >= 0 ? 'for' : 'against'
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, name ?? (index === undefined ? 'the bias' : String(index))),
      h('td', { class: 'number less-needed' }, formatNumber(value)),
      h('td', { class: 'number less-needed' }, formatNumber(weight)),
      h(
        'td',
        { class: 'bar-cell', 'aria-hidden': 'true' },
        h('span', { class: `contribution ${side}`, style: { width: share } }),
      ),
      h('td', { class: 'number' }, `${contribution > 0 ? '+' : ''}${formatNumber(contribution)}`),
    )
  }
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Features of the row' },
    h(
      'table',
      { class: 'contributions' },
      h('caption', {}, `What each feature adds for ${label}`),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, 'Feature'),
          ['Value', 'Weight'].map(text => h('th', { scope: 'col', class: 'number less-needed' }, text)),
          h('td', {}),
          h('th', { scope: 'col', class: 'number' }, 'Adds'),
        ),
      ),
      h('tbody', {}, features.map(row)),
    ),
  )
}
