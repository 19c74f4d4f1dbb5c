// The studio's page: opens the folder, keeps in touch with the server, and shows the view that the address names.
import { themeButton } from '../../report/page/theme.ts'
import { Api, ApiError, takeToken } from './api.ts'
import type { Run } from './api-types.ts'
import { compareView } from './compare-view.ts'
import { fill, h, notice } from './dom.ts'
import { fileView } from './file-view.ts'
import { filesPanel } from './files-panel.ts'
import { homeView } from './home-view.ts'
import { parseRoute, type Route } from './routes.ts'
import { runView } from './run-view.ts'
import { runsPanel } from './runs-panel.ts'
import { messageOf, type Place, Studio } from './studio.ts'
import './studio.css'

const byId = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T
const main = byId('main')

let leave = new AbortController()
let shown = ''

function view(place: Place, route: Route): string {
  if (route.view === 'file') return fileView(place, route.name)
  if (route.view === 'run') return runView(place, route.id)
  if (route.view === 'compare') return compareView(place, route.ids)
  return homeView(place)
}

/** Shows what the address names. After a move within the page, focus goes to the view. */
function show(studio: Studio, moved: boolean): void {
  // A view that is shown again in the same place keeps its focus.
  if (moved && location.hash === shown) return
  shown = location.hash
  leave.abort()
  leave = new AbortController()
  const element = h('div', { class: 'view' })
  fill(main, element)
  const title = view({ studio, element, signal: leave.signal }, parseRoute(location.hash))
  document.title = `${title} · Spillway studio`
  if (!moved) return
  main.focus({ preventScroll: true })
  // On a phone the view stands below the lists.
  main.scrollIntoView({ block: 'start' })
}

/** The view comes when there is something to show: it would be moved by the lists, which stand above it on a phone. */
function opened(): void {
  document.getElementById('opening')?.remove()
  main.hidden = false
}

/** Says that the server has gone, until it is back. */
function keepInTouch(studio: Studio): void {
  const [banner, connection] = [byId('banner'), byId('connection')]
  let lost = false
  const showState = (text: string): void => {
    banner.hidden = text === ''
    banner.textContent = text
    connection.textContent = text === '' ? 'connected' : 'not connected'
    connection.dataset['state'] = text === '' ? 'on' : 'off'
  }
  void studio.api.follow({
    path: '/api/events',
    signal: new AbortController().signal,
    opened: () => {
      showState('')
      // What happened in between was not told.
      if (lost) studio.announce('The studio answers again.')
      lost = false
      studio.api.runs().then(
        runs => studio.setRuns(runs),
        () => {},
      )
    },
    lost: error => {
      lost = true
      showState(
        error.kind === 'refused'
          ? 'The studio was started anew. Open the address that it printed.'
          : 'The studio does not answer. Runs go on without this page. Trying again…',
      )
    },
    tell: ({ event, data }) => {
      if (event === 'run') studio.setRun(JSON.parse(data) as Run)
      if (event === 'removed') studio.removeRun((JSON.parse(data) as Run).id)
    },
  })
}

function sayWhyNot(error: unknown, again: () => void): void {
  opened()
  const refused = error instanceof ApiError && error.kind === 'refused'
  fill(
    main,
    refused
      ? notice(
          'error',
          h('h1', {}, 'This address has no valid token'),
          h('p', {}, 'Open the whole address that ', h('code', {}, 'spillway studio'), ' printed in its terminal.'),
          h('p', { class: 'quiet' }, 'Each start of the studio makes a new token, so that other pages cannot use it.'),
        )
      : notice(
          'error',
          h('h1', {}, 'The folder could not be opened'),
          h('p', {}, messageOf(error)),
          h('button', { type: 'button', on: { click: again } }, 'Try again'),
        ),
  )
}

async function start(): Promise<void> {
  const api = new Api(takeToken())
  try {
    const [folder, choices, runs] = await Promise.all([api.folder(), api.choices(), api.runs()])
    const studio = new Studio(api, { folder, choices, runs, live: byId('live') })
    byId('folder').textContent = folder.folder
    byId('folder').title = folder.folder
    fill(byId('side'), filesPanel(studio), runsPanel(studio))
    opened()
    window.addEventListener('hashchange', () => show(studio, true))
    show(studio, false)
    keepInTouch(studio)
  } catch (error) {
    sayWhyNot(error, () => location.reload())
  }
}

byId('skip').addEventListener('click', event => {
  // The address names a view, not a place in the page.
  event.preventDefault()
  main.focus()
})
for (const button of document.querySelectorAll<HTMLElement>('[data-jump]')) {
  button.addEventListener('click', () => {
    const target = byId(button.dataset['jump']!)
    target.scrollIntoView({ block: 'start' })
    target.focus({ preventScroll: true })
  })
}
byId('theme').replaceWith(themeButton())
void start()
