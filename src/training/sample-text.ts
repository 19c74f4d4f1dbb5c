// What rows of text become in memory, judged by the beginning of the text: whether they fit, and how many blocks they are to
// be drawn into, has to be known before they are read. Rows of numbers take about as much as their text; letters take more,
// and so do rows that are expanded.
import { stat } from 'node:fs/promises'
import { Expander, piecesOf } from '../features/expander.ts'
import { parseExpansion } from '../features/expansion-steps.ts'
import { openSource } from '../input-formats/byte-source.ts'
import { CHUNK_SLACK } from '../input-formats/line-chunks.ts'
import { Reading } from '../input-formats/reading.ts'
import { Arena } from '../numeric/arena.ts'
import { ROW_BOUND } from '../numeric/layouts.ts'
import { entryBytes } from './memory-plan.ts'
import type { ResolvedOptions } from './options.ts'

export interface TextSample {
  /** Bytes of row records, and entries, for every byte of text. */
  recordBytes: number
  entries: number
  /** Features as far as the sample shows, after an expansion. */
  features: number
}

/** Small, for its memory comes back only when the system feels like it. */
const SAMPLE_BYTES = 1 << 16
const LINE_FEED = 10

/** Looks at the first rows of a file. Undefined when there are none to show, and when the size of the text says it all:
 *  numbers that are not expanded. */
export async function sampleText(path: string, options: ResolvedOptions): Promise<TextSample | undefined> {
  // What is read of a pipe is gone.
  if (path === '-' || !(await stat(path).catch(() => undefined))?.isFile()) return undefined
  const { expand } = options
  const reading = new Reading(options.format, options.indexBase, expand)
  const arena = new Arena()
  const at = arena.allocate(SAMPLE_BYTES + CHUNK_SLACK, 'a sample of the text')
  const text = arena.bytes(at, SAMPLE_BYTES)
  const source = await openSource(path)
  const filled = await source.read(text).finally(() => source.close())
  // Without its line feed the last line of a short file is left out: a sample need not have all rows.
  const bytes = text.subarray(0, filled).lastIndexOf(LINE_FEED) + 1
  const { indexBase } = reading.look(text.subarray(0, bytes))
  if (bytes === 0 || (expand === undefined && !reading.format.letters)) return undefined
  const valueBits = options.values === 'f64' ? (64 as const) : (32 as const)
  const parser = reading.format.newParser(arena)
  const expander = expand === undefined ? undefined : new Expander(arena, expand)
  let [rows, entries, features] = [0, 0, 0]
  for (const batch of parser.parse(at, bytes, { indexBase, skipBad: true, valueBits })) {
    for (const piece of piecesOf(arena, batch.batch, expander)) entries += piece.nonzeros
    rows += batch.rows
    features = Math.max(features, batch.features)
  }
  if (rows === 0) return undefined
  return {
    recordBytes: (rows * ROW_BOUND + entries * entryBytes(valueBits, reading.format, expand)) / bytes,
    entries: entries / bytes,
    features: expand === undefined ? features : parseExpansion(expand).features(features),
  }
}
