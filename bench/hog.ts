// Histograms of gradient orientations of a digit of 28 × 28 pixels: 7 × 7 cells of 4 × 4 pixels, 9 orientations each, 441
// values in [0, 1]. A cell is divided by the length of each block of 2 × 2 cells that it is part of, and the quotients
// are averaged: what Dalal and Triggs keep apart, folded as Felzenszwalb does, for a quarter of the features.
import type { TextRow } from './libsvm-text.ts'

const SIDE = 28
const CELL = 4
const CELLS = SIDE / CELL
const ORIENTATIONS = 9
export const HOG_FEATURES = CELLS * CELLS * ORIENTATIONS
/** Added to the length of a block, in grey levels, so that empty paper stays empty. */
const FLOOR = 20
/** Four digits after the point are more than the grey levels are good for, and half the text. */
const STEPS = 10_000

/** The histograms of a picture of 28 × 28 grey levels. */
export function hogOf(pixels: Float64Array): Float64Array {
  const cells = new Float64Array(HOG_FEATURES)
  // Beyond the edge the picture goes on as it ends.
  const at = (y: number, x: number): number =>
    pixels[Math.min(SIDE - 1, Math.max(0, y)) * SIDE + Math.min(SIDE - 1, Math.max(0, x))]
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const right = at(y, x + 1) - at(y, x - 1)
      const down = at(y + 1, x) - at(y - 1, x)
      const size = Math.hypot(right, down)
      if (size === 0) continue
      // Light on dark and dark on light are the same edge: half a turn. Shared between the two nearest orientations.
      const turn = ((Math.atan2(down, right) / Math.PI + 1) % 1) * ORIENTATIONS
      const low = Math.floor(turn) % ORIENTATIONS
      const part = turn - Math.floor(turn)
      const cell = (Math.floor(y / CELL) * CELLS + Math.floor(x / CELL)) * ORIENTATIONS
      cells[cell + low] += size * (1 - part)
      cells[cell + ((low + 1) % ORIENTATIONS)] += size * part
    }
  }
  const energy = (y: number, x: number): number => {
    let sum = 0
    const cell = (y * CELLS + x) * ORIENTATIONS
    for (let o = 0; o < ORIENTATIONS; o++) sum += cells[cell + o] ** 2
    return sum
  }
  const result = new Float64Array(HOG_FEATURES)
  for (let y = 0; y < CELLS; y++) {
    for (let x = 0; x < CELLS; x++) {
      let factor = 0
      let blocks = 0
      for (const top of [y - 1, y]) {
        for (const left of [x - 1, x]) {
          if (top < 0 || left < 0 || top + 1 >= CELLS || left + 1 >= CELLS) continue
          const sum = energy(top, left) + energy(top, left + 1) + energy(top + 1, left) + energy(top + 1, left + 1)
          factor += 1 / (Math.sqrt(sum) + FLOOR)
          blocks++
        }
      }
      const cell = (y * CELLS + x) * ORIENTATIONS
      for (let o = 0; o < ORIENTATIONS; o++) {
        result[cell + o] = Math.round((cells[cell + o] * factor * STEPS) / blocks) / STEPS
      }
    }
  }
  return result
}

const pixels = new Float64Array(SIDE * SIDE)

/** A row of grey levels, features 1 to 784, becomes a row of histograms; zeros are left out when it is written. */
export function hogOfRow(row: TextRow): void {
  pixels.fill(0)
  for (let p = 0; p < row.length; p++) pixels[row.indices[p] - 1] = row.values[p]
  const values = hogOf(pixels)
  // A reader's rows have room for 1,024 entries from the start.
  row.length = values.length
  row.values.set(values)
  for (let j = 0; j < values.length; j++) row.indices[j] = j + 1
}
