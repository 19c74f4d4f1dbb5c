// The rows of a store to predictions. Rows were drawn into blocks, and within a block they stand in the order of the data: where
// the order matters, all blocks are read side by side and their rows merged.
import { stat } from 'node:fs/promises'
import { ReadBuffer } from '../block-store/block-file.ts'
import { SegmentDecoder, weightsOfBatch } from '../block-store/codecs.ts'
import { openStore, type Store } from '../block-store/reader.ts'
import { StoredLabels } from '../block-store/stored-labels.ts'
import { UsageError } from '../errors.ts'
import { checkExpandable } from '../features/expansion-steps.ts'
import { findInputFormat, usualInputFormat } from '../input-formats/all-input-formats.ts'
import { type Label, labelKey } from '../input-formats/labels.ts'
import type { Model } from '../model/model.ts'
import { placeModel, type ScorerMemory } from '../model/scorer.ts'
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { type AnswerSettings, AnswersOfRows, type RowsAnswered } from './answers-of-rows.ts'
import { BatchScorer } from './score-batch.ts'

/** Each block that is read beside others takes a file and a buffer. */
const MOST_SIDE_BY_SIDE = 256
const SMALL_READ_BYTES = 1 << 16

/** The store that a path names, or undefined where it is no folder. */
export async function storeAt(path: string): Promise<Store | undefined> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ? openStore(path) : undefined
}

export interface StoreToScore {
  arena: Arena
  store: Store
  model: Model
  settings: Pick<AnswerSettings, 'labels'>
}

export interface StoreToPredict extends StoreToScore {
  settings: AnswerSettings
  signal: AbortSignal | undefined
}

export interface StoreAnswers extends RowsAnswered {
  rows: number
  /** Of the store, so far. */
  bytesRead: number
}

/** Scores of a segment's rows. */
export interface ScoredRows {
  /** In the order of all data, rising. */
  positions: Float64Array
  /** Places in the model's labels, or −1 − a place among the other labels. */
  truth: Int32Array
  scores: Float64Array
  /** Where the store has them. */
  weights: Float64Array | undefined
}

/** Refuses options that are about text, and a store that the model cannot be meant for. */
export function checkStore(
  { folder, manifest }: Store,
  model: Model,
  asked: { format?: string | undefined; indexBase?: number | undefined; onBadRow?: string | undefined },
): void {
  const [about] = Object.entries({
    '--format': asked.format,
    '--index-base': asked.indexBase,
    '--on-bad-row': asked.onBadRow === 'skip' ? 'skip' : undefined,
  }).find(([, value]) => value !== undefined) ?? [undefined]
  if (about) throw new UsageError(`${about} is for text, and ${folder} is a store`, 'leave it out')
  if (manifest.indexBase !== model.indexBase) {
    throw new UsageError(
      `${folder} counts features from ${manifest.indexBase}, and the model from ${model.indexBase}`,
      'give the text, with --index-base',
    )
  }
  const { expand } = model.transforms
  if (expand) checkExpandable(expand.steps, findInputFormat(manifest.inputFormat ?? usualInputFormat.name))
}

/** Answers for all rows: in the order of the data where something is answered for each row, else block by block. */
export async function* answersOfStore(to: StoreToPredict): AsyncGenerator<StoreAnswers> {
  const rows = new StoreRows(to)
  const inOrder = to.settings.answer !== 'nothing'
  const pieces = inOrder ? merged(to.store, rows) : oneAfterTheOther(to.store, rows)
  for await (const piece of pieces) {
    to.signal?.throwIfAborted()
    const answers = new AnswersOfRows(to.settings, to.model.vectors)
    answers.add(piece.scores, piece.truth.length, { places: piece.truth }, piece.weights)
    const { positions } = piece
    yield { ...answers.finish(rows.others), positions, rows: piece.truth.length, bytesRead: rows.bytesRead }
  }
}

/** Decodes and scores segments. */
export class StoreRows {
  readonly others: Label[]
  bytesRead = 0
  readonly #arena: Arena
  readonly #store: Store
  readonly #scorer: ScorerMemory
  readonly #batches: BatchScorer
  readonly #decoder: SegmentDecoder
  readonly #batch: number
  readonly #labels: StoredLabels
  /** The class of each label of the store, by its number there. */
  readonly #classes: number[]

