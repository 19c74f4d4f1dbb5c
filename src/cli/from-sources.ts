// A clone runs from its sources where one is newer than dist/. Node takes more memory then, which no plan counts: plans are those of the
// built program. Inside of a hard cap the program's own pages would have no room.
import { SpillwayError } from '../errors.ts'
import { memoryLimit } from '../machine-memory.ts'
import { formatBytes } from '../numeric/arena.ts'
import type { ByteCount } from '../sizes.ts'

/** What Node takes more: it strips types in every thread, and keeps hundreds of modules apart. Measured: 136 to 145 MB of anonymous memory in
 *  place of 70 on tiny data, 196 to 199 in place of 141 on 200 MB of text in 240M; 122 and 183 once Node has the modules in its cache. */
const SOURCES_BYTES: ByteCount = 64 << 20

/** Refuses a memory beside which the cap has no room for that. */
export function requireRoomForSources(memory: ByteCount | undefined, limit: ByteCount = memoryLimit()): void {
  if (memory === undefined || memory + SOURCES_BYTES <= limit) return
  throw new SpillwayError(
    `${formatBytes(memory)} of memory cannot work from the sources: Node takes ${formatBytes(SOURCES_BYTES)} more than dist/ does, which is missing or older than a source, and the container has ${formatBytes(limit)}`,
    'npm run build',
  )
}
