// What rows of text become in memory, judged by samples of the text: whether they fit, and how many blocks they are to be drawn
// into, has to be known before they are read. Rows of numbers take about as much as their text; letters take more, and so do
// rows that are expanded.
import { stat } from 'node:fs/promises'
import { Expander, piecesOf } from '../features/expander.ts'
import { fitFor, parseExpansion } from '../features/expansion-steps.ts'
import { type ByteSource, openSource } from '../input-formats/byte-source.ts'
import { CHUNK_SLACK } from '../input-formats/line-chunks.ts'
import { Reading } from '../input-formats/reading.ts'
import { Arena } from '../numeric/arena.ts'
import { BATCH_INDICES, BATCH_LABELS, BATCH_STARTS, ROW_BOUND } from '../numeric/layouts.ts'
import { entryBytes } from '../optimise/sources/memory-plan.ts'
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
/** Pieces of plain text that an estimate looks at, all over it, and the bytes of each: rows of 100 kB are no rarity. */
const PIECES = 16
const PIECE_BYTES = 1 << 19
/** Entries whose features are counted, of a piece. */
const MOST_COUNTED = 1 << 15
/** How far off the estimated number of features may be: of six made-up sets it was right within a third, but for one, whose
 *  features run out, where it was 2.2 times too many. */
const LEAST_LIKELY = 0.4
const MOST_LIKELY = 1.5
const LINE_FEED = 10

/** Looks at the first rows of a file. Undefined when there are none to show, and when the size of the text says it all:
 *  numbers that are not expanded. */
