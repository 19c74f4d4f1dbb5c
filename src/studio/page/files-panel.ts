// The files of the folder, with a search.
import type { ListedFile } from './api-types.ts'
import { h, KeyedList, markCurrent } from './dom.ts'
import { formatBytes, formatCount } from './format.ts'
import { fileLink, parseRoute } from './routes.ts'
import type { Studio } from './studio.ts'

/** A longer list is searched, not read. */
const MOST_SHOWN = 300

export function filesPanel(studio: Studio): HTMLElement {
  const { files, truncated } = studio.folder
  const list = h('ul', { class: 'list files' })
  const found = h('p', { class: 'quiet small', role: 'status' })
  const search = h('input', { type: 'search', id: 'file-search', placeholder: 'Search', autocomplete: 'off' })
  const rows = new KeyedList<ListedFile>(list, ({ name }) => name, fileRow)

  const matching = (): ListedFile[] => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    return files.filter(({ name, kind }) => words.every(word => name.toLowerCase().includes(word) || kind === word))
  }
  const show = (): void => {
    const matches = matching()
    rows.show(matches.slice(0, MOST_SHOWN))
    const more = matches.length > MOST_SHOWN ? `, the first ${MOST_SHOWN} are shown` : ''
    const all = truncated ? `the first ${formatCount(files.length)} files of the folder` : formatCount(files.length)
    found.textContent =
      files.length === 0
        ? 'The folder has no data, stores or models.'
        : `${formatCount(matches.length)} of ${all}${more}`
  }
  search.addEventListener('input', show)
  search.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      search.value = ''
      show()
    } else if (event.key === 'Enter') {
      const first = matching().find(({ kind }) => kind !== 'model')
      if (first) location.hash = fileLink(first.name)
    }
  })
  const mark = (): void => {
    const route = parseRoute(location.hash)
    markCurrent(list, route.view === 'file' ? fileLink(route.name) : undefined)
  }
  window.addEventListener('hashchange', mark)
  search.addEventListener('input', mark)
  show()
  // The list has no height before it stands in the page.
  queueMicrotask(mark)
  return h(
    'section',
    { class: 'side-part', id: 'files', tabindex: '-1', 'aria-labelledby': 'files-title' },
    h('h2', { id: 'files-title' }, 'Files'),
    h('label', { class: 'hidden-text', for: 'file-search' }, 'Search files'),
    search,
    files.length > 0 &&
      h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'List of files' }, list),
    found,
  )
}

function fileRow({ name, bytes, kind, format }: ListedFile) {
  const what = kind === 'data' ? (format ?? kind) : kind
  const inside = [
    h('span', { class: 'name', title: name }, name),
    h('span', { class: 'tag' }, what),
    h('span', { class: 'size' }, formatBytes(bytes)),
  ]
  // A model is no data to train on: it is listed so that it is not missed.
  const entry =
    kind === 'model' ? h('div', { class: 'entry' }, inside) : h('a', { class: 'entry', href: fileLink(name) }, inside)
  return { element: h('li', {}, entry), update: () => {} }
}
