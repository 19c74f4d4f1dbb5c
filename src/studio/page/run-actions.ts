// What can be done with a run: stop it, resume it, take its model, report and records, or delete it.
import { isActive, type Run } from './api-types.ts'
import { fill, h, notice, setText } from './dom.ts'
import { messageOf, type Place } from './studio.ts'

export interface RunActions {
  element: HTMLElement
  show(run: Run): void
}

export function runActions({ studio }: Place, id: string): RunActions {
  const { api } = studio
  const said = h('div')
  const button = (text: string, act: () => Promise<unknown>, kind = ''): HTMLButtonElement => {
    const made = h('button', { type: 'button', class: kind, hidden: true }, text)
    let busy = false
    made.addEventListener('click', async () => {
      // A button that is disabled would lose its focus.
      if (busy) return
      busy = true
      fill(said)
      try {
        await act()
      } catch (error) {
        fill(said, notice('error', h('p', {}, messageOf(error))))
      }
      busy = false
    })
    return made
  }
  const stop = button('Stop', async () => {
    if (studio.run(id)?.state !== 'stopping') studio.setRun(await api.stop(id))
  })
  const resume = button('Resume', async () => studio.setRun(await api.resume(id)), 'primary')
  const remove = button('Delete', async () => {
    if (!confirmed(remove)) return
    await api.remove(id)
    studio.removeRun(id)
    studio.announce('The run is deleted.')
    location.hash = '#/'
  })
  const link = (text: string, path: string, more: Record<string, string | boolean>): HTMLAnchorElement =>
    h(
      'a',
      { class: 'button', href: api.link(`/api/runs/${encodeURIComponent(id)}/${path}`), hidden: true, ...more },
      text,
    )
  const model = link('Model', 'model', { download: true, 'aria-label': 'Download the model' })
  const report = link('Report', 'report?view', { target: '_blank', rel: 'noopener', 'aria-label': 'Open the report' })
  const records = link('Records', 'records', { download: `${id}.jsonl`, 'aria-label': 'Download the records' })
  return {
    element: h('div', { class: 'actions' }, stop, resume, model, report, records, remove, said),
    show: run => {
      const { state, resumable } = run
      const focused = document.activeElement
      stop.hidden = state !== 'running' && state !== 'queued' && state !== 'stopping'
      setText(stop, state === 'stopping' ? 'Stopping…' : 'Stop')
      resume.hidden = isActive(run) || !resumable
      setText(resume, run.hasCheckpoint ? 'Resume' : 'Run again')
      // A run that was stopped in good order has the model as far as it came.
      model.hidden = report.hidden = isActive(run) || run.result === undefined
      records.hidden = state === 'queued'
      remove.hidden = isActive(run)
      // A button that goes away leaves its focus to the one that comes in its place.
      if (focused === stop && stop.hidden) (resume.hidden ? records : resume).focus()
      if (focused === resume && resume.hidden) stop.focus()
    },
  }
}

/** The first click asks, the second one does it. */
function confirmed(button: HTMLButtonElement): boolean {
  if (button.dataset['asked'] === 'yes') return true
  button.dataset['asked'] = 'yes'
  setText(button, 'Delete for good?')
  const back = (): void => {
    button.dataset['asked'] = ''
    setText(button, 'Delete')
  }
  button.addEventListener('blur', back, { once: true })
  return false
}
