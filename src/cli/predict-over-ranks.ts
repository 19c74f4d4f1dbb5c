// Predictions over ranks: each predicts its share of the rows. Answers go to rank 0, in the order of the data, or into a file of
// each rank. Shares of text follow each other. Those of a store are drawn from everywhere: their answers are merged by where the
// rows stand among all rows, stretch by stretch, so that rank 0 holds few at a time.
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { PredictOptions, PredictResult } from '../predict/predict.ts'
import type { Communicator } from '../ranks/communicator.ts'

/** Bytes of answers that go to rank 0 at a time. */
const PIECE = 1 << 20
/** Bytes of what is known of a kept line: where its row stands, and how long it is. */
const ENTRY_BYTES = 16
const LINE_FEED = 10

type Write = NonNullable<PredictOptions['write']>

/** Predicts the share of this rank. `options.write` takes its answers; with an `order`, that of rank 0 takes those of all. */
export async function predictOverRanks(
  share: string[],
  model: Model,
  options: PredictOptions,
  order: 'merged' | 'by rank' | undefined,
  ranks: Communicator,
): Promise<PredictResult> {
  const { predict } = await import('../predict/predict.ts')
  if (!order) return overAll(await predict(share, model, options), ranks)
  if (order === 'merged') {
    await using lines = await KeptLines.create()
    // The header has no place among the rows.
    const keep: Write = (text, positions) => (positions ? lines.write(text, positions) : options.write?.(text))
    const result = await predict(share, model, { ...options, header: options.header && ranks.rank === 0, write: keep })
    await merge(lines, options.write, ranks)
    return overAll(result, ranks)
  }
  await using kept = ranks.rank > 0 ? await KeptAnswers.create() : undefined
  // A header is the first line of all.
  const own = kept ? { ...options, header: false, write: (text: Uint8Array) => kept.write(text) } : options
  const result = await predict(share, model, own)
  await collect(kept, options.write, ranks)
  return overAll(result, ranks)
}

/** Hands the answers of each rank to rank 0, one rank after the other. All ranks hear them: it is the one call that there is. */
async function collect(kept: KeptAnswers | undefined, write: Write | undefined, ranks: Communicator): Promise<void> {
  const lengths = new Float64Array(ranks.size)
  lengths[ranks.rank] = kept?.bytes ?? 0
  await ranks.sum(lengths)
  for (let root = 1; root < ranks.size; root++) {
    for (let at = 0; at < lengths[root]; at += PIECE) {
      const piece = new Uint8Array(Math.min(PIECE, lengths[root] - at))
      if (ranks.rank === root) await kept!.read(piece, at)
      await ranks.broadcast(piece, root)
      await write?.(piece)
    }
  }
}

/** Hands the lines of all ranks to rank 0 in the order of the rows. */
async function merge(kept: KeptLines, write: Write | undefined, ranks: Communicator): Promise<void> {
  const most = Float64Array.of(kept.last + 1, kept.meanBytes)
  await ranks.max(most)
  const [end, mean] = most
  const step = Math.max(1, Math.floor(PIECE / Math.max(mean, 1)))
  for (let from = 0; from < end; from += step) {
    const { positions, text } = await kept.until(from + step, step)
    const places = await ranks.gather(new Uint8Array(positions.buffer, positions.byteOffset, positions.byteLength))
    const texts = await ranks.gather(text)
    if (!write) continue
    const lines = places.flatMap((bytes, rank) => {
      const at = new Float64Array(bytes.slice().buffer)
      const cut = linesOf(texts[rank])
      return Array.from(at, (position, k) => ({ position, line: cut[k] }))
    })
    lines.sort((a, b) => a.position - b.position)
    await write(Buffer.concat(lines.map(({ line }) => line)))
  }
}

/** The lines of a text, each with its line feed. */
function linesOf(text: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf(LINE_FEED, from) + 1
    lines.push(text.subarray(from, end))
    from = end
  }
  return lines
}

