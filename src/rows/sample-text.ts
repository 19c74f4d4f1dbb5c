// What rows become in memory, judged by samples of the data: whether they fit, and how many blocks they are to be drawn into, has
// to be known before they are read. Rows of numbers take about as much as their text; letters take more, and so do rows that are
// expanded. Of formats that are no text nobody knows.
import { Expander, piecesOf } from '../features/expander.ts'
import { fitFor, parseExpansion } from '../features/expansion-steps.ts'
import { Chunks } from '../input-formats/chunks.ts'
import { statInput } from '../input-formats/file-part.ts'
import type { InputFormat } from '../input-formats/input-format.ts'
import { type LabelKey, labelKey } from '../input-formats/labels.ts'
import { Reading } from '../input-formats/reading.ts'
import { Arena } from '../numeric/arena.ts'
import type { Schema } from '../tables/schema.ts'
import { rowsOfChunk } from './chunk-task.ts'
import { TakenFeatures, usedFeatures } from './used-features.ts'

/** How the data is read and what is made of its rows. */
export interface SampleOptions {
  format: string
  indexBase?: number
  expand?: string | undefined
  values: 'f32' | 'f64'
  /** Of tables. */
  schema?: Schema | undefined
}

export interface TextSample {
  format: InputFormat
  /** For every byte of text; entries after an expansion. */
  rows: number
  entries: number
  /** Features as far as the sample shows, after an expansion. */
  features: number
}

/** Small, for its memory comes back only when the system feels like it. */
const SAMPLE_BYTES = 1 << 16
/** Pieces of plain text that an estimate looks at, all over it, and the bytes of each: rows of 100 kB are no rarity. */
const PIECES = 16
const PIECE_BYTES = 1 << 19
/** Entries whose features are counted, of a piece. */
const MOST_COUNTED = 1 << 15

/** Whether the size of the data does not tell the size of its rows: letters take more than their text, and data that is no text
 *  may be compressed. */
export function outgrowsText({ letters, cut }: InputFormat): boolean {
  return letters || cut.by !== 'lines'
}

/** Looks at the first rows of a file. Undefined when there are none to show, and when the size of the text says it all:
 *  numbers that are not expanded. */
export async function sampleText(path: string, options: SampleOptions): Promise<TextSample | undefined> {
  // What is read of a pipe is gone.
  if (!(await statInput(path))?.isFile()) return undefined
  const { expand } = options
  const wanted = (format: InputFormat): boolean => expand !== undefined || outgrowsText(format)
  const { format, rows, bytes, entries, features } = await countRows([{ path, at: 0 }], SAMPLE_BYTES, options, wanted)
  if (rows === 0) return undefined
  return {
    format,
    rows: rows / bytes,
    entries: entries / bytes,
    features: expand === undefined ? features : parseExpansion(expand).features(features),
  }
}

/** What a whole text holds, by samples from all over it. */
export interface TextEstimate {
  format: string
  letters: boolean
  rows: number
  /** Before and after an expansion. */
  nonzeros: number
  entries: number
  /** One more than the largest feature number that the samples have, before an expansion. */
  features: number
  /** Features that occur, after an expansion: those that the samples have, at least about so many, and hardly more than so many. */
  usedSeen: number
  usedLeast: number
  usedMost: number
  /** Stretches of 65,536 feature numbers that the samples have one of, after an expansion. */
  pages: number
  classes: number
  /** What expanding takes. */
  expanderBytes: number
}

/** Estimates that are remembered: a run asks for one several times, and plans are made again and again. */
const MOST_ESTIMATES = 8
const estimates = new Map<string, Promise<TextEstimate | undefined>>()
/** Schemas may be large: one is known by its number. */
const schemaNumbers = new WeakMap<Schema, number>()
let schemas = 0

/** Looks at rows all over the files, or at the first ones where text is compressed or to be expanded. `text` is the length
 *  of it all. Undefined when there are no rows to show. */
