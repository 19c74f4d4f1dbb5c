// The model's own file, all numbers little-endian:
//
//   0   8  "SPILLMDL"
//   8   4  version, u32
//  12   4  byte order mark, u32 0x01020304
//  16   4  bytes of the header, u32 (a multiple of 8: padded with spaces)
//  20   4  0
//  24   8  bytes of the whole file, u64
//  32      header, UTF-8 JSON: everything but the weights, and the shapes of the sections below
//          bias weights, f64
//          weights:       sparse: indices u32, padded to 8 bytes; then values f64, w[j*K + k]
//          scale factors: the same with K = 1, when there are any
//          ranges of an additive kernel: the same with K = 2, a factor and the mark of where scaled values ended, see
//          rangeEnds in features/additive-kernel.ts
//          names of hashed features, when they are kept: u32, padded to 8 bytes
//  −8   8  XXH64 of all bytes before, u64
//
// transforms.expand.steps of the header says how features are made, e.g. "weighted-degree:8+hash:22"; docs/expansions.md
// has what each step does. inputFormat is the format of the text that rows come in, LIBSVM text when it is missing.
// calibrations of the header, when there are any, turn scores into probabilities: one for each weight vector.
//
// Every length is compared with the bytes at hand before anything is allocated: a hostile file costs an error, not memory.
import { SpillwayError } from '../errors.ts'
import { Xxh64, xxh64Text } from '../files/xxh64.ts'
import { headerOf, type ModelHeader, readHeader, type SectionShape } from './header.ts'
import { inputFeatures, MODEL_VERSION, type Model, modelComplaint, vectorCount } from './model.ts'
import { differs, type LentVectors, lentPieces, type WeightVectors } from './weights.ts'

const MAGIC = 'SPILLMDL'
const BYTE_ORDER_MARK = 0x01020304
const SWAPPED_MARK = 0x04030201
const PRELUDE_BYTES = 32
const CHECKSUM_BYTES = 8
const CHUNK_NUMBERS = 1 << 15

export function isOwnFile(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC === String.fromCharCode(...bytes.subarray(0, MAGIC.length))
}

/** The file's bytes, piece by piece; `hash` makes their checksum. */
export function* encodeModelChunks(model: Model, hash = new Xxh64()): Generator<Uint8Array> {
  for (const chunk of unsealedChunks(model)) {
    hash.update(chunk)
    yield chunk
  }
  const { high, low } = hash.digest()
  const seal = new DataView(new ArrayBuffer(CHECKSUM_BYTES))
  seal.setUint32(0, low, true)
  seal.setUint32(4, high, true)
  yield new Uint8Array(seal.buffer)
}