  constructor({ arena, store, model, settings }: StoreToScore) {
    const { labels } = store.manifest
    this.#arena = arena
    this.#store = store
    this.#scorer = placeModel(arena, model)
    this.#batches = new BatchScorer(arena, model.transforms.expand?.steps)
    this.#decoder = new SegmentDecoder(arena)
    this.#batch = this.#decoder.newBatch()
    this.#labels = new StoredLabels(arena, labels)
    const known = new Map(settings.labels.map((label, k) => [labelKey(label), k]))
    this.others = []
    this.#classes = labels.map(
      ({ value, text }) => known.get(labelKey({ value, text })) ?? -this.others.push({ value, text }),
    )
  }

  /** For one block at a time. */
  newBuffer(readBytes?: number): ReadBuffer {
    return new ReadBuffer(this.#arena, readBytes)
  }

  async *ofBlock(block: number, buffer: ReadBuffer): AsyncGenerator<ScoredRows> {
    const arena = this.#arena
    const fields = new BatchFields(arena, this.#batch)
    for await (const { header, at, bytes, where } of this.#store.blockSegments(block, buffer)) {
      this.bytesRead += bytes
      this.#decoder.decode(at, bytes, this.#batch, where)
      const { rows: count } = fields
      const positions = Float64Array.from(arena.u32(fields.labelAt, count), place => header.basePosition + place)
      const numbers = arena.u32(this.#labels.numbersOf(this.#batch, count).at, count)
      const truth = Int32Array.from(numbers, number => this.#classes[number])
      const scores = this.#batches.score(this.#scorer, this.#batch, count).slice()
      yield { positions, truth, scores, weights: this.#weightsOf(count) }
    }
  }

  /** Where some rows of a store have weights, the others weigh 1. */
  #weightsOf(count: number): Float64Array | undefined {
    if (!this.#store.manifest.rowWeights) return undefined
    return weightsOfBatch(this.#arena, this.#batch)?.slice() ?? new Float64Array(count).fill(1)
  }
}

async function* oneAfterTheOther({ manifest }: Store, rows: StoreRows): AsyncGenerator<ScoredRows> {
  const buffer = rows.newBuffer()
  for (let block = 0; block < manifest.blocks.length; block++) yield* rows.ofBlock(block, buffer)
}

/** A block under way: what was read last, and how many of its rows have gone. */
interface Head {
  block: AsyncGenerator<ScoredRows>
  rows: ScoredRows
  gone: number
}

async function* merged({ folder, manifest }: Store, rows: StoreRows): AsyncGenerator<ScoredRows> {
  const { length } = manifest.blocks
  if (length > MOST_SIDE_BY_SIDE) {
    throw new UsageError(
      `${folder} has ${length} blocks; labels come in the order of the data from ${MOST_SIDE_BY_SIDE} at most`,
      'predict the text that it was made of, or ask for --json --evaluate without OUT',
    )
  }
  let heads: Head[] = []
  try {
    for (let k = 0; k < length; k++) {
      const block = rows.ofBlock(k, rows.newBuffer(SMALL_READ_BYTES))
      const { value, done } = await block.next()
      if (!done) heads.push({ block, rows: value, gone: 0 })
    }
    while (heads.length > 0) {
      // Every row up to here is in memory: the next rows of all blocks come later.
      const horizon = Math.min(...heads.map(({ rows }) => rows.positions[rows.positions.length - 1]))
      yield upTo(horizon, heads)
      for (const head of heads.filter(({ rows, gone }) => gone === rows.positions.length)) {
        const { value, done } = await head.block.next()
        if (done) heads = heads.filter(other => other !== head)
        else Object.assign(head, { rows: value, gone: 0 })
      }
    }
  } finally {
    for (const { block } of heads) await block.return(undefined)
  }
}

/** Takes the rows up to a position from all blocks, in order. */
function upTo(horizon: number, heads: Head[]): ScoredRows {
  const found: { position: number; rows: ScoredRows; r: number }[] = []
  for (const head of heads) {
    const { rows } = head
    for (; head.gone < rows.positions.length && rows.positions[head.gone] <= horizon; head.gone++) {
      found.push({ position: rows.positions[head.gone], rows, r: head.gone })
    }
  }
  found.sort((a, b) => a.position - b.position)
  const width = heads[0].rows.scores.length / heads[0].rows.truth.length
  const scores = new Float64Array(found.length * width)
  found.forEach(({ rows, r }, k) => {
    scores.set(rows.scores.subarray(r * width, (r + 1) * width), k * width)
  })
  return {
    positions: Float64Array.from(found, ({ position }) => position),
    truth: Int32Array.from(found, ({ rows, r }) => rows.truth[r]),
    scores,
    weights: heads[0].rows.weights && Float64Array.from(found, ({ rows, r }) => rows.weights![r]),
  }
}
