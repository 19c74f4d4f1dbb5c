// What somebody sees who asks for help: an overview, and for every command each of its options and an example that works.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allCommands } from '../../src/cli/all-commands.ts'
import { parseArguments } from '../../src/cli/command.ts'
import { inFolder, run } from './run.ts'

const help = (words: string[]) => inFolder(cwd => run(words, { cwd }))

describe('help', { concurrency: 3 }, () => {
  it('is an overview of every command, with an example', async () => {
    const [bare, long, short, word] = await Promise.all([[], ['--help'], ['-h'], ['help']].map(help))
    assert.equal(bare.status, 2, 'no command is wrong usage')
    for (const { status, stdout, stderr } of [long, short, word]) {
      assert.deepEqual([status, stderr], [0, ''])
      assert.equal(stdout, bare.stdout)
    }
    for (const [name, { summary }] of Object.entries(allCommands)) {
      assert.match(bare.stdout, new RegExp(`^  ${name} +${summary.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`, 'm'))
    }
    assert.match(bare.stdout, /^Example:\n {2}spillway train /m)
  })

  for (const [name, { summary, load }] of Object.entries(allCommands)) {
    it(`of ${name} shows an example and every option`, async () => {
      const command = await load()
      assert.equal(command.name, name)
      const { status, stdout, stderr } = await help([name, '--help'])
      assert.deepEqual([status, stderr], [0, ''])
      assert.ok(stdout.startsWith(`spillway ${name} ${command.takes}\n\n${summary}\n`))
      for (const [option, { short, value, choices, help: says }] of Object.entries(command.options)) {
        const stands = choices ? choices.join('|') : value
        const spelling = `${short ? `-${short}, ` : '    '}--${option}${stands ? ` ${stands}` : ''}`
        assert.ok(stdout.includes(`\n  ${spelling}`), `--${option} of ${name}`)
        assert.ok(stdout.includes(says), `--${option} of ${name}: ${says}`)
      }
      assert.ok(command.examples.length > 0)
      for (const { line, does } of command.examples) assert.ok(stdout.includes(`\n  ${line}\n      ${does}`), line)
      for (const line of stdout.split('\n')) assert.ok(line.length <= 140, `too wide for a terminal: ${line}`)
    })

    it(`of ${name}: the examples are command lines that it takes`, async () => {
      const command = await load()
      for (const { line } of command.examples) {
        const words = line
          .replace(/^.*?spillway /, '')
          .replace(/ \|.*$/, '')
          .split(' ')
        assert.equal(words.shift(), name, line)
        const parsed = parseArguments(command, command.rewrite?.(words) ?? words)
        assert.ok(parsed.arguments.length >= command.count[0], line)
      }
    })
  }

  it('is found by -h, by --help anywhere, and by help COMMAND, and does no work', async () => {
    const runs = [
      ['train', '-h'],
      ['train', 'no-such-file', '--cost', '3', '--help'],
      ['help', 'train'],
    ].map(help)
    const [first, ...others] = await Promise.all(runs)
    assert.equal(first.status, 0)
    for (const other of others) assert.deepEqual(other, first)
  })
})
