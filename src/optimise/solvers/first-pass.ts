// Training on text while it is being read into a store: when the file has been read once there is a model, and rows worth
// keeping are in memory. Rows come as they are parsed, in the order of the text; blocks, places in them and the features in
// use are known only at the end, when all that was learnt moves to where the store wants it.
//
// What has no room here is simply not trained on in this pass: its dual variables stay 0, which is where every run starts.

import type { Stretch } from '../../block-store/checkpoint.ts'
import type { Piece, PieceRoom } from '../../block-store/read-into-blocks.ts'
import type { Store } from '../../block-store/reader.ts'
import type { LabelCount } from '../../input-formats/label-numbers.ts'
import type { Arena } from '../../numeric/arena.ts'
import { DictionaryFields } from '../../numeric/fields/dictionary.ts'
import { PROBLEM_BYTES, ROW_BOUND, SUMS_BYTES, SWEEP_BYTES } from '../../numeric/layouts.ts'
import { CACHE_LINE, roundUp } from '../../numeric/rounding.ts'
import { DICTIONARY_BYTES, DICTIONARY_COUNT, DICTIONARY_FEATURES } from '../../numeric/working-set-layout.ts'
import { ThreadPool } from '../../threads/pool.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { type ProblemSettings, writeProblem } from '../objectives/problem.ts'
import { firstVisitTask } from './stream-task.ts'
import { WorkingSet } from './working-set.ts'

export interface FirstPassSizes {
  /** Bytes of text in a chunk. */
  chunk: number
  /** Chunks under way. */
  rooms: number
  /** Bytes for weights, dual variables and the working set. */
  bytes: number
  /** Bytes of text in all, as far as is known. */
  text: number | undefined
}

/** With so few features, each has its weight by its number. There is room for so many times as many, for later text may have more. */
const FEW_FEATURES = 1 << 18
const TIMES_THE_FEATURES = 4
/** The same where weights of all of them are a small share of the room: a look into a dictionary costs more than weights that
 *  lie apart. */
const MORE_FEATURES = 1 << 21
const SMALL_SHARE = 0.1
/** Of the bytes: shares for weights and their dictionary, and for dual variables. */
const WEIGHT_SHARE = 0.35
const ALPHA_SHARE = 0.15
/** A row of text is hardly shorter; of chunks with shorter rows, the first ones are trained on. */
const ROW_TEXT = 16
const VISITS = 3
/** Slots of the dictionary of features to begin with. */
const FIRST_SLOTS = 1 << 14
/** Record bytes for a byte of text. */
const RECORD_SHARE = 1.1

/** Bytes for the rooms of chunks. */
export function pieceBytes({ chunk, rooms }: Pick<FirstPassSizes, 'chunk' | 'rooms'>): number {
  const rows = Math.ceil(chunk / ROW_TEXT)
  return Math.ceil(rooms * (chunk * RECORD_SHARE + rows * 4 + 128) + rows * 40)
}

export interface FirstPassSettings {
  seed: number
  /** Whether rows are made unit length. */
  unit: boolean
  /** Visits in memory for each row that comes. Parsing takes longer than decoding: there is time for more of them. */
  visits: number | undefined
  /** The binary problem of two classes. */
  problemOf(labels: LabelCount[]): ProblemSettings
}

export class FirstPass {
  readonly #arena: Arena
  readonly #settings: FirstPassSettings
  readonly #sizes: FirstPassSizes
  readonly #trainer: ThreadPool
  /** What this pass took of the memory, which is free once it has moved. */
  readonly region: Stretch
  /** The end of the arena when the rooms of chunks are given back. */
  readonly mark: number
  #filled = 0
  readonly #free: PieceRoom[] = []
  readonly #waiting: ((room: PieceRoom) => void)[] = []
  readonly #chunks: { chunk: number; rows: number }[] = []
  /** Blocks that rows of a chunk were drawn into. */
  #spread = 0
  #rows = 0
  #trained = 0
  #pieces = 0
  #failed: unknown
  #work: Promise<void> = Promise.resolve()
  #learner: ReturnType<FirstPass['newLearner']> | undefined
  /** Undefined as long as it is not known; 'none' when there are more than two classes, or rows have weights. */
  #problem: ProblemSettings | 'none' | undefined
  /** Where the blocks that rows were drawn into began, and where each of their rows is since they were split. */
  #split: { firstRows: number[]; places: Uint32Array } | undefined
  /** What rows owed as they were met, summed up, for progress. */
  #loss = 0
  #gap = 0

