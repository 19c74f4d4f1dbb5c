// The plan of a run: settings on one side, and what they come to, drawn anew while a slider moves.
import type { FolderFile, Plan } from './api-types.ts'
import { fill, h, notice, panel, throttled } from './dom.ts'
import { formatSeconds } from './format.ts'
import { planForm } from './plan-form.ts'
import { blockCells, memoryBar } from './plan-picture.ts'
import { runLink } from './routes.ts'
import { messageOf, type Place } from './studio.ts'

/** A slider that is dragged asks so often, at most. */
const MILLISECONDS_BETWEEN = 80

export interface PlanPanel {
  element: HTMLElement
  offerColumns(columns: string[]): void
}

/** `labelled` is told which column of a table is the label, first of all and each time that it changes. */
export function planPanel(
  { studio, signal }: Place,
  file: FolderFile,
  labelled: (label: string | undefined) => void,
): PlanPanel {
  const picture = h('div', { class: 'plan-picture' }, notice('loading', 'Planning…'))
  const said = h('div', { class: 'plan-error' })
  const button = h('button', { type: 'submit', class: 'primary' }, 'Train')
  const outlook = h('span', { class: 'outlook', role: 'status' })
  let asking = new AbortController()
  let label: string | undefined

  const ask = throttled(MILLISECONDS_BETWEEN, async () => {
    asking.abort()
    asking = new AbortController()
    const { signal: mine } = asking
    try {
      const plan = await studio.api.plan(file.name, form.options(), mine)
      if (!mine.aborted) show(plan)
    } catch (error) {
      if (!mine.aborted) refuse(messageOf(error))
    }
    if (!mine.aborted) picture.removeAttribute('aria-busy')
  })
  const form = planForm(studio, file, {
    changed: () => {
      if (form.options().label !== label) {
        label = form.options().label
        labelled(label)
      }
      picture.setAttribute('aria-busy', 'true')
      ask()
    },
    train: () => void train(),
  })

  function show(plan: Plan): void {
    button.disabled = plan.refused !== undefined
    if (plan.refused !== undefined) {
      refuse(plan.refused)
      return
    }
    fill(said)
    form.explainSolver(plan.reason ? `${plan.solver}: ${plan.reason}` : plan.solver)
    fill(picture, plan.memory && memoryBar(plan.memory), blockCells(plan), timeText(plan))
    outlook.textContent = plan.seconds ? outlookText(plan.seconds.all) : ''
  }
  function refuse(message: string): void {
    form.explainSolver('')
    outlook.textContent = ''
    button.disabled = true
    fill(picture, notice('warning', h('strong', {}, 'This cannot run as it is.'), h('p', {}, message)))
  }
  async function train(): Promise<void> {
    if (button.disabled) return
    button.disabled = true
    fill(said)
    try {
      const run = await studio.api.start(file.name, form.options(), form.name())
      studio.setRun(run)
      studio.announce(`Run ${run.name}: ${run.state}.`)
      location.hash = runLink(run.id)
    } catch (error) {
      fill(said, notice('error', h('p', {}, messageOf(error))))
    }
    button.disabled = false
  }

  signal.addEventListener('abort', () => {
    ask.cancel()
    asking.abort()
  })
  form.element.append(h('div', { class: 'submit' }, button, outlook), said)
  ask()
  labelled(undefined)
  return {
    element: panel('Plan a run', { id: 'plan', class: 'plan' }, form.element, picture),
    offerColumns: form.offerColumns,
  }
}

function outlookText(seconds: number): string {
  return seconds < 1 ? 'less than a second' : `about ${formatSeconds(seconds)}`
}

function timeText({ seconds }: Plan): HTMLElement {
  if (!seconds) return h('p', { class: 'quiet' }, 'How long it takes cannot be told yet.')
  const { read, pass, passes, all } = seconds
  const fact = (term: string, value: string) => h('div', {}, h('dt', {}, term), h('dd', {}, value))
  return h(
    'dl',
    { class: 'facts' },
    fact('Time in all', `~${formatSeconds(all)}`),
    fact('Reading', formatSeconds(read)),
    fact('A pass', formatSeconds(pass)),
    fact('Passes', `~${Math.max(1, Math.round(passes))}`),
  )
}
