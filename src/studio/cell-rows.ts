// Rows of a cell of a confusion matrix: all rows of the data are scored once, a few bytes are kept of each, and the texts of those
// that are asked for are read again.

import { fitFor } from '../features/expansion-steps.ts'
import { findInputFormat, usualInputFormat } from '../input-formats/all-input-formats.ts'
import { openSource } from '../input-formats/byte-source.ts'
import type { Model } from '../model/model.ts'
import { placeModel } from '../model/scorer.ts'
import { Arena } from '../numeric/arena.ts'
import { plainRowsTask } from '../predict/explain-chunk-task.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { RowReader, type RowsToRead } from '../rows/read-rows.ts'
import { type Cell, type CellRow, type CellRows, type Limits, textLength } from './cell.ts'
import { type ScoredLines, scoreLinesTask } from './score-lines-task.ts'
import { rowText } from './seen-rows.ts'

/** Of a character in UTF-8, at most. */
const CHARACTER_BYTES = 4

/** Scores of one chunk, and where the chunk begins in the text. */
interface ScoredChunk extends ScoredLines {
  byte: number
  line: number
  row: number
  bytes: number
}

/** A row that is to be shown. */
interface FoundRow extends Omit<CellRow, 'text'> {
  /** Its number, from 0, and its bytes in the text. */
  row: number
  from: number
  to: number
}

export class ScoredData {
  readonly #path: string
  readonly #model: Model
  readonly #reading: RowsToRead
  readonly #chunks: ScoredChunk[] = []
  #sampled = false
  #isText = true

  private constructor(path: string, model: Model) {
    this.#path = path
    this.#model = model
    this.#reading = {
      format: model.inputFormat ?? usualInputFormat.name,
      indexBase: model.indexBase,
      table: { schema: model.schema, needsLabel: false },
      ...{ onBadRow: 'skip', valueBits: model.values === 'f64' ? 64 : 32, fit: fitFor(model.transforms.expand?.steps) },
    }
    // Of such formats the number of the first feature is always the same.
    if (typeof findInputFormat(this.#reading.format!).cut.indexBase === 'number') this.#reading.indexBase = undefined
  }

  static async read(path: string, model: Model, limits: Limits): Promise<ScoredData> {
    const data = new ScoredData(path, model)
    await data.#score(limits)
    return data
  }

  async #score(most: Limits): Promise<void> {
    const arena = new Arena()
    await using pool = await poolForText(arena, [this.#path], undefined)
    const enough = new AbortController()
    const reader = new RowReader(arena, pool, { ...this.#reading, signal: enough.signal, keepsRows: true })
    const scorer = placeModel(arena, this.#model)
    const { labels, transforms } = this.#model
    const [expand, { indexBase }] = [transforms.expand?.steps, this.#model]
    let [byte, line, row] = [0, 0, 0]
    await reader.read(
      [this.#path],
      (_, toParse) =>
        pool.run(scoreLinesTask, { ...toParse, parse: { ...toParse.parse, indexBase }, labels, expand, scorer }),
      ({ bytes }, scored) => {
        this.#chunks.push({ ...scored, byte, line, row, bytes })
        byte += bytes
        line += scored.lines
        row += scored.rows
        if (row < most.rows && byte < most.bytes) return
        this.#sampled = true
        enough.abort()
      },
    )
    this.#isText = reader.format.cut.by === 'lines'
  }

  /** The first rows of a cell, in the order of the data. */
  async cell(cell: Cell): Promise<CellRows> {
    const { found, all } = this.#find(cell)
    const length = textLength(cell)
    const texts = this.#isText ? await this.#textsOf(found, length) : await this.#entriesOf(found, length)
    const rows = found.map(({ row, from: _, to: _to, line, ...rest }, k) => ({
      ...{ line: this.#isText ? line : row + 1, ...rest, text: cut(texts[k] ?? '', length) },
    }))
    return {
      ...{ rows, all, ...(this.#sampled && { sampled: true as const }) },
      ...(!this.#isText && { byRow: true as const }),
    }
  }

  #find({ truth, predicted, most, line }: Cell): { found: FoundRow[]; all: number } {
    const labels = this.#model.labels.map(({ text }) => text)
    const found: FoundRow[] = []
    let all = 0
    for (const chunk of this.#chunks) {
      const wanted = [...labels, ...chunk.others].indexOf(truth)
      const given = labels.indexOf(predicted)
      if (wanted < 0 || given < 0) continue
      for (let r = 0; r < chunk.truth.length; r++) {
        if (chunk.truth[r] !== wanted || chunk.predicted[r] !== given) continue
        const number = this.#isText ? chunk.line + chunk.lineOf[r] + 1 : chunk.row + r + 1
        if (line !== undefined && number !== line) continue
        if (++all > most) continue
        const next = chunk.begins[r + 1] ?? chunk.bytes
        found.push({
          ...{ truth, predicted, score: chunk.scores[r], row: chunk.row + r, line: chunk.line + chunk.lineOf[r] + 1 },
          ...{ from: chunk.byte + chunk.begins[r], to: chunk.byte + next },
        })
      }
    }
    return { found, all }
  }

  /** Texts at these places, which rise. */
  async #textsOf(places: FoundRow[], length: number): Promise<string[]> {
    const source = await openSource(this.#path)
    try {
      const texts: string[] = []
      let at = 0
      const skipped = new Uint8Array(1 << 20)
      for (const { from, to } of places) {
        const bytes = new Uint8Array(Math.min(to - from, length * CHARACTER_BYTES))
        // What is compressed is read from its beginning on.
        while (!source.readAt && at < from) {
          const got = await source.read(skipped.subarray(0, Math.min(skipped.length, from - at)))
          if (got === 0) return texts
          at += got
        }
        const filled = await (source.readAt ? source.readAt(bytes, from) : source.read(bytes))
        at += filled
        texts.push(Buffer.from(bytes.subarray(0, filled)).toString().replace(/\s+$/, ''))
      }
      return texts
    } finally {
      await source.close()
    }
  }

  /** Of data that is no text: features and values. */
  async #entriesOf(wanted: FoundRow[], length: number): Promise<string[]> {
    if (wanted.length === 0) return []
    const arena = new Arena()
    await using pool = await poolForText(arena, [this.#path], undefined)
    const enough = new AbortController()
    const reader = new RowReader(arena, pool, { ...this.#reading, signal: enough.signal, keepsRows: true })
    const texts: string[] = []
    let row = 0
    await reader.read(
      [this.#path],
      (_, toParse) => pool.run(plainRowsTask, toParse),
      (_, { batches, labels }) => {
        for (const { starts, indices, values, classes } of batches) {
          for (; texts.length < wanted.length && wanted[texts.length].row < row + classes.length; ) {
            const r = wanted[texts.length].row - row
            const [from, to] = [starts[r], starts[r + 1]]
            const [of, x] = [indices.subarray(from, to), values.subarray(from, to)]
            texts.push(rowText(labels[classes[r]].text, of, x, this.#model.indexBase, length))
          }
          row += classes.length
        }
        if (texts.length === wanted.length) enough.abort()
      },
    )
    return texts
  }
}

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text)
