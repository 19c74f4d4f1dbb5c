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
  hasNames: boolean
}

/** Makes one numbering of all ranks' classes and features; `rows` stay those of this rank. */
export async function agreeOnRows(
  arena: Arena,
  ranks: Communicator,
  rows: RowSet,
  { badRows, cutShort, room }: Pick<AllRows, 'badRows' | 'cutShort' | 'room'>,
): Promise<AllRows> {
  const { nonzeros, fingerprint, sources, features, format, indexBase, names } = rows
  const own: AllRows = { rows: rows.rows, nonzeros, fingerprint, sources, badRows, cutShort, room }
  if (ranks.size === 1) return own
  const labels = rows.labels.map(({ value, text, rows }) => ({ value: value === null ? null : `${value}`, text, rows }))
  const mine: Told = { ...own, labels, features, format, indexBase, hasNames: names !== undefined }
  const told = await gatherRecords(ranks, mine)
  refuseDifferent(told)
  rows.labels = relabel(arena, rows, told, ranks.rank)
  rows.features = Math.max(...told.map(one => one.features))
  rows.weights = rows.features
  const readers = told.filter(one => one.rows > 0)
  rows.format = (readers[0] ?? told[0]).format
  rows.indexBase = (readers[0] ?? told[0]).indexBase
  const sum = (pick: (one: Told) => number): number => told.reduce((total, one) => total + pick(one), 0)
  return {
    rows: sum(one => one.rows),
    nonzeros: sum(one => one.nonzeros),
    fingerprint: hashOf(
      arena,
      told.map(one => BigInt(one.fingerprint.replace('xxh64:', '0x'))),
    ),
    sources: mergeSources(told),
    badRows: sum(one => one.badRows),
    cutShort: told.some(one => one.cutShort),
    room: Math.min(...told.map(one => one.room)),
  }
}

/** Gives this rank's rows the class numbers of all ranks, and says what those are. */
function relabel(arena: Arena, { table, rows }: RowSet, told: Told[], rank: number): LabelCount[] {
  const all: LabelCount[] = []
  const byKey = new Map<LabelKey, number>()
  for (const [k, { labels }] of told.entries()) {
    const counts = labels.map(({ value, ...label }) => ({ ...label, value: value === null ? null : Number(value) }))
    const map = mergeLabels(all, byKey, counts)
    if (k !== rank || !map) continue
    const mark = arena.mark()
    const at = arena.allocate(map.length * 4, 'class numbers')
    arena.u32(at, map.length).set(map)
    arena.numeric.relabelRows(table, rows, at)
    arena.release(mark)
  }
  return all
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
    if (one.hasNames) {
      throw new SpillwayError(
        'names of hashed features are not kept over several ranks',
        'leave out --keep-names, or train on one rank',
      )
    }
  }
}
