// The memory plan: what `--memory` is spent on, reckoned before the work starts. What cannot work is refused with the
// arithmetic; what can is shown by `inspect`.

import type { Manifest } from '../../block-store/manifest.ts'
import { decodedSegment, SPLIT_SEGMENT_BYTES } from '../../block-store/segment-size.ts'
import { SpillwayError } from '../../errors.ts'
import { parseExpansion } from '../../features/expansion-steps.ts'
import { formatBytes } from '../../numeric/arena.ts'
import { BATCH_BOUND, ROW_BOUND } from '../../numeric/layouts.ts'
import { roundUp } from '../../numeric/rounding.ts'
import { memoryThatWouldDo } from '../../rows/too-little-memory.ts'
import { type ByteCount, NODE_BYTES, READ_BYTES, WINDOW_BYTES } from '../../sizes.ts'

/** What a first pass over the text takes of it at most. */
export const MOST_FIRST_PASS = 1 << 30

export interface PlanNeeds {
  /** 8 or 4. */
  weightBytes: ByteCount
  /** Bytes of dual variable for each row; 0 for methods without. */
  alphaBytes: ByteCount
  /** Bytes of a map from features to weights; 0 when features keep their numbers. */
  mapBytes: ByteCount
  /** Weights, the bias not counted. */
  weights: number
  /** Bytes of other numbers for each weight (scale factors, say). */
  perWeight: ByteCount
  /** Bytes of other things for each row. */
  perRow?: ByteCount
  /** Bytes of what a method can do without. */
  spare?: ByteCount
  spareFor?: string | undefined
  /** Blocks in memory at a time: the one being worked on and the one being read. */
  slots: number
  /** Share of what is left for blocks that is to be kept for a cache of rows. */
  cacheShare: number
  /** The least that the cache must have, by the bytes of a row's record on average. */
  leastCache?: ((recordBytes: ByteCount) => ByteCount) | undefined
  /** Where training may have begun while the text was read: the bytes that it has taken, when so much memory may be. */
  firstPass?: (memory: ByteCount) => ByteCount
  /** Bytes of an entry at most. */
  entryBytes?: ByteCount
  /** When rows are expanded: nonzeros of each block, and what expanding takes in a thread. */
  expanded?: { nonzeros: number[]; threadBytes: ByteCount } | undefined
  /** Bytes left alone of so much memory: what the system and an earlier ingest hold on to. */
  reserve?: (memory: ByteCount) => ByteCount
  /** The same if a memory is named, as advice has it. */
  namedReserve?: (memory: ByteCount) => ByteCount
  /** What would help besides more memory. */
  otherHelp?: string
  /** The needs with weights in f32, where that is a choice. */
  narrow?: PlanNeeds | undefined
}

/** A memory that cannot work. */
export class TooLittleMemory extends SpillwayError {
  override name = 'TooLittleMemory'
  /** A memory that would do by the plan that was refused; undefined where none would. */
  readonly enough: ByteCount | undefined
  readonly otherHelp: string[]

  constructor(message: string, enough: ByteCount | undefined, otherHelp: string[]) {
    const help = enough === undefined ? otherHelp : [memoryThatWouldDo(enough), ...otherHelp]
    super(
      message,
      help.length > 0
        ? `what would help: ${help.join(', or ')}`
        : `no --memory would do: a run has ${formatBytes(WINDOW_BYTES)} at most, besides Node; take fewer features`,
    )
    this.enough = enough
    this.otherHelp = otherHelp
  }

  /** The same refusal in other words, or with other advice. */
  reworded(message: string, enough = this.enough): TooLittleMemory {
    return new TooLittleMemory(message, enough, this.otherHelp)
  }
}

/** Blocks that do not fit, though smaller ones would. */
export class BlocksTooLarge extends TooLittleMemory {
  override name = 'BlocksTooLarge'
  /** How many blocks to make of each. */
  readonly parts: number[]

  constructor({ message, enough, otherHelp }: TooLittleMemory, parts: number[]) {
    super(message, enough, otherHelp)
    this.parts = parts
  }

