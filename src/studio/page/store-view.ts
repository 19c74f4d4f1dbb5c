// The store while a run goes over it: which blocks are in memory, which is read, and how many rows stay or leave.
import { fill, h, setAttribute, setText } from './dom.ts'
import { formatBytes, formatCount } from './format.ts'
import type { StoreState } from './store-state.ts'

/** More blocks share cells. */
const MOST_CELLS = 400
/** Fewer are drawn larger. */
const FEW_CELLS = 60

export class StoreView {
  readonly element: HTMLElement
  readonly #cells = h('div', { class: 'store-cells', role: 'img' })
  readonly #text = h('p', { class: 'hint' })
  readonly #rowsBar = h('span', { class: 'part part-0' })
  readonly #rowsText = h('span', { class: 'value' })
  readonly #rows: HTMLElement
  #each = 0

  constructor() {
    this.#rows = h(
      'figure',
      { class: 'rows-kept' },
      h('figcaption', {}, h('span', {}, 'Rows kept in memory'), this.#rowsText),
      h('div', { class: 'bar', 'aria-hidden': 'true' }, this.#rowsBar),
    )
    const key = (state: string, text: string) =>
      h('li', {}, h('span', { class: 'cell', 'data-state': state, 'aria-hidden': 'true' }), text)
    this.element = h(
      'section',
      { class: 'panel store', 'aria-labelledby': 'store-title', hidden: true },
      h('h2', { id: 'store-title' }, 'The store'),
      this.#cells,
      h(
        'ul',
        { class: 'legend' },
        key('reading', 'read last'),
        key('in', 'in memory'),
        key('met', 'met in this pass'),
        key('', 'waits on disk'),
      ),
      this.#text,
      this.#rows,
    )
  }

  show(state: StoreState | undefined, live: boolean): void {
    this.element.hidden = state === undefined
    if (!state) return
    const { blocks, inMemory, met } = state
    const each = Math.max(1, Math.ceil(blocks.length / MOST_CELLS))
    const count = Math.ceil(blocks.length / each)
    if (this.#cells.childElementCount !== count || this.#each !== each) this.#make(state, count, each)
    const reading = inMemory[inMemory.length - 1]
    for (let k = 0; k < count; k++) {
      const has = (block: number): boolean => Math.floor(block / each) === k
      const here = live && reading !== undefined && has(reading)
      const now = here ? 'reading' : live && inMemory.some(has) ? 'in' : anyOf(met, k, each) ? 'met' : ''
      const cell = this.#cells.children[k] as HTMLElement
      if (cell.dataset['state'] !== now) cell.dataset['state'] = now
    }
    setAttribute(this.#cells, 'aria-label', this.#alternative(state, live))
    setText(this.#text, describe(state))
    this.#showRows(state)
  }

  #make({ blocks }: StoreState, count: number, each: number): void {
    this.#each = each
    const cells = Array.from({ length: count }, (_, k) => {
      const { rows, bytes } = blocks[k]
      const size = rows === undefined ? '' : `: ${formatCount(rows)} rows, ${formatBytes(bytes ?? 0)}`
      const title =
        each === 1 ? `block ${k}${size}` : `blocks ${k * each} to ${Math.min(blocks.length, (k + 1) * each) - 1}`
      return h('span', { class: 'cell', title })
    })
    fill(this.#cells, cells)
    setAttribute(this.#cells, 'data-few', count <= FEW_CELLS)
  }

  #showRows({ rows }: StoreState): void {
    this.#rows.hidden = rows === undefined
    if (!rows) return
    const all = rows.kept + rows.left
    this.#rowsBar.style.setProperty('width', `${all > 0 ? (100 * rows.kept) / all : 0}%`)
    const evicted = rows.evicted === undefined ? '' : `; ${formatCount(rows.evicted)} have left`
    setText(this.#rowsText, `${formatCount(rows.kept)} of ${formatCount(all)}${evicted}`)
  }

  #alternative({ blocks, inMemory, met, pass }: StoreState, live: boolean): string {
    const all = formatCount(blocks.length)
    if (!live) return `${all} blocks on disk.`
    const reading = inMemory[inMemory.length - 1]
    const which = reading === undefined ? '' : ` Block ${reading} was read last.`
    return `Pass ${pass}: ${met.size} of ${all} blocks met, ${inMemory.length} in memory.${which}`
  }
}

function anyOf(blocks: ReadonlySet<number>, cell: number, each: number): boolean {
  for (let block = cell * each; block < (cell + 1) * each; block++) if (blocks.has(block)) return true
  return false
}

function describe({ blocks, read, bytesRead, bytesSkipped }: StoreState): string {
  const skipped =
    bytesSkipped > 0 ? `, ${formatBytes(bytesSkipped)} left unread: their rows cannot change anything` : ''
  return `${formatCount(blocks.length)} blocks; ${formatCount(read)} reads, ${formatBytes(bytesRead)} so far${skipped}.`
}
