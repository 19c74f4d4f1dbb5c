import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { agree, type Facts, fileFact, ranksOnThisHost } from '../../src/ranks/agree.ts'
import { alone } from '../../src/ranks/communicator.ts'
import { ranksInOneProcess } from '../../src/ranks/in-one-process.ts'
import { inFolder } from '../cli/run.ts'

/** What each rank hears, of ranks that bring these facts. */
async function among(...facts: Facts[]): Promise<string[]> {
  const results = await Promise.allSettled(ranksInOneProcess(facts.length).map((ranks, k) => agree(ranks, facts[k])))
  return results.map(result => (result.status === 'fulfilled' ? 'agreed' : (result.reason as Error).message))
}

describe('ranks agree', () => {
  it('on the same facts', async () => {
    assert.deepEqual(await among({ a: '1', b: '2' }, { b: '2', a: '1' }), ['agreed', 'agreed'])
    const { hosts } = await agree(alone, {})
    assert.deepEqual(hosts, [hostname()])
    assert.equal(ranksOnThisHost({ hosts: ['x', 'y', 'x'] }, { ...alone, rank: 2, size: 3 }), 2)
  })

  it('on nothing else, and all hear what differs, and where', async () => {
    const host = hostname()
    const words = `ranks do not agree on --cost: 1 at rank 0 on ${host}, 2 at rank 1 on ${host}`
    assert.deepEqual(await among({ '--cost': '1' }, { '--cost': '2' }, { '--cost': '1' }), [words, words, words])
    const [missing] = await among({}, { '--json': 'true' })
    assert.match(missing, /on --json: nothing at rank 0 on \S+, true at rank 1/)
  })

  it('on files by their size, their beginning and their end', () =>
    inFolder(async folder => {
      const path = join(folder, 'data.svm')
      const facts = new Set<string>()
      const text = 'x'.repeat(300_000)
      for (const content of [text, `y${text.slice(1)}`, `${text.slice(1)}y`, `${text}x`]) {
        writeFileSync(path, content)
        facts.add(await fileFact(path))
      }
      assert.equal(facts.size, 4)
      assert.equal(await fileFact(join(folder, 'none')), 'a file that is not there')
    }))
})
