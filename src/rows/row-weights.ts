// Weights of rows, put together part by part. A part without weights has the weight 1 in every row.
export class RowWeights {
  #rows = 0
  readonly #parts: { from: number; weights: Float64Array }[] = []

  add(weights: Float64Array | undefined, rows: number): void {
    if (weights) this.#parts.push({ from: this.#rows, weights })
    this.#rows += rows
  }

  /** Whether a part had weights. */
  get some(): boolean {
    return this.#parts.length > 0
  }

  together(): Float64Array {
    const all = new Float64Array(this.#rows)
    this.fill(all)
    return all
  }

  /** Writes the weights of all rows, and keeps none. */
  fill(target: Float64Array): void {
    target.fill(1)
    for (const { from, weights } of this.#parts.splice(0)) target.set(weights, from)
  }
}
