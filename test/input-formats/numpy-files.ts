// NumPy arrays and zip archives, written as numpy.save and scipy.sparse.save_npz write them, or wrong in one thing.
import { crc32, deflateRawSync } from 'node:zlib'

export function npyBytes(descr: string, shape: number[], data: ArrayBufferView, order = 'False'): Buffer {
  const sides = shape.length === 1 ? `${shape[0]},` : shape.join(', ')
  const dict = `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': (${sides}), }`
  const text = `${dict.padEnd(Math.ceil((dict.length + 11) / 64) * 64 - 11)}\n`
  const length = Buffer.alloc(2)
  length.writeUInt16LE(text.length)
  const head = Buffer.concat([
    Buffer.from([0x93]),
    Buffer.from('NUMPY'),
    Buffer.from([1, 0]),
    length,
    Buffer.from(text),
  ])
  return Buffer.concat([head, Buffer.from(data.buffer, data.byteOffset, data.byteLength)])
}

export const f8 = (numbers: number[], shape = [numbers.length]): Buffer =>
  npyBytes("'<f8'", shape, Float64Array.from(numbers))
export const i4 = (numbers: number[], shape = [numbers.length]): Buffer =>
  npyBytes("'<i4'", shape, Int32Array.from(numbers))

export function zipBytes(files: Record<string, Buffer>, options: { deflate?: boolean; method?: number } = {}): Buffer {
  const { deflate = false } = options
  const { method = deflate ? 8 : 0 } = options
  const parts: Buffer[] = []
  const list: Buffer[] = []
  let at = 0
  for (const [name, content] of Object.entries(files)) {
    const packed = deflate ? deflateRawSync(content) : content
    const head = Buffer.alloc(30)
    head.writeUInt32LE(0x04034b50, 0)
    head.writeUInt16LE(method, 8)
    head.writeUInt32LE(crc32(content), 14)
    head.writeUInt32LE(packed.length, 18)
    head.writeUInt32LE(content.length, 22)
    head.writeUInt16LE(name.length, 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(method, 10)
    entry.writeUInt32LE(packed.length, 20)
    entry.writeUInt32LE(content.length, 24)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(at, 42)
    parts.push(head, Buffer.from(name), packed)
    list.push(entry, Buffer.from(name))
    at += head.length + name.length + packed.length
  }
  const listed = Buffer.concat(list)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, listed, end])
}

/** The arrays of a matrix of three rows and four columns, with labels. */
export function csrArrays(): Record<string, Buffer> {
  return {
    'indices.npy': i4([0, 3, 2, 1, 0]),
    'indptr.npy': i4([0, 2, 3, 5]),
    'format.npy': npyBytes("'|S3'", [], Buffer.from('csr')),
    'shape.npy': npyBytes("'<i8'", [2], BigInt64Array.from([3n, 4n])),
    'data.npy': f8([0.5, -2, 1, 4, 8]),
    'y.npy': i4([1, -1, 1]),
  }
}
