// Whether zstd on top of the codecs is worth it. It saves bytes on disk and costs time at every reading, so:
//
//   zstd  if and only if  (bytes saved) / (disk's bytes per second)  >  (seconds to decompress)
//
// measured on segments of the data itself. The caller gives the disk's rate (disk-rate.ts).
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

export type CompressionChoice = 'auto' | 'zstd' | 'none'

/** Level 1: on payloads that are packed already, higher levels gain a few percent for several times the time. */
export const ZSTD_PARAMS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export interface CompressionVerdict {
  compression: 'zstd' | 'none'
  /** Bytes of the sample without and with zstd, and the seconds that decompressing took; 0 when nothing was measured. */
  bytes: number
  compressedBytes: number
  decompressSeconds: number
}

/** What was asked for; undefined when it is to be measured. */
export function askedCompression(choice: CompressionChoice): 'zstd' | 'none' | undefined {
  return choice === 'auto' ? undefined : choice
}

/** Settles `auto` on a sample of uncompressed payloads. */
export function chooseCompression(
  choice: CompressionChoice,
  payloads: Iterable<Uint8Array>,
  diskBytesPerSecond: number,
  now: () => number = () => performance.now(),
): CompressionVerdict {
  const verdict: CompressionVerdict = { compression: 'none', bytes: 0, compressedBytes: 0, decompressSeconds: 0 }
  const asked = askedCompression(choice)
  if (asked) return { ...verdict, compression: asked }
  for (const payload of payloads) {
    const packed = zstdCompressSync(payload, ZSTD_PARAMS)
    verdict.bytes += payload.length
    // A segment that does not shrink is stored as it is.
    if (packed.length >= payload.length) {
      verdict.compressedBytes += payload.length
      continue
    }
    verdict.compressedBytes += packed.length
    zstdDecompressSync(packed) // once to warm up
    const start = now()
    zstdDecompressSync(packed)
    verdict.decompressSeconds += (now() - start) / 1000
  }
  const saved = verdict.bytes - verdict.compressedBytes
  if (saved / diskBytesPerSecond > verdict.decompressSeconds) verdict.compression = 'zstd'
  return verdict
}
