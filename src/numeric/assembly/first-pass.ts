// Training on text as it is parsed: numbers for features and rows before all of them are known. Features get their
// weights in the order in which they are met, for nobody knows yet which there are. Rows are numbered as they come, for
// nobody knows yet how many each block will have.
import { ROW_COUNT, ROW_ENTRIES } from '../layouts'
import { noteTouched } from './ahead'
import { drawnBlock, firstBlockOf, seededDraw } from './draw-block'
import { isDense } from './row'
import {
  DICTIONARY_CAPACITY, DICTIONARY_COUNT, DICTIONARY_FEATURES, DICTIONARY_MOST_SLOTS, DICTIONARY_SLOTS, DICTIONARY_TABLE,
} from '../working-set-layout'
import { lookup } from './feature-map'

/** Entries whose slots are loaded before any of them is looked at: see ahead.ts. A branch that waits for memory and was foreseen
 *  wrongly would keep all later loads waiting, too. */
const AT_A_TIME: usize = 64
/** Slots of the dictionary's table for each feature, at least, as long as it may grow. */
const SLOTS_A_FEATURE: u32 = 2

@inline
function slotOf(feature: u32, mask: u32): u32 {
  return ((feature * 0x9e3779b1) >>> 7) & mask
}

/** Number of a feature, a new one if it has none; 2^32 − 1 when there is no room for it. */
@inline
function numberOf(dictionary: usize, table: usize, mask: u32, feature: u32): u32 {
  let slot = slotOf(feature, mask)
  let at = table + (usize(slot) << 3)
  let key = load<u32>(at)
  while (key != feature + 1 && key != 0) {
    slot = (slot + 1) & mask
    at = table + (usize(slot) << 3)
    key = load<u32>(at)
  }
  if (key != 0) return load<u32>(at, 4)
  const count = load<u32>(dictionary, DICTIONARY_COUNT)
  if (count >= load<u32>(dictionary, DICTIONARY_CAPACITY)) return 0xffffffff
  store<u32>(at, feature + 1)
  store<u32>(at, count, 4)
  store<u32>(usize(load<u32>(dictionary, DICTIONARY_FEATURES)) + (usize(count) << 2), feature)
  store<u32>(dictionary, count + 1, DICTIONARY_COUNT)
  return count
}

/** Makes the table so large that some more features have room: slots that are few stay in the caches. Numbers stay as they are. */
function growTable(dictionary: usize): void {
  const count = load<u32>(dictionary, DICTIONARY_COUNT)
  const most = load<u32>(dictionary, DICTIONARY_MOST_SLOTS)
  let slots = load<u32>(dictionary, DICTIONARY_SLOTS)
  while (slots < most && slots < (count + u32(AT_A_TIME)) * SLOTS_A_FEATURE) slots <<= 1
  const table = usize(load<u32>(dictionary, DICTIONARY_TABLE))
  const features = usize(load<u32>(dictionary, DICTIONARY_FEATURES))
  memory.fill(table, 0, usize(slots) << 3)
  store<u32>(dictionary, slots, DICTIONARY_SLOTS)
  for (let number: u32 = 0; number < count; number++) {
    const feature = load<u32>(features + (usize(number) << 2))
    let slot = slotOf(feature, slots - 1)
    while (load<u32>(table + (usize(slot) << 3)) != 0) slot = (slot + 1) & (slots - 1)
    store<u32>(table + (usize(slot) << 3), feature + 1)
    store<u32>(table + (usize(slot) << 3), number, 4)
  }
}

/** Renumbers the entries of rows by the dictionary, and lists the rows whose features all have a number. */
export function numberFeatures(dictionary: usize, rows: usize, count: u32, order: usize): u32 {
  const table = usize(load<u32>(dictionary, DICTIONARY_TABLE))
  const most = load<u32>(dictionary, DICTIONARY_MOST_SLOTS)
  let mask = load<u32>(dictionary, DICTIONARY_SLOTS) - 1
  let listed: u32 = 0
  for (let k: u32 = 0; k < count; k++) {
    const row = usize(load<u32>(rows + (usize(k) << 2)))
    if (isDense(row)) continue
    let at = row + ROW_ENTRIES
    let whole = true
    const end = at + (usize(load<u32>(row, ROW_COUNT)) << 2)
    while (at < end && whole) {
      const upTo = min(at + (AT_A_TIME << 2), end)
      if (mask + 1 < most && mask + 1 < (load<u32>(dictionary, DICTIONARY_COUNT) + u32(AT_A_TIME)) * SLOTS_A_FEATURE) {
        growTable(dictionary)
        mask = load<u32>(dictionary, DICTIONARY_SLOTS) - 1
      }
      let sum: u32 = 0
      for (let ahead = at; ahead < upTo; ahead += 4) sum += load<u32>(table + (usize(slotOf(load<u32>(ahead), mask)) << 3))
      noteTouched(sum)
      for (; at < upTo; at += 4) {
        const number = numberOf(dictionary, table, mask, load<u32>(at))
        if (number == 0xffffffff) {
          whole = false
          break
        }
        store<u32>(at, number)
      }
    }
    if (!whole) continue
    store<u32>(order + (usize(listed) << 2), k)
    listed++
  }
  return listed
}

/** Places in the store of the rows of a chunk, which were drawn into blocks: `next` has the place of each block's next row. */
export function placeRows(
  seed: u64, chunk: u32, rows: u32, blocks: u32, spread: u32, next: usize, places: usize,
): void {
  const seeded = seededDraw(seed)
  const first = firstBlockOf(seeded, chunk, blocks, spread)
  for (let r: u32 = 0; r < rows; r++) {
    const at = next + (usize(drawnBlock(seeded, chunk, r, first, blocks, spread)) << 2)
    const place = load<u32>(at)
    store<u32>(at, place + 1)
    store<u32>(places + (usize(r) << 2), place)
  }
}

/** Puts dual variables from the order of arrival into the order of the store. */
export function placeAlpha(from: usize, places: usize, rows: u32, to: usize, stride: u32): void {
  for (let r: u32 = 0; r < rows; r++) {
    memory.copy(to + usize(load<u32>(places + (usize(r) << 2))) * usize(stride), from + usize(r) * usize(stride), usize(stride))
  }
}

/** Puts weights from the order of a dictionary into that of the features (map 0), or of the features in use. */
export function placeWeightsF64(features: usize, count: u32, map: usize, from: usize, to: usize): void { placeWeights<f64>(features, count, map, from, to) }
export function placeWeightsF32(features: usize, count: u32, map: usize, from: usize, to: usize): void { placeWeights<f32>(features, count, map, from, to) }

@inline
function placeWeights<W>(features: usize, count: u32, map: usize, from: usize, to: usize): void {
  for (let k: u32 = 0; k < count; k++) {
    const feature = features == 0 ? k : load<u32>(features + (usize(k) << 2))
    const weight = load<W>(from + usize(k) * sizeof<W>())
    if (weight == 0) continue
    const place = map == 0 ? feature : lookup(map, feature)
    store<W>(to + usize(place) * sizeof<W>(), weight)
  }
}

/** Renumbers a record's entries the same way. Dense rows have no numbers: they come without a dictionary and without a map. */
export function placeFeatures(features: usize, map: usize, row: usize): void {
  if (isDense(row)) return
  let at = row + ROW_ENTRIES
  for (const end = at + (usize(load<u32>(row, ROW_COUNT)) << 2); at < end; at += 4) {
    const number = load<u32>(at)
    const feature = features == 0 ? number : load<u32>(features + (usize(number) << 2))
    store<u32>(at, map == 0 ? feature : lookup(map, feature))
  }
}
