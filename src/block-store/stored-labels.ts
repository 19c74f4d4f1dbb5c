// Labels in blocks and in the manifest. Blocks hold a number for each row: the label, or the code of a label of text. The
// manifest has the texts, and the order in which the store numbers its labels.
import { SpillwayError } from '../errors.ts'
import { LabelNumbers } from '../input-formats/label-numbers.ts'
import { type Label, type LabelKey, labelCode, labelKey } from '../labels.ts'
import type { Arena } from '../numeric/arena.ts'

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

  constructor(arena: Arena, labels: readonly Label[]) {
    this.#arena = arena
    this.#numbers = new LabelNumbers(arena)
    this.#numberOf = new Map(labels.map((label, k) => [storedKey(label), k]))
  }

  /** Numbers the labels of a decoded batch: the address of u32[rows], and whether each is listed. */
  numbersOf(batch: number, rows: number): { at: number; listed: boolean } {
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
}

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