  constructor(arena: Arena, settings: FirstPassSettings, sizes: FirstPassSizes) {
    this.#arena = arena
    this.#settings = settings
    this.#sizes = sizes
    this.region = { at: arena.allocate(sizes.bytes, 'the first pass'), bytes: sizes.bytes }
    this.mark = arena.mark()
    const rows = Math.ceil(sizes.chunk / ROW_TEXT)
    const bytes = Math.ceil(sizes.chunk * RECORD_SHARE)
    for (let k = 0; k < sizes.rooms; k++) {
      const at = arena.allocate(bytes, 'parsed rows')
      this.#free.push({ at, bytes, table: arena.allocate(rows * 4, 'parsed rows'), rows, unit: settings.unit })
    }
    this.#trainer = new ThreadPool(arena.share, 1)
  }

  /** What all rows would owe if they were like those that were trained on. */
  get owed(): { loss: number; gap: number } {
    const share = this.#trained / Math.max(this.#rows, 1) || 1
    return { loss: this.#loss / share, gap: this.#gap / share }
  }

  /** Room for the next chunk, as soon as there is one; undefined when nothing more is trained on. */
  room(): Promise<PieceRoom | undefined> {
    if (this.#problem === 'none') return Promise.resolve(undefined)
    const room = this.#free.pop()
    return room ? Promise.resolve(room) : new Promise(resolve => this.#waiting.push(resolve))
  }

  /** Chunks come in the order of the text. */
  take(piece: Piece): void {
    const firstRow = this.#rows
    this.#rows += piece.rows
    this.#spread = piece.spread
    this.#chunks.push({ chunk: piece.chunk, rows: piece.rows })
    const { room } = piece
    // The trainer knows the costs of classes alone.
    if (piece.weighted) this.#problem = 'none'
    if (!room) return
    // What is known of the labels now decides, not what is known when its turn comes.
    const problem = this.#problemOf(piece.labels)
    this.#work = this.#work
      .then(() => (problem && this.#failed === undefined ? this.#train(piece, room, firstRow, problem) : undefined))
      .catch(error => {
        this.#failed ??= error
      })
      .then(() => {
        const next = this.#waiting.shift()
        if (next) next(room)
        else this.#free.push(room)
      })
  }

  /** With one class there is nothing to learn yet, with three or more it is not one problem. */
  #problemOf(labels: LabelCount[]): ProblemSettings | undefined {
    if (labels.length > 2) this.#problem = 'none'
    if (this.#problem === 'none' || labels.length < 2) return undefined
    this.#problem ??= this.#settings.problemOf(labels)
    return this.#problem
  }

  async #train(piece: Piece, room: PieceRoom, firstRow: number, problem: ProblemSettings): Promise<void> {
    this.#learner ??= this.newLearner(piece, problem)
    const learner = this.#learner
    const { dictionary, window, alphaRows } = learner
    if (!dictionary && piece.features > window) return
    const rows = Math.min(piece.packed, alphaRows - firstRow)
    if (rows <= 0) return
    const { seed, visits = VISITS } = this.#settings
    const arena = this.#arena
    if (piece.map) arena.u32(learner.labelMap, piece.map.length).set(piece.map)
    const { weights, stride, alpha, sweep, order, blockAlpha } = learner
    const places = { table: room.table, rows, alpha: blockAlpha, weights, biasFeature: window }
    writeProblem(arena, learner.problem, problem, places)
    const group = { rows, table: room.table, order, sweep, alpha: blockAlpha, parts: [{ rows, firstRow }] }
    const met = await this.#trainer.run(firstVisitTask, {
      of: {
        ...{ problem: learner.problem, group, weights, weightCount: window + 1, alpha, alphaStride: stride },
        ...{ logistic: problem.loss.entropicDual === true, narrow: problem.weightBits === 32 },
      },
      ...{ memory: learner.memory, labelMap: piece.map ? learner.labelMap : 0, dictionary },
      ...{ random: [seed, 0, this.#pieces++], pass: 0 },
      budget: (visits * piece.nonzeros * rows) / Math.max(piece.rows, 1),
      budgetRows: visits * rows,
    })
    this.#trained += met.rows
    this.#loss += met.loss
    this.#gap += met.gap
  }

  /** Where all that is learnt lies: addresses. `window` features have room for a weight, and the bias comes behind them;
   *  `alphaRows` rows have room for a dual variable. Room for the set grows out of what the first chunk shows. */
  newLearner(piece: Piece, problem: ProblemSettings) {
    const { bytes, chunk, text } = this.#sizes
    const arena = this.#arena
    const stride = problem.loss.entropicDual ? 16 : 8
    const weightBytes = problem.weightBits / 8
    const apart = TIMES_THE_FEATURES * piece.features * weightBytes
    const few = piece.features <= FEW_FEATURES || (piece.features <= MORE_FEATURES && apart <= SMALL_SHARE * bytes)
    const perFeature = few ? weightBytes : weightBytes + 4 + 16
    const mostFeatures = Math.floor((bytes * WEIGHT_SHARE) / perFeature)
    const wanted = TIMES_THE_FEATURES * Math.max(piece.features, FEW_FEATURES)
    const window = few ? Math.min(wanted, mostFeatures) : mostFeatures
    const allocate = (_: string, size: number, zeroed = true): number => this.#allocate(size, zeroed)
    const weights = allocate('weights', (window + 1) * weightBytes)
    const dictionary = few ? 0 : this.#newDictionary(window)
    // As many rows as the rest of the text will have if it is like its beginning, and some more.
    const most = Math.floor((bytes * ALPHA_SHARE) / (stride + 1 / 8))
    const expected = text === undefined ? most : Math.ceil((1.5 * piece.rows * text) / chunk) + 1000
    const alphaRows = Math.min(most, expected)
    const alpha = allocate('dual variables', alphaRows * stride)
    const rows = Math.ceil(chunk / ROW_TEXT)
    const set = new WorkingSet(arena, allocate, {
      bytes: this.region.bytes - this.#filled - rows * (4 + 4 + 8 + stride) - (64 << 10) - Math.ceil(alphaRows / 8),
      mostBytes: Number.MAX_SAFE_INTEGER,
      rows: alphaRows,
      recordBytes: ROW_BOUND + (8 * piece.nonzeros) / Math.max(piece.rows, 1),
      firstRows: [0],
      alpha,
      alphaStride: stride,
      weights,
      biasFeature: window,
      problem,
      seed: this.#settings.seed,
      followed: false,
      weighted: false,
    })
    return {
      ...{ set, alpha, alphaRows, stride, weights, weightBytes, window, dictionary },
      labelMap: allocate('label map', 1 << 12),
      problem: allocate('problem', PROBLEM_BYTES),
      sweep: allocate('sweep', SWEEP_BYTES),
      order: allocate('order', rows * 4, false),
      blockAlpha: allocate('dual variables of a chunk', rows * stride, false),
      memory: set.memory(allocate, rows, { followed: 0, sums: allocate('sums', SUMS_BYTES) }),
    }
  }

  #newDictionary(capacity: number): number {
    // Two slots for each feature at least: half of a power of two is wasted on average, so the capacity follows.
    const slots = 2 ** Math.floor(Math.log2(capacity * 2))
    const at = this.#allocate(DICTIONARY_BYTES, true)
    const fields = new DictionaryFields(this.#arena, at)
    fields.capacity = Math.min(capacity, Math.floor(slots * 0.7))
    fields.features = this.#allocate(capacity * 4, false)
    fields.mostSlots = slots
    fields.slots = Math.min(slots, FIRST_SLOTS)
    fields.table = this.#allocate(slots * 8, false)
    this.#arena.bytes(fields.table, fields.slots * 8).fill(0)
    return at
  }

  #allocate(bytes: number, zeroed: boolean): number {
    const at = roundUp(this.region.at + this.#filled, CACHE_LINE)
    this.#filled = at - this.region.at + bytes
    if (this.#filled > this.region.bytes) throw new Error('the first pass outgrew its room')
    if (zeroed) this.#arena.bytes(at, bytes).fill(0)
    return at
  }

  /** All text has been read; waits for the trainer. */
  async end(): Promise<void> {
    await this.#work
    await this.#trainer.close()
    if (this.#failed !== undefined) throw this.#failed
    if (this.#learner) this.#arena.numeric.settleAlpha(this.#learner.set.at)
  }

  async abandon(): Promise<void> {
    await this.#trainer.close()
  }

  /** Rows that have been trained on. */
  get trained(): number {
    return this.#problem === 'none' ? 0 : this.#trained
  }

  /** Rows were drawn into these blocks, and then the blocks were split: a place in the order of rows is another now. */
  blocksWereSplit(before: readonly { rows: number }[], places: Uint32Array): void {
    if (this.#split) for (const [row, place] of this.#split.places.entries()) this.#split.places[row] = places[place]
    else {
      let next = 0
      const firstRows = before.map(({ rows }) => {
        next += rows
        return next - rows
      })
      this.#split = { firstRows, places }
    }
  }

  /** Moves weights, dual variables and rows to where a run over the store has them. */
  move(store: Store, newFirstRows: number[], problem: BinaryObjective, map: number, adopt: Adopt): void {
    const learner = this.#learner!
    const arena = this.#arena
    const { numeric } = arena
    const { dictionary, weights, weightBytes, window, set } = learner
    const features = dictionary ? arena.getU32(dictionary + DICTIONARY_FEATURES) : 0
    const count = dictionary ? arena.getU32(dictionary + DICTIONARY_COUNT) : Math.min(window, store.manifest.features)
    const place = problem.narrow ? numeric.placeWeightsF32 : numeric.placeWeightsF64
    place(features, count, map, weights, problem.weights)
    const biasAt = problem.weights + (problem.weightCount - 1) * weightBytes
    arena.bytes(biasAt, weightBytes).set(arena.bytes(weights + window * weightBytes, weightBytes))
    const mark = arena.mark()
    const firstRows = this.#split?.firstRows ?? newFirstRows
    const places = arena.allocate(Math.max(this.#rows, 1) * 4, 'places of the rows')
    const next = arena.allocate(firstRows.length * 4, 'places of the rows')
    arena.u32(next, firstRows.length).set(firstRows)
    const seed = BigInt.asUintN(64, BigInt(store.manifest.seed))
    let row = 0
    for (const { chunk, rows } of this.#chunks) {
      numeric.placeRows(seed, chunk, rows, firstRows.length, this.#spread, next, places + row * 4)
      row += rows
    }
    if (this.#split) {
      const drawn = arena.u32(places, this.#rows)
      for (let r = 0; r < drawn.length; r++) drawn[r] = this.#split.places[drawn[r]]
      this.#split = undefined
    }
    numeric.placeAlpha(learner.alpha, places, Math.min(this.#rows, learner.alphaRows), problem.alpha, learner.stride)
    adopt(set, places, features, map)
    arena.release(mark)
  }
}

type Adopt = (rows: WorkingSet, places: number, features: number, map: number) => void