export async function estimateText(
  paths: string[],
  text: number,
  options: SampleOptions,
): Promise<TextEstimate | undefined> {
  const { format, indexBase, expand, values, schema } = options
  if (schema && !schemaNumbers.has(schema)) schemaNumbers.set(schema, ++schemas)
  const facts = await Promise.all(paths.map(statInput))
  const versions = facts.map((found, k) => [paths[k], found?.size, found?.mtimeMs])
  const key = JSON.stringify([versions, text, format, indexBase, expand, values, schema && schemaNumbers.get(schema)])
  let estimate = estimates.get(key)
  if (!estimate) {
    estimate = lookAllOver(paths, text, options)
    estimates.set(key, estimate)
    estimate.catch(() => estimates.delete(key))
    if (estimates.size > MOST_ESTIMATES) estimates.delete(estimates.keys().next().value!)
  }
  return estimate
}

async function lookAllOver(paths: string[], text: number, options: SampleOptions): Promise<TextEstimate | undefined> {
  const sizes: number[] = []
  for (const path of paths) sizes.push((await statInput(path))?.size ?? 0)
  const all = sizes.reduce((sum, size) => sum + size, 0)
  const expanded = options.expand !== undefined
  const pieces = expanded ? 1 : Math.min(PIECES, Math.max(1, Math.floor(all / (2 * PIECE_BYTES))))
  const places = Array.from({ length: pieces }, (_, piece) => {
    let at = Math.floor((piece * Math.max(0, all - PIECE_BYTES)) / Math.max(1, pieces - 1))
    let file = 0
    while (at >= sizes[file] && file < paths.length - 1) at -= sizes[file++]
    return { path: paths[file], at }
  })
  const found = await countRows(places, expanded ? SAMPLE_BYTES : PIECE_BYTES, options)
  const { rows, bytes, nonzeros, entries, features, classes, expanderBytes, format, taken } = found
  if (rows === 0) return undefined
  const allRows = Math.ceil((text * rows) / bytes)
  const used = usedFeatures(taken, allRows)
  return {
    format: format.name,
    letters: format.letters,
    rows: allRows,
    nonzeros: Math.ceil((text * nonzeros) / bytes),
    entries: Math.ceil((text * entries) / bytes),
    features,
    usedSeen: used.seen,
    usedLeast: Math.min(used.least, (text * entries) / bytes),
    usedMost: Math.min(used.most, (text * entries) / bytes),
    pages: new Set(taken.features.map(feature => feature >>> 16)).size,
    classes,
    expanderBytes,
  }
}

/** Reads rows here and there, and counts: whole rows of a file from about a byte on, or from its beginning, where nothing else can
 *  be read. Nothing is counted of a format that is not wanted. */
async function countRows(
  places: { path: string; at: number }[],
  chunkBytes: number,
  { format, indexBase, expand, values, schema }: SampleOptions,
  wanted: (format: InputFormat) => boolean = () => true,
) {
  const arena = new Arena()
  const context = { arena, kept: new Map() }
  const reading = new Reading(format, indexBase, fitFor(expand))
  const chunks = new Chunks(arena, reading, chunkBytes, 1, { schema })
  const expander = expand === undefined ? undefined : new Expander(arena, expand)
  const labels = new Set<LabelKey>()
  const taken = new TakenFeatures(places.length, MOST_COUNTED)
  const total = { rows: 0, bytes: 0, nonzeros: 0, entries: 0, features: 0 }
  for (const { path, at } of places) {
    const chunk = await chunks.sample(path, at)
    if (!chunk) continue
    if (!wanted(reading.format)) break
    const valueBits = values === 'f64' ? 64 : 32
    const parse = { indexBase: chunk.indexBase, skipBad: true, valueBits } as const
    const rows = await rowsOfChunk(context, { ...chunk, parse })
    taken.startPiece()
    for (const batch of rows.batches()) {
      rows.classes(batch)
      for (const piece of piecesOf(arena, batch.batch, expander)) {
        total.entries += piece.nonzeros
        taken.add(arena, piece.batch, piece.rows)
      }
    }
    const found = rows.account()
    for (const label of found.labels) labels.add(labelKey(label))
    total.rows += found.rows
    total.nonzeros += found.nonzeros
    total.features = Math.max(total.features, found.features)
    total.bytes += chunk.bytes
    chunk.release()
    // Chunks that a format plans may be large: a few of them are enough.
    if (total.bytes >= PIECES * PIECE_BYTES) break
  }
  return { ...total, format: reading.format, classes: labels.size, expanderBytes: expander?.bytes ?? 0, taken }
}
