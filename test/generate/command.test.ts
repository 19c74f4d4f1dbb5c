import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { parseArguments } from '../../src/cli/command.ts'
import { generateCommand } from '../../src/cli/generate.ts'
import { helpPage } from '../../src/cli/help-page.ts'
import { likenesses } from '../../src/generate/likenesses.ts'
import { program } from '../cli/run.ts'

function run(...words: string[]): { stdout: string; stderr: string; status: number | null } {
  return spawnSync(process.execPath, [program, 'generate', ...words], { encoding: 'utf8' })
}

describe('spillway generate', () => {
  it('writes rows to standard output and says on the other what it did', () => {
    const { stdout, stderr, status } = run('--like=kddb', '--rows=50', '-')
    assert.equal(status, 0, stderr)
    assert.equal(stdout.split('\n').length, 51)
    assert.match(stderr, /^standard output: 50 rows like kddb, \d+\.\d nonzeros a row, /)
    assert.match(stderr, /\d s, .* a second\n$/)
  })

  it('prints one line of JSON', () => {
    const { stdout, stderr } = run('--like=epsilon', '--size=1M', '--json', '--quiet', '/dev/null')
    assert.equal(stderr, '')
    const { seconds, bytes, rows, ...rest } = JSON.parse(stdout)
    assert.deepEqual(rest, {
      command: 'generate',
      like: 'epsilon',
      features: 2000,
      nonzeros: rows * 2000,
      file: '/dev/null',
    })
    assert.ok(seconds > 0 && bytes > 0.9 * 2 ** 20 && bytes <= 2 ** 20)
  })

  it('ends quietly when its reader has had enough', () => {
    const line = `'${process.execPath}' '${program}' generate --like=webspam --size=4G -q - | head -c 10`
    const { stdout, stderr, status } = spawnSync('sh', ['-c', line], { encoding: 'utf8', timeout: 120_000 })
    assert.equal(stderr, '')
    assert.equal(status, 0)
    assert.match(stdout, /^[+-]1 \d/)
  })

  it('refuses in words what it does not know', async () => {
    assert.throws(() => parseArguments(generateCommand, ['--like', 'mnist', 'out']), {
      message: /^--like is "mnist"; expected one of webspam, yahoo-korea, epsilon, kddb, clicks, connections, ocr/,
    })
    const input = { arguments: ['out'], signal: new AbortController().signal }
    await assert.rejects(generateCommand.run({ ...input, options: {} }), {
      message: /^--like is missing; expected one of/,
    })
    await assert.rejects(generateCommand.run({ ...input, options: { like: 'kddb', rows: '5', size: '1G' } }), {
      message: '--rows and --size were both given; one of them says how much data to make',
    })
  })

  it('names every set in its help', () => {
    const page = helpPage(generateCommand, '')
    for (const name of Object.keys(likenesses)) assert.ok(page.includes(`\n  ${name} `), name)
  })
})