  /** The same refusal, where other parts are better. */
  into(parts: number[]): BlocksTooLarge {
    return new BlocksTooLarge(this, parts)
  }
}

export interface MemoryPlan {
  memory: ByteCount
  parts: { what: string; bytes: ByteCount }[]
  /** Loaded blocks in memory at a time, and the bytes of row records and the rows that each can hold. */
  slots: number
  slotBytes: ByteCount
  slotRows: number
  /** What each block of the store takes of that. */
  costs: { bytes: ByteCount; rows: number }[]
  cacheBytes: ByteCount
  /** For what a method can do without. */
  spareBytes: ByteCount
  /** Whether the window has room beside it for what was learnt while the text was read, until that has moved. */
  firstPass: boolean
  /** Of a weight: 8 or 4. */
  weightBytes: ByteCount
  /** What a row's record takes on average, at most. */
  recordBytes: ByteCount
}

/** The most that an entry of a packed row takes: its index and its value. Strings without gaps have no indices, and rows of
 *  equal values no values. */
export function entryBytes(valueBits: number, format: { letters: boolean }, expand?: string): ByteCount {
  if (expand !== undefined) return parseExpansion(expand).entryBytes(valueBits)
  return valueBits === 64 ? 12 : format.letters ? 4 : 8
}

/** The most that a block takes once it is decoded. */
export function decodedBound(
  block: { rows: number; nonzeros: number; segments: number },
  valueBits: number,
  perEntry = entryBytes(valueBits, { letters: false }),
): ByteCount {
  const bytes = block.rows * ROW_BOUND + block.nonzeros * perEntry + block.segments * BATCH_BOUND + 4096
  // The next block's records begin where these may end.
  return roundUp(bytes, 8)
}

/** What decoding takes: a segment of about the average size, its batch with room to grow, and label numbers. */
function decodeBytes(manifest: Manifest): ByteCount {
  const average = manifest.blocks.map(block => decodedSegment(block) / Math.max(block.segments, 1))
  return DECODER_BYTES + Math.ceil(Math.max(0, ...average))
}

const DECODER_BYTES = 2 << 20

/** Table and order of a loaded row; its dual variable comes on top. */
const PER_LOADED_ROW = 8

/** Blocks are loaded in pairs at least, where there is no limit to fill: see groupsOf. */
export const PAIR = 2
/** Smaller blocks are not made; and blocks that training makes good progress with. */
export const LEAST_BLOCK = 1 << 20
export const GOOD_BLOCK = 4 << 20
/** Parts of a block differ in size. */
export const UNEVEN = 1.1
export const MOST_PARTS = 100_000

/** What is needed besides the blocks, when decoding takes so much in a thread. */
function besidesBlocks(manifest: Manifest, memory: number, needs: PlanNeeds, decode: number): MemoryPlan['parts'] {
  const { weights, weightBytes } = needs
  const narrow = needs.expanded && weightBytes === 4 ? ', f32' : ''
  return [
    { what: 'Node and the program', bytes: NODE_BYTES },
    { what: 'reading and decoding, two threads', bytes: 2 * (READ_BYTES + decode) },
    { what: 'expanding, two threads', bytes: 2 * (needs.expanded?.threadBytes ?? 0) },
    {
      what: `weights of ${Math.ceil(weights)} features${narrow}`,
      bytes: (weights + 1) * (weightBytes + needs.perWeight),
    },
    {
      what: `dual variables of ${manifest.rows} rows`,
      bytes: Math.ceil(manifest.rows * (needs.alphaBytes + (needs.perRow ?? 0))),
    },
    { what: needs.spareFor ?? 'weights and dual variables of before', bytes: needs.spare ?? 0 },
    { what: 'map of the features', bytes: needs.mapBytes },
    { what: "reserve for Node's file and reading text", bytes: needs.reserve?.(memory) ?? 0 },
    { what: 'rows that stay in memory, at least', bytes: leastCacheOf(manifest, needs) },
  ].filter(part => part.bytes > 0)
}

