// One chunk of data to encoded segments: what a worker does during an ingest.
import type { Arena } from '../numeric/arena.ts'
import { newFeatureMap } from '../numeric/feature-map.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { Region } from '../numeric/region.ts'
import { roundUp } from '../numeric/rounding.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from '../rows/chunk-task.ts'
import { RowPacker } from '../rows/row-packer.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { declareTask, keep, type TaskContext } from '../threads/task.ts'
import { type EncodedSegment, type EncoderOptions, SegmentEncoder } from './codecs.ts'

export interface EncodeChunkOptions extends ChunkToParse {
  chunk: number
  encoder: EncoderOptions
  /** Round values, which lie in [0, 1], to those of so many bins; 0 for none. */
  bins: number
  /** The block of the whole chunk, when rows are not drawn into blocks. */
  block: number
  /** Where the segments go; they are kept apart from the encoder's own memory, which the next chunk needs. */
  out: { at: Address; bytes: ByteCount }
  /** Pages that this thread's map of features may take. */
  mapPages: number
  /** Where rows are packed besides, for a trainer that works on them meanwhile; as many as there is room for. */
  pack?: { at: Address; bytes: ByteCount; table: Address; rows: number; unit: boolean; plain: boolean } | undefined
}

export interface EncodedChunk extends ParsedChunk {
  segments: EncodedSegment[]
  /** Where they went: the given room, or more when that was too small. */
  out: { at: Address; bytes: ByteCount }
  /** Rows that were packed: the first ones. */
  packed: number
  /** Whether rows have weights. */
  weighted: boolean
  /** Address of this thread's map of the features met so far; 0 when they were too many for it. */
  map: number
}

export const encodeChunkTask = declareTask(import.meta.url, 'encode-chunk', encodeChunk)

async function encodeChunk(context: TaskContext, options: EncodeChunkOptions): Promise<EncodedChunk> {
  const { arena } = context
  const { pack, bins } = options
  const chunk = await rowsOfChunk(context, options)
  const tools = keep(context, `encode ${JSON.stringify(options.encoder)}`, () => ({
    encoder: new SegmentEncoder(arena, options.encoder),
    packer: new RowPacker(arena),
    map: newFeatureMap(arena, options.mapPages),
    weights: new Region(arena, 'the weights of a batch'),
  }))
  const { encoder, packer } = tools
  if (pack) packer.startRoom(pack, pack, pack.table, pack.rows)
  let packing = pack !== undefined
  let { out } = options
  let filled = 0
  let before = 0
  let weighted = false
  const segments: EncodedSegment[] = []
  for (const parsed of chunk.batches(bins > 0)) {
    const { batch, rows } = parsed
    if (bins) arena.numeric.roundBatch(batch, bins)
    const weights = chunk.weights(parsed)
    giveWeights(arena, batch, tools.weights, weights)
    weighted ||= weights !== undefined
    const codes = chunk.classes(parsed)
    // Rows after one that has no room are not packed: those that are have to be the first.
    if (packing) packing = packer.rows + rows <= pack!.rows && packer.pack(batch, rows, codes)
    if (tools.map && !arena.numeric.enterBatch(tools.map, batch)) tools.map = 0
    for (const segment of encoder.encode(batch, options.chunk, before, options.block)) {
      if (filled + segment.bytes > out.bytes) {
        const bytes = (filled + segment.bytes) * 2
        const larger = { at: arena.allocate(bytes, 'encoded segments'), bytes }
        arena.bytes(larger.at, filled).set(arena.bytes(out.at, filled))
        for (const earlier of segments) earlier.at += larger.at - out.at
        out = larger
      }
      arena.bytes(out.at + filled, segment.bytes).set(arena.bytes(segment.at, segment.bytes))
      segments.push({ ...segment, at: out.at + filled })
      // Headers hold 64-bit fields: every segment starts at a multiple of 16.
      filled += roundUp(segment.bytes, 16)
    }
    before += rows
  }
  return { ...chunk.account(), segments, out, packed: pack ? packer.rows : 0, weighted, map: tools.map }
}

/** Puts the weights of its rows beside a batch, for the encoder. */
function giveWeights(arena: Arena, batch: Address, room: Region, weights: Float64Array | undefined): void {
  const fields = new BatchFields(arena, batch)
  fields.weighted = weights ? 1 : 0
  if (!weights) return
  fields.weights = room.room(weights.length * 8)
  arena.f64(fields.weights, weights.length).set(weights)
}
