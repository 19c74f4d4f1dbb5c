// Shared code asks for a capability, never for a name: src/ is searched for comparisons with the names of solvers, losses,
// formats, kernels, expansions, regularisers and ways to tell classes apart. Those that are left are listed with a reason.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { sep } from 'node:path'
import { describe, it } from 'node:test'
import { allAdditiveKernels } from '../../src/additive-kernels/all-additive-kernels.ts'
import { allExpansions } from '../../src/features/all-expansions.ts'
import { allInputFormats } from '../../src/input-formats/all-input-formats.ts'
import { allLosses } from '../../src/losses/all-losses.ts'
import { multiclassNames, regularizerNames } from '../../src/losses/formulations.ts'
import { allModelFormats } from '../../src/model/all-model-formats.ts'
import { allSolvers } from '../../src/optimise/solvers/all-solvers.ts'

/** `auto` and `linear` are words of options for "none of the list". */
const names = new Set([
  ...[allAdditiveKernels, allExpansions, allInputFormats, allLosses, allModelFormats, allSolvers].flatMap(list =>
    list.map(({ name }) => name),
  ),
  ...regularizerNames,
  ...multiclassNames,
  ...['auto', 'linear'],
])

/** Where a name is compared all the same: the file, the name, how often, and why. */
const allowed: { file: string; name: string; times: number; why: string }[] = [
  { file: 'train/options.ts', name: 'linear', times: 1, why: 'parses --kernel: no kernel' },
  { file: 'block-store/compression.ts', name: 'auto', times: 1, why: 'parses --compress: measured' },
  { file: 'input-formats/all-input-formats.ts', name: 'auto', times: 1, why: 'parses --format: by the text' },
  { file: 'optimise/solvers/all-solvers.ts', name: 'auto', times: 1, why: 'parses --solver: the program chooses' },
  { file: 'optimise/solvers/pegasos-task.ts', name: 'block', times: 1, why: '--batch block, which is no solver' },
  {
    file: 'additive-kernels/row-space.ts',
    name: 'polynomial',
    times: 3,
    why: '--approximation polynomial, which is no expansion',
  },
]

const LITERAL = `'([a-z0-9-]+)(?:[:+][^']*)?'`
/** Comparisons, cases, membership, beginnings, and entries that are looked up by a fixed name. */
const patterns = [
  new RegExp(`[=!]==?\\s*${LITERAL}`, 'g'),
  new RegExp(`${LITERAL}\\s*[=!]==?`, 'g'),
  new RegExp(`\\bcase\\s+${LITERAL}`, 'g'),
  new RegExp(`\\.(?:includes|startsWith|endsWith|has|indexOf)\\(\\s*${LITERAL}`, 'g'),
  new RegExp(`\\b(?:find|asked|modelF|parse)[A-Za-z]*\\(\\s*${LITERAL}`, 'g'),
]

/** A list of literals that is asked whether it includes something. */
function namesInLists(text: string): string[] {
  return [...text.matchAll(/\[([^[\]]*)\]\.includes\(/g)].flatMap(([, inside]) =>
    [...inside.matchAll(/'([a-z0-9-]+)'/g)].map(([, name]) => name),
  )
}

/** A constant that holds a name is as good as the name. */
function inlined(text: string): string {
  let result = text
  for (const [all, constant, value] of text.matchAll(/^(?:export )?const (\w+) = ('[a-z0-9-]+')$/gm)) {
    result = result.replace(all, '').replace(new RegExp(`\\b${constant}\\b`, 'g'), value)
  }
  return result
}

/** Names that a text compares something with. */
function comparedNames(text: string): string[] {
  const code = inlined(text.replace(/^\s*(?:\/\/|\/?\*).*$/gm, ''))
  const found = patterns.flatMap(pattern => [...code.matchAll(pattern)].map(([, name]) => name))
  return [...found, ...namesInLists(code)].filter(name => names.has(name))
}

describe('names of solvers, losses, formats and the like', () => {
  const root = new URL('../../src/', import.meta.url)
  const files = (readdirSync(root, { recursive: true }) as string[])
    .map(file => file.split(sep).join('/'))
    .filter(file => file.endsWith('.ts') && !file.startsWith('numeric/assembly/'))

  it('are found where they are compared', () => {
    assert.deepEqual(comparedNames(`if (solver.name === 'stream') go()`), ['stream'])
    assert.deepEqual(comparedNames(`if ('l1' !== regularizer)`), ['l1'])
    assert.deepEqual(comparedNames(`switch (x) {\n  case 'hinge':`), ['hinge'])
    assert.deepEqual(comparedNames(`['block', 'selective'].includes(name)`), ['block', 'selective'])
    assert.deepEqual(comparedNames(`text.startsWith('hash:')`), ['hash'])
    assert.deepEqual(comparedNames(`findSolver('dual')`), ['dual'])
    assert.deepEqual(comparedNames(`const AUTO = 'auto'\nif (name === AUTO)`), ['auto'])
    assert.deepEqual(comparedNames(`{ name: 'dual' }\n// name === 'dual'\nkind === 'random'`), [])
  })

  it('are compared only where options are parsed', () => {
    const count = new Map<string, number>()
    for (const file of files) {
      for (const name of comparedNames(readFileSync(new URL(file, root), 'utf8'))) {
        const key = `${file}: ${name}`
        count.set(key, (count.get(key) ?? 0) + 1)
      }
    }
    assert.ok(files.length > 200)
    assert.deepEqual(
      Object.fromEntries([...count].sort()),
      Object.fromEntries(allowed.map(({ file, name, times }) => [`${file}: ${name}`, times] as const).sort()),
      'ask what it can do: a field of Solver, Loss, InputFormat, or losses/formulations.ts',
    )
    for (const { why } of allowed) assert.match(why, /^(parses )?--[a-z]+/)
  })
})
