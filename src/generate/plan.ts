// A likeness turned into the tables that the generating loops read, laid out in shared memory as generate-layout.ts says.
import type { Arena } from '../numeric/arena.ts'
import { DrawingFields } from '../numeric/fields/drawing.ts'
import { GroupFields } from '../numeric/fields/group.ts'
import { MadeFields } from '../numeric/fields/made.ts'
import { PlanFields } from '../numeric/fields/plan.ts'
import * as layout from '../numeric/generate-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { digits } from './digits.ts'
import { drawCounts, logNormalQuantiles, normalQuantiles, PowerLaw } from './distributions.ts'
import type { DenseShape, DrawnShape, Group, Likeness, SparseShape, TableShape } from './likenesses.ts'

export interface PlanOptions {
  seed: number
  features: number
  noise: number
}

export interface Plan {
  address: Address
  /** Rows of a full chunk. It depends on the likeness, never on threads: a chunk's seed is its number. */
  chunkRows: number
  /** Scratch that a chunk in the making needs. */
  slotBytes: ByteCount
  /** Bytes of text that a chunk can have at most. */
  textBytes: ByteCount
  isTable: boolean
}

/** Text of a chunk, about: small enough for the caches, large enough for the disk. */
const CHUNK_BYTES = 1 << 20

export function layPlan(arena: Arena, likeness: Likeness, options: PlanOptions): Plan {
  const plan = new PlanFields(arena, arena.allocateZeroed(layout.PLAN_BYTES, 'the plan of the generator'))
  const { shape } = likeness
  plan.seed = BigInt(options.seed)
  plan.features = options.features
  plan.positive = hiddenShare(likeness.positive, options.noise)
  plan.noise = options.noise
  plan.tilt = likeness.tilt
  plan.hardness = likeness.hardness
  plan.classes = likeness.classes ?? 0
  const size = layShape(arena, plan, shape, options.features)
  plan.most = size.most
  const labelBytes = 2 + String(likeness.classes ?? 1).length
  const chunkRows = Math.max(1, Math.round(CHUNK_BYTES / size.typicalBytes))
  return {
    address: plan.at,
    chunkRows,
    slotBytes: layout.SLOT_ARRAYS + 4 * 4 * (size.most + 4),
    // 64 bytes of slack: entries are written in words that reach beyond their text.
    textBytes: chunkRows * (labelBytes + size.most * size.entryBytes) + 64,
    isTable: shape.kind === 'table',
  }
}

function layShape(arena: Arena, plan: PlanFields, shape: Likeness['shape'], features: number): RowSize {
  if (shape.kind === 'sparse') return laySparse(arena, plan, shape, features)
  if (shape.kind === 'dense') return layDense(arena, plan, shape, features)
  if (shape.kind === 'drawn') return layDrawings(arena, plan, shape, features)
  return layTable(arena, plan, shape)
}

/** Share of the hidden class that yields the share of labels, once noise has flipped some. */
function hiddenShare(positive: number, noise: number): number {
  if (Math.abs(1 - 2 * noise) < 1e-6) return positive
  return Math.min(1, Math.max(0, (positive - noise) / (1 - 2 * noise)))
}

interface RowSize {
  /** Entries of the longest row. */
  most: number
  /** Bytes of the longest entry. */
  entryBytes: ByteCount
  typicalBytes: ByteCount
}

