// Rows that are small pictures: the strokes of a class, moved, turned, slanted, stretched and bent at random, drawn with a
// pen of random width. Grey levels that are not 0 are the entries of the row.
import {
  DRAWING_BYTES, DRAWING_SEGMENTS, DRAWING_STROKES, DRAWINGS_OF_A_CLASS, PLAN_DRAWINGS, PLAN_LEVELS, PLAN_SIDE, SLOT_ARRAYS,
  SLOT_NONZEROS,
} from '../generate-layout'
import { mix } from './random'
import { writeNumber } from './write-number'

const STEP: u64 = 0x9e3779b97f4a7c15
/** The drawing fills so much of the picture's side, as digits of the real set do. */
const FILLED: f32 = 20.0 / 28.0

let state: u64 = 0

/** A number in [−1, 1), near 0 more often than not. */
@inline
function around0(): f32 {
  state += STEP
  const word = mix(state)
  return f32((f64(u32(word)) + f64(u32(word >> 32))) / 4294967296.0 - 1.0)
}

// Where the deformed end of a stroke is.
let atX: f32 = 0, atY: f32 = 0

/** How a picture is deformed. */
let xx: f32 = 0, xy: f32 = 0, yx: f32 = 0, yy: f32 = 0, moveX: f32 = 0, moveY: f32 = 0
let bendX: f32 = 0, bendY: f32 = 0, phaseX: f32 = 0, phaseY: f32 = 0

function drawDeformation(side: f32, strength: f32): void {
  const turn = strength * <f32>0.3 * around0()
  const slant = strength * <f32>0.4 * around0()
  const width = side * FILLED * (<f32>0.85 + strength * <f32>0.3 * around0())
  const height = side * FILLED * (<f32>1.0 + strength * <f32>0.2 * around0())
  const c = <f32>1.0 - turn * turn * <f32>0.5
  xx = width * c
  xy = -(height * turn) - width * slant
  yx = width * turn
  yy = height * c
  moveX = side * (<f32>0.5 + strength * <f32>0.06 * around0())
  moveY = side * (<f32>0.5 + strength * <f32>0.06 * around0())
  bendX = strength * <f32>0.12 * around0()
  bendY = strength * <f32>0.08 * around0()
  phaseX = around0()
  phaseY = around0()
}

/** An arch over [−1, 1], 0 at both ends, that goes on as a wave: what bends a stroke. */
@inline
function wave(t: f32): f32 {
  t -= <f32>2.0 * Mathf.floor((t + <f32>1.0) * <f32>0.5)
  return <f32>4.0 * t * (<f32>1.0 - abs(t))
}

@inline
function deform(x: f32, y: f32): void {
  const u = x - <f32>0.5 + bendX * wave(<f32>2.0 * y + phaseX)
  const v = y - <f32>0.5 + bendY * wave(<f32>2.0 * x + phaseY)
  atX = moveX + xx * u + xy * v
  atY = moveY + yx * u + yy * v
}

/** Draws a stroke from one place to another: a pixel is as dark as the pen covers it. */
function stroke(image: usize, side: i32, x0: f32, y0: f32, x1: f32, y1: f32, pen: f32): void {
  const reach = pen + <f32>0.5
  const left = max(0, i32(Mathf.ceil(min(x0, x1) - reach)))
  const right = min(side - 1, i32(Mathf.floor(max(x0, x1) + reach)))
  const top = max(0, i32(Mathf.ceil(min(y0, y1) - reach)))
  const bottom = min(side - 1, i32(Mathf.floor(max(y0, y1) + reach)))
  const dx = x1 - x0
  const dy = y1 - y0
  const length = max(dx * dx + dy * dy, <f32>1e-6)
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const px = f32(x) - x0
      const py = f32(y) - y0
      const t = max(<f32>0.0, min(<f32>1.0, (px * dx + py * dy) / length))
      const ex = px - t * dx
      const ey = py - t * dy
      const ink = min(<f32>1.0, reach - Mathf.sqrt(ex * ex + ey * ey))
      const at = image + (usize(y * side + x) << 2)
      if (ink > load<f32>(at)) store<f32>(at, ink)
    }
  }
}

/** Writes a row of a class; the slot gets the number of its entries. */
export function writeDrawnRow(plan: usize, slot: usize, p: usize, label: u32, strength: f64, seed: u64): usize {
  state = seed
  const side = i32(load<u32>(plan, PLAN_SIDE))
  const image = slot + SLOT_ARRAYS
  const pixels = u32(side * side)
  memory.fill(image, 0, usize(pixels) << 2)
  state += STEP
  const style = u32(mix(state) >> 32) % DRAWINGS_OF_A_CLASS
  const drawing = <usize>load<u32>(plan, PLAN_DRAWINGS) + usize(label * DRAWINGS_OF_A_CLASS + style) * DRAWING_BYTES
  drawDeformation(f32(side), f32(strength))
  // Of 28 pixels the pen covers about two.
  const pen = f32(side) * (<f32>0.04 + <f32>0.016 * around0())
  const segments = load<u32>(drawing, DRAWING_SEGMENTS)
  let at = <usize>load<u32>(drawing, DRAWING_STROKES)
  for (let k: u32 = 0; k < segments; k++, at += 16) {
    deform(load<f32>(at), load<f32>(at, 4))
    const x0 = atX
    const y0 = atY
    deform(load<f32>(at, 8), load<f32>(at, 12))
    stroke(image, side, x0, y0, atX, atY, pen)
  }
  const levels = <usize>load<u32>(plan, PLAN_LEVELS)
  let entries: u32 = 0
  for (let j: u32 = 0; j < pixels; j++) {
    const level = u32(<f32>255.0 * load<f32>(image + (usize(j) << 2)))
    if (level == 0) continue
    p = writeNumber(p, j + 1)
    const text = load<u64>(levels + (usize(level) << 3))
    store<u64>(p, text)
    p += usize(text >> 56)
    entries++
  }
  store<u32>(slot, entries, SLOT_NONZEROS)
  return p
}
