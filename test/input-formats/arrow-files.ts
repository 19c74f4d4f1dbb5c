// Tables as Arrow files and streams, in several record batches, with or without compression.
import { zstdCompressSync } from 'node:zlib'
import {
  bool,
  columnFromArray,
  type DataType,
  dictionary,
  float64,
  setCompressionCodec,
  tableFromColumns,
  tableToIPC,
  utf8,
} from '@uwdata/flechette'
import type { SomeTable } from './some-table.ts'

const ZSTD = 1
/** Bytes that are not compressed, in a frame as LZ4 writes it. */
function storedLz4(bytes: Uint8Array): Uint8Array {
  const size = Buffer.alloc(4)
  size.writeUInt32LE((bytes.length | 0x80000000) >>> 0)
  const head = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73])
  return Buffer.concat([head, size, bytes, Buffer.alloc(4)])
}

setCompressionCodec(ZSTD, { encode: bytes => zstdCompressSync(bytes), decode: bytes => bytes })
setCompressionCodec(0, { encode: storedLz4, decode: bytes => bytes })

export interface ArrowOptions {
  format?: 'file' | 'stream'
  rowsEach?: number
  codec?: 'zstd' | 'lz4'
  types?: (DataType | undefined)[]
}

export function asArrow({ names, columns }: SomeTable, options: ArrowOptions = {}): Buffer {
  const { format = 'file', rowsEach = 100, codec, types = [] } = options
  const made = names.map((name, k): [string, ReturnType<typeof columnFromArray>] => {
    const isText = columns[k].some(cell => typeof cell === 'string')
    const isBoolean = columns[k].some(cell => typeof cell === 'boolean')
    const type = types[k] ?? (isText ? (k % 2 === 0 ? dictionary(utf8()) : utf8()) : isBoolean ? bool() : float64())
    return [name, columnFromArray(columns[k], type, { maxBatchRows: rowsEach })]
  })
  const codecs = { zstd: 1, lz4: 0 } as const
  return Buffer.from(tableToIPC(tableFromColumns(made), { format, ...(codec && { codec: codecs[codec] }) })!)
}