function laySparse(arena: Arena, plan: PlanFields, shape: SparseShape, features: number): RowSize {
  const { groups } = shape
  const table = arena.allocateZeroed(groups.length * layout.GROUP_BYTES, 'groups of features')
  plan.kind = layout.PLAN_KIND_SPARSE
  plan.telling = Math.round(shape.telling * 256)
  plan.groups = groups.length
  plan.groupTable = table
  plan.ones = shape.values === 'ones' ? 1 : 0
  plan.byLargest = shape.values === 'counts-by-largest' ? 1 : 0
  plan.burst = Math.round((shape.burst ?? 0) * 65536)
  if (shape.values !== 'ones') {
    const logarithm = shape.values === 'log-counts'
    const values = Float64Array.from({ length: layout.GENERATE_COUNTS }, (_, count) =>
      logarithm && count > 0 ? 1 + Math.log(count) : count,
    )
    plan.countValues = keepF64(arena, values)
  }
  const widths = shareOut(groups, features)
  // Groups of one make, such as the letters of a string, share their tables.
  const made = new Map<string, { ranks: Address; draws: Address; most: number }>()
  let most = 0
  let nonzeros = 0
  let first = 0
  groups.forEach((group, k) => {
    const width = widths[k]
    const { used, clusters, run, stride } = scatterOf(group, width)
    const key = JSON.stringify([used, { ...group, width: 0 }])
    const tables = made.get(key) ?? layTables(arena, group, used, shape.burst ?? 0)
    made.set(key, tables)
    const keyBytes = Math.max(1, Math.ceil(Math.log2(Math.max(2, width)) / 8))
    const fields = new GroupFields(arena, table + k * layout.GROUP_BYTES)
    fields.first = first
    fields.ranks = tables.ranks
    fields.draws = tables.draws
    fields.clusters = clusters
    fields.stride = stride
    fields.run = run
    fields.keyBytes = keyBytes
    first += width
    most += tables.most
    nonzeros += group.nonzeros
  })
  const indexBytes = String(features).length
  const valueBytes = shape.values === 'ones' ? 3 : 15
  return {
    most,
    entryBytes: indexBytes + valueBytes,
    typicalBytes: 4 + nonzeros * (indexBytes + Math.min(10, valueBytes)),
  }
}

/** Features of each group, in proportion to their widths, but a pair at least; the widest makes up the difference. */
function shareOut(groups: Group[], features: number): number[] {
  const total = groups.reduce((sum, group) => sum + group.width, 0)
  const widths = groups.map(group => Math.max(2, Math.floor((features * group.width) / total)))
  const widest = widths.indexOf(Math.max(...widths))
  widths[widest] += features - widths.reduce((sum, width) => sum + width, 0)
  return widths
}

const evenCount = (size: number): number => Math.max(2, size - (size % 2))

/** How a group's ranks are spread over its range. Ranks are even in number, for features come in pairs. */
function scatterOf(group: Group, width: number): { used: number; clusters: number; run: number; stride: number } {
  if (!group.scatter) return { used: evenCount(width), clusters: 0, run: 0, stride: 0 }
  const run = Math.min(group.scatter.run, Math.max(1, width))
  const clusters = Math.max(1, Math.floor((width * group.scatter.used) / run))
  return { used: evenCount(clusters * run), clusters, run, stride: Math.floor(width / clusters) }
}

function layTables(
  arena: Arena,
  group: Group,
  used: number,
  burst: number,
): { ranks: Address; draws: Address; most: number } {
  const law = new PowerLaw(used, group.skew, group.plateau ?? 1)
  // No row can have more features than there are; half of them leaves the number of draws sensible.
  const fresh = drawCounts(law, Math.min(group.nonzeros, used / 2), group.spread ?? 0)
  // Draws that repeat others bring no new feature: they come on top.
  const counts = fresh.map(count => Math.round(count / (1 - burst)))
  let draws = 0
  if (group.scatter || counts.some(count => count !== 1)) {
    draws = arena.allocate(counts.byteLength, 'row lengths')
    arena.u32(draws, counts.length).set(counts)
  }
  return { ranks: keepF64(arena, law.quantiles()), draws, most: counts.reduce((a, b) => Math.max(a, b), 0) }
}

