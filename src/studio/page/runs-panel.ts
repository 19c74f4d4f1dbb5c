// The runs of the folder with their states, and the choice of those to compare.
import type { Run } from './api-types.ts'
import { h, KeyedList, type KeyedRow, markCurrent, setAttribute, setText } from './dom.ts'
import { formatGap, formatShare, formatTime } from './format.ts'
import { compareLink, parseRoute, runLink } from './routes.ts'
import { numberAt } from './run-facts.ts'
import type { Studio } from './studio.ts'

export function runsPanel(studio: Studio): HTMLElement {
  const chosen = new Set<string>()
  const list = h('ul', { class: 'list runs' })
  const empty = h('p', { class: 'quiet small' }, 'No runs yet. Choose a file, then Train.')
  const compare = h('button', { type: 'button', class: 'wide', disabled: true }, 'Compare')

  const showChosen = (): void => {
    compare.disabled = chosen.size < 2
    setText(compare, chosen.size < 2 ? 'Tick two runs to compare' : `Compare ${chosen.size} runs`)
  }
  const choose = (id: string, yes: boolean): void => {
    if (yes) chosen.add(id)
    else chosen.delete(id)
    showChosen()
  }
  compare.addEventListener('click', () => {
    location.hash = compareLink(studio.runs.map(({ id }) => id).filter(id => chosen.has(id)))
  })
  const rows = new KeyedList<Run>(
    list,
    ({ id }) => id,
    run => runRow(run, choose),
  )
  const mark = (): void => {
    const route = parseRoute(location.hash)
    markCurrent(list, route.view === 'run' ? runLink(route.id) : undefined)
  }
  const show = (): void => {
    const { runs } = studio
    for (const id of chosen) if (!studio.run(id)) chosen.delete(id)
    rows.show(runs)
    empty.hidden = runs.length > 0
    compare.hidden = runs.length === 0
    showChosen()
    // The list has no height before it stands in the page.
    queueMicrotask(mark)
  }
  studio.onRuns(show)
  window.addEventListener('hashchange', mark)
  show()
  return h(
    'section',
    { class: 'side-part', id: 'runs', tabindex: '-1', 'aria-labelledby': 'runs-title' },
    h('h2', { id: 'runs-title' }, 'Runs'),
    empty,
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'List of runs' }, list),
    compare,
  )
}

function runRow(run: Run, choose: (id: string, yes: boolean) => void): KeyedRow<Run> {
  const box = h('input', { type: 'checkbox', 'aria-label': `Compare ${run.name}` })
  box.addEventListener('change', () => choose(run.id, box.checked))
  const name = h('span', { class: 'name' })
  const chip = h('span', { class: 'chip' })
  const facts = h('span', { class: 'size' })
  const link = h('a', { class: 'entry', href: runLink(run.id) }, name, chip, facts)
  return {
    element: h('li', { class: 'with-box' }, box, link),
    update: next => {
      setText(name, next.name)
      setAttribute(name, 'title', next.name)
      showState(chip, next)
      setText(facts, factsOf(next))
    },
  }
}

/** The state as a chip: a word and a colour. */
export function showState(chip: HTMLElement, { state }: Run): void {
  chip.dataset['state'] = state
  setText(chip, state)
}

/** What tells runs apart in a list: how good, or how far. */
function factsOf(run: Run): string {
  const accuracy = numberAt(run.result, 'test', 'accuracy')
  if (accuracy !== undefined) return formatShare(accuracy)
  const gap = numberAt(run.result, 'gap') ?? numberAt(run.last, 'gap')
  if (gap !== undefined) return `gap ${formatGap(gap)}`
  return formatTime(run.queuedAt)
}
