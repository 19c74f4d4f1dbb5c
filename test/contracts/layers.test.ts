// Folders are layers: each imports only from those before it, types included. So there is no cycle between folders, and a
// reader knows where to look.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

/** From the bottom up. The root's own files are at the bottom, but for the public API. */
const LAYERS = [
  '.',
  'files',
  'numeric',
  'threads',
  'ranks',
  'losses',
  'additive-kernels',
  'tables',
  'input-formats',
  'features',
  'rows',
  'block-store',
  'sample-index',
  'evaluation',
  'model',
  'optimise/sources',
  'optimise/objectives',
  'optimise/solvers',
  'optimise/driver',
  'train',
  'predict',
  'report',
  'serve',
  'studio',
  'generate',
  'cli',
]
const PUBLIC_API = 'index.ts'

const root = fileURLToPath(new URL('../../src', import.meta.url))
const files = (readdirSync(root, { recursive: true }) as string[])
  .map(file => file.split(sep).join('/'))
  .filter(file => file.endsWith('.ts'))

function layerOf(file: string): string {
  if (file === PUBLIC_API) return LAYERS[LAYERS.length - 1]
  const folder = dirname(file)
  return LAYERS.find(layer => layer === folder || (layer !== '.' && folder.startsWith(`${layer}/`))) ?? folder
}

/** Files that a file imports, by path from src/: `import … from`, `export … from` and `import(…)`. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)'(\.[^']+)'/g)].map(([, target]) =>
    relative(root, normalize(join(root, dirname(file), target)))
      .split(sep)
      .join('/'),
  )
}

describe('the layers of src/', () => {
  it('name every folder', () => {
    for (const file of files) assert.ok(LAYERS.includes(layerOf(file)), `${file} is in no layer`)
    for (const layer of LAYERS)
      assert.ok(
        files.some(file => layerOf(file) === layer),
        `there is no folder ${layer}`,
      )
  })

  it('import only from those before them', () => {
    let seen = 0
    const upward: string[] = []
    for (const file of files) {
      for (const target of importsOf(file)) {
        seen++
        if (LAYERS.indexOf(layerOf(target)) > LAYERS.indexOf(layerOf(file))) upward.push(`${file} imports ${target}`)
      }
    }
    assert.ok(seen > 500, 'imports were found')
    assert.deepEqual(upward, [])
  })
})
