// The example of docs/adding-a-solver.md: its files are taken from the page, put in the list, and held to what every solver
// promises, in memory and over blocks.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { toDense } from '../../src/model/weights.ts'
import { allSolvers } from '../../src/optimise/solvers/all-solvers.ts'
import type { Solver } from '../../src/optimise/solvers/solver.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { bitsOf } from '../numeric/reference.ts'
import { noisyRows } from './small-problems.ts'
import { solverContract } from './solver-contract.ts'

const root = new URL('../../', import.meta.url)
const solvers = 'src/optimise/solvers/'
const folder = testFolder()
const page = readFileSync(new URL('docs/adding-a-solver.md', root), 'utf8')
const files = [...page.matchAll(/`src\/optimise\/solvers\/([a-z-]+\.ts)`:\n\n```ts\n(.*?)```/gs)].map(
  ([, name, text]) => ({ name, text }),
)
const own = new Set(files.map(({ name }) => `./${name}`))
for (const { name, text } of files) {
  // The files stand in another folder: what they import from the tree keeps its place.
  const moved = text.replace(/from '(\.[^']+)'/g, (all, path: string) =>
    own.has(path) ? all : `from '${new URL(path, new URL(solvers, root)).href}'`,
  )
  writeFileSync(join(folder.path, name), moved)
}
const examples: Solver[] = []
for (const { name } of files) {
  const exported = (await import(pathToFileURL(join(folder.path, name)).href)) as Record<string, Solver>
  examples.push(...Object.values(exported).filter(value => 'lossNeeds' in value))
}
allSolvers.push(...examples)

describe('the example of docs/adding-a-solver.md', () => {
  it('has a solver of rows in memory and one of rows in blocks, each in a file of its name', () => {
    assert.deepEqual(
      examples.map(({ name, data }) => [name, data]),
      [
        ['plain', 'blocks'],
        ['plain-in-memory', 'memory'],
      ],
    )
    assert.deepEqual(
      files.map(({ name }) => name),
      examples.map(({ name }) => `${name}.ts`),
    )
  })
  it('goes on over several blocks bit by bit where it was stopped', async () => {
    const data = folder.write('several-blocks.svm', noisyRows(200, 9, 4))
    const run = (store: string, maxPasses: number, resume: boolean) => {
      const options = { solver: 'plain', tolerance: 1e-12, blocks: 3, threads: 1, maxPasses, resume }
      return train(data, { ...options, store: join(folder.path, store) }).result
    }
    const whole = await run('whole.spill', 3, false)
    await run('parts.spill', 1, false)
    const parts = await run('parts.spill', 3, true)
    const bits = ({ model }: typeof whole): bigint[] => bitsOf(toDense(model.weights, model.features, 1))
    assert.deepEqual(bits(parts), bits(whole))
    assert.equal(whole.passes, 3)
  })
})

describe('the words of docs/adding-a-solver.md', () => {
  it('name files and fields that there are', () => {
    const declared = readFileSync(new URL(`${solvers}solver.ts`, root), 'utf8')
    const table = /\*\*`Solver`\*\*.*?\n\n(\|.*?)\n\n/s.exec(page)![1]
    const fields = table.split('\n').flatMap(line => [...line.split('|')[1].matchAll(/`([a-zA-Z]+)/g)].map(m => m[1]))
    assert.ok(fields.length > 15)
    for (const field of fields) assert.match(declared, new RegExp(`^  ${field}\\??[:(]`, 'm'), `${field} is no field`)
    for (const [, path] of page.matchAll(/`((?:src|test)\/[a-zA-Z/.-]+)`/g)) {
      if (!files.some(({ name }) => path === solvers + name)) readable(path)
    }
  })
})

function readable(path: string): void {
  const url = new URL(path, root)
  assert.ok(path.endsWith('/') || readFileSync(url), path)
}

for (const solver of examples) solverContract(solver)
