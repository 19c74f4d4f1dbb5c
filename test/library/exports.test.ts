// The page about the library names everything that the package exports, and nothing else.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

it('docs/library.md lists every export', () => {
  const exported = [...read('src/index.ts').matchAll(/export (type )?\{([^}]*)\}/g)].flatMap(([, , names]) =>
    names
      .split(',')
      .map(name => name.replace(/^\s*(type )?/, '').trim())
      .filter(name => name !== ''),
  )
  assert.ok(exported.length > 40)
  const [, section] = read('docs/library.md').split('## What the package exports')
  const table = section.split('\n').filter(line => line.startsWith('|'))
  const listed = [...table.join('\n').matchAll(/`(\w+)`/g)].map(([, name]) => name)
  assert.deepEqual(listed.sort(), exported.sort())
})
