// How much memory there is, in file systems made up like those of containers.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { allocatedMemory, hardMemoryLimit, memoryLimit, scarceMemory, usableMemory } from '../src/machine-memory.ts'

const folder = mkdtempSync(join(tmpdir(), 'spillway-memory-'))
after(() => rmSync(folder, { recursive: true }))

let count = 0
function root(files: Record<string, string>): string {
  const path = join(folder, String(count++))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), `${text}\n`)
  }
  return path
}
const v1 = 'sys/fs/cgroup/memory'
const v2 = 'sys/fs/cgroup'
const NO_LIMIT = '9223372036854771712'

describe('the memory limit of control groups', () => {
  it('version 1: of the own group', () => {
    const files = {
      'proc/self/cgroup': '5:devices:/\n4:memory:/jobs/7',
      [`${v1}/jobs/7/memory.limit_in_bytes`]: '268435456',
    }
    assert.equal(memoryLimit(root(files)), 268435456)
  })

  it('version 1: of a group around it, when that is less', () => {
    const files = {
      'proc/self/cgroup': '4:cpu,memory:/jobs/7',
      [`${v1}/jobs/7/memory.limit_in_bytes`]: NO_LIMIT,
      [`${v1}/jobs/memory.limit_in_bytes`]: '1000000',
      [`${v1}/memory.limit_in_bytes`]: NO_LIMIT,
    }
    assert.equal(memoryLimit(root(files)), 1_000_000)
  })

  it('version 1: in a container that sees its own group alone, under the name that it has outside', () => {
    const files = { 'proc/self/cgroup': '4:memory:/docker/abc', [`${v1}/memory.limit_in_bytes`]: '536870912' }
    assert.equal(memoryLimit(root(files)), 536870912)
  })

  it('version 2: max and high, here and above', () => {
    const files = {
      'proc/self/cgroup': '0::/user.slice/run.scope',
      [`${v2}/user.slice/run.scope/memory.max`]: 'max',
      [`${v2}/user.slice/run.scope/memory.high`]: '3000000000',
      [`${v2}/user.slice/memory.max`]: '4000000000',
    }
    assert.equal(memoryLimit(root(files)), 3_000_000_000)
  })

  it('version 2: in a container', () => {
    const files = { 'proc/self/cgroup': '0::/', [`${v2}/memory.max`]: '268435456', [`${v2}/memory.high`]: 'max' }
    assert.equal(memoryLimit(root(files)), 268435456)
  })

  it('both: memory by version 1, everything else by version 2', () => {
    const files = {
      'proc/self/cgroup': '4:memory:/a\n0::/b',
      [`${v1}/a/memory.limit_in_bytes`]: '700',
      [`${v2}/b/cgroup.procs`]: '1',
    }
    assert.equal(memoryLimit(root(files)), 700)
  })

  it('there is none without groups, and without a limit', () => {
    assert.equal(memoryLimit(root({})), Number.POSITIVE_INFINITY)
    assert.equal(memoryLimit(root({ 'proc/self/cgroup': '0::/' })), Number.POSITIVE_INFINITY)
    assert.equal(
      memoryLimit(root({ 'proc/self/cgroup': '0::/', [`${v2}/memory.max`]: 'max' })),
      Number.POSITIVE_INFINITY,
    )
  })
})

describe('the limit beyond which the system ends a process', () => {
  const swap = { 'proc/meminfo': 'MemTotal: 9000 kB\nSwapTotal:    1000 kB\nSwapFree: 1000 kB' }
  const [own, group] = ['proc/self/cgroup', `${v1}/a/memory.`]

  it('version 1: without swap space it is the limit of memory, with it as much more as there is and may be used', () => {
    const files = { [own]: '4:memory:/a', [`${group}limit_in_bytes`]: '5000000' }
    assert.equal(hardMemoryLimit(root(files)), 5_000_000)
    assert.equal(hardMemoryLimit(root({ ...files, ...swap })), 6_024_000)
    assert.equal(hardMemoryLimit(root({ ...files, ...swap, [`${group}memsw.limit_in_bytes`]: '5000000' })), 5_000_000)
    assert.equal(hardMemoryLimit(root({ ...files, ...swap, [`${group}memsw.limit_in_bytes`]: '5500000' })), 5_500_000)
    assert.equal(hardMemoryLimit(root({ ...files, ...swap, [`${group}memsw.limit_in_bytes`]: NO_LIMIT })), 6_024_000)
  })

  it('version 2: what slows a process down is none', () => {
    const files = { [own]: '0::/', [`${v2}/memory.max`]: '5000000', [`${v2}/memory.high`]: '3000000' }
    assert.equal(hardMemoryLimit(root(files)), 5_000_000)
    assert.equal(hardMemoryLimit(root({ ...files, ...swap })), 6_024_000)
    assert.equal(hardMemoryLimit(root({ ...files, ...swap, [`${v2}/memory.swap.max`]: '0' })), 5_000_000)
    assert.equal(hardMemoryLimit(root({ [own]: '0::/', [`${v2}/memory.max`]: 'max' })), Number.POSITIVE_INFINITY)
  })
})

describe('the memory that the process has allocated', () => {
  it('is told apart from pages of files', () => {
    const status = 'VmRSS:\t  900 kB\nRssAnon:\t  512 kB\nRssFile:\t  256 kB\nRssShmem:\t  128 kB'
    assert.equal(allocatedMemory(root({ 'proc/self/status': status })), 640 << 10)
  })

  it('is not known where the system does not say', () => {
    assert.equal(allocatedMemory(root({})), undefined)
  })
})

describe('the memory of a run that names none', () => {
  it('is a share of what there is', () => {
    assert.ok(usableMemory() > 0 && usableMemory() <= 0.9 * totalmem())
  })

  it('is planned for like a named one where it is little', () => {
    assert.equal(scarceMemory(200 << 20), 200 << 20)
    assert.equal(scarceMemory(2 ** 33), undefined)
  })
})
