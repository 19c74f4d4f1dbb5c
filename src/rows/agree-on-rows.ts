// What ranks agree on once each has read its rows: classes, numbered as one process would number them that reads the parts one
// after the other; the number of features; and how many rows there are in all.
import { SpillwayError } from '../errors.ts'
import { type LabelCount, mergeLabels } from '../input-formats/label-numbers.ts'
import type { LabelKey } from '../input-formats/labels.ts'
import type { Arena } from '../numeric/arena.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { gatherRecords } from '../ranks/records.ts'
import { hashOf } from './load-rows.ts'
import type { RowSet } from './row-set.ts'

/** Of the rows of all ranks. */
export interface AllRows extends Pick<RowSet, 'rows' | 'nonzeros' | 'fingerprint' | 'sources'> {
  /** Rows that could not be read. */
  badRows: number
  /** Whether a rank was interrupted while it read. */
  cutShort: boolean
  /** Bytes that models may take besides the rows, on the rank that has the least. */
  room: number
}

/** Of one rank. A label's value is text, for JSON knows no infinities. */
interface Told extends AllRows {
  labels: { value: string | null; text: string; rows: number }[]
  features: number
  format: string
  indexBase: number
}

/** What a rank tells of its rows, in memory or in a store. */
export type OwnRows = AllRows & Pick<RowSet, 'features' | 'format' | 'indexBase'> & { labels: LabelCount[] }

/** What ranks have agreed on. */
export interface Agreed {
  all: AllRows
  /** Of all ranks' rows, in the order of their new numbers. */
  labels: LabelCount[]
  /** From this rank's own numbers of classes to the new ones; undefined where they are the same. */
  classNumbers: Uint32Array | undefined
  features: number
  format: string
  indexBase: number
}

/** Makes one numbering of all ranks' classes and features. */
export async function agreeOnFacts(arena: Arena, ranks: Communicator, own: OwnRows): Promise<Agreed> {
  const labels = own.labels.map(({ value, text, rows }) => ({ value: value === null ? null : `${value}`, text, rows }))
  const told = await gatherRecords<Told>(ranks, { ...own, labels })
  refuseDifferent(told)
  const readers = told.filter(one => one.rows > 0)
  const { format, indexBase } = readers[0] ?? told[0]
  const sum = (pick: (one: Told) => number): number => told.reduce((total, one) => total + pick(one), 0)
  const hashes = told.map(one => BigInt(one.fingerprint.replace('xxh64:', '0x')))
  return {
    ...numbered(told, ranks.rank),
    ...{ format, indexBase, features: Math.max(...told.map(one => one.features)) },
    all: {
      rows: sum(one => one.rows),
      nonzeros: sum(one => one.nonzeros),
      fingerprint: hashOf(arena, hashes),
      sources: mergeSources(told),
      badRows: sum(one => one.badRows),
      cutShort: told.some(one => one.cutShort),
      room: Math.min(...told.map(one => one.room)),
    },
  }
}

/** The same of rows in memory, which get the new numbers; `rows` stay those of this rank. */
export async function agreeOnRows(
  arena: Arena,
  ranks: Communicator,
  rows: RowSet,
  { badRows, cutShort, room }: Pick<AllRows, 'badRows' | 'cutShort' | 'room'>,
): Promise<AllRows> {
  const { nonzeros, fingerprint, sources, features, format, indexBase } = rows
  const own: AllRows = { rows: rows.rows, nonzeros, fingerprint, sources, badRows, cutShort, room }
  if (ranks.size === 1) return own
  const told = { ...own, labels: rows.labels, features, format, indexBase }
  const { all, labels, classNumbers, ...agreed } = await agreeOnFacts(arena, ranks, told)
  if (classNumbers) relabel(arena, rows, classNumbers)
  Object.assign(rows, { labels, ...agreed, weights: agreed.features })
  return all
}

/** The labels of all ranks, and the numbers that this rank's own get. */
function numbered(told: Told[], rank: number): Pick<Agreed, 'labels' | 'classNumbers'> {
  const all: LabelCount[] = []
  const byKey = new Map<LabelKey, number>()
  const maps = told.map(({ labels }) =>
    mergeLabels(
      all,
      byKey,
      labels.map(({ value, ...label }) => ({ ...label, value: value === null ? null : Number(value) })),
    ),
  )
  return { labels: all, classNumbers: maps[rank] }
}

/** Gives rows new class numbers. */
function relabel(arena: Arena, { table, rows }: RowSet, numbers: Uint32Array): void {
  const mark = arena.mark()
  const at = arena.allocate(numbers.length * 4, 'class numbers')
  arena.u32(at, numbers.length).set(numbers)
  arena.numeric.relabelRows(table, rows, at)
  arena.release(mark)
}

/** Parts of one file are one source. */
function mergeSources(told: Told[]): RowSet['sources'] {
  const rowsOf = new Map<string, number>()
  for (const { name, rows } of told.flatMap(({ sources }) => sources)) rowsOf.set(name, (rowsOf.get(name) ?? 0) + rows)
  return [...rowsOf].map(([name, rows]) => ({ name, rows }))
}

/** A rank without rows has read nothing that could differ. */
function refuseDifferent(told: Told[]): void {
  const readers = [...told.entries()].filter(([, { rows }]) => rows > 0)
  for (const [rank, one] of readers) {
    const [first, other] = readers[0]
    if (one.format !== other.format) {
      throw new SpillwayError(
        `rank ${first} reads ${other.format} and rank ${rank} reads ${one.format}`,
        'ranks train on one data set: say what it is with --format',
      )
    }
    if (one.indexBase !== other.indexBase) {
      throw new SpillwayError(
        `rank ${first} counts features from ${other.indexBase} and rank ${rank} from ${one.indexBase}`,
        'ranks train on one data set: say where it counts from with --index-base',
      )
    }
  }
}
