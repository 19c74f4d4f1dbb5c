// The head of a NumPy array: the type of its numbers, its shape, and where its numbers begin.
import { SpillwayError } from '../errors.ts'

export interface NpyHeader {
  /** As NumPy writes it: `<f8`. */
  type: string
  /** Bytes of a number. */
  size: number
  shape: number[]
  /** Bytes of the head. */
  bytes: number
}

/** Bytes in front of the text of the head, at most. */
export const NPY_START = 12
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]
const LONGEST_HEAD = 1 << 16

export const isNpy = (head: Uint8Array): boolean => MAGIC.every((byte, k) => head[k] === byte)

/** How numbers of a type are read. */
const READERS: Record<string, { size: number; read: (view: DataView, at: number) => number }> = {
  f4: { size: 4, read: (view, at) => view.getFloat32(at, true) },
  f8: { size: 8, read: (view, at) => view.getFloat64(at, true) },
  i1: { size: 1, read: (view, at) => view.getInt8(at) },
  u1: { size: 1, read: (view, at) => view.getUint8(at) },
  b1: { size: 1, read: (view, at) => view.getUint8(at) },
  i2: { size: 2, read: (view, at) => view.getInt16(at, true) },
  u2: { size: 2, read: (view, at) => view.getUint16(at, true) },
  i4: { size: 4, read: (view, at) => view.getInt32(at, true) },
  u4: { size: 4, read: (view, at) => view.getUint32(at, true) },
  i8: { size: 8, read: (view, at) => view.getInt32(at + 4, true) * 2 ** 32 + view.getUint32(at, true) },
  u8: { size: 8, read: (view, at) => view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true) },
}

export function numberReader(type: string): (view: DataView, at: number) => number {
  return READERS[type.slice(1)].read
}

/** Reads a head by `take`, which brings the next bytes. `name` is the file, and the array in it. */
export async function readNpyHeader(name: string, take: (length: number) => Promise<Uint8Array>): Promise<NpyHeader> {
  const damaged = (found: string): SpillwayError =>
    new SpillwayError(
      `${name}: found ${found}, expected a NumPy array, as numpy.save writes it`,
      'is the file cut short? Write, copy or download it again',
    )
  const start = await take(8)
  if (!isNpy(start)) throw damaged('other bytes at its beginning')
  const wide = start[6] > 1
  if (start[6] < 1 || start[6] > 3) throw damaged(`version ${start[6]} of the format`)
  const lengthBytes = Buffer.from(await take(wide ? 4 : 2))
  const length = wide ? lengthBytes.readUInt32LE(0) : lengthBytes.readUInt16LE(0)
  if (length > LONGEST_HEAD) throw damaged(`a head of ${length} bytes`)
  const text = Buffer.from(await take(length)).toString('latin1')
  const type = /'descr'\s*:\s*'([^']*)'/.exec(text)?.[1]
  const shape = /'shape'\s*:\s*\(([\d\s,L]*)\)/.exec(text)?.[1]
  if (shape === undefined) throw damaged(`the head ${JSON.stringify(text.slice(0, 80))}`)
  if (/'fortran_order'\s*:\s*True/.test(text) && shape.split(',').filter(part => part.trim()).length > 1) {
    throw new SpillwayError(
      `${name}: found an array whose columns stand one after the other, expected one of rows`,
      'write numpy.ascontiguousarray(array)',
    )
  }
  const known = type !== undefined && /^[<|=]/.test(type) && READERS[type.slice(1)]
  const size = known ? known.size : bytesOfTexts(type ?? '')
  if (type === undefined || size === 0 || size > 64) {
    throw new SpillwayError(
      `${name}: found values of the type ${type ?? 'of records or objects'}, expected floats or whole numbers, little endian`,
      "write array.astype('<f8')",
    )
  }
  const numbers = shape
    .split(',')
    .map(part => part.replace('L', '').trim())
    .filter(part => part !== '')
    .map(Number)
  if (!numbers.every(Number.isSafeInteger)) throw damaged(`the shape (${shape})`)
  return { type, size, shape: numbers, bytes: 8 + lengthBytes.length + length }
}

/** Bytes of each text, which NumPy keeps as bytes (`|S3`) or as characters of four bytes (`<U3`); 0 for other types. */
function bytesOfTexts(type: string): number {
  const [, kind, length = 0] = /^[<|=]([SU])(\d+)$/.exec(type) ?? []
  return Number(length) * (kind === 'U' ? 4 : 1)
}

/** The first text of an array of texts. NumPy fills it up with zeros. */
export function readText({ type }: NpyHeader, bytes: Uint8Array): string {
  const wide = type.includes('U')
  return Buffer.from(wide ? bytes.filter((_, k) => k % 4 === 0) : bytes)
    .toString('latin1')
    .replace(/\0+$/, '')
}

/** Refuses an array of no numbers. */
export function requireNumbers(name: string, { type }: NpyHeader): void {
  if (bytesOfTexts(type) === 0) return
  throw new SpillwayError(`${name}: found texts (${type}), expected numbers`, "write array.astype('<f8')")
}
