// Runs of cells that are numbers of few digits, as rows of most tables are. What a run needs is little, so that it stays in
// registers: a loop that knows of every kind of cell would not have it so.
import {
  COLUMN_BYTES, COLUMN_FEATURE, COLUMN_MISSING, COLUMN_ROLE, NO_FEATURE, ROLE_NUMBER,
} from '../table-layout'
import { eightDigits, notDigits, ZEROS } from './parse-number'
import { LF, MINUS } from './parse-number'
import { quickNumber, quickValue, separatorsFrom } from './read-cell'

/** What a number is divided by that has so many digits behind its point; 8 stands for no point. */
const PLACES: StaticArray<f64> = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e0]
/** The bytes of a word from one on. */
const FROM_BYTE: StaticArray<u64> = [
  0xffffffffffffffff, 0xffffffffffffff00, 0xffffffffffff0000, 0xffffffffff000000, 0xffffffff00000000, 0xffffff0000000000,
  0xffff000000000000, 0xff00000000000000, 0,
]
const EVERY_BYTE: u64 = 0x0101010101010101
/** A point, with '0' taken off. */
const POINTS: u64 = 0x1e * EVERY_BYTE

// What a run leaves behind. Globals belong to an instance, so to one thread.
/** The cell that the run came to, the separator behind it, and the record of its column. */
export let runAt: usize = 0
export let runStop: usize = 0
export let runRecord: usize = 0
/** Separators from there on, in the 64 bytes from `runBase` on. */
export let runBase: usize = 0
export let runAhead: u64 = 0
export let runEntries: u32 = 0
/** One more than the feature of the last entry, and whether one came before a smaller one. */
export let runNext: u32 = 0
export let runUnsorted: bool = false
export let runZeros: u32 = 0
/** Whether the run ended with its row, or with the last column: `runAt` is then the separator behind it. */
export let runEnded: bool = false

/** Where the entries of a batch go, and how many it has room for. */
let indices: usize = 0
let values: usize = 0
let room: u32 = 0

export function beginRuns(toIndices: usize, toValues: usize, entries: u32): void {
  indices = toIndices
  values = toValues
  room = entries
}

/** Reads cells from the one at p on, in columns of numbers up to the one whose record is `last`, until one takes more care. The run
 *  has `entries` entries before it, the last of which is of the feature before `next`. Signs, points and lengths of short numbers
 *  take no branch: nobody can foresee them. */
export function numberRun<V>(p: usize, base: usize, ahead: u64, delimiter: u32, record: usize, last: usize, entries: u32, next: u32): void {
  const most = room
  const toIndices = indices
  const toValues = values
  let zeros: u32 = 0
  let stop: usize = 0
  let ended = false
  runUnsorted = false
  while (entries < most && load<u32>(record, COLUMN_ROLE) == ROLE_NUMBER) {
    while (ahead == 0) {
      base += 64
      ahead = separatorsFrom(base, delimiter)
    }
    stop = base + usize(ctz(ahead))
    const length = u32(stop - p)
    let feature: u32
    let kept = <V>1
    if (length == 0) feature = load<u32>(record, COLUMN_MISSING)
    else {
      if (length > 8) {
        if (quickNumber(p, delimiter, sizeof<V>() == 8) != stop) break
        kept = <V>quickValue
      } else {
        const negative = u64(<u32>load<u8>(p) == MINUS)
        // The bytes up to the cell's end, those before its digits wiped out.
        let word = (load<u64>(stop - 8) ^ ZEROS) & unchecked(FROM_BYTE[8 - length + u32(negative)])
        // The high bit of the point's byte. The lowest bit that is found is right, higher ones need not be.
        const off = word ^ POINTS
        let point = (off - EVERY_BYTE) & ~off & (EVERY_BYTE << 7)
        point &= 0 - point
        // Digits before the point move to where it stands.
        const whole = word & ((point >> 7) - 1)
        word = point != 0 ? (word & ~((point << 1) - 1)) | (whole << 8) : word
        if (notDigits(word) != 0) break
        // There may be no digit at all.
        if (word == 0 && length <= u32(negative) + u32(point != 0)) break
        const value = f64(i64(eightDigits(word))) / unchecked(PLACES[u32(clz(point) >> 3)])
        kept = <V>reinterpret<f64>(reinterpret<u64>(value) | (negative << 63))
      }
      feature = load<u32>(record, COLUMN_FEATURE)
      if (kept == 0) {
        zeros++
        feature = NO_FEATURE
      }
    }
    if (feature != NO_FEATURE) {
      store<u32>(toIndices + (usize(entries) << 2), feature)
      store<V>(toValues + usize(entries) * sizeof<V>(), kept)
      entries++
      if (feature < next) runUnsorted = true
      next = feature + 1
    }
    p = stop
    ahead &= ahead - 1
    ended = true
    if (record == last) break
    if (<u32>load<u8>(p) == LF) break
    ended = false
    p++
    record += COLUMN_BYTES
  }
  runAt = p
  runStop = stop
  runRecord = record
  runBase = base
  runAhead = ahead
  runEntries = entries
  runNext = next
  runZeros = zeros
  runEnded = ended
}
