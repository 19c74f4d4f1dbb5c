// The address of each view, kept in the part of the URL after #, so that a view can be reloaded, and gone back to.

export type Route =
  | { view: 'home' }
  | { view: 'file'; name: string }
  | { view: 'run'; id: string }
  | { view: 'compare'; ids: string[] }

export function parseRoute(hash: string): Route {
  const [, view = '', rest = ''] = /^#\/([a-z]*)\/?(.*)$/.exec(hash) ?? []
  const words = rest.split('/').filter(Boolean).map(decode)
  if (view === 'file' && words.length > 0) return { view, name: words.join('/') }
  if (view === 'run' && words.length === 1) return { view, id: words[0] }
  if (view === 'compare' && words.length > 0) return { view, ids: [...new Set(words)] }
  return { view: 'home' }
}

export function fileLink(name: string): string {
  return `#/file/${name.split('/').map(encodeURIComponent).join('/')}`
}

export function runLink(id: string): string {
  return `#/run/${encodeURIComponent(id)}`
}

export function compareLink(ids: string[]): string {
  return `#/compare/${ids.map(encodeURIComponent).join('/')}`
}

/** A word of an address; what is no valid escape stays as it is. */
function decode(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}
