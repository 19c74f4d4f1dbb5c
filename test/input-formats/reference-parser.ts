// A LIBSVM parser as short as it can be: split, match, Number(). The fast parser is held against it, line by line.
export interface ReferenceRow {
  /** NaN for a label of text. */
  label: number
  labelText: string
  indices: number[]
  values: number[]
  /** The texts of the values that were kept. */
  texts: string[]
}

export interface ReferenceResult {
  /** For each line: a row, 'blank' or 'bad'. */
  lines: (ReferenceRow | 'blank' | 'bad')[]
  rows: ReferenceRow[]
  features: number
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/
/** Where indices count from 1; a model can have so many features. */
export const LARGEST_INDEX = 4294967294

/** The label of a line (bytes as Latin-1) and what follows it. */
export function referenceLabel(line: string): { label: number; labelText: string; rest: string } | 'blank' | 'bad' {
  const [, word, rest] = /^[ \t\r]*([^ \t\r]*)(.*)$/s.exec(line)!
  if (word === '' || word.startsWith('#')) return 'blank'
  const [number] = word.split('#')
  if (NUMBER.test(number)) {
    if (!Number.isFinite(Number(number))) return 'bad'
    return { label: Number(number), labelText: number, rest: word.slice(number.length) + rest }
  }
  if (word.includes(':') || /^[+-]?(nan|inf|infinity)$/i.test(number) || word.length > 255) return 'bad'
  try {
    const labelText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(word, 'latin1'))
    return [...labelText].some(c => c < ' ' || c === '\x7f') ? 'bad' : { label: Number.NaN, labelText, rest }
  } catch {
    return 'bad'
  }
}

export function referenceParse(text: Buffer, indexBase: number, valueBits: 32 | 64): ReferenceResult {
  const lines = text.toString('latin1').split('\n')
  if (lines.at(-1) === '') lines.pop()
  const round = valueBits === 32 ? Math.fround : (x: number): number => x
  let features = 0
  const parsed = lines.map((line): ReferenceRow | 'blank' | 'bad' => {
    const start = referenceLabel(line)
    if (typeof start === 'string') return start
    const { label, labelText, rest } = start
    const entries = rest
      .replace(/#.*$/s, '')
      .split(/[ \t\r]+/)
      .filter(token => token !== '')
    const row: ReferenceRow = { label, labelText, indices: [], values: [], texts: [] }
    let previous = -1
    for (const entry of entries) {
      const [, index, value] = /^(\d+):(.*)$/s.exec(entry) ?? []
      if (index === undefined || Number(index) > LARGEST_INDEX - 1 + indexBase || Number(index) < indexBase)
        return 'bad'
      const feature = Number(index) - indexBase
      if (feature <= previous || !NUMBER.test(value) || !Number.isFinite(round(Number(value)))) return 'bad'
      previous = feature
      if (round(Number(value)) === 0) continue
      row.indices.push(feature)
      row.values.push(round(Number(value)))
      row.texts.push(value)
    }
    features = Math.max(features, previous + 1)
    return row
  })
  return { lines: parsed, rows: parsed.filter(line => typeof line === 'object'), features }
}

/** Digits that count: without sign, leading zeros, point and exponent. */
export function significantDigits(text: string): number {
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/[^\d]/g, '')
    .replace(/^0+/, '')
  return digits.length
}