export async function sampleText(path: string, options: ResolvedOptions): Promise<TextSample | undefined> {
  // What is read of a pipe is gone.
  if (path === '-' || !(await stat(path).catch(() => undefined))?.isFile()) return undefined
  const { expand } = options
  const sampler = new Sampler(options, SAMPLE_BYTES)
  await sampler.readAt(path, 0, ({ letters }) => expand !== undefined || letters)
  const { rows, bytes, entries, features } = sampler
  if (rows === 0) return undefined
  const valueBits = options.values === 'f64' ? 64 : 32
  return {
    recordBytes: (rows * ROW_BOUND + entries * entryBytes(valueBits, sampler.format, expand)) / bytes,
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
  /** Features that occur, after an expansion: at least about so many, and hardly more than so many. */
  usedLeast: number
  usedMost: number
  /** Stretches of 65,536 feature numbers that the samples have one of, after an expansion. */
  pages: number
  classes: number
  /** What expanding takes. */
  expanderBytes: number
}

/** Looks at rows all over the files, or at the first ones where text is compressed or to be expanded. `text` is the length
 *  of it all. Undefined when there are no rows to show. */
export async function estimateText(
  paths: string[],
  text: number,
  options: ResolvedOptions,
): Promise<TextEstimate | undefined> {
  const sizes: number[] = []
  for (const path of paths) sizes.push((await stat(path).catch(() => undefined))?.size ?? 0)
  const all = sizes.reduce((sum, size) => sum + size, 0)
  const expanded = options.expand !== undefined
  const sampler = new Sampler(options, expanded ? SAMPLE_BYTES : PIECE_BYTES)
  const pieces = expanded ? 1 : Math.min(PIECES, Math.max(1, Math.floor(all / (2 * PIECE_BYTES))))
  for (let piece = 0; piece < pieces; piece++) {
    let at = Math.floor((piece * Math.max(0, all - PIECE_BYTES)) / Math.max(1, pieces - 1))
    let file = 0
    while (at >= sizes[file] && file < paths.length - 1) at -= sizes[file++]
    await sampler.readAt(paths[file], at)
  }
  const { rows, bytes, nonzeros, entries, features, classes, expanderBytes, format } = sampler
  if (rows === 0) return undefined
  const allRows = Math.ceil((text * rows) / bytes)
  const counted = sampler.counted()
  const used = usedFeatures(counted, allRows)
  return {
    format: format.name,
    letters: format.letters,
    rows: allRows,
    nonzeros: Math.ceil((text * nonzeros) / bytes),
    entries: Math.ceil((text * entries) / bytes),
    features,
    usedLeast: Math.min(used.least, (text * entries) / bytes),
    usedMost: Math.min(used.most, (text * entries) / bytes),
    pages: new Set(counted.features.map(feature => feature >>> 16)).size,
    classes,
    expanderBytes,
  }
}

/** Reads rows here and there, and counts. */
class Sampler {
  readonly #options: ResolvedOptions
  readonly #reading: Reading
  readonly #arena = new Arena()
  readonly #at: number
  readonly #room: number
  readonly #expander: Expander | undefined
  readonly #labels = new Set<string>()
  /** Files whose beginning has been read. */
  readonly #begun = new Set<string>()
  readonly #features: Uint32Array
  #filled = 0
  /** Rows whose features were counted. */
  #countedRows = 0
  rows = 0
  bytes = 0
  nonzeros = 0
  entries = 0
  features = 0

  constructor(options: ResolvedOptions, room: number) {
    this.#options = options
    this.#reading = new Reading(options.format, options.indexBase, fitFor(options.expand))
    this.#room = room
    this.#at = this.#arena.allocate(room + CHUNK_SLACK, 'a sample of the text')
    this.#features = new Uint32Array(PIECES * MOST_COUNTED)
    if (options.expand !== undefined) this.#expander = new Expander(this.#arena, options.expand)
  }

  get format(): Reading['format'] {
    return this.#reading.format
  }

  get classes(): number {
    return this.#labels.size
  }

  get expanderBytes(): number {
    return this.#expander?.bytes ?? 0
  }

  /** Whole lines of a file from about there on; from its beginning, where nothing else can be read. */
  async readAt(
    path: string,
    place: number,
    wanted: (format: Reading['format']) => boolean = () => true,
  ): Promise<void> {
    const arena = this.#arena
    const text = arena.bytes(this.#at, this.#room)
    const source: ByteSource = await openSource(path)
    const within = place > 0 && source.seek !== undefined
    if (within) source.seek!(place)
    else if (this.#begun.has(path)) return source.close()
    else this.#begun.add(path)
    const filled = await source.read(text).finally(() => source.close())
    // The line under way is left out, and so is the last without its line feed: a sample need not have all rows.
    const first = within ? text.subarray(0, filled).indexOf(LINE_FEED) + 1 : 0
    const bytes = text.subarray(0, filled).lastIndexOf(LINE_FEED) + 1 - first
    const { indexBase } = this.#reading.look(text.subarray(first, first + Math.max(bytes, 0)))
    if (bytes <= 0 || (within && first === 0) || !wanted(this.format)) return
    const valueBits = this.#options.values === 'f64' ? (64 as const) : (32 as const)
    const parser = this.format.newParser(arena)
    const most = Math.min(this.#features.length, this.#filled + MOST_COUNTED)
    for (const batch of parser.parse(this.#at + first, bytes, { indexBase, skipBad: true, valueBits })) {
      const labels = arena.u32(arena.getU32(batch.batch + BATCH_LABELS), batch.rows * 2)
      for (let r = 0; r < batch.rows; r++) this.#labels.add(`${labels[2 * r]} ${labels[2 * r + 1]}`)
      this.nonzeros += batch.nonzeros
      this.rows += batch.rows
      this.features = Math.max(this.features, batch.features)
      for (const piece of piecesOf(arena, batch.batch, this.#expander)) {
        this.entries += piece.nonzeros
        this.#count(piece.batch, piece.rows, most)
      }
    }
    this.bytes += bytes
  }

  /** Takes down the features of rows as long as there is room. */
  #count(batch: number, rows: number, most: number): void {
    const arena = this.#arena
    const starts = arena.u32(arena.getU32(batch + BATCH_STARTS), rows + 1)
    for (let r = 0; r < rows; r++) {
      const length = starts[r + 1] - starts[r]
      if (this.#filled + length > most) return
      this.#features.set(arena.u32(arena.getU32(batch + BATCH_INDICES) + starts[r] * 4, length), this.#filled)
      this.#filled += length
      this.#countedRows++
    }
  }

  counted(): CountedFeatures {
    return { rows: this.#countedRows, features: this.#features.subarray(0, this.#filled) }
  }
}

/** Features of some rows, one row after the other. */
export interface CountedFeatures {
  rows: number
  features: Uint32Array
}

/** How many features occur in all rows, by those of some rows. The number grows with the rows by a power that falls: from a
 *  quarter of the sample to its half, from there to the whole, and on like that at each doubling. Halves are those that drawing
 *  rows at random would give: a feature of c rows is in one with probability 1 − 2^−c. */
export function usedFeatures({ rows, features }: CountedFeatures, allRows: number): { least: number; most: number } {
  let [seen, half, quarter] = [0, 0, 0]
  for (const count of counts(features.slice())) {
    seen++
    half += 1 - 0.5 ** count
    quarter += 1 - 0.75 ** count
  }
  const doublings = Math.log2(Math.max(1, allRows / Math.max(1, rows)))
  if (seen === 0 || doublings === 0) return { least: seen, most: seen }
  const growth = Math.log2(seen / half)
  const fall = Math.min(1, growth / Math.log2(half / quarter))
  const steps = fall < 1 ? (fall * (1 - fall ** doublings)) / (1 - fall) : doublings
  const likely = seen * 2 ** (growth * steps)
  return {
    least: Math.ceil(Math.max(seen, LEAST_LIKELY * likely)),
    most: Math.ceil(Math.max(seen, MOST_LIKELY * likely)),
  }
}

/** How often each of the features is there. */
function* counts(features: Uint32Array): Generator<number> {
  features.sort()
  for (let from = 0; from < features.length; ) {
    let to = from + 1
    while (to < features.length && features[to] === features[from]) to++
    yield to - from
    from = to
  }
}
