// Vowpal Wabbit text: `LABEL [IMPORTANCE] ['TAG]|NAMESPACE[:SCALE] NAME[:VALUE] … |NAMESPACE …`, one row a line. A feature is the
// hash of its name under its namespace, as Vowpal Wabbit makes it.

import type { MeetName } from '../tables/hashed-names.ts'
import type { InputFormat } from './input-format.ts'
import { LINE_FEED } from './line-chunks.ts'
import { risingEntries } from './rising-entries.ts'
import { type MadeRow, type RefusedRow, RowsParser } from './rows-parser.ts'
import { shownToken } from './text-parser.ts'

const BAR = 124
const COLON = 58
const QUOTE = 39

/** Bits of a hash that are kept. */
export const VW_BITS = 22
const HASH_MASK = 2 ** VW_BITS - 1
/** Features of a row; a longer row is taken for a mistake. */
const MOST_ENTRIES = 1 << 24
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

const ROW = "LABEL [IMPORTANCE] ['TAG]|NAMESPACE[:SCALE] NAME[:VALUE] …"
const skip = 'correct the row, or step over such rows with --on-bad-row skip'

const isBlank = (byte: number): boolean => byte === 32 || byte === 9 || byte === 13

/** MurmurHash3 for 32 bits, by Austin Appleby: the hash that Vowpal Wabbit has. */
export function murmur3(bytes: Uint8Array, from: number, to: number, seed: number): number {
  let hash = seed | 0
  const mix = (k: number): number => {
    const turned = Math.imul(k, 0xcc9e2d51)
    return Math.imul((turned << 15) | (turned >>> 17), 0x1b873593)
  }
  let at = from
  for (; at + 4 <= to; at += 4) {
    hash ^= mix(bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24))
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0
  }
  let rest = 0
  for (let k = to - 1; k >= at; k--) rest = (rest << 8) | bytes[k]
  if (at < to) hash ^= mix(rest)
  hash ^= to - from
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The number that a name of digits is; undefined for any other name. */
function digits(bytes: Uint8Array, from: number, to: number): number | undefined {
  let number = 0
  for (let at = from; at < to; at++) {
    const digit = bytes[at] - 48
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  return from < to ? number : undefined
}

/** A namespace is hashed by itself, as a name is under seed 0. */
const namespaceHash = (bytes: Uint8Array, from: number, to: number): number => {
  const number = digits(bytes, from, to)
  return number === undefined ? murmur3(bytes, from, to, 0) : number % 2 ** 32
}

/** A row that is refused: what was found where. */
class Refusal {
  readonly row: RefusedRow
  constructor(row: RefusedRow) {
    this.row = row
  }
}

class VwParser extends RowsParser {
  /** Of the row that is read. */
  #indices: number[] = []
  #values: number[] = []
  #bytes: Uint8Array = new Uint8Array(0)
  #lineStart = 0

  protected override *rows(shared: Uint8Array): Generator<MadeRow | RefusedRow> {
    const bytes = Buffer.from(shared)
    this.#bytes = bytes
    for (let at = 0; at < bytes.length; ) {
      let end = bytes.indexOf(LINE_FEED, at)
      if (end < 0) end = bytes.length
      let start = at
      while (start < end && isBlank(bytes[start])) start++
      let stop = end
      while (stop > start && isBlank(bytes[stop - 1])) stop--
      this.#lineStart = at
      if (start < stop) yield this.#row(start, stop)
      else this.lines++
      at = end + 1
    }
  }

  #row(start: number, stop: number): MadeRow | RefusedRow {
    try {
      this.#indices = []
      this.#values = []
      const bar = this.#bytes.subarray(start, stop).indexOf(BAR)
      if (bar < 0) throw this.#refusal(start, stop, `a row with a bar before its features: ${ROW}`)
      const head = this.#head(start, start + bar)
      let at = start + bar
      while (at < stop) at = this.#namespace(at + 1, stop)
      return { ...head, ...risingEntries(this.#indices, this.#values), column: 1 }
    } catch (error) {
      if (error instanceof Refusal) return error.row
      throw error
    }
  }

  /** What stands before the first bar. */
  #head(start: number, bar: number): { label: string; weight?: number } {
    const words = this.#words(start, bar)
    // A word that touches the bar is a tag, and so is one with a quote in front.
    const last = words.at(-1)
    const isTag = last !== undefined && (last.to === bar || this.#bytes[last.from] === QUOTE)
    const [label, importance, base] = isTag ? words.slice(0, -1) : words
    if (!label) {
      throw this.#refusal(
        start,
        bar + 1,
        'a label in front of the bar',
        `a row is ${ROW}; any label will do to predict`,
      )
    }
    if (base)
      throw this.#refusal(base.from, base.to, 'a label and a weight in front of the bar, and no score to begin with')
    const text = this.#text(label.from, label.to)
    if (text.includes(':')) {
      throw this.#refusal(label.from, label.to, 'one label: costs of classes and of actions are not read')
    }
    if (!importance) return { label: text }
    const weight = this.#number(importance.from, importance.to)
    if (weight === undefined || !(weight > 0)) {
      throw this.#refusal(importance.from, importance.to, 'a weight: a number above 0', skip)
    }
    return { label: text, weight }
  }

  #words(from: number, to: number): { from: number; to: number }[] {
    const words = []
    for (let at = from; at < to; ) {
      while (at < to && isBlank(this.#bytes[at])) at++
      const start = at
      while (at < to && !isBlank(this.#bytes[at])) at++
      if (at > start) words.push({ from: start, to: at })
      if (words.length > 4) break
    }
    return words
  }

  /** Reads a namespace and its features, from behind its bar on; where the next bar stands, or the end. */
  #namespace(from: number, stop: number): number {
    const bytes = this.#bytes
    let at = from
    let hash = 0
    let scale = 1
    const named = at < stop && !isBlank(bytes[at]) && bytes[at] !== BAR
    if (named) {
      const { colon, end } = this.#token(at, stop)
      if (colon < end) scale = this.#value(at, colon, end)
      hash = namespaceHash(bytes, at, colon)
      at = end
    }
    while (at < stop && bytes[at] !== BAR) {
      if (isBlank(bytes[at])) {
        at++
        continue
      }
      const { colon, end } = this.#token(at, stop)
      if (colon === at) throw this.#refusal(at, end, 'NAME or NAME:VALUE')
      const value = colon < end ? this.#value(at, colon, end) : 1
      if (this.#indices.length === MOST_ENTRIES) {
        throw this.#refusal(at, end, `a row of at most ${MOST_ENTRIES} features`)
      }
      const number = digits(bytes, at, colon)
      // Numbers without a namespace are the features' own.
      const feature =
        number === undefined
          ? murmur3(bytes, at, colon, hash) & HASH_MASK
          : named
            ? (number + hash) & HASH_MASK
            : number
      this.#indices.push(feature)
      this.#values.push(value * scale)
      at = end
    }
    return at
  }

  /** Where a name ends, and its value. */
  #token(from: number, stop: number): { colon: number; end: number } {
    const bytes = this.#bytes
    let end = from
    let colon = -1
    while (end < stop && bytes[end] !== BAR && !isBlank(bytes[end])) {
      if (colon < 0 && bytes[end] === COLON) colon = end
      end++
    }
    return { colon: colon < 0 ? end : colon, end }
  }

  #value(from: number, colon: number, end: number): number {
    const value = this.#number(colon + 1, end)
    if (value === undefined) throw this.#refusal(from, end, 'a number as value', skip)
    return value
  }

  #number(from: number, to: number): number | undefined {
    const text = this.#text(from, to)
    return NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined
  }

  #text(from: number, to: number): string {
    return this.#bytes.subarray(from, to).toString()
  }

  #refusal(from: number, to: number, expected: string, advice?: string): Refusal {
    const found = shownToken(this.#text(from, Math.min(to, from + 200)))
    return new Refusal({ column: from - this.#lineStart + 1, found, expected, ...(advice && { advice }) })
  }
}

/** Names that are hashed, as `namespace^name`, with their features. Numbers without a namespace are no names. */
export function namesInVw(text: Uint8Array, meet: MeetName): void {
  for (const line of Buffer.from(text).toString().split('\n')) {
    for (const space of line.split('|').slice(1)) {
      const named = space !== '' && !/^[ \t\r]/.test(space)
      const names = space
        .split(/[ \t\r]+/)
        .filter(token => token !== '')
        .map(token => Buffer.from(token.split(':')[0]))
      const namespace = named ? names.shift()! : undefined
      const hash = namespace ? namespaceHash(namespace, 0, namespace.length) : 0
      for (const name of names) {
        const number = digits(name, 0, name.length)
        if (number !== undefined && !namespace) continue
        const feature = (number === undefined ? murmur3(name, 0, name.length, hash) : number + hash) & HASH_MASK
        meet(feature, namespace ? `${namespace}^${name}` : name.toString())
      }
    }
  }
}

/** Whether a line is a row of this format: a label, perhaps a weight and a tag, then a bar, then names. Cells between bars that
 *  all have blanks around them are those of a table. */
export function looksLikeVw(line: string): boolean {
  const [head, ...spaces] = line.trim().split('|')
  if (spaces.length === 0 || !/^\S+[ \t]/.test(head) || head.includes(',')) return false
  const [label, ...others] = head.trim().split(/\s+/)
  if (!NUMBER.test(label) || others.length > 2) return false
  const isCell = (text: string): boolean => /^[ \t]+\S*[ \t]*$/.test(text)
  return spaces.length === 1 || !spaces.every(isCell)
}

export const vw: InputFormat = {
  module: import.meta.url,
  name: 'vw',
  endings: ['vw'],
  summary: 'Vowpal Wabbit text: LABEL [IMPORTANCE] |NAMESPACE NAME:VALUE …',
  title: 'Vowpal Wabbit text',
  row: ROW,
  letters: false,
  cut: {
    by: 'lines',
    examples: ['1 |f price:0.23 sqft:.25 age', "-1 2.5 'second_house|f:2 age:0.5 |g old", '0 | 3:1.5 7 12:-2e-3'],
    detect: looksLikeVw,
    // Names of digits are the numbers of features, and there may be a 0 among them.
    indexBase: 0,
  },
  newParser: arena => new VwParser(arena),
  namesIn: namesInVw,
}
