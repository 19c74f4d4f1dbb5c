// Where rows come from while models are trained: all of them in memory, or blocks of a store, a few at a time. A source
// pins groups of rows, one after the other; a method moves its models when it visits a group.
import type { Arena } from '../../numeric/arena.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import type { ThreadPool } from '../../threads/pool.ts'

/** Rows that are in memory together, and room for what a method needs with them. */
export interface RowGroup {
  /** Its turn in this pass, counted from 0. */
  group: number
  rows: number
  nonzeros: number
  /** The blocks it is made of, one after the other: their rows, and the number of the first of them in the order of the
   *  source. */
  parts: { block: number; rows: number; firstRow: number }[]
  /** True when these are all rows, in the order of the source: their dual variables are used where they lie. */
  whole: boolean
  /** Else: room for a copy of their dual variables. */
  alpha: number
  /** Addresses: u32[rows] of row records, u32[rows] for an order, and room for a PROBLEM_ and a SWEEP_ structure. */
  table: number
  /** Address of f64[rows], the weight of each row; not there when all are 1. */
  rowWeights?: number | undefined
  /** Address of u8[rows], the fold of each row, for problems that hold one out. */
  folds?: number | undefined
  order: number
  problem: number
  sweep: number
  packedBytes: number
}

/** In which order blocks come: drawn from a seed, pass by pass, or as they stand. */
export interface BlockOrder {
  seed: number
  blockOrder: 'random' | 'fixed'
}

/** What an index was asked: rows that were looked at, and what was read of it. */
export interface IndexCounts {
  rowsTouched: number
  pagesRead: number
  bytesRead: number
  /** Where most rows were looked at: the method that went on with all of them. */
  leftFor?: 'stream' | 'newton'
}

/** Blocks and bytes that were read, and bytes of blocks that a pass or a certificate left out. */
export interface SourceCounts {
  blocksRead: number
  bytesRead: number
  bytesSkipped: number
  /** Of a method that asks an index for rows. */
  index?: IndexCounts
  /** Of a source that reads: seconds of its threads, and seconds that the solver waited for them. */
  readSeconds?: number
  decodeSeconds?: number
  waitSeconds?: number
  /** The blocks that were asked for last. */
  lastBlocks?: number[]
}

export interface RowCounts {
  readonly rows: number
  readonly nonzeros: number
}

export interface RowSource {
  readonly arena: Arena
  /** Threads that methods run their loops on. */
  readonly threads: ThreadPool
  /** Rows in all, and their nonzeros. */
  readonly rows: number
  readonly nonzeros: number
  /** The same of all ranks. */
  readonly all: RowCounts
  /** Where rows come and go: how many there may be. */
  readonly mostRows?: number
  /** Bytes of each block, as it is read; one block of 0 bytes where nothing is. */
  readonly blockBytes: readonly number[]
  readonly counts: SourceCounts
  /** Room for a method, filled with zeros unless said otherwise. The same name is the same room. */
  room(name: string, bytes: ByteCount, zeroed?: boolean): Address
  /** The same for what a method can do without; undefined where the memory that was named has no room for it. Zeros once. */
  spare?(name: string, bytes: ByteCount): Address | undefined
  /** What a pass visits, group by group: all blocks, or those that are wanted. Pass −1 takes them as they stand. */
  groups(pass: number, order: BlockOrder, wanted?: number[] | null): number[][]
  /** These groups from the `first`-th on. */
  pass(groups: number[][], first?: number): AsyncGenerator<RowGroup>
}

/** Rows that there may be: as many as there are, where none come and go. */
export const mostRows = ({ rows, mostRows = rows }: RowSource): number => mostRows

/** Whether rows have to be read again for every pass. A store without a block is read, too: ranks do the same. */
export function reads({ blockBytes }: Pick<RowSource, 'blockBytes'>): boolean {
  return blockBytes.length !== 1 || blockBytes[0] > 0
}

/** Counts the bytes of blocks that are left out where only some are wanted. */
export function countSkipped({ blockBytes, counts }: RowSource, wanted: number[] | null | undefined): void {
  if (!wanted) return
  const all = blockBytes.reduce((total, bytes) => total + bytes, 0)
  counts.bytesSkipped += wanted.reduce((left, block) => left - blockBytes[block], all)
}
