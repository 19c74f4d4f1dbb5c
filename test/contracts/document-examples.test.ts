// The examples of the documents pass the type checker as they are printed, and the tests that the documents tell people to run
// are there.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testFolder } from '../input-formats/fixture.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = testFolder()
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

describe('examples of the documents', () => {
  it('pass the type checker', () => {
    const files = new Map<string, string>()
    for (const page of pages)
      for (const [, path, text] of textOf(page).matchAll(/`(src\/[a-z/-]+\.ts)`:\n\n```ts\n(.*?)```/gs))
        files.set(path, text)
    assert.ok(files.size >= 3, [...files.keys()].join(', '))
    for (const [path, text] of files) {
      // What is no example is imported from the tree.
      const moved = text.replace(/from '(\.[^']+)'/g, (all, other: string) =>
        files.has(join(dirname(path), other)) ? all : `from '${resolve(root, dirname(path), other)}'`,
      )
      mkdirSync(join(folder.path, dirname(path)), { recursive: true })
      writeFileSync(join(folder.path, path), moved)
    }
    const settings = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { typeRoots: [join(root, 'node_modules/@types')], rewriteRelativeImportExtensions: false },
      include: ['src'],
    }
    writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify(settings))
    writeFileSync(join(folder.path, 'package.json'), '{ "type": "module" }')
    const checker = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [checker, '-p', folder.path], { encoding: 'utf8' })
    assert.equal(stdout, '')
    assert.equal(status, 0)
  })
})

describe('commands of the documents', () => {
  it('run tests that there are', () => {
    const typed = pages.flatMap(page =>
      [...textOf(page).matchAll(/\bnode --test ([^`\n|]+)/g)].map(([, words]) => ({ page, words: words.trim() })),
    )
    assert.ok(typed.some(({ page }) => page === 'docs/adding-a-solver.md'))
    assert.ok(typed.some(({ page }) => page === 'docs/adding-an-input-format.md'))
    for (const { page, words } of typed) {
      for (const [, word] of words.matchAll(/(?:^| )"?(test\/[^" ]+)"?/g)) {
        const found = globSync(word, { cwd: root })
        assert.ok(
          found.length > 0 && found.every(path => path.endsWith('.test.ts')),
          `${page}: ${word} is no test file`,
        )
      }
    }
  })
})
