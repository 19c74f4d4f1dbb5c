// What a label is. Numbers that are equal are one label, however they are spelled; any other word is a label of its own,
// compared byte by byte. Nothing here needs Node.
import { Xxh64, xxh64Text } from '../files/xxh64.ts'
import { LABEL_TEXT_UPPER, LONGEST_LABEL } from '../numeric/layouts.ts'

export interface Label {
  /** The number that it is; null for a label of text. */
  value: number | null
  /** As the user wrote it where it was first met. */
  text: string
}

/** What tells labels apart: a number, or a text that is none. */
export type LabelKey = number | string

export function labelKey({ value, text }: Label): LabelKey {
  return value ?? text
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

/** A label as parsers read it. */
export function labelOf(text: string): Label {
  return { value: NUMBER.test(text) ? Number(text) + 0 : null, text }
}

/** Numbers first, rising; then texts in the order of their UTF-8 bytes. */
export function compareLabels(a: Label, b: Label): number {
  if (a.value !== null && b.value !== null) return a.value - b.value
  if (a.value !== null) return -1
  if (b.value !== null) return 1
  return compareBytes(utf8.encode(a.text), utf8.encode(b.text))
}

const utf8 = new TextEncoder()

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shorter = Math.min(a.length, b.length)
  for (let k = 0; k < shorter; k++) if (a[k] !== b[k]) return a[k] - b[k]
  return a.length - b.length
}

/** What is wrong with a label of text, in words, or undefined. Text of files that are not ours is asked this. */
export function textLabelComplaint(text: string): string | undefined {
  if (text === '') return 'it is empty'
  if (NUMBER.test(text)) return 'it is a number'
  if (!text.isWellFormed()) return 'it is no Unicode text'
  if (/[\0-\x20\x7f:]/.test(text)) return 'it has a blank, a colon or a control character in it'
  if (text.startsWith('#')) return 'it would be a comment'
  if (utf8.encode(text).length > LONGEST_LABEL) return `it is longer than ${LONGEST_LABEL} bytes`
  return undefined
}

/** The code of a label of text, as its 16 hexadecimal digits: what parsed rows and a store's blocks hold for it. It comes
 *  from a hash, so two texts may share one: who goes by codes alone has to make sure that they do not. */
export function labelCode(text: string): string {
  const hash = new Xxh64()
  hash.update(utf8.encode(text))
  const { high, low } = hash.digest()
  return xxh64Text({ high: (high | LABEL_TEXT_UPPER) >>> 0, low })
}
