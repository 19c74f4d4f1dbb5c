// How fast the disk of a store reads: what `--compress auto` weighs the cost of decompressing against.
import { randomFillSync } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { DirectFile, pageRoom } from '../files/direct-file.ts'
import type { ByteCount } from '../sizes.ts'

/** As much as a block's reader reads at a time. */
const PIECE_BYTES: ByteCount = 4 << 20
/** A rented disk has a reserve, and reads the first megabytes faster than it can go on: several pieces are read. */
const PIECES = 8
/** After so many milliseconds a disk is known to be slow, and no further piece is read. */
const LONGEST = 500
/** A disk that reads so many bytes a second is fast. What zstd saves there is hardly more than the clock's noise: stores on such
 *  disks have the same bytes from run to run. */
const FAST_DISK = 400e6
/** The rate that a fast disk has, and one that cannot be measured: zstd hardly ever pays at it. */
export const FASTEST_RATE = 4e9
/** No disk that a store is kept on is slower. */
export const SLOWEST_RATE = 10e6

/** Bytes a second that the disk of a folder reads past the page cache. Bytes that were just written would else come from memory. */
export async function diskRate(folder: string, now: () => number = () => performance.now()): Promise<number> {
  const path = join(folder, 'probe.tmp')
  try {
    const room = pageRoom(PIECE_BYTES)
    await writeProbe(path, room)
    const rate = readProbe(path, room, now)
    return rate !== undefined && rate < FAST_DISK ? rate : FASTEST_RATE
  } catch {
    return FASTEST_RATE
  } finally {
    await unlink(path).catch(() => {})
  }
}

/** Random bytes: some disks and file systems compress what they keep. */
async function writeProbe(path: string, room: Uint8Array): Promise<void> {
  await using file = await open(path, 'w')
  for (let k = 0; k < PIECES; k++) await file.writeFile(randomFillSync(room))
  await file.sync()
}

/** Undefined where the file system does not read past the page cache. Nothing else happens meanwhile: while text is read, a result that
 *  is waited for comes late, and a fast disk would seem slow. */
function readProbe(path: string, room: Uint8Array, now: () => number): number | undefined {
  const file = DirectFile.openSync(path)
  try {
    const start = now()
    let bytes = 0
    let passed = 0
    for (let k = 0; k < PIECES && passed < LONGEST; k++) {
      bytes += file.readSync(room, bytes)
      passed = now() - start
    }
    return file.direct ? bytes / (passed / 1000) : undefined
  } finally {
    file.closeSync()
  }
}
