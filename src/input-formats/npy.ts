// A dense NumPy array of two dimensions: a row is a row. Labels are its first column, or an array of their own in a file beside it.
import { existsSync } from 'node:fs'
import { SpillwayError } from '../errors.ts'
import { Input } from './input.ts'
import type { ChunkBytes, InputFormat, InputToOpen, OpenedInput, RandomAccess } from './input-format.ts'
import { namedLabels } from './named-labels.ts'
import { isNpy, type NpyHeader, numberReader, readNpyHeader, requireNumbers } from './npy-header.ts'
import { type MadeRow, RowsParser } from './rows-parser.ts'

interface Dense {
  rows: number
  columns: number
  type: string
  size: number
  /** Of labels that are apart. */
  labels: { type: string; size: number } | undefined
}

/** A longer row is taken for a mistake. */
const LONGEST_ROW = 1 << 28

export interface NpyFile extends NpyHeader {
  name: string
  file: RandomAccess
}

export async function openNpy(name: string, file: RandomAccess): Promise<NpyFile> {
  let at = 0
  const header = await readNpyHeader(name, async length => {
    const bytes = await file.bytes(at, length)
    at += length
    return bytes
  })
  requireNumbers(name, header)
  const bytes = header.bytes + header.size * header.shape.reduce((product, side) => product * side, 1)
  if (file.size < bytes) {
    throw new SpillwayError(
      `${name}: found ${file.size} bytes in all, expected ${bytes} for an array of ${header.shape.join(' × ')}`,
      'is the file cut short? Write, copy or download it again',
    )
  }
  return { ...header, name, file }
}

/** The file of labels beside a file of rows: `X.labels.npy` beside `X.npy` and `X.npz`. */
export const labelsBeside = (path: string): string => `${path.replace(/\.np[yz]$/, '')}.labels.npy`

/** Opens the labels that were named for a file or that are beside it, where there are any. */
export async function openLabels(
  path: string,
  rows: number,
): Promise<(NpyFile & { close(): Promise<void> }) | undefined> {
  const beside = namedLabels(path) ?? labelsBeside(path)
  if (!namedLabels(path) && (beside === path || !existsSync(beside))) return undefined
  const input = new Input(beside)
  try {
    const labels = await openNpy(input.name, await input.randomAccess('a NumPy array'))
    requireLabels(labels, input.name, rows)
    return { ...labels, close: () => input.close() }
  } catch (error) {
    await input.close()
    throw error
  }
}

/** Refuses labels that are not one for each row. */
export function requireLabels({ shape }: NpyHeader, name: string, rows: number): void {
  if (shape[0] === rows && (shape.length === 1 || (shape.length === 2 && shape[1] === 1))) return
  throw new SpillwayError(
    `${name}: found an array of ${shape.join(' × ')} labels, expected one for each of ${rows} rows`,
    'labels and rows are in the same order',
  )
}

async function open(input: InputToOpen, chunkBytes: number): Promise<OpenedInput> {
  const array = await openNpy(input.name, await input.file())
  const [rows, columns] = array.shape
  if (array.shape.length !== 2) {
    throw new SpillwayError(
      `${input.name}: found an array of ${array.shape.length} dimensions, expected two: rows and columns`,
      'write array.reshape(rows, columns)',
    )
  }
  const labels = await openLabels(input.path, rows)
  if (columns < (labels ? 1 : 2) || columns * array.size > LONGEST_ROW) {
    await labels?.close()
    throw new SpillwayError(
      `${input.name}: found rows of ${columns} numbers, expected ${labels ? '' : 'a label and '}at least one feature, and at most ${LONGEST_ROW} bytes`,
    )
  }
  const rowBytes = columns * array.size
  const labelBytes = labels?.size ?? 0
  const perChunk = Math.max(1, Math.floor(chunkBytes / (rowBytes + labelBytes)))
  const chunks = Array.from({ length: Math.ceil(rows / perChunk) }, (_, k) => {
    const from = k * perChunk
    const some = Math.min(perChunk, rows - from)
    const about: Dense = {
      ...{ rows: some, columns, type: array.type, size: array.size },
      labels: labels && { type: labels.type, size: labels.size },
    }
    return {
      bytes: some * (rowBytes + labelBytes),
      async fill(target: Uint8Array) {
        if (labels) {
          await labels.file.fill(target.subarray(0, some * labelBytes), labels.bytes + from * labelBytes)
        }
        await array.file.fill(target.subarray(some * labelBytes), array.bytes + from * rowBytes)
      },
      about,
    }
  })
  return { chunks, close: async () => labels?.close() }
}

class NpyParser extends RowsParser {
  protected override *rows(bytes: Uint8Array, { about }: ChunkBytes): Generator<MadeRow> {
    const { rows, columns, type, size, labels } = about as Dense
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const read = numberReader(type)
    const readLabel = labels ? numberReader(labels.type) : read
    const first = labels ? 0 : 1
    const indices = Uint32Array.from({ length: columns - first }, (_, k) => k)
    const values = new Float64Array(columns - first)
    let at = rows * (labels?.size ?? 0)
    for (let r = 0; r < rows; r++) {
      const label = labels ? readLabel(view, r * labels.size) : read(view, at)
      for (let k = 0; k < values.length; k++) values[k] = read(view, at + (k + first) * size)
      yield { label, indices, values }
      at += columns * size
    }
  }
}

export const npy: InputFormat = {
  module: import.meta.url,
  name: 'npy',
  endings: ['npy'],
  summary: 'a dense NumPy array (.npy): the label, then a number for each feature',
  title: 'a NumPy array',
  row: 'LABEL and the values of all features',
  letters: false,
  takesLabels: true,
  cut: { by: 'plan', detect: isNpy, indexBase: 1, open },
  newParser: arena => new NpyParser(arena),
}
