// What the documents promise of themselves: the table of files is what the files say, links lead somewhere, lines are short.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { badOpenings, DOCUMENT, firstSentence, withTable } from '../../scripts/file-table.ts'
import { allSolvers } from '../../src/optimise/solvers/all-solvers.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter(f => f.endsWith('.md'))
    .map(f => `docs/${f}`),
]

describe('the table of files', () => {
  it('has a first sentence to take from every file', () => {
    assert.deepEqual(badOpenings(), [])
  })

  it('is up to date', () => {
    const text = readFileSync(DOCUMENT, 'utf8')
    assert.ok(text === withTable(text), 'ARCHITECTURE.md has an old table of files: run `npm run file-table`')
  })

  it('takes the first sentence of a comment, whatever follows it', () => {
    assert.equal(firstSentence('// Adds a.b to c. More.\nimport x'), 'Adds a.b to c')
    assert.equal(
      firstSentence('#!/usr/bin/env node\n// Solver `x`: one\n// two.\n//\n//   min f\n'),
      'Solver `x`: one two',
    )
    assert.equal(firstSentence('import x\n// late'), '')
  })
})

describe('the documents', () => {
  /** What a heading is called in a link, as GitHub has it. */
  const anchorOf = (heading: string): string =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')

  it('link to pages and headings that are there', () => {
    let links = 0
    for (const page of pages) {
      for (const [, link] of read(page).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(link)) continue
        links++
        const [path, anchor] = link.split('#')
        const target = path === '' ? page : join(dirname(page), path)
        assert.ok(existsSync(join(root, target)), `${page} links to ${link}`)
        if (anchor === undefined) continue
        const headings = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading))
        assert.ok(headings.includes(anchor), `${page} links to ${link}, which has no such heading`)
      }
    }
    assert.ok(links > 20)
  })

  it('keep every page of docs/ within reach of the README', () => {
    const reached = new Set(['README.md'])
    for (const page of reached) {
      for (const [, link] of read(page).matchAll(/\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g)) {
        if (/^[a-z]+:/.test(link) || !existsSync(join(root, dirname(page), link))) continue
        reached.add(join(dirname(page), link))
      }
    }
    for (const page of pages) assert.ok(reached.has(page), `no page links to ${page}`)
  })

  it('tell of every solver when to take it', () => {
    const text = read('docs/solvers.md')
    for (const { name } of allSolvers) {
      assert.match(text, new RegExp(`^\\| \`${name}\` `, 'm'), `${name} in the table of solvers`)
      assert.match(text, new RegExp(`^- \\*\\*\`${name}\`\\*\\*: `, 'm'), `when to take ${name}`)
    }
  })

  it('wrap their prose; tables, drawings and what programs print may be wider', () => {
    const wide = [
      'docs/formulations.md',
      'docs/bundles.md',
      'docs/additive-kernels.md',
      'docs/adding-a-solver.md',
      'docs/certificate.md',
      'docs/memory.md',
      'docs/solvers.md',
      'bench/README.md',
    ].flatMap(page => {
      let fenced = false
      return read(page)
        .split('\n')
        .flatMap((line, i) => {
          if (line.trimStart().startsWith('```')) fenced = !fenced
          return !fenced && !line.startsWith('|') && [...line].length > 120 ? [`${page}:${i + 1}`] : []
        })
    })
    assert.deepEqual(wide, [], 'lines of prose with more than 120 characters')
  })

  it('have a demo whose data is several times its memory, as its first words say', () => {
    const [memory, size] = ['MEMORY', 'SIZE'].map(name =>
      Number(new RegExp(`const ${name} = '(\\d+)M'`).exec(read('scripts/demo.ts'))![1]),
    )
    assert.ok(size >= 5 * memory, `${size}M of text for ${memory}M of memory`)
  })

  it('keep the README short and the lines of ARCHITECTURE.md too', () => {
    assert.ok(read('README.md').split('\n').length <= 201, 'the README has more than 200 lines')
    const long = read('ARCHITECTURE.md')
      .split('\n')
      .flatMap((line, i) => ([...line].length > 120 ? [i + 1] : []))
    assert.deepEqual(long, [], 'lines of ARCHITECTURE.md with more than 120 characters')
  })
})
