// Notices that a launcher of MPI (mpirun, srun) has started this process as one of several. It looks at the environment, and
// loads nothing.

/** Names of libraries of MPI. */
export type MpiName = 'open-mpi' | 'mpich'

/** What a launcher says in the environment. */
export interface Launch {
  /** What it is called in messages. */
  launcher: string
  rank: number
  size: number
  /** Libraries that may be its own, the likeliest first. */
  libraries: readonly MpiName[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The launcher that started this process as one of several; undefined for a process alone. */
export function noticeLaunch(environment: Environment = process.env): Launch | undefined {
  if (environment['SPILLWAY_MPI'] === 'none') return undefined
  const number = (name: string): number | undefined => {
    const value = Number(environment[name])
    return environment[name] !== undefined && Number.isInteger(value) && value >= 0 ? value : undefined
  }
  const found = openMpiLaunch(number) ?? pmiLaunch(number) ?? slurmLaunch(number)
  return found && found.size > 1 ? found : undefined
}

type NumberOf = (name: string) => number | undefined

function openMpiLaunch(number: NumberOf): Launch | undefined {
  const size = number('OMPI_COMM_WORLD_SIZE')
  if (size === undefined) return undefined
  return { launcher: "Open MPI's mpirun", rank: number('OMPI_COMM_WORLD_RANK') ?? 0, size, libraries: ['open-mpi'] }
}

/** MPICH's own launcher, and Slurm's srun --mpi=pmi2, which serves both. */
function pmiLaunch(number: NumberOf): Launch | undefined {
  const size = number('PMI_SIZE')
  if (size === undefined) return undefined
  const rank = number('PMI_RANK') ?? 0
  if (number('SLURM_STEP_NUM_TASKS') !== undefined)
    return { launcher: 'srun', rank, size, libraries: ['mpich', 'open-mpi'] }
  return { launcher: "MPICH's mpirun", rank, size, libraries: ['mpich'] }
}

function slurmLaunch(number: NumberOf): Launch | undefined {
  const size = number('SLURM_STEP_NUM_TASKS')
  if (size === undefined) return undefined
  const rank = number('PMIX_RANK') ?? number('SLURM_PROCID') ?? 0
  return { launcher: 'srun', rank, size, libraries: number('PMIX_RANK') === undefined ? [] : ['open-mpi', 'mpich'] }
}
