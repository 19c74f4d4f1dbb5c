// Labels to class numbers, in order of appearance. One thread numbers the labels of a chunk; mergeLabels makes one
// numbering of many chunks, in the order of the chunks.
import type { Arena } from '../numeric/arena.ts'

export interface LabelCount {
  value: number
  /** As the user wrote it where it was first met. */
  text: string
  rows: number
}

export class LabelNumbers {
  labels: LabelCount[] = []
  readonly #arena: Arena
  #room = 0
  #codes = 0
  #firsts = 0
  #table = 0
  #slots = 0
  #byValue = new Map<number, number>()

  constructor(arena: Arena) {
    this.#arena = arena
  }

  /** Begins a chunk. */
  start(): void {
    this.labels = []
    this.#byValue.clear()
  }

  #makeRoom(rows: number): void {
    if (rows <= this.#room) return
    this.#room = rows + (rows >> 1)
    this.#slots = 1 << Math.ceil(Math.log2(this.#room * 2 + 2))
    this.#codes = this.#arena.allocate(this.#room * 8, 'label numbers')
    this.#firsts = this.#codes + this.#room * 4
    this.#table = this.#arena.allocateZeroed(this.#slots * 4, 'label numbers')
  }

  /** Numbers a batch's labels (f64 at an address); the address of its class numbers. */
  add(labels: number, rows: number, textOf: (row: number) => string): number {
    const arena = this.#arena
    this.#makeRoom(rows)
    const found = arena.numeric.numberLabels(labels, rows, this.#codes, this.#firsts, this.#table, this.#slots)
    const values = arena.f64(labels, rows)
    const firsts = arena.u32(this.#firsts, found)
    const codes = arena.u32(this.#codes, rows)
    const map = new Uint32Array(found)
    let same = true
    for (let k = 0; k < found; k++) {
      const value = values[firsts[k]] + 0
      let number = this.#byValue.get(value)
      if (number === undefined) {
        number = this.labels.push({ value, text: textOf(firsts[k]), rows: 0 }) - 1
        this.#byValue.set(value, number)
      }
      map[k] = number
      same &&= number === k
    }
    if (!same) for (let r = 0; r < rows; r++) codes[r] = map[codes[r]]
    for (let r = 0; r < rows; r++) this.labels[codes[r]].rows++
    return this.#codes
  }
}

/** One numbering for all chunks: enters a chunk's labels and returns the map from its numbers, or undefined when none changes. */
export function mergeLabels(
  all: LabelCount[],
  byValue: Map<number, number>,
  chunk: LabelCount[],
): Uint32Array | undefined {
  const map = new Uint32Array(chunk.length)
  let same = true
  chunk.forEach((label, k) => {
    let number = byValue.get(label.value)
    if (number === undefined) {
      number = all.push({ ...label, rows: 0 }) - 1
      byValue.set(label.value, number)
    }
    all[number].rows += label.rows
    map[k] = number
    same &&= number === k
  })
  return same ? undefined : map
}
