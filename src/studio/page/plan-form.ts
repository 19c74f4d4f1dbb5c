// The settings of a run: a form whose values become the options of the server.
import type { Choice, Choices, ListedFile, RunOptions } from './api-types.ts'
import { type Child, h, setText } from './dom.ts'
import { type MemorySlider, memorySlider } from './memory-slider.ts'
import type { Studio } from './studio.ts'

interface Field {
  element: HTMLElement
  control: HTMLInputElement | HTMLSelectElement
}

type Fields = Record<Exclude<keyof RunOptions, 'memory' | 'maxPasses'>, Field>

/** Settings that were last chosen for each file, kept while the page is open. */
const remembered = new Map<string, RunOptions>()

export class PlanForm {
  readonly element: HTMLFormElement
  readonly #choices: Choices
  readonly #file: string
  readonly #fields: Fields
  readonly #memory: MemorySlider
  readonly #name: Field
  readonly #asked: { changed(): void; train(): void }
  readonly #lossHint = h('p', { class: 'hint' })
  /** Whether the columns are known. */
  #offered = false
  readonly #reason = h('p', { class: 'hint', id: 'solver-reason' })

  constructor({ choices, folder }: Studio, file: ListedFile, asked: { changed(): void; train(): void }) {
    const before = remembered.get(file.name) ?? {}
    const { usableBytes, memoryBytes } = folder.machine
    const others = folder.files.filter(({ kind, name }) => kind !== 'model' && name !== file.name)
    this.#choices = choices
    this.#file = file.name
    this.#asked = asked
    this.#memory = memorySlider(usableBytes ?? memoryBytes, before.memory, () => this.#changed())
    this.#fields = makeFields(choices, before, others)
    this.#name = text('run-name', 'Name of the run', '', { placeholder: file.name, maxlength: 80 })
    const { label, loss, solver, onBadRow } = this.#fields
    loss.element.append(this.#lossHint)
    solver.element.append(this.#reason)
    solver.control.setAttribute('aria-describedby', 'solver-reason')
    // Only tables have columns.
    label.element.hidden = !file.isTable
    // What a store holds could be read.
    onBadRow.element.hidden = file.kind === 'store'
    this.element = this.#lay()
    this.element.addEventListener('input', event => {
      // The slider tells by itself, and a name changes no plan.
      if (event.target !== this.#name.control && (event.target as Element).id !== 'memory') this.#changed()
    })
    this.element.addEventListener('submit', event => {
      event.preventDefault()
      asked.train()
    })
    this.#explainLoss()
  }

  options(): RunOptions {
    return optionsOf(this.#fields, this.#memory.value(), this.#choices.defaults)
  }

  /** The least memory on the slider that is enough; undefined for no limit. */
  memoryFor(bytes: number): number | undefined {
    return this.#memory.enough(bytes)
  }

  setMemory(bytes: number): void {
    this.#memory.set(bytes)
  }

  /** The field is shown, wherever it stands. */
  setExpand(steps: string): void {
    const { control } = this.#fields.expand
    control.value = steps
    control.closest('details')?.setAttribute('open', '')
    control.focus()
    this.#changed()
  }

  /** What the user calls the run; empty for a name by the program. */
  name(): string {
    return this.#name.control.value.trim()
  }

  /** Lets one of the columns of a table be the label. */
  offerColumns(columns: string[]): void {
    const { element, control } = this.#fields.label
    if (this.#offered) return
    this.#offered = true
    element.hidden = false
    control.append(...columns.map(column => h('option', { value: column }, column)))
    const { label } = remembered.get(this.#file) ?? {}
    if (label === undefined) return
    control.value = label
    this.#changed()
  }

  /** Whether the data is a table whose label nobody has named. */
  wantsLabel(): boolean {
    const { element, control } = this.#fields.label
    return !element.hidden && control.value === ''
  }

  /** Shows the reason of the choice under the solver. */
  explainSolver(said: string): void {
    setText(this.#reason, said)
  }

  #changed(): void {
    remembered.set(this.#file, this.options())
    this.#explainLoss()
    this.#asked.changed()
  }

  #explainLoss(): void {
    const { loss, outlierMargin } = this.#fields
    const chosen = this.#choices.losses.find(({ name }) => name === loss.control.value)
    setText(this.#lossHint, chosen?.summary ?? '')
    outlierMargin.element.hidden = chosen?.truncates !== true
  }

  #lay(): HTMLFormElement {
    const { label, loss, outlierMargin, cost, solver, kernel, test, ...more } = this.#fields
    const group = (fields: Field[]): HTMLElement =>
      h(
        'div',
        { class: 'fields' },
        fields.map(({ element }) => element),
      )
    return h(
      'form',
      { class: 'plan-form', novalidate: true },
      this.#memory.element,
      group([label, loss, outlierMargin, cost, solver, kernel, test, this.#name]),
      h('details', { class: 'more' }, h('summary', {}, 'More settings'), group(Object.values(more))),
    )
  }
}

function makeFields(choices: Choices, before: RunOptions, others: ListedFile[]): Fields {
  const { defaults } = choices
  const first = { ...defaults, ...before }
  const tests = others.map(({ name }) => ({ name }))
  return {
    label: select('label', 'Label column', withEmpty('choose a column', []), undefined),
    loss: select('loss', 'Loss', choices.losses, first.loss),
    outlierMargin: text('outlier-margin', 'Outliers beyond', before.outlierMargin ?? '', {
      ...{ inputmode: 'decimal', placeholder: String(defaults.outlierMargin ?? '') },
    }),
    cost: text('cost', 'Cost C', first.cost ?? '', { inputmode: 'decimal' }),
    solver: select('solver', 'Solver', choices.solvers, first.solver),
    kernel: select('kernel', 'Kernel', choices.kernels, first.kernel),
    test: select('test', 'Test file', withEmpty('none', tests), before.test),
    tolerance: text('tolerance', 'Tolerance (relative gap)', before.tolerance ?? '', {
      placeholder: String(defaults.tolerance ?? ''),
    }),
    bias: text('bias', 'Bias', before.bias ?? '', { placeholder: 'none' }),
    normalize: select('normalize', 'Normalize rows', withEmpty('no', choices.normalizes), before.normalize),
    expand: text('expand', 'Expand features', before.expand ?? '', { placeholder: 'none, or polynomial:2' }),
    scale: select('scale', 'Scale features', withEmpty('as usual', choices.scales), before.scale),
    multiclass: select('multiclass', 'More than two classes', asChoices(choices.multiclass), first.multiclass),
    onBadRow: select(
      'on-bad-row',
      'Rows that cannot be read',
      withEmpty('stop at the first', ['skip']),
      before.onBadRow,
    ),
    seed: text('seed', 'Seed', before.seed ?? '', { inputmode: 'numeric', placeholder: String(defaults.seed ?? '') }),
  }
}

const NUMBERS = new Set(['cost', 'outlierMargin', 'tolerance', 'bias', 'seed'])

/** What was chosen; what is empty, or stands anyway, is left to the program. A number that is none goes as text: the server says
 *  what is wrong. */
function optionsOf(fields: Record<string, Field>, memory: number | undefined, defaults: RunOptions): RunOptions {
  const options: Record<string, unknown> = memory === undefined ? {} : { memory }
  for (const [name, { control, element }] of Object.entries(fields)) {
    // What is hidden has no effect.
    if (element.hidden) continue
    const value = control.value.trim()
    if (value === '') continue
    if (value === String(defaults[name as keyof RunOptions])) continue
    const number = Number(value)
    options[name] = NUMBERS.has(name) && !Number.isNaN(number) ? number : value
  }
  return options as RunOptions
}

const asChoices = (choices: (Choice | string)[]): Choice[] =>
  choices.map(choice => (typeof choice === 'string' ? { name: choice } : choice))

/** With one in front that leaves the choice to the program. */
const withEmpty = (text: string, choices: (Choice | string)[]): Choice[] => [
  { name: '', summary: text },
  ...asChoices(choices),
]

/** A choice without a name stands for no option; its summary is what is shown. */
function select(id: string, label: string, choices: Choice[], chosen: string | undefined): Field {
  const control = h(
    'select',
    { id, name: id },
    choices.map(({ name, summary }) =>
      h('option', { value: name, selected: name === chosen, title: summary }, name === '' ? summary : name),
    ),
  )
  return { element: labelled(id, label, control), control }
}

function text(id: string, label: string, value: string | number, more: Record<string, string | number>): Field {
  const control = h('input', { type: 'text', id, name: id, value, autocomplete: 'off', ...more })
  return { element: labelled(id, label, control), control }
}

function labelled(id: string, label: string, control: Child): HTMLElement {
  return h('div', { class: 'field' }, h('label', { for: id }, label), control)
}
