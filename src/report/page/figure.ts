// A chart on a page: title, what to look for, a choice of views, the drawing, and its numbers as a table.
import * as Plot from '@observablehq/plot'
import type { Chart, ChartTable } from '../charts/chart.ts'
import { element } from './element.ts'

/** Narrower than this, a chart cannot be read. */
const LEAST_WIDTH = 260
const MOST_WIDTH = 760

export class ChartFigure {
  readonly element: HTMLElement
  #chart: Chart
  #view: string | undefined
  #width = 0
  readonly #about = element('p', { class: 'about' })
  readonly #title: HTMLElement
  readonly #views = element('div', { class: 'views', role: 'group' })
  readonly #legend = element('ul', { class: 'legend' })
  readonly #drawing = element('div', { class: 'drawing' })
  readonly #numbers = element('div', { class: 'numbers', tabindex: '0', role: 'region' })
  readonly #details = element('details', {}, [element('summary', {}, ['Numbers']), this.#numbers])

  /** `heading`: how deep the page is where the chart stands. */
  constructor(chart: Chart, heading: 'h2' | 'h3' | 'h4' = 'h3') {
    this.#chart = chart
    this.#view = chart.views?.[0].id
    this.#title = element(heading, { id: `title-${chart.id}` })
    this.element = element(
      'figure',
      { class: 'chart', id: `chart-${chart.id}`, 'aria-labelledby': `title-${chart.id}` },
      [
        element('div', { class: 'chart-head' }, [this.#title, this.#views]),
        this.#about,
        this.#legend,
        this.#drawing,
        this.#details,
      ],
    )
    this.#details.addEventListener('toggle', () => this.#fillNumbers())
    this.#makeViews()
    this.update(chart)
    new ResizeObserver(() => this.#resized()).observe(this.#drawing)
  }

  /** Shows other numbers in the same place: a run that goes on. */
  update(chart: Chart): void {
    this.#chart = chart
    this.#title.textContent = chart.title
    this.#about.replaceChildren(...wholeOptions(chart.about))
    this.#numbers.setAttribute('aria-label', `Numbers of ${chart.title}`)
    this.#legend.replaceChildren(
      ...(chart.legend ?? []).map(({ name, colour, dashed }) => element('li', {}, [swatch(colour, dashed), name])),
    )
    this.#legend.hidden = !chart.legend
    this.#fillNumbers()
    this.#draw()
  }

  #makeViews(): void {
    const { views = [], title } = this.#chart
    this.#views.hidden = views.length < 2
    this.#views.setAttribute('aria-label', `${title} over`)
    const buttons = views.map(({ id, name }) => {
      const button = element('button', { type: 'button', 'aria-pressed': String(id === this.#view) }, [name])
      button.addEventListener('click', () => {
        this.#view = id
        for (const other of buttons) other.setAttribute('aria-pressed', String(other === button))
        this.#draw()
      })
      return button
    })
    this.#views.replaceChildren(...buttons)
  }

  #resized(): void {
    const width = this.#drawing.clientWidth
    if (width !== this.#width) this.#draw()
  }

  #draw(): void {
    this.#width = this.#drawing.clientWidth
    // Before it stands in a page, it has no width: the observer draws it then.
    if (this.#width === 0) return
    const width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, this.#width))
    const drawn = Plot.plot(this.#chart.options({ width, view: this.#view }))
    // Its rules are in charts.css: the studio's policy forbids style elements within a page.
    for (const style of drawn.querySelectorAll('style')) style.remove()
    // The names that Plot gives to marks say nothing to people: the picture as a whole has a text.
    for (const mark of drawn.querySelectorAll('[aria-label]')) {
      mark.setAttribute('data-mark', mark.getAttribute('aria-label')!)
      mark.removeAttribute('aria-label')
    }
    drawn.setAttribute('role', 'img')
    drawn.setAttribute('aria-label', `${this.#chart.title}. ${this.#chart.text}`)
    this.#drawing.replaceChildren(drawn)
  }

  #fillNumbers(): void {
    if (this.#details.open) this.#numbers.replaceChildren(tableElement(this.#chart.table, this.#chart.title))
  }
}

/** A text whose options, such as --memory, are not broken at the end of a line. */
function wholeOptions(text: string): (Node | string)[] {
  return text.split(/(--[a-z-]+)/).map((part, k) => (k % 2 === 0 ? part : element('span', { class: 'option' }, [part])))
}

/** Set through the object model: a policy may forbid style attributes. */
function swatch(colour: string, dashed = false): HTMLElement {
  const made = element('span', { class: dashed ? 'swatch dashed' : 'swatch' })
  made.style.setProperty('--colour', colour)
  return made
}

export function tableElement({ columns, rows }: ChartTable, caption: string): HTMLElement {
  return element('table', {}, [
    element('caption', {}, [caption]),
    element('thead', {}, [
      element(
        'tr',
        {},
        columns.map(column => element('th', { scope: 'col' }, [column])),
      ),
    ]),
    element(
      'tbody',
      {},
      rows.map(row =>
        element(
          'tr',
          {},
          row.map((cell, k) =>
            element(k === 0 ? 'th' : 'td', k === 0 ? { scope: 'row' } : {}, [cell === null ? '–' : String(cell)]),
          ),
        ),
      ),
    ),
  ])
}
