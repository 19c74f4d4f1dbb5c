// The suite stream: what it reads out of Spillway's words about memory, and what it says when nothing can be measured.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { decodedBytes, heldBytes, leastMemory, memoryHolding, TOO_LITTLE } from '../../bench/sections/memory-words.ts'
import { piecesOf, solversIn } from '../../bench/sections/pass-series.ts'
import { helpPage } from '../../src/cli/help-page.ts'
import { trainCommand } from '../../src/cli/train.ts'
import { good, inFolder } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const MEGABYTE = 2 ** 20

describe('the suite stream', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'spillway-stream-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  it('reads room for rows out of a plan', () => {
    const plan = [
      'solver stream: 40 blocks, read in 17 pieces a pass',
      '  Node and the program                           84.0 MiB',
      '  2 loaded blocks of at most 2.11 MiB            4.25 MiB',
      '  cache of rows                                   512 KiB',
      '  in all                                          129 MiB',
    ].join('\n')
    assert.equal(heldBytes(plan), 4.75 * MEGABYTE)
    assert.equal(heldBytes('  1 loaded block of at most 2.00 GiB   2.00 GiB'), 2 ** 31)
    assert.equal(heldBytes('nothing of the kind'), undefined)
  })

  it('reads room for rows, pieces and solvers out of what the program prints now', async () => {
    for (const columns of [80, 120])
      assert.deepEqual(solversIn(helpPage(trainCommand, '', columns)), trainCommand.options['solver'].choices)
    await inFolder(async cwd => {
      writeFileSync(join(cwd, 'a.svm'), asText(someRows(300, 40)))
      const words = ['train', 'a.svm', 'a.model', '--solver', 'stream', '--memory', '158M', '--json', '--verbose']
      const { stderr } = await good(words, { cwd })
      assert.ok(heldBytes(stderr)! > 0, stderr)
      assert.equal(piecesOf(stderr), 1)
    })
  })

  it('reads the memory that a refusal names', () => {
    assert.equal(leastMemory(new Error('cannot work; what would help: --memory 107M, or --weights f32')), '107M')
    assert.equal(leastMemory(new Error('cannot work; give --memory 100M or more')), '100M')
    const ofStore = 'in all   124 MiB;   allowed   1.00 MiB;   what would help: --memory 136M'
    assert.equal(leastMemory(new Error(ofStore)), '125M')
    assert.equal(leastMemory(new Error('no such file')), undefined)
  })

  it('finds the memory that holds a share of the rows', async () => {
    const told = { nonzeros: 50 * MEGABYTE, rows: 0 }
    const asked: string[] = []
    // A fifth of what is above the least goes elsewhere.
    const train = async (memory: string) => {
      asked.push(memory)
      if (memory === TOO_LITTLE) throw new Error('what would help: --memory 100M')
      const held = 10 + 0.8 * (Number.parseInt(memory, 10) - 100)
      return { stderr: `  cache of rows  ${held} MiB`, told }
    }
    const megabytes = Number.parseInt(await memoryHolding(0.5, train), 10)
    const held = (10 + 0.8 * (megabytes - 100)) * MEGABYTE
    assert.ok(Math.abs(held / decodedBytes(told) - 0.5) < 0.05, `${megabytes}M`)
    assert.ok(asked.length <= 5)
    assert.equal(await memoryHolding(0.001, train), '100M')
    // Once the text was looked at, more is asked for.
    const later = async (memory: string) => {
      if (memory === '100M') throw new Error('what would help: --memory 115M')
      return train(memory)
    }
    assert.equal(await memoryHolding(0.001, later), '115M')
    await assert.rejects(
      memoryHolding(0.5, async () => Promise.reject(new Error('no such store'))),
      /no such store/,
    )
  })

  it('without any program says what is not measured', () => {
    const nowhere = join(folder, 'nowhere')
    const [cache, out] = [join(folder, 'cache'), join(folder, 'results')]
    const env = { ...process.env, PATH: nowhere, SPILLWAY_PROGRAM: nowhere, SPILLWAY_BENCH_CACHE: cache }
    const words = ['stream', '--rounds', '1', '--size', 'small', '--out', out]
    const { status, stderr } = spawnSync(process.execPath, [main, ...words], { encoding: 'utf8', env })
    assert.equal(status, 0, stderr)
    const { complete, sections, skipped } = JSON.parse(readFileSync(join(out, 'stream-small.json'), 'utf8'))
    assert.equal(complete, true)
    assert.equal(sections.length, 6)
    const missing = skipped.map(({ what }: { what: string }) => what)
    for (const what of ['costs, stream', 'memory, block', 'slow-disk', 'auto', 'trainers', 'budget'])
      assert.ok(missing.includes(what), `${what} is not among ${missing.join('; ')}`)
  })
})
