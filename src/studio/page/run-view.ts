// The view of a run: its state, its numbers and charts as they come, and, at the end, what can be asked of its model.
import { collectRecords, type RunRecords } from '../../report/records.ts'
import { isActive, type Run } from './api-types.ts'
import { ChartBoard } from './chart-board.ts'
import { chartsOfRun } from './charts.ts'
import { confusionPanel } from './confusion-panel.ts'
import { fill, h, notice, throttled } from './dom.ts'
import { explainPanel } from './explain-panel.ts'
import { formatTime } from './format.ts'
import { fileLink } from './routes.ts'
import { runActions } from './run-actions.ts'
import { RunNumbers } from './run-numbers.ts'
import { RunStream } from './run-stream.ts'
import { showState } from './runs-panel.ts'
import { storeState } from './store-state.ts'
import { StoreView } from './store-view.ts'
import type { Place } from './studio.ts'

/** Four times a second is as often as people see. */
const MILLISECONDS_BETWEEN = 250

export function runView(place: Place, id: string): string {
  const first = place.studio.run(id)
  if (first) {
    showRun(place, first)
    return first.name
  }
  fill(
    place.element,
    h('h1', {}, 'No such run'),
    notice('error', h('p', {}, 'The folder has no run of this name any more. Choose one from the list.')),
  )
  return 'No such run'
}

function showRun(place: Place, first: Run): void {
  const { studio, signal } = place
  const { id } = first
  const chip = h('span', { class: 'chip large' })
  const actions = runActions(place, id)
  const problem = h('div', { class: 'problem' })
  const numbers = new RunNumbers()
  const store = new StoreView()
  const [live, ending] = [new ChartBoard(), new ChartBoard()]
  const waiting = h('div', { class: 'waiting' })
  const after = new AfterTheEnd(place, id)
  let trouble = ''

  const draw = throttled(MILLISECONDS_BETWEEN, () => {
    const run = studio.run(id)
    if (!run) return
    const records = recordsOf(stream.lines, run.name)
    showState(chip, run)
    actions.show(run)
    fill(problem, ...troubleOf(run, trouble))
    numbers.show(records, run)
    store.show(records && storeState(records), run.state === 'running' || run.state === 'stopping')
    const charts = records && hasBegun(records, run) ? chartsOfRun(records) : { live: [], ending: [] }
    live.show(charts.live)
    ending.show(charts.ending)
    fill(waiting, charts.live.length + charts.ending.length === 0 && waitingFor(run))
    after.show(run, records)
  })
  const stream = new RunStream(
    studio.api,
    id,
    {
      records: draw,
      state: run => studio.setRun(run),
      failed: message => {
        trouble = message
        draw()
      },
    },
    signal,
  )
  const follow = (): void => stream.follow(() => isActive(studio.run(id) ?? first))
  studio.onRuns(() => {
    const run = studio.run(id)
    if (run && isActive(run)) follow()
    draw()
  }, signal)
  signal.addEventListener('abort', () => draw.cancel())
  const title = h('h2', { class: 'hidden-text' }, 'Charts')
  // What comes at the end stands below what is there before: nothing moves under the eyes of those who watch.
  const parts = [problem, numbers.element, store.element, title, waiting, live.element, after.element, ending.element]
  fill(place.element, head(first, chip, actions.element), parts)
  follow()
  draw()
}

function head(run: Run, chip: HTMLElement, actions: HTMLElement): HTMLElement {
  return h(
    'header',
    { class: 'view-head run-head' },
    h('div', { class: 'title-line' }, h('h1', {}, run.name), chip),
    h('p', { class: 'quiet' }, h('a', { href: fileLink(run.data) }, run.data), `, queued ${formatTime(run.queuedAt)}`),
    h('pre', { class: 'command', tabindex: '0', role: 'group', 'aria-label': 'The command of this run' }, run.command),
    actions,
  )
}

/** The records by kind; undefined before the first. */
function recordsOf(lines: RunStream['lines'], name: string): RunRecords | undefined {
  return lines[0]?.record === 'run' ? collectRecords(lines, name) : undefined
}

/** Whether there are passes to draw: charts come together then, the most important ones first. */
function hasBegun({ progress }: RunRecords, run: Run): boolean {
  return !isActive(run) || progress.some(({ stage }) => stage === 'train')
}

function troubleOf({ state, error, advice, resumable, hasCheckpoint }: Run, trouble: string): (HTMLElement | false)[] {
  const stopped = state === 'stopped' && resumable
  const outlook = hasCheckpoint
    ? 'Stopped. Resume goes on from where it was.'
    : 'Stopped. All its rows were in memory, so that it has no checkpoint and begins again.'
  return [
    error !== undefined &&
      notice('error', h('strong', {}, 'The run failed.'), h('p', {}, error), advice && h('p', {}, advice)),
    trouble !== '' && notice('error', h('p', {}, trouble)),
    error === undefined && stopped && notice('warning', h('p', {}, outlook)),
  ]
}

function waitingFor({ state }: Run): HTMLElement {
  if (state === 'queued') return notice('empty', 'Another run is going on. This one begins when its turn comes.')
  if (state === 'running' || state === 'stopping') return notice('loading', 'Charts come with the first passes.')
  return notice('empty', 'This run left no records to draw.')
}

/** What a model that is there can be asked: made once, so that what the user has typed stays. */
class AfterTheEnd {
  readonly element = h('div', { class: 'after columns', hidden: true })
  readonly #place: Place
  readonly #id: string
  #made = ''

  constructor(place: Place, id: string) {
    this.#place = place
    this.#id = id
  }

  show({ state }: Run, records: RunRecords | undefined): void {
    const evaluation = records?.evaluation
    const now = state !== 'done' ? '' : evaluation?.confusion ? 'with matrix' : 'model'
    if (now === this.#made) return
    this.#made = now
    this.element.hidden = now === ''
    if (now === '') {
      fill(this.element)
      return
    }
    const explain = explainPanel(this.#place, this.#id)
    fill(this.element, evaluation && confusionPanel(this.#place, this.#id, evaluation, explain.ask), explain.element)
  }
}
