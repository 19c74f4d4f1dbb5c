// One chunk of text to encoded segments: what a worker does during an ingest.
import { badValue } from '../features/bins.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import type { BadRow, ChunkParser, ParseSettings } from '../input-formats/input-format.ts'
import { type LabelCount, LabelNumbers } from '../input-formats/label-numbers.ts'
import { newFeatureMap } from '../numeric/feature-map.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { roundUp } from '../numeric/rounding.ts'
import { RowPacker } from '../rows/row-packer.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { type EncodedSegment, type EncoderOptions, SegmentEncoder } from './codecs.ts'

/** No entry. */
const NONE = 0xffffffff

export interface EncodeChunkOptions {
  format: string
  chunk: number
  at: Address
  bytes: ByteCount
  parse: ParseSettings
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

export interface EncodedChunk {
  segments: EncodedSegment[]
  /** Where they went: the given room, or more when that was too small. */
  out: { at: Address; bytes: ByteCount }
  rows: number
  nonzeros: number
  features: number
  /** Rows that were packed: the first ones. */
  packed: number
  /** Address of this thread's map of the features met so far; 0 when they were too many for it. */
  map: number
  labels: LabelCount[]
  lines: number
  badRows: number
  bad: BadRow[]
  /** A bad row that cannot be left out. */
  fatal?: boolean
}

interface Kept {
  parser: ChunkParser
  numbers: LabelNumbers
  encoder: SegmentEncoder
  packer: RowPacker
  map: number
}

export const encodeChunkTask = declareTask(import.meta.url, 'encode-chunk', encodeChunk)

function encodeChunk({ arena, kept }: TaskContext, options: EncodeChunkOptions): EncodedChunk {
  const key = `encode ${options.format} ${JSON.stringify(options.encoder)}`
  let tools = kept.get(key) as Kept | undefined
  if (!tools) {
    tools = {
      parser: findInputFormat(options.format).newParser(arena),
      numbers: new LabelNumbers(arena),
      encoder: new SegmentEncoder(arena, options.encoder),
      packer: new RowPacker(arena),
      map: newFeatureMap(arena, options.mapPages),
    }
    kept.set(key, tools)
  }
  const { parser, numbers, encoder, packer } = tools
  const { pack } = options
  if (pack) packer.startRoom(pack, pack, pack.table, pack.rows)
  let packing = pack !== undefined
  let { out } = options
  let filled = 0
  const segments: EncodedSegment[] = []
  const total = { rows: 0, nonzeros: 0, features: 0 }
  numbers.start()
  let outside: BadRow | undefined
  for (const { batch, rows, features } of parser.parse(options.at, options.bytes, options.parse)) {
    const entry = options.bins ? arena.numeric.findOutside(batch) >>> 0 : NONE
    if (entry !== NONE) {
      outside = badValue(arena, batch, entry, options.at, options.parse.indexBase)
      break
    }
    if (options.bins) arena.numeric.roundBatch(batch, options.bins)
    const { nonzeros } = new BatchFields(arena, batch)
    const codes = numbers.add(batch, rows, row => parser.labelText(row))
    // Rows after one that has no room are not packed: those that are have to be the first.
    if (packing) packing = packer.rows + rows <= pack!.rows && packer.pack(batch, rows, codes)
    if (tools.map && !arena.numeric.enterBatch(tools.map, batch)) tools.map = 0
    for (const segment of encoder.encode(batch, options.chunk, total.rows, options.block)) {
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
    total.rows += rows
    total.nonzeros += nonzeros
    total.features = Math.max(total.features, features)
  }
  const { lines } = parser
  const { badRows, bad, fatal } = outside ? { badRows: 1, bad: [outside], fatal: true } : { ...parser, fatal: false }
  const packed = pack ? packer.rows : 0
  return { segments, out, ...total, packed, map: tools.map, labels: numbers.labels, lines, badRows, bad, fatal }
}
