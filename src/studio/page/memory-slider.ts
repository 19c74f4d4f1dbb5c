// A slider for memory on a scale of powers of two: from little to all that the machine has, which means no limit.
import { h, setText } from './dom.ts'
import { formatBytes } from './format.ts'
import { bytesAt, lastPlace, placeOf } from './memory-scale.ts'

export interface MemorySlider {
  element: HTMLElement
  /** Bytes; undefined for no limit. */
  value(): number | undefined
}

export function memorySlider(machineBytes: number, first: number | undefined, changed: () => void): MemorySlider {
  const last = lastPlace(machineBytes)
  const start = first === undefined ? last : Math.min(last, placeOf(first))
  const input = h('input', { type: 'range', id: 'memory', min: 0, max: last, step: 1, value: start })
  const output = h('output', { for: 'memory', class: 'value' })
  const value = (): number | undefined => (input.valueAsNumber >= last ? undefined : bytesAt(input.valueAsNumber))
  const show = (): void => {
    const bytes = value()
    const text = bytes === undefined ? 'no limit' : formatBytes(bytes)
    setText(output, text)
    input.setAttribute('aria-valuetext', bytes === undefined ? 'no limit: most of the memory of the machine' : text)
  }
  input.addEventListener('input', () => {
    show()
    changed()
  })
  show()
  const element = h(
    'div',
    { class: 'field slider' },
    h('div', { class: 'label-line' }, h('label', { for: 'memory' }, 'Memory'), output),
    input,
    h(
      'div',
      { class: 'scale', 'aria-hidden': 'true' },
      h('span', {}, formatBytes(bytesAt(0))),
      h('span', {}, `machine ${formatBytes(machineBytes)}`),
    ),
  )
  return { element, value }
}
