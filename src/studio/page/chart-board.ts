// Charts side by side: each keeps its place, its view and its open table while the numbers under it change.
import type { Chart } from '../../report/charts/chart.ts'
import { ChartFigure } from '../../report/page/figure.ts'
import { h } from './dom.ts'

export class ChartBoard {
  readonly element = h('div', { class: 'charts' })
  readonly #figures = new Map<string, ChartFigure>()

  /** Charts that come keep their order; a chart that has nothing to show any more goes. */
  show(charts: readonly (Chart | undefined)[]): void {
    const shown = charts.filter(chart => chart !== undefined)
    const ids = new Set(shown.map(({ id }) => id))
    for (const [id, { element }] of this.#figures) {
      if (ids.has(id)) continue
      element.remove()
      this.#figures.delete(id)
    }
    let place = this.element.firstElementChild
    for (const chart of shown) {
      const known = this.#figures.get(chart.id)
      known?.update(chart)
      const figure = known ?? new ChartFigure(chart)
      this.#figures.set(chart.id, figure)
      if (figure.element === place) place = place.nextElementSibling
      else this.element.insertBefore(figure.element, place)
    }
  }
}
