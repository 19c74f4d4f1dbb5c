// The settings of a run: a form whose values become the options of the server.
import type { Choice, FolderFile, TrainingOptions } from './api-types.ts'
import { type Child, h, setText } from './dom.ts'
import { memorySlider } from './memory-slider.ts'
import type { Studio } from './studio.ts'

export interface PlanForm {
  element: HTMLFormElement
  options(): TrainingOptions
  /** What the user calls the run; empty for a name by the program. */
  name(): string
  /** Lets one of the columns of a table be the label. */
  offerColumns(columns: string[]): void
  /** Shows the reason of the choice under the solver. */
  explainSolver(text: string): void
}

interface Field {
  element: HTMLElement
  control: HTMLInputElement | HTMLSelectElement
}

/** Settings that were last chosen for each file, kept while the page is open. */
const remembered = new Map<string, TrainingOptions>()

export function planForm(studio: Studio, file: FolderFile, asked: { changed(): void; train(): void }): PlanForm {
  const before = remembered.get(file.name) ?? {}
  const { choices, folder } = studio
  const { defaults } = choices
  const { machine } = folder
  const first = { ...defaults, ...before }
  const memory = memorySlider(machine.usableBytes ?? machine.memoryBytes, before.memory, changed)
  const others = folder.files.filter(({ kind, name }) => kind !== 'model' && name !== file.name)
  const fields: Record<Exclude<keyof TrainingOptions, 'memory'>, Field> = {
    loss: select('loss', 'Loss', choices.losses, first.loss),
    cost: text('cost', 'Cost C', first.cost ?? '', { inputmode: 'decimal' }),
    solver: select('solver', 'Solver', choices.solvers, first.solver),
    kernel: select('kernel', 'Kernel', choices.kernels, first.kernel),
    test: select(
      'test',
      'Test file',
      [{ name: '', summary: 'none' }, ...others.map(({ name }) => ({ name }))],
      before.test,
    ),
    tolerance: text('tolerance', 'Tolerance (relative gap)', before.tolerance ?? '', {
      placeholder: String(defaults.tolerance ?? ''),
    }),
    bias: text('bias', 'Bias', before.bias ?? '', { placeholder: 'none' }),
    normalize: select('normalize', 'Normalize rows', withNone(choices.normalizes), before.normalize),
    scale: select('scale', 'Scale features', withNone(choices.scales), before.scale),
    multiclass: select('multiclass', 'More than two classes', asChoices(choices.multiclass), first.multiclass),
    label: select('label', 'Label column', [{ name: '', summary: 'choose a column' }], undefined),
    seed: text('seed', 'Seed', before.seed ?? '', { inputmode: 'numeric', placeholder: String(defaults.seed ?? '') }),
  }
  const name = text('run-name', 'Name of the run', '', { placeholder: file.name, maxlength: 80 })
  const reason = h('p', { class: 'hint', id: 'solver-reason' })
  fields.solver.control.setAttribute('aria-describedby', 'solver-reason')
  fields.solver.element.append(reason)
  const lossHint = h('p', { class: 'hint' })
  fields.loss.element.append(lossHint)
  const { label, loss, cost, solver, kernel, test, ...more } = fields
  // Only tables have columns.
  label.element.hidden = true
  const element = h(
    'form',
    { class: 'plan-form', novalidate: true },
    memory.element,
    h(
      'div',
      { class: 'fields' },
      [label, loss, cost, solver, kernel, test, name].map(field => field.element),
    ),
    h(
      'details',
      { class: 'more' },
      h('summary', {}, 'More settings'),
      h(
        'div',
        { class: 'fields' },
        Object.values(more).map(field => field.element),
      ),
    ),
  )
  element.addEventListener('input', event => {
    if (event.target !== name.control && (event.target as Element).id !== 'memory') changed()
  })
  element.addEventListener('submit', event => {
    event.preventDefault()
    asked.train()
  })
  const options = (): TrainingOptions => optionsOf(fields, memory.value(), defaults)
  const explainLoss = (): void => {
    const { value } = loss.control
    setText(lossHint, choices.losses.find(one => one.name === value)?.summary ?? '')
  }
  function changed(): void {
    remembered.set(file.name, options())
    explainLoss()
    asked.changed()
  }
  explainLoss()
  return {
    element,
    options,
    name: () => name.control.value.trim(),
    offerColumns: columns => {
      if (!label.element.hidden) return
      label.element.hidden = false
      label.control.append(...columns.map(column => h('option', { value: column }, column)))
      label.control.value = before.label ?? ''
      if (before.label !== undefined) changed()
    },
    explainSolver: said => setText(reason, said),
  }
}

const NUMBERS = new Set(['cost', 'tolerance', 'bias', 'seed'])

/** What was chosen; what is empty, or stands anyway, is left to the program. A number that is none goes as text: the server says
 *  what is wrong. */
function optionsOf(
  fields: Record<string, Field>,
  memory: number | undefined,
  defaults: TrainingOptions,
): TrainingOptions {
  const options: Record<string, unknown> = memory === undefined ? {} : { memory }
  for (const [name, { control }] of Object.entries(fields)) {
    const value = control.value.trim()
    if (value === '') continue
    if (value === String(defaults[name as keyof TrainingOptions])) continue
    const number = Number(value)
    options[name] = NUMBERS.has(name) && !Number.isNaN(number) ? number : value
  }
  return options as TrainingOptions
}

const asChoices = (choices: (Choice | string)[]): Choice[] =>
  choices.map(choice => (typeof choice === 'string' ? { name: choice } : choice))

const withNone = (choices: (Choice | string)[]): Choice[] => [{ name: '', summary: 'none' }, ...asChoices(choices)]

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