/** The whole file in one piece. */
export function encodeModel(model: Model): Uint8Array {
  const chunks = [...encodeModelChunks(model)]
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

function* unsealedChunks(model: Model): Generator<Uint8Array> {
  const header = headerOf(model)
  const json = new TextEncoder().encode(JSON.stringify(header))
  const headerBytes = padded(json.length)
  const first = new Uint8Array(PRELUDE_BYTES + headerBytes).fill(0x20, PRELUDE_BYTES)
  const total = first.length + sectionsBytes(header) + CHECKSUM_BYTES
  const view = new DataView(first.buffer)
  for (let k = 0; k < MAGIC.length; k++) first[k] = MAGIC.charCodeAt(k)
  view.setUint32(8, MODEL_VERSION, true)
  view.setUint32(12, BYTE_ORDER_MARK, true)
  view.setUint32(16, headerBytes, true)
  view.setUint32(24, total >>> 0, true)
  view.setUint32(28, Math.floor(total / 2 ** 32), true)
  first.set(json, PRELUDE_BYTES)
  yield first
  yield* numbers(model.biasWeights)
  yield* section(model.weights, header.weights, model.vectors)
  const { scale, ranges } = model.transforms
  if (scale) yield* section(scale.factors, header.transforms.scale!, 1)
  if (ranges) yield* section(ranges, header.transforms.ranges!, 2)
  if (model.transforms.expand?.names) yield* integers(model.transforms.expand.names)
}

function* section(vectors: WeightVectors, shape: SectionShape, width: number): Generator<Uint8Array> {
  if (vectors.layout === 'lent' && shape.layout === 'sparse') yield* lentSection(vectors, width)
  else {
    if (vectors.layout === 'sparse') yield* integers(vectors.indices)
    yield* numbers(vectors.values)
  }
}

/** Lent numbers as a sparse section: gone through twice, some at a time, and features whose numbers are all 0 left out. */
function* lentSection(lent: LentVectors, width: number): Generator<Uint8Array> {
  const indices = new Uint32Array(CHUNK_NUMBERS)
  let filled = 0
  for (const { features, first } of lentPieces(lent, width)) {
    for (let k = 0; k < features.length; k++) {
      if (!differs(lent.values, (first + k) * width, width, 0)) continue
      indices[filled++] = features[k]
      if (filled < indices.length) continue
      yield* integers(indices)
      filled = 0
    }
  }
  yield* integers(indices.subarray(0, filled))
  const values = new Float64Array(CHUNK_NUMBERS * width)
  filled = 0
  for (let at = 0; at < lent.values.length; at += width) {
    if (!differs(lent.values, at, width, 0)) continue
    for (let k = 0; k < width; k++) values[filled++] = lent.values[at + k]
    if (filled < values.length) continue
    yield* numbers(values)
    filled = 0
  }
  yield* numbers(values.subarray(0, filled))
}

/** u32 each, padded to 8 bytes in the end. */
function* integers(list: Uint32Array): Generator<Uint8Array> {
  for (let from = 0; from < list.length; from += CHUNK_NUMBERS) {
    const piece = list.subarray(from, from + CHUNK_NUMBERS)
    const numbers = new Uint32Array(padded(piece.length * 4) / 4)
    numbers.set(piece)
    yield littleEndian(numbers)
  }
}

function* numbers(values: Float64Array | Float32Array): Generator<Uint8Array> {
  for (let from = 0; from < values.length; from += CHUNK_NUMBERS) {
    yield littleEndian(new Float64Array(values.subarray(from, from + CHUNK_NUMBERS)))
  }
}

/** Most machines have numbers in memory as files have them: then they are copied as they are. */
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint32Array([BYTE_ORDER_MARK]).buffer)[0] === (BYTE_ORDER_MARK & 0xff)

/** The bytes of numbers as files have them; turned in place where the machine has them the other way round. */
function littleEndian(numbers: Uint32Array | Float64Array): Uint8Array {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
  if (!IS_LITTLE_ENDIAN) {
    const width = numbers.BYTES_PER_ELEMENT
    for (let at = 0; at < bytes.length; at += width) bytes.subarray(at, at + width).reverse()
  }
  return bytes
}

const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8

function sectionBytes({ layout, count }: SectionShape, vectors: number): number {
  return (layout === 'sparse' ? padded(count * 4) : 0) + count * vectors * 8
}

function sectionsBytes({ biasWeights, weights, vectors, transforms: { scale, ranges, expand } }: ModelHeader): number {
  const names = padded((expand?.names ?? 0) * 4)
  const scaling = (scale ? sectionBytes(scale, 1) : 0) + (ranges ? sectionBytes(ranges, 2) : 0)
  return biasWeights * 8 + sectionBytes(weights, vectors) + scaling + names
}

/** Reads a file's bytes; `file` is its name in complaints, and `hash` makes their checksum. */
export function decodeModel(bytes: Uint8Array, file = 'the model', hash = new Xxh64()): Model {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const headerBytes = checkPrelude(bytes, view, file)
  const end = bytes.length - CHECKSUM_BYTES
  checkSeal(hash.update(bytes.subarray(0, end)).digest(), view, end, file)
  const headerEnd = PRELUDE_BYTES + headerBytes
  const header = parseHeader(bytes.subarray(PRELUDE_BYTES, headerEnd), file)
  checkShapes(header, end - headerEnd, file)
  return readSections(header, view, headerEnd, file)
}

function checkPrelude(bytes: Uint8Array, view: DataView, file: string): number {
  if (!isOwnFile(bytes)) {
    throw new SpillwayError(`${file} is not a Spillway model: it does not begin with "${MAGIC}"`)
  }
  const least = PRELUDE_BYTES + CHECKSUM_BYTES
  if (bytes.length < least) throw cutOff(file, bytes.length, `at least ${least}`)
  const mark = view.getUint32(12, true)
  if (mark === SWAPPED_MARK) {
    throw new SpillwayError(`${file} was written in big-endian byte order; expected little-endian`)
  }
  if (mark !== BYTE_ORDER_MARK) {
    const found = mark.toString(16).padStart(8, '0')
    throw new SpillwayError(`${file} is damaged: its byte order mark is 0x${found}; expected 0x01020304`)
  }
  const version = view.getUint32(8, true)
  if (version === 0 || version > MODEL_VERSION) {
    throw new SpillwayError(
      `${file} is a model of version ${version}; this Spillway reads version ${MODEL_VERSION}`,
      'a newer Spillway can read it: npm install spillway@latest',
    )
  }
  const total = view.getUint32(24, true) + view.getUint32(28, true) * 2 ** 32
  if (bytes.length < total) throw cutOff(file, bytes.length, String(total))
  if (bytes.length > total) {
    throw new SpillwayError(`${file} is damaged: it is ${bytes.length} bytes long; expected ${total}`)
  }
  const headerBytes = view.getUint32(16, true)
  const most = bytes.length - least
  if (headerBytes > most || headerBytes % 8 !== 0) {
    throw new SpillwayError(
      `${file} is damaged: its header claims ${headerBytes} bytes; expected a multiple of 8 of at most ${most}`,
    )
  }
  return headerBytes
}