/** What a row's record takes on average, at most. */
function recordBytesOf({ rows, nonzeros }: Manifest, { entryBytes = 8, expanded }: PlanNeeds): ByteCount {
  const entries = expanded ? expanded.nonzeros.reduce((total, each) => total + each, 0) : nonzeros
  return ROW_BOUND + (entryBytes * entries) / Math.max(rows, 1)
}

function leastCacheOf(manifest: Manifest, needs: PlanNeeds): ByteCount {
  return needs.leastCache?.(recordBytesOf(manifest, needs)) ?? 0
}

/** What the window has left beside these. */
function windowBeside(parts: MemoryPlan['parts']): number {
  return WINDOW_BYTES - (sum(parts, 'bytes') - NODE_BYTES)
}

/** Bytes that are left for blocks and a cache. */
function leftOf(parts: MemoryPlan['parts'], memory: number): number {
  return Math.min(memory - sum(parts, 'bytes'), windowBeside(parts))
}

export function planMemory(manifest: Manifest, memory: ByteCount, needs: PlanNeeds, fill: boolean): MemoryPlan {
  const parts = besidesBlocks(manifest, memory, needs, decodeBytes(manifest))
  const left = leftOf(parts, memory)
  const perRow = PER_LOADED_ROW + needs.alphaBytes + (manifest.rowWeights ? 8 : 0)
  const { expanded, weightBytes } = needs
  const blocks = manifest.blocks.map((block, k) => ({ ...block, nonzeros: expanded?.nonzeros[k] ?? block.nonzeros }))
  const bytesOf = (block: Manifest['blocks'][number]) => decodedBound(block, manifest.valueBits, needs.entryBytes)
  const costs = blocks.map(block => ({ bytes: bytesOf(block), rows: block.rows }))
  const mostBytes = Math.max(0, ...costs.map(cost => cost.bytes))
  const mostRows = Math.max(0, ...costs.map(cost => cost.rows))
  // A slot has room for the block with the most bytes and for the one with the most rows, which may be another.
  const largest = mostBytes + mostRows * perRow
  // A cache gives way to blocks that need the room, down to a quarter of its share.
  const share = needs.cacheShare
  const least = (left * share) / 4
  const region = needs.firstPass?.(memory) ?? 0
  const inWindow = windowBeside(parts) - manifest.rows * 4
  const beside = besideFirstPass(region, Math.min(inWindow, memory - sum(parts, 'bytes')), largest, needs.slots)
  const firstPass = region > 0 && beside >= least
  const most = firstPass ? Math.min(left * share, beside) : left * share
  const fixed = leastCacheOf(manifest, needs)
  const forCache = Math.floor(Math.max(0, Math.min(most, Math.max(least, left - needs.slots * largest))))
  const more = fill ? forCache : Math.min(forCache, MOST_UNNAMED)
  const cacheBytes = more + fixed
  const forSlots = left - forCache
  const room = firstPass
    ? roomAfterFirstPass(region, forSlots, largest, needs.slots)
    : Math.floor(forSlots / needs.slots)
  if (largest > room) throw refused(manifest, memory, needs, fill, { parts, costs, largest, perRow })
  const all = sum(costs, 'bytes') + sum(costs, 'rows') * perRow
  // As many blocks together as the memory holds, or, with no limit to fill, two.
  const fitting = Math.floor(room / Math.max(largest, 1))
  const together = fill || all <= room ? fitting : Math.min(PAIR, fitting)
  const count = Math.max(1, Math.min(together, fill ? costs.length : Math.ceil(costs.length / 2)))
  const slotBytes = Math.min(mostBytes * count, sum(costs, 'bytes'))
  const slotRows = Math.min(mostRows * count, sum(costs, 'rows'))
  const slots = slotRows >= manifest.rows ? 1 : needs.slots
  parts.push({
    what: `${slots} loaded ${slots === 1 ? 'block' : 'blocks'} of at most ${formatBytes(slotBytes)}`,
    bytes: slots * (slotBytes + slotRows * perRow),
  })
  if (firstPass) {
    const bytes = notForSlots(region, slotBytes + slotRows * perRow, slots)
    if (bytes > 0) parts.push({ what: 'taken while text was read, and not by blocks', bytes })
  }
  if (more > 0) parts.push({ what: fixed > 0 ? 'more of them' : 'cache of rows', bytes: more })
  const recordBytes = recordBytesOf(manifest, needs)
  const rooms = { slots, slotBytes, slotRows, costs, cacheBytes, spareBytes: needs.spare ?? 0 }
  return { memory, parts, ...rooms, firstPass, weightBytes, recordBytes }
}

