// A process is known by its number and its start, and one that has ended is not at work.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { isAlive, isAtWork, startOf } from '../../src/files/processes.ts'

const skip = startOf(process.pid) === '' && 'the system does not tell when processes started'

describe('a process', { skip }, () => {
  it('is told from another of its number by its start', () => {
    const { pid } = process
    assert.ok(isAtWork({ pid, start: startOf(pid) }))
    assert.ok(!isAtWork({ pid, start: `${startOf(pid)}1` }))
    // Nobody knows which process that is.
    assert.ok(!isAtWork({ pid, start: '' }))
  })

  it('is not at work once it has ended, also while its parent has not asked for it', async () => {
    const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [text] = (await once(parent.stdout!, 'data')) as [Buffer]
      const pid = Number(text)
      const known = { pid, start: startOf(pid) }
      while (isAtWork(known)) await new Promise(resolve => setTimeout(resolve, 20))
      assert.ok(process.kill(pid, 0), 'its number is still taken')
      assert.ok(!isAlive(pid))
    } finally {
      parent.kill('SIGKILL')
      await once(parent, 'close')
    }
  })
})