/** The counts of all ranks together. */
export async function overAll(result: PredictResult, ranks: Communicator): Promise<PredictResult> {
  const { rows, weight, correct, badRows, bytesRead, seconds, badRowMessages } = result
  const weighted = weight === undefined ? 0 : 1
  const counts = Float64Array.of(rows, correct, badRows, bytesRead, weight ?? rows, weighted)
  await ranks.sum(counts)
  const longest = Float64Array.of(seconds)
  await ranks.max(longest)
  const messages = await ranks.gather(Buffer.from(JSON.stringify(badRowMessages)))
  return {
    ...{ rows: counts[0], correct: counts[1], badRows: counts[2], bytesRead: counts[3] },
    ...(counts[5] > 0 && { weight: counts[4] }),
    accuracy: counts[0] > 0 ? counts[1] / counts[4] : 0,
    badRowMessages: messages.flatMap(text => JSON.parse(Buffer.from(text).toString()) as string[]).slice(0, 5),
    seconds: longest[0],
  }
}

/** Answers that wait on disk until it is the turn of their rank. */
class KeptAnswers {
  bytes = 0
  readonly #folder: string
  readonly #file: FileHandle

  static async create(): Promise<KeptAnswers> {
    try {
      const folder = await mkdtemp(join(tmpdir(), 'spillway-answers-'))
      return new KeptAnswers(folder, await open(join(folder, 'answers'), 'wx+'))
    } catch (error) {
      throw fileError(error, tmpdir(), 'write')
    }
  }

  private constructor(folder: string, file: FileHandle) {
    this.#folder = folder
    this.#file = file
  }

  async write(text: Uint8Array): Promise<void> {
    for (let done = 0; done < text.length; ) {
      const writing = this.#file.write(text, done, text.length - done, this.bytes)
      const { bytesWritten } = await writing.catch(error => {
        throw fileError(error, this.#folder, 'write')
      })
      done += bytesWritten
      this.bytes += bytesWritten
    }
  }

  async read(target: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < target.length; ) {
      const { bytesRead } = await this.#file.read(target, done, target.length - done, at + done)
      if (bytesRead === 0) throw new Error('answers that were kept are gone')
      done += bytesRead
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Lines that wait on disk, with where their rows stand among all rows, rising. */
class KeptLines {
  last = -1
  readonly #text: KeptAnswers
  readonly #entries: KeptAnswers
  #rows = 0
  /** Bytes of text, and of entries, that have gone. */
  #gone = { text: 0, entries: 0 }

  static async create(): Promise<KeptLines> {
    return new KeptLines(await KeptAnswers.create(), await KeptAnswers.create())
  }

  private constructor(text: KeptAnswers, entries: KeptAnswers) {
    this.#text = text
    this.#entries = entries
  }

  /** Of a line with its entry. */
  get meanBytes(): number {
    return this.#rows === 0 ? 0 : this.#text.bytes / this.#rows + ENTRY_BYTES
  }

  async write(text: Uint8Array, positions: Float64Array): Promise<void> {
    const entries = new Float64Array(2 * positions.length)
    for (const [k, line] of linesOf(text).entries()) entries.set([positions[k], line.length], 2 * k)
    this.#rows += positions.length
    this.last = positions.at(-1) ?? this.last
    await this.#entries.write(new Uint8Array(entries.buffer))
    await this.#text.write(text)
  }

  /** The next lines: those of rows before `end`, in a stretch of so many places. */
  async until(end: number, places: number): Promise<{ positions: Float64Array; text: Uint8Array }> {
    const gone = this.#gone
    // Each row has a place of its own: there are no more of them than places.
    const span = Math.min(this.#entries.bytes - gone.entries, places * ENTRY_BYTES)
    const entries = new Float64Array(span / 8)
    await this.#entries.read(new Uint8Array(entries.buffer), gone.entries)
    let [count, bytes] = [0, 0]
    for (; 2 * count < entries.length && entries[2 * count] < end; count++) bytes += entries[2 * count + 1]
    const text = new Uint8Array(bytes)
    await this.#text.read(text, gone.text)
    gone.entries += count * ENTRY_BYTES
    gone.text += bytes
    return { positions: Float64Array.from({ length: count }, (_, k) => entries[2 * k]), text }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#text[Symbol.asyncDispose]()
    await this.#entries[Symbol.asyncDispose]()
  }
}
