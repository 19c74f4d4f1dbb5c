// Charts side by side: each keeps its place, its view and its open table while the numbers under it change.
import type { Chart } from '../../report/charts/chart.ts'
import { ChartFigure } from '../../report/page/figure.ts'
import { h } from './dom.ts'

export class ChartBoard {
  readonly element = h('div', { class: 'charts' })
  readonly #figures = new Map<string, ChartFigure>()

  /** Charts that come later are put behind the others, so that none moves; one that has nothing to show any more goes. */
  show(charts: readonly (Chart | undefined)[]): void {
    const shown = charts.filter(chart => chart !== undefined)
    const ids = new Set(shown.map(({ id }) => id))
    for (const [id, { element }] of this.#figures) {
      if (ids.has(id)) continue
      element.remove()
      this.#figures.delete(id)
    }
    for (const chart of shown) {
      const known = this.#figures.get(chart.id)
      if (known) {
        known.update(chart)
        continue
      }
      const figure = new ChartFigure(chart)
      this.#figures.set(chart.id, figure)
      this.element.append(figure.element)
    }
  }
}
