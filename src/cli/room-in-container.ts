// A memory that was named, beside what the container has. Plans fill what was named: beyond a hard limit the system would end the run in its
// midst. Memory beyond that of a machine is another thing, which may have swap space.
import { UsageError } from '../errors.ts'
import { hardMemoryLimit, processesHere } from '../machine-memory.ts'
import { formatBytes } from '../numeric/arena.ts'
import type { ByteCount } from '../sizes.ts'

/** Refuses more than there is for all processes of a job here. */
export function requireRoomInContainer(
  memory: ByteCount | undefined,
  { limit = hardMemoryLimit(), processes = processesHere() } = {},
): void {
  if (memory === undefined || memory * processes <= limit) return
  const named =
    processes === 1
      ? `--memory names ${formatBytes(memory)}`
      : `--memory names ${formatBytes(memory)} for each of ${processes} processes here, ${formatBytes(memory * processes)} in all`
  const most = Math.floor(limit / processes / 2 ** 20)
  throw new UsageError(
    `${named}, and the container has ${formatBytes(limit)}: the system would end the run`,
    `take --memory ${most}M or less, or leave it out: a run then takes nine tenths of what the container has`,
  )
}
