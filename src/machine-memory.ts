// How much memory there is: what the machine has, or what a container (a Linux control group) allows; and how many cores. The
// processes of one job on one machine share them.
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import type { ByteCount } from './sizes.ts'

/** Shares that a run may take when nobody says how much. A machine has other programs; a container is for this one, and the
 *  rest is for the shell around it and for what the system counts besides. */
const SHARE_OF_MACHINE = 0.7
const SHARE_OF_LIMIT = 0.9
/** Below so much, every part of a run is planned to stay inside: usual blocks, of 128 MiB of text, would be too large. */
const PLENTY = 1.5 * 2 ** 30

/** Processes of this job on this machine: they share it. */
let sharedBy = 1

/** Says that so many processes of one job run on this machine. */
export function shareMachine(processes: number): void {
  sharedBy = processes
}

/** How many processes of this job run on this machine. */
export const processesHere = (): number => sharedBy

/** Cores for one of them. A launcher may have given each process cores of its own. */
export function usableCores(): number {
  const [all, allowed] = [cpus().length, availableParallelism()]
  return Math.max(1, sharedBy === 1 ? all : allowed < all ? allowed : Math.floor(all / sharedBy))
}

/** Memory that a run may take when nobody says how much. Of what there is, not of what happens to be free: the same run on the
 *  same machine goes the same way. */
export function usableMemory(): ByteCount {
  const total = totalmem()
  const limit = Math.min(memoryLimit(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const ofLimit = limit < total ? SHARE_OF_LIMIT * limit : Number.POSITIVE_INFINITY
  return Math.floor(Math.min(SHARE_OF_MACHINE * total, ofLimit) / sharedBy)
}

/** All the memory that there is, and what has no more of it. */
export function wholeMemory(): { bytes: ByteCount; of: 'container' | 'machine' } {
  const [limit, total] = [memoryLimit(), totalmem()]
  return limit < total ? { bytes: limit, of: 'container' } : { bytes: total, of: 'machine' }
}

/** What a run may take where it is so little that it has to be planned for like a named memory; undefined where there is plenty. */
export function scarceMemory(usable = usableMemory()): ByteCount | undefined {
  return usable < PLENTY ? usable : undefined
}

/** The least that the control groups of this process allow, version 1 or 2, those around them included; infinite without a
 *  limit, and where there are none. `root` is where the file system begins. */
export function memoryLimit(root = '/'): ByteCount {
  return leastOf(root, {
    1: limit => limit('memory.limit_in_bytes'),
    2: limit => Math.min(limit('memory.max'), limit('memory.high')),
  })
}

/** The same of limits beyond which the system ends a process: with the swap space that there is besides, and without what only slows a
 *  process down. */
export function hardMemoryLimit(root = '/'): ByteCount {
  const swap = 1024 * Number(/^SwapTotal:\s*(\d+) kB$/m.exec(read(join(root, 'proc/meminfo')))?.[1] ?? 0)
  return leastOf(root, {
    // Memory and swap have one limit together there.
    1: limit => {
      const memory = limit('memory.limit_in_bytes')
      return Math.min(memory + swap, Math.max(memory, limit('memory.memsw.limit_in_bytes')))
    },
    2: limit => limit('memory.max') + Math.min(swap, limit('memory.swap.max')),
  })
}

/** What a group allows, by the limits in its files; infinite where a file says none. */
type LimitOfGroup = (limit: (file: string) => ByteCount) => ByteCount

/** The least limit of the groups of this process, of either version. */
function leastOf(root: string, limits: Record<1 | 2, LimitOfGroup>): ByteCount {
  const lines = read(join(root, 'proc/self/cgroup')).split('\n')
  const found = lines.flatMap(line => {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (controllers.split(',').includes('memory'))
      return limitsAlong(join(root, 'sys/fs/cgroup/memory'), path, limits[1])
    if (controllers === '' && line !== '') return limitsAlong(join(root, 'sys/fs/cgroup'), path, limits[2])
    return []
  })
  return Math.min(Number.POSITIVE_INFINITY, ...found)
}

/** Memory that this process has allocated and that is resident, pages of files left out, which a system that is short of memory takes
 *  back; undefined where the system does not tell them apart. `root` is where the file system begins. */
export function allocatedMemory(root = '/'): ByteCount | undefined {
  const kilobytes = [...read(join(root, 'proc/self/status')).matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB$/gm)]
  return kilobytes.length === 0 ? undefined : kilobytes.reduce((sum, [, count]) => sum + 1024 * Number(count), 0)
}

/** From a group up to the place where groups are mounted. Inside a container the path may be that of the world outside: then
 *  its own group is that place. */
function limitsAlong(mount: string, path: string, limitOf: LimitOfGroup): ByteCount[] {
  const limits: ByteCount[] = []
  for (let group = join('/', path); ; group = dirname(group)) {
    const limit = (file: string): ByteCount => {
      const text = read(join(mount, group, file)).trim()
      return /^\d+$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
    }
    limits.push(limitOf(limit))
    if (group === '/') return limits
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
