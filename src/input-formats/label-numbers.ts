// Labels to class numbers, in order of appearance. One thread numbers the labels of a chunk; mergeLabels makes one
// numbering of many chunks, in the order of the chunks.

import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { Address } from '../sizes.ts'
import { type Label, type LabelKey, labelKey } from './labels.ts'

export interface LabelCount extends Label {
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
  #byKey = new Map<LabelKey, number>()

  constructor(arena: Arena) {
    this.#arena = arena
  }

  /** Begins a chunk. */
  start(): void {
    this.labels = []
    this.#byKey.clear()
  }

  #makeRoom(rows: number): void {
    if (rows <= this.#room) return
    this.#room = rows + Math.floor(rows / 2)
    this.#slots = 2 ** Math.ceil(Math.log2(this.#room * 2 + 2))
    this.#codes = this.#arena.allocate(this.#room * 8, 'label numbers')
    this.#firsts = this.#codes + this.#room * 4
    this.#table = this.#arena.allocateZeroed(this.#slots * 4, 'label numbers')
  }

  /** Numbers the labels of a batch that a parser made; the address of its class numbers. */
  add(batch: Address, rows: number, textOf: (row: number) => string): Address {
    const { labels, labelAt } = new BatchFields(this.#arena, batch)
    return this.#number(labels, rows, labelAt, textOf)
  }

  /** Numbers the labels of a batch from a store, which knows no texts: a label of text has its code in place of it. */
  addStored(batch: Address, rows: number): Address {
    const arena = this.#arena
    const { labels } = new BatchFields(arena, batch)
    return this.#number(labels, rows, 0, row => {
      const value = arena.f64(labels, rows)[row]
      if (!Number.isNaN(value)) return String(value)
      const [low, high] = arena.u32(labels + row * 8, 2)
      return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
    })
  }

  #number(labels: Address, rows: number, labelAt: Address, textOf: (row: number) => string): Address {
    const arena = this.#arena
    this.#makeRoom(rows)
    const found = arena.numeric.numberLabels(labels, rows, this.#codes, this.#firsts, this.#table, this.#slots, labelAt)
    const values = arena.f64(labels, rows)
    const firsts = arena.u32(this.#firsts, found)
    const codes = arena.u32(this.#codes, rows)
    const map = new Uint32Array(found)
    let same = true
    for (let k = 0; k < found; k++) {
      const number = values[firsts[k]] + 0
      const value = Number.isNaN(number) ? null : number
      const key = value ?? textOf(firsts[k])
      let place = this.#byKey.get(key)
      if (place === undefined) {
        place = this.labels.push({ value, text: value === null ? (key as string) : textOf(firsts[k]), rows: 0 }) - 1
        this.#byKey.set(key, place)
      }
      map[k] = place
      same &&= place === k
    }
    if (!same) for (let r = 0; r < rows; r++) codes[r] = map[codes[r]]
    for (let r = 0; r < rows; r++) this.labels[codes[r]].rows++
    return this.#codes
  }
}

/** One numbering for all chunks: enters a chunk's labels and returns the map from its numbers, or undefined when none changes. */
export function mergeLabels(
  all: LabelCount[],
  byKey: Map<LabelKey, number>,
  chunk: LabelCount[],
): Uint32Array | undefined {
  const map = new Uint32Array(chunk.length)
  let same = true
  chunk.forEach((label, k) => {
    const key = labelKey(label)
    let number = byKey.get(key)
    if (number === undefined) {
      number = all.push({ ...label, rows: 0 }) - 1
      byKey.set(key, number)
    }
    all[number].rows += label.rows
    map[k] = number
    same &&= number === k
  })
  return same ? undefined : map
}