/** Of a cache, where no memory was named. Memory that nobody has used yet costs as long to take as rows cost to be read again: 9.66 GB
 *  of text took 28 s with a cache of 2.7 GiB, and 22 s with this one. The system keeps blocks in the rest. */
const MOST_UNNAMED = 1 << 30

/** What a first pass took is not all there for slots. */
const ROUNDING = 4096

/** What is left for a cache of so much. The cache takes rows over from the first pass, which lies beside it until then; only
 *  afterwards do slots go where it was, as many as fit. Memory that the first pass has touched is not given back. */
function besideFirstPass(region: ByteCount, left: ByteCount, slot: ByteCount, slots: number): ByteCount {
  return left - notForSlots(region, slot, slots) - slots * slot
}

/** Bytes of what a first pass took that no slot goes to. */
function notForSlots(region: ByteCount, slot: ByteCount, slots: number): ByteCount {
  const there = Math.floor(Math.max(0, region - ROUNDING) / Math.max(slot, 1))
  return region - Math.min(slots, there) * slot
}

/** Room of a slot, where all slots together have so much, what a first pass took included. Blocks are joined where all slots go to
 *  where it was, or all have room beside it. */
function roomAfterFirstPass(region: ByteCount, forSlots: ByteCount, largest: ByteCount, slots: number): ByteCount {
  const there = Math.min(forSlots, region - ROUNDING) / slots
  if (there >= largest) return Math.floor(there)
  return Math.floor(Math.min(forSlots / slots, Math.max(largest, (forSlots - region) / slots)))
}

function sum<F extends string>(items: Record<F, number>[], field: F): number {
  return items.reduce((total, item) => total + item[field], 0)
}

/** Blocks in this order, as many together as a slot holds. Blocks that are loaded together are solved together. Which ones
 *  meet changes with the order, from pass to pass: rows of one block can only trade their dual variables with rows they
 *  meet, and where rows are many and features few, nothing converges before they have met them all. */
export function groupsOf(plan: MemoryPlan, order: number[]): number[][] {
  const groups: number[][] = []
  let [bytes, rows] = [Number.POSITIVE_INFINITY, 0]
  for (const block of order) {
    const cost = plan.costs[block]
    if (bytes + cost.bytes > plan.slotBytes || rows + cost.rows > plan.slotRows) {
      groups.push([])
      bytes = 0
      rows = 0
    }
    groups[groups.length - 1].push(block)
    bytes += cost.bytes
    rows += cost.rows
  }
  return groups
}

/** The plan as lines of an aligned table. */
export function planLines(parts: MemoryPlan['parts'], memory: number): string[] {
  const rows = [...parts, { what: 'in all', bytes: sum(parts, 'bytes') }, { what: 'allowed', bytes: memory }]
  const width = Math.max(...rows.map(row => row.what.length))
  return rows.map(row => `${row.what.padEnd(width)}  ${formatBytes(row.bytes).padStart(9)}`)
}

/** Mebibytes that would do. What is left alone grows with the memory, and so this is more than the sum for too little. */
function enough(others: ByteCount, reserve: (memory: ByteCount) => ByteCount): number {
  let megabytes = Math.ceil(others / 2 ** 20)
  while (megabytes * 2 ** 20 < others + reserve(megabytes * 2 ** 20)) megabytes++
  return megabytes
}

