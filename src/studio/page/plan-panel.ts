// The plan of a run: settings on one side, and what they come to, drawn anew while a slider moves.
import type { ListedFile, Plan } from './api-types.ts'
import { type Child, fill, h, notice, panel, throttled } from './dom.ts'
import { formatBytes, formatCount, formatSeconds } from './format.ts'
import { PlanForm } from './plan-form.ts'
import { blockCells, memoryBar } from './plan-picture.ts'
import { runLink } from './routes.ts'
import { messageOf, type Place, type Studio } from './studio.ts'

/** A slider that is dragged asks so often, at most. */
const MILLISECONDS_BETWEEN = 80

export class PlanPanel {
  readonly element: HTMLElement
  readonly #studio: Studio
  readonly #file: string
  readonly #form: PlanForm
  readonly #picture = h('div', { class: 'plan-picture' }, notice('loading', 'Planning…'))
  readonly #said = h('div', { class: 'plan-error' })
  readonly #button = h('button', { type: 'submit', class: 'primary' }, 'Train')
  readonly #outlook = h('span', { class: 'outlook', role: 'status' })
  readonly #ask = throttled(MILLISECONDS_BETWEEN, () => void this.#plan())
  readonly #labelled: (label: string | undefined) => void
  #label: string | undefined
  #asking = new AbortController()

  /** `labelled` is told which column of a table is the label, each time that it changes. */
  constructor({ studio, signal }: Place, file: ListedFile, labelled: (label: string | undefined) => void) {
    this.#studio = studio
    this.#file = file.name
    this.#labelled = labelled
    this.#form = new PlanForm(studio, file, { changed: () => this.#changed(), train: () => void this.#train() })
    this.#form.element.append(h('div', { class: 'submit' }, this.#button, this.#outlook), this.#said)
    this.element = panel('Plan a run', { id: 'plan', class: 'plan' }, this.#form.element, this.#picture)
    signal.addEventListener('abort', () => {
      this.#ask.cancel()
      this.#asking.abort()
    })
    this.#ask()
  }

  offerColumns(columns: string[]): void {
    this.#form.offerColumns(columns)
  }

  #changed(): void {
    const { label } = this.#form.options()
    if (label !== this.#label) this.#labelled(label)
    this.#label = label
    this.#picture.setAttribute('aria-busy', 'true')
    this.#ask()
  }

  /** Asks for the plan; an older question is taken back. */
  async #plan(): Promise<void> {
    this.#asking.abort()
    this.#asking = new AbortController()
    const { signal } = this.#asking
    try {
      const plan = await this.#studio.api.plan(this.#file, this.#form.options(), signal)
      if (!signal.aborted) this.#show(plan)
    } catch (error) {
      if (!signal.aborted) this.#refuse(messageOf(error), 'There is no plan.')
    }
    if (!signal.aborted) this.#picture.removeAttribute('aria-busy')
  }

  #show(plan: Plan): void {
    if (plan.refused !== undefined) {
      const title = this.#form.wantsLabel() ? 'Choose the label column first.' : 'This cannot run as it is.'
      this.#refuse(plan.refused, title, plan.withMore)
      return
    }
    this.#picture.classList.remove('refused')
    this.#button.disabled = false
    fill(this.#said)
    this.#form.explainSolver(plan.reason ? `${plan.solver}: ${plan.reason}` : plan.solver)
    fill(
      this.#picture,
      plan.suggestedExpand !== undefined && this.#suggest(plan.suggestedExpand),
      plan.memory && memoryBar(plan.memory),
      blockCells(plan),
      timeText(plan),
    )
    this.#outlook.textContent = plan.seconds ? outlookText(plan.seconds.all) : ''
  }

  /** In the place of the plan: why there is none, and what would run with more memory. */
  #refuse(message: string, title: string, withMore?: Plan['withMore']): void {
    this.#form.explainSolver(withMore ? `none with this memory; ${withMore.solver} with more` : 'none as it is')
    this.#outlook.textContent = ''
    this.#button.disabled = true
    this.#picture.classList.add('refused')
    fill(
      this.#picture,
      notice('warning', h('strong', {}, title), h('p', { class: 'why' }, message)),
      withMore && this.#offer(withMore),
    )
  }

  /** Rows of letters can be trained on as they are, and little comes of it. */
  #suggest(expand: string): HTMLElement {
    const use = h('button', { type: 'button' }, `Use ${expand}`)
    use.addEventListener('click', () => this.#form.setExpand(expand))
    return notice(
      'warning',
      h(
        'p',
        {},
        `Rows are strings. As they are, their values are the bytes of letters. ${expand} makes features of them.`,
      ),
      h('p', { class: 'offer' }, use),
    )
  }

  #offer(plan: NonNullable<Plan['withMore']>): HTMLElement {
    const bytes = this.#form.memoryFor(plan.bytes)
    const use = h('button', { type: 'button' }, bytes === undefined ? 'Set no limit' : `Use ${formatBytes(bytes)}`)
    use.addEventListener('click', () => this.#form.setMemory(plan.bytes))
    return h(
      'div',
      { class: 'with-more' },
      h(
        'p',
        {},
        h('strong', {}, `With ${formatBytes(plan.bytes)} of memory it would run`),
        `, by solver ${plan.solver}:`,
      ),
      plan.memory && memoryBar(plan.memory),
      blockCells(plan),
      h('div', {}, use),
    )
  }

  async #train(): Promise<void> {
    if (this.#button.disabled) return
    this.#button.disabled = true
    fill(this.#said)
    try {
      const run = await this.#studio.api.start(this.#file, this.#form.options(), this.#form.name())
      this.#studio.setRun(run)
      this.#studio.announce(`Run ${run.name}: ${run.state}.`)
      location.hash = runLink(run.id)
    } catch (error) {
      fill(this.#said, notice('error', h('p', {}, messageOf(error))))
    }
    this.#button.disabled = false
  }
}

function outlookText(seconds: number): string {
  return seconds < 1 ? 'less than a second' : `about ${formatSeconds(seconds)}`
}

const rangeText = (least: string, most: string): string => (least === most ? least : `${least} to ${most}`)

function timeText({ seconds }: Plan): Child {
  if (!seconds) return h('p', { class: 'quiet' }, 'How long it takes cannot be told yet.')
  const { read, pass, passes, all, least, most, trial } = seconds
  const fact = (term: string, value: string) => h('div', {}, h('dt', {}, term), h('dd', {}, value))
  const took = trial.passes === undefined ? '' : `, where they took ${formatCount(trial.passes)} passes`
  return [
    h(
      'dl',
      { class: 'facts' },
      fact('Time in all', all < 1 ? '< 1 s' : `~${formatSeconds(all)}`),
      fact('Reading', read > 0 ? formatSeconds(read) : 'none'),
      fact('A pass', formatSeconds(pass)),
      fact('Passes', `~${Math.max(1, Math.round(passes))}`),
    ),
    h(
      'p',
      { class: 'hint' },
      `An estimate, likely ${rangeText(formatSeconds(least), formatSeconds(most))}. It rests on a trial: `,
      `${formatCount(trial.rows)} rows of the data were trained on for a moment${took}.`,
    ),
  ]
}
