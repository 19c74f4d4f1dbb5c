// A new loss, solver or input format is one file and one line in its list: here the folder is compared with the list.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, it } from 'node:test'
import { allAdditiveKernels } from '../../src/additive-kernels/all-additive-kernels.ts'
import { allExpansions } from '../../src/features/all-expansions.ts'
import { allInputFormats } from '../../src/input-formats/all-input-formats.ts'
import { allLosses } from '../../src/losses/all-losses.ts'
import { allSolvers } from '../../src/optimise/solvers/all-solvers.ts'

interface Named {
  name: string
  summary: string
}

/** Files of a folder under src/ that export something that looks like an entry of its list. */
async function exported(folder: string, looksLikeOne: (value: object) => boolean): Promise<Map<string, object[]>> {
  const url = new URL(`../../src/${folder}/`, import.meta.url)
  const found = new Map<string, object[]>()
  for (const file of readdirSync(url).filter(name => name.endsWith('.ts') && !name.startsWith('all-'))) {
    const exports = Object.values((await import(new URL(file, url).href)) as Record<string, unknown>)
    found.set(
      file,
      exports.filter((value): value is object => typeof value === 'object' && value !== null && looksLikeOne(value)),
    )
  }
  return found
}

const lists: {
  folder: string
  list: Named[]
  looksLikeOne: (value: object) => boolean
}[] = [
  {
    folder: 'additive-kernels',
    list: allAdditiveKernels,
    looksLikeOne: value => 'parse' in value,
  },
  { folder: 'losses', list: allLosses, looksLikeOne: value => 'value' in value },
  {
    folder: 'optimise/solvers',
    list: allSolvers,
    looksLikeOne: value => 'lossNeeds' in value,
  },
  {
    folder: 'features',
    list: allExpansions,
    looksLikeOne: value => 'takes' in value,
  },
  {
    folder: 'input-formats',
    list: allInputFormats,
    looksLikeOne: value => 'newParser' in value,
  },
]

for (const { folder, list, looksLikeOne } of lists) {
  describe(`the list of ${folder}`, () => {
    it('has every entry of the folder, once, in a file of its name', async () => {
      const files = await exported(folder, looksLikeOne)
      assert.deepEqual(
        [...files.values()]
          .flat()
          .map(value => (value as Named).name)
          .sort(),
        list.map(e => e.name).sort(),
      )
      for (const [file, entries] of files) {
        for (const entry of entries) assert.ok(list.includes(entry as Named), `${file} is not in the list`)
      }
      for (const { name } of list) assert.ok(files.has(`${name}.ts`), `${name} has no file of its name`)
    })
    it('has names and summaries that tell entries apart', () => {
      for (const pick of [(e: Named) => e.name, (e: Named) => e.summary]) {
        assert.equal(new Set(list.map(pick)).size, list.length)
      }
      for (const { name, summary } of list) {
        assert.match(name, /^[a-z][a-z0-9-]*$/)
        assert.ok(summary.length > 10 && summary.length < 100 && !summary.includes('\n'))
      }
    })
  })
}
