// Pictures of a plan: the parts of the memory against what is allowed, and the blocks of the store as cells.
import type { Plan } from './api-types.ts'
import { h } from './dom.ts'
import { formatBytes, formatCount } from './format.ts'

/** Smaller parts are drawn as one. */
const LEAST_SHARE = 0.01
const COLOURS = 6

export function memoryBar({ parts, allowed }: NonNullable<Plan['memory']>): HTMLElement {
  const planned = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  const whole = Math.max(allowed, planned, 1)
  const large = parts.filter(({ bytes }) => bytes >= LEAST_SHARE * planned).sort((a, b) => b.bytes - a.bytes)
  const named = large.slice(0, COLOURS - 1)
  const rest = planned - named.reduce((sum, { bytes }) => sum + bytes, 0)
  const drawn = rest > 0 ? [...named, { what: 'all else', bytes: rest }] : named
  const label = `${formatBytes(planned)} of ${formatBytes(allowed)} planned: ${drawn
    .map(({ what, bytes }) => `${what} ${formatBytes(bytes)}`)
    .join(', ')}`
  return h(
    'figure',
    { class: 'memory-parts' },
    h(
      'figcaption',
      {},
      h('span', {}, 'Memory'),
      h('span', { class: 'value' }, `${formatBytes(planned)} of ${formatBytes(allowed)}`),
    ),
    h(
      'div',
      { class: 'bar', role: 'img', 'aria-label': label },
      drawn.map(({ bytes }, k) =>
        h('span', { class: `part part-${k}`, style: { width: `${(100 * bytes) / whole}%` } }),
      ),
    ),
    h(
      'ul',
      { class: 'legend' },
      drawn.map(({ what, bytes }, k) =>
        h(
          'li',
          {},
          h('span', { class: `swatch part-${k}`, 'aria-hidden': 'true' }),
          what,
          h('b', {}, formatBytes(bytes)),
        ),
      ),
    ),
  )
}

/** More blocks share cells. */
const MOST_CELLS = 240

/** Which blocks are in memory at a time. Nothing where all rows are in memory. */
export function blockCells({ blocks }: Pick<Plan, 'blocks'>): HTMLElement {
  if (!blocks) {
    return h(
      'figure',
      { class: 'blocks' },
      h('figcaption', {}, h('span', {}, 'Rows'), h('span', { class: 'value' }, 'all in memory')),
      h(
        'div',
        { class: 'cells', role: 'img', 'aria-label': 'All rows are in memory.' },
        h('span', { class: 'cell whole' }),
      ),
    )
  }
  const { count, groups, slots, slotBytes, cacheBytes } = blocks
  const resident = Math.min(count, Math.round((count * Math.min(slots, groups)) / Math.max(1, groups)))
  const each = Math.max(1, Math.ceil(count / MOST_CELLS))
  const cells = Math.ceil(count / each)
  const lit = Math.max(resident > 0 ? 1 : 0, Math.round(resident / each))
  const text = residentText(blocks, resident)
  const cache = cacheBytes > 0 ? `; ${formatBytes(cacheBytes)} keep single rows` : ''
  return h(
    'figure',
    { class: 'blocks' },
    h('figcaption', {}, h('span', {}, 'Blocks'), h('span', { class: 'value' }, text)),
    h(
      'div',
      { class: 'cells', role: 'img', 'aria-label': `${text}${cache}.` },
      Array.from({ length: cells }, (_, k) => h('span', { class: k < lit ? 'cell in' : 'cell' })),
    ),
    h(
      'p',
      { class: 'hint' },
      each > 1 ? `A cell is ${each} blocks. ` : '',
      `Pieces of ${formatBytes(slotBytes)}${cache}.`,
    ),
  )
}

function residentText({ count, groups, slots }: NonNullable<Plan['blocks']>, resident: number): string {
  const blocks = `${formatCount(count)} ${count === 1 ? 'block' : 'blocks'}`
  if (slots >= groups) return `${blocks}, all in memory`
  return `${blocks}, ${formatCount(resident)} in memory at a time`
}
