// A queue of tree nodes, the nearest to what is searched first: a binary heap.
import type { PagePlace } from './page-cache.ts'

/** A node that waits to be looked at. */
export interface Bin extends PagePlace {
  /** How far it lies beyond what is searched: from 0, inside, to 1, where no row of it can be inside. */
  beyond: number
  /** Place of its first row in the order of the leaves, among the rows of its block. */
  first: number
  rows: number
}

export class BinQueue {
  readonly #heap: Bin[] = []

  get size(): number {
    return this.#heap.length
  }

  push(bin: Bin): void {
    const heap = this.#heap
    let k = heap.length
    heap.push(bin)
    while (k > 0) {
      const parent = Math.floor((k - 1) / 2)
      if (!isBefore(bin, heap[parent])) break
      heap[k] = heap[parent]
      k = parent
    }
    heap[k] = bin
  }

  pop(): Bin | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let k = 0
    for (;;) {
      let child = 2 * k + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++
      if (!isBefore(heap[child], last)) break
      heap[k] = heap[child]
      k = child
    }
    heap[k] = last
    return first
  }

  /** Rows of all nodes that wait. */
  get rows(): number {
    return this.#heap.reduce((sum, { rows }) => sum + rows, 0)
  }
}

/** Ties go to neither end of a file, so that rows of all classes come, and yet in the same way every time. */
function isBefore(a: Bin, b: Bin): boolean {
  return a.beyond < b.beyond || (a.beyond === b.beyond && scrambled(a.page) < scrambled(b.page))
}

const GOLDEN = 0.6180339887498949

function scrambled(page: number): number {
  return (page * GOLDEN) % 1
}
