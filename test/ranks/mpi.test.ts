import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { describe, it } from 'node:test'
import { outcomeOf } from '../cli/run.ts'
import { check, launchers, mpich, openMpi, runRanks } from './mpirun.ts'

const isSlow = process.env['SPILLWAY_SLOW'] === '1'

for (const launcher of launchers) {
  describe(`ranks of ${launcher.title}`, { skip: launcher.skip }, () => {
    for (const size of launcher.sizes) {
      it(`sum, take the largest, broadcast and gather, ${size} of them`, async () => {
        const { status, stdout, stderr } = await runRanks(launcher, size, [check, 'check', '20000'])
        assert.equal(status, 0, stderr)
        const expected = size === 1 ? { size, alone: true } : { size, hosts: Array(size).fill(hostname()) }
        assert.deepEqual(JSON.parse(stdout), expected)
      })
    }

    /** The last rank fails while the other waits: both end, and the launcher fails. */
    const ways: [how: string, does: string][] = [
      ['throw', 'throws'],
      ['throw-meanwhile', 'throws while it waits itself'],
      ['exit', 'exits'],
      ['leave', 'leaves as if all were well'],
      ['abort', 'ends the job'],
      ['kill', 'is killed'],
    ]
    for (const [how, does] of ways) {
      it(`end together when one ${does}`, async () => {
        let { status, stderr } = await runRanks(launcher, 2, [check, how])
        assert.notEqual(status, 0)
        // A launcher that ends its processes may lose what they wrote last.
        for (let k = 0; k < 4 && stderr === '' && how.startsWith('throw'); k++) {
          ;({ status, stderr } = await runRanks(launcher, 2, [check, how]))
        }
        if (how === 'abort') assert.equal(status, 3)
        if (how.startsWith('throw')) assert.match(stderr, new RegExp(`rank 1 on ${hostname()}: Error: this rank fails`))
      })
    }
  })
}

describe('ranks that have much to say', { skip: openMpi.skip }, () => {
  it('send more than 2^31 bytes', { skip: isSlow ? false : 'it takes 9 GB: set SPILLWAY_SLOW=1' }, async () => {
    const { status, stdout, stderr } = await runRanks(openMpi, 2, [check, 'large'])
    assert.equal(status, 0, stderr)
    assert.ok(JSON.parse(stdout).bytes > 2 ** 31)
  })
})

describe('a launcher and a library that do not match', () => {
  it('are refused by what the library is', { skip: openMpi.skip || mpich.skip }, async () => {
    const env = { SPILLWAY_MPI_LIBRARY: 'libmpich.so.12' }
    const { status, stderr } = await runRanks(openMpi, 2, [check], { env })
    assert.notEqual(status, 0)
    assert.match(stderr, /Open MPI's mpirun needs a library of Open MPI: libmpich\.so\.12 is MPICH/)
  })

  it('are refused by the number of ranks', { skip: openMpi.skip }, async () => {
    // What a launcher of another Open MPI says, and this library does not understand.
    const env = { OMPI_COMM_WORLD_SIZE: '5', OMPI_COMM_WORLD_RANK: '0' }
    const child = spawn(process.execPath, [check], { env: { ...process.env, ...env } })
    const { status, stderr } = await outcomeOf(child)
    assert.notEqual(status, 0)
    assert.match(stderr, /says that there are 5 processes, and libmpi\.so\S* \(Open MPI\) finds 1/)
  })

  it('are refused when the library cannot be loaded', { skip: openMpi.skip }, async () => {
    const { status, stderr } = await runRanks(openMpi, 2, [check], { env: { SPILLWAY_MPI_LIBRARY: '/no/libmpi.so' } })
    assert.notEqual(status, 0)
    assert.match(stderr, /SPILLWAY_MPI_LIBRARY=\/no\/libmpi\.so cannot be loaded/)
  })
})
