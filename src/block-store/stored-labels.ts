// Labels in blocks and in the manifest. Blocks hold a number for each row: the label, or the code of a label of text. The
// manifest has the texts, and the order in which the store numbers its labels.
import { SpillwayError } from '../errors.ts'
import { LabelNumbers } from '../input-formats/label-numbers.ts'
import { type Label, type LabelKey, labelCode, labelKey } from '../input-formats/labels.ts'
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { Address } from '../sizes.ts'

/** The number of a label that the manifest does not list. */
export const UNLISTED = 0xffff_ffff

/** What a label goes by in blocks. */
export function storedKey(label: Label): LabelKey {
  return label.value ?? labelCode(label.text)
}

export function unlistedLabel(where: string): SpillwayError {
  return new SpillwayError(`${where} has a label that the manifest does not list`)
}

/** Gives rows of blocks the store's own numbers of their labels. */
export class StoredLabels {
  readonly #arena: Arena
  readonly #numbers: LabelNumbers
  readonly #numberOf: Map<LabelKey, number>
  readonly #few: number

  /** `numbers`: others than the store's own. */
  constructor(arena: Arena, labels: readonly Label[], numbers?: readonly number[]) {
    this.#arena = arena
    this.#numbers = new LabelNumbers(arena)
    this.#numberOf = new Map(labels.map((label, k) => [storedKey(label), numbers?.[k] ?? k]))
    this.#few = arena.allocate(FEW_ROWS * 4, 'label numbers')
  }

  /** Numbers the labels of a decoded batch: the address of u32[rows], and whether each is listed. */
  numbersOf(batch: Address, rows: number): { at: Address; listed: boolean } {
    if (rows <= FEW_ROWS) return this.#numbersOfFew(batch, rows)
    const numbers = this.#numbers
    numbers.start()
    const at = numbers.addStored(batch, rows)
    const map = numbers.labels.map(label => this.#numberOf.get(labelKey(label)) ?? UNLISTED)
    if (map.some((number, k) => number !== k)) {
      const classes = this.#arena.u32(at, rows)
      for (let r = 0; r < rows; r++) classes[r] = map[classes[r]]
    }
    return { at, listed: !map.includes(UNLISTED) }
  }

  /** One by one, without an object for every label that there is: segments of many small blocks have a row or two. */
  #numbersOfFew(batch: Address, rows: number): { at: Address; listed: boolean } {
    const arena = this.#arena
    const { labels } = new BatchFields(arena, batch)
    const values = arena.f64(labels, rows)
    const out = arena.u32(this.#few, rows)
    let listed = true
    for (let r = 0; r < rows; r++) {
      const value = values[r]
      // Codes of texts are no numbers.
      const key = Number.isNaN(value) ? codeAt(arena, labels + r * 8) : value
      const number = this.#numberOf.get(key)
      if (number === undefined) listed = false
      out[r] = number ?? UNLISTED
    }
    return { at: this.#few, listed }
  }
}

function codeAt(arena: Arena, at: Address): string {
  const [low, high] = arena.u32(at, 2)
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}

/** Rows of a segment that is numbered row by row. */
const FEW_ROWS = 64

/** Sees to it that no two labels of a store share a code: blocks could not tell them apart. */
export class LabelCodes {
  readonly #texts = new Map<string, string>()
  #seen = 0

  /** Looks at the labels that have joined since the last look: what is wrong with them, or undefined. */
  complaint(labels: readonly Label[]): string | undefined {
    for (; this.#seen < labels.length; this.#seen++) {
      const { value, text } = labels[this.#seen]
      if (value !== null) continue
      const code = labelCode(text)
      const other = this.#texts.get(code)
      if (other !== undefined) {
        return `the labels ${JSON.stringify(other)} and ${JSON.stringify(text)} have the same code (${code}): a store cannot tell them apart`
      }
      this.#texts.set(code, text)
    }
    return undefined
  }
}