/** Whether weights in f32 would do, once blocks have been split if need be. */
function narrowWorks(manifest: Manifest, memory: ByteCount, { narrow }: PlanNeeds, fill: boolean): boolean {
  if (!narrow) return false
  try {
    planMemory(manifest, memory, narrow, fill)
    return true
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    return error instanceof BlocksTooLarge
  }
}

/** Blocks that do not fit: whether smaller ones would. Those have smaller segments too. */
function refused(
  manifest: Manifest,
  memory: ByteCount,
  needs: PlanNeeds,
  fill: boolean,
  planned: { parts: MemoryPlan['parts']; costs: MemoryPlan['costs']; largest: ByteCount; perRow: ByteCount },
): SpillwayError {
  const narrow = narrowWorks(manifest, memory, needs, fill)
  const decode = Math.min(decodeBytes(manifest), DECODER_BYTES + SPLIT_SEGMENT_BYTES)
  const parts = besidesBlocks(manifest, memory, needs, decode)
  const room = (leftOf(parts, memory) * (1 - needs.cacheShare / 4)) / needs.slots
  const pairOf = (block: ByteCount): ByteCount => Math.min(planned.largest, PAIR * block)
  if (room < pairOf(LEAST_BLOCK)) return tooLittle(memory, parts, pairOf(GOOD_BLOCK), needs, narrow)
  // Two of them together, as they are loaded.
  const most = room / PAIR
  const split = planned.costs.map(({ bytes, rows }, block) => {
    const size = bytes + rows * planned.perRow
    const { segments } = manifest.blocks[block]
    const least = decodedSegment(manifest.blocks[block]) > Math.max(1, segments) * SPLIT_SEGMENT_BYTES ? 2 : 1
    const wanted = size <= most ? 1 : Math.ceil((UNEVEN * size) / most)
    return Math.max(1, Math.min(rows, MOST_PARTS, Math.max(least, wanted)))
  })
  return new BlocksTooLarge(tooLittle(memory, planned.parts, planned.largest, needs, narrow), split)
}

function tooLittle(
  memory: ByteCount,
  parts: MemoryPlan['parts'],
  block: ByteCount,
  needs: PlanNeeds,
  narrowWorks: boolean,
): TooLittleMemory {
  const { expanded, reserve = () => 0 } = needs
  const slots = {
    what: `${needs.slots} blocks of ${formatBytes(block)}`,
    bytes: Math.ceil((needs.slots * block) / (1 - needs.cacheShare / 4)) + needs.slots,
  }
  const all = [...parts, slots]
  const others = sum(all, 'bytes') - reserve(memory)
  const help: string[] = []
  if (needs.otherHelp) help.push(needs.otherHelp)
  if (narrowWorks) help.push('--weights f32')
  if (expanded && needs.weights * needs.weightBytes > memory / 4)
    help.push('fewer weights by hashing: --expand …+hash:22')
  const fits = others <= NODE_BYTES + WINDOW_BYTES
  return new TooLittleMemory(
    `${formatBytes(memory)} of memory cannot work:\n  ${planLines(all, memory).join('\n  ')}`,
    fits ? enough(others, needs.namedReserve ?? reserve) * 2 ** 20 : undefined,
    help,
  )
}

/** What a store's manifest will say of its blocks once they have been split, about. */
export function afterSplit(manifest: Manifest, parts: number[]): Manifest {
  const share = (count: number, block: number): number => Math.ceil(count / parts[block])
  return {
    ...manifest,
    blocks: manifest.blocks.flatMap((entry, block) => {
      const least = parts[block] > 1 ? Math.ceil(share(decodedSegment(entry), block) / SPLIT_SEGMENT_BYTES) : 1
      const segments = Math.max(share(entry.segments, block), least)
      const part = { ...entry, rows: share(entry.rows, block), nonzeros: share(entry.nonzeros, block), segments }
      return Array.from({ length: parts[block] }, () => part)
    }),
  }
}
