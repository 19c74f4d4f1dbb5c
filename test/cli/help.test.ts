// What somebody sees who asks for help: an overview, and for every command each of its options and an example that works.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allCommands } from '../../src/cli/all-commands.ts'
import { parseArguments } from '../../src/cli/command.ts'
import { helpPage } from '../../src/cli/help-page.ts'
import { inFolder, run, shell } from './run.ts'

/** The notes of a page, behind the last of its options. */
const notesOf = (page: string): string => page.slice(page.indexOf('show this help'))

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
      assert.ok(stdout.replace(/\s+/g, ' ').startsWith(`spillway ${name} ${command.takes} ${summary} `))
      // As one line each, however wide the terminal is.
      const text = stdout.replace(/ \\\n/g, ' ').replace(/\s+/g, ' ')
      for (const [option, { short, value, choices, help: says }] of Object.entries(command.options)) {
        const spellings = [choices?.join('|'), value].map(
          stands => `${short ? `-${short}, ` : ''}--${option}${stands ? ` ${stands}` : ''}`,
        )
        assert.ok(
          spellings.some(spelling => text.includes(` ${spelling} ${says}`)),
          `--${option} of ${name}: ${says}`,
        )
        for (const choice of choices ?? []) assert.ok(text.includes(choice), `--${option} ${choice}`)
      }
      assert.ok(command.examples.length > 0)
      for (const { line, does } of command.examples) assert.ok(text.includes(` ${line} ${does}`), line)
    })

    for (const columns of [80, 120]) {
      it(`of ${name} keeps options and texts apart in ${columns} columns`, async () => {
        const page = helpPage(await load(), summary, columns)
        for (const line of page.split('\n')) {
          assert.ok(line.length <= columns, `too wide: ${line}`)
          // An option, perhaps with what stands for its value, and then its text or nothing.
          if (/^ {2}(-\w, | {4})--/.test(line)) assert.match(line, /^ {2}(-\w, | {4})--[a-z-]+( \S+)?( {2,}\S.*)?$/)
        }
        const names = Object.keys((await load()).options)
        const shown = page.split('\n').filter(line => /^ {2}(-\w, | {4})--/.test(line))
        assert.equal(shown.length, names.length + 1, 'every option begins a line, and --help')
        assert.doesNotMatch(page, /see below/)
        // What is said to be below has lines of its own there.
        for (const [, what] of page.replace(/\s+/g, ' ').matchAll(/(\S+) below/g))
          assert.match(page, new RegExp(`^${what} .*:\n(.*\n)*? {2}\\S`, 'm'), `nothing below for ${what}`)
        // A list: names in one column, texts in the other, at least two blanks between.
        const [, list] = /^[A-Z].*:\n((?: {2,}.*\n?)+)$/m.exec(notesOf(page)) ?? []
        for (const line of list?.split('\n').filter(line => /^ {2}\S/.test(line)) ?? [])
          assert.match(line, /^ {2}\S+( {2,}\S.*)?$/, line)
      })
    }

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

  it('is as wide as the terminal says', () =>
    inFolder(async cwd => {
      for (const columns of [80, 120]) {
        const { stdout } = await shell(`export COLUMNS=${columns}; spillway train --help`, cwd)
        const widest = Math.max(...stdout.split('\n').map(line => line.length))
        assert.ok(widest <= columns && widest > columns - 10, `${widest} of ${columns}`)
      }
    }))

  it('says nothing that only the code explains', async () => {
    const pages = await Promise.all(
      Object.values(allCommands).map(async ({ summary, load }) => helpPage(await load(), summary, 120)),
    )
    for (const page of pages) {
      assert.doesNotMatch(
        page.replace(/\s+/g, ' '),
        /stands for the kernel|the two meet|block by block, starts|do not pay|owe nothing|must fit in memory/,
      )
    }
  })
})
