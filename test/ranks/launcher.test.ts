import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { joinRanks } from '../../src/ranks/join-ranks.ts'
import { noticeLaunch } from '../../src/ranks/launcher.ts'

describe('a launcher', () => {
  it('is noticed by what it says in the environment', () => {
    const cases: [Record<string, string>, { rank: number; size: number; libraries: string[] }][] = [
      [
        { OMPI_COMM_WORLD_SIZE: '4', OMPI_COMM_WORLD_RANK: '2' },
        { rank: 2, size: 4, libraries: ['open-mpi'] },
      ],
      [
        { PMI_SIZE: '3', PMI_RANK: '1' },
        { rank: 1, size: 3, libraries: ['mpich'] },
      ],
      [
        { PMI_SIZE: '3', PMI_RANK: '1', SLURM_STEP_NUM_TASKS: '3' },
        { rank: 1, size: 3, libraries: ['mpich', 'open-mpi'] },
      ],
      [
        { PMIX_RANK: '1', SLURM_STEP_NUM_TASKS: '2', SLURM_PROCID: '1' },
        { rank: 1, size: 2, libraries: ['open-mpi', 'mpich'] },
      ],
      [
        { SLURM_STEP_NUM_TASKS: '2', SLURM_PROCID: '1' },
        { rank: 1, size: 2, libraries: [] },
      ],
    ]
    for (const [environment, expected] of cases) {
      const { launcher: _, ...found } = noticeLaunch(environment)!
      assert.deepEqual(found, expected)
    }
  })

  it('of one process, and none at all, leave it alone', () => {
    const environments: Record<string, string>[] = [
      {},
      { OMPI_COMM_WORLD_SIZE: '1', OMPI_COMM_WORLD_RANK: '0' },
      { PMI_SIZE: '1', PMI_RANK: '0' },
      // A script of Slurm that was not started by srun.
      { SLURM_NTASKS: '4', SLURM_PROCID: '0' },
      { SPILLWAY_MPI: 'none', OMPI_COMM_WORLD_SIZE: '4', OMPI_COMM_WORLD_RANK: '2' },
      { OMPI_COMM_WORLD_SIZE: '' },
    ]
    for (const environment of environments) assert.equal(noticeLaunch(environment), undefined)
  })

  it('is not left alone by a word that nobody knows', async () => {
    const environment = { SPILLWAY_MPI: 'off', OMPI_COMM_WORLD_SIZE: '2', OMPI_COMM_WORLD_RANK: '0' }
    await assert.rejects(joinRanks(noticeLaunch(environment)!, environment), {
      message: 'SPILLWAY_MPI is "off"; expected none',
      exitCode: 2,
    })
  })

  it('that starts processes which cannot talk is refused with what to say', async () => {
    const launch = noticeLaunch({ SLURM_STEP_NUM_TASKS: '2', SLURM_PROCID: '1' })!
    await assert.rejects(joinRanks(launch, {}), ({ message, advice }: { message: string; advice: string }) => {
      assert.equal(message, 'srun started 2 processes that cannot talk to each other')
      assert.match(advice, /^say srun --mpi=pmix; or SPILLWAY_MPI=none/)
      return true
    })
  })
})
