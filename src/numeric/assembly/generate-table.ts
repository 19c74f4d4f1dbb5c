// Rows of a table, a tab behind each cell: whole numbers that are skewed, and names, each the eight hexadecimal digits of a hash.
// Either may be missing.
//
// Names come in pairs as the features of sparse rows do. A column of numbers leans to one class: in a row of that class the larger
// of two numbers is taken with probability tilt, in a row of the other class the smaller one.
import {
  MADE_BYTES, MADE_IS_NUMBER, MADE_LEAST, MADE_MISSING, MADE_QUANTILES, PLAN_GROUP_TABLE, PLAN_GROUPS, PLAN_TELLING,
} from '../generate-layout'
import { draw, hiddenWord, UNIT } from './hidden-model'
import { mix } from './random'
import { writeNumber } from './write-number'

const STEP: u64 = 0x9e3779b97f4a7c15
const TAB: u8 = 9, ZERO: u8 = 48, MINUS: u8 = 45

let state: u64 = 0
/** Cells of the last row that are not missing. */
export let cellsFilled: u32 = 0

@inline
function next(): u64 {
  state += STEP
  return mix(state)
}

/** Writes a row behind its label. `salt` is that of the hidden model, `seed` that of the row. */
export function writeTableRow(plan: usize, p: usize, positive: u32, tilt: f64, salt: u32, seed: u64): usize {
  const columns = load<u32>(plan, PLAN_GROUPS)
  const telling = load<u32>(plan, PLAN_TELLING)
  const swap = u32(tilt * 65536)
  let column = <usize>load<u32>(plan, PLAN_GROUP_TABLE)
  let filled: u32 = 0
  state = seed
  for (let k: u32 = 0; k < columns; k++, column += MADE_BYTES) {
    const missing = load<u32>(column, MADE_MISSING)
    if (missing == 0 || (u32(next()) & 0xffff) >= missing) {
      const quantiles = <usize>load<u32>(column, MADE_QUANTILES)
      const columnSalt = salt + k * 0x7f4a7c15
      if (load<u32>(column, MADE_IS_NUMBER)) {
        const leans = (hiddenWord(k, columnSalt) >> 8) & 1
        p = writeWhole(p, drawNumber(quantiles, leans == positive, swap), load<u32>(column, MADE_LEAST))
      } else {
        const rank = draw(next(), quantiles, columnSalt, telling, positive, swap)
        store<u64>(p, hexadecimal(nameOf(rank, columnSalt)))
        p += 8
      }
      filled++
    }
    store<u8>(p++, TAB)
  }
  cellsFilled = filled
  return p
}

/** A number of a column, by the quantiles of its distribution. Ten bits choose the piece, 32 the place in it, 16 the tilt. */
@inline
function drawNumber(quantiles: usize, larger: bool, tilt: u32): u32 {
  const random = next()
  let place = ((random >> 54) << 32) | u64(u32(random))
  if ((u32(random >> 32) & 0xffff) < tilt) {
    const other = next()
    const second = ((other >> 54) << 32) | u64(u32(other))
    place = larger ? max(place, second) : min(place, second)
  }
  const piece = quantiles + (usize(place >> 32) << 3)
  const low = load<f64>(piece)
  return u32(low + (load<f64>(piece, 8) - low) * (f64(u32(place)) * UNIT))
}

/** Writes a number less `least`. */
@inline
function writeWhole(p: usize, number: u32, least: u32): usize {
  if (number == least) {
    store<u8>(p, ZERO)
    return p + 1
  }
  if (number > least) return writeNumber(p, number - least)
  store<u8>(p, MINUS)
  return writeNumber(p + 1, least - number)
}

/** A word for a value of a column: each has its own, for every step can be undone. */
@inline
function nameOf(rank: u32, salt: u32): u32 {
  let h = rank ^ salt
  h = (h ^ (h >> 16)) * 0x85ebca6b
  h = (h ^ (h >> 13)) * 0xc2b2ae35
  return h ^ (h >> 16)
}

/** Eight hexadecimal digits, the first one in the lowest byte. */
@inline
function hexadecimal(word: u32): u64 {
  let x = (u64(word) >> 16) | (u64(word & 0xffff) << 32)
  x = ((x & 0x0000ff000000ff00) >> 8) | ((x & 0x000000ff000000ff) << 16)
  x = ((x & 0x00f000f000f000f0) >> 4) | ((x & 0x000f000f000f000f) << 8)
  // Letters stand 39 places behind the digit 9.
  const letters = ((x + 0x0606060606060606) >> 4) & 0x0101010101010101
  return x + 0x3030303030303030 + letters * 39
}