function layDense(arena: Arena, plan: PlanFields, shape: DenseShape, features: number): RowSize {
  plan.kind = layout.PLAN_KIND_DENSE
  plan.correlation = shape.correlation
  plan.innovation = Math.sqrt(1 - shape.correlation ** 2)
  const quantiles = normalQuantiles()
  const normal = arena.allocate(quantiles.byteLength, 'normal quantiles')
  arena.f32(normal, quantiles.length).set(quantiles)
  plan.normal = normal
  // What generateRows calls a tilt counts in lengths of the hidden weights.
  if (shape.alongBest) plan.tilt /= arena.numeric.hiddenLength(plan.at)
  if (shape.values !== 'unit') plan.levels = layLevels(arena, shape.values)
  const indexBytes = String(features).length
  const valueBytes = shape.values === 'unit' ? 12 : shape.values === 'levels' ? 7 : 5
  return { most: features, entryBytes: indexBytes + valueBytes, typicalBytes: features * (indexBytes + valueBytes) }
}

/** The texts of grey levels, eight bytes each. */
function layLevels(arena: Arena, values: 'levels' | 'whole'): Address {
  const levels = arena.allocateZeroed(256 * 8, 'grey levels')
  for (let level = 0; level < 256; level++) {
    const value = values === 'whole' ? level : Number((level / 255).toFixed(3))
    const text = `:${value} `
    const bytes = arena.bytes(levels + level * 8, 8)
    bytes.set(new TextEncoder().encode(text))
    bytes[7] = text.length
  }
  return levels
}

/** The strokes of every class. Class k of ten is the digit k, the tenth is 0. */
function layDrawings(arena: Arena, plan: PlanFields, shape: DrawnShape, features: number): RowSize {
  const side = Math.floor(Math.sqrt(features))
  plan.kind = layout.PLAN_KIND_DRAWN
  plan.side = side
  plan.levels = layLevels(arena, shape.values)
  plan.drawings = arena.allocateZeroed(digits.length * layout.DRAWINGS_OF_A_CLASS * layout.DRAWING_BYTES, 'drawings')
  digits.forEach((ways, digit) => {
    const label = (digit + digits.length - 1) % digits.length
    ways.forEach((drawing, way) => {
      const ends = drawing.flatMap(line => line.slice(1).flatMap((end, k) => [...line[k], ...end]))
      const at = plan.drawings + (label * layout.DRAWINGS_OF_A_CLASS + way) * layout.DRAWING_BYTES
      const fields = new DrawingFields(arena, at)
      fields.segments = ends.length / 4
      fields.strokes = arena.allocate(ends.length * 4, 'strokes')
      arena.f32(fields.strokes, ends.length).set(ends)
    })
  })
  const entryBytes = String(features).length + 7
  return { most: side * side, entryBytes, typicalBytes: shape.nonzeros * entryBytes }
}

/** A cell has ten digits and a sign at most, and a tab behind it. */
const CELL_BYTES = 12
const TYPICAL_CELL_BYTES = 6

function layTable(arena: Arena, plan: PlanFields, { columns, telling }: TableShape): RowSize {
  const table = arena.allocateZeroed(columns.length * layout.MADE_BYTES, 'columns of a table')
  plan.kind = layout.PLAN_KIND_TABLE
  plan.telling = Math.round(telling * 256)
  plan.groups = columns.length
  plan.groupTable = table
  for (const [k, column] of columns.entries()) {
    const fields = new MadeFields(arena, table + k * layout.MADE_BYTES)
    const isNumber = 'median' in column
    fields.isNumber = isNumber ? 1 : 0
    fields.missing = Math.round((column.missing ?? 0) * 65536)
    fields.least = isNumber ? (column.least ?? 0) : 0
    const quantiles = isNumber
      ? logNormalQuantiles(column.median, column.spread)
      : new PowerLaw(evenCount(column.names), column.skew, 1).quantiles()
    fields.quantiles = keepF64(arena, quantiles)
  }
  return { most: columns.length, entryBytes: CELL_BYTES, typicalBytes: columns.length * TYPICAL_CELL_BYTES }
}

function keepF64(arena: Arena, values: Float64Array): Address {
  const at = arena.allocate(values.byteLength, 'distribution tables')
  arena.f64(at, values.length).set(values)
  return at
}
