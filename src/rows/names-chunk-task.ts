// One chunk of data to the names of its hashed features, those that are wanted.
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { TextRoom } from '../input-formats/decoded-table.ts'
import type { Arena } from '../numeric/arena.ts'
import { type MeetName, namesInTable } from '../tables/hashed-names.ts'
import type { MatchedText } from '../tables/match-columns.ts'
import type { HashedColumn } from '../tables/schema.ts'
import { declareTask, keep, type TaskContext } from '../threads/task.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from './chunk-task.ts'

export interface NamesChunkOptions extends ChunkToParse {
  /** Of each column of the schema, what hashes it; undefined where the data is no table. */
  columns?: (HashedColumn | undefined)[] | undefined
  /** Address of a bit for each feature whose names are wanted, and how many there are; 0 where all are. */
  wanted: { at: number; features: number }
}

/** Features and their names, as they were first met. */
export interface NamesOfChunk extends ParsedChunk {
  features: number
  found: { feature: number; names: string[] }[]
}

export const namesChunkTask = declareTask(import.meta.url, 'names-of-chunk', namesOfChunk)

/** Names of one feature, at most. */
export const MOST_OF_ONE = 8
/** Letters of a name, at most. */
const LONGEST_NAME = 200

async function namesOfChunk(context: TaskContext, options: NamesChunkOptions): Promise<NamesOfChunk> {
  const { arena } = context
  // Parsing tells which rows are bad, in the words of every other reading.
  const chunk = await rowsOfChunk(context, options)
  for (const _ of chunk.batches());
  const found = new Map<number, string[]>()
  await meetNames(context, options, (feature, name) => {
    if (!isWanted(arena, options.wanted, feature)) return
    const names = found.get(feature) ?? []
    const short = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name
    if (names.length >= MOST_OF_ONE || names.includes(short)) return
    found.set(feature, [...names, short])
  })
  return { ...chunk.account(), found: [...found].map(([feature, names]) => ({ feature, names })) }
}

function isWanted(arena: Arena, { at, features }: NamesChunkOptions['wanted'], feature: number): boolean {
  if (at === 0) return true
  if (feature >= features) return false
  const bits = arena.bytes(at + Math.floor(feature / 8), 1)[0]
  return Math.floor(bits / 2 ** (feature % 8)) % 2 === 1
}

async function meetNames(context: TaskContext, options: NamesChunkOptions, meet: MeetName): Promise<void> {
  const { arena } = context
  const format = findInputFormat(options.format.name)
  const { columns } = options
  if (!columns) {
    format.namesIn?.(arena.bytes(options.at, options.bytes).slice(), meet)
    return
  }
  const { cut } = format
  const room = keep(context, 'text of names', () => new TextRoom(arena))
  const text = cut.by === 'plan' && cut.tables ? await room.decode(cut.tables, options) : options
  const { order, delimiter, headerBytes } = options.about as MatchedText
  namesInTable(
    {
      text: arena.bytes(text.at, text.bytes).slice(),
      delimiter,
      headerBytes: text.first ? headerBytes : 0,
      columns: order.map(place => columns[place]),
    },
    meet,
  )
}