function cutOff(file: string, found: number, expected: string): SpillwayError {
  return new SpillwayError(
    `${file} is cut off: it is ${found} bytes long; expected ${expected}`,
    'copy it again from where it was written',
  )
}

function checkSeal(found: { high: number; low: number }, view: DataView, end: number, file: string): void {
  const expected = { low: view.getUint32(end, true), high: view.getUint32(end + 4, true) }
  if (found.low === expected.low && found.high === expected.high) return
  throw new SpillwayError(
    `${file} is damaged: its checksum is ${xxh64Text(found)}; expected ${xxh64Text(expected)}`,
    'copy it again from where it was written, or train it again',
  )
}

function parseHeader(bytes: Uint8Array, file: string): ModelHeader {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw new SpillwayError(`${file} is damaged: its header is not JSON: ${(error as Error).message}`)
  }
  return readHeader(parsed, file)
}

function checkShapes(header: ModelHeader, found: number, file: string): void {
  const { features, labels, multiclass, vectors, weights, transforms } = header
  const damaged = (what: string): SpillwayError => new SpillwayError(`${file} is damaged: ${what}`)
  if (vectors !== vectorCount(labels.length, multiclass)) {
    throw damaged(`it has ${vectors} weight vectors for ${labels.length} labels (${multiclass})`)
  }
  const shapes: [SectionShape | undefined, number][] = [
    [weights, features],
    [transforms.scale, features],
    [transforms.ranges, inputFeatures(header)],
  ]
  for (const [shape, features] of shapes) {
    if (shape && (shape.layout === 'dense' ? shape.count !== features : shape.count > features)) {
      throw damaged(`it lists ${shape.count} features (${shape.layout}); the model has ${features}`)
    }
  }
  const expected = sectionsBytes(header)
  if (found !== expected) throw damaged(`its weights take ${found} bytes; expected ${expected}`)
}

function readSections(header: ModelHeader, view: DataView, start: number, file: string): Model {
  let at = start
  // A copy, so that numbers begin where their arrays need them to.
  const take = (length: number): ArrayBuffer => {
    const copy = new Uint8Array(length)
    copy.set(new Uint8Array(view.buffer, view.byteOffset + at, length))
    return copy.buffer
  }
  const readNumbers = (count: number): Float64Array => {
    const values = new Float64Array(take(count * 8))
    littleEndian(values)
    at += count * 8
    return values
  }
  const readIntegers = (count: number): Uint32Array => {
    const list = new Uint32Array(take(count * 4))
    littleEndian(list)
    at += padded(count * 4)
    return list
  }
  const readVectors = ({ layout, count }: SectionShape, vectors: number): WeightVectors => {
    if (layout === 'dense') return { layout, values: readNumbers(count * vectors) }
    return { layout, indices: readIntegers(count), values: readNumbers(count * vectors) }
  }
  const { biasWeights, weights, transforms, ...rest } = header
  const model: Model = {
    ...rest,
    version: MODEL_VERSION,
    biasWeights: readNumbers(biasWeights),
    weights: readVectors(weights, header.vectors),
    transforms: {},
  }
  const { expand, scale, ranges, normalize } = transforms
  if (scale) model.transforms.scale = { kind: scale.kind, factors: readVectors(scale, 1) }
  if (ranges) model.transforms.ranges = readVectors(ranges, 2)
  if (normalize) model.transforms.normalize = normalize
  if (expand) {
    const { steps, names } = expand
    model.transforms.expand = { steps, ...(names !== undefined && { names: readIntegers(names) }) }
  }
  const complaint = modelComplaint(model)
  if (complaint) throw new SpillwayError(`${file} is damaged: ${complaint}`)
  return model
}
