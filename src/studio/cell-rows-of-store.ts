// Rows of a cell of a confusion matrix, where the data is a store: its rows are scored once, and those that are asked for are
// decoded again. Rows of the first blocks come first, so that few blocks are read again.
import { sourceSpans } from '../block-store/manifest.ts'
import type { Store } from '../block-store/reader.ts'
import type { Model } from '../model/model.ts'
import { Arena } from '../numeric/arena.ts'
import { checkStore, type ScoredRows, StoreRows } from '../predict/predict-store.ts'
import { type Cell, type CellRow, type CellRows, type Limits, textLength } from './cell.ts'
import { bestOf } from './score-lines-task.ts'
import { rowText } from './seen-rows.ts'
import { StoreRowReader } from './store-rows.ts'

/** Scores of one segment, and where it is. */
interface ScoredSegment extends Pick<ScoredRows, 'positions' | 'truth'> {
  block: number
  segment: number
  predicted: Uint32Array
  scores: Float32Array
}

/** A row that is to be shown. */
interface FoundRow extends Omit<CellRow, 'text'> {
  block: number
  segment: number
  /** Its place in the segment. */
  row: number
}

export class ScoredStore {
  readonly #store: Store
  readonly #model: Model
  readonly #segments: ScoredSegment[] = []
  /** Labels of the store that the model does not know. */
  #others: string[] = []
  #sampled = false

  private constructor(store: Store, model: Model) {
    this.#store = store
    this.#model = model
  }

  static async read(store: Store, model: Model, limits: Limits): Promise<ScoredStore> {
    checkStore(store, model, {})
    const data = new ScoredStore(store, model)
    await data.#score(limits)
    return data
  }

  async #score({ rows: mostRows, bytes: mostBytes }: Limits): Promise<void> {
    const { labels, vectors } = this.#model
    const { blocks, rows: all } = this.#store.manifest
    const rows = new StoreRows({ arena: new Arena(), store: this.#store, model: this.#model, settings: { labels } })
    const buffer = rows.newBuffer()
    let seen = 0
    const enough = (): boolean => seen >= mostRows || rows.bytesRead >= mostBytes
    for (let block = 0; block < blocks.length && !enough(); block++) {
      let segment = 0
      for await (const scored of rows.ofBlock(block, buffer)) {
        this.#segments.push({ block, segment: segment++, ...shortened(scored, vectors, labels.length) })
        seen += scored.truth.length
        if (enough()) break
      }
    }
    this.#others = rows.others.map(({ text }) => text)
    this.#sampled = seen < all
  }

  /** Some rows of a cell, in the order of the data. */
  async cell(cell: Cell): Promise<CellRows> {
    const { found, all } = this.#find(cell)
    const texts = await this.#textsOf(found, textLength(cell))
    const rows = found
      .map(({ block: _, segment: _segment, row: _row, ...rest }, k) => ({ ...rest, text: texts[k] }))
      .sort((a, b) => a.line - b.line)
    return { rows, all, byRow: true, ...(this.#sampled && { sampled: true as const }) }
  }

  #find({ truth, predicted, most, line }: Cell): { found: FoundRow[]; all: number } {
    const labels = this.#model.labels.map(({ text }) => text)
    const [known, given] = [labels.indexOf(truth), labels.indexOf(predicted)]
    const other = this.#others.indexOf(truth)
    const found: FoundRow[] = []
    let all = 0
    if (given < 0 || (known < 0 && other < 0)) return { found, all }
    const wanted = known < 0 ? -1 - other : known
    const sourceOf = sourcesIn(this.#store)
    for (const { block, segment, positions, scores, ...classes } of this.#segments) {
      for (let row = 0; row < positions.length; row++) {
        if (classes.truth[row] !== wanted || classes.predicted[row] !== given) continue
        const number = positions[row] + 1
        if (line !== undefined && number !== line) continue
        if (++all > most) continue
        const source = sourceOf(positions[row])
        found.push({ ...{ line: number, ...source, truth, predicted, score: scores[row] }, ...{ block, segment, row } })
      }
    }
    return { found, all }
  }

  /** Texts of rows, which come in the order of blocks and segments. */
  async #textsOf(found: FoundRow[], length: number): Promise<string[]> {
    const reader = new StoreRowReader(this.#store)
    const { indexBase } = this.#store.manifest
    const texts: string[] = []
    for (const [block, rows] of Map.groupBy(found, row => row.block)) {
      const segments = Map.groupBy(rows, row => row.segment)
      for await (const { segment, starts, indices, values } of reader.ofBlock(block, new Set(segments.keys()))) {
        for (const { row, truth } of segments.get(segment)!) {
          const part = [starts[row], starts[row + 1]] as const
          texts.push(rowText(truth, indices.subarray(...part), values.subarray(...part), indexBase, length))
        }
      }
    }
    return texts
  }
}

/** The predicted class of each row, and its score. */
function shortened(
  { positions, truth, scores }: ScoredRows,
  vectors: number,
  labels: number,
): Omit<ScoredSegment, 'block' | 'segment'> {
  const [predicted, best] = [new Uint32Array(truth.length), new Float32Array(truth.length)]
  for (let row = 0; row < truth.length; row++) {
    const { place, score } = bestOf(scores, row * vectors, vectors, labels)
    predicted[row] = place
    best[row] = score
  }
  return { positions, truth, predicted, scores: best }
}

/** Which file a row of the store came from, and its number there. */
function sourcesIn({ manifest }: Store): (position: number) => Pick<CellRow, 'source' | 'sourceRow'> {
  const spans = sourceSpans(manifest)
  return position => {
    const span = spans.findLast(({ first, end }) => first <= position && position < end)
    return span ? { source: span.name, sourceRow: position - span.first + 1 } : {}
  }
}
