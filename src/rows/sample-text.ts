// What rows become in memory, judged by samples of the data: whether they fit, and how many blocks they are to be drawn into, has
// to be known before they are read. Rows of numbers take about as much as their text; letters take more, and so do rows that are
// expanded. Of formats that are no text nobody knows.
import { stat } from 'node:fs/promises'
import { Expander, piecesOf } from '../features/expander.ts'
import { fitFor, parseExpansion } from '../features/expansion-steps.ts'
import { type Chunk, Chunks } from '../input-formats/chunks.ts'
import type { InputFormat } from '../input-formats/input-format.ts'
import { type LabelKey, labelKey } from '../input-formats/labels.ts'
import { Reading } from '../input-formats/reading.ts'
import { Arena } from '../numeric/arena.ts'
import { BATCH_INDICES, BATCH_STARTS } from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'
import { rowsOfChunk } from './chunk-task.ts'
import { type CountedFeatures, usedFeatures } from './used-features.ts'

/** How the data is read and what is made of its rows. */
export interface SampleOptions {
  format: string
  indexBase?: number
  expand?: string | undefined
  values: 'f32' | 'f64'
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
  if (path === '-' || !(await stat(path).catch(() => undefined))?.isFile()) return undefined
  const { expand } = options
  const sampler = new Sampler(options, SAMPLE_BYTES)
  await sampler.readAt(path, 0, format => expand !== undefined || outgrowsText(format))
  const { format, rows, bytes, entries, features } = sampler
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
  options: SampleOptions,
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
  readonly #options: SampleOptions
  readonly #arena = new Arena()
  readonly #context: TaskContext = { arena: this.#arena, kept: new Map() }
  readonly #reading: Reading
  readonly #chunks: Chunks
  readonly #expander: Expander | undefined
  readonly #labels = new Set<LabelKey>()
  readonly #features = new Uint32Array(PIECES * MOST_COUNTED)
  #filled = 0
  /** Rows whose features were counted. */
  #countedRows = 0
  rows = 0
  bytes = 0
  nonzeros = 0
  entries = 0
  features = 0

  constructor(options: SampleOptions, chunkBytes: number) {
    this.#options = options
    this.#reading = new Reading(options.format, options.indexBase, fitFor(options.expand))
    this.#chunks = new Chunks(this.#arena, this.#reading, chunkBytes, 1)
    if (options.expand !== undefined) this.#expander = new Expander(this.#arena, options.expand)
  }

  get format(): InputFormat {
    return this.#reading.format
  }

  get classes(): number {
    return this.#labels.size
  }

  get expanderBytes(): number {
    return this.#expander?.bytes ?? 0
  }

  /** Whole rows of a file from about there on; from its beginning, where nothing else can be read. */
  async readAt(path: string, place: number, wanted: (format: InputFormat) => boolean = () => true): Promise<void> {
    const chunk = await this.#chunks.sample(path, place)
    if (!chunk) return
    if (wanted(this.format)) await this.#countRows(chunk)
    chunk.release()
  }

  async #countRows(chunk: Chunk): Promise<void> {
    const { indexBase } = chunk
    const valueBits = this.#options.values === 'f64' ? 64 : 32
    const rows = await rowsOfChunk(this.#context, { ...chunk, parse: { indexBase, skipBad: true, valueBits } })
    const most = Math.min(this.#features.length, this.#filled + MOST_COUNTED)
    for (const batch of rows.batches()) {
      rows.classes(batch)
      for (const piece of piecesOf(this.#arena, batch.batch, this.#expander)) {
        this.entries += piece.nonzeros
        this.#count(piece.batch, piece.rows, most)
      }
    }
    const found = rows.account()
    for (const label of found.labels) this.#labels.add(labelKey(label))
    this.rows += found.rows
    this.nonzeros += found.nonzeros
    this.features = Math.max(this.features, found.features)
    this.bytes += chunk.bytes
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
