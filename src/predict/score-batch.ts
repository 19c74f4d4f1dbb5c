// Scores of the rows of a batch, made as training made them: fitted, expanded, renumbered and scaled as the model says.
import { Expander, piecesOf } from '../features/expander.ts'
import type { ScorerMemory } from '../model/scorer.ts'
import type { Arena } from '../numeric/arena.ts'

/** What a thread keeps between two batches. */
export class BatchScorer {
  readonly #arena: Arena
  readonly #expander: Expander | undefined
  #scores = 0
  #room = 0

  constructor(arena: Arena, expand: string | undefined) {
    this.#arena = arena
    this.#expander = expand === undefined ? undefined : new Expander(arena, expand)
  }

  /** The scores of a row side by side, one for each weight vector; there until the next batch. */
  score(scorer: ScorerMemory, batch: number, rows: number): Float64Array {
    const arena = this.#arena
    const { vectors, fit, map } = scorer
    if (rows * vectors > this.#room) {
      this.#room = rows * vectors * 2
      this.#scores = arena.allocate(this.#room * 8, 'the scores')
    }
    if (fit) arena.numeric.fitBatch(batch, fit.ranges, fit.features, fit.bins)
    for (const piece of piecesOf(arena, batch, this.#expander)) {
      if (map) arena.numeric.renumberBatch(map, piece.batch)
      arena.numeric.scoreBatch(
        piece.batch,
        scorer.weights,
        scorer.features,
        vectors,
        scorer.bias,
        scorer.factors,
        scorer.unit,
        this.#scores + piece.first * vectors * 8,
        scorer.narrow,
      )
    }
    return arena.f64(this.#scores, rows * vectors)
  }
}
