// Joins the processes that a launcher of MPI has started: finds koffi and the library of the launcher, and starts it.
import { hostname } from 'node:os'
import { SpillwayError, UsageError } from '../errors.ts'
import type { Environment, Launch, MpiName } from './launcher.ts'
import { type LoadedMpi, type MpiCommunicator, startMpi } from './mpi.ts'
import type { MpiKind } from './mpi-library.ts'
import { mpich } from './mpich.ts'
import { openMpi } from './open-mpi.ts'

const allKinds: Record<MpiName, MpiKind> = { 'open-mpi': openMpi, mpich }
/** Libraries of MPI use more stack than koffi gives to calls beside the event loop. */
const STACK_BYTES = 1 << 20

/** Where this rank runs, for messages: `rank 2 on node7`. */
export function rankName(rank: number): string {
  return `rank ${rank} on ${hostname()}`
}

/** Joins the other processes of a launch. `callBytes`: what one call sends at most. */
export async function joinRanks(
  launch: Launch,
  environment: Environment = process.env,
  callBytes?: number,
): Promise<MpiCommunicator> {
  const { launcher, size, libraries } = launch
  if (libraries.length === 0) {
    throw new SpillwayError(
      `srun started ${size} processes that cannot talk to each other`,
      'say srun --mpi=pmix; or SPILLWAY_MPI=none, if each process is to work alone',
    )
  }
  const asked = environment['SPILLWAY_MPI']
  if (asked) {
    const what = 'let each process work alone with none, or leave SPILLWAY_MPI out to have them work together'
    throw new UsageError(`SPILLWAY_MPI is "${asked}"; expected none`, what)
  }
  const loaded = await loadMpi(launch, environment['SPILLWAY_MPI_LIBRARY'])
  const ranks = startMpi(loaded, callBytes)
  if (ranks.size === size) {
    endTogether(ranks, loaded)
    return ranks
  }
  ranks.end()
  throw new SpillwayError(
    `${launcher} says that there are ${size} processes, and ${loaded.file} (${loaded.kind.title}) finds ${ranks.size}: it is not the library of this launcher`,
    `start with the mpirun of that library, or name the launcher's own: SPILLWAY_MPI_LIBRARY=/…/${loaded.kind.files[0]}`,
  )
}

/** A process that leaves ends the job. Else it would wait for the call that it is at, and the other ranks for the process. One
 *  that has ended well leaves at once: when threads that have called MPI end one by one, they look for parts of the library that
 *  are gone by then, and the process crashes. */
function endTogether(ranks: MpiCommunicator, { koffi }: LoadedMpi): void {
  const leave = koffi.load(null).func('void _exit(int code)')
  process.on('exit', code => {
    ranks.abort(code || 1)
    leave(code)
  })
  // Node would print it after the process has left.
  process.on('uncaughtExceptionMonitor', error => process.stderr.write(`${rankName(ranks.rank)}: ${error.stack}\n`))
}

async function loadMpi({ launcher, size, libraries }: Launch, named: string | undefined): Promise<LoadedMpi> {
  const kinds = libraries.map(name => allKinds[name])
  const koffi = await loadKoffi(launcher, size)
  koffi.config({ async_stack_size: STACK_BYTES, resident_async_pools: 1 })
  const files = named ? [named] : kinds.flatMap(({ files }) => files)
  const others: string[] = []
  for (const file of files) {
    const library = attempt(() => koffi.load(file, { global: true }))
    if (!library) continue
    const address = (name: string): bigint | undefined => attempt(() => library.symbol(name) as bigint)
    const kind = kindOf(address)
    if (kind && kinds.includes(kind)) return { kind, file, koffi, library }
    others.push(`${file} is ${kind?.title ?? 'no MPI library'}`)
  }
  const expected = kinds.map(({ title }) => title).join(' or ')
  if (named) {
    throw new SpillwayError(
      `${launcher} needs a library of ${expected}: ${others[0] ?? `SPILLWAY_MPI_LIBRARY=${named} cannot be loaded`}`,
      'name the library that belongs to the launcher, or leave SPILLWAY_MPI_LIBRARY out',
    )
  }
  throw new SpillwayError(
    `${launcher} started ${size} processes, and there is no library of ${expected} (looked for ${files.join(', ')})`,
    `install it on every host, e.g. ${kinds[0].install}; or name it: SPILLWAY_MPI_LIBRARY=/…/${kinds[0].files[0]}`,
  )
}

function kindOf(address: (name: string) => bigint | undefined): MpiKind | undefined {
  return Object.values(allKinds).find(({ detect }) => detect(address))
}

async function loadKoffi(launcher: string, size: number): Promise<LoadedMpi['koffi']> {
  try {
    return (await import('koffi')).default
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' ? '' : `: ${(error as Error).message}`
    throw new SpillwayError(
      `${launcher} started ${size} processes, and the package koffi, by which they would talk, is not installed${why}`,
      'npm install koffi (npm install --global koffi for a global spillway), on every host; SPILLWAY_MPI=none lets each process work alone',
    )
  }
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
