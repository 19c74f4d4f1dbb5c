// A sparse matrix of SciPy, as scipy.sparse.save_npz writes it: arrays of a matrix in CSR form in a zip archive. Labels are an array
// `y` in the same archive, or an array in a file beside it.
import { SpillwayError } from '../errors.ts'
import type { ChunkBytes, InputFormat, InputToOpen, OpenedInput, PlannedChunk, RandomAccess } from './input-format.ts'
import { namedLabels } from './named-labels.ts'
import { labelsBeside, openLabels, requireLabels } from './npy.ts'
import { type NpyHeader, numberReader, readNpyHeader, readText, requireNumbers } from './npy-header.ts'
import { risingEntries } from './rising-entries.ts'
import { type MadeRow, type RefusedRow, RowsParser } from './rows-parser.ts'
import { damagedZip, type ZipEntry, ZipReader, zipEntries } from './zip-archive.ts'

/** Rows of a chunk: their labels, where each ends, then features and values of all. */
interface SparseRows {
  rows: number
  entries: number
  features: number
  labels: string
  labelSize: number
  indices: string
  indexSize: number
  values: string
  valueSize: number
}

interface ArrayInZip extends NpyHeader {
  reader: ZipReader
}

interface Labels extends NpyHeader {
  fill(target: Uint8Array): Promise<void>
  close(): Promise<void>
}

interface MatrixArrays {
  rows: number
  features: number
  ends: ArrayInZip
  indices: ArrayInZip
  values: ArrayInZip
  labels: Labels
}

/** A longer row is taken for a mistake. */
const MOST_ENTRIES = 1 << 24
/** Rows whose ends are read at a time. */
const ENDS_AT_ONCE = 1 << 14

class SparseMatrix {
  readonly #input: InputToOpen
  readonly #readers: ZipReader[] = []
  #labels: Labels | undefined

  constructor(input: InputToOpen) {
    this.#input = input
  }

  async open(chunkBytes: number): Promise<OpenedInput> {
    const file = await this.#input.file()
    const entries = await zipEntries(this.#input.name, file)
    try {
      return { chunks: await this.#plan(file, entries, chunkBytes), close: () => this.#close() }
    } catch (error) {
      await this.#close()
      throw error
    }
  }

  async #plan(file: RandomAccess, entries: ZipEntry[], chunkBytes: number): Promise<AsyncIterable<PlannedChunk>> {
    const { name } = this.#input
    const array = (which: string) => this.#array(file, entries, which)
    const kind = await array('format')
    const text = readText(kind, await kind.reader.take(kind.size))
    if (text !== 'csr') {
      throw new SpillwayError(
        `${name}: found a matrix in the form ${JSON.stringify(text)}, expected csr`,
        'write matrix.tocsr()',
      )
    }
    const shape = await this.#numbers(await array('shape'), 2)
    const [ends, indices, values] = [await array('indptr'), await array('indices'), await array('data')]
    for (const { reader, ...header } of [ends, indices, values]) requireNumbers(reader.name, header)
    const [rows, features] = shape
    if (ends.shape[0] !== rows + 1 || indices.shape[0] !== values.shape[0]) {
      throw damagedZip(
        name,
        `${ends.shape[0]} row ends, ${indices.shape[0]} features and ${values.shape[0]} values of ${rows} rows`,
      )
    }
    const labels = await this.#openLabels(file, entries, rows)
    this.#labels = labels
    return this.#chunks({ rows, features, ends, indices, values, labels }, chunkBytes)
  }

  async #array(file: RandomAccess, entries: ZipEntry[], which: string): Promise<ArrayInZip> {
    const entry = entries.find(({ name }) => name === `${which}.npy`)
    if (!entry) {
      throw new SpillwayError(
        `${this.#input.name}: found no array ${JSON.stringify(which)}, expected a matrix of scipy.sparse.save_npz`,
        `the arrays are ${
          entries
            .map(({ name }) => name.replace(/\.npy$/, ''))
            .slice(0, 20)
            .join(', ') || 'none'
        }`,
      )
    }
    const reader = await ZipReader.open(this.#input.name, file, entry)
    this.#readers.push(reader)
    return { ...(await readNpyHeader(reader.name, length => reader.take(length))), reader }
  }

  async #numbers({ reader, type, size }: ArrayInZip, count: number): Promise<number[]> {
    const read = numberReader(type)
    const bytes = await reader.take(count * size)
    const view = new DataView(bytes.buffer)
    return Array.from({ length: count }, (_, k) => read(view, k * size))
  }

