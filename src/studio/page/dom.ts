// Builds and changes elements: a page of small functions, without a framework.

export type Child = Node | string | number | undefined | null | false | Child[]

/** Attributes by name; `on` has listeners and `style` has properties, which are set through the object model: the page's policy
 *  allows no style attributes. */
export interface Properties {
  on?: Record<string, (event: Event) => void>
  style?: Record<string, string>
  [attribute: string]: string | number | boolean | undefined | null | object
}

/** An element with attributes and children. An attribute that is true has no value; one that is false is left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  const { on = {}, style = {}, ...attributes } = properties
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value)
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener)
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value)
  element.append(...flat(children))
  return element
}

export function setAttribute(element: Element, name: string, value: unknown): void {
  if (value === false || value === undefined || value === null) element.removeAttribute(name)
  else element.setAttribute(name, value === true ? '' : String(value))
}

function flat(children: Child[]): (Node | string)[] {
  return children.flatMap(child => {
    if (child === undefined || child === null || child === false) return []
    if (Array.isArray(child)) return flat(child)
    return [typeof child === 'number' ? String(child) : child]
  })
}

/** Puts children in place of those that an element has. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...flat(children))
}

/** Sets a text where it differs: what did not change is not drawn or read out again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** Marks the link of a list that leads to where the page is, and brings it into the part of the list that is seen. */
export function markCurrent(list: HTMLElement, href: string | undefined): void {
  for (const link of list.querySelectorAll('a')) {
    const isCurrent = link.getAttribute('href') === href
    const isNew = isCurrent && !link.hasAttribute('aria-current')
    setAttribute(link, 'aria-current', isCurrent && 'page')
    const frame = list.parentElement
    // Those who have scrolled the list since stay where they are.
    if (!isNew || !frame) continue
    const [inside, around] = [link.getBoundingClientRect(), frame.getBoundingClientRect()]
    if (inside.top < around.top) frame.scrollTop -= around.top - inside.top
    else if (inside.bottom > around.bottom) frame.scrollTop += inside.bottom - around.bottom
  }
}

export interface KeyedRow<T> {
  element: HTMLElement
  update(item: T): void
}

/** A list whose entries stay the same elements while their items change, so that focus and selection stay where they are. */
export class KeyedList<T> {
  readonly #parent: HTMLElement
  readonly #keyOf: (item: T) => string
  readonly #make: (item: T) => KeyedRow<T>
  #rows = new Map<string, KeyedRow<T>>()

  constructor(parent: HTMLElement, keyOf: (item: T) => string, make: (item: T) => KeyedRow<T>) {
    this.#parent = parent
    this.#keyOf = keyOf
    this.#make = make
  }

  show(items: T[]): void {
    const rows = new Map<string, KeyedRow<T>>()
    for (const item of items) {
      const key = this.#keyOf(item)
      const row = this.#rows.get(key) ?? this.#make(item)
      row.update(item)
      rows.set(key, row)
    }
    for (const [key, { element }] of this.#rows) if (!rows.has(key)) element.remove()
    let place = this.#parent.firstElementChild
    for (const { element } of rows.values()) {
      if (element === place) place = place.nextElementSibling
      else this.#parent.insertBefore(element, place)
    }
    this.#rows = rows
  }
}

/** A part of the page with a heading. */
export function panel(title: string, { id, class: name = '' }: { id: string; class?: string }, ...children: Child[]) {
  return h(
    'section',
    { class: `panel ${name}`.trim(), 'aria-labelledby': `${id}-title` },
    h('h2', { id: `${id}-title` }, title),
    children,
  )
}

/** A message that stands in place of something: nothing here yet, loading, or what went wrong. */
export function notice(kind: 'empty' | 'loading' | 'error' | 'warning', ...children: Child[]): HTMLElement {
  return h('div', { class: `notice ${kind}`, ...(kind === 'error' && { role: 'alert' }) }, ...children)
}

/** What takes long is done less often: it never has more than a fourth of the time. */
const SHARE = 4

/** Calls at most once in so many milliseconds; the last call is never lost. */
export function throttled(milliseconds: number, call: () => void): { (): void; cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  let next = Number.NEGATIVE_INFINITY
  const run = (): void => {
    timer = undefined
    const began = performance.now()
    call()
    next = began + Math.max(milliseconds, SHARE * (performance.now() - began))
  }
  const ask = (): void => {
    timer ??= setTimeout(run, Math.max(0, next - performance.now()))
  }
  ask.cancel = (): void => clearTimeout(timer)
  return ask
}
