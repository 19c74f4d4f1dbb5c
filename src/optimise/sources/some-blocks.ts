// Some blocks of a store as a source of their own. Rows are drawn into blocks at random, so those of some blocks are a sample
// of all.
import { drawFrom, drawSome } from '../../numeric/draw.ts'
import type { BlockEngine } from './block-engine.ts'
import type { BlockOrder, RowGroup, RowSource } from './row-source.ts'

/** Blocks, drawn from a seed, that have at least so many rows together; undefined when it takes all of them. */
export function drawBlocks({ store }: BlockEngine, rows: number, seed: number): number[] | undefined {
  const { blocks } = store.manifest
  const drawn: number[] = []
  let found = 0
  for (const block of drawSome(blocks.length, blocks.length, seed)) {
    if (found >= rows) return drawn.sort((a, b) => a - b)
    drawn.push(block)
    found += blocks[block].rows
  }
  return undefined
}

export class SomeBlocks implements RowSource {
  readonly rows: number
  readonly nonzeros: number
  readonly #engine: BlockEngine
  readonly #blocks: number[]

  constructor(engine: BlockEngine, blocks: number[]) {
    this.#engine = engine
    this.#blocks = blocks
    const of = (field: 'rows' | 'nonzeros'): number =>
      blocks.reduce((sum, block) => sum + engine.store.manifest.blocks[block][field], 0)
    this.rows = of('rows')
    this.nonzeros = of('nonzeros')
  }

  get all(): RowSource['all'] {
    return this
  }

  get arena() {
    return this.#engine.arena
  }

  get threads() {
    return this.#engine.threads
  }

  get blockBytes(): readonly number[] {
    return this.#engine.blockBytes
  }

  get counts() {
    return this.#engine.counts
  }

  room(...room: Parameters<RowSource['room']>): number {
    return this.#engine.room(...room)
  }

  groups(pass: number, order: BlockOrder, wanted?: number[] | null): number[][] {
    return this.#engine.groups(pass, order, wanted ?? this.#ordered(pass, order))
  }

  /** In a random order that is another one for each pass, as all blocks are: dual variables settle in fewer passes. */
  #ordered(pass: number, { seed, blockOrder }: BlockOrder): number[] {
    if (pass < 0 || blockOrder === 'fixed') return this.#blocks
    const { length } = this.#blocks
    const drawn = drawSome(length, length, Number(drawFrom([seed, pass]) % 2n ** 32n))
    return Array.from(drawn, k => this.#blocks[k])
  }

  pass(groups: number[][], first?: number): AsyncGenerator<RowGroup> {
    return this.#engine.pass(groups, first)
  }
}
