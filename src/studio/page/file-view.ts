// The view of a file: what is in it, and the plan of a run on it.
import { fill, h, notice } from './dom.ts'
import { formatBytes } from './format.ts'
import { PlanPanel } from './plan-panel.ts'
import type { Place } from './studio.ts'
import { summaryPanel } from './summary-panel.ts'

export function fileView(place: Place, name: string): string {
  const { studio, element } = place
  const file = studio.folder.files.find(one => one.name === name)
  if (!file) {
    fill(
      element,
      h('h1', {}, name),
      notice(
        'error',
        h('p', {}, `The folder has no file ${name}. Choose another one, or reload the page to look again.`),
      ),
    )
    return name
  }
  const summary = summaryPanel(place, file, columns => plan.offerColumns(columns))
  const plan = new PlanPanel(place, file, label => summary.load(label))
  summary.load(undefined)
  fill(
    element,
    h(
      'header',
      { class: 'view-head' },
      h('h1', {}, name),
      h('p', { class: 'quiet' }, `${file.format ?? file.kind}, ${formatBytes(file.bytes)}`),
    ),
    h('div', { class: 'columns' }, plan.element, summary.element),
  )
  return name
}
