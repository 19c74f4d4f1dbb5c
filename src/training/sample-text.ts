// What rows of text become once they are expanded, judged by the beginning of the text: whether they fit in memory, and how
// many blocks they are to be drawn into, has to be known before they are read.
import { Expander } from '../features/expander.ts'
import { parseExpansion } from '../features/expansion-steps.ts'
import { openSource } from '../input-formats/byte-source.ts'
import { CHUNK_SLACK } from '../input-formats/line-chunks.ts'
import { Reading } from '../input-formats/reading.ts'
import { Arena } from '../numeric/arena.ts'
import { ROW_BOUND } from '../numeric/layouts.ts'
import type { ResolvedOptions } from './options.ts'

export interface TextSample {
  /** Bytes of row records, and entries, for every byte of text. */
  recordBytes: number
  entries: number
  /** Features after the expansion, as far as the sample shows. */
  features: number
}

/** Small, for its memory comes back only when the system feels like it. */
const SAMPLE_BYTES = 1 << 16
const LINE_FEED = 10

/** Looks at the first rows of a file; undefined when it has none to show. */
export async function sampleText(path: string, options: ResolvedOptions): Promise<TextSample | undefined> {
  const expand = options.expand!
  const reading = new Reading(options.format, options.indexBase, expand)
  const arena = new Arena()
  const at = arena.allocate(SAMPLE_BYTES + CHUNK_SLACK, 'a sample of the text')
  const text = arena.bytes(at, SAMPLE_BYTES)
  const source = await openSource(path)
  const filled = await source.read(text).finally(() => source.close())
  // Without its line feed the last line of a short file is left out: a sample need not have all rows.
  const bytes = text.subarray(0, filled).lastIndexOf(LINE_FEED) + 1
  if (bytes === 0) return undefined
  const valueBits = options.values === 'f64' ? (64 as const) : (32 as const)
  const { indexBase } = reading.look(text.subarray(0, bytes))
  const parser = reading.format.newParser(arena)
  const expander = new Expander(arena, expand)
  let [rows, entries, features] = [0, 0, 0]
  for (const batch of parser.parse(at, bytes, { indexBase, skipBad: true, valueBits })) {
    for (const piece of expander.expand(batch.batch)) entries += piece.nonzeros
    rows += batch.rows
    features = Math.max(features, batch.features)
  }
  if (rows === 0) return undefined
  const steps = parseExpansion(expand)
  return {
    recordBytes: (rows * ROW_BOUND + entries * steps.entryBytes(valueBits)) / bytes,
    entries: entries / bytes,
    features: steps.features(features),
  }
}
