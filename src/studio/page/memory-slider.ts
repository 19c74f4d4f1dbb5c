// A slider for memory on a scale of powers of two: from little to all that the machine has, which means no limit.
import { h, setText } from './dom.ts'
import { formatBytes } from './format.ts'
import { bytesAt, lastPlace, placeFor, placeOf } from './memory-scale.ts'

export interface MemorySlider {
  element: HTMLElement
  /** Bytes; undefined for no limit. */
  value(): number | undefined
  /** The least value that is enough for so many bytes. */
  enough(bytes: number): number | undefined
  /** Moves the slider to it, as a user would. */
  set(bytes: number): void
}

export function memorySlider(machineBytes: number, first: number | undefined, changed: () => void): MemorySlider {
  const last = lastPlace(machineBytes)
  const start = first === undefined ? last : Math.min(last, placeOf(first))
  const input = h('input', { type: 'range', id: 'memory', min: 0, max: last, step: 1, value: start })
  const output = h('output', { for: 'memory', class: 'value' })
  const at = (place: number): number | undefined => (place >= last ? undefined : bytesAt(place))
  const value = (): number | undefined => at(input.valueAsNumber)
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
  const set = (bytes: number): void => {
    input.value = String(Math.min(last, placeFor(bytes)))
    input.dispatchEvent(new Event('input', { bubbles: true }))
    input.focus()
  }
  return { element, value, enough: bytes => at(placeFor(bytes)), set }
}