  async #openLabels(file: RandomAccess, entries: ZipEntry[], rows: number): Promise<Labels> {
    if (!namedLabels(this.#input.path) && entries.some(({ name }) => name === 'y.npy')) {
      const { reader, ...header } = await this.#array(file, entries, 'y')
      requireNumbers(reader.name, header)
      requireLabels(header, reader.name, rows)
      return { ...header, fill: target => reader.fill(target), close: async () => {} }
    }
    const beside = await openLabels(this.#input.path, rows)
    if (!beside) {
      throw new SpillwayError(
        `${this.#input.name}: found no labels, expected an array y in it, or the file ${labelsBeside(this.#input.path)}`,
        'write them with numpy.save, one for each row, or name their file with --labels',
      )
    }
    let at = beside.bytes
    return {
      ...beside,
      fill: async target => {
        await beside.file.fill(target, at)
        at += target.length
      },
    }
  }

  async *#chunks(
    { rows, features, ends, indices, values, labels }: MatrixArrays,
    chunkBytes: number,
  ): AsyncGenerator<PlannedChunk> {
    const entryBytes = indices.size + values.size
    const plan = (lengths: number[], entries: number): PlannedChunk => ({
      bytes: lengths.length * (labels.size + 4) + entries * entryBytes,
      fill: async target => {
        const some = lengths.length
        await labels.fill(target.subarray(0, some * labels.size))
        target
          .subarray(some * labels.size, some * (labels.size + 4))
          .set(new Uint8Array(Uint32Array.from(lengths).buffer))
        const from = some * (labels.size + 4)
        await indices.reader.fill(target.subarray(from, from + entries * indices.size))
        await values.reader.fill(target.subarray(from + entries * indices.size))
      },
      about: {
        ...{ rows: lengths.length, entries, features, labels: labels.type, labelSize: labels.size },
        ...{ indices: indices.type, indexSize: indices.size, values: values.type, valueSize: values.size },
      } satisfies SparseRows,
    })
    let [lengths, entries, before]: [number[], number, number] = [[], 0, 0]
    for await (const { row, end } of this.#ends(ends, rows)) {
      const length = end - before
      if (!(length >= 0 && length <= MOST_ENTRIES && end <= values.shape[0])) {
        throw new SpillwayError(
          `${this.#input.name}, row ${row + 1}: found ${length} entries, from ${before} to ${end} of ${values.shape[0]}, expected from 0 to ${MOST_ENTRIES}`,
        )
      }
      before = end
      const full = (lengths.length + 1) * (labels.size + 4) + (entries + length) * entryBytes > chunkBytes
      if (full && lengths.length > 0) {
        yield plan(lengths, entries)
        lengths = []
        entries = 0
      }
      lengths.push(length)
      entries += length
    }
    if (lengths.length > 0) yield plan(lengths, entries)
  }

  /** Where rows end among the entries. */
  async *#ends(ends: ArrayInZip, rows: number): AsyncGenerator<{ row: number; end: number }> {
    const [first] = await this.#numbers(ends, 1)
    if (first !== 0) throw damagedZip(ends.reader.name, `${first} where the first row begins`)
    for (let row = 0; row < rows; row += ENDS_AT_ONCE) {
      const some = await this.#numbers(ends, Math.min(ENDS_AT_ONCE, rows - row))
      for (const [k, end] of some.entries()) yield { row: row + k, end }
    }
  }

  async #close(): Promise<void> {
    for (const reader of this.#readers) reader.close()
    await this.#labels?.close()
  }
}

class NpzParser extends RowsParser {
  protected override *rows(bytes: Uint8Array, { about }: ChunkBytes): Generator<MadeRow | RefusedRow> {
    const { rows, entries, features, ...types } = about as SparseRows
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const [label, index, value] = [types.labels, types.indices, types.values].map(numberReader)
    const lengthsAt = rows * types.labelSize
    const indicesAt = lengthsAt + rows * 4
    const valuesAt = indicesAt + entries * types.indexSize
    let next = 0
    for (let r = 0; r < rows; r++) {
      const length = view.getUint32(lengthsAt + r * 4, true)
      const indices: number[] = []
      const values: number[] = []
      for (const end = next + length; next < end; next++) {
        indices.push(index(view, indicesAt + next * types.indexSize))
        values.push(value(view, valuesAt + next * types.valueSize))
      }
      const beyond = indices.find(each => !(each >= 0 && each < features))
      if (beyond !== undefined) yield { found: `feature ${beyond}`, expected: `a feature from 0 to ${features - 1}` }
      else yield { label: label(view, r * types.labelSize), ...risingEntries(indices, values) }
    }
  }
}

const MAGIC = [0x50, 0x4b, 0x03, 0x04]
/** Where the header of a zip's first entry has the length of its name, and the name. */
const NAME_LENGTH = 26
const NAME = 30

/** A zip whose first entry is an array: other programs make zips, too. */
function isNpz(head: Uint8Array): boolean {
  if (head.length < NAME || !MAGIC.every((byte, k) => head[k] === byte)) return false
  const length = head[NAME_LENGTH] + 256 * head[NAME_LENGTH + 1]
  return Buffer.from(head.subarray(NAME, NAME + length))
    .toString('latin1')
    .endsWith('.npy')
}

export const npz: InputFormat = {
  module: import.meta.url,
  name: 'npz',
  endings: ['npz'],
  summary: 'a sparse matrix of SciPy in CSR form (.npz), with its labels',
  title: 'a SciPy matrix',
  row: 'LABEL, features and values',
  letters: false,
  takesLabels: true,
  cut: {
    by: 'plan',
    detect: isNpz,
    indexBase: 0,
    open: (input, chunkBytes) => new SparseMatrix(input).open(chunkBytes),
  },
  newParser: arena => new NpzParser(arena),
}
